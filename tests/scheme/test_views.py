"""Letters of views merged: what coalitions are said to hold stays above the truth, and near it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.information import conditional_mutual_information
from tacit.limits import Limit, least
from tacit.scheme import bounded_memory as memories
from tacit.scheme import views
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.memory import Transition, information_added_bits
from tacit.scheme.views import (
    CoalitionView,
    condense,
    followed,
    is_identity,
    merge,
    merge_laws,
    merge_letters,
    refine_classes,
    slack_upper_bits,
)
from tests.strategies import arrays_of_laws, channels, laws

ROUNDING = 1e-12
"""Bits: far above the rounding of a handful of releases."""

LIMITS = (
    [],
    [Limit("any 1", 0.0)],
    [Limit("any 1", 1e-3), Limit("any 2", 0.05)],
    [Limit("everyone", 1.0), Limit("any 2", 99.0)],
    [Limit("a+b", 0.4)],
)


@pytest.fixture
def few_letters(monkeypatch):
    """Views may have five letters only, so that short histories are merged, too."""
    monkeypatch.setattr(memories, "MOST_LETTERS", 5)
    monkeypatch.setattr(memories, "FEWEST_LETTERS", 5)


def follow(p_x, steps):
    """p(letters of all releases, x), every history kept apart."""
    histories = {(): (p_x, 0)}
    for _, channel, next_state in steps:
        histories = {
            (*letters, letter): (
                mass * channel[state, :, letter],
                int(next_state[state, letter]),
            )
            for letters, (mass, state) in histories.items()
            for letter in range(channel.shape[2])
            if (mass * channel[state, :, letter]).any()
        }
    return {letters: mass for letters, (mass, _) in histories.items()}


def true_bits(p_x, steps, parties):
    """I(Y; X) of what parties hold, by brute force."""
    law: dict[tuple[int, ...], np.ndarray] = {}
    for letters, mass in follow(p_x, steps).items():
        own = zip(steps, letters, strict=True)
        seen = tuple(letter for (party, _, _), letter in own if party in parties)
        law[seen] = law.get(seen, 0.0) + mass
    return tacit.mutual_information(np.array([*law.values()]))


@st.composite
def sequences(draw, n_releases=5):
    """A law of X, limits, a cap, and releases to a or b; later channels are drawn on the way."""
    p_x = draw(laws(3))
    limits, cap = draw(st.sampled_from(LIMITS)), draw(st.integers(1, 4))
    memory, steps, transitions = BoundedMemory.start(p_x, cap, limits), [], []
    for _ in range(n_releases):
        party = draw(st.sampled_from("aab"))
        channel = draw(channels((len(memory.mass), len(p_x)), draw(st.integers(1, 3))))
        memory, transition = memory.after(party, channel)
        steps.append((party, channel, transition.next_state))
        transitions.append(transition)
    return p_x, limits, cap, steps, transitions, memory


@pytest.mark.usefixtures("few_letters")
class TestLongHistories:
    @settings(max_examples=60, deadline=None)
    @given(sequences())
    def test_what_is_held_is_above_the_truth_and_loose_by_the_slack_at_most(self, sequence):
        p_x, limits, _, steps, _, memory = sequence
        for coalition, view in memory.carried.items():
            truth = true_bits(p_x, steps, coalition) if coalition else 0.0
            assert truth - ROUNDING <= view.bits <= truth + view.slack + ROUNDING
            assert memory.bits(coalition) >= truth - ROUNDING
            assert view.n_letters <= 5
            limit = least(limits, coalition).bits
            most = view.bits if limit == float("inf") else limit
            assert view.rise <= memories.MERGING_SHARE * most + ROUNDING
            if view.is_exact:
                assert view.bits == pytest.approx(truth, abs=ROUNDING)

    @settings(max_examples=30, deadline=None)
    @given(sequences())
    def test_recorded_merges_are_replayed_bit_for_bit(self, sequence):
        p_x, limits, cap, steps, transitions, memory = sequence
        believed = proved = BoundedMemory.start(p_x, cap, limits)
        for (party, channel, next_state), made in zip(steps, transitions, strict=True):
            believed, again = believed.after(party, channel, made)
            assert again.slacks == made.slacks
            proved, again = proved.after(
                party, channel, Transition(next_state, made.merges, letters=made.letters)
            )
            assert again.slacks == made.slacks
        for replayed in (believed, proved):
            assert replayed.carried.keys() == memory.carried.keys()
            assert replayed.roundings == memory.roundings
            for coalition, view in memory.carried.items():
                same = replayed.carried[coalition]
                assert np.array_equal(same.law, view.law)
                assert (same.slack, same.rise, same.is_exact) == (
                    view.slack,
                    view.rise,
                    view.is_exact,
                )

    def test_histories_of_thirty_releases_stay_small(self):
        rng = np.random.default_rng(3)
        memory = BoundedMemory.start(rng.dirichlet(np.ones(4)), 8, [Limit("any 2", 3.0)])
        for visit in range(30):
            channel = rng.dirichlet(np.full(3, 20.0), size=(len(memory.mass), 4))
            memory, _ = memory.after("abc"[visit % 3], channel)
        assert max(view.n_letters for view in memory.carried.values()) <= 5
        assert all(view.rise <= 0.03 for view in memory.carried.values())
        assert len(memory.carried) == 7  # nobody, three parties, three pairs


@st.composite
def waiting_sequences(draw, n_releases=4):
    """As ``sequences``, on classes that some releases refine; a view may be used on the way."""
    p_x, cap = draw(laws(4)), draw(st.integers(1, 4))
    told_apart = np.zeros(len(p_x), dtype=np.intp)
    memory = BoundedMemory.start(p_x, cap, draw(st.sampled_from(LIMITS)), told_apart)
    steps = []
    for _ in range(n_releases):
        rows = np.array([[draw(st.sampled_from((0.0, 0.0, 0.0, 1.0)))] for _ in p_x])
        memory = memory.refine(refine_classes(memory.class_of_x, rows, p_x), p_x)
        party = draw(st.sampled_from("aabc"))
        table = draw(channels(memory.mass.shape, draw(st.integers(1, 3))))
        if draw(st.booleans()):
            memory.view(draw(st.sampled_from(sorted(memory.carried, key=sorted))))
        class_of_x = memory.class_of_x
        memory, transition = memory.after(party, table)
        steps.append((party, table[:, class_of_x], transition))
    return p_x, steps, memory


def true_law(p_x, steps, coalition):
    """p(y, m, x), [x, y, m], every release moving the memory, letters merged as recorded."""
    law, present = p_x[:, None, None], frozenset()
    for party, channel, transition in steps:
        present |= {party}
        after = np.zeros(
            (len(p_x), law.shape[1], channel.shape[2], transition.next_state.max() + 1)
        )
        for m, letter in zip(*np.nonzero(transition.next_state >= 0), strict=True):
            told = law[:, :, m] * channel[m, :, letter][:, None]
            after[:, :, letter, transition.next_state[m, letter]] += told
        law = after.reshape(len(p_x), -1, after.shape[3]) if party in coalition else after.sum(2)
        occurs = law.any(axis=(0, 2))
        labels = transition.merges.get(coalition & present, np.cumsum(occurs) - 1)
        is_label = occurs[:, None] & (labels[:, None] == np.arange(labels.max() + 1))
        law = np.einsum("xym,yw->xwm", law, is_label) if party in coalition else law
    return law


@pytest.mark.usefixtures("few_letters")
@settings(max_examples=60, deadline=None)
@given(waiting_sequences())
def test_a_view_that_waited_is_what_it_would_be_if_it_had_moved_every_time(sequence):
    p_x, steps, memory = sequence
    used = {each: memory.view(each) for each in memory.carried}
    coarse, state = memory.coarsen(2)
    for coalition, view in used.items():
        truth = true_law(p_x, steps, coalition)
        cells = np.stack(
            [truth[memory.class_of_x == each].sum(axis=0) for each in range(len(view.law))]
        )
        assert view.law == pytest.approx(cells, abs=ROUNDING)
        assert view.n_moves == memory.n_moves == len(steps)
        # Looking at a view changes no figure.
        assert (view.held == memory.carried[coalition].held).all()
        assert coarse.view(coalition).law == pytest.approx(
            cells @ np.eye(len(coarse.mass))[state], abs=ROUNDING
        )


def test_releases_are_kept_as_long_as_a_view_waits_for_them(monkeypatch):
    rng = np.random.default_rng(7)
    memory = BoundedMemory.start(rng.dirichlet(np.ones(3)), 4, [])
    for party in "abcabc":
        memory, _ = memory.after(party, rng.dirichlet(np.ones(2), size=(len(memory.mass), 3)))
    assert len(memory.steps) == 2  # those after a's last
    monkeypatch.setattr(memories, "WAITING_BYTES", 0)
    memory, _ = memory.after("a", rng.dirichlet(np.ones(2), size=(len(memory.mass), 3)))
    assert memory.steps == ()
    assert {view.n_moves for view in memory.carried.values()} == {7}


def test_merges_that_were_not_recorded_keep_letters_apart():
    rng = np.random.default_rng(4)
    memory = BoundedMemory.start(rng.dirichlet(np.ones(3)), 4, [])
    for _ in range(4):
        split = rng.dirichlet(np.ones(2), size=(len(memory.mass), 3))
        split = np.concatenate([split / 2, split / 2], axis=2)  # letters in proportion
        states = merge_laws(followed(memory.mass, split), memory.cap).reshape(-1, 4)
        memory, _ = memory.after("a", split, Transition(states))
    assert memory.carried[frozenset("a")].n_letters == 4**4


def test_labels_for_another_number_of_letters_are_refused():
    memory = BoundedMemory.start(np.array([0.5, 0.5]), 4, [])
    made = Transition(np.array([[0, 1]]), {frozenset("a"): np.array([0, 0, 0])})
    with pytest.raises(tacit.InvalidInputError, match="merges name 3 letters of a view with 2"):
        memory.after("a", np.array([[[0.9, 0.1], [0.2, 0.8]]]), made)


# --- letters in proportion ----------------------------------------------------------------------


@given(arrays_of_laws((3, 4, 2)), st.floats(1e-6, 1.0), st.floats(1e-12, 1.0))
def test_letters_in_proportion_become_one_at_next_to_no_slack(law, share, scale):
    once = law.transpose(0, 1, 2)  # [x, y, m]
    twice = np.concatenate([once * share * scale, once * (1 - share) * scale, once], axis=1)
    view = CoalitionView(twice / twice.sum())
    labels = merge_letters(view, view.n_letters)
    merged, slack = merge(view, labels, 10)
    assert merged.n_letters <= 4
    assert 0 <= slack < 1e-20
    assert merged.is_exact
    assert merged.bits == pytest.approx(tacit.mutual_information(view.held), abs=ROUNDING)


def test_letters_alike_in_x_but_not_in_the_memory_stay_apart():
    law = np.full((2, 2, 2), 0.125)  # [x, y, m]
    law[:, 0] *= [0.5, 1.5]
    assert is_identity(merge_letters(CoalitionView(law), 2))


# --- slack --------------------------------------------------------------------------------------


@given(arrays_of_laws((4, 6)), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_slack_is_the_information_that_letters_add_to_their_label(law, drawn):
    occurs = law.any(axis=1)
    labels = np.where(occurs, np.unique(drawn, return_inverse=True)[1], -1)
    joint = np.zeros((4, 6, 3))  # [y, (x, m), w]
    joint[np.arange(4), :, labels] = law
    merged = np.array([law[labels == w].sum(axis=0) for w in range(int(labels.max()) + 1)])
    if not (merged.sum(axis=1) > 0).all():
        return
    slack = slack_upper_bits(law, labels, merged, 10)
    assert slack >= conditional_mutual_information(joint) - ROUNDING
    assert slack <= conditional_mutual_information(joint) + ROUNDING


def test_a_single_state_is_merged_without_a_rise():
    rng = np.random.default_rng(5)
    law = rng.dirichlet(np.ones(40)).reshape(4, 10, 1)
    merged, slack = merge(CoalitionView(law), merge_letters(CoalitionView(law), 3), 1)
    assert merged.n_letters == 3
    assert slack > 1e-3
    assert merged.rise < ROUNDING
    assert merged.bits == pytest.approx(tacit.mutual_information(law[:, :, 0]), abs=ROUNDING)


# --- what a design sees -------------------------------------------------------------------------


def test_a_design_that_sees_fewer_letters_leaves_what_they_could_tell(monkeypatch):
    """Y = M and X are independent bits: letters of Y tell nothing, but x xor m does with them."""
    monkeypatch.setattr(views, "DESIGN_LETTERS", (1,))
    law = np.broadcast_to(np.eye(2) / 4, (2, 2, 2))  # [x, y, m]
    seen, rise = condense(CoalitionView(law), 20.0)
    assert seen.n_letters == 1
    assert rise == pytest.approx(1.0, abs=ROUNDING)
    told = np.array([[law[x, y, x ^ rhat] for x in (0, 1)] for y in (0, 1) for rhat in (0, 1)])
    assert tacit.mutual_information(told) == pytest.approx(rise)


def test_a_design_sees_all_letters_where_little_is_left(monkeypatch):
    monkeypatch.setattr(views, "DESIGN_LETTERS", (1,))
    view = CoalitionView(np.broadcast_to(np.eye(2) / 4, (2, 2, 2)))
    assert condense(view, 9.9) == (view, 0.0)


@given(arrays_of_laws((3, 6, 2)), channels((2, 3), 2))
def test_no_release_tells_more_than_a_design_thinks(law, channel):
    view = CoalitionView(law)
    for most in (1, 2, 4):
        merged, _ = merge(view, merge_letters(view, most), 1)
        added = [
            tacit.mutual_information((each.law @ channel.transpose(1, 0, 2)).reshape(3, -1).T)
            for each in (view, merged)
        ]
        assert added[0] <= added[1] + merged.slack + ROUNDING


def test_fewer_states_never_understate_what_everyone_is_told():
    rng = np.random.default_rng(6)
    memory = BoundedMemory.start(rng.dirichlet(np.ones(4)), 12, [])
    for party in "abab":
        channel = rng.dirichlet(np.ones(3), size=(len(memory.mass), 4))
        memory, _ = memory.after(party, channel)
    coarse, state = memory.coarsen(3)
    assert len(coarse.mass) == 3
    assert np.allclose(coarse.held(frozenset("a")), memory.held(frozenset("a")))
    channel = rng.dirichlet(np.ones(3), size=(3, 4))
    told = information_added_bits(memory.mass, channel[state])
    assert told <= information_added_bits(coarse.mass, channel) + ROUNDING


def test_very_many_letters_that_a_cap_keeps_apart_stay_apart_in_a_replay():
    """A replay merges as many where nothing is recorded of them."""
    n_letters, capped = views.REPLAYED_LETTERS + 88, frozenset({"a"})
    share = np.linspace(0.1, 0.9, n_letters)
    view = CoalitionView(np.stack([share, 1 - share])[..., None] / n_letters)
    cap = views.bound_worst_answer(view.held, view.spreads, 0) + 1e-9
    told = [(capped, view)]
    merged = views.merge_views(told, 0, None, 6, {}, {capped: cap})
    again = views.merge_as_recorded(told, 0, None, merged.labels, merged.slacks)
    assert merged.views[capped].n_letters == again.views[capped].n_letters == n_letters
    assert again.views[capped].slack == merged.views[capped].slack == 0.0
