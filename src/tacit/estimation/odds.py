"""Odds ratios of hidden categories, with intervals by profile likelihood.

Source: [VM88] Venzon, Moolgavkar, "A method for computing profile-likelihood-based confidence
intervals", Appl. Statist. 37, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax, xlogy

from tacit.arrays import Array
from tacit.estimation.likelihood import likeliest_frequencies

_FLOOR = 1e-7
"""Least frequency from which a search starts: the likeliest one may be 0."""

_FARTHEST = 16.0
"""Log odds ratios beyond ±16, nine million, count as infinite."""

_FIRST_STEP = 0.25

_SLOPE_TOL = 1e-9
"""Of the mean log-likelihood, at which a search stops."""


@dataclass(frozen=True, slots=True, eq=False)
class LogOdds:
    """A log odds ratio: log f[a] f[d] / (f[b] f[c]).

    Attributes:
        value: of maximum likelihood; infinite or NaN where frequencies are 0 there.
        standard_error: from the observed information; NaN where ``value`` is not finite.
        interval: (low, high); infinite where the letters do not bound it.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]


def log_odds_ratio(
    counts: NDArray[np.int64], channel: Array, cells: tuple[int, int, int, int], quantile: float
) -> LogOdds:
    """The log odds ratio of four letters r, of the population that the rows are drawn from.

    Args:
        counts: how often each letter rhat occurs.
        channel: ``[r, rhat]``.
        cells: a, b, c, d.
        quantile: of the normal law, such as 1.96.
    """
    seen = counts > 0
    shares, rows = counts[seen] / counts.sum(), channel[:, seen]
    frequencies, _ = likeliest_frequencies(counts, channel)
    signs = np.zeros(len(channel))
    np.add.at(signs, list(cells), [1.0, -1.0, -1.0, 1.0])
    top = float(xlogy(shares, frequencies @ rows).sum())
    start = np.log(np.maximum(frequencies, _FLOOR))
    excess = partial(_excess, shares, rows, signs, start, top, quantile**2 / counts.sum())
    middle = float(np.clip(signs @ start, -_FARTHEST, _FARTHEST))
    interval = _interval_end(excess, middle, -1), _interval_end(excess, middle, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(signs[signs != 0] @ np.log(frequencies[signs != 0]))
    error = _standard_error(shares, rows, signs, frequencies, int(counts.sum()))
    return LogOdds(value, error if math.isfinite(value) else math.nan, interval)


def _excess(
    shares: Array, rows: Array, signs: Array, start: Array, top: float, allowed: float, value: float
) -> float:
    """By how much the deviance at a log odds ratio is above what an interval allows ([VM88])."""
    particular = signs * (value / (signs @ signs))
    basis = np.linalg.svd(signs[None, :])[2][1:]  # log frequencies that leave the ratio as it is

    def loss(free: Array) -> tuple[float, Array]:
        return _loss(shares, rows, particular + free @ basis, basis)[:2]

    def curvature(free: Array) -> Array:
        return _loss(shares, rows, particular + free @ basis, basis)[2]

    found = minimize(
        loss, basis @ start, jac=True, hess=curvature, method="trust-exact", tol=_SLOPE_TOL
    )
    return 2 * (top + float(found.fun)) - allowed


def _loss(shares: Array, rows: Array, logs: Array, basis: Array) -> tuple[float, Array, Array]:
    """Minus the mean log-likelihood at f ∝ exp(logs), its gradient and Hessian along ``basis``."""
    f = np.exp(log_softmax(logs))
    letters = f @ rows
    posterior = f[:, None] * rows / letters  # p(r | rhat), [r, rhat]
    mean = posterior @ shares
    hessian = (posterior * shares) @ posterior.T - np.outer(f, f) + np.diag(f - mean)
    return (
        -float(shares @ np.log(letters)),
        basis @ (f - mean),
        basis @ hessian @ basis.T,
    )


def _interval_end(excess: Callable[[float], float], middle: float, sign: int) -> float:
    """Where the deviance reaches what is allowed, going from ``middle`` down (−1) or up (+1)."""
    inside, step = middle, _FIRST_STEP
    while abs(inside) <= _FARTHEST:
        outside = inside + sign * step
        if excess(outside) > 0:
            low, high = sorted((inside, outside))
            return float(brentq(excess, low, high, xtol=1e-4)) if excess(inside) < 0 else inside
        inside, step = outside, 2 * step
    return sign * math.inf


def _standard_error(shares: Array, rows: Array, signs: Array, frequencies: Array, n: int) -> float:
    """From the observed information of the log frequencies that are not 0."""
    kept = frequencies > _FLOOR
    logs = np.log(frequencies[kept])
    basis = np.linalg.svd(np.ones((1, kept.sum())))[2][1:]  # their sum says nothing
    hessian = _loss(shares, rows[kept], logs, basis)[2]
    gradient = basis @ signs[kept]
    try:
        variance = float(gradient @ np.linalg.solve(hessian, gradient))
    except np.linalg.LinAlgError:
        return math.nan
    return math.sqrt(variance / n) if variance >= 0 else math.nan
