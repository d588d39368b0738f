"""Walking a study's chain: what was changed, removed or moved, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select

from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.ledger.entry import Entry, Head, canonical_json, parse_json
from tacit.ledger.schema import entries, ledgers, studies
from tacit.ledger.sketch import Sketch


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study's registration.

    Attributes:
        study: its name.
        n_records: how many ids it has.
        sketch: the hashes as canonical JSON: a list of those of typed ids, as 0.1 wrote it, or an
            object with those of normalised ids, too.
    """

    study: str
    n_records: int
    sketch: str

    @classmethod
    def of(cls, study: str, sketch: Sketch) -> StoredStudy:
        """The row of a new study."""
        return cls(study, sketch.n_records, canonical_json(_stored_sketch(sketch)))

    def seal(self, salt: bytes) -> str:
        """SHA-256 that the study's first entry names as the one before it.

        So a sketch, or the ledger's salt, that is edited later breaks the chain at entry 1. Empty,
        which no entry names, where a value has another type than was recorded.
        """
        content = asdict(self)
        if not _has_types(content, n_records=int):
            return ""
        return _sha256_of_json(content | {"salt": salt.hex()})

    def parsed(self) -> Sketch:
        """The sketch behind the row.

        Raises:
            CorruptLedgerError: there is none.
        """
        try:
            return _read_sketch(self.n_records, parse_json(self.sketch))
        except (CorruptLedgerError, InvalidInputError, TypeError, KeyError):
            pass
        raise CorruptLedgerError(
            f"the registration of study {self.study!r} is damaged: restore the ledger from a backup"
        )


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry; as ``Entry``, except that the body is canonical JSON."""

    study: str
    number: int
    kind: str
    time: str
    body: str
    payload: bytes
    previous: str
    hash: str = ""

    def sealed(self) -> StoredEntry:
        """The same entry with its hash."""
        return replace(self, hash=self.seal)

    @property
    def seal(self) -> str:
        """SHA-256 over everything but the hash.

        The body counts as the text that is stored, so that even a changed blank shows. Empty where
        a value has another type than was recorded.
        """
        content = asdict(self)
        if not _has_types(content, number=int, payload=bytes):
            return ""
        del content["hash"]
        return _sha256_of_json(content | {"payload": sha256(self.payload).hexdigest()})

    def entry(self) -> Entry:
        """The entry, its body parsed.

        Raises:
            CorruptLedgerError: the body is no JSON object.
        """
        body = parse_json(self.body)
        if not isinstance(body, dict):
            raise CorruptLedgerError(
                f"entry {self.number} of study {self.study!r} has a body that is no JSON object: "
                "restore the ledger from a backup"
            )
        return Entry(**(asdict(self) | {"body": body}))


def _stored_sketch(sketch: Sketch) -> object:
    if sketch.normalised is None:
        return list(sketch.smallest)
    return {
        "typed": list(sketch.smallest),
        "normalised": list(sketch.normalised.smallest),
        "n_normalised": sketch.normalised.n_records,
    }


def _read_sketch(n_records: int, stored: Any) -> Sketch:
    if isinstance(stored, list):
        return Sketch(n_records, tuple(stored))
    normalised = Sketch(stored["n_normalised"], tuple(stored["normalised"]))
    return Sketch(n_records, tuple(stored["typed"]), normalised)


def _has_types(content: dict[str, object], **types: type) -> bool:
    """Whether the values have these types, else text: SQLite lets an editor put any type."""
    return all(isinstance(value, types.get(name, str)) for name, value in content.items())


def _sha256_of_json(content: dict[str, object]) -> str:
    return sha256(canonical_json(content).encode()).hexdigest()


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


def faults(rows: Iterable[StoredEntry], start: Head) -> Iterator[str]:
    """Everything that is wrong with rows that should follow ``start``, ordered by number.

    A chain cannot show that its last entries were cut off, nor that all of them were computed
    anew from some entry on: for that, compare it with a receipt that was kept elsewhere.
    """
    last = start
    for row in rows:
        if not _is_number(row.number):
            yield f"an entry has the number {row.number!r}: entries are numbered 1, 2, 3 and so on"
            continue
        yield from _faults_of_place(row, last)
        if row.hash != row.seal:
            yield f"entry {row.number} was changed: its content does not give its hash"
        last = Head(row.number, row.hash)
    if last.number == 0:
        yield "every entry is missing"


def _is_number(number: object) -> bool:
    """Whether an entry can have it: SQLite lets an editor put 1.5, or a text."""
    return isinstance(number, int) and number > 0


def _faults_of_place(row: StoredEntry, last: Head) -> Iterator[str]:
    """At most one: the row has no place here, or does not name the entry before it."""
    expected = last.number + 1
    if row.number == expected:
        if row.previous != last.hash:
            before = f"entry {last.number}" if last.number else "the study's registration"
            yield f"entry {row.number} does not follow {before}: one of the two was replaced"
    elif row.number == expected + 1:
        yield f"entry {expected} is missing"
    elif row.number > expected:
        yield f"entries {expected} to {row.number - 1} are missing"
    else:
        yield f"entry {row.number} stands where entry {expected} should be"
