"""A text means here what it means to DuckDB, brackets or not; what could be read in two ways."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_text
from tacit.tables.encoding.attribute import Attribute, Categories
from tacit.tables.questions.cells import Cells
from tacit.tables.questions.parser import Node, parse_expression


def attribute(name: str, sql_type: str, *texts: str) -> Attribute:
    return Attribute(name=name, sql_type=sql_type, coding=Categories(texts=texts), has_missing=True)


CELLS = Cells(
    (
        attribute("n", "BIGINT", "-2", "1"),
        attribute("x", "DOUBLE", "-1.5", "2.0"),
        attribute("t", "VARCHAR", "a\\b", "it's"),
        attribute("d", "DATE", "2019-12-31", "2020-02-29"),
        attribute("b", "BOOLEAN", "false", "true"),
    )
)


def texts(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The pattern with a part in place of each {}."""
    return st.tuples(*parts).map(lambda chosen: pattern.format(*chosen))


def one_of(patterns: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(patterns.split("; ")).flatmap(
        lambda pattern: texts(pattern, *parts[: pattern.count("{}")])
    )


NUMBERS = st.deferred(
    lambda: (
        one_of("n; x; 1; 2; 3.5; 1e2; -1; 1_000; 5.; day(d); length(t); abs(n); round(x, 1)")
        | one_of("{} + {}; {} - {}; {} -{}; {} * {}; {} / {}; {} // {}; {}%{}", NUMBERS, NUMBERS)
        | one_of("-{}; - {}; ({}); {}::int; {}::double; {}::bigint::int; +{}", NUMBERS)
        | one_of("nullif({}, {}); greatest({}, {}); coalesce({},{})", NUMBERS, NUMBERS)
        | texts("case when {} then {} else {} end", BOOLEANS, NUMBERS, NUMBERS)
    )
)
TEXTS = st.deferred(
    lambda: (
        one_of("t; 'x'; ''; 'it''s'; 'a\\b'; upper(t); left(t, 1); d::text; trim(t); substr(t, 2)")
        | one_of("{} || {}", TEXTS | NUMBERS, TEXTS | NUMBERS)
        | one_of("{}::varchar; cast({} as text)", TEXTS | NUMBERS | BOOLEANS | DATES)
    )
)
DATES = st.deferred(
    lambda: (
        one_of("d; date '2020-02-29'; DATE'2019-12-31'; cast('2020-01-01' as date)")
        | one_of("timestamp '2020-01-01 10:00:00'; '2020-01-01'::date; d::timestamp")
        | one_of("try_cast({} as date)", TEXTS)
        | one_of("d + {}; d - {}", st.just("1") | st.just("n::int"))
    )
)
BOOLEANS = st.deferred(
    lambda: (
        one_of("b; true; false; null; n > 1; t = 'x'; d is null")
        | one_of("{} and {}; {} or {}; not {} and {}", BOOLEANS, BOOLEANS)
        | one_of("not {}; ({})", BOOLEANS)
        | one_of("{} like {}; {} not like {}; {} ilike 'A%'; {} not ilike '%'", TEXTS, TEXTS)
        | one_of("{} is null; {} isnull; {} notnull; {} is not null; {} not null", ANY)
        | one_of("{} is true; {} is not true; {} is false; {} is not false", BOOLEANS | NUMBERS)
        | st.one_of(*(compared(kind) for kind in (NUMBERS, TEXTS, DATES, BOOLEANS)))
    )
)
ANY = NUMBERS | TEXTS | DATES | BOOLEANS


def compared(kind: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        one_of("{} = {}; {} <> {}; {} != {}; {} == {}; {} < {}; {}<={}; {} >{}", kind, kind)
        | one_of("{} is distinct from {}; {} is not distinct from {}; {} in ({})", kind, kind)
        | one_of("{} between {} and {}; {} not between {} and {}", kind, kind, kind)
        | one_of("{} in ({}, {}); {} not in ({}, {})", kind, kind, kind)
    )


def all_cells() -> duckdb.DuckDBPyConnection:
    """A table with the value of every attribute at each cell, and its place."""
    connection = duckdb.connect(config={"threads": 1})
    relations = []
    for each in CELLS.attributes:
        rows = ", ".join(
            f"({level}, {'NULL' if text is None else quote_text(text)})"
            for level, text in enumerate(each.texts)
        )
        relations.append(
            f"(SELECT level AS {each.name}_, CAST(text AS {each.level_type}) AS {each.name} "
            f"FROM (VALUES {rows}) AS rows(level, text))"
        )
    order = ", ".join(f"{each.name}_" for each in CELLS.attributes)
    connection.execute(
        f"CREATE TABLE cells AS SELECT *, row_number() OVER (ORDER BY {order}) AS place "
        f"FROM {', '.join(relations)}"
    )
    return connection


def duckdb_values(connection: duckdb.DuckDBPyConnection, sql: str) -> list[str] | None:
    """What DuckDB makes of the text itself at each cell; None if it refuses."""
    try:
        rows = connection.execute(
            f"SELECT CAST(v AS VARCHAR) FROM (SELECT ({sql}) AS v, place FROM cells) ORDER BY place"
        ).fetchall()
    except duckdb.Error:
        return None
    return ["missing" if text is None else plain(text) for (text,) in rows]


def our_values(sql: str) -> list[str] | str:
    """What a request makes of it, or why it is refused."""
    try:
        question = CELLS.evaluate(sql)
    except InvalidInputError as error:
        return str(error)
    return [plain(question.labels[r]) for r in question.r_of_x]


def plain(text: str) -> str:
    """The same text for 2, 2.0 and 2.00, and for NaN as it is counted."""
    try:
        number = float(text)
    except ValueError:
        return text
    return "missing" if number != number else f"{number + 0.0:.9g}"


@pytest.mark.slow
def test_a_text_means_what_it_means_to_duckdb() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=400)
    @given(ANY)
    def check(sql: str) -> None:
        expected, found = duckdb_values(connection, sql), our_values(sql)
        if expected is None:
            seen["refused by DuckDB"] += 1
        elif isinstance(found, list):
            seen["the same"] += 1
            assert found == expected
        elif "is the same at every cell" in found:
            assert len(set(expected)) == 1
        else:
            seen["refused by tacit"] += 1
            assert "brackets" in found or "cannot be read" in found or "has no level" in found

    with all_cells() as connection:
        check()
    assert seen["the same"] > 100 > seen["refused by tacit"]


@pytest.mark.parametrize(
    "sql",
    [
        *("1 < n < 2", "n = 1 = b", "b = n < 1", "n in (1) in (b)", "t like 'a' like 'b'"),
        *("n between 1 and 2 between b and b", "b = not b", "t || not b"),
        "date '2020-01-01'::varchar",
    ],
)
def test_where_grammars_differ_brackets_are_asked_for(sql: str) -> None:
    with pytest.raises(InvalidInputError, match=r"brackets|cannot be read"):
        parse_expression(sql)


def test_brackets_settle_it() -> None:
    inner = Node("operator", "<", (Node("number", "1"), Node("column", "n")))
    assert parse_expression("(1 < n) = b") == Node("operator", "=", (inner, Node("column", "b")))


def test_how_deep_a_text_may_be_nested_does_not_depend_on_the_caller() -> None:
    sql = "(" * 30 + "n" + ")" * 30

    def parse(frames: int) -> Node:
        return parse(frames - 1) if frames else parse_expression(sql)

    assert parse(800) == Node("column", "n")
