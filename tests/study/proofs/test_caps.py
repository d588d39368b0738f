"""Caps in whole numbers: never too small, exact where nothing was merged."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import log2, nextafter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.accounting import Account
from tacit.limits import Limit, Parties
from tacit.sampling import TOTAL, IntegerChannel
from tacit.study.proofs.caps import ExactLaws, ToldStep
from tests.strategies import channels

PARTIES = ("a", "b", "a", "b")
PAIRS = [Limit("any 2", 1.0, times=2)]


def keeps(account: Account, steps: list[ToldStep], who: Parties, times: float) -> bool:
    """Proved at once, and release by release as in a replay."""
    at_once, one_by_one = ExactLaws(), ExactLaws()
    is_kept = at_once.keeps(account, steps, who, times)
    answers = [one_by_one.keeps(account, steps[:n], who, times) for n in range(len(steps) + 1)]
    assert answers[-1] == is_kept
    return is_kept


def worst_ratio(counts: NDArray[np.int64], steps: list[ToldStep], who: Parties) -> Fraction:
    """The largest p(y | x) / p(y), every sequence of letters by itself."""
    cells = np.flatnonzero(counts).tolist()
    masses: dict[tuple[tuple[int, ...], int], list[int]] = {((), 0): [1] * len(cells)}
    for step in steps:
        grown: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(lambda: [0] * len(cells))
        weights = step.channel.weights.tolist()
        for (seen, state), mass in masses.items():
            for letter, after in enumerate(step.transition.next_state[state].tolist()):
                told = [m * weights[state][x][letter] for m, x in zip(mass, cells, strict=True)]
                if any(told):
                    own = (*seen, letter) if step.party in who else seen
                    before = grown[own, after]
                    grown[own, after] = [one + two for one, two in zip(before, told, strict=True)]
        masses = grown
    views: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * len(cells))
    for (seen, _), mass in masses.items():
        views[seen] = [one + two for one, two in zip(views[seen], mass, strict=True)]
    records = [int(counts[x]) for x in cells]
    return max(
        Fraction(max(mass) * sum(records), sum(m * n for m, n in zip(mass, records, strict=True)))
        for mass in views.values()
    )


def follow(
    counts: NDArray[np.int64], laws: list[NDArray[np.float64]], memory: int
) -> tuple[Account, list[ToldStep]]:
    """Releases one after another; each law is used in as many states as there are."""
    account = Account.start(counts, memory, PAIRS)
    steps = []
    for party, law in zip(PARTIES, laws, strict=True):
        n_states = len(account.memory.mass)
        channel = IntegerChannel.quantised(law[np.arange(n_states) % len(law)])
        account, made = account.after(party, channel)
        steps.append(ToldStep(party, channel, account.memory.class_of_x, made))
    return account, steps


@st.composite
def releases(draw: st.DrawFn) -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
    n_x = draw(st.integers(1, 4))
    counts = np.array(draw(st.lists(st.integers(0, 9), min_size=n_x, max_size=n_x)), np.int64)
    counts[draw(st.integers(0, n_x - 1))] += 1
    return counts, [draw(channels((2, n_x), 2)) for _ in PARTIES]


@pytest.mark.slow
@given(made=releases(), memory=st.sampled_from([1, 2, 3, 64]))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_cap_is_proved_only_where_it_is_kept(
    made: tuple[NDArray[np.int64], list[NDArray[np.float64]]], memory: int
) -> None:
    account, steps = follow(*made, memory)
    for who in map(frozenset[str], ({"a"}, {"b"}, {"a", "b"})):
        true = worst_ratio(account.counts, steps, who)
        bits = log2(true)
        assert account.worst_answer(who) >= bits - 1e-12
        assert not keeps(account, steps, who, float(true) * (1 - 1e-6)) or true == 1
        view = account.view(who)
        if view is not None and view.is_exact and view.spread is None:
            assert keeps(account, steps, who, float(true) * (1 + 1e-9))
            assert account.worst_answer(who) == pytest.approx(bits, abs=1e-9)


@pytest.mark.parametrize("memory", [1, 4])
def test_a_cap_is_decided_at_its_very_bound(memory: int) -> None:
    """Two records; the answer is the truth: exactly 2 times as likely."""
    account = Account.start(np.array([1, 1]), memory, PAIRS)
    account, made = account.after("a", IntegerChannel.quantised(np.eye(2)[None]))
    steps = [
        ToldStep("a", IntegerChannel.quantised(np.eye(2)[None]), account.memory.class_of_x, made)
    ]
    assert keeps(account, steps, frozenset("a"), 2.0)
    assert not keeps(account, steps, frozenset("a"), nextafter(2.0, 0.0))
    assert account.worst_answer(frozenset("a")) > 1.0  # double precision alone could not tell


def test_answers_that_tell_nothing_make_nothing_more_likely() -> None:
    """Rows that are equal in every state, however odd."""
    account = Account.start(np.array([3, 5, 0, 1]), 4, PAIRS)
    steps: list[ToldStep] = []
    for party in PARTIES:
        weights = np.array([TOTAL // 3, TOTAL - TOTAL // 3], dtype=np.uint64)
        shape = (len(account.memory.mass), 4, 2)
        channel = IntegerChannel(np.broadcast_to(weights, shape))
        account, made = account.after(party, channel)
        steps.append(ToldStep(party, channel, account.memory.class_of_x, made))
    for who in map(frozenset[str], ({"a"}, {"a", "b"})):
        assert keeps(account, steps, who, 1.0)
