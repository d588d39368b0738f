"""The shape of DuckDB's syntax trees: checked before a request is read, so that it is refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tacit.errors import InvalidInputError
from tacit.tables.connection import connect_memory
from tacit.tables.questions.syntax import (
    DUCKDB_VERSIONS,
    PROBE,
    REFUSED_PROBES,
    check_shape,
    parse_expression,
)

ROOT = Path(__file__).parents[3]
TREE_OF_1_5 = Path(__file__).with_name("duckdb_1_5.json")
"""What DuckDB 1.5.6 answers to the probe; 1.3 and 1.4 answer alike."""


def answer(query: str) -> str:
    """This DuckDB's own tree."""
    with connect_memory() as connection:
        [(tree,)] = connection.execute(
            "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true)", [query]
        ).fetchall()
    return str(tree)


def altered(old: str, new: str) -> Callable[[str], str]:
    """Trees in which something is called otherwise."""
    return lambda query: answer(query).replace(old, new)


def without_schemas(query: str) -> str:
    """Trees in which main.abs(a) is the same as abs(a)."""
    return altered('"schema":"main",', "")(query).replace('["main","abs"]', '["abs"]')


def test_this_duckdb_answers_as_expected() -> None:
    check_shape(answer)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda _: TREE_OF_1_5.read_text(),
        altered('"literal"', '"value"'),
        altered('"arguments"', '"children"'),
        altered('"COMPARE_BETWEEN"', '"COMPARE_INSIDE"'),
        altered('"text":"2.5"', '"text":"2.50"'),
        altered('"select_list"', '"select_list_of_another_name"'),
        altered('"column_names":["a"]', '"column_names":["A"]'),
        altered('"try_cast":true', '"try_cast":false'),
        altered('"distinct":true', '"distinct":false'),  # abs(DISTINCT a) is as abs(a)
        without_schemas,
        lambda _: "[]",
        lambda _: json.dumps({"error": False, "statements": []}),
    ],
)
def test_another_shape_is_refused_with_the_versions_that_work(wrong: Callable[[str], str]) -> None:
    with pytest.raises(InvalidInputError, match="describes SQL in another way") as raised:
        check_shape(wrong)
    assert f"duckdb{DUCKDB_VERSIONS}" in str(raised.value)
    assert duckdb.__version__ in str(raised.value)


def test_pyproject_allows_just_the_versions_that_work() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"duckdb{DUCKDB_VERSIONS}" in project["optional-dependencies"]["study"]


def test_the_probe_is_an_expression_and_the_others_are_refused() -> None:
    with connect_memory() as connection:
        assert parse_expression(connection, PROBE).kind == "CASE"
        for text in REFUSED_PROBES:
            with pytest.raises(InvalidInputError):
                parse_expression(connection, text)
