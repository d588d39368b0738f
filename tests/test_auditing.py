"""Audits against brute force over every sequence of letters, and attacks that can fail."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

import tacit.information as ti
from tacit import plots
from tacit.auditing import Audit, Exposure, attack, audit, paths, text
from tacit.auditing.attack import clopper_pearson, posteriors
from tacit.auditing.coalitions import MOST_COALITIONS, coalitions_of
from tacit.auditing.measures import (
    QUANTILES,
    bounded_exposure,
    exact_exposure,
    guess_bound,
    weighted_quantile,
)
from tacit.auditing.paths import memory_laws, path_bounds
from tacit.errors import InvalidInputError
from tacit.scheme import Policy, Scheme, SymmetricScheme
from tacit.scheme.memory import BoundedMemory
from tests.pictures import assert_is_png, assert_works_offline

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Bits: sums of some thousand terms, and logarithms of ratios of numbers near 1e-12."""

SURE = 1 - 1e-9
"""Confidence at which a false alarm in any test here is out of the question."""

RECORDS = 4_000

NAMES = ["a", "b", "c", "a + b", "everyone"]
"""Who is found in the schemes below."""


# --- brute force --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """As much of a release as the audit's kernels read."""

    party: str
    channel: Array
    next_state: NDArray[np.intp]


def brute_force(p_x: Array, steps: Sequence[Step], parties: Collection[str]) -> dict:
    """Letters that ``parties`` see -> p(letters, x), summed over every sequence of letters."""
    seen = [index for index, step in enumerate(steps) if step.party in parties]
    found: dict[tuple[int, ...], Array] = {}
    for letters in product(*(range(step.channel.shape[-1]) for step in steps)):
        mass, state = p_x, 0
        for step, letter in zip(steps, letters, strict=True):
            mass = mass * step.channel[state, :, letter]
            state = step.next_state[state, letter]
            if state < 0 or not mass.any():
                break
        else:
            key = tuple(letters[index] for index in seen)
            found[key] = found.get(key, 0.0) + mass
    return found


def brute_law(p_x: Array, steps: Sequence[Step], parties: Collection[str]) -> Array:
    return np.array(list(brute_force(p_x, steps, parties).values()))


def random_chain(seed: int) -> tuple[Array, list[Step]]:
    """A law of X and releases through a memory of few states, zeros included."""
    rng = np.random.default_rng(seed)
    n_x, cap = rng.integers(1, 6), rng.integers(1, 4)
    p_x = rng.dirichlet(np.ones(n_x))
    if n_x > 2 and rng.random() < 0.3:
        p_x[rng.integers(n_x)] = 0.0
        p_x /= p_x.sum()
    has_zeros = rng.random() < 0.4
    n_states, steps = 1, []
    for _ in range(rng.integers(1, 6)):
        n_letters = rng.integers(1, 4)
        table = rng.dirichlet(np.full(n_letters, 2.0), size=(n_states, n_x))
        if has_zeros:
            table = table * (rng.random(table.shape) < 0.7)
            table[..., 0] += 0.01
        table /= table.sum(axis=-1, keepdims=True)
        labels = rng.integers(cap, size=(n_states, n_letters))
        next_state = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
        steps.append(Step(f"p{rng.integers(3)}", table, next_state))
        n_states = next_state.max() + 1
    return p_x, steps


chains = st.integers(0, 2**32 - 1).map(random_chain)


def numbers(exposure: Exposure) -> dict[str, float]:
    """Every figure of an exposure by name."""
    names = [
        "mutual_information",
        "guess_before",
        "guess_after",
        "min_entropy_leakage",
        "maximal_leakage",
        "pointwise_max",
        "local_dp_epsilon",
    ]
    figures = {name: getattr(exposure, name) for name in names}
    return figures | {f"quantile {q}": bits for q, bits in exposure.pointwise_quantiles.items()}


def assert_never_below(bound: Exposure, exact: Exposure) -> None:
    for name, value in numbers(exact).items():
        assert numbers(bound)[name] >= value - ROUNDING, name


