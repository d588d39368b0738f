"""What the ledger reads and inserts, within a transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from sqlalchemy import Connection, insert, select

from tacit.ledger.entry import Head
from tacit.ledger.schema import entries, ledgers, studies
from tacit.ledger.stored import StoredEntry, StoredStudy

_ROWS_AT_ONCE = 64
"""Rows held in memory while a chain is walked; a payload may be large."""


def salt(connection: Connection) -> object:
    """What is stored as the ledger's salt; ``None`` if nothing is."""
    return connection.execute(select(ledgers.c.salt)).scalar()


def lock_registrations(connection: Connection) -> None:
    """Wait until no other transaction registers a study; SQLite writers wait at their start."""
    connection.execute(select(ledgers.c.id).with_for_update())


def lock_study(connection: Connection, study: str) -> None:
    """Wait until no other transaction appends to the study; SQLite writers wait at their start."""
    connection.execute(select(studies.c.study).where(studies.c.study == study).with_for_update())


def registrations(connection: Connection) -> Iterator[StoredStudy]:
    """Every study's row."""
    for row in connection.execute(select(studies)):
        yield StoredStudy(*row)


def registration(connection: Connection, study: str) -> StoredStudy | None:
    """The row of one study."""
    row = connection.execute(select(studies).where(studies.c.study == study)).one_or_none()
    return None if row is None else StoredStudy(*row)


def insert_registration(connection: Connection, new: StoredStudy) -> None:
    """Add a study's row."""
    connection.execute(insert(studies), asdict(new))


def last_head(connection: Connection, study: str) -> Head | None:
    """The number and hash of the study's last entry."""
    ends = select(entries.c.number, entries.c.hash).where(entries.c.study == study)
    row = connection.execute(ends.order_by(entries.c.number.desc()).limit(1)).one_or_none()
    return None if row is None else Head(*row)


def hash_of(connection: Connection, study: str, number: int) -> str | None:
    """The stored hash of one entry."""
    key = (entries.c.study == study, entries.c.number == number)
    found: str | None = connection.execute(select(entries.c.hash).where(*key)).scalar()
    return found


def entries_after(connection: Connection, study: str, number: int) -> Iterator[StoredEntry]:
    """The study's entries above ``number``, in order, a few in memory at a time.

    Above 0 are all of them, also those that an editor gave a number that none can have.
    """
    rows = select(entries).where(entries.c.study == study)
    if number:
        rows = rows.where(entries.c.number > number)
    streamed = connection.execution_options(yield_per=_ROWS_AT_ONCE)
    for row in streamed.execute(rows.order_by(entries.c.number)):
        yield StoredEntry(*row)


def insert_entry(connection: Connection, new: StoredEntry) -> None:
    """Add an entry; the caller holds the study's lock."""
    connection.execute(insert(entries), asdict(new))
