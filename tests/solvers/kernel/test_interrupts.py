"""Ctrl-C during a solve, in a real process, with a real signal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WITHIN = 1.0
"""Seconds of a processor between the signal and the exception: what is promised."""

SCRIPT = """
import os, signal, threading, time
import numpy as np
from tacit import Problem, solve

sent = []
def interrupt():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

rng = np.random.default_rng(0)
joint = rng.dirichlet(np.ones(np.prod({shape}))).reshape({shape})
problem = Problem(joint, individual=0.5, collusion=3.5)
threading.Timer(1.0, interrupt).start()  # in the kernel by then
try:
    solve(problem)
except KeyboardInterrupt:
    print("stopped", time.process_time() - sent[0])
    small = solve(Problem(np.eye(2), individual=0.5))
    print("and again", small.status.name)
"""

HARD = {
    "steps of half a second": (100, 200, 16),
    # 16 * 251 unknowns: one matrix product alone takes longer than a second.
    "steps of several seconds": (250, 250, 16),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("name", HARD)
def test_ctrl_c_ends_a_running_solve_within_a_second(name: str) -> None:
    script = SCRIPT.format(shape=HARD[name])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    [stopped, again] = ended.stdout.splitlines()
    word, seconds = stopped.split()
    assert (word, again) == ("stopped", "and again OPTIMAL")
    assert float(seconds) <= WITHIN
