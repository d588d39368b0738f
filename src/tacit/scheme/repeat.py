"""A request that was answered before: the same letters again, where nothing is better.

[M] fact 4. What the release problem allows without history bounds what it allows with it, as
long as R - X - Z, which every scheme has; so a copy of earlier letters that comes within the asked
gap of that bound is optimal, and adds nothing to what anyone holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.problem import Problem, ViewKey
from tacit.scheme.memory import information_added_bits
from tacit.solution import Solution, Status
from tacit.solvers import solve


def repeat_letters(
    problem: Problem, letter_of_m: NDArray[np.intp], known: Solution | None, gap_tol: float
) -> Solution | None:
    """The release that copies an earlier letter, if it is within ``gap_tol`` of the best.

    Args:
        problem: over the memory's states, limited by ``individual`` and ``collusion`` only.
        letter_of_m: what was released then, by state.
        known: the same problem solved without history, if it has been.
        gap_tol: asked of the design.
    """
    n_m, n_x, _ = problem.joint_zxr.shape
    copied = np.eye(len(problem.distortion))[letter_of_m]
    mass = problem.joint_zxr.sum(axis=-1)
    p_x = mass.sum(axis=0)
    told = information_added_bits(p_x[None], _given_x(mass, copied, p_x)[None])
    if told > problem.limits[()]:
        return None
    value = float(np.einsum("zxr,za,ar->", problem.joint_zxr, copied, problem.distortion))
    best = known
    if best is None or best.bound is None or value - best.bound > gap_tol:
        alone = Problem(problem.joint_zxr.sum(axis=0), problem.utility, problem.individual)
        best = solve(alone, gap_tol=0.5 * gap_tol)
    assert best.bound is not None  # a distortion
    if value - best.bound > gap_tol:
        return None
    channel = np.broadcast_to(copied[:, None], (n_m, n_x, copied.shape[1])).copy()
    leakage: dict[ViewKey, float] = {(): told, problem.everyone: mutual_information(mass)}
    multipliers: dict[ViewKey, float] = {(): sum(best.multipliers.values()), problem.everyone: 0.0}
    return Solution(
        problem, channel, value, best.bound, leakage, multipliers, Status.OPTIMAL, best.steps
    )


def _given_x(mass: Array, copied: Array, p_x: Array) -> Array:
    """p(letter | x), [x, letter]; any law where x does not occur."""
    joint = mass.T @ copied
    given = np.where(p_x[:, None] > 0, joint / np.where(p_x > 0, p_x, 1.0)[:, None], copied[0])
    return np.asarray(given / given.sum(axis=1, keepdims=True))
