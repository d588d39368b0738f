"""Odds ratios of hidden categories, with intervals by profile likelihood.

Source: [VM88] Venzon, Moolgavkar, "A method for computing profile-likelihood-based confidence
intervals", Appl. Statist. 37, 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax

from tacit.arrays import Array
from tacit.estimation.likelihood import likeliest_frequencies
from tacit.information.laws import xlogy

_FLOOR = 1e-7
"""Least frequency from which a search starts: the likeliest one may be 0."""

_FARTHEST = 16.0
"""Log odds ratios beyond ±16, nine million, count as infinite."""

_FIRST_STEP = 0.25

_PLACE_TOL = 1e-4
"""Of an interval's end."""

_MAX_STEPS = 100
_SLOPE_TOL = 1e-8
"""Of the mean log-likelihood, at which a search stops."""

_LEAST_CURVATURE = 1e-8
_LONGEST_STEP = 2.0
"""Of a log frequency in one step."""


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
    held = np.stack([signs, np.ones(len(signs))])
    basis = np.linalg.svd(held)[2][2:]
    allowed = quantile**2 / counts.sum() - 2 * top
    middle = float(np.clip(signs @ start, -_FARTHEST, _FARTHEST))
    # A profile for each end: its searches start where the last one on that side ended.
    low, high = (
        _interval_end(
            _Profile(shares, rows, signs, basis @ start, basis, allowed).excess, middle, sign
        )
        for sign in (-1, 1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(signs[signs != 0] @ np.log(frequencies[signs != 0]))
    error = _standard_error(shares, rows, signs, frequencies, int(counts.sum()))
    return LogOdds(value, error if math.isfinite(value) else math.nan, (low, high))


@dataclass(slots=True, eq=False)
class _Profile:
    """The likelihood of letters where a log odds ratio is held.

    Attributes:
        shares: of the letters that occur.
        rows: their columns of the channel, [r, rhat].
        signs: of the four log frequencies in the ratio.
        free: log frequencies along ``basis``, where the last search ended.
        basis: directions of log frequencies that leave the ratio as it is, but for their sum.
        allowed: deviance of an interval's end for each letter, less twice the largest mean
            log-likelihood.
    """

    shares: Array
    rows: Array
    signs: Array
    free: Array
    basis: Array
    allowed: float

    def excess(self, value: float) -> float:
        """By how much the deviance at a ratio is above what an interval allows ([VM88])."""
        fixed = self.signs * (value / (self.signs @ self.signs))
        loss, slope, curvature = self._loss(fixed, self.free)
        for _ in range(_MAX_STEPS):
            if abs(slope).max(initial=0.0) <= _SLOPE_TOL:
                break
            values, vectors = np.linalg.eigh(curvature)
            step = -vectors @ (vectors.T @ slope / np.maximum(abs(values), _LEAST_CURVATURE))
            step *= min(1.0, _LONGEST_STEP / abs(step).max())
            for shrink in 0.5 ** np.arange(20):
                trial = self._loss(fixed, self.free + shrink * step)
                if trial[0] < loss:
                    break
            else:
                break
            self.free = self.free + shrink * step
            loss, slope, curvature = trial
        return 2 * loss - self.allowed

    def _loss(self, fixed: Array, free: Array) -> tuple[float, Array, Array]:
        return _loss(self.shares, self.rows, fixed + free @ self.basis, self.basis)


def _loss(shares: Array, rows: Array, logs: Array, basis: Array) -> tuple[float, Array, Array]:
    """Minus the mean log-likelihood at f ∝ exp(logs), its gradient and Hessian along ``basis``."""
    f = softmax(logs)
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
            return (
                float(brentq(excess, low, high, xtol=_PLACE_TOL)) if excess(inside) < 0 else inside
            )
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
