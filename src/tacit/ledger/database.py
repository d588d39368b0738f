"""The databases that a ledger can be in: addresses, connections, transactions, failures.

What each database needs so that a commit is for good is decided here, and nowhere else.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryFile

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError

from tacit.errors import CorruptLedgerError, InvalidInputError, LedgerError
from tacit.ledger.schema import versions

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
            return cls(_postgresql_engine(url), shown_address(url), has_place=True)
        check_folder(file.parent)
        return cls(_sqlite_engine(url, file), shown_address(url), has_place=file.exists())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads."""
        with _translate_failures(self.shown), self.engine.connect() as connection:
            connection.begin()
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: committed at the end, rolled back on any error.

        SQLite has one such transaction at a time; in PostgreSQL, lock the rows to rely on.
        """
        engine = self.engine.execution_options(**{_WRITES: True})
        with _translate_failures(self.shown), engine.begin() as connection:
            yield connection

    def format(self) -> str | None:
        """The format of the ledger's tables; ``None`` if the database holds no ledger."""
        if not self.has_place:
            return None
        with self.reading() as connection:
            if not inspect(connection).has_table(versions.name):
                return None
            found: str | None = connection.execute(select(versions.c.version_num)).scalar()
            return found

    def rewrite(self, name: str) -> None:
        """Write a table anew, so that its files hold nothing of rows that were changed.

        SQLite overwrites what is changed at once.
        """
        if self.engine.dialect.name == "postgresql":
            engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
            with _translate_failures(self.shown), engine.connect() as connection:
                connection.exec_driver_sql(f"VACUUM FULL {name}")

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _is_writing(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(_WRITES))


def _sqlite_engine(url: URL, file: Path) -> Engine:
    engine = create_engine(url, creator=lambda: _connect_sqlite(file), hide_parameters=True)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connect_sqlite(file: Path) -> sqlite3.Connection:
    _create_private(file)
    # isolation_level=None: we begin transactions. The driver begins too late, and never IMMEDIATE.
    connection = sqlite3.connect(
        file, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # EXTRA also syncs the folder after a commit has removed its journal: without that, a power
        # cut could bring the journal back, and roll back an entry whose release is out.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        # What is replaced, such as hashes of the ids of erased records, is overwritten with zeros.
        connection.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error:
        connection.close()
        raise
    # Read damaged texts, too, so that verify can name their entries.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return connection


def _create_private(file: Path) -> None:
    """A new ledger can be read by its owner alone; SQLite gives its journal the same mode."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return  # it is there already; or SQLite says what is wrong


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if _is_writing(connection) else "BEGIN")


MOUNTS = Path("/proc/self/mountinfo")

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.ceph",
        "fuse.davfs2",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb2",
        "smb3",
        "smbfs",
    }
)
"""Where SQLite's locks and shared memory do not hold between machines (sqlite.org/wal.html)."""

_FIX = "keep the ledger in a local, writable folder or name postgresql://... as its place"


def check_folder(folder: Path, mount_table: Path = MOUNTS) -> None:
    """Raise LedgerError unless SQLite can keep a ledger in this folder.

    Args:
        folder: where the file is or will be.
        mount_table: without one, as outside Linux, network file systems are not recognised.
    """
    if not folder.is_dir():
        raise LedgerError(
            f"the ledger's folder {folder} does not exist: create it for a "
            f"new ledger, put it back if it was moved, or {_FIX}"
        )
    mounts = mount_table.read_text(errors="surrogateescape") if mount_table.exists() else ""
    kind = file_system(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise LedgerError(
            f"the folder {folder} is on a network file system ({kind}), "
            f"where SQLite can lose entries: {_FIX}"
        )
    _check_writable(folder)


def file_system(path: PurePath, mounts: str) -> str | None:
    """Type of the file system that holds an absolute path; ``None`` if the table does not say.

    Args:
        path: without symbolic links.
        mounts: text of /proc/self/mountinfo (proc_pid_mountinfo(5)): the mount point is the fifth
            field, the type the first after a lone dash.
    """
    deepest, kind = -1, None
    for line in mounts.splitlines():
        place, _, source = line.partition(" - ")
        mount_point = PurePath(_unescaped(place.split()[4]))
        depth = len(mount_point.parts)
        # A later mount on the same point hides the earlier one.
        if path.is_relative_to(mount_point) and depth >= deepest:
            deepest, kind = depth, source.split()[0]
    return kind


def _unescaped(field: str) -> str:
    """Blanks and backslashes stand as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def _check_writable(folder: Path) -> None:
    """Try to write: mode bits do not stop root, and do not show a file system mounted read-only."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(b"\0")
    except OSError as error:
        raise LedgerError(
            f"the folder {folder} cannot be written ({error.strerror}): {_FIX}"
        ) from error


def _postgresql_engine(url: URL) -> Engine:
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
    try:
        # The server's default may differ. After a lock is granted, a read must show what the
        # holder before us has committed.
        engine = create_engine(
            url, isolation_level="READ COMMITTED", pool_pre_ping=True, hide_parameters=True
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            "a ledger in PostgreSQL needs its driver: install tacit with its extra, "
            "tacit[postgresql]"
        ) from error
    event.listen(engine, "begin", _begin_postgresql)
    return engine


def _begin_postgresql(connection: Connection) -> None:
    if _is_writing(connection):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        # A server may be set to acknowledge commits before they are on disk.
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")


_FORMS = "give sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def parse_address(address: str | Path) -> URL:
    """The URL for SQLAlchemy; a ``Path`` is a SQLite file.

    Raises:
        InvalidInputError: neither of the two forms; the message does not repeat the address,
            which may hold a password.
    """
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address.absolute()))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise InvalidInputError(f"the ledger's address is no URL: {_FORMS}") from None
    if url.drivername == "sqlite":
        return _sqlite_url(url)
    if url.drivername in {"postgres", "postgresql", "postgresql+psycopg"}:
        return _postgresql_url(url)
    raise InvalidInputError(f"a ledger cannot be in {url.drivername!r}: {_FORMS}")


