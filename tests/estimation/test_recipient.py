"""What recipients can infer: closed forms, independent solvers, laws, and coverage on real designs.

Every channel used for coverage is a design of the engine on Adult; several are singular.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

import tacit
from tacit.datasets import adult
from tacit.errors import InvalidInputError
from tacit.estimation import estimate
from tacit.estimation.functionals import RANK_TOL, Reading
from tacit.estimation.likelihood import LIKELIHOOD_TOL
from tests import strategies as own
from tests.estimation.releases import LP_TOL, letters_of

ROUNDING = 1e-9  # sums of a few terms; singular vectors are exact to some 1e-12 here
Z95 = float(norm.ppf(0.975))

# Two letters apart, two alike: only f[0] + f[2] can be told.
ALIKE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.2, 0.2, 0.6]])


def exact_letters(frequencies, channel, n):
    """n letters whose shares are as near as can be to those expected."""
    cumulative = np.round(np.cumsum(frequencies @ channel) * n).astype(int)
    cumulative[-1] = n
    return letters_of(np.diff(cumulative, prepend=0))


# --- closed forms -------------------------------------------------------------------------------


def test_randomised_response_by_hand():
    truth_kept, counts = 0.8, np.array([700, 300])
    channel = [[truth_kept, 1 - truth_kept], [1 - truth_kept, truth_kept]]
    found = estimate(letters_of(counts), channel)
    expected = (0.3 - (1 - truth_kept)) / (2 * truth_kept - 1)  # Warner 1965
    per_letter = truth_kept * (1 - truth_kept) / (2 * truth_kept - 1) ** 2
    assert found.rank == 2
    assert found.is_identified.all()
    assert found.frequencies == pytest.approx([1 - expected, expected], abs=ROUNDING)
    assert found.standard_errors == pytest.approx([math.sqrt(per_letter / 1000)] * 2, abs=ROUNDING)
    population = estimate(letters_of(counts), channel, target="population")
    total = per_letter + expected * (1 - expected)
    assert population.standard_errors[1] == pytest.approx(math.sqrt(total / 1000), abs=ROUNDING)


def test_letters_that_are_read_off_are_exact_for_the_rows_and_wilsons_for_the_population():
    counts = np.array([0, 3, 57])
    rows = estimate(letters_of(counts), np.eye(3))
    assert rows.intervals == pytest.approx(np.transpose([counts / 60] * 2), abs=ROUNDING)
    population = estimate(letters_of(counts), np.eye(3), target="population")
    shares, h = counts / 60, Z95**2 / 60
    centre = (shares + h / 2) / (1 + h)
    half = np.sqrt(h * (shares * (1 - shares) + h / 4)) / (1 + h)
    wilson = np.transpose([centre - half, centre + half])
    assert population.intervals == pytest.approx(wilson, abs=ROUNDING)


@pytest.mark.parametrize("seed", range(25))
def test_letters_that_are_read_off_are_where_they_were_seen(seed):
    """Two letters r look alike, the others are read off: nothing about those is random."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(int(rng.integers(5, 50_000)), rng.dirichlet(np.ones(3)))
    channel = np.eye(3)[[0, 1, 0, 2]]
    found = estimate(letters_of(counts), channel)
    low, high = found.intervals[[1, 3]].T
    truth = counts[1:] / counts.sum()
    assert (low <= truth + 1e-13).all()
    assert (truth <= high + 1e-13).all()
    assert (high - low <= ROUNDING).all()


@pytest.mark.parametrize("seed", range(10))
def test_variance_for_the_rows_holds_for_all_frequencies_that_letters_cannot_tell_apart(seed):
    """A contrast c is determined, Σ f c² is not: the worst f counts, whichever was found."""
    rng, n, mixture = np.random.default_rng(seed), 100_000, np.array([0.5, 0.25, 0.25])
    rows = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    channel = np.vstack([mixture @ rows, rows])
    pure = np.append(0.0, rng.dirichlet(np.ones(3)))
    moved = (pure[1:] / mixture).min()  # as many records as can be are of the mixture
    mixed = np.append(moved, pure[1:] - moved * mixture)
    counts = np.bincount(exact_letters(pure, channel, n))
    np.testing.assert_allclose(pure @ channel, mixed @ channel, atol=1e-12)  # equally likely
    for likeliest in (pure, mixed):
        for contrast in Reading(channel, counts, likeliest, Z95, "rows").contrasts():
            w = np.linalg.lstsq(channel, contrast.weights)[0]
            given_r = channel @ w**2 - contrast.weights**2  # var(w given r)
            worst = max(pure @ given_r, mixed @ given_r)
            assert contrast.standard_error**2 >= worst / n * (1 - 1e-3)


