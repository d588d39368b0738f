"""What solutions say about themselves, checked by brute force."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from tacit import Problem, Solution, Status
from tacit.arrays import LN2
from tacit.problem import WORST_LEVEL
from tacit.solution import GAP_TOL
from tacit.solvers.convex.certificate import best_bound, feasible_channel
from tacit.solvers.convex.program import Program, Statement
from tacit.solvers.convex.reduction import Reduction
from tacit.solvers.kernel import Outcome, Pace, one_thread
from tests import oracles
from tests.oracles import assert_is_channel, expected_distortion, leakage_bits, level_errors
from tests.strategies import Array, Release

LIMIT_SLACK = 4.4e-13
"""Bits. A limit within 2e-13 of what is held counts as equal to it (convex.program.LIMIT_TOL), and
bounds on rounding come on top."""

ROUNDING = 3e-14
"""Brute-force sums of at most some 200 terms of size up to 1, each right to 2**-53."""

ORACLE_TOL = 2e-5
"""Clarabel meets limits to about 1e-8 bits; near a room of 1e-3 bits a bit is worth up to some 10
units of distortion and distortions go up to 4, which leaves this much in the value."""


def problem_of(release: Release, **options: Any) -> Problem:
    """The same release problem in tacit's terms."""
    return Problem(
        release.joint,
        release.distortion,
        coalitions=release.limits,
        views=release.views,
        **options,
    )


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


def brute_force(solution: Solution) -> dict[object, float]:
    """Every reported leakage, recomputed by the oracle from joint and channel."""
    problem = solution.problem
    axes = {key: inf for key in solution.leakage if isinstance(key, tuple)}
    return dict(oracles.every_leakage_bits(problem.joint, solution.channel, axes, problem.views))


def assert_honest(solution: Solution, *, gap_tol: float = GAP_TOL) -> None:
    """Everything that a solution says about itself holds by brute force."""
    problem = solution.problem
    assert_is_channel(solution.channel, tolerance=ROUNDING)
    assert solution.channel.shape == (*problem.joint.shape[:-1], len(problem.distortion))
    exact = expected_distortion(problem.joint, problem.distortion, solution.channel)
    if problem.objective == WORST_LEVEL:
        exact = level_errors(problem.joint, problem.distortion, solution.channel).max()
    assert solution.value == pytest.approx(exact, rel=ROUNDING, abs=ROUNDING)
    assert_within_limits(solution)
    assert solution.bound is not None
    assert solution.gap is not None
    assert solution.bound <= solution.value
    assert (solution.gap <= gap_tol * problem.scale) == (solution.status is Status.OPTIMAL)


def assert_within_limits(solution: Solution) -> None:
    """A solution is a channel that tells no view more than is reported, nor than is allowed."""
    problem = solution.problem
    assert_is_channel(solution.channel, tolerance=ROUNDING)
    assert solution.leakage.keys() == problem.limits.keys() == solution.multipliers.keys()
    for key, bits in brute_force(solution).items():
        assert bits <= solution.leakage[key] + ROUNDING, f"view {key!r} learns more than reported"
        assert solution.leakage[key] <= problem.limits[key] + LIMIT_SLACK, f"view {key!r} overspent"
        assert solution.multipliers[key] >= 0


def assert_certified(solution: Solution, *, gap_tol: float = GAP_TOL) -> None:
    """A solution is honest, and its gap is closed."""
    assert_honest(solution, gap_tol=gap_tol)
    asked = gap_tol * solution.problem.scale
    assert solution.status is Status.OPTIMAL, f"gap {solution.gap:.3g} is above {asked:.3g}"


def held_bits(joint: Array, axes: tuple[int, ...]) -> float:
    """I(Z_S; X): what a coalition holds before anything new is released."""
    return max(0.0, leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), axes))


def proved_gap(
    problem: Problem, method: Callable[[Program, Pace], Outcome], gap_tol: float = GAP_TOL
) -> float:
    """Value of what a method finds for all limits at once, repaired, less the bound it proves."""
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)[None]
    whole = statement.program(statement.cost_of(problem.distortion)[None], limits)
    is_limited = np.isfinite(whole.budgets[0]) | whole.is_exact
    reduction = Reduction.of(whole, np.flatnonzero(is_limited[:-1]))
    tolerance = 0.2 * gap_tol / reduction.scale[0]
    pace = Pace(tolerance, inf, 0.1 * tolerance, 1e7, 1e-5, is_multiplicative=False)
    with one_thread():
        outcome = method(reduction.program, pace)
    bound, _ = best_bound(whole, reduction, outcome, statement.forgone(limits) * LN2)
    _, value, _ = feasible_channel(whole, reduction.lift(outcome.channel))
    return float(value[0] - bound[0])
