"""Ids as names of persons: what is limited is a person, so that each has one row.

A table whose ids repeat is refused, with the query that makes one row per person of it. Where ids
only look like those of different persons, the custodian has to accept that they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tacit.errors import AcceptanceError, InvalidInputError
from tacit.remark import Remark
from tacit.storage import scratch_folder
from tacit.tables.connection import connect_file, quote_name, quote_text
from tacit.tables.encoding.ids import normalised_id_sql
from tacit.tables.sources.source import AnyTable, find_source
from tacit.tables.sources.staging_table import StagingTable

Run = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query of ``{ids}``: ``id_0``... and the normalised ``name`` of each record."""

_MOST_SIDE_BY_SIDE = 6
"""Kinds of rows of a person whose values become columns beside each other."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What the ids of a table are like.

    Attributes:
        columns: their names.
        n_records: how many records there are.
        n_missing: how many of them lack an id.
        n_shared: how many of them share their id with others.
        most: how many have the same id at most.
        person: of several columns that are unique only together, the one whose values fewest rows
            share, and how many rows share one at most; ``None`` where a column is unique by itself.
        alike: how many ids differ from another only by case, or by zeros of a number; and two such.
    """

    columns: tuple[str, ...]
    n_records: int
    n_missing: int
    n_shared: int
    most: int
    person: tuple[str, int] | None
    alike: tuple[int, str, str] | None

    @staticmethod
    def count(columns: Sequence[str], run: Run, *, has_texts: bool) -> Ids:
        """Count by queries that DuckDB and Spark understand alike.

        Args:
            columns: of ids.
            run: runs a query.
            has_texts: whether one of them has texts; others cannot be alike and differ.
        """
        ids = [f"id_{k}" for k in range(len(columns))]
        listed, is_missing = ", ".join(ids), " OR ".join(f"{one} IS NULL" for one in ids)
        [(n_records, n_missing, n_shared, most)] = run(
            "SELECT coalesce(sum(times), 0), "
            f"coalesce(sum(CASE WHEN {is_missing} THEN times ELSE 0 END), 0), "
            "coalesce(sum(CASE WHEN times > 1 THEN times ELSE 0 END), 0), coalesce(max(times), 0) "
            f"FROM (SELECT {listed}, count(*) AS times FROM {{ids}} GROUP BY {listed}) AS each_id"
        )
        person = None
        if len(columns) > 1:
            query = (
                "SELECT max(times) FROM (SELECT count(*) AS times FROM {{ids}} GROUP BY {}) AS v"
            )
            rows, column = min(
                (run(query.format(k))[0][0], column) for k, column in zip(ids, columns, strict=True)
            )
            person = (column, rows) if rows > 1 else None
        alike = None
        if has_texts:
            text = " || ',' || ".join(ids)
            [(n_alike, one, other)] = run(
                "SELECT sum(times), min(one), min(other) FROM (SELECT count(*) AS times, "
                f"min({text}) AS one, max({text}) AS other FROM {{ids}} GROUP BY name "
                "HAVING count(*) > 1) AS each_name"
            )
            alike = None if n_alike is None else (n_alike, one, other)
        return Ids(tuple(columns), n_records, n_missing, n_shared, most, person, alike)


def check_ids(
    table: StagingTable,
    columns: Sequence[str],
    accept: Collection[str],
    source: AnyTable,
    folder: Path,
) -> list[Remark]:
    """Refuse a table whose ids do not name persons; remarks on what was accepted.

    Args:
        table: the copy.
        columns: of its ids.
        accept: codes of what the custodian accepts.
        source: names the table.
        folder: for another copy, where one is needed.
    """
    chosen = ", ".join(f"staged.{quote_name(name)} AS id_{k}" for k, name in enumerate(columns))
    name = normalised_id_sql(len(columns))
    named = f"(SELECT *, {name} AS name FROM (SELECT {chosen} FROM staged))"
    found = Ids.count(
        columns,
        lambda query: table.connection.execute(query.format(ids=named)).fetchall(),
        has_texts="VARCHAR" in {table.types[name] for name in columns},
    )
    return refuse_persons_twice(
        found, accept, lambda persons: _person_query(source, persons, folder)
    )


