"""Your own columns: tables of every kind, what is missing, ids, and what is refused."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import InvalidInputError
from tacit.estimation import NoisyColumn, crosstab, fit_linear, fit_logistic, impute
from tacit.estimation.own_columns import group_rows, own_numbers
from tests.estimation.releases import released

BINARY = np.array([[0.8, 0.2], [0.3, 0.7]])
N = 200
RNG = np.random.default_rng(1)
TRUE = RNG.integers(2, size=N)
COLUMN = NoisyColumn(released(TRUE, BINARY, RNG), BINARY, ("no", "yes"))
OWN = {"region": np.where(RNG.random(N) < 0.4, "north", "south"), "age": RNG.normal(size=N)}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table, lambda own: pa.RecordBatch.from_pydict(own)]


@pytest.mark.parametrize("make", FRAMES)
def test_frames_are_tables_of_columns_everywhere(make):
    frame, region = make(OWN), make({"region": OWN["region"]})
    assert crosstab({"ill": COLUMN}, region) == crosstab(
        {"ill": COLUMN}, {"region": region["region"]}
    )
    assert crosstab({"ill": COLUMN}, region).by == ("region",)
    of_frame, of_mapping = fit_logistic(COLUMN, frame), fit_logistic(COLUMN, OWN)
    assert of_frame.names == of_mapping.names == ("intercept", "region=south", "age")
    assert of_frame.intervals.tolist() == of_mapping.intervals.tolist()
    drawn = impute(COLUMN, frame, draws=2, seed=1)
    assert (drawn == impute(COLUMN, OWN, draws=2, seed=1)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: crosstab({"ill": COLUMN}, [OWN["region"]]),
            "by is a list: give a mapping of names",
        ),
        (
            lambda: crosstab({"ill": COLUMN}, pd.Series(OWN["region"])),
            "by is a Series: give a mapp",
        ),
        (lambda: crosstab({"ill": COLUMN}, pl.LazyFrame(OWN)), "by is a LazyFrame: give a mapping"),
        (
            lambda: fit_logistic(COLUMN, 3),
            "covariates is a int: give a mapping of names to columns",
        ),
        (lambda: impute(COLUMN, None, seed=1), "given is a NoneType: give a mapping of names to"),
        (lambda: crosstab(COLUMN), "columns is a NoisyColumn: give a mapping of names to noisy"),
        (lambda: crosstab({"ill": [0, 1]}), "ill in columns is a list: give a NoisyColumn"),
        (
            lambda: crosstab({"ill": COLUMN}, {"ill": COLUMN}),
            "ill is a noisy column: only your own",
        ),
        (lambda: fit_logistic(TRUE, pd.DataFrame(OWN)), "no column is noisy, so any package"),
        (lambda: impute(COLUMN, {"x": [[1], [1, 2]]}, seed=1), "x is no column .*: give one value"),
        (
            lambda: impute(COLUMN, {"x": [1j] * N}, seed=1),
            "x holds complex128 values: give numbers",
        ),
        (lambda: impute(COLUMN, {"x": [b"\xff"] * N}, seed=1), "x holds bytes that are no text"),
        (
            lambda: crosstab({"ill": COLUMN}, pd.DataFrame(np.ones((N, 2)), columns=["a", "a"])),
            "by has two columns 'a': give each its own name",
        ),
    ],
)
def test_what_is_no_table_of_columns_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


NOTHING = [
    np.array(["b", "", "a", ""]),
    ["b", None, "a", float("nan")],
    pd.Series(["b", pd.NA, "a", None], dtype="string"),
    pd.Categorical(["b", None, "a", None]),
    pl.Series(["b", None, "a", None]),
    pa.chunked_array([["b", None, "a", None]]),
    np.ma.array(["b", "c", "a", "a"], mask=[0, 1, 0, 1]),
]


@pytest.mark.parametrize("values", NOTHING)
def test_rows_without_a_value_are_a_group_after_the_others(values):
    names, group_of_row = group_rows({"g": values}, 4)
    assert names == [("a",), ("b",), ("missing",)]
    assert group_of_row.tolist() == [1, 2, 0, 2]
    with pytest.raises(
        InvalidInputError, match=r"g holds .* in row 1, counted from 0 \(1 more row"
    ):
        own_numbers("g", values, 4)


def test_missing_numbers_and_dates_and_a_level_called_missing():
    day = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    names, _ = group_rows({"x": [1.5, np.nan], "day": day, "g": ["missing", None]}, 2)
    assert names == [("1.5", "2020-01-01", "missing"), ("missing", "missing", "(missing)")]


def test_groups_are_combinations_in_the_order_of_their_names():
    own = {"a": ["y", "x", "y", "x"], "b": [2, 1, 1, 1]}
    names, group_of_row = group_rows(own, 4)
    assert names == [("x", "1"), ("y", "1"), ("y", "2")]
    assert group_of_row.tolist() == [2, 0, 1, 0]
    assert group_rows({}, 2)[0] == [()]


def test_numbers_and_texts_of_the_same_level_are_one():
    assert group_rows({"g": np.array([1, "1", 2], dtype=object)}, 3)[0] == [("1",), ("2",)]
    for numbers in ([1, 2.5], [True, False], np.array([Decimal(1), 2], dtype=object)):
        assert own_numbers("x", numbers, 2) == {"x": pytest.approx([float(one) for one in numbers])}
    assert [*own_numbers("x", np.array([1, "1", "a"], dtype=object), 3)] == ["x=a"]


def test_ids_are_neither_groups_nor_covariates():
    ids = [f"p{k}" for k in range(N)]
    with pytest.raises(InvalidInputError, match="id has another value in each of 200 rows, so it"):
        crosstab({"ill": COLUMN}, {"id": ids})
    with pytest.raises(InvalidInputError, match="id has 200 different texts in 200 rows: leave it"):
        fit_logistic(COLUMN, {"id": ids})
    numbers = NoisyColumn(COLUMN.letters, BINARY, records=np.arange(N))
    own = {"age": OWN["age"], "id": np.arange(N)}
    for call in (lambda: fit_logistic(numbers, own), lambda: impute(numbers, own, seed=1)):
        with pytest.raises(InvalidInputError, match="id holds the ids of the records: leave it"):
            call()
    some = {"a": np.arange(2_000) % 100, "b": np.arange(2_000) // 100}
    with pytest.raises(InvalidInputError, match="a, b make more than 1,000 groups: give fewer"):
        group_rows(some, 2_000)


def test_columns_of_the_same_coefficient_are_both_used():
    """Texts a with the level b, and numbers called a=b."""
    own = {"a": np.where(TRUE, "b", "a"), "a=b": OWN["age"]}
    other = {"a": own["a"], "c": own["a=b"]}
    drawn = [impute(COLUMN, given, draws=2, seed=1) for given in (own, other)]
    assert (drawn[0] == drawn[1]).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("fit", [fit_linear, fit_logistic])
def test_a_number_that_is_none_is_named_with_its_row(fit, value):
    numbers = np.zeros(N)
    numbers[2] = value
    message = re.escape(f"a holds {value} in row 2, counted from 0: leave such rows out")
    with pytest.raises(InvalidInputError, match=message):
        fit(TRUE, {"ill": COLUMN, "a": numbers})


def test_names_that_meet_are_refused():
    for covariates in ({"ill": COLUMN, "intercept": OWN["age"]}, {"ill": COLUMN, "ill=yes": TRUE}):
        with pytest.raises(InvalidInputError, match="two coefficients would be called"):
            fit_linear(OWN["age"], covariates)
    unnamed = fit_linear(TRUE, {"": OWN["age"], "ill": COLUMN})  # was taken for the outcome
    named = fit_linear(TRUE, {"age": OWN["age"], "ill": COLUMN})
    assert unnamed.coefficients.tolist() == named.coefficients.tolist()
