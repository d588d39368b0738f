"""DuckDB as tacit opens it, and how names, values and errors are written in its SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

MEMORY_LIMIT = "512MB"
"""DuckDB's share of the 1 GB that a table of any length may take; it spills to disk beyond."""

_MOST_SHOWN = 80

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": MEMORY_LIMIT,
}
_CONFIG_IN_MEMORY = {**_CONFIG, "temp_directory": ""}


@contextmanager
def connect_reader() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the process's one database in memory, for queries that only read files.

    A database of one's own takes 17 ms to open, and this 0.2 ms. Nothing of a file is kept.
    """
    with _interruptible(), _database_of(os.getpid()).cursor() as connection:
        yield _in_utc(connection)


@cache
def _database_of(process: int) -> duckdb.DuckDBPyConnection:
    """Opened once in a process: DuckDB's threads do not follow into a fork."""
    config = {**_CONFIG_IN_MEMORY, "enable_external_file_cache": False}
    return duckdb.connect(":memory:", config=config)


@contextmanager
def connect_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that may read files, and spills nowhere."""
    with _interruptible(), duckdb.connect(":memory:", config=_CONFIG_IN_MEMORY) as connection:
        yield _in_utc(connection)


@contextmanager
def connect_file(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in ``folder`` for tables that may not fit into memory, in no order of rows."""
    config = {
        **_CONFIG,
        "temp_directory": str(folder / "spill"),
        "preserve_insertion_order": False,
    }
    with _interruptible(), duckdb.connect(folder / "staging.duckdb", config=config) as connection:
        _in_utc(connection)
        # It reads bounds in Parquet files, which leave NaN out, and would make isnan always false.
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        yield connection


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C during a query; DuckDB raises an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From now on no file, no network and no change of settings, whatever the SQL says."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _in_utc(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("SET TimeZone = 'UTC'")  # the text of a timestamp depends on it
    return connection


def quote_name(name: str) -> str:
    """A column or table by its name, whatever characters are in it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A text value."""
    return "'" + text.replace("'", "''") + "'"


def shortened(text: str) -> str:
    """SQL as it is quoted in a message: in one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}..."


def quote_file(path: Path) -> str:
    """A file to read, and no other that its name could be a pattern for."""
    return quote_text("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path)))


def reason(error: Exception) -> str:
    """What DuckDB, a driver or the system complains about, in one line, without data it quotes."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    noise = ("Original Line", "Possible", "LINE ", "Query was", " ", "\t", "^")
    lines = [line for line in str(error).splitlines() if line and not line.startswith(noise)]
    kind = re.compile(r"^[A-Z][\w ]* Error: ")
    return "; ".join(kind.sub("", line).rstrip(" .:") for line in lines[:2])
