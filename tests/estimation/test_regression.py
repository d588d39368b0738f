"""Regressions with noisy columns: the true data without noise, closed forms, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.discrete.discrete_model import Logit
from statsmodels.regression.linear_model import OLS

from tacit.datasets import adult
from tacit.errors import InvalidInputError, UnconvergedError
from tacit.estimation import NoisyColumn, fit_linear, fit_logistic
from tests.estimation.releases import released

SAME = 1e-6  # statsmodels stops its Newton steps at 1e-8 of the mean log-likelihood
Z95 = float(norm.ppf(0.975))
BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
SQUARE = 0.6 * np.eye(4) + 0.1


def adult_rows(n, seed):
    """Education, income and age of rows drawn from Adult."""
    counts = adult().counts
    rng = np.random.default_rng(seed)
    cells = rng.choice(counts.size, size=n, p=counts.ravel() / counts.sum())
    return (*np.unravel_index(cells, counts.shape), rng)


def indicators(education):
    return [education == k for k in (1, 2, 3)]


def exact(codes, n_levels):
    return NoisyColumn(codes, np.eye(n_levels))


def assert_same_fit(found, witness):
    """statsmodels' HC0 has n where tacit has n − p."""
    assert found.coefficients == pytest.approx(witness.params, abs=SAME)
    factor = math.sqrt(found.n / (found.n - len(found.names)))
    assert found.standard_errors == pytest.approx(witness.bse * factor, rel=SAME)


def test_without_noise_statsmodels_agrees_on_a_logistic_covariate():
    education, income, age, _ = adult_rows(40_000, 1)
    design = np.column_stack([np.ones(40_000), *indicators(education), age]).astype(float)
    witness = Logit(income, design).fit(disp=0, cov_type="HC0")
    found = fit_logistic(income, {"education": exact(education, 4), "age": age.astype(float)})
    assert found.names == ("intercept", "education=1", "education=2", "education=3", "age")
    assert_same_fit(found, witness)
    low, high = np.transpose(witness.conf_int())  # Wald's, beside score tests
    assert found.intervals == pytest.approx(np.stack([low, high], axis=1), abs=0.01)


def test_without_noise_statsmodels_agrees_on_a_logistic_outcome():
    education, income, age, _ = adult_rows(2_000, 2)
    names = np.array(["a", "b", "c", "d"])[education]
    design = np.column_stack([np.ones(2_000), *indicators(education), age]).astype(float)
    witness = Logit(income, design).fit(disp=0, cov_type="HC0")
    found = fit_logistic(exact(income, 2), {"education": names, "age": age})
    assert found.names == ("intercept", "education=b", "education=c", "education=d", "age")
    assert_same_fit(found, witness)


def test_without_noise_statsmodels_agrees_on_least_squares_of_two_noisy_columns():
    education, income, age, _ = adult_rows(2_000, 3)
    years = np.array([6.0, 9.0, 11.0, 15.0])
    design = np.column_stack([np.ones(2_000), age, income]).astype(float)
    witness = OLS(years[education], design).fit(cov_type="HC0")
    schooling = exact(education, 4).scored(years)
    found = fit_linear(schooling, {"age": age, "income": exact(income, 2)})
    assert_same_fit(found, witness)


def test_a_binary_covariate_by_hand():
    """Means of y in the true groups, corrected by the matrix: the slope is their difference."""
    rng = np.random.default_rng(4)
    r = rng.integers(2, size=4_000)
    y = 1.0 + 2.0 * r + rng.normal(size=4_000)
    letters = released(r, BINARY, rng)
    found = fit_linear(y, {"r": NoisyColumn(letters, BINARY)})
    weight = np.where(letters == 1, 1.6, -0.4)  # (1{rhat=1} - 0.2) / 0.5
    mean_1 = weight @ y / weight.sum()
    mean_0 = (1 - weight) @ y / (1 - weight).sum()
    assert found.coefficients == pytest.approx([mean_0, mean_1 - mean_0], abs=1e-9)


def test_one_covariate_has_fiellers_interval():
    """Through the origin of centred numbers: the slope is a ratio of two means."""
    rng = np.random.default_rng(5)
    r = rng.integers(2, size=400)
    y = 1.0 + 0.5 * r + rng.normal(size=400)
    letters = released(r, BINARY, rng)
    found = fit_linear(y, {"r": NoisyColumn(letters, BINARY)})
    w = np.where(letters == 1, 1.6, -0.4)
    for end in found.intervals[1]:
        b = (y - end * w).mean()  # the intercept, from its own equation
        scores = w * (y - b - end) - w.mean() * (y - b - end * w)
        spread = math.sqrt((scores**2).sum() * 400 / 398)
        assert abs(scores.sum()) / spread == pytest.approx(Z95, rel=1e-3)


def test_more_noise_than_rows_is_said():
    """Hardly any information: an end is infinite, or there is no solution."""
    weak = np.array([[0.52, 0.48], [0.48, 0.52]])
    n_open = n_remarked = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        r = rng.integers(2, size=300)
        y = r + rng.normal(size=300)
        try:
            found = fit_linear(y, {"r": NoisyColumn(released(r, weak, rng), weak)})
        except UnconvergedError:
            n_open += 1
        else:
            is_open = np.isinf(found.intervals).any(axis=1)
            n_open += is_open.any()
            said = {"figures": is_open.sum(), "of": 2}
            assert [one.values for one in found.remarks] == [said] * int(is_open.any())
            n_remarked += is_open.any()
    assert n_open >= 18
    assert n_remarked > 0


