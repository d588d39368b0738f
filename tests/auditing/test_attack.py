"""Attacks that can fail, and that do where a law is wrong."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binomtest

from tacit.auditing import attack, audit
from tacit.auditing.attack import clopper_pearson, posteriors
from tacit.auditing.paths import memory_laws
from tacit.scheme import Scheme
from tacit.scheme.views import class_sums
from tests.auditing.chains import (
    NAMES,
    RECORDS,
    ROUNDING,
    SURE,
    Array,
    Step,
    brute_force,
    chains,
    random_chain,
    released,
)


def assert_posteriors_are_those_of_brute_force(p_x: Array, steps: Sequence[Step]) -> None:
    for size in (1, 2, 3):
        for parties in combinations(["p0", "p1", "p2"], size):
            truth = brute_force(p_x, steps, parties)
            seen = [index for index, step in enumerate(steps) if step.holders & {*parties}]
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
    assert len(report.findings) == len(NAMES)
    for finding in report.findings:
        one = finding.attack
        alone = clopper_pearson(one.successes, one.records, 1 - 0.1 / len(NAMES))
        assert (one.low, one.high) == pytest.approx(alone, abs=1e-12)


def test_observed_success_is_that_of_the_best_guess(exact_scheme: Scheme) -> None:
    report = audit(exact_scheme, records=400, seed=3)
    rng = np.random.default_rng(3)
    x = rng.choice(6, size=400, p=exact_scheme.p_x)
    letters = exact_scheme.sample(x, rng)
    truth = brute_force(exact_scheme.p_x, exact_scheme.steps, {"a", "b", "c"})
    guesses = [truth[tuple(row)].argmax() for row in letters]
    assert report.everyone.attack.successes == (guesses == x).sum()
    assert report.everyone.attack.records == 400


class Overconfident(Scheme):
    """A scheme whose releases tell more than it says: its law is that of the prior alone."""

    def class_law(self, parties: Collection[str] | None = None) -> Array | None:
        return class_sums(self.class_of_x, self.p_x)[None]


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