def assert_ordered(exposure: Exposure) -> None:
    """MI ≤ maximal leakage ≤ max PML ≤ ε, and min-entropy leakage ≤ maximal leakage."""
    chain = [
        exposure.mutual_information,
        exposure.maximal_leakage,
        exposure.pointwise_max,
        exposure.local_dp_epsilon,
    ]
    for smaller, larger in pairwise(chain):
        assert smaller <= larger + ROUNDING
    assert exposure.min_entropy_leakage <= exposure.maximal_leakage + ROUNDING
    quantiles = [*exposure.pointwise_quantiles.values(), exposure.pointwise_max]
    assert quantiles == sorted(quantiles)


# --- schemes ------------------------------------------------------------------------------------


class Forgetful(Scheme):
    """A scheme that carries no law: every figure has to be a bound."""

    def law(self, parties: Collection[str] | None = None) -> Array | None:
        return None


def released(kind: type[Scheme] = Scheme, memory: int | None = None) -> Scheme:
    """Four requests from three parties about six kinds of record; the first party comes back."""
    rng = np.random.default_rng(11)
    policy = Policy(everyone=2.0, groups={("a", "b"): 1.5})
    scheme = kind(rng.dirichlet(np.ones(6)), memory=memory, policy=policy)
    for party, individual in (("a", 0.2), ("b", 0.3), ("a", 0.5), ("c", 0.3)):
        asked = rng.dirichlet(np.full(3, 0.5), size=6)
        scheme.release(asked, party=party, individual=individual, gap_tol=1e-4)
    return scheme


@pytest.fixture(scope="module")
def exact_scheme() -> Scheme:
    return released()


@pytest.fixture(scope="module")
def bounded_scheme() -> Scheme:
    return released(memory=2)


@pytest.fixture(scope="module")
def bounded_audit(bounded_scheme: Scheme) -> Audit:
    return audit(bounded_scheme, records=RECORDS, confidence=SURE)


# --- exact measures -----------------------------------------------------------------------------


def test_exact_measures_are_those_of_every_sequence_of_letters(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=RECORDS, confidence=SURE)
    assert [finding.name for finding in report.findings] == NAMES
    for finding in report.findings:
        law = brute_law(exact_scheme.p_x, exact_scheme.history, finding.parties)
        p_x, p_y = law.sum(axis=0), law.sum(axis=1)
        given_x = law / p_x
        exposure = finding.exposure
        assert exposure.is_exact
        assert not finding.attack.is_bound
        near = {"abs": ROUNDING}
        divergence = (law * np.log2(np.where(law > 0, given_x / p_y[:, None], 1.0))).sum()
        assert exposure.mutual_information == pytest.approx(divergence, **near)
        assert exposure.mutual_information == pytest.approx(
            exact_scheme.leakage(finding.parties), **near
        )
        assert exposure.guess_before == pytest.approx(p_x.max(), **near)
        assert exposure.guess_after == pytest.approx(law.max(axis=1).sum(), **near)
        assert exposure.min_entropy_leakage == pytest.approx(
            math.log2(law.max(axis=1).sum() / p_x.max()), **near
        )
        assert exposure.maximal_leakage == pytest.approx(
            math.log2(given_x.max(axis=1).sum()), **near
        )
        pointwise = np.log2(given_x.max(axis=1) / p_y)
        assert exposure.pointwise_max == pytest.approx(pointwise.max(), **near)
        with np.errstate(divide="ignore"):
            ratio = given_x.max(axis=1) / given_x.min(axis=1)
        assert exposure.local_dp_epsilon == pytest.approx(np.log2(ratio.max()), **near)
        for quantile, bits in exposure.pointwise_quantiles.items():
            assert p_y[pointwise <= bits + ROUNDING].sum() >= quantile - ROUNDING
            assert p_y[pointwise < bits - ROUNDING].sum() < quantile
        assert_ordered(exposure)


@pytest.mark.parametrize("n_releases", [4, 9])
def test_the_rarest_letters_count(n_releases: int) -> None:
    """Nine letters that are rare for everybody: p(y) = 1e-20, and told apart all the same."""
    p_x = np.array([0.5, 0.3, 0.2])
    channel = np.array([[0.9999, 0.0001], [0.99, 0.01], [0.995, 0.005]])
    scheme = SymmetricScheme(p_x)
    for number in range(n_releases):
        scheme.release(channel, party=f"p{number}")
        np.testing.assert_allclose(scheme.steps[-1].channel[0], channel, atol=1e-12)
    exposure = audit(scheme, records=100).everyone.exposure
    assert exposure.is_exact
    law = np.array([0.0001, 0.01, 0.005]) ** n_releases
    near = {"rel": 1e-6}
    assert exposure.local_dp_epsilon == pytest.approx(n_releases * math.log2(100), **near)
    assert exposure.pointwise_max == pytest.approx(math.log2(law.max() / (p_x @ law)), **near)


