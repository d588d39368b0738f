"""A deadline ends what runs inside it, in the kernel too."""

from __future__ import annotations

from math import inf
from time import thread_time

import numpy as np
import pytest

from tacit import Problem, solve
from tacit.solvers.kernel import deadline, raise_if_late

WITHIN = 20.0
"""Seconds past the deadline: the kernel promises one, a busy machine may take longer."""


def test_without_a_deadline_nothing_is_late() -> None:
    assert raise_if_late() == inf
    with deadline(None):
        assert raise_if_late() == inf


def test_the_inner_deadline_holds_and_then_the_outer_one() -> None:
    with deadline(1000.0):
        with deadline(10.0):
            assert raise_if_late() <= 10.0
        with deadline(5000.0):
            assert raise_if_late() <= 1000.0
        assert 10.0 < raise_if_late() <= 1000.0


def test_nothing_starts_after_the_deadline() -> None:
    with deadline(0.0), pytest.raises(TimeoutError):
        solve(Problem(np.eye(2), individual=0.5))
    assert solve(Problem(np.eye(2), individual=0.5)).gap is not None


def test_a_step_of_several_seconds_ends_in_time() -> None:
    """16 * 251 unknowns: one matrix product alone takes longer than a second."""
    shape = (250, 250, 16)
    joint = np.random.default_rng(0).dirichlet(np.ones(np.prod(shape))).reshape(shape)
    problem = Problem(joint, individual=0.5, collusion=3.5)
    start = thread_time()  # a busy machine gives less of it
    with deadline(2.0), pytest.raises(TimeoutError):
        solve(problem)
    assert thread_time() - start <= 2.0 + WITHIN
