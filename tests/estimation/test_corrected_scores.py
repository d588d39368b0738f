"""Corrected equations of many samples at once: the same as of each alone."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.estimation import NoisyColumn, fit_linear, fit_logistic
from tacit.estimation import corrected_scores as module
from tacit.estimation.corrected_scores import Fits, Link
from tacit.estimation.regression import corrected_scores

Z95 = 1.959963984540054
BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
KINDS = np.indices((2, 2, 2)).reshape(3, -1)  # letter, outcome, own column
FIT = {"linear": fit_linear, "logistic": fit_logistic}
END_TOL = 1e-4
"""In standard errors, as ends of intervals are sought."""


def fit_together(link: Link, counts: np.ndarray) -> Fits:
    letters, y, x = KINDS
    covariates = {"r": NoisyColumn(letters, BINARY), "x": x}
    names, equations, row_of = corrected_scores(link, y, covariates)
    assert names == ("intercept", "r=1", "x")
    return equations.fit(counts[:, np.argsort(row_of)].astype(float), Z95)


@pytest.mark.parametrize("link", FIT)
def test_samples_together_are_fitted_as_each_alone(link: Link) -> None:
    true = np.random.default_rng(0).dirichlet(np.full(8, 5.0)).reshape(2, 4)
    law = (BINARY.T @ true).ravel()
    counts = np.random.default_rng(1).multinomial(900, law, size=6)
    found = fit_together(link, counts)
    assert found.is_solved.all()
    for k, sample in enumerate(counts):
        letters, y, x = KINDS.repeat(sample, axis=1)
        alone = FIT[link](y, {"r": NoisyColumn(letters, BINARY), "x": x})
        assert found.coefficients[k] == pytest.approx(alone.coefficients, abs=1e-7)
        assert found.covariance[k] == pytest.approx(alone.covariance, rel=1e-6)
        np.testing.assert_allclose(
            found.intervals[k], alone.intervals, atol=2 * END_TOL * alone.standard_errors.max()
        )


def test_a_sample_without_a_solution_leaves_the_others_alone() -> None:
    """All of one sample have the same x: its coefficients are not told apart."""
    counts = np.full((2, 8), 50)
    counts[1, KINDS[2] == 0] = 0
    found = fit_together("linear", counts)
    assert found.is_solved.tolist() == [True, False]
    assert np.isfinite(found.intervals[0]).all()
    assert np.isnan(found.intervals[1]).all()


def test_what_fits_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(2).multinomial(500, np.full(8, 1 / 8), size=5)
    together = fit_together("logistic", counts)
    monkeypatch.setattr(module, "_MOST_ENTRIES", 1)
    one_by_one = fit_together("logistic", counts)
    np.testing.assert_allclose(together.intervals, one_by_one.intervals, atol=1e-6)


@pytest.mark.parametrize("far", [0.0, 2_000.0])
def test_moments_of_rows_say_what_the_rows_say(monkeypatch: pytest.MonkeyPatch, far: float) -> None:
    """Also far from 0, where sums of fourth powers alone would have no figure left."""
    rng = np.random.default_rng(3)
    letters, x, year = rng.integers(2, size=999), rng.normal(size=999), rng.integers(9, size=999)
    y = 500 * far + letters + 0.3 * x + rng.normal(size=999)
    covariates = {"r": NoisyColumn(letters, BINARY), "x": x, "year": far + year}
    by_moments = fit_linear(y, covariates)
    monkeypatch.setattr(module, "_MOST_MOMENTS", 0)
    by_rows = fit_linear(y, covariates)
    errors = by_rows.standard_errors
    rounding = 1e-10 if far == 0 else 1e-8  # the sandwich is of the covariates as they are
    assert by_moments.standard_errors == pytest.approx(errors, rel=rounding)
    for one, other in (
        (by_moments.coefficients, by_rows.coefficients),
        *zip(by_moments.intervals.T, by_rows.intervals.T, strict=True),
    ):
        assert (abs(one - other) / errors).max() < rounding