def absolute_address(address: str | Path) -> str:
    """The same address, such that it is found from every folder; it may hold a password."""
    return parse_address(address).render_as_string(hide_password=False)


def sqlite_file(url: URL) -> Path | None:
    """The file of a SQLite ledger; ``None`` for PostgreSQL."""
    return Path(str(url.database)) if url.drivername == "sqlite" else None


def shown_address(url: URL) -> str:
    """The URL as people write it, without its password or anything else that is not a place."""
    place = {name: value for name, value in url.query.items() if name in {"host", "port"}}
    plain = url.set(drivername=url.get_backend_name(), query=place)
    return plain.render_as_string(hide_password=True)


def _sqlite_url(url: URL) -> URL:
    if url.host or url.query or url.database in {None, "", ":memory:"}:
        raise InvalidInputError(
            "a SQLite ledger is a file and nothing else: give sqlite:///FILE for a relative path "
            "or sqlite:////FOLDER/FILE for an absolute one"
        )
    return parse_address(Path(str(url.database)))


def _postgresql_url(url: URL) -> URL:
    if "@" in (url.host or ""):
        raise InvalidInputError("the ledger's URL has more than one @: write %40 inside a password")
    return url.set(drivername="postgresql+psycopg")


_RESTORE = "restore it from a backup, then compare it with your receipts"
_WAIT = "another process keeps it locked: end that process or try again"
_ACCESS = "check its permissions and the folder's"
_SPACE = "free some space on its disk and try again"

_MEANINGS: tuple[tuple[str, type[LedgerError], str], ...] = (
    ("SQLITE_CORRUPT", CorruptLedgerError, _RESTORE),
    ("SQLITE_NOTADB", CorruptLedgerError, _RESTORE),
    ("SQLITE_ERROR", CorruptLedgerError, _RESTORE),  # our statements fit our tables
    ("SQLITE_BUSY", LedgerError, _WAIT),
    ("SQLITE_FULL", LedgerError, _SPACE),
    ("SQLITE_READONLY", LedgerError, _ACCESS),
    ("SQLITE_CANTOPEN", LedgerError, _ACCESS),
    ("SQLITE", LedgerError, "check its disk and try again"),
    ("XX", CorruptLedgerError, _RESTORE),  # internal errors, damaged data and indexes
    ("42501", LedgerError, "let its owner grant this user access"),
    ("42", CorruptLedgerError, _RESTORE),  # our statements fit our tables
    ("55P03", LedgerError, _WAIT),
    ("53100", LedgerError, _SPACE),
    ("", LedgerError, "check that the server runs and that the address is right"),
)
"""Beginning of a code (SQLite's name, or PostgreSQL's SQLSTATE), the error, what to do.

The first row that fits counts.
"""


@contextmanager
def _translate_failures(shown: str) -> Iterator[None]:
    """Raise LedgerError, or CorruptLedgerError, in one line for every error of the driver.

    Args:
        shown: the ledger's address without passwords.
    """
    try:
        yield
    except DBAPIError as error:
        raise _translate(error, shown) from error


def _translate(error: DBAPIError, shown: str) -> LedgerError:
    code = _code(error.orig)
    kind, advice = next(
        (kind, advice) for start, kind, advice in _MEANINGS if code.startswith(start)
    )
    said = str(error.orig).partition("\n")[0]
    return kind(f"the ledger {shown} cannot be used ({said}): {advice}")


def _code(error: BaseException | None) -> str:
    if isinstance(error, sqlite3.Error):
        return str(getattr(error, "sqlite_errorname", ""))
    return str(getattr(error, "sqlstate", None) or "")
