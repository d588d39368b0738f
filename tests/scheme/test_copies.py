"""Letters that are handed on: nothing is drawn, and whoever holds them is counted."""

from collections.abc import Sequence
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tacit
from tacit.datasets import adult
from tacit.limits import Limit
from tacit.scheme import bounded_memory
from tests.scheme.laws import true_bits, true_worst_answer
from tests.strategies import weights

ATTRIBUTES = ("education", "income", "age")
VISITS = ("a age", "b sex", "c age", "a sex", "d sex", "c sex", "e age", "e sex", "d age")
BITS = 0.25


def a_scheme(counts: np.ndarray, memory: int | None, limits: Sequence[tacit.Limit]) -> tacit.Scheme:
    """Parties ask for what others have; some of them come back."""
    scheme = tacit.Scheme.from_counts(counts, ("age", "sex"), limits=limits, memory=memory)
    for visit in VISITS:
        party, asked = visit.split()
        seen = sum(release.party == party for release in scheme.history)
        try:
            scheme.release(asked, party=party, individual=BITS * (1 + seen), gap_tol=1e-4)
        except (tacit.InfeasibleError, tacit.UnconvergedError):
            continue
    return scheme


@pytest.mark.slow
@given(
    counts=weights((3, 2)),
    memory=st.sampled_from([None, 1, 2, 4, 64]),
    pair=st.sampled_from([0.3, 0.45, np.inf]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_coalitions_hold_is_never_below_the_truth(counts, memory, pair):
    scheme = a_scheme(counts, memory, [Limit("any 2", pair)] if pair < inf else [])
    assume(any(release.source is not None for release in scheme.history))
    for size in (1, 2, 3, len(scheme.parties)):
        for parties in map(frozenset, combinations(sorted(scheme.parties), size)):
            truth = true_bits(scheme, parties)
            assert scheme.leakage(parties) >= truth - 1e-9
            assert scheme.worst_answer(parties) >= true_worst_answer(scheme, parties) - 1e-9
            if scheme.is_exact(parties):
                assert scheme.leakage(parties) == pytest.approx(truth, abs=1e-9)
            if size == 2:
                assert truth <= pair + 1e-8


@pytest.mark.parametrize("memory", [None, 1, 3, 64])
def test_a_copy_draws_nothing_and_moves_nothing(memory):
    limits = [Limit("any 2", 0.9)]
    scheme = tacit.Scheme.from_counts(adult().counts, ATTRIBUTES, limits=limits, memory=memory)
    first = scheme.release("education", party="a", individual=0.3)
    scheme.release("income", party="b", individual=0.3)
    before, states, steps = scheme.leakage(), scheme.n_states, len(scheme.steps)
    copy = scheme.release("education", party="c", individual=0.3)
    assert (first.source, copy.source) == (None, 0)
    assert scheme.history[-1] is copy
    assert scheme.leakage() == pytest.approx(before, abs=1e-14)
    assert (scheme.n_states, len(scheme.steps)) == (states, steps)
    assert scheme.leakage({"a", "c"}) == pytest.approx(scheme.leakage({"a"}), abs=1e-12)
    letters = scheme.sample(np.zeros(5, dtype=int), np.random.default_rng(0))
    assert letters.shape == (5, steps)  # who holds them is all that a copy changes


def test_a_copy_that_breaks_a_limit_on_a_coalition_is_not_made():
    """b and c together may hold what b holds and a little more."""
    limits = [Limit("b+c", 0.32)]
    scheme = tacit.Scheme.from_counts(adult().counts, ATTRIBUTES, limits=limits, memory=16)
    scheme.release("education", party="a", individual=0.3)
    scheme.release("income", party="b", individual=0.3)
    release = scheme.release("education", party="c", individual=0.3)
    assert release.source is None
    assert scheme.leakage({"b", "c"}) <= 0.32 + 1e-9


def test_a_copy_that_tells_its_party_too_much_is_followed_for_that_party_only(monkeypatch):
    """Many coalitions are around it, and each is followed from the first release on."""
    limits = [Limit("any 2", 0.9)]
    scheme = tacit.Scheme.from_counts(adult().counts, ATTRIBUTES, limits=limits, memory=16)
    for party, asked in (("a", "education"), ("b", "income"), ("c", "age"), ("d", "income")):
        scheme.release(asked, party=party, individual=0.3)
    told = []

    def spy(views, *arguments):
        told.extend(views)
        return tell(views, *arguments)

    tell = bounded_memory.tell
    monkeypatch.setattr(bounded_memory, "tell", spy)
    design = scheme.design("education", party="d", individual=0.35)
    assert design.source is None
    assert {*told} == {frozenset(), frozenset({"d"})}  # nobody: what is known of the letters


def test_letters_are_handed_on_once():
    scheme = tacit.Scheme.from_counts(adult().counts, ATTRIBUTES, memory=16)
    scheme.release("education", party="a", individual=0.2)
    scheme.release("education", party="b", individual=0.2)
    scheme.release("education", party="b", individual=0.4)
    assert [release.source for release in scheme.history] == [None, 0, None]


def test_what_a_party_holds_after_a_copy_counts_for_its_next_release():
    scheme = tacit.Scheme.from_counts(adult().counts, ATTRIBUTES, memory=8)
    scheme.release("education", party="a", individual=0.3)
    scheme.release("income", party="b", individual=0.3)
    scheme.release("education", party="c", individual=0.3)
    scheme.release("age", party="c", individual=0.4)
    held = scheme.leakage({"c"})
    assert 0.35 < held <= 0.4 + 1e-9
    assert held >= true_bits(scheme, frozenset({"c"})) - 1e-9
