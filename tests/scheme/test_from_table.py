"""A scheme over a data frame: levels are the values, and counts those of NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tacit
from tacit.errors import InvalidInputError

FRAME = pd.DataFrame(
    {"age": [30, 40, None, 30, 40, 40], "sex": pd.Categorical(list("fmfmff"), ["m", "f"])}
)


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_the_law_is_that_of_the_rows(frame: object) -> None:
    scheme = tacit.Scheme.from_table(frame, ["age", "sex"])
    assert scheme.attributes is not None
    assert scheme.attributes.levels == ((30, 40, None), ("f", "m"))
    np.testing.assert_allclose(scheme.p_x, np.array([1, 1, 2, 1, 1, 0]) / 6)


def test_levels_are_the_letters_and_what_functions_take() -> None:
    scheme = tacit.Scheme.from_table(FRAME, ["age", "sex"])
    assert scheme.release("sex", party="a", individual=0.1).variable.letters == ("f", "m")
    both = scheme.release(["sex", "age"], party="b", individual=0.1).variable
    assert both.letters[:4] == (("f", 30), ("f", 40), ("f", None), ("m", 30))
    flag = scheme.release(lambda age, sex: age == 40 and sex == "f", party="c", individual=0.1)
    np.testing.assert_array_equal(flag.variable.p_r_given_x[:, 1], [0, 0, 1, 0, 0, 0])


def test_one_name_is_one_column() -> None:
    by_name, by_list = (tacit.Scheme.from_table(FRAME, each) for each in ("sex", ["sex"]))
    assert by_name.attributes is not None
    assert by_name.attributes.names == ("sex",)
    np.testing.assert_array_equal(by_name.p_x, by_list.p_x)
    assert tacit.Scheme.from_counts([1, 2], "sex").attributes.names == ("sex",)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "name one"),
        (["sex", "sex"], "name one"),
        ("ages", "no column 'ages' .*it has 'age'"),
        ("lists", "has lists"),
    ],
)
def test_columns_that_have_no_levels(columns: str | list[str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        tacit.Scheme.from_table(FRAME.assign(lists=[[1]] * 6), columns)


def test_a_table_that_is_none() -> None:
    with pytest.raises(InvalidInputError, match="list is no table"):
        tacit.Scheme.from_table([1, 2], "sex")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no rows"):
        tacit.Scheme.from_table(FRAME.iloc[:0], "sex")
