"""Problems in corners: rare cells, limits a hair above what is held, many views at once."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Problem, Status, solve
from tests import strategies as own
from tests.solvers.solutions import (
    assert_certified,
    assert_honest,
    brute_force,
    problem_of,
)

MOST_BEYOND = 4.4e-13
"""Bits. No limit was ever exceeded by more."""


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_ugly_problems_are_proved(start: int) -> None:
    for seed in range(start, start + 20):
        solution = solve(problem_of(own.ugly_release(seed)))
        assert_honest(solution)
        limits = solution.problem.limits
        assert all(bits <= limits[key] + MOST_BEYOND for key, bits in solution.leakage.items())
        assert solution.status is Status.OPTIMAL, f"seed {seed}: gap {solution.gap:.2g}"


@pytest.mark.parametrize("start", range(0, 100, 50))
def test_nearly_spent_views_beside_spent_ones(start: int) -> None:
    for seed in range(start, start + 50):
        release = own.release(seed, (0.0, 1e-9, 1e-8, 1e-7, 1e-6), 3)
        assert_certified(solve(problem_of(release)))


@pytest.mark.parametrize("bits", [-1e-19, -1e-13])
def test_a_limit_that_rounding_left_below_zero_is_zero(bits: float) -> None:
    joint = own.release(3, (0.1,), 2).joint
    assert Problem(joint, individual=bits).individual == 0.0
    solution = solve(Problem(joint, coalitions={(): bits}))
    assert_certified(solution)
    assert solution.leakage[()] <= MOST_BEYOND


def law_of_letters(rng: np.random.Generator, n_z: int, n_x: int, n_letters: int) -> own.Array:
    """p(y | z, x) of a party that came back: it depends on both."""
    return np.asarray(rng.dirichlet(np.full(n_letters, 0.1), size=(n_z, n_x)))


@pytest.mark.parametrize("n_letters", [4, 50, 100])
def test_a_view_with_nothing_left_is_told_nothing_new(n_letters: int) -> None:
    rng = np.random.default_rng(n_letters)
    joint = rng.dirichlet(np.ones(6 * 5 * 3)).reshape(6, 5, 3)
    law = law_of_letters(rng, 6, 5, n_letters)
    free = Problem(joint, individual=0.2, views={"party": (law, 10.0)})
    held = solve(free).leakage["party"]
    told = np.einsum("zx,zxy->yx", joint.sum(axis=-1), law)
    held = float((told * np.log2(told / told.sum(axis=0) / told.sum(axis=1, keepdims=True))).sum())
    solution = solve(Problem(joint, individual=0.2, views={"party": (law, held)}))
    assert_certified(solution)
    assert brute_force(solution)["party"] <= held + MOST_BEYOND
