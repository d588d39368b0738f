"""What a memory keeps and merges, and what it says of coalitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.information.laws import add_up
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.history import ExactHistory
from tacit.scheme.memory import Transition
from tacit.scheme.views import merge_laws


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_merging_keeps_the_mass_and_the_cap(seed, n_states, n_x, cap):
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(n_states * n_x, 0.5)).reshape(n_states, n_x)
    mass[rng.random(n_states) < 0.2] = 0.0
    labels = merge_laws(mass, cap)
    assert ((labels >= 0) == (mass.sum(axis=1) > 1e-15)).all()
    assert labels.max(initial=-1) < cap


def after_two_rare_letters(next_state: list[list[int]] | None) -> BoundedMemory:
    """A memory after a release with two letters that are rare and mean opposite things."""
    memory = BoundedMemory.start(np.array([0.5, 0.5]), 8, [])
    rare = 2.0**-50
    channel = np.array([[[1 - 3 * rare, 2 * rare, rare], [1 - 3 * rare, rare, 2 * rare]]])
    made = None if next_state is None else Transition(np.array(next_state))
    return memory.after("a", channel, made)[0]


def test_rare_states_with_other_posteriors_are_kept_apart_below_the_cap():
    memory = after_two_rare_letters(None)
    assert len(memory.mass) == 3
    assert memory.is_sufficient


def test_merging_rare_states_loses_though_hardly_any_information_on_average():
    memory = after_two_rare_letters([[0, 1, 1]])
    assert tacit.mutual_information(memory.mass) < 1e-14
    assert not memory.is_sufficient
    blind, _ = memory.after("b", np.ones((2, 2, 1)))
    assert not blind.is_sufficient  # what is lost stays lost


def test_merging_joins_equal_posteriors_first():
    law = np.array([[0.1, 0.2], [0.2, 0.1], [0.05, 0.1], [0.15, 0.1]])
    labels = merge_laws(law, 3)
    assert labels[0] == labels[2]
    assert len(set(labels.tolist())) == 3


@given(st.floats(0, 30), st.floats(0, 30))
def test_a_sum_is_never_rounded_down(first, second):
    assert Fraction(add_up(first, second)) >= Fraction(first) + Fraction(second)
    assert add_up(first, second) == pytest.approx(first + second, rel=1e-15)


def test_the_bound_on_everyone_is_the_one_that_was_proved():
    memory = BoundedMemory.start(np.array([0.5, 0.5]), 4, [])
    channel = np.array([[[0.9, 0.1], [0.2, 0.8]]])
    computed, _ = memory.after("a", channel)
    assert computed.everyone_bits == pytest.approx(tacit.mutual_information([0.5, 0.5], channel[0]))
    proved, _ = memory.after("a", channel, everyone_bits=0.75)
    assert proved.everyone_bits == 0.75


# --- letters that tell the same -----------------------------------------------------------------


def random_channel(rng, n_m, n_x, n_rhat):
    return rng.dirichlet(np.full(n_rhat, 0.7), size=(n_m, n_x))


@given(st.integers(0, 2**32 - 1))
def test_letters_in_proportion_become_one_history(seed):
    rng = np.random.default_rng(seed)
    p_x = rng.dirichlet(np.ones(4))
    split = random_channel(rng, 1, 4, 3)
    split = np.concatenate([split[..., :2], split[..., 2:] * 0.25, split[..., 2:] * 0.75], axis=-1)
    memory, transition = ExactHistory.start(p_x).after("a", split)
    assert len(memory.mass) == 3
    assert transition.next_state[0, 2] == transition.next_state[0, 3]
    second = random_channel(rng, 3, 4, 2)
    memory, _ = memory.after("b", second)
    # The reference tells the two letters apart all along.
    by_letter = p_x[:, None, None] * np.einsum("xa,axb->xab", split[0], second[[0, 1, 2, 2]])
    for parties, law in {
        frozenset({"a"}): by_letter.sum(axis=2).T,
        frozenset({"b"}): by_letter.sum(axis=1).T,
        frozenset({"a", "b"}): by_letter.reshape(4, -1).T,
    }.items():
        held = memory.held(parties)
        assert tacit.mutual_information(held) == pytest.approx(
            tacit.mutual_information(law), abs=1e-12
        )


def test_letters_that_differ_in_one_history_stay_apart():
    p_x = np.array([0.5, 0.5])
    memory, _ = ExactHistory.start(p_x).after("a", np.array([[[0.7, 0.3], [0.2, 0.8]]]))
    channel = np.full((2, 2, 2), 0.5)
    channel[1, 0] = [0.4, 0.6]
    memory, transition = memory.after("b", channel)
    assert len(memory.mass) == 4
    assert (np.sort(transition.next_state.reshape(-1)) == np.arange(4)).all()


def test_histories_are_kept_however_rare():
    rare = np.array([[[1 - 1e-6, 1e-6], [1 - 2e-6, 2e-6]]])
    memory = ExactHistory.start(np.array([0.5, 0.5]))
    for party in "abcd":
        memory, transition = memory.after(party, np.repeat(rare, len(memory.mass), axis=0))
    assert len(memory.mass) == 16
    assert (transition.next_state >= 0).all()
    assert memory.mass[-1] == pytest.approx([0.5e-24, 8e-24])
    never = np.repeat([[[1.0, 0.0], [1.0, 0.0]]], 16, axis=0)
    memory, transition = memory.after("e", never)
    assert len(memory.mass) == 16
    assert (transition.next_state[:, 1] == -1).all()
