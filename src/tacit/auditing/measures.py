"""What a coalition has learned, by every leakage measure: exact from its law, or bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log2
from types import MappingProxyType

import numpy as np

from tacit.arrays import Array
from tacit.auditing.paths import PathBounds
from tacit.information import (
    bayes_vulnerability,
    entropy,
    local_dp_epsilon,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    pointwise_maximal_leakage,
)

QUANTILES = (0.5, 0.95, 0.99)
"""Quantiles reported of the pointwise maximal leakage."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a coalition has learned about one record, in bits.

    Attributes:
        is_exact: whether the figures are exact (double precision), or upper bounds on them.
        mutual_information: I(Y; X), the mean.
        guess_before: chance that one guess of x is right for somebody who has seen nothing.
        guess_after: the same after seeing Y: the Bayes vulnerability. Both are probabilities.
        min_entropy_leakage: log2 of guess_after / guess_before.
        maximal_leakage: the same for the worst secret that depends on x.
        pointwise_quantiles: quantile -> pointwise maximal leakage, over the outcomes y by p(y).
        pointwise_max: the largest pointwise maximal leakage of an outcome.
        local_dp_epsilon: the largest log2 p(y | x) / p(y | x'); may be infinite.
    """

    is_exact: bool
    mutual_information: float
    guess_before: float
    guess_after: float
    min_entropy_leakage: float
    maximal_leakage: float
    pointwise_quantiles: Mapping[float, float]
    pointwise_max: float
    local_dp_epsilon: float


def exact_exposure(law: Array) -> Exposure:
    """Every measure of a law p(y, x), [y, x]."""
    joint_xy = law.T
    pointwise = pointwise_maximal_leakage(joint_xy)
    p_y = joint_xy.sum(axis=0)
    return Exposure(
        is_exact=True,
        mutual_information=mutual_information(joint_xy),
        guess_before=bayes_vulnerability(joint_xy.sum(axis=1)),
        guess_after=bayes_vulnerability(joint_xy),
        min_entropy_leakage=min_entropy_leakage(joint_xy),
        maximal_leakage=maximal_leakage(joint_xy),
        pointwise_quantiles=MappingProxyType(
            {quantile: weighted_quantile(pointwise, p_y, quantile) for quantile in QUANTILES}
        ),
        pointwise_max=float(pointwise.max()),
        local_dp_epsilon=local_dp_epsilon(joint_xy),
    )


def weighted_quantile(values: Array, weights: Array, quantile: float) -> float:
    """The smallest value v such that values <= v have at least this share of the weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    # Rounding must not skip a value whose share is exactly the quantile.
    index = int(np.searchsorted(share, quantile - 1e-12))
    return float(values[order[min(index, len(order) - 1)]])


def bounded_exposure(p_x: Array, information_bits: float, paths: PathBounds) -> Exposure:
    """Upper bounds on every measure, for a coalition whose law is not carried.

    Args:
        p_x: law of X.
        information_bits: upper bound on I(Y; X).
        paths: upper bounds from the paths that the memory can take.
    """
    occurring = p_x[p_x > 0]
    before = bayes_vulnerability(occurring)
    # Σ_y max_x p(y|x) <= Σ_y Σ_x p(y|x) = number of letters x; and the measures are ordered.
    maximal = min(paths.maximal_leakage, paths.pointwise_max, log2(len(occurring)))
    mutual = min(information_bits, maximal, entropy(occurring))
    after = min(before * 2**maximal, guess_bound(before, mutual))
    return Exposure(
        is_exact=False,
        mutual_information=mutual,
        guess_before=before,
        guess_after=after,
        min_entropy_leakage=log2(after / before),
        maximal_leakage=maximal,
        pointwise_quantiles=MappingProxyType(
            {quantile: _quantile_bound(quantile, maximal, paths) for quantile in QUANTILES}
        ),
        pointwise_max=paths.pointwise_max,
        local_dp_epsilon=paths.local_dp_epsilon,
    )


def guess_bound(before: float, information_bits: float) -> float:
    """The best chance of a right guess that I(Y; X) <= ``information_bits`` leaves possible.

    Fano's inequality by data processing: let G be the guess, s = P(G = X), and s0 = P(G = X) were
    G drawn apart from X, so that s0 <= before. The event G = X is a function of (G, X), hence
    I(Y; X) >= I(G; X) >= d(s, s0) >= d(s, before) for s >= before, d being the binary divergence.
    """
    if before >= 1 or information_bits >= -log2(before):
        return 1.0
    low, high = before, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _divergence(middle, before) > information_bits else (middle, high)
        )
    return high


def _divergence(s: float, t: float) -> float:
    """Bits of relative entropy between coins of bias s and t, both in (0, 1)."""
    return s * log2(s / t) + (1 - s) * log2((1 - s) / (1 - t))


def _quantile_bound(quantile: float, maximal: float, paths: PathBounds) -> float:
    """Markov's inequality: the mean of 2**pml(Y) is 2**(maximal leakage)."""
    tail = log2(1 / (1 - quantile)) if quantile < 1 else inf
    return min(maximal + tail, paths.pointwise_max)
