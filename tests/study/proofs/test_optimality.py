"""The bound that verification proves: never above the optimum, and near it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import Account
from tacit.problem import Problem
from tacit.sampling import IntegerChannel
from tacit.scheme import Policy, Scheme, Step, Transition
from tacit.scheme.scheme import CAP_ROOM
from tacit.solvers import solve
from tacit.study.books.books import RESERVE_BITS, Request
from tacit.study.books.records import HoldingRecord, Measure
from tacit.study.proofs.optimality import prove
from tacit.tables import Question

NEAR = 1e-5
"""What verification promises for every release, or says why not. Designs come within 1e-6; their
rounding and the search for laws take the rest."""

LOOSE = Policy(everyone=0.7, sizes={2: 0.45})
SPENT = Policy(everyone=0.7, sizes={2: 0.2})
"""From the second or third release on, some coalition may be told nothing more."""

KINDS = ("hamming", "absolute", "squared", "costs")


def question(rng, n_x, n_r):
    letter = np.concatenate([np.arange(n_r), rng.integers(0, n_r, size=n_x - n_r)])
    counts = np.eye(n_r, dtype=np.int64)[rng.permutation(letter)]
    return Question("r", tuple(map(str, range(n_r))), tuple(map(float, range(n_r))), counts)


def external(rng, counts, n_r):
    """A column that the cell does not decide."""
    table = np.stack([rng.multinomial(n, rng.dirichlet(np.full(n_r, 0.5))) for n in counts])
    return Question("r", tuple(map(str, range(n_r))), tuple(map(float, range(n_r))), table, "r")


def measure(rng, kind, n_r):
    costs = None
    if kind == "costs":  # one answer more than there are levels
        costs = tuple(map(tuple, rng.exponential(size=(n_r + 1, n_r)).round(2).tolist()))
    return Measure(kind=kind, costs=costs)


def holdings(design):
    return tuple(
        HoldingRecord(
            parties=tuple(sorted(coalition)),
            limit=limit,
            bits=0.0,
            is_covered=False,
            multiplier=design.solution.multipliers.get(design.keys[coalition], 0.0),
            letters=None,
            slack=0.0,
            cap=design.caps.get(coalition),
            worst_answer=0.0,
            worst_answer_slack=0.0,
        )
        for coalition, limit in design.limits.items()
    )


FORMS = {
    "mean": {},
    "worst": {"objective": "worst-level"},
    "ceiling": {"ceilings": {"0": 0.3}},
    "worst-ceiling": {"objective": "worst-level", "ceilings": {"0": 0.2, "1": 5.0}},
}


def designs(
    seed, kind="hamming", policy=LOOSE, parties="abac", form="mean", analysable=False, cap=None
):
    """Designs after one another: the account before each, the request, its limit, the design."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, size=6)
    account, steps = Account.start(counts, 16, policy), []
    for turn, party in enumerate(parties):
        is_external = turn % 3 == 2 and not analysable
        asked = external(rng, counts, 3) if is_external else question(rng, 6, 3)
        judged = measure(rng, kind, 3).model_copy(update=FORMS[form])
        wish = Request(party, asked, judged, None, analysable)
        scheme = Scheme.resume(
            counts / counts.sum(), account.memory, steps, policy, reserve=RESERVE_BITS
        )
        limit = account.upper_bits(frozenset({party})) + 0.1
        design = scheme.design(
            wish.question.p_r_given_x, **asked_of(wish), individual=limit, cap=cap
        )
        yield account, wish, design, limit
        channel = IntegerChannel.quantised(design.channel)
        account, transition = account.after(party, channel)
        steps.append(
            Step(
                party,
                channel.law,
                np.arange(len(counts)),
                transition,
                account.everyone_bits,
                holders=frozenset({party}),
            )
        )


def asked_of(wish):
    """What a scheme is asked for a request."""
    return {
        "party": wish.party,
        "utility": wish.utility.posed,
        "objective": wish.measure.objective,
        "ceilings": wish.ceilings,
        "analysable": wish.analysable,
    }


def best_without_reserve(account, wish, limit, policy):
    """What a design attains that goes to the limits themselves."""
    memory = account.memory
    nothing, classes = np.ones((1, 1, 1)), np.zeros(len(memory.class_of_x), dtype=np.intp)
    made = Transition(np.zeros((1, 1), dtype=np.intp))
    held = [
        Step(party, nothing, classes, made, 0.0, holders=frozenset({party}))
        for party in memory.present
    ]
    scheme = Scheme.resume(memory.mass.sum(axis=0), memory, held, policy)
    design = scheme.design(wish.question.p_r_given_x, **asked_of(wish), individual=limit)
    return design.solution.value


