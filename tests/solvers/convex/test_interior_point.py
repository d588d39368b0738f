"""Few unknowns beside views of many letters: certified, and what cvxpy finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.problem import Problem
from tests import oracles
from tests.solvers.solutions import ORACLE_TOL, assert_certified, assert_honest, problem_with_view


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
