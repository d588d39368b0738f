"""A request that was answered before: the same letters again, where nothing is better.

[M] fact 4. What the release problem allows without history bounds what it allows with it, as
long as R - X - Z, which every scheme has; so a copy of earlier letters that comes within the asked
gap of that bound is optimal, and adds nothing to what anyone holds. Where the memory has forgotten
some of the letters, they are drawn again given what it knows: p(rhat | x) stays the same, and
so does the optimality.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.problem import Problem, ViewKey
from tacit.solution import Solution, Status
from tacit.solvers import solve

FREE_BITS = 1e-4
"""A repeat that adds more than this for everyone is designed like any other request."""

_ROUNDING = 1e-12
"""Bits. What is told again may exceed what was told by this much, up to rounding."""


def repeat_letters(
    problem: Problem, redrawn: Array, known: Solution | None, gap_tol: float
) -> Solution | None:
    """The release that tells an earlier letter again, if it is within ``gap_tol`` of the best.

    Args:
        problem: over the memory's states.
        redrawn: p(letter of the earlier release | m, x), [m, x, rhat].
        known: the same problem solved without history, if it has been.
        gap_tol: asked of the design.
    """
    mass = problem.joint_zxr.sum(axis=-1)
    leakage = _leakage(problem, mass[..., None] * redrawn)
    limits = problem.limits
    added = leakage[problem.everyone] - mutual_information(mass)
    is_allowed = all(bits <= limits[key] + _ROUNDING for key, bits in leakage.items())
    if added > FREE_BITS or not is_allowed:
        return None
    value = float(np.einsum("zxr,zxa,ar->", problem.joint_zxr, redrawn, problem.distortion))
    best = known
    if best is None or best.bound is None or value - best.bound > gap_tol:
        alone = Problem(problem.joint_zxr.sum(axis=0), problem.utility, problem.individual)
        best = solve(alone, gap_tol=0.5 * gap_tol)
    assert best.bound is not None  # a distortion
    if value - best.bound > gap_tol:
        return None
    multipliers = dict.fromkeys(limits, 0.0) | {(): sum(best.multipliers.values())}
    return Solution(
        problem, redrawn, value, best.bound, leakage, multipliers, Status.OPTIMAL, best.steps
    )


def _leakage(problem: Problem, joint: Array) -> dict[ViewKey, float]:
    """I(Rhat, Y; X) of every view, p(m, x, rhat) given."""
    pooled = {key: problem.view(key).pool(joint).transpose(0, 2, 1) for key in problem.limits}
    return {key: mutual_information(law.reshape(-1, law.shape[2])) for key, law in pooled.items()}