def test_quantiles_of_weighted_values() -> None:
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    found = [weighted_quantile(values, weights, q) for q in (0.0, 0.5, 0.51, 0.75, 0.76, 1.0)]
    assert found == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    tenths = np.full(10, 0.1)  # whose partial sums are not tenths
    found = [weighted_quantile(np.arange(10.0), tenths, k / 10) for k in range(1, 11)]
    assert found == list(range(10))


@given(chains)
def test_exact_measures_are_ordered(chain: tuple[Array, list[Step]]) -> None:
    p_x, steps = chain
    assert_ordered(exact_exposure(brute_law(p_x, steps, {step.party for step in steps})))


# --- bounds -------------------------------------------------------------------------------------


def information_bound(p_x: Array, steps: Sequence[Step]) -> float:
    """The running sum of I(Rhat_k; X | M_{k-1}) ([M] fact 6)."""
    masses = memory_laws(p_x, steps)
    return sum(
        ti.conditional_mutual_information((mass[..., None] * step.channel).transpose(2, 1, 0))
        for mass, step in zip(masses, steps, strict=False)
    )


@settings(max_examples=150, deadline=None)
@given(chains)
def test_bounds_are_never_below_the_truth(chain: tuple[Array, list[Step]]) -> None:
    p_x, steps = chain
    bound = path_bounds(p_x, steps, {len(steps)})[len(steps)]
    exposure = bounded_exposure(p_x, information_bound(p_x, steps), bound)
    assert_ordered(exposure)
    for size in (1, 2, 3):  # every coalition, for none learns more than everyone
        for parties in combinations(["p0", "p1", "p2"], size):
            assert_never_below(exposure, exact_exposure(brute_law(p_x, steps, parties)))


@given(chains)
def test_local_dp_of_everyone_is_exact_and_peaks_beat_the_worst_state(
    chain: tuple[Array, list[Step]],
) -> None:
    p_x, steps = chain
    bound = path_bounds(p_x, steps, {len(steps)})[len(steps)]
    law = brute_law(p_x, steps, {"p0", "p1", "p2"})
    assert bound.local_dp_epsilon == pytest.approx(ti.local_dp_epsilon(law.T), abs=ROUNDING)
    worst_states = sum(
        max(ti.maximal_leakage(m, c) for m, c in zip(mass, step.channel, strict=True) if m.any())
        for mass, step in zip(memory_laws(p_x, steps), steps, strict=False)
    )
    assert bound.maximal_leakage <= worst_states + ROUNDING


