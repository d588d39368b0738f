"""What everyone holds, where the memory has fewer states than there are histories."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Scheme, Status, mutual_information
from tacit.datasets import adult
from tacit.errors import InvalidInputError
from tacit.limits import Limit
from tacit.scheme import views
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.history import ExactHistory
from tacit.scheme.views import EveryoneView, merge_by_spread, merge_within

N_X, N_RHAT, N_STATES = 5, 3, 3
CAPS = {frozenset("abcd"): 3.0}
CAP = 1.0
ROUNDING = 1e-9


def _remember(seed: int) -> tuple[BoundedMemory, float]:
    """A memory of three states after four random releases, and the worst answer of all pasts."""
    memory, exact = _remember_both(seed, CAPS)
    return memory, exact.worst_answer(frozenset("abcd"))


def _remember_both(
    seed: int, caps: dict[frozenset[str], float]
) -> tuple[BoundedMemory, ExactHistory]:
    """A memory of three states after four random releases, and one of all pasts."""
    draw = np.random.default_rng(seed)
    p_x = draw.dirichlet(np.ones(N_X))
    memory = BoundedMemory.start(p_x, N_STATES, [Limit("everyone", 2.0)])
    exact, state = ExactHistory.start(p_x), np.zeros(1, dtype=np.intp)
    for party in "abcd":
        channel = draw.dirichlet(np.ones(N_RHAT), (len(memory.mass), N_X))
        truth, _ = exact.after(party, channel[state])
        memory, transition = memory.after(party, channel, caps=caps)
        before, letter = np.divmod(np.arange(len(state) * N_RHAT), N_RHAT)
        assert len(truth.mass) == len(before)  # every history goes on with every letter
        exact, state = truth, transition.next_state[state[before], letter]
    return memory, exact


@pytest.mark.parametrize("seed", range(8))
def test_bits_are_exact_while_all_histories_are_told_apart(seed: int) -> None:
    memory, exact = _remember_both(seed, {})
    assert memory.everyone.n_letters == N_RHAT**4 > len(memory.mass)
    assert memory.everyone_bits == pytest.approx(mutual_information(exact.mass), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_more_letters_the_nearer_is_the_bound_to_the_truth(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds, told = [], []
    for letters in (1, 9, 27):
        monkeypatch.setattr(views, "EVERYONE_LETTERS", letters)
        memory, exact = _remember_both(seed, {})
        bounds.append(memory.everyone_bits)
        told.append(mutual_information(memory.everyone.law))
    truth = mutual_information(exact.mass)
    assert bounds[0] > bounds[-1] >= truth - ROUNDING
    assert min(bounds) >= truth - ROUNDING
    assert max(told) <= truth + ROUNDING  # how loose a bound is, is read off these


def test_many_rows_are_merged_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    monkeypatch.setattr(views, "_MOST_ROWS", 8)
    labels = views.merge_by_halves(laws, 5)
    assert sorted(set(labels.tolist())) == [*range(5)]
    again = views.merge_by_halves(np.concatenate([laws, laws]), 5)
    assert len(again) == 100
    assert int(again.max()) < 5


@pytest.mark.parametrize("seed", range(8))
def test_histories_that_are_told_apart_are_counted_exactly(seed: int) -> None:
    memory, truth = _remember(seed)
    assert len(memory.mass) == N_STATES
    assert memory.everyone.n_letters == N_RHAT**4
    assert memory.worst_answer(memory.present) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_worst_answer_of_merged_letters_is_a_bound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart, _ = _remember(seed)
    monkeypatch.setattr(views, "MOST_LETTERS", 12)
    merged, same_truth = _remember(seed)
    assert merged.everyone.n_letters < apart.everyone.n_letters
    states = merged.mass.sum(axis=0), merged.everyone.law.sum(axis=0)
    np.testing.assert_allclose(*states, atol=1e-12)
    assert merged.everyone.spreads.max() > 0
    assert merged.worst_answer(merged.present) >= same_truth


@pytest.mark.parametrize("seed", range(4))
def test_a_design_is_told_how_much_more_its_letters_hide(seed: int) -> None:
    memory, truth = _remember(seed)
    view, hidden = memory.everyone.condense(N_RHAT)
    assert hidden is not None
    assert view.n_letters < memory.everyone.n_letters
    seen = views.told_bits(view.held)
    assert seen.max() < truth
    assert (seen + hidden).max() == pytest.approx(truth, abs=1e-9)


def test_letters_of_other_states_are_not_merged() -> None:
    laws = np.array([[0.1, 0.2], [0.1, 0.2], [0.2, 0.1], [0.05, 0.05]])
    labels = merge_within(laws, np.array([0, 1, 1, -1]), 2, merge_by_spread)
    assert labels.tolist() == [0, 1, 1, -1]
    view = EveryoneView.of_states(np.array([[0.5, 0.5]]))
    channel = np.full((1, 2, 2), 0.5)
    with pytest.raises(InvalidInputError, match="different states have one label"):
        view.after(channel, np.array([[0, 1]]), np.array([0, 0]), 1)
    with pytest.raises(InvalidInputError, match="give a label for every one"):
        view.after(channel, np.array([[0, 1]]), np.array([0, -1]), 1)


def test_a_release_is_mixed_until_the_memory_can_tell_that_it_keeps_a_cap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So few letters are told apart that the best designs seem to break the cap on everyone."""
    monkeypatch.setattr(views, "MOST_LETTERS", 8)
    limits = [Limit("everyone", times=2**CAP)]
    names = ("education", "income", "age")
    scheme = Scheme.from_counts(adult().counts, names, memory=4, limits=limits)
    made = [
        scheme.release(asked, party=party, individual=0.2)
        for party, asked in zip("abcde", [*names, "income", "age"], strict=True)
    ]
    assert scheme.worst_answer() <= CAP + ROUNDING
    mixed = [each for each in made if each.solution.status is Status.INACCURATE]
    assert mixed
    for release in made:
        p_r = scheme.p_x @ release.variable.p_r_given_x
        right = float(p_r @ np.diag(release.p_rhat_given_r))
        assert release.value == pytest.approx(1 - right, abs=1e-6)


def test_a_design_is_made_as_a_study_makes_it() -> None:
    scheme = Scheme.from_counts(adult().counts, ("education", "income", "age"))
    design = scheme.design("education", party="a", individual=0.1, cap=1.0)
    release = scheme.make(design)
    assert release.party == "a"
    assert scheme.history == (release,)
    assert not ((release.table > 0) & (release.table < 1e-6)).any()
    np.testing.assert_allclose(release.table, design.table, atol=1e-4)
    right = (scheme.p_x @ release.variable.p_r_given_x) @ np.diag(release.p_rhat_given_r)
    assert release.value == pytest.approx(1 - right, abs=1e-12)


def test_rare_letters_stay_where_a_ceiling_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = Scheme.from_counts(adult().counts, ("education", "income", "age"))
    design = scheme.design("education", party="a", individual=0.3, ceilings={0: 0.5})
    assert scheme.make(design).value == pytest.approx(design.solution.value, abs=1e-5)
    monkeypatch.setattr("tacit.scheme.scheme._RARE", 0.9)  # all letters but the usual one are rare
    again = Scheme.from_counts(adult().counts, ("education", "income", "age"))
    release = again.make(design)
    np.testing.assert_array_equal(release.table, design.table)
