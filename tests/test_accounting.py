"""Certified leakages against exact rational laws, every history kept apart."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from tacit import accounting
from tacit.accounting import Account, information_added_upper_bits, information_upper_bits
from tacit.limits import Limit
from tacit.sampling import TOTAL, IntegerChannel
from tacit.scheme import bounded_memory, views

TIGHT_BITS = 1e-10
"""Rounding behind a handful of releases is far below this; a lost term would be far above."""


def exact_bits(law: dict[tuple[object, int], Fraction]) -> arb:
    """I(Y; X) of an exact law {(y, x): p}, to 200 bits."""
    p_y: dict[object, Fraction] = {}
    p_x: dict[int, Fraction] = {}
    for (y, x), p in law.items():
        p_y[y] = p_y.get(y, Fraction(0)) + p
        p_x[x] = p_x.get(x, Fraction(0)) + p
    with ctx.workprec(200):
        return (
            sum(
                (
                    ball(p) * (ball(p) / (ball(p_y[y]) * ball(p_x[x]))).log()
                    for (y, x), p in law.items()
                    if p
                ),
                arb(0),
            )
            / arb(2).log()
        )


def ball(fraction: Fraction) -> arb:
    return arb(fraction.numerator) / fraction.denominator


def random_weights(rng: np.random.Generator, shape: tuple[int, int, int]) -> IntegerChannel:
    """Rows with zeros, ties, tiny weights and certain letters among them."""
    laws = rng.dirichlet(np.full(shape[-1], 0.5), size=shape[:2])
    laws[rng.random(shape[:2]) < 0.2] = np.eye(shape[-1])[0]
    laws[rng.random(shape[:2]) < 0.2] = 1 / shape[-1]
    return IntegerChannel.quantised(laws)


def told(counts, releases, parties):
    """Exact law of what parties hold, by following every history of every release."""
    n_records = int(counts.sum())
    law: dict[tuple[object, int], Fraction] = {}
    histories = product(*(range(channel.weights.shape[-1]) for _, channel, _ in releases))
    for letters in histories:
        for x, count in enumerate(counts.tolist()):
            p, state = Fraction(count, n_records), 0
            for (_, channel, next_state), letter in zip(releases, letters, strict=True):
                p *= Fraction(int(channel.weights[state, x, letter]), TOTAL)
                state = int(next_state[state, letter])
                if not p:
                    break
            if p:
                seen = tuple(
                    letter
                    for (party, _, _), letter in zip(releases, letters, strict=True)
                    if party in parties
                )
                law[seen, x] = law.get((seen, x), Fraction(0)) + p
    return law


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_bounds_are_above_the_exact_leakage_and_near_it(seed, cap):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, size=int(rng.integers(1, 5)))
    counts[0] += 1
    account = Account.start(counts, cap, [Limit("any 2", 1.0)])
    releases = []
    for party in ("a", "b", "a"):
        shape = (len(account.memory.mass), len(counts), int(rng.integers(1, 4)))
        channel = random_weights(rng, shape)
        account, transition = account.after(party, channel)
        releases.append((party, channel, transition.next_state))
    for parties in ({"a"}, {"b"}, {"a", "b"}):
        exact = exact_bits(told(counts, releases, parties))
        upper = account.upper_bits(frozenset(parties))
        assert arb(upper) >= exact.lower()
        assert upper <= float(exact.mid()) + TIGHT_BITS
        assert arb(account.everyone_bits) >= exact.lower()


def test_a_row_that_does_not_depend_on_x_adds_exactly_nothing():
    rng = np.random.default_rng(1)
    counts = np.array([3, 0, 5])
    account, _ = Account.start(counts, 8, []).after("a", random_weights(rng, (1, 3, 2)))
    held = account.everyone_bits
    row_by_state = rng.dirichlet(np.ones(3), size=len(account.memory.mass))
    blind = np.repeat(row_by_state[:, None], 3, axis=1)
    blind[:, 1] = [1.0, 0.0, 0.0]  # no record is there
    after, _ = account.after("b", IntegerChannel.quantised(blind))
    assert after.everyone_bits == held


def test_masses_that_nearly_underflow_still_give_a_bound():
    counts = np.array([1, 1])
    mass = np.array([[0.5, 1e-300], [0.0, 0.5]])
    channel = IntegerChannel.quantised(np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0]] * 2]))
    assert 0 <= information_added_upper_bits(mass, channel, 100) < TIGHT_BITS
    assert information_upper_bits(mass, counts, 100) == pytest.approx(1.0, abs=TIGHT_BITS)


def test_more_roundings_never_lower_a_bound():
    law = np.array([[0.3, 0.2], [0.1, 0.4]])
    counts = np.array([4, 6])
    bounds = [information_upper_bits(law, counts, n) for n in (0, 10, 10**4, 10**8)]
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


def test_what_was_proved_when_recorded_is_taken_over():
    rng = np.random.default_rng(2)
    start = Account.start(np.array([2, 3, 4]), 4, [])
    channel = random_weights(rng, (1, 3, 3))
    after, transition = start.after("a", channel)
    again, _ = start.after("a", channel, transition, everyone_bits=after.everyone_bits)
    assert again.everyone_bits == after.everyone_bits
    assert again.upper_bits(frozenset({"a"})) == after.upper_bits(frozenset({"a"}))


def test_a_coalition_that_is_not_carried_is_covered_by_everyone():
    rng = np.random.default_rng(3)
    account = Account.start(np.array([2, 3, 4]), 4, [])
    for party in "ab":
        shape = (len(account.memory.mass), 3, 2)
        account, _ = account.after(party, random_weights(rng, shape))
    assert account.is_covered(frozenset("ab"))
    assert account.upper_bits(frozenset("ab")) == account.everyone_bits
    assert not account.is_covered(frozenset("a"))


def set_room(monkeypatch, n_bytes):
    """As if laws could take no more than this."""
    for room in (bounded_memory, views):
        monkeypatch.setattr(room, "CARRIED_BYTES", n_bytes)


@pytest.mark.parametrize("seed", range(8))
def test_views_without_room_become_one_letter_and_are_never_covered(seed, monkeypatch):
    set_room(monkeypatch, 170)
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, size=3)
    account = Account.start(counts, 4, [Limit("any 2", 1.0)])
    releases, transitions = [], []
    for party in ("a", "b", *rng.choice(["a", "b"], size=3)):
        channel = random_weights(rng, (len(account.memory.mass), 3, 3))
        account, transition = account.after(str(party), channel)
        releases.append((party, channel, transition.next_state))
        transitions.append(transition)
        for parties in ({"a"}, {"b"}, {"a", "b"}):
            exact = exact_bits(told(counts, releases, parties))
            assert arb(account.upper_bits(frozenset(parties))) >= exact.lower()
            if parties <= account.memory.present:
                assert not account.is_covered(frozenset(parties))
    held = [account.view(frozenset(parties)) for parties in ("a", "b", "ab")]
    assert min(view.n_letters for view in held) == 1  # else the budget was never felt
    replayed = Account.start(counts, 4, [Limit("any 2", 1.0)])
    for (party, channel, _), transition in zip(releases, transitions, strict=True):
        replayed, _ = replayed.after(party, channel, transition)
    for parties in map(frozenset, ("a", "b", "ab")):
        assert replayed.upper_bits(parties) == account.upper_bits(parties)


def test_a_coalition_that_is_limited_later_has_a_law_of_its_own_without_room(monkeypatch):
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=3)
    account, releases = Account.start(counts, 4, []), []
    again = Account.start(counts, 4, [Limit("any 2", 1.0)])
    for party in ("a", "b", "c", "a"):
        channel = random_weights(rng, (len(account.memory.mass), 3, 3))
        account, transition = account.after(party, channel)
        releases.append((party, channel, transition.next_state))
        set_room(monkeypatch, 170)
        again, _ = again.after(party, channel, transition)
        monkeypatch.undo()
    for parties in map(frozenset, ("ab", "ac", "bc")):
        assert account.is_covered(parties)
        assert not again.is_covered(parties)
        exact = exact_bits(told(counts, releases, parties))
        assert arb(again.upper_bits(parties)) >= exact.lower()


def test_a_view_with_many_letters_stays_small_and_above_the_truth(monkeypatch):
    monkeypatch.setattr(bounded_memory, "MOST_LETTERS", 8)
    monkeypatch.setattr(bounded_memory, "FEWEST_LETTERS", 1)
    rng = np.random.default_rng(4)
    counts = np.array([2, 3, 4])
    account, releases = Account.start(counts, 4, []), []
    for _ in range(5):
        channel = random_weights(rng, (len(account.memory.mass), 3, 2))
        account, transition = account.after("a", channel)
        releases.append(("a", channel, transition.next_state))
    view = account.view(frozenset("a"))
    assert view.n_letters == 8
    assert view.slack > 0
    assert not view.is_exact
    truth = float(exact_bits(told(counts, releases, {"a"})).mid())
    assert truth <= account.upper_bits(frozenset("a")) <= truth + view.slack + TIGHT_BITS


@pytest.mark.parametrize("roundings", [0, 1000])
def test_many_terms_are_summed_as_few_are(roundings, monkeypatch):
    rng = np.random.default_rng(5)
    values = rng.dirichlet(np.full(3000, 0.05)).reshape(30, 100)
    values[0] = 0.0
    counts = rng.integers(1, 9, size=100)
    law = values / values.sum(axis=0) * counts / counts.sum()
    by_balls = information_upper_bits(law, counts, roundings)
    monkeypatch.setattr(accounting, "_MANY_TERMS", 0)
    in_doubles = information_upper_bits(law, counts, roundings)
    truth = information_upper_bits(law, counts, 0) if roundings else by_balls
    assert in_doubles >= truth - 1e-15  # both round up
    assert abs(in_doubles - by_balls) < 1e-11
