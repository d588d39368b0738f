"""Tables to read, each named by one text, opened read-only with the types their columns have.

``patients.csv``, ``patients.parquet``, ``clinic.duckdb`` (its only table),
``clinic.duckdb::patients`` (or ``#patients``), ``postgresql://host/database#patients``; a table may
be ``schema.table``.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_file, quote_name, quote_text
from tacit.tables.nearest import nearest_first
from tacit.tables.sources import postgresql

DELIMITERS = (",", ";", "\t", "|")


def ragged_line(path: Path) -> str | None:
    """What is wrong with the first line that has not one field for each name, in words."""
    with _opened(path) as file:
        names = file.readline()
        delimiter = max(DELIMITERS, key=names.count)
        if delimiter not in names:
            return None
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        begins, n_names = 1, 0
        try:
            for fields in reader:
                n_names = n_names or len(fields)
                if fields and len(fields) != n_names:
                    have = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                    return f"line {begins} has {have} and the line of names has {n_names}"
                begins = reader.line_num + 1
        except csv.Error:
            return f"line {begins} has a quote that is not closed, or a very long field"
    return None


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield file


_FORMS = "give a .csv, .parquet or .duckdb file, or postgresql://host/database#table"

_CSV_OPTIONS = (
    "header = true",
    "skip = 0",  # else DuckDB skips lines until the rest looks regular
    "comment = ''",
    "quote = '\"'",
    "escape = '\"'",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be read.

    Attributes:
        types: DuckDB's type of each column.
        scan: names of columns -> what to write after FROM to read these; once.
    """

    types: Mapping[str, str]
    scan: Callable[[Sequence[str]], str]


@contextmanager
def opened(source: str, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
    """The table that a text names, for reading through ``connection``."""
    if postgresql.is_url(source):
        with postgresql.connected(source) as server:
            yield Table(server.types, lambda columns: server.scan(connection, columns))
        return
    match = re.fullmatch(r"(?P<path>.+?\.duckdb)((::|#)(?P<table>.+))?", source)
    path = _existing_file(match["path"] if match else source)
    if match:
        yield _duckdb_table(connection, path, match["table"])
    elif path.name.lower().endswith((".csv", ".csv.gz")):
        with _ragged_told(path):
            yield _csv_table(connection, path)
    elif path.suffix.lower() == ".parquet":
        yield _table(connection, f"read_parquet({quote_file(path)})")
    else:
        raise InvalidInputError(f"{source} is no table that tacit reads: {_FORMS}")


def _existing_file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise InvalidInputError(f"there is no file {text}: {_FORMS}")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{text} is empty: give a table with a line of names and rows")
    return path


def _table(connection: duckdb.DuckDBPyConnection, from_sql: str) -> Table:
    described = connection.execute(f"DESCRIBE SELECT * FROM {from_sql}").fetchall()
    return Table({name: sql_type for name, sql_type, *_ in described}, lambda _: from_sql)


def _csv_table(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    """A CSV file with the types that hold for all of it, found once."""
    file = quote_file(path)
    options = ", ".join((*_CSV_OPTIONS, "sample_size = -1"))
    [(delimiter, date_format, timestamp_format, columns)] = connection.execute(
        f"SELECT Delimiter, DateFormat, TimestampFormat, Columns FROM sniff_csv({file}, {options})"
    ).fetchall()
    types = {column["name"]: column["type"] for column in columns}
    if len(types) == 1:  # DuckDB's last resort where no delimiter fits every line
        _refuse_ragged(path)
    chosen = [*_CSV_OPTIONS, "auto_detect = false", f"delim = {quote_text(delimiter)}"]
    if date_format:
        chosen.append(f"dateformat = {quote_text(date_format)}")
    if timestamp_format:
        chosen.append(f"timestampformat = {quote_text(timestamp_format)}")
    pairs = (f"{quote_text(name)}: {quote_text(kind)}" for name, kind in types.items())
    chosen.append(f"columns = {{{', '.join(pairs)}}}")
    return Table(types, lambda _: f"read_csv({file}, {', '.join(chosen)})")


@contextmanager
def _ragged_told(path: Path) -> Iterator[None]:
    """Name the line where DuckDB, reading a CSV file, says only that it cannot."""
    try:
        yield
    except duckdb.InvalidInputException:
        _refuse_ragged(path)
        raise


def _refuse_ragged(path: Path) -> None:
    """Name the line that keeps a CSV file from being a table, if there is one."""
    line = ragged_line(path)
    if line is not None:
        raise InvalidInputError(
            f"{path} cannot be read: {line}; give every line one field for each name"
        )


def _duckdb_table(connection: duckdb.DuckDBPyConnection, path: Path, wanted: str | None) -> Table:
    connection.execute(f"ATTACH {quote_text(str(path))} AS source (TYPE duckdb, READ_ONLY)")
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = 'source' ORDER BY ALL"
    ).fetchall()
    tables = {
        name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in rows
    }
    if wanted is None and len(tables) != 1:
        raise InvalidInputError(
            f"{path} holds {len(tables)} tables ({nearest_first('', tables)}): "
            f"say which one, as in {path}::table"
        )
    chosen = wanted or next(iter(tables))
    if chosen not in tables:
        raise InvalidInputError(
            f"{path} has no table {chosen!r}: it has {nearest_first(chosen, tables)}"
        )
    schema, name = tables[chosen]
    return _table(connection, f"source.{quote_name(schema)}.{quote_name(name)}")
