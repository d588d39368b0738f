"""Codes against a plain encoder that goes through the records one by one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.tables.encoding.attribute import Attribute
from tacit.tables.encoding.codes import Encoding, IdColumn, codes_sql, levels_sql
from tacit.tables.encoding.column import OTHERS, PERIODS, Column
from tacit.tables.encoding.levels import freeze
from tacit.tables.sources.staging_table import StagingTable, stage
from tests.tables.samples import AGE, DIAGNOSIS, INCOME, WARD, write_parquet

N_EXAMPLES = 40
"""Each writes a file and reads it back."""

HALVES = st.integers(-12, 12).map(lambda twice: twice / 2)
NOT_QUITE_NUMBERS = st.sampled_from([float("nan"), -0.0, float("inf"), -float("inf")])
TEXTS = st.sampled_from(["", "a", "A", "é", "e\u0301", " a", "NULL", "nan", "*", "😀", "a'b"])
DATES = st.dates(date(1999, 12, 29), date(2000, 1, 2))
MOMENTS = st.datetimes(datetime(1999, 12, 29), datetime(2000, 1, 2))

VALUES = {
    pa.int8(): st.integers(-6, 6),
    pa.int64(): st.integers(-6, 6),
    pa.float32(): HALVES | NOT_QUITE_NUMBERS,
    pa.float64(): HALVES | NOT_QUITE_NUMBERS,
    pa.decimal128(12, 3): HALVES,
    pa.string(): TEXTS,
    pa.bool_(): st.booleans(),
    pa.date32(): DATES,
    pa.timestamp("us"): MOMENTS,
}
GROUPS = st.dictionaries(TEXTS | st.just("true"), st.sampled_from("xyz"), max_size=6)


@dataclass(frozen=True)
class Sample:
    """Values and what is declared about them."""

    values: Sequence[object]
    data_type: pa.DataType
    declared: Column

    @property
    def stored(self) -> pa.Array:
        is_decimal = pa.types.is_decimal(self.data_type)
        plain = pa.array(self.values, pa.float64() if is_decimal else self.data_type)
        return plain.cast(self.data_type)

    def plain_levels(self) -> list[int]:
        """The level of every value, as the documentation has it."""
        present = [value for value in self.values if not is_missing(value)]
        cuts, groups = self.declared.cuts, self.declared.groups
        if cuts is not None:
            n_levels = len(cuts) + 1
            level_of = {value: bisect_left(cuts, day_of(value)) for value in present}
        elif self.declared.by is not None:
            form = {"year": "%Y", "month": "%Y-%m"}[self.declared.by]
            order = sorted({f"{value:{form}}" for value in present})
            n_levels = len(order)
            level_of = {value: order.index(f"{value:{form}}") for value in present}
        elif self.declared.top is not None:
            counted = Counter(present)
            ranked = sorted(counted, key=lambda value: (-counted[value], value))
            order = sorted(ranked[: self.declared.top])
            n_levels = len(order) + (len(ranked) > len(order))
            level_of = {value: len(order) for value in ranked}
            level_of |= {value: level for level, value in enumerate(order)}
        elif groups is not None:
            group_of = {value: groups.get(text_of(value), groups[OTHERS]) for value in present}
            order = [
                group for group in dict.fromkeys(groups.values()) if group in group_of.values()
            ]
            n_levels = len(order)
            level_of = {value: order.index(group) for value, group in group_of.items()}
        else:
            order = sorted(set(present))
            n_levels = len(order)
            level_of = {value: level for level, value in enumerate(order)}
        return [n_levels if is_missing(value) else level_of[value] for value in self.values]


def is_misspelt(sample: Sample) -> bool:
    """Whether groups name a text that no record has, and not one that is nearly the same."""
    named, found = set(sample.declared.groups or ()), set(map(text_of, sample.values))
    words = {name.strip().lower() for name in named - found}
    return any(text.strip().lower() in words for text in found - named)


def is_missing(value: object) -> bool:
    return value is None or value != value  # NaN is not itself


def day_of(value: object) -> object:
    """A value as it is compared with cuts: of a moment, the day."""
    return value.date() if isinstance(value, datetime) else value


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@st.composite
def tables(draw: st.DrawFn) -> list[Sample]:
    """One to three columns of the same length."""
    n = draw(st.integers(2, 12))
    found = []
    for data_type in draw(st.lists(st.sampled_from([*VALUES]), min_size=1, max_size=3)):
        values = draw(st.lists(VALUES[data_type] | st.none(), min_size=n, max_size=n))
        found.append(
            Sample(values, data_type, draw(declarations(f"column {len(found)}", data_type)))
        )
    return found


def declarations(name: str, data_type: pa.DataType) -> st.SearchStrategy[Column]:
    plain = st.just(Column(name)) | st.integers(1, 3).map(lambda n: Column(name, top=n))
    if data_type in (pa.string(), pa.bool_()):
        return plain | GROUPS.map(lambda drawn: Column(name, groups={**drawn, OTHERS: "rest"}))
    if data_type in (pa.date32(), pa.timestamp("us")):
        days = st.lists(DATES, min_size=1, max_size=4, unique=True)
        periods = st.sampled_from(PERIODS).map(lambda unit: Column(name, by=unit))
        return plain | periods | days.map(lambda drawn: Column(name, cuts=sorted(drawn)))
    cuts = st.integers(-6, 6) if pa.types.is_integer(data_type) else HALVES
    some = st.lists(cuts, min_size=1, max_size=4, unique=True)
    return plain | some.map(lambda drawn: Column(name, cuts=sorted(drawn)))


@contextmanager
def staged_columns(columns: dict[str, object]) -> Iterator[StagingTable]:
    with TemporaryDirectory() as place:
        folder = Path(place)
        source = write_parquet(folder / "table.parquet", columns)
        with stage(source, list(columns), folder) as table:
            yield table


def encoding_of(*attributes: Attribute, externals: Sequence[Attribute] = ()) -> Encoding:
    return Encoding(
        ids=(IdColumn(name="id", sql_type="BIGINT"),),
        attributes=attributes,
        externals=tuple(externals),
    )


def codes(table: StagingTable, encoding: Encoding, *names: str) -> list[NDArray[np.int64]]:
    """Columns of the encoded table in the order of ids; -1 for NULL."""
    levels = f"({levels_sql(table.connection, encoding)})"
    chosen = ", ".join(f"coalesce({name}::BIGINT, -1) AS {name}" for name in names)
    query = f"SELECT {chosen} FROM ({codes_sql(levels, encoding)}) ORDER BY id_0"
    rows = table.connection.execute(query).fetchnumpy()
    return [rows[name] for name in names]


@pytest.mark.slow
@given(tables())
@settings(max_examples=N_EXAMPLES)
def test_codes_are_those_of_a_plain_encoder(columns: list[Sample]) -> None:
    names = [column.declared.name for column in columns]
    stored = {name: column.stored for name, column in zip(names, columns, strict=True)}
    attributes, plain = [], []
    with staged_columns({"id": range(len(columns[0].values)), **stored}) as table:
        for column in columns:
            levels = column.plain_levels()
            if len(set(levels)) < 2:
                with pytest.raises(InvalidInputError, match="says nothing"):
                    freeze(table, column.declared, [])
                return
            assume(not is_misspelt(column))
            attributes.append(freeze(table, column.declared, []))
            plain.append(levels)
        shape = tuple(attribute.n_levels for attribute in attributes)
        first, *others = attributes
        x, *_ = codes(table, encoding_of(*attributes), "x")
    assert x.tolist() == np.ravel_multi_index(plain, shape).tolist()
    with staged_columns({"id": range(len(columns[0].values)), **stored}) as table:
        encoding = encoding_of(first, externals=others)
        found = codes(table, encoding, "x", *(f"r_{k}" for k in range(len(others))))
    assert [each.tolist() for each in found] == plain


def test_each_level_can_be_told_from_its_code() -> None:
    values = ["flu", None, "dementia", "née", "flu"]
    with staged_columns({"id": range(5), "diagnosis": values}) as table:
        [x] = codes(table, encoding_of(DIAGNOSIS), "x")
    assert [DIAGNOSIS.letters[code] for code in x] == values


@pytest.mark.parametrize(
    ("attribute", "values", "levels"),
    [
        (AGE, [30, 31, 45, 46, 60, 61, -(2**40), None], [0, 1, 1, 2, 2, 3, 0, 4]),
        (INCOME, [-0.0, 5e-324, 20.5, 20.500000000000004, None], [0, 1, 1, 2, -1]),
        (DIAGNOSIS, ["flu", "Flu", "", None], [1, -1, -1, 3]),
        (WARD, ["s1", "S1", "*", "", None], [0, 1, 1, 1, -1]),
    ],
)
def test_frozen_levels_do_not_move_with_the_data(
    attribute: Attribute, values: list[object], levels: list[int]
) -> None:
    """-1 is a value that has no level."""
    with staged_columns({"id": range(len(values)), attribute.name: values}) as table:
        [x] = codes(table, encoding_of(attribute), "x")
    assert x.tolist() == levels


def test_whole_numbers_are_compared_exactly() -> None:
    large = 2**53
    values = [large, large + 1, large + 2]
    with staged_columns({"id": range(3), "n": values}) as table:
        attribute = freeze(table, Column("n", cuts=(large, large + 1)), [])
        [x] = codes(table, encoding_of(attribute), "x")
    assert x.tolist() == [0, 1, 2]


def test_a_cut_at_a_date_includes_its_whole_day() -> None:
    last = datetime(2019, 12, 31, 23, 59, 59, 999_999)
    values = [datetime(2019, 12, 31), last, datetime(2020, 1, 1)]
    with staged_columns({"id": range(3), "seen": values}) as table:
        attribute = freeze(table, Column("seen", cuts=(date(2019, 12, 31),)), [])
        assert codes(table, encoding_of(attribute), "x")[0].tolist() == [0, 0, 1]


def test_names_may_be_anything() -> None:
    columns = {'a "b" .; --': ["x", "y"], "staged": [1, 2], "select": [True, False]}
    with staged_columns({"id": [0, 1], **columns}) as table:
        attributes = [freeze(table, Column(name), []) for name in columns]
        [x] = codes(table, encoding_of(*attributes), "x")
    assert x.tolist() == [1, 6]
