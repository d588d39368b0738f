"""Odds ratios: closed forms, another optimiser, and ends that letters do not bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from tacit.estimation.odds import log_odds_ratio

Z95 = float(norm.ppf(0.975))
BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
TWO_GROUPS = np.kron(np.eye(2), BINARY)
CELLS = 3, 2, 1, 0  # odds of r = 1 in the second group against the first


def test_two_by_two_by_the_matrix_method():
    """Letters whose corrected shares are known: f = (share − 0.2) / 0.5 in each group."""
    counts = np.array([600, 400, 450, 550])
    f = (np.array([0.4, 0.55]) - 0.2) / 0.5
    found = log_odds_ratio(counts, TWO_GROUPS, CELLS, Z95)
    odds = f / (1 - f)
    assert found.value == pytest.approx(math.log(odds[1] / odds[0]), abs=1e-5)
    # Delta method: var(f) = s (1 − s) / (n 0.5²), and var(logit f) = var(f) / (f (1 − f))².
    shares = np.array([0.4, 0.55])
    variance = shares * (1 - shares) / (1000 * 0.25) / (f * (1 - f)) ** 2
    assert found.standard_error == pytest.approx(math.sqrt(variance.sum()), rel=1e-4)


def test_without_noise_it_is_the_ordinary_odds_ratio():
    counts = np.array([30, 10, 20, 40])
    found = log_odds_ratio(counts, np.eye(4), CELLS, Z95)
    assert found.value == pytest.approx(math.log(40 * 30 / (10 * 20)), abs=1e-6)
    assert found.standard_error == pytest.approx(math.sqrt((1 / counts).sum()), rel=1e-6)


@pytest.mark.parametrize("counts", [(600, 400, 450, 550), (60, 40, 45, 55), (900, 600, 350, 650)])
def test_another_optimiser_agrees_on_the_deviance_at_both_ends(counts):
    counts = np.array(counts)
    found = log_odds_ratio(counts, TWO_GROUPS, CELLS, Z95)
    shares = counts / counts.sum()

    def loss(logits):
        f = 1 / (1 + np.exp(-logits))
        group = np.array([shares[:2].sum(), shares[2:].sum()])
        cells = np.stack([1 - f, f], axis=1) * group[:, None]
        return -shares @ np.log(cells.ravel() @ TWO_GROUPS)

    best = minimize(loss, np.zeros(2), tol=1e-12).fun
    for end in found.interval:
        held = minimize(lambda at, end=end: loss(np.array([at[0], at[0] + end])), [0.0], tol=1e-12)
        deviance = 2 * counts.sum() * (held.fun - best)
        assert deviance == pytest.approx(Z95**2, rel=2e-3)  # ends are found to 1e-4


def test_ends_that_letters_do_not_bound_are_infinite():
    """In the second group no letter speaks for r = 0: its odds may be infinite."""
    found = log_odds_ratio(np.array([50, 50, 5, 95]), TWO_GROUPS, CELLS, Z95)
    assert found.value == math.inf
    assert math.isnan(found.standard_error)
    assert 0 < found.interval[0] < found.interval[1] == math.inf
    mirrored = log_odds_ratio(np.array([5, 95, 50, 50]), TWO_GROUPS, CELLS, Z95)
    assert mirrored.interval == pytest.approx((-math.inf, -found.interval[0]), abs=1e-3)


def test_a_constant_release_bounds_nothing():
    constant = np.kron(np.eye(2), np.full((2, 2), 0.5))
    found = log_odds_ratio(np.array([40, 60, 50, 50]), constant, CELLS, Z95)
    assert found.interval == (-math.inf, math.inf)
