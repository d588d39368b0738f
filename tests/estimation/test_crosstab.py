"""Cross-tables: closed forms on 2 x 2 tables, the true data without noise, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.contingency_tables import Table2x2

from tacit.datasets import adult
from tacit.errors import InvalidInputError
from tacit.estimation import NoisyColumn, crosstab, estimate
from tests.estimation.releases import released

BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
SMOKER = np.array([[0.9, 0.1], [0.25, 0.75]])
EXACT = np.eye(2)


def binary_table(counts):
    """Rows of a 2 x 2 table: (group, r)."""
    group, r = np.indices((2, 2)).reshape(2, -1).repeat(np.ravel(counts), axis=1)
    return group, r


def test_shares_of_a_group_are_the_corrected_ones():
    """Barron's matrix method by hand: 40 % and 55 % of letters 1, f = (share − 0.2) / 0.5."""
    group, letters = binary_table([[600, 400], [450, 550]])
    found = crosstab({"ill": NoisyColumn(letters, BINARY, ("no", "yes"))}, {"group": group})
    by_name = {(*cell.group, *cell.levels): cell for cell in found.cells}
    assert by_name["0", "yes"].share == pytest.approx(0.4, abs=1e-9)
    assert by_name["1", "yes"].share == pytest.approx(0.7, abs=1e-9)
    [ratio] = found.odds_ratios
    assert ratio.value == pytest.approx((0.7 / 0.3) / (0.4 / 0.6), rel=1e-4)
    assert (ratio.level, ratio.against, ratio.where, ratio.compared_with) == ("yes", "no", "1", "0")
    assert [cell.n for cell in found.cells] == [1000] * 4
    assert found.remarks == ()


def test_a_group_alone_says_the_same():
    group, letters = binary_table([[600, 400], [450, 550]])
    found = crosstab({"ill": NoisyColumn(letters, BINARY)}, {"group": group}, target="population")
    alone = estimate(letters[group == 1], BINARY, target="population")
    cell = found.cells[-1]
    assert (cell.low, cell.high) == tuple(alone.intervals[1])
    assert cell.standard_error == alone.standard_errors[1]


@pytest.mark.parametrize("counts", [[[300, 100], [200, 400]], [[30, 10], [20, 40]]])
def test_without_noise_statsmodels_agrees(counts):
    group, r = binary_table(counts)
    found = crosstab({"ill": NoisyColumn(r, EXACT)}, {"group": group})
    witness = Table2x2(np.array(counts))
    [ratio] = found.odds_ratios
    assert ratio.value == pytest.approx(witness.oddsratio, rel=1e-5)
    assert ratio.log_standard_error == pytest.approx(witness.log_oddsratio_se, rel=1e-5)
    # Wald's interval there, profile likelihood here: they agree for large tables.
    low, high = witness.oddsratio_confint()
    assert [ratio.low, ratio.high] == pytest.approx([low, high], rel=200 / np.sum(counts) ** 1.5)


def test_two_noisy_columns_find_the_table_behind_them():
    """Letters in exactly the expected shares: the corrected table is the true one."""
    truth = np.array([[0.4, 0.1], [0.2, 0.3]])
    letters = np.einsum("ab,ac,bd->cd", truth, BINARY, SMOKER)
    counts = np.round(100_000 * letters).astype(int)
    one, two = binary_table(counts)
    columns = {"ill": NoisyColumn(one, BINARY), "smoker": NoisyColumn(two, SMOKER)}
    found = crosstab(columns)
    assert [cell.share for cell in found.cells] == pytest.approx(truth.ravel(), abs=1e-4)
    [ratio] = found.odds_ratios
    assert ratio.value == pytest.approx(0.4 * 0.3 / (0.1 * 0.2), rel=1e-2)
    assert ratio.low < 6 < ratio.high


def test_two_noisy_columns_in_groups_have_an_odds_ratio_in_each():
    rng = np.random.default_rng(5)
    region = np.repeat(["north", "south"], 5_000)
    ill, smoker = rng.integers(2, size=(2, 10_000))
    columns = {
        "ill": NoisyColumn(released(ill, BINARY, rng), BINARY),
        "smoker": NoisyColumn(released(smoker, SMOKER, rng), SMOKER),
    }
    found = crosstab(columns, {"region": region})
    assert [each.within for each in found.odds_ratios] == [("north",), ("south",)]
    assert len(found.cells) == 8
    assert "<table" in found._repr_html_()


