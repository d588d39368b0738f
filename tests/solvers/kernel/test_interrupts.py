"""Ctrl-C during a solve, in a real process, with a real signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

WITHIN = 1.0
"""Seconds between the signal and the exception: what is promised."""

SCRIPT = """
import time
import numpy as np
from tacit import Problem, solve

rng = np.random.default_rng(0)
joint = rng.dirichlet(np.ones(np.prod({shape}))).reshape({shape})
problem = Problem(joint, individual=0.5, collusion=3.5)
print("solving", flush=True)
try:
    solve(problem)
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
    small = solve(Problem(np.eye(2), individual=0.5))
    print("and again", small.status.name, flush=True)
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
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "solving\n"
            time.sleep(1.0)  # in the kernel by now
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            word, at = process.stdout.readline().split()
            assert word == "stopped"
            assert float(at) - sent <= WITHIN
            assert process.stdout.readline() == "and again OPTIMAL\n"
        finally:
            process.kill()
