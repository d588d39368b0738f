"""Multiple imputation: laws of the draws, Rubin's rules by hand, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, t

from tacit.errors import InvalidInputError
from tacit.estimation import NoisyColumn, impute, pool
from tests.estimation.releases import released

BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])


def test_without_noise_the_truth_is_drawn():
    r = np.array([0, 1, 2, 1, 0] * 20)
    column = NoisyColumn(r, np.eye(3), ("a", "b", "c"))
    drawn = impute(column, {"y": np.arange(100.0)}, draws=3, seed=1)
    assert (drawn == np.array(["a", "b", "c"])[r]).all()


def test_draws_follow_the_law_given_letters_and_own_columns():
    """Two strata with shares 0.2 and 0.7: Bayes' rule by hand."""
    rng, n = np.random.default_rng(2), 40_000
    stratum = rng.integers(2, size=n)
    share = np.array([0.2, 0.7])
    r = (rng.random(n) < share[stratum]).astype(int)
    letters = released(r, BINARY, rng)
    drawn = impute(NoisyColumn(letters, BINARY), {"s": stratum.astype(str)}, draws=20, seed=3)
    for s in (0, 1):
        for letter in (0, 1):
            rows = (stratum == s) & (letters == letter)
            weight = BINARY[:, letter] * [1 - share[s], share[s]]
            # Shares are known to about 0.008 from 20,000 rows through this channel.
            assert (drawn[:, rows] == "1").mean() == pytest.approx(
                weight[1] / weight.sum(), abs=0.03
            )


def test_shares_of_draws_follow_their_posterior_law_at_the_edge():
    """The likeliest share is 0, and larger ones are nearly as likely: quadrature by hand."""
    letters = np.repeat([0, 1], [48, 12])  # BINARY tells 20 % of ones where the share is 0
    drawn = impute(NoisyColumn(letters, BINARY), {}, draws=4_000, seed=1)
    found = (drawn == "1").mean(axis=1)
    log_odds = np.linspace(-40, 40, 8_001)
    share = expit(log_odds)
    q = 0.2 + 0.5 * share  # of the letter 1
    log_density = 48 * np.log(1 - q) + 12 * np.log(q) - log_odds**2 / (2 * 5.0**2)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    of_letter = np.stack([0.3 * share / (1 - q), 0.7 * share / q])  # p(r = 1 | letter)
    mean = np.array([0.8, 0.2]) @ of_letter
    variance = np.array([0.8, 0.2]) @ (of_letter * (1 - of_letter)) / 60
    expected = density @ mean
    spread = math.sqrt(density @ (variance + mean**2) - expected**2)
    # Four standard errors of 4,000 independent draws.
    assert found.mean() == pytest.approx(expected, abs=4 * spread / math.sqrt(4_000))
    assert found.std() == pytest.approx(spread, rel=0.1)