def test_levels_that_are_released_alike_have_bounds():
    alike = np.array([[0.7, 0.3], [0.7, 0.3], [0.2, 0.8]])
    letters = np.repeat([0, 1], 500)
    found = crosstab({"r": NoisyColumn(letters, alike)}, {"g": np.tile([0, 1], 500)})
    assert [cell.share is None for cell in found.cells] == [True, True, False] * 2
    assert found.odds_ratios == ()
    assert [each.code for each in found.remarks] == ["bounds_only"]


def test_odds_ratios_that_letters_do_not_bound_are_remarked():
    """In the second group no letter speaks for r = 0: its odds may be infinite."""
    group, letters = binary_table([[500, 500], [50, 950]])
    found = crosstab({"ill": NoisyColumn(letters, BINARY)}, {"group": group})
    assert found.odds_ratios[0].high is None
    assert {each.code: each.values for each in found.remarks}["unbounded_intervals"] == {
        "figures": 1,
        "of": 1,
    }


def test_small_groups_are_remarked():
    group, letters = binary_table([[20, 20], [450, 550]])
    found = crosstab({"ill": NoisyColumn(letters, BINARY)}, {"group": group})
    said = {each.code: each.values for each in found.remarks}
    assert said["small_groups"] == {"rows": 40}
    whole = crosstab({"ill": NoisyColumn(letters[:99], BINARY)})
    assert [(each.code, each.values) for each in whole.remarks] == [("few_rows", {"rows": 99})]


def test_shares_that_noise_takes_below_0_stay_unbiased_and_are_remarked():
    """10 % of letters 1, of which 20 % come from no row at all: f = (0.1 - 0.2) / 0.5."""
    letters = np.repeat([0, 1], [900, 100])
    found = crosstab({"ill": NoisyColumn(letters, BINARY)})
    assert [cell.share for cell in found.cells] == pytest.approx([1.2, -0.2], abs=1e-9)
    assert found.cells[1].low == 0
    said = {each.code: each.values for each in found.remarks}
    assert said["outside_shares"] == {"shares": 2}


def test_bounds_that_say_nothing_are_remarked():
    alike = NoisyColumn(np.repeat([0, 1], 500), np.full((2, 2), 0.5))
    said = {each.code: each.values for each in crosstab({"r": alike}).remarks}
    assert said["wide_bounds"] == {"bounds": 2, "of": 2}


def test_unusable_columns_are_refused():
    column = NoisyColumn(np.array([0, 1]), BINARY)
    with pytest.raises(InvalidInputError, match=r"g has shape \(3,\) and there are 2 rows"):
        crosstab({"r": column}, {"g": [1, 2, 3]})
    for confidence in (2, "a", None, [0.5, 0.6]):
        with pytest.raises(InvalidInputError, match=r"confidence is .*: give a probability"):
            crosstab({"r": column}, confidence=confidence)
    with pytest.raises(InvalidInputError, match="target is 'all'"):
        crosstab({"r": column}, target="all")
    wide = NoisyColumn(np.array([0, 1]), np.full((20, 20), 0.05))
    other = NoisyColumn(np.array([0, 0]), np.full((20, 20), 0.05))
    with pytest.raises(InvalidInputError, match="have 400 combinations of levels"):
        crosstab({"r": wide, "s": other})


N_RELEASES = 60
LEAST_HITS = int(binom.ppf(1e-4, N_RELEASES, 0.95))  # 11 intervals: chance of a false alarm 0.001


@pytest.mark.slow
def test_intervals_hold_the_truth_on_adult():
    """Education by income, 20,000 rows drawn from Adult, at most half of the letters kept."""
    table = adult()
    counts = table.counts.sum(axis=2)  # education, income
    channel = 0.5 * np.eye(4) + 0.125
    hits = np.zeros((N_RELEASES, 11), dtype=bool)
    for seed in range(N_RELEASES):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(8, size=20_000, p=counts.ravel() / counts.sum())
        education, income = np.unravel_index(drawn, counts.shape)
        column = NoisyColumn(released(education, channel, rng), channel)
        found = crosstab({"education": column}, {"income": income}, target="population")
        truth = (counts / counts.sum(axis=0)).T.ravel()
        hits[seed, :8] = [c.low <= t <= c.high for c, t in zip(found.cells, truth, strict=True)]
        for k, ratio in enumerate(found.odds_ratios, start=1):
            true = counts[k, 1] * counts[0, 0] / (counts[k, 0] * counts[0, 1])
            hits[seed, 7 + k] = ratio.low <= true <= (ratio.high or np.inf)
    assert hits.sum(axis=0).min() >= LEAST_HITS
    assert hits.mean() <= 0.985


def test_a_table_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="there is no noisy column"):
        crosstab({}, {"group": ["a", "b"]})
