"""Bounds on every frequency, identifiable or not: linear programmes over the simplex.

Sources:
    [CP34] Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of
        the binomial", Biometrika 26, 1934.
    [H56] Hoeffding, "On the distribution of the number of successes in independent trials",
        Ann. Math. Statist. 27, 1956.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array
from scipy.special import betaincinv

from tacit.arrays import Array
from tacit.linear_program import minimise_linear

_WIDENING = 1e-6
"""Relative room around the likeliest letters, so that rounding does not make them infeasible."""


def frequency_bounds(
    channel: Array, counts: NDArray[np.int64], q_likeliest: Array, confidence: float
) -> tuple[Array, bool]:
    """Least and greatest f(r) over all f whose letters agree with the counts; and if any does.

    If none does, which has probability at most 1 − confidence, the region is widened to hold the
    likeliest letters, so that there is always an answer.
    """
    low, high = _letter_region(counts, confidence)
    bounds = _extreme_frequencies(channel, low, high)
    if bounds is not None:
        return bounds, True
    slack = _WIDENING * q_likeliest
    low, high = np.minimum(low, q_likeliest - slack), np.maximum(high, q_likeliest + slack)
    bounds = _extreme_frequencies(channel, low, high)
    return (_whole_simplex(len(channel)) if bounds is None else bounds), False


def subgroup_bounds(
    least: Array, most: Array, counts: NDArray[np.int64], confidence: float
) -> tuple[Array, bool]:
    """Least and greatest f(r) in a subgroup whose channel is anywhere between two; and if any fits.

    With m[r, rhat] = f(r) A[r, rhat] all conditions are linear: least f <= m <= most f, rows of m
    sum to f, columns of m lie where the counts allow.

    Args:
        least: ``[r, rhat]``, least p(rhat given r) of any subgroup.
        most: the greatest.
        counts: how often each letter occurs in the subgroup.
        confidence: of all bounds together, for any n.
    """
    low, high = _letter_region(counts, confidence)
    n_r, n_letters = least.shape
    every_r, one = np.eye(n_r), np.ones((1, n_letters))
    f_of_m = np.kron(every_r, np.ones((n_letters, 1)))  # f(r) beside each m[r, rhat]
    above = np.hstack([-least.reshape(-1, 1) * f_of_m, np.eye(n_r * n_letters)])
    below = np.hstack([most.reshape(-1, 1) * f_of_m, -np.eye(n_r * n_letters)])
    sums = np.hstack([-every_r, np.kron(every_r, one)])
    letters = np.hstack([np.zeros((n_letters, n_r)), np.kron(np.ones((1, n_r)), np.eye(n_letters))])
    total = np.append(np.ones(n_r), np.zeros(n_r * n_letters))
    conditions = csr_array(np.vstack([above, below, sums, total, letters]))
    between, equal = np.zeros(2 * n_r * n_letters), np.append(np.zeros(n_r), 1.0)
    low = np.concatenate([between, equal, low])
    high = np.concatenate([between + np.inf, equal, high])
    ends = np.zeros((n_r, 2))
    for r, side in np.ndindex(n_r, 2):
        cost = (1 - 2 * side) * np.eye(1, len(total), r)[0]
        found = minimise_linear(cost, conditions, low, high, most=1.0)
        if found.point is None:
            return _whole_simplex(n_r), not found.is_infeasible
        ends[r, side] = found.point[r]
    return np.clip(ends, 0.0, 1.0), True


def _letter_region(counts: NDArray[np.int64], confidence: float) -> tuple[Array, Array]:
    """A box that holds the law of the letters with at least this confidence, for any n.

    Each letter's [CP34] interval, shared out by Bonferroni. Given the rows, a count is a sum of
    unequal indicators: beyond its mean its tails are no heavier than binomial ([H56] Theorem 5).
    """
    # Of two letters, one count determines the other: their intervals are one event.
    tail = (1 - confidence) / 2 / (len(counts) if len(counts) > 2 else 1)
    n = counts.sum()
    low = betaincinv(np.maximum(counts, 1), n - counts + 1, tail)
    high = betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - tail)
    return np.where(counts > 0, low, 0.0), np.where(counts < n, high, 1.0)


def _extreme_frequencies(channel: Array, low: Array, high: Array) -> Array | None:
    """[min f(r), max f(r)] over the simplex where low <= f A <= high; None if that is empty.

    One programme with a block for each end: blocks share no variable, so each is at its optimum.
    """
    n_r = len(channel)
    # Rows of order 1, so that the solver's tolerances mean the same for rare letters. No law gives
    # a letter more than its peak, so a limit above twice the peak changes nothing.
    peak = channel.max(axis=0)
    low, high = (np.append(np.minimum(side, 2 * peak) / peak, 1.0) for side in (low, high))
    rows = np.vstack([(channel / peak).T, np.ones(n_r)])
    blocks = block_diag([rows] * (2 * n_r))
    cost = np.eye(n_r)[:, None, :] * np.array([1, -1])[:, None]  # [r, least or greatest, f]
    found = minimise_linear(
        cost.ravel(), blocks, np.tile(low, 2 * n_r), np.tile(high, 2 * n_r), most=1.0
    )
    if found.is_infeasible:
        return None
    if found.point is None:
        return _whole_simplex(n_r)  # which always holds
    extremes = np.einsum("rsr->rs", found.point.reshape(n_r, 2, n_r))
    return np.asarray(np.clip(extremes, 0.0, 1.0))


def _whole_simplex(n_r: int) -> Array:
    return np.tile([0.0, 1.0], (n_r, 1))
