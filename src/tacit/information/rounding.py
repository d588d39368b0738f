"""A-priori bounds on rounding, so that floating-point figures can be stated as proofs.

A sum of n products of non-negative doubles, in any order, has relative error at most gamma(n)
(Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.1). NumPy's log and
exp are within 4 units in the last place; the callers' constants leave room for that.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array

UNIT_ROUNDOFF = 2.0**-53


def gamma(n_operations: int) -> float:
    """Relative error of a result of ``n_operations`` roundings, all terms non-negative."""
    return n_operations * UNIT_ROUNDOFF / (1 - n_operations * UNIT_ROUNDOFF)


def information_upper_nats(
    joint: Array, conditional_prior: Array, n_operations: int
) -> tuple[Array, Array]:
    """Estimate of and upper bound on I(A; X | Y) in nats, summed over rows y.

    Args:
        joint: masses p(a, y, x), [..., a, y, x], each within gamma(n_operations) of the truth.
        conditional_prior: p(x | y), [y, x], as exact.
        n_operations: roundings behind each entry.

    Returns:
        (estimate, upper bound), each [..., y]. The bound is the smaller of two: the estimate plus
        its rounding, and the chi-square bound D(p || q) <= chi2(p, q), which keeps a release that
        is independent of X up to rounding within gamma(n)**2 of zero.
    """
    slack = gamma(n_operations + joint.shape[-1] + joint.shape[-3] + 16)
    marginal = joint.sum(axis=-1, keepdims=True)
    posterior = joint / np.where(marginal > 0, marginal, 1.0)
    ratio = posterior / np.where(conditional_prior > 0, conditional_prior, 1.0)
    terms = joint * np.log(np.where(ratio > 0, ratio, 1.0))
    estimate = terms.sum(axis=(-3, -1))
    mass = marginal.sum(axis=(-3, -1))
    direct = estimate + slack * (np.abs(terms).sum(axis=(-3, -1)) + 8 * mass)
    # Capped, because masses near the smallest float would overflow: the other bound is smaller.
    deviation = np.minimum(np.abs(ratio - 1.0) + 8 * slack * np.maximum(ratio, 1.0), 1e100)
    chi_square = (conditional_prior * deviation**2).sum(axis=-1, keepdims=True)
    quadratic = (1 + slack) * (marginal * chi_square).sum(axis=(-3, -1))
    return np.maximum(estimate, 0.0), np.minimum(direct, quadratic)
