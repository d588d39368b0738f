"""Frequencies of maximum likelihood over the simplex, with a bound on what is missing.

Source: [W07] Wang, "On fast computation of the non-parametric maximum likelihood estimate of a
mixing distribution", J. R. Statist. Soc. B 69, 2007.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tacit.arrays import Array
from tacit.information.laws import xlogy

LIKELIHOOD_TOL = 1e-11
"""Missing mean log-likelihood at which to stop: for 10^9 letters, 0.01 in the log-likelihood."""

_MAX_STEPS = 500

_ROUNDING = 1e-15
"""Relative. A rise of the log-likelihood below this is lost in its rounding."""


def likeliest_frequencies(counts: NDArray[np.int64], channel: Array) -> tuple[Array, float]:
    """f on the simplex that maximises Σ counts log (f A), and a bound on what is missing.

    The constrained Newton method of [W07]: each step solves the quadratic model on the simplex as
    non-negative least squares. The gap max_r Σ_rhat share(rhat) A[r, rhat]/q(rhat) − 1 bounds the
    missing mean log-likelihood by concavity, so it is what stops the loop.

    Returns:
        (f, gap in nats for each letter). f is one of many where the channel is singular.
    """
    seen = counts > 0
    shares, rows = counts[seen] / counts.sum(), channel[:, seen]
    f = np.full(len(channel), 1 / len(channel))
    best, best_gap = f, math.inf
    for _ in range(_MAX_STEPS):
        ratios = rows / (f @ rows)
        gradient = ratios @ shares
        gap = float(gradient.max() - 1)
        if gap < best_gap:
            best, best_gap = f, gap
        if gap <= LIKELIHOOD_TOL:
            break
        goal = _newton_goal(ratios, shares)
        f = _uphill(f, goal, gradient, rows, shares)
    return best, max(0.0, best_gap)


def _gap(f: Array, rows: Array, shares: Array) -> float:
    """max_r Σ_rhat shares(rhat) A[r, rhat]/q(rhat) − 1; infinite if a letter seen cannot be."""
    q = f @ rows
    return float((rows / q @ shares).max() - 1) if (q > 0).all() else math.inf


def _newton_goal(ratios: Array, shares: Array) -> Array | None:
    """The g on the simplex that minimises Σ shares (g·ratios − 2)², the model around f."""
    residuals = np.sqrt(shares) * (ratios - 2)
    # On the simplex g·residuals is homogeneous, so the sum may be pulled to 1 softly ([W07], 3).
    stacked = np.vstack([residuals.T, np.ones(len(ratios))])
    try:
        g, _ = nnls(stacked, np.append(np.zeros(len(shares)), 1.0))
    except RuntimeError:  # too many steps
        return None
    return np.asarray(g / g.sum()) if g.sum() > 0 else None


def _uphill(f: Array, goal: Array | None, gradient: Array, rows: Array, shares: Array) -> Array:
    """A point of higher likelihood: towards ``goal`` if that helps, else a step of EM."""

    def likelihood(g: Array) -> float:
        q = g @ rows
        return float(xlogy(shares, q).sum()) if (q > 0).all() else -math.inf

    start = likelihood(f)
    if goal is not None:
        rise = float(gradient @ (goal - f))
        if abs(rise) <= _ROUNDING * abs(start) and _gap(goal, rows, shares) < gradient.max() - 1:
            return goal  # the likelihood cannot tell any more; the gap, of first order, still can
        for halving in range(30):
            step = 0.5**halving
            candidate = f + step * (goal - f)
            if likelihood(candidate) >= start + step * rise / 3 and rise > 0:
                return np.asarray(candidate)
    em = f * gradient
    return np.asarray(em / em.sum())