def test_the_same_seed_draws_the_same():
    letters = released(np.repeat([0, 1], 100), BINARY, np.random.default_rng(4))
    column = NoisyColumn(letters, BINARY)
    one, same, other = (impute(column, {}, draws=2, seed=seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_rubins_rules_by_hand():
    found = pool([[1.0], [2.0], [3.0]], [[0.5], [0.5], [0.5]])
    within, between = 0.25, (1 + 1 / 3) * 1.0
    assert found.values == pytest.approx([2.0])
    assert found.standard_errors == pytest.approx([math.sqrt(within + between)])
    degrees = 2 * (1 + within / between) ** 2
    assert found.degrees_of_freedom == pytest.approx([degrees])
    half = t.ppf(0.975, degrees) * math.sqrt(within + between)
    assert found.intervals[0] == pytest.approx([2 - half, 2 + half])
    assert found.missing_share == pytest.approx([between / (within + between)])


def test_few_rows_have_fewer_degrees_of_freedom():
    """Barnard and Rubin (1999), equation (3), by hand; without noise those of the analysis."""
    found = pool([[1.0], [2.0], [3.0]], [[0.5], [0.5], [0.5]], degrees_of_freedom=10)
    within, between = 0.25, (1 + 1 / 3) * 1.0
    many = 2 * (1 + within / between) ** 2
    seen = 11 / 13 * 10 * within / (within + between)
    assert found.degrees_of_freedom == pytest.approx([1 / (1 / many + 1 / seen)])
    alike = pool([[1.0], [1.0]], [[0.5], [0.5]], degrees_of_freedom=10)
    assert alike.degrees_of_freedom == pytest.approx([11 / 13 * 10])
    with pytest.raises(InvalidInputError, match="degrees_of_freedom is 0"):
        pool([[1.0], [1.0]], [[0.5], [0.5]], degrees_of_freedom=0)


def test_draws_that_agree_add_nothing():
    found = pool([[1.0], [1.0]], [[0.5], [0.5]])
    assert found.intervals[0] == pytest.approx([1 - 1.959964 * 0.5, 1 + 1.959964 * 0.5], abs=1e-6)


def test_unusable_draws_are_refused():
    column = NoisyColumn(np.array([0, 1]), BINARY)
    with pytest.raises(InvalidInputError, match="draws is 1: give at least 2"):
        impute(column, {}, draws=1, seed=0)
    with pytest.raises(InvalidInputError, match=r"y has shape \(3,\)"):
        impute(column, {"y": [1, 2, 3]}, seed=0)
    for estimates, errors in (([1.0, 2.0], [1.0, 1.0]), ([[1.0]], [[1.0]]), ([[1.0]] * 2, [[1.0]])):
        with pytest.raises(InvalidInputError, match=r"give both as \[draw, value\]"):
            pool(estimates, errors)


N_RELEASES = 40
LEAST_HITS = int(binom.ppf(1e-4, N_RELEASES, 0.95))


@pytest.mark.slow
def test_pooled_intervals_hold_the_truth():
    """A difference of means, by any tool that knows nothing of noise."""
    hits = 0
    for seed in range(N_RELEASES):
        rng = np.random.default_rng(seed)
        r = rng.integers(2, size=600)
        y = 1.0 + 1.0 * r + rng.normal(size=600)
        column = NoisyColumn(released(r, BINARY, rng), BINARY)
        values, errors = [], []
        for draw in impute(column, {"y": y}, draws=15, seed=seed):
            one, two = y[draw == "1"], y[draw == "0"]
            values.append([one.mean() - two.mean()])
            errors.append([math.sqrt(one.var(ddof=1) / one.size + two.var(ddof=1) / two.size)])
        low, high = pool(values, errors).intervals[0]
        hits += low <= 1.0 <= high
    assert hits >= LEAST_HITS


@pytest.mark.parametrize("degrees_of_freedom", [math.inf, 20])
def test_what_does_not_vary_at_all_has_an_interval_of_one_point(degrees_of_freedom):
    nothing = np.zeros((5, 1))
    found = pool(nothing + 1.0, nothing, degrees_of_freedom=degrees_of_freedom)
    assert found.intervals.tolist() == [[1.0, 1.0]]
    assert found.missing_share.tolist() == [0.0]


def test_the_only_level_is_always_drawn():
    column = NoisyColumn([0] * 5, [[1.0]], ("a",))
    assert (impute(column, {"y": list("xyxyx")}, draws=2, seed=0) == "a").all()


def test_levels_that_are_never_released_are_not_drawn_from_the_prior():
    never_c = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.5, 0.5, 0.0]]
    with pytest.raises(InvalidInputError, match="does not tell all of a, b, c apart"):
        impute(NoisyColumn([0, 1] * 50, never_c, ("a", "b", "c")), {}, draws=2, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"column": [0, 1]}, "column is a list: give a NoisyColumn"),
        ({"draws": 2.5}, "draws is 2.5: give at least 2"),
        ({"draws": "5"}, "draws is '5': give at least 2"),
        ({"seed": None}, "seed is None: give a whole number, 0 or more"),
        ({"seed": -1}, "seed is -1: give a whole number, 0 or more"),
    ],
)
def test_what_is_no_column_or_number_is_refused(changes, message):
    column = NoisyColumn(np.array([0, 1]), np.array([[0.8, 0.2], [0.3, 0.7]]))
    with pytest.raises(InvalidInputError, match=message):
        impute(**{"column": column, "given": {}, "draws": 2, "seed": 1} | changes)


@pytest.mark.parametrize(
    ("estimates", "errors", "message"),
    [
        ([[1], [math.nan]], [[1], [1]], "estimates holds nan of draw 1 in value 0"),
        ([[1], [2]], [[1], [-1]], "standard_errors holds -1 of draw 1 in value 0"),
        ([["a"], ["b"]], [[1], [1]], "estimates is not an array of numbers"),
        ([[1], [1, 2]], [[1], [1]], "estimates is not an array of numbers"),
    ],
)
def test_analyses_without_an_answer_are_not_combined(estimates, errors, message):
    with pytest.raises(InvalidInputError, match=message):
        pool(estimates, errors)
    with pytest.raises(InvalidInputError, match="degrees_of_freedom is 'a'"):
        pool([[1], [2]], [[1], [1]], degrees_of_freedom="a")
