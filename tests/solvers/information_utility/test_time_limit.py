"""The search for information ends in time, and says what it has until then."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from math import nan

import numpy as np
import pytest

from tacit import InvalidInputError, Problem, Solution, Status, mutual_information, solve
from tests import oracles

WITHIN = 1.0
"""Seconds past the limit, and from Ctrl-C to the exception: what the kernel promises."""

ROUNDING = 1e-12


def large_problem() -> Problem:
    """One round of ascent takes several seconds."""
    shape = (60, 100, 8)
    joint = np.random.default_rng(0).dirichlet(np.full(np.prod(shape), 0.1)).reshape(shape)
    return Problem(joint, "information", 0.3, mutual_information(joint.sum(axis=-1)) + 0.3)


def middling_problem() -> Problem:
    """Several seconds until nothing more is tried."""
    joint = np.random.default_rng(0).dirichlet(np.full(16 * 32 * 4, 0.1)).reshape(16, 32, 4)
    return Problem(joint, "information", 0.3, mutual_information(joint.sum(axis=-1)) + 0.3)


def assert_true(solution: Solution) -> None:
    """What a solution says about itself holds by brute force."""
    problem = solution.problem
    oracles.assert_is_channel(solution.channel)
    p_rhat_r = np.einsum("zxa,zxr->ar", solution.channel, problem.joint)
    assert solution.value == pytest.approx(mutual_information(p_rhat_r), abs=ROUNDING)
    limits = {(): problem.individual, (0,): problem.collusion}
    oracles.assert_within_limits(problem.joint, solution.channel, limits)  # type: ignore[arg-type]
    assert solution.bound is not None
    assert solution.bound >= solution.value


def test_no_time_leaves_the_truth_for_a_few_and_the_plain_bound() -> None:
    problem = large_problem()
    solution = solve(problem, time_limit=1e-6)
    assert_true(solution)
    assert solution.status is Status.OUT_OF_TIME
    assert solution.value > 0.05
    p_zr, p_zx = problem.joint.sum(axis=1), problem.joint.sum(axis=-1)
    room = problem.collusion - mutual_information(p_zx)  # type: ignore[operator]
    assert solution.bound == pytest.approx(mutual_information(p_zr) + room, abs=1e-9)


@pytest.mark.parametrize("letters", [None, 1, 2, 4, 9])
def test_without_time_a_function_of_the_record_is_told_to_as_many_as_may_know_it(
    letters: int | None,
) -> None:
    """With a letter for every value and one more, no release is better."""
    p_x = np.random.default_rng(2).dirichlet(np.ones(12))
    joint = p_x[:, None] * np.eye(4)[np.arange(12) % 4]
    problem = Problem(joint, "information", 0.3, rhat_size=letters)
    solution = solve(problem, time_limit=1e-6)
    best = letters is None or letters > 4
    assert solution.value == (
        pytest.approx(0.3, abs=1e-7)
        if best
        else pytest.approx(0.0 if letters == 1 else 0.2, abs=0.1)
    )
    assert solution.leakage[()] <= 0.3


@pytest.mark.parametrize(("make", "seconds"), [(large_problem, 2.0), (middling_problem, 0.5)])
def test_the_limit_holds_and_the_best_so_far_is_returned(make: object, seconds: float) -> None:
    problem = make()  # type: ignore[operator]
    start = time.thread_time()  # a busy machine gives less of it
    solution = solve(problem, time_limit=seconds)
    assert time.thread_time() - start <= seconds + WITHIN
    assert solution.status is Status.OUT_OF_TIME
    assert_true(solution)


def test_what_is_found_grows_with_time() -> None:
    early, late = (solve(middling_problem(), time_limit=seconds) for seconds in (0.2, 2.0))
    assert late.value > early.value
    assert late.bound is not None
    assert early.bound is not None
    assert late.bound <= early.bound


def test_with_time_enough_the_limit_changes_nothing() -> None:
    joint = np.random.default_rng(1).dirichlet(np.full(8, 0.5)).reshape(2, 2, 2)
    problem = Problem(joint, "information", 0.1)
    free, timed = solve(problem), solve(problem, time_limit=1000.0)
    np.testing.assert_array_equal(free.channel, timed.channel)
    assert timed.status is free.status is not Status.OUT_OF_TIME


def test_progress_is_told_on_the_way() -> None:
    told: list[tuple[float, float, float]] = []
    joint = np.random.default_rng(1).dirichlet(np.full(27, 0.5)).reshape(3, 3, 3)
    solution = solve(
        Problem(joint, "information", 0.2),
        progress=lambda value, bound, seconds: told.append((value, bound, seconds)),
    )
    values, bounds, seconds = np.array(told).T
    assert len(told) >= 5
    # Of two releases that are equal within 1e-7 bits the one that was refined longer is kept.
    assert (np.diff(values) >= -1e-7).all()
    assert (np.diff(bounds) <= 0).all()
    assert (np.diff(seconds) >= 0).all()
    assert (values <= bounds).all()
    assert solution.value == pytest.approx(values[-1], abs=1e-6)
    assert solution.bound == bounds[-1]


@pytest.mark.parametrize("seconds", [0.0, -1.0, nan])
def test_a_time_limit_is_a_positive_number(seconds: float) -> None:
    with pytest.raises(InvalidInputError, match="time_limit"):
        solve(Problem(np.eye(2), "information", 0.5), time_limit=seconds)


def test_the_mean_of_a_distortion_takes_no_time_limit() -> None:
    with pytest.raises(InvalidInputError, match="utility='information'"):
        solve(Problem(np.eye(2), individual=0.5), time_limit=1.0)
    with pytest.raises(InvalidInputError, match="utility='information'"):
        solve(Problem(np.eye(2), individual=0.5), progress=print)


SCRIPT = """
import os, signal, threading, time
from tacit import solve
from tests.solvers.information_utility.test_time_limit import {problem}

sent = []
def interrupt():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

problem = {problem}()
threading.Timer(0.7, interrupt).start()
try:
    solve(problem)
except KeyboardInterrupt:
    print("stopped", time.process_time() - sent[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("problem", ["large_problem", "middling_problem"])
def test_ctrl_c_ends_the_search(problem: str) -> None:
    command = [sys.executable, "-c", SCRIPT.format(problem=problem)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    word, seconds = ended.stdout.split()
    assert word == "stopped"
    assert float(seconds) <= WITHIN
