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
