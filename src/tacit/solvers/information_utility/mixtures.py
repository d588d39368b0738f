"""Mixing channels to meet limits that no single multiplier pair reaches.

Disclosed ([M] fact 7): draw t per record with weights w_t, independent of (X, Z), and release
(t, rhat). Utility and leakages are the weighted means, so the best weights are a linear programme
and L limits need at most L + 1 channels. Undisclosed ([TVC] footnote to section V-B): release the
mixture without t; leaks less, tells less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The best weights over a pool of channels.

    Attributes:
        members: indices into the pool.
        weights: their weights, positive, sum 1.
        value: weighted mean of the utilities.
        multipliers: what one more bit of budget is worth, [view].
    """

    members: NDArray[np.intp]
    weights: Array
    value: float
    multipliers: Array


def best_mixture(utility: Array, leakage: Array, budgets: Array) -> Mixture | None:
    """Weights that maximise the mean utility with every mean leakage within its budget.

    Args:
        utility: [pool].
        leakage: bits that each channel adds to each view, [pool, view].
        budgets: bits left to each view, [view]; inf where unlimited.
    """
    from scipy.optimize import linprog

    is_limited = np.isfinite(budgets)
    solved = linprog(
        -utility,
        A_ub=leakage[:, is_limited].T if is_limited.any() else None,
        b_ub=budgets[is_limited] if is_limited.any() else None,
        A_eq=np.ones((1, len(utility))),
        b_eq=[1.0],
        method="highs-ds",
    )
    if solved.x is None:
        return None
    members = np.flatnonzero(solved.x > 1e-9)
    weights = solved.x[members] / solved.x[members].sum()
    multipliers = np.zeros(len(budgets))
    if is_limited.any():
        multipliers[is_limited] = -solved.ineqlin.marginals
    return Mixture(members, weights, float(weights @ utility[members]), multipliers)


def disclosed_channel(channels: Array, weights: Array) -> Array:
    """[t, rhat, z, x] -> [(t, rhat), z, x]: rows w_t c_t, t first."""
    return (weights[:, None, None, None] * channels).reshape(-1, *channels.shape[2:])


def undisclosed_channel(channels: Array, weights: Array) -> Array:
    """[t, rhat, z, x] -> [rhat, z, x]: the mixture of the channels."""
    return np.asarray(np.einsum("t,tkzx->kzx", weights, channels))
