"""Mixing channels to meet limits that no single multiplier pair reaches.

Disclosed ([M] fact 7): draw t per record with weights w_t, independent of (X, Z), and release
(t, rhat). Utility and leakages are the weighted means, so the best weights are a linear programme
and L limits need at most L + 1 channels. Undisclosed ([TVC] footnote to section V-B): release the
mixture without t; leaks less, tells less.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.linear_program import minimise_linear


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
    solved = minimise_linear(
        -utility,
        np.vstack([leakage.T, np.ones(len(utility))]),
        np.append(np.full(len(budgets), -inf), 1.0),
        np.append(budgets, 1.0),
    )
    if solved.point is None:
        return None
    members = np.flatnonzero(solved.point > 1e-9)
    weights = solved.point[members] / solved.point[members].sum()
    multipliers = -solved.prices[:-1]
    return Mixture(members, weights, float(weights @ utility[members]), multipliers)


def disclosed_channel(channels: Array, weights: Array) -> Array:
    """[t, rhat, z, x] -> [(t, rhat), z, x]: rows w_t c_t, t first."""
    return (weights[:, None, None, None] * channels).reshape(-1, *channels.shape[2:])


def undisclosed_channel(channels: Array, weights: Array) -> Array:
    """[t, rhat, z, x] -> [rhat, z, x]: the mixture of the channels."""
    return np.asarray(np.einsum("t,tkzx->kzx", weights, channels))