def test_a_letter_never_seen_still_has_room():
    """[[1, 0], [1/2, 1/2]] without a letter 1: only as many rows of r = 1 as chance may hide."""
    found = estimate(np.zeros(200, dtype=int), [[1, 0], [0.5, 0.5]])
    assert found.frequencies == pytest.approx([1, 0], abs=ROUNDING)
    assert found.intervals[1] == pytest.approx([0, Z95**2 / 200], abs=ROUNDING)
    assert found.bounds[1, 0] == pytest.approx(0, abs=LP_TOL)
    assert found.bounds[1, 1] == pytest.approx(2 * beta.ppf(0.975, 1, 200), abs=LP_TOL)


def test_equal_rows_are_told_together_only():
    f = np.array([0.3, 0.25, 0.2, 0.25])
    found = estimate(exact_letters(f, ALIKE, 100_000), ALIKE)
    assert found.rank == 3
    assert found.is_identified.tolist() == [False, True, False, True]
    assert [str(contrast) for contrast in found.contrasts] == ["f[0] + f[2]", "f[1]", "f[3]"]
    assert [c.value for c in found.contrasts] == pytest.approx([0.5, 0.25, 0.25], abs=1e-4)
    assert np.isnan(found.frequencies[[0, 2]]).all()
    assert np.isnan(found.intervals[[0, 2]]).all()
    assert found.bounds[[0, 2], 0] == pytest.approx([0, 0], abs=LP_TOL)
    assert (abs(found.bounds[[0, 2], 1] - 0.5) < 0.02).all()


def test_a_constant_release_tells_nothing():
    found = estimate(np.ones(50, dtype=int), [[0, 1, 0]] * 3)
    assert found.rank == 1
    (total,) = found.contrasts
    assert str(total) == "f[0] + f[1] + f[2]"
    assert [total.value, *total.interval] == pytest.approx([1, 1, 1])
    assert not found.is_identified.any()
    assert found.bounds.tolist() == [[0, 1]] * 3


def test_one_letter_of_r_is_always_there():
    found = estimate([0, 1, 1], [[0.2, 0.8]])
    assert found.frequencies == pytest.approx([1])
    assert found.intervals[0] == pytest.approx([1, 1])
    assert found.bounds[0] == pytest.approx([1, 1], abs=LP_TOL)


def test_one_row_is_not_enough_for_anything():
    found = estimate([0], [[0.8, 0.2], [0.2, 0.8]])
    assert found.n == 1
    assert (np.ptp(found.intervals, axis=1) > 0.95).all()
    assert [str(contrast) for contrast in found.contrasts] == ["f[0] + f[1]"]


def test_splitting_a_letter_by_a_coin_tells_nothing_more():
    """As under disclosed time-sharing, where letters enumerate (t, rhat)."""
    channel = np.array([[0.7, 0.3], [0.2, 0.8]])
    split = channel[:, [0, 1, 1]] * [1, 0.25, 0.75]
    whole = estimate(letters_of([400, 600]), channel)
    parts = estimate(letters_of([400, 150, 450]), split)
    assert parts.rank == 2
    for name in ("frequencies", "standard_errors", "intervals", "likeliest"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), abs=ROUNDING), name


def test_more_letters_than_rows_are_weighed_without_bias():
    channel = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])
    f = np.array([0.35, 0.65])
    found = estimate(exact_letters(f, channel, 10_000_000), channel)
    assert found.frequencies == pytest.approx(f, abs=1e-6)


def test_directions_that_so_few_letters_cannot_resolve_are_left_out_of_the_contrasts():
    channel = np.array([[0.8, 0.2], [0.2, 0.8]]) @ np.array([[0.5, 0.5], [0.499, 0.501]])
    counts = np.array([5000, 5000])
    few, many = (estimate(letters_of(counts * k), channel) for k in (1, 1000))
    assert few.rank == many.rank == 2
    assert [str(contrast) for contrast in few.contrasts] == ["f[0] + f[1]"]
    assert [str(contrast) for contrast in many.contrasts] == ["f[0]", "f[1]"]
    assert few.intervals == pytest.approx(np.array([[0, 1], [0, 1]]))


