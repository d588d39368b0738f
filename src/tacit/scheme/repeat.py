"""A request that was answered before: the same letters again, where nothing is better.

[M] fact 4. What the release problem allows without history bounds what it allows with it, as
long as R - X - Z, which every scheme has; so a copy of earlier letters that comes within the asked
gap of that bound is optimal, and adds nothing to what anyone holds. Where the memory has forgotten
some of the letters, they are drawn again given what it knows: p(rhat | x) stays the same, and
so does the optimality.

An analysable release reads nothing but R. A copy of its letters depends on nothing else, given R,
though it reads the memory: it is analysable as well ([M] fact 14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.problem import WORST_LEVEL, Problem, ViewKey
from tacit.scheme.memory import Step
from tacit.scheme.views import told_bits
from tacit.solution import Solution, Status
from tacit.solvers import solve
from tacit.solvers.shares import largest_variance

FREE_BITS = 1e-4
"""A repeat that adds more than this for everyone is designed like any other request."""

_ROUNDED_GAP = 5e-6
"""How far from the best a repeat may be whose letters were drawn from a rounded channel
without the letters that are hardly ever drawn."""

_SAME_VARIANCE = 1e-3
"""Relative. Shares that are told again may vary by so much more than a new design's: its descent
ends in a local minimum, and the letters were drawn from a rounded channel."""

_ROUNDING = 1e-12
"""Bits. What is told again may exceed what was told by this much, up to rounding."""

_MET = 1e-9
"""A ceiling that is exceeded by less, relative to the largest distortion, counts as met."""


def repeat_letters(
    problem: Problem,
    redrawn: Array,
    known: Solution | None,
    gap_tol: float,
    reserve: float,
) -> Solution | None:
    """The release that tells an earlier letter again, if it is near the best.

    Args:
        problem: over the memory's states.
        redrawn: p(letter of the earlier release | m, x), [m, x, rhat].
        known: the same problem solved without history, if it has been.
        gap_tol: asked of the design.
        reserve: bits that designs leave below their limits for rounding. The letters were drawn
            from a rounded channel if there is one, so a repeat may use it.
    """
    near = _near(gap_tol, reserve)
    told_again = _tell_again(problem, redrawn, reserve)
    if told_again is None:
        return None
    value, leakage = told_again
    best = known
    if best is None or best.bound is None or value - best.bound > near:
        joint = problem.joint_zxr.sum(axis=0)
        caps = {key: cap for key, cap in problem.caps.items() if key == ()}
        alone = replace(problem, joint=joint, collusion=None, views={}, caps=caps)
        best = solve(alone, gap_tol=0.5 * gap_tol)
    told = replace(
        best,
        problem=problem,
        channel=redrawn,
        value=value,
        leakage=leakage,
        multipliers=dict.fromkeys(problem.limits, 0.0) | {(): sum(best.multipliers.values())},
    )
    if best.bound is None:  # shares: no bound is known, only what a new descent finds
        return told if value <= (1 + _SAME_VARIANCE) * best.value else None
    gap = value - best.bound
    status = Status.OPTIMAL if gap <= gap_tol else Status.INACCURATE
    return replace(told, status=status) if gap <= near else None


def repeat_beyond(
    problem: Problem, redrawn: Array, design: Solution, gap_tol: float, reserve: float
) -> Solution | None:
    """The release that tells an earlier letter again, if an analysable design is hardly better.

    What reads nothing but R tells everyone more than telling the letter again does, which is free:
    limits and caps on coalitions may leave it less.

    Args:
        problem, redrawn, gap_tol, reserve: as for ``repeat_letters``.
        design: the best that reads nothing but R.
    """
    told_again = _tell_again(problem, redrawn, reserve)
    if told_again is None:
        return None
    value, leakage = told_again
    told = replace(design, problem=problem, channel=redrawn, value=value, leakage=leakage)
    if design.bound is None:
        return told if value <= (1 + _SAME_VARIANCE) * design.value else None
    told = replace(told, bound=min(design.bound, value))
    gap = value - design.bound
    status = Status.OPTIMAL if gap <= gap_tol else Status.INACCURATE
    is_near = gap <= _near(gap_tol, reserve) or value <= design.value
    return replace(told, status=status) if is_near else None


def _near(gap_tol: float, reserve: float) -> float:
    """How far from the best letters may be that are told again."""
    return max(gap_tol, _ROUNDED_GAP) if reserve else gap_tol


def _tell_again(
    problem: Problem, redrawn: Array, reserve: float
) -> tuple[float, dict[ViewKey, float]] | None:
    """What is minimised, and leakages, of letters that are told again.

    ``None`` where that is not free, or a limit, a cap or a ceiling forbids it.
    """
    mass = problem.joint_zxr.sum(axis=-1)
    held = _pooled(problem, mass[..., None] * redrawn)
    leakage = {key: mutual_information(law) for key, law in held.items()}
    limits = problem.limits
    added = leakage[problem.everyone] - mutual_information(mass)
    is_allowed = all(bits <= limits[key] + reserve + _ROUNDING for key, bits in leakage.items())
    is_capped = all(
        _keeps_cap(held[key], cap, reserve + _ROUNDING) for key, cap in problem.caps.items()
    )
    value = value_of(problem, redrawn)
    is_free = added <= FREE_BITS
    return (value, leakage) if is_free and is_allowed and is_capped and value is not None else None


def _keeps_cap(held: Array, cap: ArrayLike, most_above: float) -> bool:
    """Whether no answer of p((y, rhat), x) tells more than a cap, one for all or one for [y, x]."""
    table = np.atleast_2d(cap)  # of one number: for all letters and all x
    allowed = np.repeat(table, len(held) // len(table), axis=0) + most_above
    return bool(((told_bits(held) <= allowed) | (held == 0)).all())


def value_of(problem: Problem, redrawn: Array) -> float | None:
    """What is minimised, for a channel [m, x, rhat].

    ``None`` where a ceiling is exceeded, or not every share can be estimated.
    """
    p_r, occurs = problem.p_r, problem.p_r > 0
    if problem.is_shares:
        p_ra = np.einsum("zxr,zxa->ra", problem.joint_zxr, redrawn)[occurs]
        variance = largest_variance(p_r[occurs], (p_ra / p_r[occurs, None]).T)
        return variance if variance < inf else None
    costs = np.einsum("zxr,zxa,ar->r", problem.joint_zxr, redrawn, problem.distortion)
    errors = np.where(occurs, costs / np.where(occurs, p_r, 1.0), 0.0)
    most = _MET * float(problem.distortion.max())
    if any(errors[level] > error + most for level, error in problem.ceilings.items()):
        return None
    return float(errors.max() if problem.objective == WORST_LEVEL else costs.sum())


def letters_told(steps: Sequence[Step]) -> NDArray[np.bool_]:
    """Letters of the first of some steps that are possible in each state after the last, [m, a]."""
    n_letters = steps[0].next_state.shape[1]
    told = np.eye(n_letters, dtype=bool)
    for k, step in enumerate(steps):
        before, letter = np.nonzero(step.next_state >= 0)
        after = np.zeros((int(step.next_state.max()) + 1, n_letters), dtype=bool)
        np.logical_or.at(after, step.next_state[before, letter], told[before if k else letter])
        told = after
    return told


def _pooled(problem: Problem, joint: Array) -> dict[ViewKey, Array]:
    """p((y, rhat), x) of every view, p(m, x, rhat) given."""
    n_x = joint.shape[1]
    return {
        key: problem.view(key).pool(joint).transpose(0, 2, 1).reshape(-1, n_x)
        for key in problem.limits
    }
