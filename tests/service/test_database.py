"""The service's file: its locks hold whatever other threads do."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Thread

from tacit.service.access import PARTY, Access
from tacit.service.database import Database

TRY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError:
    sys.exit(7)
"""


def is_locked(path: Path) -> bool:
    """Whether another process cannot write now."""
    return subprocess.run([sys.executable, "-c", TRY, str(path)], check=False).returncode == 7


def test_opening_it_again_drops_no_lock(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when any descriptor of it is closed."""
    database = Database.open(tmp_path)
    assert not is_locked(database.path)
    with database.transaction():
        other = Thread(target=Database.open, args=(tmp_path,))
        other.start()
        other.join(0.5)
        assert is_locked(database.path)
    other.join()
    assert not is_locked(database.path)


def test_a_token_that_needed_approval_ends(tmp_path: Path) -> None:
    """Format 1 had it by token: such a token must not open more than it did."""
    access = Access(Database.open(tmp_path))
    secrets = [access.issue_token(PARTY, name) for name in ("lab-a", "lab-b")]
    sessions = [access.log_in(secret, "here") or "" for secret in secrets]
    with sqlite3.connect(access.database.path) as connection:
        for table in ("tokens", "sessions"):
            connection.execute(f"ALTER TABLE {table} ADD needs_approval INTEGER DEFAULT 0")
            connection.execute(f"UPDATE {table} SET needs_approval = (name = 'lab-a')")
        connection.execute("DROP TABLE failures")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    for _ in range(2):  # the second time it is as it should be
        access = Access(Database.open(tmp_path))
        assert [access.find_token(each) is not None for each in secrets] == [False, True]
        assert [access.find_session(each) is not None for each in sessions] == [False, True]
        assert access.log_in("wrong", "here") is None
