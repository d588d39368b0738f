"""Problems in corners: rare cells, limits a hair above what is held, many views at once."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Problem, Status, solve
from tests import strategies as own
from tests.oracles import view_leakage_bits
from tests.solvers.solutions import (
    assert_certified,
    assert_honest,
    brute_force,
    problem_of,
)

MOST_BEYOND = 4.4e-13
"""Bits. No limit was ever exceeded by more."""


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_ugly_problems_are_proved(start: int) -> None:
    for seed in range(start, start + 20):
        solution = solve(problem_of(own.ugly_release(seed)))
        assert_honest(solution)
        limits = solution.problem.limits
        assert all(bits <= limits[key] + MOST_BEYOND for key, bits in solution.leakage.items())
        assert solution.status is Status.OPTIMAL, f"seed {seed}: gap {solution.gap:.2g}"


NEARLY_SPENT = (0.0, 1e-9, 1e-8, 1e-7, 1e-6)


def test_nearly_spent_views_beside_spent_ones() -> None:
    for seed in range(100):
        assert_certified(solve(problem_of(own.release(seed, NEARLY_SPENT, 2))))


@pytest.mark.parametrize(
    ("seed", "max_history"),
    [
        (86, 3),  # prices of five views, which the linear program moves to and fro
        (826, 2),  # the price of a slack budget falls while the others rise
        (984, 2),  # a view that sees all that everyone does, beside one given by its law
    ],
)
def test_nearly_spent_views_that_were_once_left_open(seed: int, max_history: int) -> None:
    assert_certified(solve(problem_of(own.release(seed, NEARLY_SPENT, max_history))))


@pytest.mark.parametrize("bits", [-1e-19, -1e-13])
def test_a_limit_that_rounding_left_below_zero_is_zero(bits: float) -> None:
    joint = own.release(3, (0.1,), 2).joint
    assert Problem(joint, individual=bits).individual == 0.0
    solution = solve(Problem(joint, coalitions={(): bits}))
    assert_certified(solution)
    assert solution.leakage[()] <= MOST_BEYOND


@pytest.mark.parametrize("n_letters", [4, 50, 100])
def test_a_view_with_nothing_left_is_told_nothing_new(n_letters: int) -> None:
    rng = np.random.default_rng(n_letters)
    joint = rng.dirichlet(np.ones(6 * 5 * 3)).reshape(6, 5, 3)
    law = rng.dirichlet(np.full(n_letters, 0.1), size=(6, 5))
    held = view_leakage_bits(joint, np.ones((6, 5, 1)), law)
    solution = solve(Problem(joint, individual=0.2, views={"party": (law, held)}))
    assert_certified(solution)
    assert brute_force(solution)["party"] <= held + MOST_BEYOND
