"""Noisy columns: weights that undo the noise, rows by their ids, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.estimation import NoisyColumn, add_weights
from tacit.estimation.column import join
from tests.estimation.releases import released

ROUNDING = 1e-9  # of a 2 x 2 or 3 x 3 inverse of condition below 1e3

BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
SQUARE = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])


def test_binary_weights_by_hand():
    column = NoisyColumn(np.array([0, 1]), BINARY, ("no", "yes"))
    # P(rhat=1) = 0.2 + 0.5 f: so 1{rhat=1} -> (1{rhat=1} - 0.2) / 0.5
    assert column.weights[:, 1] == pytest.approx([-0.4, 1.6], abs=ROUNDING)
    assert column.weights.sum(axis=1) == pytest.approx([1, 1], abs=ROUNDING)


@given(st.integers(2, 4), st.integers(0, 2), st.integers(0, 10_000))
def test_weights_have_the_mean_of_the_indicator(n_r, n_more, seed):
    channel = np.random.default_rng(seed).dirichlet(np.ones(n_r + n_more), size=n_r)
    channel = 0.5 * channel + 0.5 * np.eye(n_r, n_r + n_more)  # far from singular
    column = NoisyColumn(np.arange(n_r + n_more), channel)
    assert channel @ column.inverse == pytest.approx(np.eye(n_r), abs=ROUNDING)


def test_weights_with_more_letters_than_levels_vary_least():
    """Among all w with A w = 1, no other has a smaller variance for equally likely levels."""
    channel = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    inverse = NoisyColumn(np.arange(3), channel).inverse
    null = np.array([1.0, 0, 0]) - np.linalg.pinv(channel) @ channel[:, 0]
    reference = channel.mean(axis=0)
    assert abs(channel @ null).max() < ROUNDING
    assert reference @ (inverse * null[:, None]) == pytest.approx([0, 0], abs=ROUNDING)


def test_a_release_that_leaves_levels_out_has_no_weights():
    alike = np.array([[0.7, 0.3], [0.7, 0.3]])
    with pytest.raises(InvalidInputError, match="does not tell all of a, b apart"):
        NoisyColumn(np.array([0]), alike, ("a", "b")).weights  # noqa: B018
    with pytest.raises(InvalidInputError, match="does not tell all of 0, 1, 2 apart"):
        NoisyColumn(np.array([0]), np.array([[1, 0], [0, 1], [0.5, 0.5]])).weights  # noqa: B018


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict])
def test_frames_of_every_kind_get_weights(make):
    column = NoisyColumn(np.array([0, 1, 1]), BINARY, ("no", "yes"))
    frame = add_weights(make({"y": [1.0, 2.0, 3.0]}), column, "ill")
    assert isinstance(frame, type(make({"y": [1.0]})))
    assert np.asarray(frame["y"]).tolist() == [1, 2, 3]
    assert np.asarray(frame["ill=no"]) == pytest.approx(column.weights[:, 0], abs=0)
    assert np.asarray(frame["ill=yes"]) == pytest.approx(column.weights[:, 1], abs=0)


def test_a_weighted_mean_finds_the_mean_of_a_level():
    rng, n = np.random.default_rng(1), 200_000
    r = rng.integers(3, size=n)
    y = np.array([1.0, 5.0, -2.0])[r] + rng.normal(size=n)
    w = NoisyColumn(released(r, SQUARE, rng), SQUARE).weights
    # Standard error: weights of up to 3 and y of up to 5 give about 15/sqrt(n).
    assert (w * y[:, None]).sum(axis=0) / w.sum(axis=0) == pytest.approx([1, 5, -2], abs=0.15)


def test_other_frames_are_refused():
    column = NoisyColumn(np.array([0, 1]), BINARY)
    with pytest.raises(InvalidInputError, match="frame is a list: give a pandas, polars"):
        add_weights([1, 2], column, "ill")
    with pytest.raises(InvalidInputError, match="frame has 1 rows and the column 2"):
        add_weights(pd.DataFrame({"y": [1]}), column, "ill")
    with pytest.raises(InvalidInputError, match="frame is a int: give a pandas, polars"):
        add_weights(3, column, "ill")
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(InvalidInputError, match="frame has a column 'ill=1' already"):
            add_weights(make({"ill=1": [1, 2]}), column, "ill")


def test_rows_are_found_by_their_ids():
    column = NoisyColumn(np.array([0, 1, 1]), BINARY, records=np.array(["c", "a", "b"]))
    assert column.at(["b", "c"]).letters.tolist() == [1, 0]
    assert column.at(["b", "c"]).records.tolist() == ["b", "c"]
    numbered = NoisyColumn(np.array([0, 1]), BINARY, records=np.array(["10", "9"]))
    assert numbered.at(np.array([9, 10])).letters.tolist() == [1, 0]
    with pytest.raises(InvalidInputError, match=r"has no record 'd' \(2 are missing\)"):
        column.at(["a", "d", "e"])
    with pytest.raises(InvalidInputError, match="holds an id twice"):
        column.at(["a", "a"])
    with pytest.raises(InvalidInputError, match="records is empty: give the id of at least one"):
        column.at([])
    with pytest.raises(InvalidInputError, match="records is no column"):
        column.at([["a"], ["b", "c"]])
    with pytest.raises(InvalidInputError, match=r"records is 2-D \(shape \(1, 2\)\)"):
        column.at([["a", "b"]])
    twice = NoisyColumn(np.array([0, 1]), BINARY, records=["a", "a"])
    with pytest.raises(InvalidInputError, match="the column holds an id twice, 'a'"):
        twice.at(["a"])
    with pytest.raises(InvalidInputError, match="records has 1 ids and letters 2 rows"):
        NoisyColumn(np.array([0, 1]), BINARY, records=["a"])
    with pytest.raises(InvalidInputError, match="has no record ids"):
        NoisyColumn(np.array([0]), BINARY).at(["a"])


def test_joined_columns_are_seen_through_the_product():
    rng = np.random.default_rng(3)
    r, s = rng.integers(2, size=100), rng.integers(3, size=100)
    one = NoisyColumn(released(r, BINARY, rng), BINARY, ("a", "b"))
    two = NoisyColumn(released(s, SQUARE, rng), SQUARE, ("x", "y", "z"))
    both = join([one, two])
    assert both.levels == ("a, x", "a, y", "a, z", "b, x", "b, y", "b, z")
    assert (both.letters == 3 * one.letters + two.letters).all()
    product = BINARY[1, 0] * SQUARE[1, 2]
    assert both.p_rhat_given_r[4, 2] == pytest.approx(product, abs=ROUNDING)


def test_the_same_draw_twice_is_refused():
    letters = released(np.repeat([0, 1], 50), BINARY, np.random.default_rng(4))
    one, renamed = NoisyColumn(letters, BINARY), NoisyColumn(1 - letters, BINARY[:, ::-1])
    with pytest.raises(InvalidInputError, match="hold the same draw, handed out twice"):
        join([one, renamed])
    with pytest.raises(InvalidInputError, match="columns have 100 and 99 rows"):
        join([one, NoisyColumn(letters[1:], BINARY)])
    exact = NoisyColumn(np.repeat([0, 1], 50), np.eye(2))
    assert len(join([exact, exact])) == 100  # without noise, nothing was drawn


def test_numbers_are_one_for_each_level():
    column = NoisyColumn(np.array([0, 1]), BINARY, ("no", "yes"))
    assert column.scored([2, 4]).numbers.tolist() == [2, 4]
    for numbers in ([1], [1, np.nan], [[1, 2]], ["a", "b"], [[1], [1, 2]]):
        with pytest.raises(InvalidInputError, match="one finite number for each of no, yes"):
            column.scored(numbers)
        with pytest.raises(InvalidInputError, match="one finite number for each of no, yes"):
            NoisyColumn(np.array([0]), BINARY, ("no", "yes"), numbers=numbers)
    for levels in (None, 2, "ab"):
        with pytest.raises(InvalidInputError, match=r"levels is .*: give a name for each row"):
            NoisyColumn(np.array([0]), BINARY, levels)
    with pytest.raises(InvalidInputError, match=r"levels has a name twice \(1, 1\)"):
        NoisyColumn(np.array([0]), BINARY, (1, "1"))
    with pytest.raises(InvalidInputError, match="levels has 1 names and p_rhat_given_r 2 rows"):
        NoisyColumn(np.array([0]), BINARY, ("no",))
