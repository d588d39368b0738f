"""The bound that verification proves: never above the optimum, and near it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import Account
from tacit.sampling import IntegerChannel
from tacit.scheme import Collusion, Scheme, Step
from tacit.study.asking import Question, Wish
from tacit.study.optimality import lower_bound
from tacit.study.records import HoldingRecord
from tacit.study.utilities import Measure

NEAR = 1e-4
"""The witness is a rounded channel and, for letters never used, a guess: not exact, but near."""


def question(rng, n_x, n_r):
    letter = np.concatenate([np.arange(n_r), rng.integers(0, n_r, size=n_x - n_r)])
    counts = np.eye(n_r, dtype=np.int64)[rng.permutation(letter)]
    return Question("r", tuple(map(str, range(n_r))), tuple(map(float, range(n_r))), counts)


def holdings(design):
    return tuple(
        HoldingRecord(
            parties=tuple(sorted(coalition)),
            limit=limit,
            bits=0.0,
            is_covered=False,
            multiplier=design.solution.multipliers.get(design.keys[coalition], 0.0),
        )
        for coalition, limit in design.limits.items()
    )


def designs(seed, kind="hamming"):
    """A few designs after one another, each with the account before it."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, size=6)
    policy = Collusion(everyone=0.7, any_size=2, bits=0.45)
    account, steps = Account.start(counts, 16, policy), []
    for party in ("a", "b", "a", "c"):
        wish = Wish(party, question(rng, 6, 3), Measure(kind), None)
        scheme = Scheme.resume(counts / counts.sum(), account.memory, steps, policy)
        held = account.upper_bits(frozenset({party}))
        design = scheme.design(
            wish.question.request, party=party, utility=wish.utility, individual=held + 0.15
        )
        yield account, wish, design
        channel = IntegerChannel.quantised(design.channel)
        account, next_state = account.after(party, channel)
        steps.append(Step(party, channel.law, next_state, account.everyone_bits))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["hamming", "absolute", "squared"]))
def test_the_bound_is_below_what_the_solver_attains(seed, kind):
    for account, wish, design in designs(seed, kind):
        channel = IntegerChannel.quantised(design.channel)
        bound = lower_bound(account, wish, channel, holdings(design))
        assert bound <= design.solution.value + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_near_the_optimum_where_it_matters(seed):
    for account, wish, design in designs(seed):
        channel = IntegerChannel.quantised(design.channel)
        bound = lower_bound(account, wish, channel, holdings(design))
        assert design.solution.value - bound < NEAR


def test_any_multipliers_give_a_valid_bound():
    rng = np.random.default_rng(0)
    for account, wish, design in designs(1):
        channel = IntegerChannel.quantised(design.channel)
        for _ in range(20):
            guessed = tuple(
                each.model_copy(update={"multiplier": float(rng.exponential())})
                for each in holdings(design)
            )
            assert lower_bound(account, wish, channel, guessed) <= design.solution.value + 1e-12