def refuse_persons_twice(
    ids: Ids, accept: Collection[str], query: Callable[[Sequence[str]], str]
) -> list[Remark]:
    """Refuse ids that do not name persons; remarks on what was accepted.

    Args:
        ids: what they are like.
        accept: codes of what the custodian accepts.
        query: columns that name a person -> how to make one row of each, in words.
    """
    shown = ", ".join(ids.columns)
    if ids.n_missing:
        raise InvalidInputError(
            f"{shown} is missing in {ids.n_missing:,} of {ids.n_records:,} records: "
            "give each record an id, or leave it out"
        )
    if ids.n_shared:
        raise InvalidInputError(
            f"one row per person is needed, because every limit is on what is learnt about a row: "
            f"{ids.n_shared:,} of {ids.n_records:,} rows share their {shown} with others, up to "
            f"{ids.most:,} the same one; {query(ids.columns)}"
        )
    if ids.alike is not None and "ids" not in accept:
        number, one, other = ids.alike
        raise AcceptanceError(
            "ids",
            f"{number:,} of {ids.n_records:,} ids differ from another one only by the case of "
            f"letters or by zeros of a number, such as {one!r} and {other!r}: spell the ids of a "
            "person alike and make one row of them, or accept that these are different persons",
            ids=number,
            example=[one, other],
        )
    if ids.person is None:
        return []
    person, rows = ids.person
    if "rows" not in accept:
        raise AcceptanceError(
            "rows",
            f"{shown} tell rows apart only together: up to {rows:,} rows have the same {person}. "
            f"If {person} names a person, the rows of one person are answered apart and their bits "
            f"add up, to at most {rows:,} times every limit; {query([person])}",
            column=person,
            rows=rows,
        )
    return [Remark("rows_apart", {"column": person, "rows": rows})]


def _person_query(source: AnyTable, persons: Sequence[str], folder: Path) -> str:
    """The query that makes one row per person: what is constant kept, the rest side by side.

    Args:
        source: names the table; all of its columns count.
        persons: columns that name a person.
        folder: below which it is copied meanwhile.
    """
    found, listed = find_source(source), ", ".join(map(quote_name, persons))
    with scratch_folder(folder / "persons") as scratch, connect_file(scratch) as connection:
        with found.open(connection) as table:
            others = [name for name in table.types if name not in persons]
            read = table.scan([*persons, *others])
            connection.execute(f"CREATE TABLE read AS SELECT * FROM {read}")
        differing = ", ".join(
            f"count(DISTINCT coalesce(CAST({quote_name(name)} AS VARCHAR), '')) AS n_{k}"
            for k, name in enumerate(others)
        )
        summed = ", ".join(f"max(n_{k}), sum(n_{k}) = sum(times)" for k in range(len(others)))
        [figures] = connection.execute(
            f"SELECT {summed} FROM "
            f"(SELECT count(*) AS times, {differing} FROM read GROUP BY {listed})"
        ).fetchall()
        varying = [name for name, n in zip(others, figures[::2], strict=True) if n > 1]
        apart = [name for name, is_so in zip(others, figures[1::2], strict=True) if is_so]
        kinds = (_values(connection, name) for name in apart)
        kind, values = min(
            zip(apart, kinds, strict=True), key=lambda pair: len(pair[1]), default=("", [])
        )
    kept = [
        f"any_value({quote_name(name)}) AS {quote_name(name)}"
        for name in others
        if name not in varying
    ]
    beside = [
        f"any_value({quote_name(name)}) FILTER (WHERE {quote_name(kind)} = {quote_text(value)}) "
        f"AS {quote_name(f'{name}_{value}')}"
        for name in varying
        if name != kind
        for value in values
    ]
    is_whole = not varying or 0 < len(values) <= _MOST_SIDE_BY_SIDE
    chosen = ", ".join([listed, *kept, *(beside if is_whole else ["count(*) AS n_rows"])])
    advice = "" if is_whole else f" (and summarise {', '.join(varying)}, too)"
    return (
        f"this query makes it: SELECT {chosen} FROM {_table_in_sql(found.shown)} "
        f"GROUP BY {listed}{advice}"
    )


def _values(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """The first different values of a column, as texts."""
    rows = connection.execute(
        f"SELECT DISTINCT CAST({quote_name(name)} AS VARCHAR) AS value FROM read "
        f"ORDER BY value LIMIT {_MOST_SIDE_BY_SIDE + 1}"
    ).fetchall()
    return [str(value) for (value,) in rows]


def _table_in_sql(shown: str) -> str:
    """A source as SQL names it; of a database, the table there."""
    _, *table = re.split("::|#", shown, maxsplit=1)
    if table:
        return ".".join(map(quote_name, table[0].split(".")))
    return quote_text(f"{shown}*.parquet" if shown.endswith("/") else shown)
