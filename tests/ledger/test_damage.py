"""Ledgers that are damaged, gone, too new or out of reach: one line that says what to do."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import psycopg
import pytest

from tacit.errors import CorruptLedgerError, LedgerError
from tacit.ledger import Entry, Ledger, database
from tests.ledger.chains import STUDY, chain, execute

PAGE = 4096
HEADER = 100


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite ledger of some pages."""
    path = tmp_path / "ledger.sqlite"
    with Ledger.create(path) as ledger:
        head = chain(ledger, 2)[-1].head
        for _ in range(20):
            head = ledger.append(STUDY, "release", {}, os.urandom(5000), head=head).head
    return path


def assert_one_line(error: pytest.ExceptionInfo[LedgerError]) -> None:
    assert "\n" not in str(error.value)
    assert ": " in str(error.value)  # what was seen: what to do


def test_a_garbage_header_is_corrupt(file: Path) -> None:
    damage(file, 0, b"garbage!" * 100)
    with pytest.raises(CorruptLedgerError, match=r"file is not a database.*restore") as error:
        Ledger.open(file)
    assert_one_line(error)


def test_a_truncated_file_is_corrupt(file: Path) -> None:
    os.truncate(file, 3 * PAGE)
    with pytest.raises(CorruptLedgerError, match=r"malformed.*restore") as error:
        read_everything(file)
    assert_one_line(error)


def test_a_malformed_page_is_corrupt_or_was_not_needed(file: Path) -> None:
    """Whichever page is damaged, nobody reads entries that were not appended."""
    whole = file.read_bytes()
    entries = read_everything(file)
    errors = []
    for page in range(len(whole) // PAGE):
        damage(file, page * PAGE + (HEADER if page == 0 else 0), b"\xa5" * 2000)
        try:
            assert read_everything(file) == entries
        except CorruptLedgerError as error:
            errors.append(str(error))
        file.write_bytes(whole)
    assert len(errors) > 20  # one for each large payload at least
    assert "\n" not in "".join(errors)


def test_a_file_of_another_program_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    with pytest.raises(LedgerError, match=r"there is no ledger in sqlite:.*other.sqlite"):
        Ledger.open(path)


def test_an_empty_file_is_no_ledger(file: Path) -> None:
    os.truncate(file, 0)
    with pytest.raises(LedgerError, match=r"there is no ledger in .*restore it"):
        Ledger.open(file)


def test_nothing_is_created_by_opening(url: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger in") as error:
        Ledger.open(url)
    assert_one_line(error)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_the_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="unable to open database file") as error:
        Ledger.open(tmp_path)
    assert_one_line(error)


def test_missing_tables_are_corrupt(url: str) -> None:
    with Ledger.create(url) as ledger:
        chain(ledger, 2)
        execute(url, "DROP TABLE tacit_entries")
        with pytest.raises(CorruptLedgerError, match=r"tacit_entries.*restore") as error:
            ledger.entries(STUDY)
        assert_one_line(error)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@127.0.0.1:1/db",
        "postgresql://me@127.0.0.1:1/db?password=secret",
        "postgresql://me:secret@/db?host=/nowhere",
        "postgresql://me:secret@127.0.0.1:1/db?unknown=secret",
        "postgresql://me:secret@localhost:1/db?connect_timeout=3",
    ],
)
def test_a_server_out_of_reach_is_said_without_the_password(address: str) -> None:
    with pytest.raises(LedgerError, match="check that the server runs") as error:
        Ledger.open(address)
    assert_one_line(error)
    assert "secret" not in str(error.value)


def test_a_server_that_goes_away_is_said(postgres_server: str, postgres_url: str) -> None:
    """A connection that the server ended is noticed, and replaced the next time."""
    with Ledger.create(postgres_url) as ledger:
        entries = chain(ledger, 2)
        end_other_connections(postgres_server)
        assert ledger.entries(STUDY) == entries


def test_a_locked_ledger_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 1)
    with Ledger.create(url) as ledger, Ledger.open(url) as other:
        head = chain(ledger, 2)[-1].head
        with other._database.writing() as connection:
            connection.exec_driver_sql(f"SELECT 1 FROM tacit_studies {for_update(url)}")
            with pytest.raises(LedgerError, match="another process keeps it locked") as error:
                ledger.append(STUDY, "release", {}, head=head)
        assert_one_line(error)
        assert ledger.append(STUDY, "release", {}, head=head).number == 3


def test_a_file_that_another_program_locks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0)
    file = tmp_path / "ledger.sqlite"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError, match="another process keeps it locked"):
        Ledger.create(file)
    other.close()
    Ledger.create(file).close()


def test_a_full_disk_is_said(sqlite_url: str) -> None:
    with Ledger.create(sqlite_url) as ledger:
        entries = chain(ledger, 2)
        with ledger._database.reading() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match=r"full.*free some space") as error:
            ledger.append(STUDY, "release", {}, bytes(10**6), head=entries[-1].head)
        assert_one_line(error)
        assert ledger.entries(STUDY) == entries


def test_a_user_without_rights_is_said(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        schema = connection.execute("SELECT current_schema").fetchone()
        connection.execute("CREATE ROLE stranger LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema[0]} TO stranger")
    with pytest.raises(LedgerError, match=r"permission denied.*grant") as error:
        Ledger.create(postgres_url.replace("//postgres:", "//stranger:"))
    assert_one_line(error)


def test_a_missing_driver_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"its extra, tacit\[postgresql\]"):
        Ledger.open("postgresql://host/db")


def damage(file: Path, offset: int, garbage: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(garbage)


def read_everything(file: Path) -> list[Entry]:
    with Ledger.open(file) as ledger:
        return ledger.entries(STUDY)


def end_other_connections(server: str) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"{others}'client backend' AND pid <> pg_backend_pid()")


def for_update(url: str) -> str:
    return "" if url.startswith("sqlite") else "FOR UPDATE"
