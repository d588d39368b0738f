"""The bounds behind the table of leakage measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.information as ti
from tacit.information.measures import MEASURES, Bounds, guess_bound, weighted_quantile
from tests import strategies as own

ROUNDING = 1e-9
"""Bits: sums of some thousand terms."""


def test_quantiles_of_weighted_values() -> None:
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    found = [weighted_quantile(values, weights, q) for q in (0.0, 0.5, 0.51, 0.75, 0.76, 1.0)]
    assert found == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    tenths = np.full(10, 0.1)  # whose partial sums are not tenths
    found = [weighted_quantile(np.arange(10.0), tenths, k / 10) for k in range(1, 11)]
    assert found == list(range(10))


@given(st.integers(0, 2**32 - 1))
def test_information_bounds_the_chance_of_a_right_guess(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(rng.integers(1, 5), 0.3), size=rng.integers(1, 5))
    joint *= rng.dirichlet(np.ones(len(joint)))[:, None]
    before, bits = ti.bayes_vulnerability(joint.sum(axis=1)), ti.mutual_information(joint)
    assert ti.bayes_vulnerability(joint) <= guess_bound(before, bits) + ROUNDING


def test_guess_bound_is_attained_where_fano_is_tight() -> None:
    # A uniform letter, right with chance s and otherwise uniform among the wrong ones.
    s, n = 0.6, 5
    channel = np.full((n, n), (1 - s) / (n - 1))
    np.fill_diagonal(channel, s)
    bits = ti.mutual_information(np.full(n, 1 / n), channel)
    assert guess_bound(1 / n, bits) == pytest.approx(s, abs=1e-9)
    assert guess_bound(1 / n, 0.0) == pytest.approx(1 / n, abs=1e-9)
    assert guess_bound(1 / n, math.log2(n)) == 1.0
    assert guess_bound(1.0, 0.0) == 1.0


@given(own.priors_and_channels())
def test_the_bounds_of_a_known_law_are_not_below_its_figures(prior_and_channel) -> None:
    p_x, channel = prior_and_channel
    joint = p_x[:, None] * channel
    bounds = Bounds(
        p_x,
        ti.mutual_information(joint),
        ti.maximal_leakage(joint),
        float(ti.pointwise_maximal_leakage(joint).max()),
        ti.local_dp_epsilon(joint),
    )
    for row in MEASURES.values():
        assert row.of_joint(joint) <= row.bound(bounds) + ROUNDING, row.name


def test_names_are_distinct_and_each_row_has_its_own_place_in_json() -> None:
    assert all(name == row.name and row.words for name, row in MEASURES.items())
    assert len({row.json_path for row in MEASURES.values()}) == len(MEASURES)
