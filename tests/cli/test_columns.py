"""Columns as they are declared on the command line."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from tacit.cli.columns import columns_in_shell, parse_column
from tacit.errors import InvalidInputError
from tacit.tables.encoding.column import Column, ColumnError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age", Column("age")),
        ("age:cut=30,45,60", Column("age", cuts=(30, 45, 60))),
        ("age:cut=30", Column("age", cuts=(30,))),
        ("t:cut=-1.5, 0,2e3", Column("t", cuts=(-1.5, 0, 2000.0))),
        ("income:quantiles=4", Column("income", quantiles=4)),
        ("a b:c", Column("a b:c")),
        (
            "d:cut=2019-12-31, 2020-12-31",
            Column("d", cuts=(date(2019, 12, 31), date(2020, 12, 31))),
        ),
        ("d:cut=2020-01-31T12:30", Column("d", cuts=(datetime(2020, 1, 31, 12, 30),))),
        ("d:cut=2020-01-31 12:30+02:00", Column("d", cuts=(datetime(2020, 1, 31, 10, 30),))),
        ("d:cut=08:00,16:00", Column("d", cuts=(time(8), time(16)))),
        ("d:by=month", Column("d", by="month")),
        ("diagnosis:top=20", Column("diagnosis", top=20)),
        ("née", Column("née")),
    ],
)
def test_declarations(text: str, found: Column) -> None:
    assert parse_column(text) == found
    assert repr(parse_column(text)) == repr(found)  # 30 is not 30.0


def test_cuts_keep_all_their_digits() -> None:
    long = "1000000000000000000000000001.5"
    assert parse_column(f"d:cut=0.10,{long}, {long}1").cuts == (
        0.1,
        Decimal(long),
        Decimal(long + "1"),
    )


def test_strays_are_declared_for_every_kind_of_column() -> None:
    for text in ("a", "a:cut=3", "a:quantiles=2", "a:by=year", "a:top=2"):
        assert parse_column(text, "missing").stray == "missing"


def test_a_mapping_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "groups=a:b.json"
    path.write_text('{"flu": "infection", "*": "other"}', encoding="utf-8")
    assert parse_column(f"d:map={path}") == Column("d", groups={"flu": "infection", "*": "other"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an attribute without a name: give name, name:cut="),
        ("age:bins=3", "'bins' in 'age:bins=3' is not known"),
        (
            "age:cut=",
            "age: cut= is not a list of numbers, or of ISO dates or times: give it as cut=30,45,60",
        ),
        ("age:cut=30,x", "age: cut=30,x is not a list of numbers"),
        ("age:cut=30,,45", "is not a list of numbers"),
        ("age:cut=30,nan", "are not all finite numbers"),
        ("age:cut=30,inf", "are not all finite numbers"),
        (f"age:cut={'9' * 400}", "are not all finite numbers"),
        (
            "age:cut=45,30",
            "age: cuts 45, 30 are out of order: give them in rising order, each once",
        ),
        ("age:cut=30,30", "out of order"),
        ("age:quantiles=1", "age: quantiles=1: give from 2 to 1,000"),
        ("age:quantiles=1001", "give from 2 to 1,000"),
        ("age:quantiles=x", "is not a whole number"),
        (
            "d:cut=2020-02-30",
            "d: cut=2020-02-30 is not a list of numbers, or of ISO dates or times",
        ),
        (
            "d:cut=30,2020-02-28",
            "d: cuts .* are not all finite numbers, or all dates, or all times",
        ),
        ("d:cut=2020-02-28,2020-02-28 12:00", "or all dates, or all times"),
        ("d:cut=2020-12-31,2019-12-31", "d: cuts 2020-12-31, 2019-12-31 are out of order"),
        ("d:by=week", "d: by=week: give year or month"),
        ("d:top=x", "d: top=x is not a whole number"),
        ("d:top=0", "d: top=0: give from 1 to 1,000"),
        ("d:map=none.json", "d: the mapping none.json cannot be read: No such file"),
    ],
)
def test_bad_declarations(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        parse_column(text)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[1]", "is no JSON object: give"),
        ("{}", "the mapping is empty"),
        ('{"a": 1}', "takes 'a' to 1, which is no text"),
        ('{"a": {"b": "c"}}', "which is no text"),
        ('{"a": null}', "which is no text"),
        ('{"a": "x", "a": "y"}', "names 'a' twice"),
    ],
)
def test_bad_mappings(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message) as raised:
        parse_column(f"d:map={path}")
    assert len(str(raised.value).splitlines()) == 1


def test_a_mapping_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidInputError, match="is not JSON"):
        parse_column(f"d:map={path}")


def test_an_error_says_what_to_write_after_the_name() -> None:
    said = r"^too many: use age:map=groups\.json or age:cut=\.\.\.$"
    with pytest.raises(InvalidInputError, match=said), columns_in_shell():
        raise ColumnError("age", "too many", ["groups", "cuts"])
    with pytest.raises(InvalidInputError, match=r"^no number: use age$"), columns_in_shell():
        raise ColumnError("age", "no number", [""])
