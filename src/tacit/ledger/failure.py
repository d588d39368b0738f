"""The one place where errors of the database drivers become errors of tacit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from tacit.errors import CorruptLedgerError, LedgerError

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
"""Beginning of a code (SQLite's name, or PostgreSQL's SQLSTATE) -> what it is, what to do.

The first that fits counts.
"""


@contextmanager
def failures_told(shown: str) -> Iterator[None]:
    """Raise LedgerError, or CorruptLedgerError, in one line for whatever the driver raises.

    Args:
        shown: the ledger's address without passwords.
    """
    try:
        yield
    except DBAPIError as error:
        raise _translated(error, shown) from error


def _translated(error: DBAPIError, shown: str) -> LedgerError:
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
