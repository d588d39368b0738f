"""A source read once: the columns that matter, copied to disk with the types that are stored.

Everything after that reads the copy, so a source that is slow, or changed meanwhile, does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.similar_names import nearest_first
from tacit.storage import scratch_folder
from tacit.tables.connection import connect_file, quote_name, reason
from tacit.tables.sources.header import check_case
from tacit.tables.sources.source import AnyTable, Table, find_source

_STORED = {
    "BIGINT": {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"},
    "UBIGINT": {"UBIGINT"},
    "DECIMAL(38,0)": {"HUGEINT", "UHUGEINT", "BIGNUM"},
    "BOOLEAN": {"BOOLEAN"},
    "DATE": {"DATE"},
    "TIME": {"TIME"},
    "TIMESTAMP": {
        "TIMESTAMP",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "TIMESTAMP_NS",
        "TIMESTAMP WITH TIME ZONE",
    },
    # The last is DuckDB's type of a NULL that may be of any.
    "VARCHAR": {"VARCHAR", "UUID", "JSON", '"NULL"'},
}
"""Stored type -> the types that are stored as it."""

_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
_BLANKS = " || ".join(f"chr({code})" for code in (9, 10, 13, 32, 160))
"""SQL of the blanks that may stand around an id: tab, line ends, blank, no-break blank."""


@dataclass(frozen=True, slots=True, eq=False)
class StagingTable:
    """A copy of some columns.

    Attributes:
        connection: to a database whose table ``staged`` is the copy.
        types: the stored type of each column.
        n_records: how many rows there are.
        remarks: what the custodian should know, gathered while its columns are looked at.
        zoned: columns of times that have a time zone in the source; here they are in UTC.
    """

    connection: duckdb.DuckDBPyConnection
    types: dict[str, str]
    n_records: int
    remarks: list[Remark] = field(default_factory=list)
    zoned: frozenset[str] = frozenset()

    def count(self, rows: str = "staged") -> int:
        """How many rows there are in a table of the connection, or of what follows FROM."""
        [(number,)] = self.connection.execute(f"SELECT count(*) FROM {rows}").fetchall()
        return int(number)

    def values(self, name: str) -> str:
        """What to write after FROM to read a column's values: ``value``, and how many ``times``."""
        return f"(SELECT {quote_name(name)} AS value, 1 AS times FROM staged)"

    def retype(self, name: str, stored_type: str, convert: Callable[[str], str]) -> None:
        """Give a column another type; ``convert`` takes SQL of a value to SQL of the new one."""
        column = quote_name(name)
        self.connection.execute(
            f"ALTER TABLE staged ALTER COLUMN {column} TYPE {stored_type} USING {convert(column)}"
        )
        self.types[name] = stored_type

    def first_records(
        self, name: str, is_wanted: Callable[[str], str], id_columns: Sequence[str], n: int
    ) -> list[tuple[object, ...]]:
        """The first records of those with a wanted value: the value, then the ids."""
        columns = ", ".join(map(quote_name, (name, *id_columns)))
        return self.connection.execute(
            f"SELECT {columns} FROM staged WHERE {is_wanted(quote_name(name))} "
            f"ORDER BY ALL LIMIT {n:d}"
        ).fetchall()


