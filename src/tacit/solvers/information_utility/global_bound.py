"""A global upper bound on I(Rhat; R): letters stand for cells of the simplex of posteriors of R.

A letter matters only through its posterior q of R; letters with posteriors in one cell can be
merged, which leaks no more. Entropy is concave, so on a simplex-shaped cell it lies above the
linear function that meets it at the corners, and a linear function of the posterior is a
distortion. Hence the distortion problem with one letter per cell bounds H(R | Rhat) from below over
**all** channels, whatever their letters: its certified bound is a proof. Cells that are used are
bisected, so the bound tightens where it matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tacit.arrays import LN2, Array
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.solve import solve_batch
from tacit.solvers.information_utility.ascent import joint_rhat_r, posteriors


@dataclass(frozen=True, slots=True, eq=False)
class CellBound:
    """Upper bound in bits, and the posteriors of the letters that the relaxation uses."""

    bound: float
    posterior: Array


def entropy_bits(laws: Array) -> Array:
    """H of laws along the last axis, in bits."""
    return np.asarray(entr(laws).sum(axis=-1) / LN2)


def bound_by_cells(
    statement: Statement, limits: Array, *, gap_tol: float, target: float, max_cells: int
) -> CellBound:
    """Refine until the relaxation's own release is within ``target`` bits of its bound.

    Args:
        statement: the problem.
        limits: bits, [view + 1].
        gap_tol: gap of each distortion problem.
        target: bits; when to stop.
        max_cells: cap on letters.
    """
    p_r = statement.problem.joint_zxr.sum(axis=(0, 1))
    entropy = float(entropy_bits(p_r))
    n_r = len(p_r)
    cells = np.eye(n_r)[None]  # corners: [cell, corner, r]
    best, posterior = entropy, p_r[None]
    while True:
        corners = entropy_bits(cells)[..., None]
        distortion = np.asarray(np.linalg.solve(cells, corners)[..., 0], float)
        lift = max(0.0, -float(distortion.min()))
        answers = solve_batch(
            statement, statement.cost_of(distortion + lift)[None], limits[None], gap_tol
        )
        best = min(best, entropy - (float(answers.bound[0]) - lift))
        joint = joint_rhat_r(statement, answers.channel)[0]
        weight = joint.sum(axis=1)
        posterior = posteriors(joint[None], cells.mean(axis=1)[None])[0]
        missed = weight * (entropy_bits(posterior) - (posterior * distortion).sum(axis=1))
        if missed.sum() <= target or len(cells) >= max_cells:
            return CellBound(best, posterior[weight > 1e-9])
        chosen = np.argsort(-missed)[: max(1, max_cells - len(cells))]
        chosen = chosen[missed[chosen] > 0.1 * target / len(cells)]
        if not len(chosen):
            return CellBound(best, posterior[weight > 1e-9])
        cells = _bisected(cells, chosen)


def _bisected(cells: Array, chosen: NDArray[np.intp]) -> Array:
    """Split each chosen cell at the middle of its most curved edge."""
    corners = cells[chosen]
    middle = 0.5 * (corners[:, :, None] + corners[:, None])
    height = entropy_bits(corners)
    bulge = entropy_bits(middle) - 0.5 * (height[:, :, None] + height[:, None])
    n_r = corners.shape[1]
    first, second = np.unravel_index(bulge.reshape(len(chosen), -1).argmax(axis=1), (n_r, n_r))
    own = np.arange(len(chosen))
    left, right = corners.copy(), corners.copy()
    left[own, second] = middle[own, first, second]
    right[own, first] = middle[own, first, second]
    others = np.delete(cells, chosen, axis=0)
    return np.concatenate([others, left, right])
