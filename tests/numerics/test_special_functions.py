"""Special functions, beside SciPy's."""

from __future__ import annotations

from math import inf, log, log1p

import numpy as np
import pytest
from scipy import special, stats

from tacit.numerics.special_functions import (
    beta_quantile,
    logistic,
    normal_quantile,
    softmax,
    student_quantile,
)

TOL = 1e-12


def test_logistic_functions() -> None:
    x = np.concatenate([np.linspace(-745, 745, 2001), np.linspace(-1e-8, 1e-8, 11)])
    np.testing.assert_allclose(logistic(x), special.expit(x), rtol=TOL, atol=1e-307)
    logs = np.random.default_rng(0).normal(scale=300, size=(50, 4, 6))
    logs[0] = -inf
    logs[0, :, 2] = 3.0
    np.testing.assert_allclose(softmax(logs), special.softmax(logs, axis=-1), rtol=TOL)


def test_normal_quantiles() -> None:
    shares = [1e-300, 1e-20, 0.025, 0.5, 0.6, 0.975, 1 - 1e-12, 1 - 2**-53]
    found = [normal_quantile(share) for share in shares]
    np.testing.assert_allclose(found, special.ndtri(shares), rtol=TOL)
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-inf, inf)


TAILS = (1e-200, 1e-15, 1e-6, 0.0025, 0.025, 0.3, 0.5, 0.9, 0.975, 1 - 1e-9)


@pytest.mark.parametrize("tail", TAILS)
def test_beta_quantiles(tail: float) -> None:
    counts = np.array([0.5, 1, 2, 3, 10, 15, 16, 100, 999, 50_000, 1_000_000])
    a, b = (each.reshape(-1) for each in np.meshgrid(counts, counts))
    found, wanted = beta_quantile(a, b, tail), special.betaincinv(a, b, tail)
    has_digits = wanted > 1e-300  # SciPy returns NaN for some, and numbers of few digits
    assert has_digits.mean() > 0.75
    np.testing.assert_allclose(found[has_digits], wanted[has_digits], rtol=1e-10)  # SciPy's digits
    assert (found[~has_digits] < 1e-60).all()
    # With one parameter 1 there is a closed form.
    np.testing.assert_allclose(
        beta_quantile(1, counts, tail), -np.expm1(log1p(-tail) / counts), TOL
    )
    np.testing.assert_allclose(
        beta_quantile(counts, 1, tail), np.exp(log(tail) / counts), TOL, 1e-300
    )


@pytest.mark.parametrize("tail", [1e-5, 0.025, 0.975])
def test_beta_quantiles_of_very_many_records(tail: float) -> None:
    """SciPy's own inverse has fewer digits here than its distribution function."""
    a, b = np.array([1.0, 1000.0, 4e8]), np.array([1e9, 1e9, 6e8])
    found = beta_quantile(a, b, tail)
    np.testing.assert_allclose(special.betainc(a, b, found), tail, rtol=1e-9)


def test_beta_quantiles_at_the_ends() -> None:
    assert beta_quantile(3, 4, 0.0) == 0.0
    assert beta_quantile(3, 4, 1.0) == 1.0
    assert beta_quantile(np.empty(0), np.empty(0), 0.1).shape == (0,)


@pytest.mark.parametrize("p", [1e-10, 0.025, 0.25, 0.5, 0.8, 0.995])
def test_student_quantiles(p: float) -> None:
    degrees = np.array([1, 1.5, 2, 3.7, 10, 100, 12_345.6, 999_999, 1e6, 1e7, 1e12, inf])
    found = student_quantile(degrees, p)
    # SciPy's own inverse has fewer digits for some: its distribution function is exact.
    np.testing.assert_allclose(stats.t.cdf(found, degrees), p, rtol=1e-11)
    few = degrees <= 3
    np.testing.assert_allclose(found[few], stats.t.ppf(p, degrees[few]), rtol=1e-9, atol=1e-15)
