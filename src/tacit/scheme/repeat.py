"""Letters that were drawn before, handed to one more party, where nothing is better.

[M] facts 4 and 16. What the release problem allows without history bounds what it allows with it,
as long as R - X - Z, which every scheme has; so earlier letters that come within the asked gap of
that bound are optimal. Handing them on adds nothing to what everyone holds, and nothing is drawn.

An analysable release reads nothing but R: its letters are analysable in anybody's hands
([M] fact 14).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from tacit.arrays import Array
from tacit.problem import WORST_LEVEL, Problem, ViewKey
from tacit.solution import Solution, Status
from tacit.solvers import solve
from tacit.solvers.shares import largest_variance

_ROUNDED_GAP = 5e-6
"""How far from the best, relative to ``Problem.scale``, letters may be that were drawn from a
rounded channel without the letters that are hardly ever drawn."""

_SAME_VARIANCE = 1e-3
"""Relative. Shares that are told again may vary by so much more than a new design's: its descent
ends in a local minimum, and the letters were drawn from a rounded channel."""

_MET = 1e-9
"""A ceiling that is exceeded by less, relative to the largest distortion, counts as met."""


_SAME_ROW = 1e-12
"""Rows that differ by no more are the same up to rounding; integer tables differ by more."""


def near_best_alone(
    problem: Problem, letters: Array, known: Solution | None, gap_tol: float, reserve: float
) -> Solution | None:
    """Earlier letters as a solution, if no release without history is much better.

    Args:
        problem: over the memory's states, with the recipient's own limit.
        letters: p(rhat | m, x) of the earlier ones, [m, x, rhat].
        known: the same problem solved without history, if it has been.
        gap_tol: asked of the design.
        reserve: bits that designs leave below their limits for rounding. The letters were drawn
            from a rounded channel if there is one.
    """
    value = value_of(problem, letters)
    if value is None:
        return None
    near, best = problem.scale * _near(gap_tol, reserve), known
    if best is None or best.bound is None or value - best.bound > near:
        joint = problem.joint_zxr.sum(axis=0)
        caps = {key: cap for key, cap in problem.caps.items() if key == ()}
        alone = replace(problem, joint=joint, collusion=None, views={}, caps=caps)
        best = solve(alone, gap_tol=0.5 * gap_tol)
    own: dict[ViewKey, float] = {(): float(sum(best.multipliers.values()))}
    told = replace(best, problem=problem, channel=letters, value=value, multipliers=own)
    if best.bound is None:  # shares: no bound is known, only what a new descent finds
        return told if value <= (1 + _SAME_VARIANCE) * best.value else None
    gap = value - best.bound
    status = Status.OPTIMAL if gap <= problem.scale * gap_tol else Status.INACCURATE
    return replace(told, bound=min(best.bound, value), status=status) if gap <= near else None


def no_worse(
    problem: Problem, letters: Array, design: Solution, gap_tol: float, reserve: float
) -> Solution | None:
    """Earlier letters as a solution, if a design of new ones is hardly better.

    New letters tell everyone more than handing on old ones does, which is free: limits and caps on
    coalitions may leave them less.

    Args:
        problem, letters, gap_tol, reserve: as for ``near_best_alone``.
        design: the best that can be drawn anew.
    """
    value = value_of(problem, letters)
    if value is None:
        return None
    told = replace(design, problem=problem, channel=letters, value=value)
    if design.bound is None:
        return told if value <= (1 + _SAME_VARIANCE) * design.value else None
    gap = value - design.bound
    status = Status.OPTIMAL if gap <= problem.scale * gap_tol else Status.INACCURATE
    is_near = gap <= problem.scale * _near(gap_tol, reserve) or value <= design.value
    return replace(told, bound=min(design.bound, value), status=status) if is_near else None


def _near(gap_tol: float, reserve: float) -> float:
    """How far from the best letters may be that are handed on, relative to ``Problem.scale``."""
    return max(gap_tol, _ROUNDED_GAP) if reserve else gap_tol


def reads_only(rows: Array, level: Array) -> bool:
    """Whether letters depend on nothing but the level.

    Args:
        rows: p(rhat | m, x) as they were drawn, [m, x, rhat].
        level: of each x, [x].
    """
    _, some_x, row = np.unique(level, return_index=True, return_inverse=True)
    return bool((np.abs(rows - rows[0, some_x][row]) <= _SAME_ROW).all())


def value_of(problem: Problem, channel: Array) -> float | None:
    """What is minimised, for a channel [m, x, rhat].

    ``None`` where a ceiling is exceeded, or not every share can be estimated.
    """
    p_r, occurs = problem.p_r, problem.p_r > 0
    if problem.is_shares:
        p_ra = np.einsum("zxr,zxa->ra", problem.joint_zxr, channel)[occurs]
        variance = largest_variance(p_r[occurs], (p_ra / p_r[occurs, None]).T)
        return variance if variance < inf else None
    costs = np.einsum("zxr,zxa,ar->r", problem.joint_zxr, channel, problem.distortion)
    errors = np.where(occurs, costs / np.where(occurs, p_r, 1.0), 0.0)
    most = _MET * float(problem.distortion.max())
    if any(errors[level] > error + most for level, error in problem.ceilings.items()):
        return None
    return float(errors.max() if problem.objective == WORST_LEVEL else costs.sum())
