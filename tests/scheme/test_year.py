"""A short year: parties that come back again and again, beside limits on coalitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np
import pytest

import tacit
from tacit.limits import Limit, bounds
from tacit.scheme import bounded_memory as memories
from tacit.scheme import scheme as schemes
from tacit.scheme import views
from tests.scheme.laws import true_bits

LIMIT_TOL = 1e-9
"""Bits. As ``Scheme`` allows for gaps and rounding."""

VISITS = 7
BITS_A_VISIT = 0.06
ATTRIBUTES = ("a", "b", "c")
LIMITS = {
    "own limits": [],
    "coalitions": [
        Limit("everyone", 1.6),
        Limit("any 2", 0.5),
        Limit("lab-0+lab-1+lab-2", 0.7),
        Limit("lab-0+lab-3", 0.45),
    ],
}


@pytest.fixture(autouse=True)
def few_letters(monkeypatch):
    """Views are merged after a few visits."""
    monkeypatch.setattr(memories, "MOST_LETTERS", 16)
    monkeypatch.setattr(memories, "FEWEST_LETTERS", 8)
    monkeypatch.setattr(views, "DESIGN_LETTERS", (4, 8))


def a_year(
    limits: Sequence[tacit.Limit], memory: int | None, n_parties: int, visits: int
) -> tacit.Scheme:
    """Every party asks at every visit, for another attribute each time."""
    counts = np.random.default_rng(2).integers(5, 90, size=(2, 3, 2))
    scheme = tacit.Scheme.from_counts(counts, ATTRIBUTES, limits=limits, memory=memory)
    asked = islice(cycle(ATTRIBUTES), visits * n_parties)
    for index, name in enumerate(asked):
        visit = index // n_parties + 1
        scheme.release(name, party=f"lab-{index % n_parties}", individual=BITS_A_VISIT * visit)
    return scheme


def limits_among(limits: Sequence[Limit], scheme: tacit.Scheme) -> dict[frozenset[str], float]:
    """Bits of every coalition of holders that a limit names."""
    return {each: bound.bits for each, bound in bounds(limits, scheme.parties).items()}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_what_is_held_is_near_the_truth_and_within_every_limit(limits):
    scheme = a_year(limits, 8, 4, VISITS)
    assert all(release.solution.status is tacit.Status.OPTIMAL for release in scheme.history)
    own = {frozenset({party}): BITS_A_VISIT * VISITS for party in scheme.parties}
    every = limits_among(limits, scheme) | own
    for coalition, limit in every.items():
        held = scheme.leakage(coalition)
        assert held <= limit + LIMIT_TOL
        if len(coalition) == 1:
            view = scheme.view(coalition)
            truth = true_bits(scheme, coalition)
            assert truth - LIMIT_TOL <= held <= truth + view.slack + LIMIT_TOL
            assert view.rise <= 0.01 * limit
            assert not view.is_exact
            assert view.n_letters <= 16


def test_bounded_memory_costs_less_than_a_hundredth_of_the_utility():
    bounded = a_year([], 32, 3, 3)
    exact = a_year([], None, 3, 3)
    pairs = zip(bounded.history, exact.history, strict=True)
    assert np.mean([ours.value / theirs.value - 1 for ours, theirs in pairs]) < 0.01


def test_limits_that_do_not_bind_change_nothing():
    loose = a_year([Limit("any 2", 3.0)], 16, 3, 3)
    without = a_year([], 16, 3, 3)
    assert [each.value for each in loose.history] == pytest.approx(
        [each.value for each in without.history], abs=1e-5
    )
    last = loose.history[-1].solution.problem
    assert frozenset({"lab-0", "lab-2"}) not in last.views
    assert frozenset({"lab-2"}) in last.views


def test_a_limit_that_is_left_out_at_first_is_met_in_the_end(monkeypatch):
    monkeypatch.setattr(views, "DESIGN_LETTERS", (80,))  # fewer letters would change the limits
    scheme = a_year(LIMITS["coalitions"], 16, 4, 2)
    asked = {"party": "lab-0", "individual": 0.4}
    usual = scheme.design("b", **asked)
    monkeypatch.setattr(schemes, "_AMPLE", 0.0)  # every limit with something left, own ones, too
    assert scheme.design("b", **asked).solution.value == pytest.approx(
        usual.solution.value, abs=2e-7
    )
    scheme.release("b", **asked)
    for coalition, limit in limits_among(LIMITS["coalitions"], scheme).items():
        assert scheme.leakage(coalition) <= limit + LIMIT_TOL


@pytest.mark.parametrize("memory", [None, 16])
def test_a_repeated_request_is_free_beside_limits_on_coalitions(memory):
    counts = np.random.default_rng(2).integers(5, 90, size=(2, 3, 2))
    limits = [Limit("any 2", 0.4)]
    scheme = tacit.Scheme.from_counts(counts, ATTRIBUTES, limits=limits, memory=memory)
    scheme.release("a", party="other", individual=0.1)
    first = scheme.release("b", party="lab-0", individual=0.2)
    held = scheme.leakage()
    for index in range(1, 6):
        again = scheme.release("b", party=f"lab-{index}", individual=0.2)
        assert again.value == pytest.approx(first.value, abs=1e-6)
        assert scheme.leakage({"lab-0", f"lab-{index}"}) <= 0.4 + LIMIT_TOL
    assert scheme.leakage() == pytest.approx(held, abs=5e-4)


N_CELLS = 40


@pytest.mark.parametrize(("n_letters", "is_single_state"), [(400, False), (60, True), (45, True)])
def test_no_limited_coalition_is_covered_by_everyone_where_cells_are_many(
    monkeypatch, n_letters, is_single_state
):
    """There is room for ``n_letters`` of all views in a single state; 16 states would not fit."""
    most = 8 * N_CELLS * n_letters
    for room in (memories, views):
        monkeypatch.setattr(room, "CARRIED_BYTES", most)
    rng = np.random.default_rng(1)
    limits = [Limit("any 2", 0.2)]
    scheme = tacit.Scheme(rng.dirichlet(np.ones(N_CELLS)), limits=limits, memory=16)
    for index in range(8):
        noisy = rng.dirichlet(np.ones(3), size=N_CELLS)  # no two cells are one class
        visit = index // 4 + 1
        release = scheme.release(
            noisy, party=f"lab-{index % 4}", individual=0.05 * visit, gap_tol=1e-5
        )
        assert release.covered == ()
    assert (scheme.n_states == 1) == is_single_state
    assert scheme.n_states < 16
    limits = limits_among(limits, scheme)
    assert len(limits) == 6  # pairs
    laws = [scheme.view(each).law for each in (*limits, *({party} for party in scheme.parties))]
    assert sum(law.nbytes for law in laws) <= most
    for coalition, limit in limits.items():
        assert true_bits(scheme, coalition) - LIMIT_TOL <= scheme.leakage(coalition)
        assert scheme.leakage(coalition) <= limit + LIMIT_TOL
        assert scheme.leakage(coalition) < scheme.leakage()
