"""Figures of audits against brute force over every sequence of letters."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import tacit.information as ti
from tacit.auditing import Audit, Exposure, audit, paths
from tacit.auditing.exposure import bounded_exposure, exact_exposure
from tacit.auditing.paths import memory_laws, path_bounds
from tacit.datasets import adult
from tacit.limits import Limit
from tacit.scheme import Scheme, SymmetricScheme
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.memory import Transition
from tests.auditing.chains import (
    NAMES,
    RECORDS,
    ROUNDING,
    SURE,
    Array,
    Forgetful,
    Step,
    brute_law,
    chains,
    random_chain,
    released,
)


def assert_never_below(bound: Exposure, exact: Exposure) -> None:
    for name, value in exact.figures.items():
        assert bound.figures[name] >= value - ROUNDING, name


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


def test_exact_measures_are_those_of_every_sequence_of_letters(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=RECORDS, confidence=SURE)
    assert [finding.name for finding in report.findings] == NAMES
    for finding in report.findings:
        law = brute_law(exact_scheme.p_x, exact_scheme.steps, finding.parties)
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
    exposure = bounded_exposure(replace(bound, information_bits=information_bound(p_x, steps)))
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


def test_bounds_on_many_cells_need_no_table_of_pairs() -> None:
    n_x = 6_000  # pairs of cells would take 288 MB
    rows = np.where(np.arange(n_x)[:, None] % 2, [0.8, 0.2], [0.3, 0.7])
    step = Step("a", rows[None], np.zeros((1, 2), dtype=np.intp), 0.2)
    tracemalloc.start()
    bounds = path_bounds(np.full(n_x, 1 / n_x), [step], {1})[1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
    assert bounds.local_dp_epsilon == pytest.approx(math.log2(0.7 / 0.2), abs=ROUNDING)
    assert bounds.pointwise_max == pytest.approx(
        -math.log2((1 - 1 / n_x) * 0.2 / 0.7 + 1 / n_x), abs=ROUNDING
    )


def test_a_coalition_with_merged_letters_is_bounded_by_what_is_carried_of_it() -> None:
    table = adult()
    limits = [Limit("everyone", 3), Limit("any 2", 1.2)]
    scheme = Scheme.from_counts(table.counts, table.attributes, memory=8, limits=limits)
    for visit in (1, 2, 3):
        for party, attribute in (("a", "education"), ("b", "age"), ("c", "income")):
            scheme.release(attribute, party=party, individual=0.15 * visit)
    report = audit(scheme, records=100)
    pair = report.of(("a", "b"))
    assert not pair.exposure.is_exact
    assert scheme.leakage() > 1.2 > scheme.leakage(("a", "b"))
    assert pair.exposure.mutual_information <= scheme.leakage(("a", "b")) + ROUNDING
    assert report.is_within_limits


def test_bounds_of_a_release_that_says_nothing_are_zero() -> None:
    p_x = np.array([0.5, 0.0, 0.5])
    silent = Step("a", np.full((1, 3, 2), 0.5), np.zeros((1, 2), dtype=np.intp), 0.0)
    exposure = bounded_exposure(path_bounds(p_x, [silent], {1})[1])
    assert exposure.guess_before == exposure.guess_after == 0.5
    bits = [figure for name, figure in exposure.figures.items() if "guess" not in name]
    assert set(bits) == {0.0}


def test_under_bounded_memory_carried_coalitions_are_exact_and_everyone_is_bounded(
    bounded_scheme: Scheme, bounded_audit: Audit
) -> None:
    p_x, history = bounded_scheme.p_x, bounded_scheme.steps
    for finding in bounded_audit.findings:
        truth = exact_exposure(brute_law(p_x, history, finding.parties))
        is_exact = bounded_scheme.law(finding.parties) is not None
        assert finding.exposure.is_exact == is_exact != finding.attack.is_bound
        assert_never_below(finding.exposure, truth)
        if is_exact:
            assert finding.exposure.figures == pytest.approx(truth.figures, abs=ROUNDING)
    assert bounded_audit.of("a").exposure.is_exact
    assert not bounded_audit.everyone.exposure.is_exact


def test_everyone_is_exact_while_a_bounded_memory_has_lost_nothing() -> None:
    scheme = released(Scheme, memory=1000)
    report = audit(scheme, records=RECORDS, confidence=SURE)
    truth = exact_exposure(brute_law(scheme.p_x, scheme.steps, scheme.parties))
    assert scheme.is_exact(scheme.parties)
    assert report.everyone.exposure.is_exact
    assert not report.everyone.attack.is_bound
    assert report.everyone.attack.is_consistent
    assert report.everyone.exposure.figures == pytest.approx(truth.figures, abs=ROUNDING)


@settings(max_examples=100)
@given(chains)
def test_whether_a_memory_has_lost_nothing_is_told_from_the_recorded_states(chain) -> None:
    p_x, steps = chain
    memory = BoundedMemory.start(p_x, 4, [])
    for step in steps:
        memory, _ = memory.after(step.party, step.channel, Transition(step.next_state))
    truth = exact_exposure(brute_law(p_x, steps, {step.party for step in steps}))
    if memory.is_sufficient:
        exposure = exact_exposure(memory.mass)
        assert exposure.figures == pytest.approx(truth.figures, abs=ROUNDING)


@pytest.mark.parametrize("memory", [2, 3, 4])
def test_a_scheme_that_carries_nothing_is_bounded_by_the_last_release_seen(memory: int) -> None:
    scheme = released(Forgetful, memory=memory)
    report = audit(scheme, records=RECORDS, confidence=SURE)
    for finding in report.findings:
        truth = exact_exposure(brute_law(scheme.p_x, scheme.steps, finding.parties))
        assert not finding.exposure.is_exact
        assert_never_below(finding.exposure, truth)
        assert_ordered(finding.exposure)
        assert finding.attack.is_consistent
        assert finding.attack.simulated_bits == pytest.approx(truth.mutual_information, abs=0.03)
    held_after_two = scheme.history[1].everyone_bits
    assert report.of({"b"}).exposure.mutual_information <= held_after_two
