"""The service's file: its locks hold whatever other threads do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tacit.errors import InvalidInputError
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


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    with Database.open(tmp_path).transaction() as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(InvalidInputError, match=r"service.sqlite has format 1, and .* reads 3"):
        Database.open(tmp_path)
