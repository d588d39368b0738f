"""Logistic functions, and quantiles of normal, beta and Student laws.

Sources:
    [DLMF] NIST Digital Library of Mathematical Functions, 8.17.22: the incomplete beta function as
        a continued fraction.
    [L00] Loader, "Fast and accurate computation of binomial probabilities", 2000.
    [TB86] Thompson, Barnett, "Coulomb and Bessel functions of complex arguments and order",
        J. Comput. Phys. 64, 1986: the modified method of Lentz.
    [AS] Abramowitz, Stegun, "Handbook of mathematical functions", 1964, 26.7.5.
"""

from __future__ import annotations

from math import inf, lgamma, log, pi
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import Array

_MANY_DEGREES = 1e6
"""Degrees of freedom from which on four terms of [AS] are exact."""

_LARGE = 15.0
"""From here on Stirling's series is exact."""

_NEWTON_TOL = 1e-12
"""Of the last step: what is missing then is about its square."""

_LARGEST_LOGIT = 700.0
"""Beyond it a share is about the least number."""

_FRACTION_TOL = 1e-15
_TINY = 1e-300
_MOST_STEPS = 200
_MOST_TERMS = 10_000_000


def logistic(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x))."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(x, dtype=np.float64))))


def softmax(logs: Array) -> Array:
    """The law in proportion to exp(logs), along the last axis."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def normal_quantile(p: float) -> float:
    """What a standard normal variable is below with probability p."""
    if 0 < p < 1:
        return NormalDist().inv_cdf(p)
    return inf if p == 1 else -inf


def student_quantile(degrees: ArrayLike, p: float) -> Array:
    """What Student's variable is below with probability p, for each number of degrees."""
    degrees = np.asarray(degrees, dtype=np.float64)
    if p == 0.5:
        return np.zeros(degrees.shape)
    if p > 0.5:
        return -student_quantile(degrees, 1 - p)
    some = np.minimum(degrees, _MANY_DEGREES)
    half, whole = np.full(some.shape, 0.5), some / 2
    # Of t^2 / (degrees + t^2), whose upper tail 2 p is.
    logit = -_beta_logit(whole, half, 2 * p) if p <= 0.25 else _beta_logit(half, whole, 1 - 2 * p)
    return np.where(
        degrees < _MANY_DEGREES,
        -np.sqrt(some * np.exp(logit)),
        _near_normal_quantile(np.maximum(degrees, _MANY_DEGREES), p),
    )


def _near_normal_quantile(degrees: Array, p: float) -> Array:
    z = normal_quantile(p)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return np.asarray(z + first / degrees + second / degrees**2)


def beta_quantile(a: ArrayLike, b: ArrayLike, p: float) -> Array:
    """What a beta variable with parameters a, b is below with probability p, for each a and b."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    if p in (0, 1):
        return np.full(a.shape, float(p))
    logit = _beta_logit(a, b, p) if p <= 0.5 else -_beta_logit(b, a, 1 - p)
    return logistic(logit)


def _beta_logit(a: Array, b: Array, p: float) -> Array:
    """The logit of a beta quantile, for p at most 1/2.

    The log of the distribution function is concave in it: Newton's method comes from below after
    one step, and converges. It begins where the logit would be if it were normal.
    """
    shape, a, b = a.shape, a.reshape(-1), b.reshape(-1)
    logit = np.log(a) - np.log(b) + normal_quantile(p) * np.sqrt(np.minimum(1 / a + 1 / b, 1.0))
    for _ in range(_MOST_STEPS):
        x, rest = logistic(logit), logistic(-logit)
        log_slope = _log_density_of_logit(a, b, x, rest)
        numbers = zip(*(each.tolist() for each in (a, b, x, rest)), strict=True)
        fraction = np.array([_continued_fraction(*each) for each in numbers])
        log_share = log_slope - np.log(a * fraction)
        before = logit
        step = (log(p) - log_share) * np.exp(log_share - log_slope)
        logit = np.clip(before + step, -_LARGEST_LOGIT, _LARGEST_LOGIT)
        if (abs(logit - before) <= _NEWTON_TOL * np.maximum(1.0, abs(logit))).all():
            break
    return np.asarray(logit.reshape(shape))


def _log_density_of_logit(a: Array, b: Array, x: Array, rest: Array) -> Array:
    """log x^a (1 - x)^b / B(a, b), as [L00] computes it: digits are kept where a, b are large."""
    n = a + b
    errors = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    deviance = _deviance(a, n * x) + _deviance(b, n * rest)
    return np.asarray(errors - deviance + 0.5 * np.log(a * b / (2 * pi * n)))


def _deviance(seen: Array, mean: Array) -> Array:
    """seen log(seen / mean) + mean - seen."""
    excess = (seen - mean) / mean
    return np.asarray(mean * ((1 + excess) * np.log1p(excess) - excess))


def _stirling_error(n: Array) -> Array:
    """log n! less Stirling's approximation of it ([L00], section 2)."""
    large = np.maximum(n, _LARGE)
    square = large**2
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    )
    small = np.minimum(n, _LARGE)
    exact = np.vectorize(lgamma, otypes=[np.float64])(small + 1) - (
        (small + 0.5) * np.log(small) - small + 0.5 * log(2 * pi)
    )
    return np.asarray(np.where(n > _LARGE, series / large, exact))


def _continued_fraction(a: float, b: float, x: float, rest: float) -> float:
    """x^a (1 - x)^b / (a B(a, b) I_x(a, b)) for x up to about its mean.

    The even part of [DLMF] 8.17.22, whose terms are sums of positive numbers up to m = b, by the
    modified method of Lentz ([TB86]). Term by term for one number: arrays of a few would take five
    times as long.
    """
    excess = 1 + (a - (a + b) * x if x < rest else (a + b) * rest - b)
    value = above = excess / (a + 1)
    below = 0.0
    for m in range(1, _MOST_TERMS):
        ends = a + 2 * m
        top = (a + m - 1) * (a + b + m - 1) * m * (b - m) * x**2
        top = top / ((ends - 2) * (ends - 1) ** 2 * ends)
        plus = m + m * (b - m) * x / (ends - 1) + (a + m) / (ends + 1) * (excess + m * (1 + rest))
        plus = plus / ends
        below = 1 / ((plus + top * below) or _TINY)
        above = (plus + top / above) or _TINY
        value = value * above * below
        if abs(above * below - 1) <= _FRACTION_TOL:
            break
    return value