@pytest.mark.parametrize("seed", range(40))
def test_cheap_ratios_are_above_those_of_each_pair(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p_x, steps = random_chain(seed)
    lengths = set(range(1, len(steps) + 1))
    by_pair = path_bounds(p_x, steps, lengths)
    monkeypatch.setattr(paths, "_PAIR_WORK", 0)
    cheap = path_bounds(p_x, steps, lengths)
    for length in lengths:
        assert cheap[length].local_dp_epsilon >= by_pair[length].local_dp_epsilon - ROUNDING
        assert cheap[length].pointwise_max >= by_pair[length].pointwise_max - ROUNDING
        assert cheap[length].maximal_leakage == by_pair[length].maximal_leakage
        assert cheap[length].pointwise_max <= -math.log2(p_x[p_x > 0].min()) + ROUNDING


def test_bounds_of_a_release_that_says_nothing_are_zero() -> None:
    p_x = np.array([0.5, 0.0, 0.5])
    silent = Step("a", np.full((1, 3, 2), 0.5), np.zeros((1, 2), dtype=np.intp))
    exposure = bounded_exposure(p_x, 0.0, path_bounds(p_x, [silent], {1})[1])
    assert exposure.guess_before == exposure.guess_after == 0.5
    figures = numbers(replace(exposure, guess_before=0.0, guess_after=0.0))
    assert set(figures.values()) == {0.0}


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


def test_under_bounded_memory_carried_coalitions_are_exact_and_everyone_is_bounded(
    bounded_scheme: Scheme, bounded_audit: Audit
) -> None:
    p_x, history = bounded_scheme.p_x, bounded_scheme.history
    for finding in bounded_audit.findings:
        truth = exact_exposure(brute_law(p_x, history, finding.parties))
        is_exact = bounded_scheme.law(finding.parties) is not None
        assert finding.exposure.is_exact == is_exact != finding.attack.is_bound
        assert_never_below(finding.exposure, truth)
        if is_exact:
            assert numbers(finding.exposure) == pytest.approx(numbers(truth), abs=ROUNDING)
    assert bounded_audit.of("a").exposure.is_exact
    assert not bounded_audit.everyone.exposure.is_exact


def test_everyone_is_exact_while_a_bounded_memory_has_lost_nothing() -> None:
    scheme = released(Scheme, memory=1000)
    report = audit(scheme, records=RECORDS, confidence=SURE)
    truth = exact_exposure(brute_law(scheme.p_x, scheme.history, scheme.parties))
    assert scheme.is_exact(scheme.parties)
    assert report.everyone.exposure.is_exact
    assert not report.everyone.attack.is_bound
    assert report.everyone.attack.is_consistent
    assert numbers(report.everyone.exposure) == pytest.approx(numbers(truth), abs=ROUNDING)


@settings(max_examples=100)
@given(chains)
def test_whether_a_memory_has_lost_nothing_is_told_from_the_recorded_states(chain) -> None:
    p_x, steps = chain
    memory = BoundedMemory.start(p_x, 4, Policy())
    for step in steps:
        memory, _ = memory.after(step.party, step.channel, step.next_state)
    truth = exact_exposure(brute_law(p_x, steps, {step.party for step in steps}))
    if memory.is_sufficient:
        exposure = exact_exposure(memory.mass)
        assert numbers(exposure) == pytest.approx(numbers(truth), abs=ROUNDING)


@pytest.mark.parametrize("memory", [2, 3, 4])
def test_a_scheme_that_carries_nothing_is_bounded_by_the_last_release_seen(memory: int) -> None:
    scheme = released(Forgetful, memory=memory)
    report = audit(scheme, records=RECORDS, confidence=SURE)
    for finding in report.findings:
        truth = exact_exposure(brute_law(scheme.p_x, scheme.history, finding.parties))
        assert not finding.exposure.is_exact
        assert_never_below(finding.exposure, truth)
        assert_ordered(finding.exposure)
        assert finding.attack.is_consistent
        assert finding.attack.simulated_bits == pytest.approx(truth.mutual_information, abs=0.03)
    held_after_two = scheme.history[1].everyone_bits
    assert report.of({"b"}).exposure.mutual_information <= held_after_two


# --- the attack ---------------------------------------------------------------------------------


def assert_posteriors_are_those_of_brute_force(p_x: Array, steps: Sequence[Step]) -> None:
    for size in (1, 2, 3):
        for parties in combinations(["p0", "p1", "p2"], size):
            truth = brute_force(p_x, steps, parties)
            seen = [index for index, step in enumerate(steps) if step.party in parties]
            if seen:
                tuples = np.array(sorted(truth))
                expected = np.array([truth[tuple(row)] for row in tuples])
                expected /= expected.sum(axis=1, keepdims=True)
                found = posteriors(tuples, seen, steps, memory_laws(p_x, steps))
                np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(chains)
def test_the_attacker_computes_the_exact_posterior(chain: tuple[Array, list[Step]]) -> None:
    assert_posteriors_are_those_of_brute_force(*chain)


@pytest.mark.parametrize("seed", range(20))
def test_halving_large_beliefs_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.auditing.attack._BELIEF_BYTES", 64)
    assert_posteriors_are_those_of_brute_force(*random_chain(seed))


def test_posteriors_after_a_thousand_releases_stay_in_the_range_of_floats() -> None:
    channel = np.array([[[0.011, 0.989], [0.01, 0.99]]])
    step = Step("a", channel, np.zeros((1, 2), dtype=np.intp))
    p_x = np.array([0.5, 0.5])
    found = posteriors(
        np.zeros((1, 1000), dtype=np.intp), range(1000), [step] * 1000, [p_x[None]] * 1000
    )
    assert found[0, 1] == pytest.approx(1 / (1 + 1.1**1000), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_attacks_go_as_predicted(seed: int, exact_scheme: Scheme, bounded_scheme: Scheme) -> None:
    for scheme in (exact_scheme, bounded_scheme):
        assert audit(scheme, records=RECORDS, seed=seed, confidence=SURE).is_consistent


@pytest.mark.parametrize("seed", range(20))
def test_letters_that_tell_everything_are_no_false_alarm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_x = int(rng.integers(2, 9))
    scheme = Scheme(rng.dirichlet(np.ones(n_x)))  # whose entries may add up to more than 1
    scheme.release(np.eye(n_x), party="a")
    report = audit(scheme, records=100)
    assert report.everyone.exposure.guess_after == pytest.approx(1.0, abs=ROUNDING)
    assert report.everyone.attack.observed == 1.0
    assert report.is_consistent


def test_all_intervals_hold_together(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=400, confidence=0.9)
    for finding in report.findings:
        one = finding.attack
        alone = clopper_pearson(one.successes, one.records, 1 - 0.1 / len(NAMES))
        assert (one.low, one.high) == pytest.approx(alone, abs=1e-12)


def test_observed_success_is_that_of_the_best_guess(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=400, seed=3)
    rng = np.random.default_rng(3)
    x = rng.choice(6, size=400, p=exact_scheme.p_x)
    letters = exact_scheme.sample(x, rng)
    truth = brute_force(exact_scheme.p_x, exact_scheme.history, {"a", "b", "c"})
    guesses = [truth[tuple(row)].argmax() for row in letters]
    assert report.everyone.attack.successes == (guesses == x).sum()
    assert report.everyone.attack.records == 400


class Overconfident(Scheme):
    """A scheme whose releases tell more than it says: its law is that of the prior alone."""

    def law(self, parties: Collection[str] | None = None) -> Array | None:
        return self.p_x[None]


def test_a_wrong_law_is_detected() -> None:
    report = audit(released(Overconfident), records=RECORDS, confidence=SURE)
    assert not report.is_consistent
    assert not report.everyone.attack.is_consistent
    assert "NOT AS PREDICTED: the attack of" in report.verdict
    assert report.as_text().endswith("DIFFERS")


def test_a_wrong_sampler_is_detected(exact_scheme: Scheme, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Scheme.sample
    monkeypatch.setattr(Scheme, "sample", lambda scheme, x, rng: honest(scheme, 0 * x, rng))
    assert not audit(exact_scheme, records=RECORDS, confidence=SURE).is_consistent


def test_predictions_are_judged_by_the_interval() -> None:
    told = attack.Attack(100, 50, 0.4, 0.6, 0.5, is_bound=False, simulated_bits=1.0)
    assert told.observed == 0.5
    assert told.is_consistent
    assert not replace(told, predicted=0.39).is_consistent
    assert not replace(told, predicted=0.61).is_consistent
    assert replace(told, predicted=0.61, is_bound=True).is_consistent
    assert not replace(told, predicted=0.39, is_bound=True).is_consistent


@pytest.mark.parametrize(("successes", "records"), [(0, 7), (7, 7), (1, 1), (3, 10), (600, 2000)])
def test_interval_is_that_of_clopper_and_pearson(successes: int, records: int) -> None:
    witness = binomtest(successes, records).proportion_ci(0.99, method="exact")
    assert clopper_pearson(successes, records, 0.99) == pytest.approx((witness.low, witness.high))


def test_fewer_records_are_attacked_where_all_would_take_too_long(
    exact_scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.auditing.report._ATTACK_WORK", 1)
    report = audit(exact_scheme, records=RECORDS, confidence=SURE)
    assert {finding.attack.records for finding in report.findings} == {100}
    assert report.is_consistent


# --- who is audited -----------------------------------------------------------------------------


def test_coalitions_are_those_of_the_policy_among_the_parties_present() -> None:
    held = dict.fromkeys("abcd", 0.1)
    policy = Policy(groups={("a", "b", "z"): 1.0, ("a", "z"): 1.0, tuple("abcd"): 1.0})
    assert coalitions_of(policy, held) == ([frozenset("ab")], 0)
    every_pair = Policy(any_size=2, bits=0.5, groups={("b", "a"): 1.0})
    pairs = [frozenset(pair) for pair in combinations("abcd", 2)]
    assert coalitions_of(every_pair, held) == (pairs, 0)
    for size in (1, 4, 9):  # single parties and everyone are reported anyway
        assert coalitions_of(Policy(any_size=size, bits=0.5), held) == ([], 0)


def test_too_many_coalitions_are_cut_to_those_that_hold_most() -> None:
    held = {f"lab-{number:02}": number / 100 for number in range(40)}
    listed, left_out = coalitions_of(Policy(any_size=3, bits=0.5), held)
    assert len(listed) == MOST_COALITIONS
    assert left_out == math.comb(40, 3) - MOST_COALITIONS
    assert sums_of(listed, held) == largest_sums(held, 3)


def sums_of(coalitions: Collection[Collection[str]], held: dict[str, float]) -> list[float]:
    return sorted(math.fsum(held[party] for party in coalition) for coalition in coalitions)


def largest_sums(held: dict[str, float], size: int) -> list[float]:
    return sums_of([*combinations(held, size)], held)[-MOST_COALITIONS:]


@given(st.integers(0, 2**32 - 1))
def test_listed_coalitions_are_those_whose_members_hold_most_in_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = {f"lab-{number:02}": bits for number, bits in enumerate(rng.exponential(size=12))}
    size = int(rng.integers(2, 11))
    listed, left_out = coalitions_of(Policy(any_size=size, bits=0.5), held)
    assert len(set(listed)) + left_out == math.comb(12, size)
    assert sums_of(listed, held) == largest_sums(held, size)


def test_coalitions_of_every_size_are_listed_or_counted() -> None:
    held = {f"lab-{number:02}": number / 100 for number in range(12)}
    listed, left_out = coalitions_of(Policy(sizes={1: 0.3, 2: 0.4, 3: 0.6, 12: 0.9}), held)
    assert [len(coalition) for coalition in listed] == [2] * MOST_COALITIONS + [3] * MOST_COALITIONS
    assert left_out == math.comb(12, 2) + math.comb(12, 3) - len(listed)


def test_groups_that_are_listed_are_not_left_out() -> None:
    held = {f"lab-{number:02}": 2.0**-number for number in range(12)}
    groups = {("lab-10", "lab-11"): 1.0, ("lab-00", "lab-01"): 1.0, ("lab-09", "lab-11"): 1.0}
    listed, left_out = coalitions_of(Policy(any_size=2, bits=0.5, groups=groups), held)
    assert frozenset({"lab-10", "lab-11"}) in listed
    assert len(listed) == len(set(listed)) == MOST_COALITIONS + 2
    assert left_out == math.comb(12, 2) - len(listed) == 0


def test_listing_a_few_of_very_many_coalitions_takes_few_steps() -> None:
    held = {f"lab-{number:03}": 1 / (1 + number) for number in range(300)}
    listed, left_out = coalitions_of(Policy(any_size=20, bits=0.5), held)
    assert len(listed) == MOST_COALITIONS
    assert left_out == math.comb(300, 20) - MOST_COALITIONS


def test_limit_is_the_smallest_on_the_coalition_or_around_it() -> None:
    policy = Policy(everyone=2.0, any_size=2, bits=1.0, groups={("a", "b", "c"): 1.5, ("d",): 0})
    limits = [policy.least_bits_on(who) for who in ("a", "ab", "abc", "abd", "d")]
    assert limits == [1.0, 1.0, 1.5, 2.0, 0.0]
    assert Policy().least_bits_on("a") is None
    assert Policy(any_size=9, bits=0.7).least_bits_on("abcd") == 0.7
    several = Policy(sizes={2: 0.4, 3: 0.6})
    assert [several.least_bits_on(who) for who in ("a", "ab", "abc", "abcd")] == [
        0.4,
        0.4,
        0.6,
        None,
    ]


def test_one_party_is_everyone() -> None:
    scheme = Scheme([1, 1, 2])
    scheme.release(np.eye(3), party="lab", individual=0.2)
    report = audit(scheme, records=100)
    assert [finding.name for finding in report.findings] == ["lab"]
    assert report.everyone.parties == ("lab",)


# --- what is shown ------------------------------------------------------------------------------


VERDICT = "Every coalition is within its limits; every attack went as predicted."


def tables(shown: str) -> list[list[str]]:
    """The lines of each table, from its heading on."""
    lines = shown.splitlines()
    heads = [index for index, line in enumerate(lines) if line.startswith("who")]
    ends = [lines.index("", head) if "" in lines[head:] else len(lines) for head in heads]
    return [lines[head:end] for head, end in zip(heads, ends, strict=True)]


def test_text_begins_with_a_verdict_and_marks_bounds(bounded_audit: Audit) -> None:
    shown = bounded_audit.as_text()
    assert shown.splitlines()[0] == VERDICT
    assert "Audit of 4 releases about 6 combinations of levels (" in shown
    assert max(map(len, shown.splitlines())) <= text.WIDTH
    averages, worst, attacks = tables(shown)
    for table in (averages, worst, attacks):
        assert [row[: len("everyone")].strip() for row in table[1:]] == NAMES
        assert len(set(map(len, table))) == 1
        assert ["≤" in row for row in table] == [False] * len(NAMES) + [True]
    assert "≤ marks an upper bound" in shown
    assert attacks[-1].endswith("within")


def test_the_verdict_names_who_is_above_a_limit_or_not_as_predicted(bounded_audit: Audit) -> None:
    first, *others = bounded_audit.findings
    held = bounded_audit.findings[0].exposure.mutual_information
    above = replace(bounded_audit, findings=(replace(first, limit_bits=0.01), *others))
    assert not above.is_within_limits
    assert above.verdict == (
        f"ABOVE THE LIMIT: a ({text.bits_up(held)} of 0.01 bits); every attack went as predicted."
    )
    wrong = replace(first, attack=replace(first.attack, predicted=1.0))
    surprised = replace(bounded_audit, findings=(wrong, *others))
    assert surprised.verdict == (
        "Every coalition is within its limits; NOT AS PREDICTED: the attack of a. "
        "Do not rely on these figures."
    )
    assert "DIFFERS" in surprised.as_text()
    free = [replace(finding, limit_bits=None) for finding in bounded_audit.findings]
    assert replace(bounded_audit, findings=tuple(free)).verdict.startswith("No limits stand; ")
    some = replace(bounded_audit, coalitions_left_out=1)
    assert some.verdict.startswith("Every listed coalition is within its limits; ")


WIDE = "東京大学医学部附属病院データセンター"


@pytest.mark.parametrize(
    "name",
    [
        " + ".join(f"laboratory-{number}" for number in range(12)),
        "Institut für angewandte Sozialforschung und Statistik, Abteilung Nord-West",
        f"{WIDE} + lab",
        "x" * 300,
        "e\u0301" * 21,
    ],
)
def test_long_and_wide_names_stand_above_their_figures(bounded_audit: Audit, name: str) -> None:
    long = replace(bounded_audit.findings[0], name=name)
    shown = replace(bounded_audit, findings=(long, *bounded_audit.findings[1:])).as_text()
    assert max(map(text.width_of, shown.splitlines())) <= text.WIDTH
    joined = "".join(line.strip() for line in shown.splitlines()).replace(" ", "")
    assert joined.count(name.replace(" ", "")) == 3  # whole, in every table
    assert not any(len(line.strip()) == 1 for line in shown.splitlines())


def test_wide_signs_take_two_columns_and_accents_none() -> None:
    assert text.width_of("lab-a") == 5
    assert text.width_of("東京") == 4
    assert text.width_of("e\u0301") == 1


def test_infinity_is_drawn_everywhere(tmp_path: Path, bounded_audit: Audit) -> None:
    endless = replace(
        bounded_audit.findings[0].exposure,
        pointwise_quantiles=dict.fromkeys(QUANTILES, math.inf),
        pointwise_max=math.inf,
        local_dp_epsilon=math.inf,
    )
    first = replace(bounded_audit.findings[0], exposure=endless, limit_bits=math.inf)
    report = replace(bounded_audit, findings=(first, *bounded_audit.findings[1:]))
    averages, worst, _ = tables(report.as_text())
    assert worst[1].split() == ["a", *"∞∞∞∞∞"]
    assert averages[1].split()[:2] == ["a", "∞"]
    assert "inf" not in " ".join([*averages[1:], *worst])
    page, picture = tmp_path / "audit.html", tmp_path / "audit.png"
    plots.audit_page(report, path=page)
    drawn = page.read_text(encoding="utf-8")
    assert '"∞"' in drawn or '"\\u221e"' in drawn
    plots.audit_figure(report, path=picture)
    assert_is_png(picture)


def test_printed_bits_are_rounded_up(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=100)
    row = tables(report.as_text())[0][-1]
    bits = report.everyone.exposure.mutual_information
    assert bits - ROUNDING <= float(row.split()[2]) <= bits + 1e-4
    assert "≤" not in report.as_text()


@pytest.mark.parametrize(
    ("figure", "bits", "percent"),
    [
        (0.30001, "0.3001", "30.01"),
        (0.3, "0.3000", "30.00"),
        (0.1 + 0.2, "0.3000", "30.00"),
        (0.30009, "0.3001", "30.01"),
        (1.0, "1.0000", "100.00"),
        (0.0, "0.0000", "0.00"),
    ],
)
def test_figures_are_rounded_up_where_a_smaller_one_would_mislead(
    figure: float, bits: str, percent: str
) -> None:
    assert text.bits_up(figure) == bits
    assert text.bits_up(figure, "≤") == f"≤{bits}"
    assert text._percent_up(figure) == percent


def test_printed_chances_are_never_below_what_they_bound(bounded_audit: Audit) -> None:
    for finding in bounded_audit.findings:
        for after in np.linspace(0.3, 0.301, 30):
            exposure = replace(finding.exposure, guess_after=float(after))
            (_, row) = text.attack_lines([replace(finding, exposure=exposure)])
            printed = row.removeprefix(finding.name).replace("≤", "").split()[:5]
            _, told, _, low, high = (float(chance) / 100 for chance in printed)
            assert after - ROUNDING <= told < after + 1e-4
            assert low <= finding.attack.low + ROUNDING
            assert high >= finding.attack.high - ROUNDING


def test_text_says_what_is_not_listed(bounded_audit: Audit) -> None:
    shown = replace(bounded_audit, coalitions_left_out=7).as_text()
    assert "7 more coalitions of the policy's sizes are limited but not listed." in shown
    assert "hold less" not in shown  # members that hold less may together hold more


def test_dictionary_is_json_and_says_infinity_in_words(bounded_audit: Audit) -> None:
    silly = replace(bounded_audit.everyone.exposure, local_dp_epsilon=math.inf)
    worst = replace(bounded_audit.everyone, exposure=silly)
    report = replace(bounded_audit, findings=(*bounded_audit.findings[:-1], worst))
    read = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert read["releases"] == 4
    assert read["is_consistent"] is True
    assert read["is_within_limits"] is True
    assert [finding["name"] for finding in read["findings"]] == NAMES
    single, everyone = read["findings"][0], read["findings"][-1]
    assert single["mutual_information"] == report.findings[0].exposure.mutual_information
    assert set(single["pointwise_maximal_leakage"]) == {"0.5", "0.95", "0.99", "max"}
    assert single["limit_bits"] == 1.5
    assert everyone["parties"] == ["a", "b", "c"]
    assert everyone["is_exact"] is False
    assert everyone["attack"]["is_bound"] is True
    assert everyone["local_dp_epsilon"] == "inf"


def test_plots_are_written(tmp_path: Path, bounded_audit: Audit) -> None:
    page, picture = tmp_path / "audit.html", tmp_path / "audit.png"
    plots.audit_figure(bounded_audit, "title", path=picture)
    plots.audit_page(bounded_audit, "title", path=page)
    assert_is_png(picture)
    assert_works_offline(page)


def test_findings_are_looked_up_by_parties(bounded_audit: Audit) -> None:
    assert bounded_audit.of(("c", "b", "a")) is bounded_audit.everyone
    assert bounded_audit.of(("b", "a")).name == "a + b"
    assert bounded_audit.of("a").parties == ("a",)
    with pytest.raises(InvalidInputError, match=r"\['d'\] was not audited: ask for one of a, b, c"):
        bounded_audit.of("d")


def test_same_seed_same_audit(bounded_scheme: Scheme, bounded_audit: Audit) -> None:
    again = audit(bounded_scheme, records=RECORDS, confidence=SURE)
    assert again.as_dict() == bounded_audit.as_dict()


# --- refusals -----------------------------------------------------------------------------------


def test_a_scheme_without_releases_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no releases yet: release something, then audit"):
        audit(Scheme([1, 1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": 0}, "records is 0: attack at least one"),
        ({"confidence": 1.0}, "confidence is 1.0: give a number between 0 and 1"),
        ({"confidence": 0.0}, "confidence is 0.0"),
        ({"confidence": math.nan}, "confidence is nan"),
    ],
)
def test_arguments_out_of_range_are_refused(
    exact_scheme: Scheme, options: dict, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        audit(exact_scheme, **options)