def proof_of(account, wish, design):
    solution, labels = design.solution, wish.question.labels
    channel = IntegerChannel.quantised(design.channel)
    levels = {labels[r]: each for r, each in solution.level_multipliers.items()}
    ceilings = {labels[r]: each for r, each in solution.ceiling_multipliers.items()}
    return prove(account, wish, channel, holdings(design), levels, ceilings)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.sampled_from([LOOSE, SPENT]),
)
def test_the_bound_is_below_what_the_solver_attains(seed, kind, policy):
    for account, wish, design, limit in designs(seed, kind, policy):
        proof = proof_of(account, wish, design)
        assert proof.bound <= design.solution.value + 1e-12
        # A design that keeps no reserve is better, but not by more than is said.
        best = best_without_reserve(account, wish, limit, policy)
        assert proof.bound - proof.reserve_worth <= best + 1e-12


@pytest.mark.parametrize(
    "form", [*list(FORMS)[:-1], pytest.param(list(FORMS)[-1], marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("analysable", [False, True])
@pytest.mark.parametrize("kind", ["hamming", "absolute"])
def test_levels_and_analysable_releases_are_proved_near_the_best(form, analysable, kind):
    for account, wish, design, limit in designs(2, kind, form=form, analysable=analysable):
        proof = proof_of(account, wish, design)
        assert proof.bound <= design.solution.value + 1e-9  # a ceiling is kept up to rounding
        assert design.solution.value - proof.bound < design.solution.gap + NEAR
        best = best_without_reserve(account, wish, limit, LOOSE)
        assert proof.bound - proof.reserve_worth <= best + 1e-9


def test_the_bound_on_analysable_releases_is_above_that_on_all():
    """Else it would say nothing about what being analysable costs."""
    higher = 0
    for account, wish, design, _ in designs(2, analysable=True):
        proof = proof_of(account, wish, design)
        everything = proof_of(account, replace(wish, analysable=False), design)
        assert proof.bound >= everything.bound - NEAR
        higher += proof.bound > everything.bound + 1e-3
    assert higher > 0


CAP = 0.35
"""Bits. It binds from the first release on."""


def without_caps(design):
    return tuple(each.model_copy(update={"cap": None}) for each in holdings(design))


@pytest.mark.parametrize("analysable", [False, True])
@pytest.mark.parametrize("form", ["mean", "worst"])
def test_a_binding_cap_is_priced(form, analysable):
    """A design stays up to ``CAP_ROOM`` below its cap, which costs it less than ``CAP_ROOM``."""
    n_better = 0
    for account, wish, design, _ in designs(3, form=form, analysable=analysable, cap=CAP):
        channel, value = IntegerChannel.quantised(design.channel), design.solution.value
        gap = value - proof_of(account, wish, design).bound
        assert -1e-9 <= gap < CAP_ROOM
        levels = {str(r): each for r, each in design.solution.level_multipliers.items()}
        plain = value - prove(account, wish, channel, without_caps(design), levels).bound
        n_better += plain > CAP_ROOM
    assert n_better


@pytest.mark.parametrize("cap", [0.05, 0.35, 0.9])
@pytest.mark.parametrize("analysable", [False, True])
def test_the_bound_is_below_the_best_release_at_the_cap_itself(cap, analysable):
    """What the solver attains without any room below the cap, for somebody who holds nothing."""
    for seed in range(4):
        account, wish, design, limit = next(designs(seed, analysable=analysable, cap=cap))
        joint = account.memory.mass.sum(axis=0)[:, None] * wish.question.p_r_given_x
        best = solve(Problem(joint, individual=limit, caps={(): cap}))
        proof = proof_of(account, wish, design)
        assert proof.bound - proof.reserve_worth <= best.value + 1e-9


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        *(pytest.param(LOOSE, kind, id=f"loose-{kind}") for kind in KINDS),
        *(pytest.param(SPENT, kind, id=f"spent-{kind}") for kind in KINDS[:2]),
        *(
            pytest.param(SPENT, kind, id=f"spent-{kind}", marks=pytest.mark.slow)
            for kind in KINDS[2:]
        ),
    ],
)
def test_every_release_of_a_long_history_is_proved_near_the_best(policy, kind):
    for account, wish, design, _ in designs(1, kind, policy, "abcabcab"):
        gap = design.solution.value - proof_of(account, wish, design).bound
        assert gap < design.solution.gap + NEAR


@pytest.mark.slow
def test_any_multipliers_give_a_valid_bound():
    rng = np.random.default_rng(0)
    for account, wish, design, limit in designs(1):
        channel = IntegerChannel.quantised(design.channel)
        best = best_without_reserve(account, wish, limit, LOOSE)
        for _ in range(4):
            guessed = tuple(
                each.model_copy(update={"multiplier": float(rng.exponential())})
                for each in holdings(design)
            )
            proof = prove(account, wish, channel, guessed)
            assert proof.bound <= design.solution.value + 1e-12
            assert proof.bound - proof.reserve_worth <= best + 1e-12


@pytest.mark.parametrize("multiplier", [-1.0, 0.0, 1e-300, 1e300])
def test_absurd_multipliers_prove_little_and_break_nothing(multiplier):
    for account, wish, design, _ in designs(2, parties="ab"):
        absurd = tuple(
            each.model_copy(update={"multiplier": multiplier}) for each in holdings(design)
        )
        channel = IntegerChannel.quantised(design.channel)
        bound = prove(account, wish, channel, absurd).bound
        assert 0 <= bound <= design.solution.value + 1e-12
