"""Connections and transactions: what each database needs so that a commit is for good."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from sqlalchemy import URL, Connection, Engine, create_engine, event

from tacit.errors import LedgerError
from tacit.ledger.address import shown_address, sqlite_file
from tacit.ledger.failure import failures_told
from tacit.ledger.folder import check_folder

LOCK_SECONDS = 60
"""How long a writer waits for the others; a write takes milliseconds."""

CONNECT_SECONDS = 10
"""How long to wait for a PostgreSQL server, unless the URL says ``connect_timeout``."""

_WRITES = "tacit_writes"


@dataclass(frozen=True, slots=True)
class Database:
    """A SQLite file or a PostgreSQL database.

    Attributes:
        engine: SQLAlchemy's pool of connections.
        shown: the address without passwords.
        has_place: whether there is something to connect to; connecting creates a SQLite file.
    """

    engine: Engine
    shown: str
    has_place: bool

    @classmethod
    def at(cls, url: URL) -> Database:
        """The database behind a URL of ``parse_address``; nothing is connected or created yet.

        Raises:
            LedgerError: the folder of a SQLite file cannot hold a ledger.
        """
        file = sqlite_file(url)
        if file is None:
            return cls(_postgresql(url), shown_address(url), has_place=True)
        check_folder(file.parent)
        return cls(_sqlite(url, file), shown_address(url), has_place=file.exists())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads."""
        with failures_told(self.shown), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: committed at the end, rolled back on any error.

        SQLite has one such transaction at a time; in PostgreSQL, lock the rows to rely on.
        """
        engine = self.engine.execution_options(**{_WRITES: True})
        with failures_told(self.shown), engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _is_writing(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(_WRITES))


def _sqlite(url: URL, file: Path) -> Engine:
    engine = create_engine(url, creator=lambda: _connected_sqlite(file), hide_parameters=True)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connected_sqlite(file: Path) -> sqlite3.Connection:
    _create_private(file)
    # The driver would begin too late and never IMMEDIATE: with isolation_level=None, we begin.
    connection = sqlite3.connect(
        file, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _leave_wal(connection)
        # EXTRA also syncs the folder after a commit has removed its journal: without that, a power
        # cut could bring the journal back, and roll back an entry whose release is out.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error:
        connection.close()
        raise
    # A damaged text is read all the same, so that verify can name its entry.
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    return connection


def _create_private(file: Path) -> None:
    """A new ledger can be read by its owner alone; SQLite gives its journal the same mode."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return  # it is there already; or SQLite says what is wrong


def _leave_wal(connection: sqlite3.Connection) -> None:
    """Keep every committed entry in the ledger's one file.

    In SQLite's WAL mode, which 0.1 used, an entry may lie in the file ``-wal`` for long after its
    release is out, and a copy of the ledger's file alone would lack it. Waits for others who use
    the file at this moment: the driver's timeout does not.
    """
    deadline = monotonic() + LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if _is_writing(connection) else "BEGIN")


def _postgresql(url: URL) -> Engine:
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
    try:
        # Whatever the server's default: a read after a lock was granted must show what the one
        # who held it has committed.
        engine = create_engine(
            url, isolation_level="READ COMMITTED", pool_pre_ping=True, hide_parameters=True
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            "a ledger in PostgreSQL needs its driver: pip install 'tacit[postgresql]'"
        ) from error
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _begin_postgresql(connection: Connection) -> None:
    if _is_writing(connection):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        # A server may be set to acknowledge commits before they are on disk.
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