def test_letters_that_no_frequencies_explain_are_flagged():
    channel = [[0.6, 0.4], [0.4, 0.6]]
    wrong = estimate(letters_of([900, 100]), channel)
    assert not wrong.is_consistent
    assert wrong.likeliest == pytest.approx([1, 0], abs=ROUNDING)
    assert wrong.intervals == pytest.approx(np.array([[1, 1], [0, 0]]))
    assert wrong.bounds == pytest.approx(np.array([[1, 1], [0, 0]]), abs=1e-4)
    assert estimate(letters_of([600, 400]), channel).is_consistent


def test_weights_are_spelled_with_their_signs():
    weights = np.array([-1.0, 0.5, 0.0, -0.25])
    assert (
        str(tacit.estimation.Contrast(weights, 0, 0, (0, 0), 0)) == "- f[0] + 0.5 f[1] - 0.25 f[3]"
    )


# --- in words -----------------------------------------------------------------------------------


def test_a_prompt_shows_what_is_determined():
    found = estimate(letters_of([500, 300, 200]), ALIKE)
    shown = repr(found)
    assert shown.startswith("Estimate(1,000 letters, 2 of 4 frequencies determined: f[0] within 0.")
    assert f"f[1] = {found.frequencies[1]:.4f} ({found.intervals[1, 0]:.4f} to " in shown
    assert repr(found.contrasts[0]).startswith(
        f"Contrast(f[0] + f[2] = {found.contrasts[0].value:.4f}, "
    )
    assert "\n" not in shown


def test_letters_of_another_channel_are_said_to_be():
    found = estimate(letters_of([5000, 0]), [[0.5, 0.5], [0.4, 0.6]])
    assert "NOT CONSISTENT" in repr(found)


def test_a_notebook_shows_every_frequency():
    table = estimate(letters_of([500, 300, 200]), ALIKE)._repr_html_()
    assert table.count("<tr>") == 1 + len(ALIKE)
    assert "nan" not in table


# --- laws ---------------------------------------------------------------------------------------


@st.composite
def releases(draw):
    """(letters, channel): channels of all ranks, letters that they can release."""
    prior, channel = draw(own.priors_and_channels())
    n = draw(st.integers(1, 2000))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = prior @ channel
    return letters_of(rng.multinomial(n, shares / shares.sum())), channel


@given(releases())
@settings(deadline=None)
def test_contrasts_are_what_the_channel_determines(release):
    letters, channel = release
    found = estimate(letters, channel)
    left, singular, _ = np.linalg.svd(channel)
    blind = left[:, np.count_nonzero(singular > 1e-9) :].T  # moves f without moving the letters
    weights = np.array([contrast.weights for contrast in found.contrasts])
    assert blind.shape[0] == len(channel) - found.rank
    assert np.linalg.matrix_rank(weights) == len(weights) <= found.rank
    assert abs(weights @ blind.T).max(initial=0) <= 100 * RANK_TOL
    assert weights.sum(axis=0) == pytest.approx(1, abs=100 * RANK_TOL)
    assert sum(c.value for c in found.contrasts) == pytest.approx(1, abs=100 * RANK_TOL)
    assert (found.is_identified == (abs(blind).max(axis=0, initial=0) < RANK_TOL)).all()


@given(releases(), st.sampled_from(["rows", "population"]))
@settings(deadline=None)
def test_answers_hang_together(release, target):
    letters, channel = release
    found = estimate(letters, channel, target=target)
    wider = estimate(letters, channel, target=target, confidence=0.999)
    known = found.is_identified
    assert found.likelihood_gap <= LIKELIHOOD_TOL
    assert found.is_consistent <= wider.is_consistent
    assert (found.intervals[known] >= -ROUNDING).all()
    assert (found.intervals[known] <= 1 + ROUNDING).all()
    inside = np.transpose([found.likeliest[known]] * 2)
    assert ((found.intervals[known] - inside) * [-1, 1] >= -ROUNDING).all()
    assert ((wider.intervals - found.intervals)[known] * [-1, 1] >= -ROUNDING).all()
    assert (np.isnan(found.frequencies) == ~known).all()
    assert (found.bounds[:, 0] <= found.bounds[:, 1] + LP_TOL).all()
    assert found.bounds[:, 0].sum() <= 1 + LP_TOL
    assert found.bounds[:, 1].sum() >= 1 - LP_TOL
    if found.is_consistent:
        assert ((wider.bounds - found.bounds) * [-1, 1] >= -LP_TOL).all()


