"""Few unknowns beside views of many letters: certified, and what cvxpy finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.problem import Problem
from tests import oracles
from tests.solvers.solutions import ORACLE_TOL, assert_certified, assert_honest
from tests.strategies import Array


def heard(seed: int, n_x: int, n_y: int) -> Array:
    """p(y | x) of a view with many letters, some that never occur, some that settle x."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(n_y, 0.2), size=n_x)
    law = np.where(law < 1e-4, 0.0, law)
    return law / law.sum(axis=1, keepdims=True)


def problem_with_view(seed: int, room: float, n_y: int = 40, share: float = 0.5) -> Problem:
    """A view of ``n_y`` letters with ``room`` bits left, and an individual limit."""
    rng = np.random.default_rng(seed)
    n_x, n_r = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    joint = rng.dirichlet(np.full(n_x * n_r, 0.7)).reshape(n_x, n_r)
    law = heard(seed + 1, n_x, n_y)
    held = oracles.view_leakage_bits(joint, np.ones((n_x, 1)), law)
    distortion = rng.random((int(rng.integers(2, 5)), n_r))
    return Problem(joint, distortion, share, views={"heard": (law, max(held, 0.0) + room)})


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    room=st.sampled_from([0.01, 0.05, 0.3]),
    share=st.sampled_from([0.02, 0.5]),
)
def test_many_letters_have_the_optimum_that_cvxpy_finds(
    seed: int, room: float, share: float
) -> None:
    problem = problem_with_view(seed, room, share=share)
    solution = tacit.solve(problem)
    assert_certified(solution)
    limits = {(): problem.limits[()]}
    found = oracles.solve_by_cvxpy(problem.joint, problem.distortion, limits, problem.views)
    assert solution.value <= found.value + ORACLE_TOL
    if found.status == "optimal":  # Clarabel's precision is enough to compare with
        assert solution.value == pytest.approx(found.value, abs=ORACLE_TOL)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), room=st.sampled_from([0.0, 1e-9, 1e-6, 1e-4]))
def test_hardly_any_bits_left_is_still_honest(seed: int, room: float) -> None:
    assert_honest(tacit.solve(problem_with_view(seed, room)))


def test_few_letters_and_many_have_the_same_optimum() -> None:
    """Letters split into equal parts tell nothing more, but the kernel solves only the first."""
    few = problem_with_view(3, 0.05, n_y=5)
    law, bits = few.views["heard"]
    split = np.repeat(np.asarray(law) / 8, 8, axis=1)
    many = Problem(few.joint, few.utility, few.individual, views={"heard": (split, bits)})
    assert tacit.solve(many).value == pytest.approx(tacit.solve(few).value, abs=2e-7)
