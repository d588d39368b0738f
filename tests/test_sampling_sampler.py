"""Keyed sampling: exact against its integer table, and the same however it is split."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tacit.errors import InvalidInputError
from tacit.sampling import TOTAL, IntegerChannel, Sampler, uniforms

KEY = bytes(range(32))
LARGEST = TOTAL - 1

FALSE_ALARM = 1e-3
"""Probability that a sampler without fault fails the test of all rows, over keys; shared by the
rows (Bonferroni). The key is fixed, so a pass stays a pass."""


@st.composite
def integer_rows(draw: st.DrawFn) -> IntegerChannel:
    """Channels [m, x, letter] cut anywhere: zeros at both ends, single units, whole totals."""
    n_m, n_x, n_letters = (draw(st.integers(1, most)) for most in (2, 2, 6))
    cut = st.sampled_from([0, 1, 2, LARGEST, TOTAL]) | st.integers(0, TOTAL)
    rows = []
    for _ in range(n_m * n_x):
        cuts = draw(st.lists(cut, min_size=n_letters - 1, max_size=n_letters - 1))
        rows.append(np.diff([0, *sorted(cuts), TOTAL]))
    return IntegerChannel(np.array(rows).reshape(n_m, n_x, n_letters))


def apart(channel: IntegerChannel) -> NDArray[np.intp]:
    """Every cell is a class of its own."""
    return np.arange(channel.weights.shape[1])


def following(channel: IntegerChannel) -> NDArray[np.int64]:
    """A next state of its own for each [m, letter]."""
    n_m, _, n_letters = channel.weights.shape
    return np.arange(n_m * n_letters).reshape(n_m, n_letters)


def draw_one_row(
    channel: IntegerChannel, m: int, x: int, words: NDArray[np.uint32]
) -> tuple[list[int], list[int]]:
    sampler = Sampler(channel, apart(channel), following(channel))
    cells = np.full(len(words), x, dtype=np.uint16)
    states = np.full(len(words), m, dtype=np.uint8)
    letters, next_states = sampler.draw(cells, states, words)
    return letters.tolist(), next_states.tolist()


@given(integer_rows())
def test_letters_are_right_at_every_edge(channel: IntegerChannel) -> None:
    n_m, n_x, n_letters = channel.weights.shape
    for m, x in np.ndindex(n_m, n_x):
        row = channel.weights[m, x].tolist()
        cumulative = list(accumulate(row))
        near = {bound + step for bound in (0, *cumulative) for step in (-1, 0, 1)}
        words = sorted(word for word in near if 0 <= word <= LARGEST)
        letters, next_states = draw_one_row(channel, m, x, np.array(words, dtype=np.uint32))
        assert letters == [bisect_right(cumulative, word) for word in words]
        assert all(row[letter] > 0 for letter in letters)
        assert next_states == [m * n_letters + letter for letter in letters]


def test_every_cell_occurs_as_often_as_its_table_says() -> None:
    rng = np.random.default_rng(4)
    law = rng.dirichlet(np.full(7, 0.5), size=(4, 6))
    law[rng.random(law.shape) < 0.2] = 0.0
    channel = IntegerChannel.quantised(law / law.sum(axis=2, keepdims=True))
    n_m, n_x, n_letters = channel.weights.shape
    n_each = 100_000
    for row, (m, x) in enumerate(np.ndindex(n_m, n_x)):
        words = uniforms(KEY, row * n_each, (row + 1) * n_each)
        letters, _ = draw_one_row(channel, m, x, words)
        counts = np.bincount(letters, minlength=n_letters)
        occurs = channel.weights[m, x] > 0
        assert counts[~occurs].sum() == 0
        expected = n_each * channel.law[m, x, occurs]
        assert stats.chisquare(counts[occurs], expected).pvalue > FALSE_ALARM / (n_m * n_x)


def test_a_row_of_one_letter_always_gives_it() -> None:
    channel = IntegerChannel(np.array([[[0, 0, TOTAL, 0]]], dtype=np.uint64))
    words = np.concatenate([uniforms(KEY, 0, 1000), np.array([0, LARGEST], dtype=np.uint32)])
    letters, _ = draw_one_row(channel, 0, 0, words)
    assert set(letters) == {2}


def test_records_are_drawn_from_their_own_rows() -> None:
    rng = np.random.default_rng(0)
    channel = IntegerChannel.quantised(rng.dirichlet(np.ones(5), size=(3, 4)))
    x = rng.integers(0, 4, 500).astype(np.uint8)
    state = rng.integers(0, 3, 500).astype(np.uint16)
    words = uniforms(KEY, 0, 500)
    next_state = rng.integers(0, 9, size=(3, 5))
    letters, after = Sampler(channel, apart(channel), next_state).draw(x, state, words)
    for m, cell, word, letter, moved in zip(state, x, words, letters, after, strict=True):
        assert letter == bisect_right(list(accumulate(channel.weights[m, cell].tolist())), word)
        assert moved == next_state[m, letter]


@pytest.mark.parametrize(("n_letters", "bits"), [(2, 8), (256, 8), (257, 16)])
def test_letters_and_states_are_as_small_as_they_can_be(n_letters: int, bits: int) -> None:
    channel = IntegerChannel.quantised(np.full((1, 1, n_letters), 1 / n_letters))
    sampler = Sampler(channel, apart(channel), following(channel))
    nobody = np.zeros(0, dtype=np.uint8)
    letters, states = sampler.draw(nobody, nobody, np.zeros(0, dtype=np.uint32))
    assert sampler.n_letters == sampler.n_next_states == n_letters
    assert letters.dtype.itemsize == states.dtype.itemsize == bits // 8


def test_a_letter_without_a_next_state_is_refused_only_when_drawn() -> None:
    channel = IntegerChannel(np.array([[[1, LARGEST]]], dtype=np.uint64))
    sampler = Sampler(channel, apart(channel), np.array([[-1, 0]]))
    nought = np.zeros(1, dtype=np.uint8)
    letters, _ = sampler.draw(nought, nought, np.array([1], dtype=np.uint32))
    assert letters.tolist() == [1]
    with pytest.raises(InvalidInputError, match="no next state"):
        sampler.draw(nought, nought, np.array([0], dtype=np.uint32))


@pytest.mark.parametrize(("x", "state"), [(2, 0), (0, 1)])
def test_codes_beyond_the_table_are_refused(x: int, state: int) -> None:
    channel = IntegerChannel.quantised(np.full((1, 2, 2), 0.5))
    sampler = Sampler(channel, apart(channel), following(channel))
    with pytest.raises(InvalidInputError, match="not this release's"):
        sampler.draw(
            np.array([x], dtype=np.uint8),
            np.array([state], dtype=np.uint8),
            np.array([0], dtype=np.uint32),
        )


def test_transitions_of_another_shape_are_refused() -> None:
    channel = IntegerChannel.quantised(np.full((1, 2, 2), 0.5))
    with pytest.raises(InvalidInputError, match=r"give \[m, letter\]"):
        Sampler(channel, apart(channel), np.zeros((2, 2), dtype=np.int64))


def test_cells_of_a_class_have_one_row() -> None:
    rng = np.random.default_rng(0)
    channel = IntegerChannel.quantised(rng.dirichlet(np.ones(5), size=(3, 4)))
    class_of_x = np.array([2, 0, 3, 1, 1, 0, 2])
    x = rng.integers(0, 7, 500).astype(np.uint8)
    state = rng.integers(0, 3, 500).astype(np.uint16)
    words = uniforms(KEY, 0, 500)
    by_class = Sampler(channel, class_of_x, following(channel)).draw(x, state, words)
    on_cells = IntegerChannel(channel.weights[:, class_of_x])
    by_cell = Sampler(on_cells, apart(on_cells), following(channel)).draw(x, state, words)
    assert all(np.array_equal(one, other) for one, other in zip(by_class, by_cell, strict=True))


@pytest.mark.parametrize("class_of_x", [[0, 1, 2], [0, 0, 0]])
def test_classes_that_the_channel_does_not_have_are_refused(class_of_x: list[int]) -> None:
    channel = IntegerChannel.quantised(np.full((1, 2, 2), 0.5))
    with pytest.raises(InvalidInputError, match="a class for each cell"):
        Sampler(channel, np.array(class_of_x), following(channel))