def test_a_fit_says_what_it_is():
    education, income, _, _ = adult_rows(500, 6)
    found = fit_logistic(income, {"education": exact(education, 4).scored([0, 1, 2, 3])})
    assert repr(found).startswith("Regression(logistic, 500 rows: intercept ")
    assert "<table" in found._repr_html_()
    assert found.covariance.shape == (2, 2)
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("outcome", "covariates", "message"),
    [
        ([0, 1], {"x": [1.0, 2.0]}, "no column is noisy"),
        ([0, 2], {"r": exact(np.array([0, 1]), 2)}, "holds other values than 0, 1"),
        ([0, 1, 1], {"r": exact(np.array([0, 1]), 2)}, r"outcome has shape \(3,\)"),
        (["a", "b"], {"r": exact(np.array([0, 1]), 2)}, "the outcome holds texts"),
        (exact(np.array([0, 1]), 3), {}, "the outcome has the levels 0, 1, 2: give it numbers"),
        ([0, 1], {"r": exact(np.array([0, 1]), 2), "x": [math.nan, 1]}, "x holds nan"),
    ],
)
def test_unusable_columns_are_refused(outcome, covariates, message):
    with pytest.raises(InvalidInputError, match=message):
        fit_logistic(outcome, covariates)


def test_rows_that_do_not_tell_coefficients_apart_are_refused():
    column = exact(np.array([0, 1, 0, 1]), 2)
    with pytest.raises(UnconvergedError, match="has no solution in these rows"):
        fit_linear([1.0, 2.0, 3.0, 4.0], {"r": column, "same": [0.0, 1.0, 0.0, 1.0]})


N_RELEASES = 100
LEAST_HITS = int(binom.ppf(1e-4, N_RELEASES, 0.95))


@pytest.mark.slow
def test_intervals_hold_what_the_true_table_says():
    """Income on noisy education and age: the model is not true, and its fit is still found."""
    counts = adult().counts
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    education, income, age = np.unravel_index(cells, counts.shape)
    truth = fit_logistic(income, {"education": exact(education, 4), "age": age}).coefficients
    hits = []
    for seed in range(N_RELEASES):
        education, income, age, rng = adult_rows(10_000, seed)
        column = NoisyColumn(released(education, SQUARE, rng), SQUARE)
        found = fit_logistic(income, {"education": column, "age": age})
        hits.append((found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1]))
    assert np.sum(hits, axis=0).min() >= LEAST_HITS
    assert np.mean(hits) <= 0.98


@pytest.mark.parametrize("outcome", [[1], [1, 0], [1] * 200])
def test_rows_that_do_not_determine_a_logistic_regression_are_refused(outcome):
    column = NoisyColumn(np.arange(len(outcome)) % 4, SQUARE)
    with pytest.raises(UnconvergedError, match="no solution in these rows"):
        fit_logistic(outcome, {"education": column})


@pytest.mark.parametrize("n", [1, 200])
def test_rows_without_spread_bound_no_coefficient(n):
    """One row, or the same outcome in all: the residuals are 0 and say nothing of errors."""
    fit = fit_linear(np.ones(n), {"education": NoisyColumn(np.arange(n) % 4, SQUARE)})
    assert (fit.intervals == [-np.inf, np.inf]).all()
    assert [remark.code for remark in fit.remarks] == ["unbounded_intervals"]


def test_an_outcome_far_from_0_only_moves_the_intercept():
    """Incomes in cents: the spread is the last of sixteen figures, and still told."""
    rng = np.random.default_rng(7)
    r = rng.integers(2, size=500)
    y, column = r + rng.normal(size=500), NoisyColumn(released(r, BINARY, rng), BINARY)
    near, far = (fit_linear(y + shift, {"r": column}) for shift in (0.0, 1e9))
    assert far.coefficients - near.coefficients == pytest.approx([1e9, 0.0], abs=1e-6)
    assert far.intervals[1] == pytest.approx(near.intervals[1], abs=1e-6)  # 1e-16 of 1e9


@pytest.mark.parametrize("seed", range(4))
def test_a_level_of_one_row_is_fitted_and_not_bounded(seed):
    """Its score is 0 at the root, which rounding made look like noise: there was no solution."""
    rng = np.random.default_rng(seed)
    r = rng.integers(2, size=300)
    y, letters = r + rng.normal(size=300), released(r, BINARY, rng)
    region = np.where(np.arange(300) < 150, "a", "b")
    region[7] = "c"
    column = NoisyColumn(letters, BINARY)
    found = fit_linear(y, {"r": column, "g": region})
    slope, sums = np.zeros((4, 4)), np.zeros(4)
    for k, weights in enumerate(column.weights.T):
        x = np.column_stack([np.ones(300), np.full(300, k), region == "b", region == "c"])
        slope += (x.T * weights) @ x
        sums += (x.T * weights) @ y
    assert found.coefficients == pytest.approx(np.linalg.solve(slope, sums), abs=1e-9)
    assert np.isfinite(found.intervals[:3]).all()
    assert np.isinf(found.intervals[3]).all()
