"""Attributes: what is frozen, and how levels are called."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal, localcontext
from pathlib import Path
from typing import TypedDict, Unpack

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    Categories,
    Groups,
    labels_of,
    numbers_of,
)
from tacit.tables.encoding.column import OTHERS, Column, ColumnError, Cut, Period, Stray
from tacit.tables.encoding.levels import freeze, freeze_all
from tacit.tables.sources.staging_table import stage
from tests.tables.samples import AGE, DIAGNOSIS, INCOME, KIDS, WARD, columns_of, write_parquet

LONG = Decimal("1000000000000000000000000000.001")
LONGER = Decimal("1000000000000000000000000001.001")
"""A float has about half of their digits."""


class Options(TypedDict, total=False):
    """What is declared of a column beside its name."""

    cuts: Sequence[Cut]
    quantiles: int
    groups: dict[str, str]
    by: Period
    top: int
    stray: Stray


def frozen(values: Sequence[object], folder: Path, **options: Unpack[Options]) -> Attribute:
    """A column ``value`` of these values, frozen as declared."""
    path = write_parquet(folder / "values.parquet", {"value": values})
    with stage(path, ["value"], folder) as table:
        return freeze(table, Column("value", **options), [])


# --- frozen -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "letters", "labels", "numbers"),
    [
        (["b", "a", "b", ""], ("", "a", "b"), ("", "a", "b"), None),
        (["b", None], ("b", None), ("b", "missing"), None),
        (["missing", None], ("missing", None), ("missing", "(missing)"), None),
        ([3, -1, 10], (-1, 3, 10), ("-1", "3", "10"), (-1.0, 3.0, 10.0)),
        ([3, None], (3, None), ("3", "missing"), (3.0, None)),
        ([0.5, 2.0, float("nan")], (0.5, 2.0, None), ("0.5", "2", "missing"), (0.5, 2.0, None)),
        ([-0.0, 0.0, 1.0], (0.0, 1.0), ("0", "1"), (0.0, 1.0)),
        ([float("inf"), 1.0], (1.0, float("inf")), ("1", "inf"), None),
        ([True, False], (False, True), ("false", "true"), None),
        ([Decimal("1.50"), Decimal("0.25")], (0.25, 1.5), ("0.25", "1.5"), (0.25, 1.5)),
        (
            [date(2020, 1, 2), date(1999, 1, 1)],
            ("1999-01-01", "2020-01-02"),
            ("1999-01-01", "2020-01-02"),
            None,
        ),
        (
            [datetime(2020, 1, 1, 1, 30), None],
            ("2020-01-01 01:30:00", None),
            ("2020-01-01 01:30:00", "missing"),
            None,
        ),
        (
            pa.array([LONG, LONGER, None, Decimal("1.50")], pa.decimal128(31, 3)),
            (Decimal("1.500"), LONG, LONGER, None),
            ("1.5", str(LONG), str(LONGER), "missing"),
            (0.0, 1e27, 1e27, None),
        ),
        (["Z", "a", "é", "😀"], ("Z", "a", "é", "😀"), ("Z", "a", "é", "😀"), None),
        (pa.array([2**63, 1], pa.uint64()), (1, 2**63), ("1", str(2**63)), (1.0, 2.0**63)),
    ],
)
def test_categories_are_the_values_in_order(
    values: list[object],
    letters: tuple[object, ...],
    labels: tuple[str, ...],
    numbers: tuple[float | None, ...] | None,
    tmp_path: Path,
) -> None:
    attribute = frozen(values, tmp_path)
    assert repr(attribute.letters) == repr(letters)  # -0.0 is not 0.0, True is not 1
    assert attribute.labels == labels
    assert attribute.numbers == numbers
    assert attribute.n_levels == len(letters)


@pytest.mark.parametrize(
    ("values", "cuts", "labels"),
    [
        ([1, 99], (30, 45, 60), ("<=30", "31-45", "46-60", ">60")),
        ([1, 99], (30, 31), ("<=30", "31", ">31")),
        ([1, 99], (30.5, 30.7, 45), ("<=30", "31-45", ">45")),
        ([-9, 9], (-5, -1, 3), ("<=-5", "-4 to -1", "0-3", ">3")),
        ([1.0, 99.0], (30, 45.5), ("<=30", "30 < value <= 45.5", ">45.5")),
        ([-1.0, 1.0], (-0.0,), ("<=0", ">0")),
        ([1, None], (30,), ("<=30", ">30", "missing")),
    ],
)
def test_bins_are_called_by_their_ends(
    values: list[object], cuts: tuple[float, ...], labels: tuple[str, ...], tmp_path: Path
) -> None:
    attribute = frozen(values, tmp_path, cuts=cuts)
    assert attribute.labels == labels
    present = [index for index, label in enumerate(labels) if label != "missing"]
    assert attribute.numbers == (*map(float, present), *[None] * (len(labels) - len(present)))


def test_quantiles_share_the_records_out_and_are_then_cuts(tmp_path: Path) -> None:
    attribute = frozen([*range(100), None], tmp_path, quantiles=4)
    assert attribute.cuts == (24, 49, 74)
    assert attribute.has_missing


def test_decimals_are_cut_in_steps_of_their_type(tmp_path: Path) -> None:
    with localcontext(prec=60):
        column = pa.array([LONG + k for k in range(4)], pa.decimal128(31, 3))
        halves = frozen(column, tmp_path, quantiles=2)
        near = frozen(column, tmp_path, cuts=[LONG - 1, LONG, LONG + Decimal("0.0009"), 1e30])
    assert halves.labels == (
        "<=1000000000000000000000000001.001",
        ">1000000000000000000000000001.001",
    )
    assert near.cuts == ("999999999999999999999999999.001", str(LONG), "1" + "0" * 30)
    assert Attribute.model_validate_json(near.model_dump_json()) == near
    short = frozen(pa.array([Decimal("0.5"), Decimal(2)], pa.decimal128(15, 2)), tmp_path, cuts=[1])
    assert short.cuts == (1.0,)


def test_cuts_that_are_the_same_float_are_refused(tmp_path: Path) -> None:
    cuts = [Decimal(2**53), Decimal(2**53 + 1)]
    with pytest.raises(
        InvalidInputError, match=r"some of the cuts 9007199254740992, .* are the same"
    ):
        frozen([1.0, 1e16], tmp_path, cuts=cuts)
    assert len(frozen([1, 10**16], tmp_path, cuts=cuts).cuts) == 2


def test_levels_that_are_written_alike_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.tables.encoding.attribute.label_of", lambda _: "1e+16")
    with pytest.raises(
        InvalidInputError, match=r"value has 2 levels .* '1e\+16': round its values"
    ):
        frozen([1.0, 2.0], tmp_path)


def test_quantiles_of_many_equal_values_are_fewer(tmp_path: Path) -> None:
    assert frozen([0.0] * 90 + [1.0] * 10, tmp_path, quantiles=4).cuts == (0.0,)
    assert frozen([0.0] * 10 + [1.0] * 90, tmp_path, quantiles=20).cuts == (0.0,)


@pytest.mark.parametrize(
    ("values", "cuts", "labels"),
    [
        (
            [date(2019, 5, 1), date(2021, 5, 1)],
            (date(2019, 12, 31), date(2020, 12, 31)),
            ("<=2019-12-31", "2020-01-01 to 2020-12-31", ">2020-12-31"),
        ),
        (
            [date(2019, 5, 1), None],
            (datetime(2019, 12, 31, 12), datetime(2019, 12, 31, 18), date(2020, 1, 1)),
            None,
        ),
        (
            [date(2019, 5, 1), date(2021, 5, 1)],
            (datetime(2019, 12, 31, 12), datetime(2019, 12, 31, 18), datetime(2020, 1, 1)),
            ("<=2019-12-31", "2020-01-01", ">2020-01-01"),
        ),
        (
            [datetime(2019, 12, 31, 23, 59), datetime(2020, 1, 1), None],
            (date(2019, 12, 31),),
            ("<=2019-12-31", ">2019-12-31", "missing"),
        ),
        (
            [datetime(2019, 12, 31, 12), datetime(2020, 1, 1)],
            (datetime(2019, 12, 31, 12), datetime(2019, 12, 31, 18)),
            (
                "<=2019-12-31 12:00:00",
                "2019-12-31 12:00:00 < value <= 2019-12-31 18:00:00",
                ">2019-12-31 18:00:00",
            ),
        ),
        ([time(7), time(9)], (time(8),), ("<=08:00:00", ">08:00:00")),
        (["2019-05-01", "2020-05-01"], (date(2019, 12, 31),), ("<=2019-12-31", ">2019-12-31")),
        (["29", " 30", "31"], (30, 35), ("<=30", "31-35", ">35")),
        (["29", "30.5", "1e3"], (30, 35), ("<=30", "30 < value <= 35", ">35")),
    ],
)
def test_dates_and_times_are_cut(
    values: list[object], cuts: tuple[Cut, ...], labels: tuple[str, ...] | None, tmp_path: Path
) -> None:
    if labels is None:
        with pytest.raises(InvalidInputError, match="or all dates, or all times"):
            frozen(values, tmp_path, cuts=cuts)
        return
    attribute = frozen(values, tmp_path, cuts=cuts)
    assert attribute.labels == labels
    assert attribute.is_from_texts == isinstance(values[0], str)
    assert Attribute.model_validate_json(attribute.model_dump_json()) == attribute


def test_quantiles_of_dates_are_dates(tmp_path: Path) -> None:
    days = [date(2020, 1, 1 + k) for k in range(20)]
    assert frozen(days, tmp_path, quantiles=2).cuts == ("2020-01-10",)
    assert frozen([*map(str, days)], tmp_path, quantiles=2).cuts == ("2020-01-10",)


def test_years_and_months_are_levels_in_order(tmp_path: Path) -> None:
    values = [datetime(2021, 3, 1), datetime(2020, 12, 31, 23), None, datetime(2021, 1, 1)]
    years, months = frozen(values, tmp_path, by="year"), frozen(values, tmp_path, by="month")
    assert years.letters == (2020, 2021, None)
    assert years.numbers == (2020.0, 2021.0, None)
    assert months.letters == ("2020-12", "2021-01", "2021-03", None)
    numbers = months.numbers
    assert numbers is not None
    assert [number and number - 12 * 2021 for number in numbers] == [0, 1, 3, None]


def test_rare_values_are_one_level_with_a_name_of_its_own(tmp_path: Path) -> None:
    values = ["b", "b", "a", "a", "c", "other", "*", None]
    assert frozen(values, tmp_path, top=2).letters == ("a", "b", "(other)", None)
    assert frozen(["b", "b", "a", "a", "c"], tmp_path, top=2).letters == ("a", "b", "other")
    assert frozen([3, 3, 1, 1, 2], tmp_path, top=2).letters == ("1", "3", "other")
    assert frozen([3, 3, 1, 1, 2], tmp_path, top=3).letters == (1, 2, 3)
    assert frozen(["*", "*", "a", "b"], tmp_path, top=2).letters == ("a", "other")


STRAY_AGES = [*map(str, range(20, 60)), "unknown", "4O", None]


def test_strays_are_refused_by_the_ids_of_their_records(tmp_path: Path) -> None:
    columns = {"value": STRAY_AGES, "ward": [1] * 43, "bed": [*range(43)]}
    path = write_parquet(tmp_path / "values.parquet", columns)
    message = (
        r"value has texts that are no numbers in 2 of 43 records: '4O' \(ward 1, bed 41\), "
        r"'unknown' \(ward 1, bed 40\); correct them, or count them as missing"
    )
    with (
        stage(path, [*columns], tmp_path) as table,
        pytest.raises(InvalidInputError, match=message) as raised,
    ):
        freeze(table, Column("value", cuts=[30]), ["ward", "bed"])
    [suggestion] = raised.value.suggestions
    assert suggestion.arguments == {"stray": "missing"}


def test_strays_may_count_as_missing(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "values.parquet", {"value": STRAY_AGES})
    with stage(path, ["value"], tmp_path) as table:
        attribute = freeze(table, Column("value", cuts=[30], stray="missing"), [])
        [(n_missing,)] = table.connection.execute(
            "SELECT count(*) FROM staged WHERE value IS NULL"
        ).fetchall()
    assert attribute.labels == ("<=30", ">30", "missing")
    assert (attribute.sql_type, n_missing) == ("BIGINT", 3)
    [remark] = table.remarks
    values = {"column": "value", "records": 2, "example": "4O"}
    assert (remark.code, remark.values) == ("strays_missing", values)


@pytest.mark.parametrize(
    ("first", "second", "sql_type"),
    [
        ("2020-01-31", "2020-02-01", "DATE"),
        ("2020-01-31", "2020-02-01 12:00", "TIMESTAMP"),
        ("2020-02-01T01:30:00+02:00", "2020-01-31T23:30:00-02:00", "TIMESTAMP"),
        ("2020-01-31T23:30:00Z", "2020-02-01T00:30:00+00", "TIMESTAMP"),
    ],
)
def test_texts_of_dates_are_read_in_utc(
    first: str, second: str, sql_type: str, tmp_path: Path
) -> None:
    attribute = frozen([first, second], tmp_path, by="month")
    assert attribute.sql_type == sql_type
    assert attribute.letters == ("2020-01", "2020-02")


def test_groups_are_those_that_occur_in_the_order_of_the_mapping(tmp_path: Path) -> None:
    groups = {"1": "few", "2": "few", "9": "many", "*": "some"}
    assert frozen([1, 5, 2], tmp_path, groups=groups).letters == ("few", "some")
    assert frozen([9, 2, None], tmp_path, groups=groups).letters == ("few", "many", None)
    assert frozen([9, 2, None], tmp_path, groups=groups).numbers is None


def test_a_value_without_a_group_is_named(tmp_path: Path) -> None:
    groups = {"flu": "infection"}
    with pytest.raises(InvalidInputError, match=r"groups? \(2\), such as 'asthma': add .* \"\*\""):
        frozen(["flu", "gout", "asthma", None], tmp_path, groups=groups)


@pytest.mark.parametrize(
    ("values", "groups", "key", "value"),
    [
        (["Female", "Male"], {"Femal": "F", "*": "M"}, "Femal", "Female"),
        (["Female", "Male"], {"Femal": "F", "Male": "M"}, "Femal", "Female"),
        (["Asian", "Other"], {"Asain": "A", "*": "O"}, "Asain", "Asian"),
        (["m", "f"], {"F": "women", "*": "others"}, "F", "f"),
        (["flu ", "gout"], {"flu": "ill", "*": "rest"}, "flu", "flu "),
        ([1.0, 2.0], {"1": "one", "*": "others"}, "1", "1.0"),
        (["Alzheimers disease", "gout"], {"Alzhiemer disease": "A", "*": "O"}, None, None),
        (["type 1 diabets", "gout"], {"type 1 diabetes": "D", "*": "O"}, None, None),
    ],
)
def test_a_misspelt_value_in_a_mapping_is_refused_with_the_nearest(
    values: list[object], groups: dict[str, str], key: str | None, value: str, tmp_path: Path
) -> None:
    key, value = key or next(iter(groups)), value or str(values[0])
    message = f"names {key!r}, which no record has, and not {value!r}, which 1 has"
    with pytest.raises(InvalidInputError, match=message):
        frozen(values, tmp_path, groups=groups)
    if OTHERS in groups:
        groups = {value: "of its own"} | groups  # as the message says
        assert frozen(values, tmp_path, groups=groups).n_levels == 2


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        (["A01", "A04"], {"A01": "a", "A03": "a", "*": "others"}),
        (["12345", "12346"], {"12345": "a", "12347": "a", "*": "others"}),
        (["Female", "Diverse"], {"Male": "m", "Female": "f", "*": "others"}),
        (["Female", "Diverse"], {"Male": "m", "*": "others", "Diverse": "d"}),
        (["DEU", "FRA"], {"FRA": "west", "DNK": "north", "*": "others"}),
        (["Femal", "Female"], {"Femal": "F", "Female": "F", "femal": "F", "*": "F", "": "M"}),
        (["Type 1 diabetes", "gout"], {"Type 2 diabetes": "D", "gout": "G", "*": "O"}),
        (["flu", "gout"], {"flu": "ill", "gouty": "rest", "*": "rest"}),
    ],
)
def test_codes_that_do_not_occur_are_only_remarked(
    values: list[object], groups: dict[str, str], tmp_path: Path
) -> None:
    """A list of codes serves many extracts: no table has all of them."""
    path = write_parquet(tmp_path / "values.parquet", {"value": [*values, None]})
    with stage(path, ["value"], tmp_path) as table:
        freeze(table, Column("value", groups=groups), [])
    n_unused = len(set(groups) - set(values) - {OTHERS})
    [remark] = table.remarks
    assert (remark.code, remark.values["column"]) == ("unused_values", "value")
    assert remark.values["values"] == n_unused


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "a"], {}, "same level for every record, which says nothing: leave it out"),
        ([None, None], {}, "says nothing"),
        ([1, 2], {"cuts": [5]}, "says nothing"),
        ([6, 7], {"cuts": [5]}, "says nothing"),
        ([1, 1], {"quantiles": 3}, "says nothing"),
        ([float("nan"), None], {"quantiles": 3}, "says nothing"),
        ([float("nan"), None], {"cuts": [3]}, "says nothing"),
        (
            ["a", "b"],
            {"cuts": [5]},
            "VARCHAR and only numbers, dates and times can be cut, which 'a' is not: give",
        ),
        (
            ["1,5", "2,25"],
            {"cuts": [2]},
            r"can be cut, which '1,5' is not \(write decimals with a point\): give the name",
        ),
        ([True, False], {"quantiles": 2}, "BOOLEAN and only numbers, dates and times can be cut"),
        (
            [*range(1001)],
            {},
            r"1,001 different numbers, .*: give cuts=\[250,500,750\] or quantiles=... or groups=.",
        ),
        (
            [date(2020, 1, 1), None],
            {"cuts": [5]},
            "type DATE and cannot be cut at 5: give .* 2020-",
        ),
        ([1, 2], {"cuts": [date(2020, 1, 1)]}, "BIGINT and cannot be cut at 2020-01-01: .* 30"),
        ([1, 2], {"by": "year"}, "value has type BIGINT and only dates have a year: give groups"),
        (["a", "b", "2020-01-01"], {"by": "year"}, "VARCHAR and only dates have a year"),
        (["2020-01-01", "2020-01-01", "1/2/20"], {"by": "year"}, "no ISO dates or times in 1 of 3"),
        ([*map(str, range(100_000))], {}, "100,000 levels .* give groups=... or top=...$"),
        ([*map(str, range(1000)), None], {}, "1,001 levels"),
        ([*range(2000)], {"cuts": range(1000)}, "1,001 levels"),
    ],
)
def test_columns_that_make_no_attribute(
    values: list[object], options: Options, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        frozen(values, tmp_path, **options)
    assert len(str(raised.value).splitlines()) == 1


def test_an_error_says_how_else_a_column_can_be_declared(tmp_path: Path) -> None:
    with pytest.raises(ColumnError) as raised:
        frozen(["a", "b"], tmp_path, cuts=[5])
    assert (raised.value.column, raised.value.ways) == ("value", ("", "groups"))


def test_a_thousand_levels_are_allowed(tmp_path: Path) -> None:
    assert frozen([*map(str, range(999)), None], tmp_path).n_levels == 1000


def test_too_many_cells(tmp_path: Path) -> None:
    columns = {name: [*map(str, range(400))] for name in ("a", "b")}
    path = write_parquet(tmp_path / "t.parquet", columns)
    message = r"make 160,000 cells, 400 \(a\) x 400 \(b\), and 100,000 is the most"
    with (
        stage(path, ["a", "b"], tmp_path) as table,
        pytest.raises(InvalidInputError, match=message),
    ):
        freeze_all(table, columns_of("a", "b"), [])


# --- kept ---------------------------------------------------------------------------------------

NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
CODINGS = st.one_of(
    st.builds(Categories, texts=st.lists(st.text(), unique=True).map(tuple)),
    st.builds(Bins, cuts=st.lists(NUMBERS, min_size=1, unique=True).map(sorted).map(tuple)),
    st.builds(
        Groups,
        names=st.lists(st.text(), unique=True).map(tuple),
        group_of=st.dictionaries(st.text(), st.text()),
    ),
)


@given(
    st.builds(
        Attribute,
        name=st.text(min_size=1),
        sql_type=st.just("VARCHAR"),
        coding=CODINGS,
        has_missing=st.booleans(),
    )
)
def test_json_gives_back_the_same_attribute(attribute: Attribute) -> None:
    again = Attribute.model_validate_json(attribute.model_dump_json())
    assert again == attribute
    assert repr(again) == repr(attribute)  # 30 is not 30.0


@given(st.lists(st.text() | st.none(), unique=True))
def test_labels_are_all_different(letters: list[str | None]) -> None:
    assert len(set(labels_of(letters))) == len(letters)


def test_letters_that_are_not_all_numbers_have_no_order() -> None:
    assert numbers_of((1, 2.5, None)) == (1.0, 2.5, None)
    assert numbers_of((1, "a")) is None
    assert numbers_of((False, True)) is None
    assert numbers_of((None,)) is None


@pytest.mark.parametrize("attribute", [AGE, DIAGNOSIS, INCOME, KIDS, WARD])
def test_what_is_told_of_levels_has_one_entry_for_each(attribute: Attribute) -> None:
    for entries in (attribute.letters, attribute.labels, attribute.texts, attribute.numbers):
        assert entries is None or len(entries) == attribute.n_levels
