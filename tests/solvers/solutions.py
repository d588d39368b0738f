"""What solutions say about themselves, checked by brute force."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from tacit import Problem, Solution, Status
from tacit.problem import WORST_LEVEL
from tacit.solution import GAP_TOL
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
    assert (solution.gap <= gap_tol) == (solution.status is Status.OPTIMAL)


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
    assert solution.status is Status.OPTIMAL, f"gap {solution.gap:.3g} is above {gap_tol:.3g}"


def held_bits(joint: Array, axes: tuple[int, ...]) -> float:
    """I(Z_S; X): what a coalition holds before anything new is released."""
    return max(0.0, leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), axes))
