"""DuckDB as it is opened here: what it may not do, and what it is understood to say."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.tables.connection import connect_file, connect_memory, connect_reader, lock, reason


@pytest.fixture
def locked() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_memory() as connection:
        lock(connection)
        yield connection


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{file}')",
        "COPY (SELECT 1) TO '{file}.out'",
        "ATTACH '{file}.duckdb'",
        "EXPORT DATABASE '{file}.out'",
        "LOAD httpfs",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '100GB'",
        "SELECT * FROM tmp_path",
    ],
)
def test_a_locked_connection_reaches_nothing(
    sql: str, locked: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    with pytest.raises(duckdb.Error):
        locked.execute(sql.format(file=file))
    assert list(tmp_path.iterdir()) == [file]


def test_no_extension_is_fetched_or_loaded_on_the_way(tmp_path: Path) -> None:
    for connected in (connect_memory(), connect_reader(), connect_file(tmp_path)):
        with connected as connection, pytest.raises(duckdb.Error):
            connection.execute("SELECT * FROM sqlite_scan('x', 'y')")


def test_a_reader_keeps_nothing_of_a_file(tmp_path: Path) -> None:
    """Not even where size and time of the file are as they were."""
    files = [tmp_path / f"{value}.parquet" for value in "ab"]
    for file in files:
        parquet.write_table(pa.table({"id": [file.stem]}), file)
        os.utime(file, (0, 0))
    assert len({file.stat().st_size for file in files}) == 1
    read = tmp_path / "read.parquet"
    for file in files:
        shutil.copy2(file, read)
        with connect_reader() as connection:
            assert connection.execute(f"FROM '{read}'").fetchall() == [(file.stem,)]
            kept = connection.execute("FROM duckdb_external_file_cache()").fetchall()
            assert kept == []


def test_readers_do_not_see_what_others_registered() -> None:
    with connect_reader() as one, connect_reader() as other:
        one.register("wanted", pa.table({"hash": ["a"]}))
        assert one.execute("FROM wanted").fetchall() == [("a",)]
        with pytest.raises(duckdb.Error, match="wanted"):
            other.execute("FROM wanted")
    with connect_reader() as later, pytest.raises(duckdb.Error, match="wanted"):
        later.execute("FROM wanted")


def test_a_reader_reads_in_a_fork() -> None:
    with connect_reader() as connection:
        connection.execute("SELECT sum(i) FROM range(1000000) t(i)")
    child = os.fork()
    if not child:
        with connect_reader() as connection:
            [(total,)] = connection.execute("SELECT sum(i) FROM range(1000000) t(i)").fetchall()
        os._exit(total != 499999500000)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Conversion Error: Could not\n\nLINE 1: select\n   ^", "Could not"),
        (
            "Invalid Input Error: CSV Error on Line: 2\nOriginal Line: a,b\nNot UTF-8.",
            "CSV Error on Line: 2; Not UTF-8",
        ),
        ("Out of Range Error: too large.\n", "too large"),
        ("IO: [libpq] failed: refused\n\tIs the server running?\n", "IO: [libpq] failed: refused"),
        ("", ""),
    ],
)
def test_reasons_are_one_line_without_data(message: str, line: str) -> None:
    assert reason(duckdb.Error(message)) == line
