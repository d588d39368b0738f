"""Leakage measures that guard more than the average: what an adversary gains from seeing Y.

Mutual information is an average over records and outputs. These measures look at the best guess,
at every possible secret, at every output letter, or at every pair of letters x. In bits,

    I(X;Y) ≤ maximal leakage ≤ max over y of pointwise maximal leakage ≤ local-DP ε,
    min-entropy leakage ≤ maximal leakage.

Every function takes either ``joint_xy[x, y]`` (probabilities or counts), or ``p_x[x]`` and
``channel[x, y]`` = p(y given x). Letters x of probability 0 are ignored.

Sources:
    [S09] Smith, "On the Foundations of Quantitative Information Flow", FoSSaCS 2009.
    [IWK20] Issa, Wagner, Kamath, "An Operational Approach to Information Leakage",
        IEEE Trans. Inf. Theory 66(3), 2020; arXiv:1807.07878.
    [SCOS23] Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage",
        IEEE Trans. Inf. Theory 69(12), 2023; arXiv:2205.04935.
    [KLNRS11] Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, "What Can We Learn Privately?",
        SIAM J. Comput. 40(3), 2011.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import Array
from tacit.information.laws import as_law, as_prior_and_channel, gamma


def bayes_vulnerability(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """Σ_y max_x p(x,y), the chance that the best guess of X after seeing Y is right ([S09]).

    A probability, not bits. A 1-D ``p`` without ``channel`` is a Y that says nothing: max_x p(x).
    """
    if channel is None:
        law = as_law(p)
        p = law[:, None] if law.ndim == 1 else law
    return _posterior_vulnerability(*as_prior_and_channel(p, channel))


def min_entropy_leakage(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """log₂ of how much seeing Y multiplies the chance of guessing X in one try ([S09])."""
    p_x, p_y_given_x = as_prior_and_channel(p, channel)
    after = _posterior_vulnerability(p_x, p_y_given_x)
    return _non_negative(math.log2(after / float(p_x.max())))


def maximal_leakage(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """log₂ Σ_y max_{x: p(x)>0} p(y given x), the worst over all secrets ([IWK20] Theorem 1)."""
    _, p_y_given_x = as_prior_and_channel(p, channel)
    return _non_negative(math.log2(float(p_y_given_x.max(axis=0).sum())))


def pointwise_maximal_leakage(p: ArrayLike, channel: ArrayLike | None = None) -> Array:
    """log₂ max_{x: p(x)>0} p(y given x)/p(y), for every output letter y ([SCOS23]).

    Returns:
        ``bits[y]``; −∞ where p(y) = 0, so that a maximum passes over letters that cannot occur.
    """
    p_x, p_y_given_x = as_prior_and_channel(p, channel)
    peak = p_y_given_x.max(axis=0)
    occurs = peak > 0
    # p(y)/peak rather than peak/p(y): it lies in (0, 1], so it cannot overflow.
    p_y_over_peak = p_x @ (p_y_given_x[:, occurs] / peak[occurs])
    bits = np.full(peak.shape, -np.inf)
    # p(y) is a mean of numbers no greater than the peak: a quotient above 1 is rounding alone.
    bits[occurs] = abs(np.log2(np.minimum(p_y_over_peak, 1)))
    return bits


def worst_answer_bits(joint_yx: Array) -> float:
    """The largest pointwise maximal leakage of p(y, x), [y, x], rounded up."""
    p_x, p_y = joint_yx.sum(axis=0), joint_yx.sum(axis=1, keepdims=True)
    independent = p_y * p_x
    ratio = joint_yx / np.where(independent > 0, independent, 1.0)
    largest = float(ratio.max()) * (1 + gamma(4 * sum(joint_yx.shape) + 16))
    return _non_negative(math.log2(largest))


def local_dp_epsilon(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """log₂ max p(y given x)/p(y given x') over all y and all x, x' that occur ([KLNRS11]).

    In bits: the ε of local differential privacy, usually in nats, is this times ln 2. It is ∞ when
    an output rules out some x but not all; letters y that cannot occur are ignored.
    """
    _, p_y_given_x = as_prior_and_channel(p, channel)
    peak, trough = p_y_given_x.max(axis=0), p_y_given_x.min(axis=0)
    if np.any((trough == 0) & (peak > 0)):
        return math.inf
    occurs = peak > 0
    return float((np.log2(peak[occurs]) - np.log2(trough[occurs])).max())


def _posterior_vulnerability(p_x: Array, p_y_given_x: Array) -> float:
    # A probability: where Y tells x, p(x) adds up to 1 and a little more by rounding.
    return min(1.0, float((p_x[:, None] * p_y_given_x).max(axis=0).sum()))


def _non_negative(bits: float) -> float:
    """``bits`` without rounding noise: seeing Y never hurts a guess, so the true value is ≥ 0."""
    return max(0.0, bits)