@contextmanager
def stage(
    source: AnyTable,
    columns: Sequence[str],
    folder: Path,
    *,
    ids: Sequence[str] = (),
    is_in_order: bool = False,
) -> Iterator[StagingTable]:
    """The named columns of a source, copied below ``folder`` for as long as they are needed.

    Args:
        source: names the table.
        columns: to copy.
        folder: for the copy.
        ids: those of the columns that have ids: see ``id_text``.
        is_in_order: whether rows keep their order, which takes longer.
    """
    found = find_source(source)
    with scratch_folder(folder / "staging") as scratch, ExitStack() as open_files:
        try:
            connection = open_files.enter_context(connect_file(scratch))
            if is_in_order:
                connection.execute("SET preserve_insertion_order = true")
            with found.open(connection) as table:
                check_case(columns, table.names, found.shown)
                # A column that is not there is refused next, with the names of others.
                remarks = table.look([name for name in columns if name in table.types])
                chosen, types = stored_columns(table, columns, ids, found.shown)
                scanned = table.scan(columns)
                connection.execute(f"CREATE TABLE staged AS SELECT {chosen} FROM {scanned}")
                zoned = zoned_columns(table)
        except duckdb.Error as error:
            raise InvalidInputError(
                f"{found.shown} cannot be read: {reason(error)}; check it, and the room on the disk"
            ) from None
        [(n_records,)] = connection.execute("SELECT count(*) FROM staged").fetchall()
        if n_records == 0:
            raise InvalidInputError(
                f"{found.shown} has no rows: there is nobody to release data about"
            )
        yield StagingTable(connection, types, n_records, remarks, zoned)


def zoned_columns(table: Table) -> frozenset[str]:
    """The columns of dates with times and a time zone."""
    return frozenset(name for name, each in table.types.items() if each in _ZONED)


def stored_columns(
    table: Table, columns: Sequence[str], ids: Sequence[str], shown: str
) -> tuple[str, dict[str, str]]:
    """SQL of columns in their stored form, to select from a table, and the stored type of each."""
    for name in columns:
        if name in table.index:
            raise InvalidInputError(
                f"{name!r} is the index of {shown}, which is not read: .reset_index() makes a "
                "column of it"
            )
        if name not in table.types:
            raise InvalidInputError(
                f"there is no column {name!r} in {shown}: it has {nearest_first(name, table.types)}"
            )
    stored = {
        name: store(f"column {name!r}", quote_name(name), table.types[name]) for name in columns
    }
    for name in ids:
        sql, stored_type = stored[name]
        if stored_type == "VARCHAR":
            stored[name] = f"nullif({id_text(sql)}, '')", stored_type
    chosen = ", ".join(f"{sql} AS {quote_name(name)}" for name, (sql, _) in stored.items())
    return chosen, {name: stored_type for name, (_, stored_type) in stored.items()}


def id_text(expression: str) -> str:
    """SQL of a text as ids are compared: composed (NFC), and without blanks around it."""
    return f"nfc_normalize(trim({expression}, {_BLANKS}))"


def store(what: str, expression: str, sql_type: str) -> tuple[str, str]:
    """SQL that turns an expression into its stored form, and the stored type.

    NaN becomes NULL and -0.0 becomes 0.0: both would otherwise be values that differ from
    themselves, or look alike and differ.
    """
    if sql_type in ("FLOAT", "DOUBLE"):
        # Through its digits, so that 0.1 as a FLOAT becomes 0.1 as a DOUBLE.
        double = (
            f"CAST(CAST({expression} AS VARCHAR) AS DOUBLE)" if sql_type == "FLOAT" else expression
        )
        return f"CASE WHEN isnan({double}) THEN NULL ELSE {double} + 0.0 END", "DOUBLE"
    if sql_type == "BLOB":
        return f"hex({expression})", "VARCHAR"
    if sql_type == "TIME WITH TIME ZONE":  # also any time that Arrow 18 wrote to Parquet
        return f"CAST({expression} AT TIME ZONE 'UTC' AS TIME)", "TIME"
    if sql_type == "TIMESTAMPTZ_NS":  # DuckDB 2 knows no shorter way
        return f"CAST(CAST({expression} AS TIMESTAMPTZ) AS TIMESTAMP)", "TIMESTAMP"
    if re.fullmatch(r"DECIMAL\(\d+,\d+\)", sql_type):
        return f"CAST({expression} AS {sql_type})", sql_type
    known = "VARCHAR" if sql_type.startswith("ENUM(") else sql_type
    stored = next((stored for stored, types in _STORED.items() if known in types), None)
    if stored is None:
        raise InvalidInputError(
            f"{what} has type {sql_type}: tacit reads texts, numbers, booleans, dates "
            "and times; turn it into one of these first"
        )
    return f"CAST({expression} AS {stored})", stored
