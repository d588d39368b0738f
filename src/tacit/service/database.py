"""What a service remembers beside the ledger: who may call, and jobs, in the study's folder.

One SQLite file that only its owner can read. Losing it loses no promise: the ledger has all of
them. Secrets stand in it as SHA-256 hashes; they are random, so that nobody can guess them back.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InvalidInputError

_FORMAT = 3

_TABLES = """
CREATE TABLE tokens (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    removals INTEGER NOT NULL DEFAULT 0,
    made REAL NOT NULL,
    expires REAL NOT NULL
);
CREATE TABLE logins (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    expires REAL NOT NULL
);
CREATE TABLE failures (
    address TEXT NOT NULL,
    expires REAL NOT NULL
);
CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    csrf TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    removals INTEGER NOT NULL DEFAULT 0,
    token INTEGER REFERENCES tokens ON DELETE CASCADE,
    expires REAL NOT NULL
);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    arguments TEXT NOT NULL,
    party TEXT,
    removals INTEGER NOT NULL DEFAULT 0,
    by TEXT NOT NULL,
    state TEXT NOT NULL,
    phase TEXT NOT NULL DEFAULT '{}',
    entry INTEGER,
    result TEXT,
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    made REAL NOT NULL,
    changed REAL NOT NULL
);
"""

_WAIT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Database:
    """The service's file in a study's folder.

    Attributes:
        path: of the file.
    """

    path: Path

    @classmethod
    def open(cls, folder: Path) -> Database:
        """The file of a study's folder; made if it is not there.

        Raises:
            InvalidInputError: another version of tacit made it.
        """
        database = cls(folder / "service.sqlite")
        for path in (database.path, database.lock):
            # A file that is there is not opened: closing it would drop the locks that other
            # threads of this process hold on it, as POSIX has it.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with database.transaction() as connection:
            [found] = connection.execute("PRAGMA user_version").fetchone()
            if not found:
                for statement in _TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
            elif found != _FORMAT:
                raise InvalidInputError(
                    f"{database.path} has format {found}, and this version of tacit reads "
                    f"{_FORMAT} only: use the version that made it"
                )
        return database

    @property
    def lock(self) -> Path:
        """A file whose bytes stand for the jobs that run."""
        return self.path.with_suffix(".lock")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are on disk afterwards, or none of them after an error."""
        with closing(
            sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        ) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with."""
        with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
