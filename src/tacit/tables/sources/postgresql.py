"""Tables of a PostgreSQL database, streamed as Arrow batches in one read-only transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import duckdb

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.similar_names import nearest_first
from tacit.tables.connection import quote_name, reason
from tacit.tables.sources.source import MOST_DIGITS, Table

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

_AS_FLOAT = "::double precision"

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
    """A table of a PostgreSQL database: ``postgresql://host/database#schema.table``."""

    text: str

    @property
    def url(self) -> str:
        """Address of the database."""
        return self.text.partition("#")[0]

    @property
    def table(self) -> str:
        """Name of the table, perhaps ``schema.table``."""
        return self.text.partition("#")[2]

    @property
    def shown(self) -> str:
        """Without user, password and options."""
        url = re.sub(r"//.*@", "//", self.url).partition("?")[0]
        return f"{url}#{self.table}" if self.table else url

    @property
    def file(self) -> None:
        """None: it is on a server."""
        return

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table, in a transaction that only reads."""
        if not self.table:
            raise InvalidInputError(
                f"{self.shown} names no table: add it, as in {self.shown}#table"
            )
        try:
            from adbc_driver_manager import Error
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise InvalidInputError(
                f"{self.shown} needs a driver that is not installed: "
                "install tacit with its extra, tacit[postgresql]"
            ) from None
        try:
            with dbapi.connect(self.url) as server, server.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                schema, name, oid = _find_table(cursor, self)
                cursor.execute(_COLUMNS.format(oid=oid))
                columns = {name: _column(name, *each) for name, *each in cursor.fetchall()}
                types = {column: read.sql_type for column, read in columns.items()}
                from_sql = f"{quote_name(schema)}.{quote_name(name)}"
                yield Table(
                    types,
                    partial(_scan, connection, cursor, columns, from_sql),
                    look=partial(_look, cursor, columns, from_sql),
                )
        except Error as error:
            raise InvalidInputError(f"{self.shown} cannot be read: {reason(error)}") from None


def _look(
    cursor: Cursor, columns: Mapping[str, _Column], from_sql: str, names: Sequence[str]
) -> list[Remark]:
    """Different numbers that are the same as floats."""
    remarks = []
    for name in names:
        if not columns[name].asked.endswith(_AS_FLOAT):
            continue
        number, kept = quote_name(name), columns[name].asked
        cursor.execute(
            f"SELECT count(DISTINCT {number}), count(DISTINCT {kept}), "
            f"min({number}) FILTER (WHERE {number} <> {kept}::text::numeric)::text "
            f"FROM {from_sql}"
        )
        [(n_numbers, n_floats, example)] = cursor.fetchall()
        if n_numbers > n_floats:
            values = {"column": name, "numbers": n_numbers, "kept": n_floats, "example": example}
            remarks.append(Remark("numbers_merged", values))
    return remarks


def _scan(
    connection: duckdb.DuckDBPyConnection,
    cursor: Cursor,
    columns: Mapping[str, _Column],
    from_sql: str,
    names: Sequence[str],
) -> str:
    """Ask for some columns; what to write after FROM to read the answer, once."""
    chosen = [(quote_name(name), columns[name]) for name in names]
    asked = ", ".join(f"{column.asked} AS {name}" for name, column in chosen)
    cursor.execute(f"SELECT {asked} FROM {from_sql}")
    connection.register("incoming", cursor.fetch_record_batch())
    typed = (f"CAST({name} AS {column.sql_type}) AS {name}" for name, column in chosen)
    return f"(SELECT {', '.join(typed)} FROM incoming)"


def _find_table(cursor: Cursor, source: ServerTable) -> tuple[str, str, int]:
    """Schema, name and number of the table."""
    cursor.execute(_TABLES)
    found = {}
    for schema, name, is_visible, oid in cursor.fetchall():
        found[name if is_visible else f"{schema}.{name}"] = (schema, name, oid)
        if source.table == f"{schema}.{name}":
            found[source.table] = (schema, name, oid)
    if source.table not in found:
        raise InvalidInputError(
            f"{source.shown} is not there: the database has {nearest_first(source.table, found)}"
        )
    return found[source.table]


def _column(name: str, pg_type: str, full_type: str) -> _Column:
    quoted = quote_name(name)
    if pg_type in _SAME_TYPES:
        return _Column(quoted, _SAME_TYPES[pg_type])
    if pg_type != "numeric":
        return _Column(f"{quoted}::text", "VARCHAR")
    digits = re.fullmatch(r"numeric\((\d+),(\d+)\)", full_type)
    if digits is None or int(digits[1]) > MOST_DIGITS:
        return _Column(f"{quoted}{_AS_FLOAT}", "DOUBLE")
    # As text, because Arrow has no type for it here; NaN is a missing value, as everywhere.
    return _Column(f"NULLIF({quoted}, 'NaN')::text", f"DECIMAL({digits[1]},{digits[2]})")
