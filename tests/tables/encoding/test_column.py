"""What is declared of a column, before anybody has looked at the data."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import InvalidInputError
from tacit.tables.encoding.column import Column


def test_a_column_without_an_option_is_its_values() -> None:
    assert Column.of("age:cut=30,45") == Column("age:cut=30,45")  # a name, and nothing else
    assert Column.of(Column("age", quantiles=4)) == Column("age", quantiles=4)


def test_a_column_keeps_what_was_given() -> None:
    cuts, groups = [30, 45.5], {"flu": "infection"}
    column, grouped = Column("age", cuts=cuts), Column("diagnosis", groups=groups)
    cuts.append(1)
    groups["gout"] = "other"
    assert column.cuts == (30, 45.5)
    assert grouped.groups == {"flu": "infection"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("", {}, "a column has no name"),
        (" ", {}, "a column has no name"),
        ("age", {"cuts": [1], "quantiles": 2}, "age: cuts and quantiles are given: give only one"),
        ("age", {"cuts": []}, r"age: cuts \[\] are not all finite numbers"),
        ("age", {"cuts": [30, float("nan")]}, "are not all finite numbers"),
        ("age", {"cuts": [10**400]}, "are not all finite numbers"),
        ("age", {"cuts": [45, 30]}, "age: cuts 45, 30 are out of order: give them in rising order"),
        ("age", {"cuts": [30, 30]}, "out of order"),
        ("age", {"quantiles": 1}, "age: quantiles=1: give from 2 to 1,000"),
        ("age", {"quantiles": 1001}, "give from 2 to 1,000"),
        ("age", {"groups": {}}, "age: the mapping is empty"),
        ("age", {"groups": {"a": 1}}, "takes 'a' to 1, which is no text"),
        ("age", {"groups": {1: "a"}}, "names 1, which is no text"),
    ],
)
def test_bad_columns(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        Column(name, **options)
    assert len(str(raised.value).splitlines()) == 1
