"""A problem as stated: what is leaked, what its bound pays for, which method solves it."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import log, sqrt

import numpy as np
import pytest

from tacit import Problem, solve
from tacit.problem import View
from tacit.solution import GAP_TOL
from tacit.solvers.convex.program import LIMIT_TOL, Program, Statement
from tacit.solvers.kernel import Outcome, Pace
from tests import strategies as own
from tests.solvers.solutions import problem_of, problem_with_view, proved_gap
from tests.strategies import Array


def exact_leakage_bits(view: View, joint_zxr: Array) -> float:
    """I(Y; X) of floats read as exact numbers, laws made to sum to 1; right to the last digit."""
    if view.size == 1:
        return 0.0
    n_z, n_x, _ = joint_zxr.shape
    with localcontext(prec=60):
        mass = [[sum(map(Decimal, cell), Decimal(0)) for cell in row] for row in joint_zxr.tolist()]
        total = sum(map(sum, mass), Decimal(0))
        p_yx = [[Decimal(0)] * n_x for _ in range(view.size)]
        for z in range(n_z):
            for x in range(n_x):
                law = _law_of(view, z, x)
                for y in range(view.size):
                    p_yx[y][x] += mass[z][x] * law[y] / sum(law) / total
        p_x = [sum(column) for column in zip(*p_yx, strict=True)]
        nats = sum(
            p * (p / (sum(row) * p_x[x])).ln() for row in p_yx for x, p in enumerate(row) if p > 0
        )
        return float(nats / Decimal(2).ln())


def _law_of(view: View, z: int, x: int) -> list[Decimal]:
    if view.law is not None:
        return [Decimal(p) for p in view.law[z, x].tolist()]
    assert view.letter_of_z is not None
    return [Decimal(int(y == view.letter_of_z[z])) for y in range(view.size)]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_leaked_is_known_to_the_last_digits(seed: int) -> None:
    problem = problem_of(own.ugly_release(seed))
    statement = Statement.of(problem)
    lowest = 2 * statement.leaked - statement.leaked_upper
    for view, key in enumerate(statement.keys):
        truth = exact_leakage_bits(problem.view(key), problem.joint_zxr)
        assert lowest[view] <= truth <= statement.leaked_upper[view]
        if np.finfo(np.longdouble).nmant > 60:  # elsewhere long floats are doubles
            assert statement.leaked_upper[view] - truth <= 1e-15 * (1 + truth)


# --- what the bound pays for ----------------------------------------------------------------------


def test_a_view_that_is_not_spent_may_have_leaked_less_than_its_upper_bound() -> None:
    problem = problem_of(own.ugly_release(1))
    statement = Statement.of(problem)
    limits = statement.leaked + 1e-3
    forgone = statement.forgone(limits[None])[0]
    for view, key in enumerate(statement.keys):
        truth = exact_leakage_bits(problem.view(key), problem.joint_zxr)
        given = statement.budgets(limits[None])[0, view]
        assert limits[view] - truth <= given + forgone[view] + 1e-18


@pytest.mark.parametrize("bits", [1e-14, 0.5 * LIMIT_TOL])
def test_the_bound_pays_for_bits_that_a_spent_view_is_not_given(bits: float) -> None:
    """R = X, a fair coin: 1 - h(D) bits allow D, so b bits allow 1/2 - sqrt(b ln 2 / 2)."""
    solution = solve(Problem(np.eye(2) / 2, individual=bits))
    assert solution.value == 0.5  # so few bits count as none
    optimum = 0.5 - sqrt(bits * log(2) / 2)
    assert solution.bound is not None
    assert 0.5 - 4 * (0.5 - optimum) <= solution.bound <= optimum


def test_a_limit_that_is_leaked_to_the_last_digits_forgoes_nothing() -> None:
    joint = own.release(3, (0.1,), 2).joint
    statement = Statement.of(Problem(joint))
    for ulps in (-1, 0, 1):
        limits = statement.leaked * (1 + ulps * 2.0**-52)
        assert statement.is_spent(limits[None]).all()
        assert (statement.forgone(limits[None]) == 0).all()


# --- few unknowns beside many letters -------------------------------------------------------------


def test_the_kernel_takes_over_where_the_dense_method_leaves_a_gap() -> None:
    """Which of the problems that are depends on how the processor rounds."""
    tried = []

    def solve_once(program: Program, pace: Pace) -> Outcome:
        no_price = np.zeros(len(program.is_exact))
        tried.append(program._minimise_densely(no_price, pace))
        return program.minimise(no_price, pace)

    for seed in range(16):
        assert proved_gap(problem_with_view(seed, 1e-7), solve_once) <= GAP_TOL
    assert None in tried
