"""Bounds on frequencies: another programme agrees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import beta

from tacit.estimation import estimate
from tacit.estimation.bounds import subgroup_bounds
from tests.estimation.releases import LP_TOL, letters_of, random_case


@pytest.mark.parametrize("seed", range(6))
def test_another_programme_agrees_on_bounds(seed):
    channel, counts = random_case(seed)
    n, n_r = counts.sum(), len(channel)
    found = estimate(letters_of(counts), channel)
    tail = 0.025 / (len(counts) if len(counts) > 2 else 1)
    low = np.nan_to_num(beta.ppf(tail, counts, n - counts + 1))
    high = np.nan_to_num(beta.isf(tail, counts + 1, n - counts), nan=1.0)
    region = {
        "A_ub": np.vstack([channel.T, -channel.T]),
        "b_ub": np.concatenate([high, -low]),
        "A_eq": np.ones((1, n_r)),
        "b_eq": [1],
    }
    for r, cost in enumerate(np.eye(n_r)):
        least, most = linprog(cost, **region).fun, -linprog(-cost, **region).fun
        assert found.bounds[r] == pytest.approx([least, most], abs=LP_TOL)


LEAST = np.array([[0.6, 0.1], [0.2, 0.5]])
MOST = np.array([[0.9, 0.4], [0.5, 0.8]])


def test_bounds_of_a_subgroup_by_hand():
    """A share of letters s comes from f if f least + (1 − f) least <= s <= the same with most."""
    counts = np.array([500, 500])
    high = beta.isf(0.025, counts + 1, 500)[0]
    bounds, fits = subgroup_bounds(LEAST, MOST, counts, 0.95)
    assert fits
    # Of r = 0 the most: every letter 0 it must send, 0.6 f + 0.2 (1 − f) <= high.
    assert bounds[0, 1] == pytest.approx((high - 0.2) / 0.4, abs=LP_TOL)
    # The least: even 0.9 f + 0.5 (1 − f) reaches the share at f = 0.
    assert bounds[0, 0] == pytest.approx(0, abs=LP_TOL)
    assert bounds[1] == pytest.approx(1 - bounds[0, ::-1], abs=LP_TOL)


@pytest.mark.parametrize("seed", range(4))
def test_a_channel_that_is_known_gives_the_usual_bounds(seed):
    channel, counts = random_case(seed)
    found = estimate(letters_of(counts), channel)
    bounds, fits = subgroup_bounds(channel, channel, counts, 0.95)
    assert fits == found.is_consistent
    if fits:
        assert bounds == pytest.approx(found.bounds, abs=10 * LP_TOL)


def test_bounds_hold_in_every_subgroup():
    """Subgroups whose channel is at a corner of the range, the hardest there are."""
    rng, missed = np.random.default_rng(1), 0
    for _ in range(200):
        share = rng.random()
        first = np.where(rng.random(2) < 0.5, LEAST[:, 0], MOST[:, 0])
        r = rng.random(300) < share
        letters = (rng.random(300) > first[r.astype(int)]).astype(int)
        bounds, _ = subgroup_bounds(LEAST, MOST, np.bincount(letters, minlength=2), 0.95)
        missed += not bounds[1, 0] - LP_TOL <= r.mean() <= bounds[1, 1] + LP_TOL
    assert missed <= 10


def test_letters_that_no_subgroup_can_have_are_told():
    bounds, fits = subgroup_bounds(LEAST, MOST, np.array([1000, 1]), 0.95)
    assert not fits
    assert bounds.tolist() == [[0, 1], [0, 1]]