@given(releases(), st.data())
@settings(deadline=None)
def test_relabelling_changes_nothing(release, data):
    letters, channel = release
    r_order = data.draw(own.relabellings(channel.shape[0]))
    rhat_order = data.draw(own.relabellings(channel.shape[1]))
    found = estimate(letters, channel)
    relabelled = estimate(np.argsort(rhat_order)[letters], channel[np.ix_(r_order, rhat_order)])
    for name in ("frequencies", "intervals", "likeliest"):
        expected = getattr(found, name)[r_order]
        np.testing.assert_allclose(getattr(relabelled, name), expected, atol=1e-4, err_msg=name)
    np.testing.assert_allclose(relabelled.bounds, found.bounds[r_order], atol=10 * LP_TOL)


@given(releases())
@settings(deadline=None)
def test_the_rows_are_known_at_least_as_well_as_the_population(release):
    rows, population = (estimate(*release, target=target) for target in ("rows", "population"))
    known = rows.is_identified
    assert (rows.standard_errors <= population.standard_errors + ROUNDING)[known].all()
    np.testing.assert_array_equal(rows.frequencies, population.frequencies)


# --- coverage on real designs -------------------------------------------------------------------

N_RELEASES = 400
MISSES = 1e-4  # how rare a count of hits must be before it counts against us
LEAST_HITS, MOST_HITS = binom.ppf([MISSES, 1 - MISSES], N_RELEASES, 0.95)


@dataclass(frozen=True)
class Design:
    """A release of one attribute of Adult: counts[x, r], and what is released for each x."""

    counts: np.ndarray
    channel: np.ndarray

    @property
    def p_rhat_given_r(self):
        return np.einsum("xr,xc->rc", self.counts / self.counts.sum(axis=0), self.channel)

    @property
    def frequencies(self):
        return self.counts.sum(axis=0) / self.counts.sum()

    def letters_of_the_rows(self, rng):
        """One release of all 48,842 records: every record draws from the row of its own x."""
        return letters_of(rng.multinomial(self.counts.sum(axis=1), self.channel).sum(axis=0))

    def letters_of_a_sample(self, rng, n=3000):
        """Records drawn from Adult as from a population, then released."""
        return letters_of(rng.multinomial(n, self.frequencies @ self.p_rhat_given_r))


def design(counts, **limits):
    solution = tacit.solve(tacit.Problem(counts, **limits))
    rows = solution.channel / solution.channel.sum(axis=-1, keepdims=True)
    return Design(counts, rows)


def of_attribute(name, **limits):
    """X is the whole cell, R one of its attributes."""
    table = adult()
    axis = table.attributes.index(name)
    cells = np.indices(table.counts.shape)[axis].ravel()
    return design(
        table.counts.reshape(-1, 1) * np.eye(table.counts.shape[axis], dtype=int)[cells], **limits
    )


def income_by_education_and_age():
    """X is (education, age) and R is income: the release reads more than R, and never R itself."""
    counts = adult().counts.transpose(0, 2, 1).reshape(-1, 2)
    return design(counts, individual=0.5)


def coverage(release, channel, truth, target, n_releases=N_RELEASES):
    """How often each interval holds, and how often all bounds hold together."""
    rng, rows, together = np.random.default_rng(2026), [], 0
    for _ in range(n_releases):
        found = estimate(release(rng), channel, target=target)
        values = [contrast.weights @ truth for contrast in found.contrasts]
        intervals = np.array([contrast.interval for contrast in found.contrasts])
        rows.append([low <= v <= high for v, (low, high) in zip(values, intervals, strict=True)])
        held = (found.bounds[:, 0] <= truth + LP_TOL) & (truth <= found.bounds[:, 1] + LP_TOL)
        together += held.all()
    return np.sum(rows, axis=0), together


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limits", "rank", "is_identified"),
    [
        ("education", {"individual": 0.1}, 3, [False] * 4),  # never releases "below HS"
        ("education", {"individual": 0.4}, 4, [True] * 4),
        (
            "education",  # "below HS" and "HS-grad" are released alike
            {"individual": 0.2, "utility": "absolute"},
            3,
            [False, False, True, True],
        ),
        ("age", {"individual": 0.3}, 3, [False] * 4),  # never releases ">60"
    ],
)
def test_realised_frequencies_are_covered(name, limits, rank, is_identified):
    released = of_attribute(name, **limits)
    channel = released.p_rhat_given_r
    hits, together = coverage(released.letters_of_the_rows, channel, released.frequencies, "rows")
    found = estimate(released.letters_of_the_rows(np.random.default_rng(0)), channel)
    assert found.rank == rank
    assert found.is_identified.tolist() == is_identified
    assert len(hits) == rank
    assert hits.min() >= LEAST_HITS
    assert hits.max() <= MOST_HITS  # the release reads r alone: intervals are exact, for n large
    assert together >= LEAST_HITS


