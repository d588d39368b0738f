"""Tables of a PostgreSQL database, streamed as Arrow batches in one read-only transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_name, reason
from tacit.tables.nearest import nearest_first

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Cursor

_SAME_TYPES = {
    "bool": "BOOLEAN",
    "bytea": "BLOB",
    "date": "DATE",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
"""PostgreSQL's types that arrive as DuckDB's; all others but numeric are read as texts."""

_MOST_DIGITS = 38
"""Of a DECIMAL in DuckDB."""

_TABLES = """
SELECT n.nspname, c.relname, pg_table_is_visible(c.oid), c.oid::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""

_COLUMNS = """
SELECT a.attname, t.typname, format_type(a.atttypid, a.atttypmod)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@dataclass(frozen=True, slots=True)
class _Column:
    """How a column is read.

    Attributes:
        asked: the expression that PostgreSQL evaluates.
        sql_type: DuckDB's type of it.
    """

    asked: str
    sql_type: str


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table of a server that we are connected to."""

    cursor: Cursor
    from_sql: str
    columns: dict[str, _Column]

    @property
    def types(self) -> dict[str, str]:
        """DuckDB's type of each column."""
        return {name: column.sql_type for name, column in self.columns.items()}

    def scan(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> str:
        """Ask for some columns; what to write after FROM to read the answer, once."""
        chosen = [(quote_name(name), self.columns[name]) for name in names]
        asked = ", ".join(f"{column.asked} AS {name}" for name, column in chosen)
        self.cursor.execute(f"SELECT {asked} FROM {self.from_sql}")
        connection.register("incoming", self.cursor.fetch_record_batch())
        typed = (f"CAST({name} AS {column.sql_type}) AS {name}" for name, column in chosen)
        return f"(SELECT {', '.join(typed)} FROM incoming)"


def is_url(source: str) -> bool:
    """Whether a text names a PostgreSQL table."""
    return source.startswith(("postgresql://", "postgres://"))


def without_secrets(source: str) -> str:
    """The text without user, password and options, for messages."""
    url, _, table = source.partition("#")
    return re.sub(r"//.*@", "//", url).partition("?")[0] + (f"#{table}" if table else "")


@contextmanager
def connected(source: str) -> Iterator[ServerTable]:
    """The table that ``postgresql://...#table`` names, in a transaction that only reads."""
    url, _, wanted = source.partition("#")
    shown = without_secrets(source)
    if not wanted:
        raise InvalidInputError(f"{shown} names no table: add it, as in {shown}#table")
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise InvalidInputError(
            f"{shown} needs a driver that is not installed: pip install 'tacit[postgresql]'"
        ) from None
    try:
        with dbapi.connect(url) as server, server.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield _table(cursor, wanted, shown)
    except Error as error:
        raise InvalidInputError(f"{shown} cannot be read: {reason(error)}") from None


def _table(cursor: Cursor, wanted: str, shown: str) -> ServerTable:
    cursor.execute(_TABLES)
    found = {}
    for schema, name, is_visible, oid in cursor.fetchall():
        found[name if is_visible else f"{schema}.{name}"] = (schema, name, oid)
        if wanted == f"{schema}.{name}":
            found[wanted] = (schema, name, oid)
    if wanted not in found:
        raise InvalidInputError(
            f"{shown} is not there: the database has {nearest_first(wanted, found)}"
        )
    schema, name, oid = found[wanted]
    cursor.execute(_COLUMNS.format(oid=oid))
    columns = {column: _column(column, *types) for column, *types in cursor.fetchall()}
    return ServerTable(cursor, f"{quote_name(schema)}.{quote_name(name)}", columns)


def _column(name: str, pg_type: str, full_type: str) -> _Column:
    quoted = quote_name(name)
    if pg_type in _SAME_TYPES:
        return _Column(quoted, _SAME_TYPES[pg_type])
    if pg_type != "numeric":
        return _Column(f"{quoted}::text", "VARCHAR")
    digits = re.fullmatch(r"numeric\((\d+),(\d+)\)", full_type)
    if digits is None or int(digits[1]) > _MOST_DIGITS:
        return _Column(f"{quoted}::double precision", "DOUBLE")
    # As text, because Arrow has no type for it here; NaN is a missing value, as everywhere.
    return _Column(f"NULLIF({quoted}, 'NaN')::text", f"DECIMAL({digits[1]},{digits[2]})")