@pytest.mark.slow
def test_realised_frequencies_are_covered_where_the_release_reads_more_than_r():
    released = income_by_education_and_age()
    channel = released.p_rhat_given_r
    hits, together = coverage(released.letters_of_the_rows, channel, released.frequencies, "rows")
    assert np.ptp(released.channel, axis=0).max() > np.ptp(channel, axis=0).max()
    assert hits.min() >= LEAST_HITS
    assert together >= LEAST_HITS


@pytest.mark.slow
def test_frequencies_of_the_population_are_covered():
    released = of_attribute("education", individual=0.8)
    channel = released.p_rhat_given_r
    truth = released.frequencies
    hits, together = coverage(released.letters_of_a_sample, channel, truth, "population")
    assert LEAST_HITS <= hits.min() <= hits.max() <= MOST_HITS
    assert together >= LEAST_HITS


def test_letters_that_a_design_hardly_uses_do_not_hide_what_is_known():
    """Age under squared distortion: letter ">60" is never seen; three contrasts are clear."""
    released = of_attribute("age", individual=0.2, utility="squared")
    found = estimate(
        released.letters_of_the_rows(np.random.default_rng(5)), released.p_rhat_given_r
    )
    assert len(found.contrasts) == 3
    assert all(np.diff(contrast.interval) < 0.06 for contrast in found.contrasts)
    assert all(np.diff(interval) > 0.5 for interval in found.intervals[found.is_identified])


# --- errors -------------------------------------------------------------------------------------

BINARY = [[0.9, 0.1], [0.1, 0.9]]


@pytest.mark.parametrize(
    ("letters", "channel", "message"),
    [
        ([], BINARY, r"letters is empty: an estimate needs at least one released letter"),
        ([[0, 1]], BINARY, r"letters is 2-D \(shape \(1, 2\)\): give one letter rhat for each row"),
        ([[0], [0, 1]], BINARY, r"letters is not an array"),
        ([0.0, 1.0], BINARY, r"letters holds float64 values: give whole numbers"),
        ([True, False], BINARY, r"letters holds bool values: give whole numbers"),
        (["a"], BINARY, r"letters holds <U1 values: give whole numbers"),
        (
            [0, 2],
            BINARY,
            r"letters holds 2, but p_rhat_given_r has columns 0 to 1: give the channel",
        ),
        ([0, -1], BINARY, r"letters holds -1, but p_rhat_given_r has columns 0 to 1"),
        ([0, 1, 1], [[1, 0], [1, 0]], r"letters holds 1 2 times, but p_rhat_given_r never releas"),
        ([0], [1.0], r"p_rhat_given_r is 1-D \(shape \(1,\)\): make it 2-D"),
        ([0], [[0.5, 0.4]], r"row 0 of p_rhat_given_r sums to 0.9, not to 1"),
        ([0], [[math.nan, 1]], r"p_rhat_given_r holds nan at index \(0, 0\)"),
        ([0], np.ones((2, 0)), r"p_rhat_given_r is empty"),
    ],
)
def test_unusable_letters_and_channels_are_refused(letters, channel, message):
    with pytest.raises(InvalidInputError, match=message):
        estimate(letters, channel)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(InvalidInputError, match=r"confidence is .*: give a probability between"):
        estimate([0], BINARY, confidence=confidence)


def test_target_is_one_of_two():
    with pytest.raises(
        InvalidInputError, match=r"target is 'world': use 'rows' for the rows given"
    ):
        estimate([0], BINARY, target="world")


def test_letters_that_never_occur_are_ignored():
    padded = estimate([0, 2, 2], [[0.9, 0, 0.1], [0.1, 0, 0.9]])
    assert padded.frequencies.tolist() == estimate([0, 1, 1], BINARY).frequencies.tolist()


def test_a_confidence_next_to_1_has_wide_intervals():
    """1 + confidence would be rounded to 2, and intervals to points."""
    found = estimate([0, 1, 1], [[0.8, 0.2], [0.3, 0.7]], confidence=math.nextafter(1, 0))
    assert found.intervals.tolist() == [[0, 1], [0, 1]]
