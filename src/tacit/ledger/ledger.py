"""The ledger of studies: entries are appended under a known head, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import starmap
from pathlib import Path
from secrets import token_bytes
from types import MappingProxyType, TracebackType
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, inspect, select, update

from tacit.errors import CorruptLedgerError, HeadMovedError, LedgerError, Suggestion
from tacit.ledger.database import Database, parse_address
from tacit.ledger.entry import (
    FIRST_KIND,
    SUPERSEDED,
    Entry,
    Head,
    StoredEntry,
    StoredStudy,
    check_name,
    faults,
    parse_json,
    seal_entry,
)
from tacit.ledger.schema import LEDGER_FORMAT, create_tables, entries, ledgers, studies
from tacit.ledger.sketch import Overlap, Sketch

SALT_BYTES = 32

_POSTGRESQL_LOCK = int.from_bytes(b"tacit")
"""An advisory lock: before there are tables there is no row to lock."""

_LARGEST_NUMBER = 2**63 - 1
"""The largest number that both databases accept in a query."""

_DATE = len("2026-01-31")
"""Characters of a time that are its date."""

_ROWS_AT_ONCE = 64
"""Rows held in memory while a chain is walked; a payload may be large."""


class Ledger:
    """Any number of studies, each with its own chain of entries.

    Threads and processes may use one ledger at once; every method is one transaction.

    Attributes:
        url_shown: the address, without passwords.
        salt: key of the hashes in a ``Sketch``, the same for every study of this ledger.
    """

    def __init__(self, database: Database) -> None:
        """A ledger that is there; ``open`` and ``create`` see to that."""
        self._database = database
        self.url_shown = database.shown
        with database.reading() as connection:
            salt: object = connection.execute(select(ledgers.c.salt)).scalar()
        if not isinstance(salt, bytes) or len(salt) != SALT_BYTES:
            raise CorruptLedgerError(
                f"the ledger {self.url_shown} has lost its salt: restore it from a backup"
            )
        self.salt = salt

    @classmethod
    def open(cls, address: str | Path) -> Ledger:
        """The ledger at ``sqlite:///FILE``, a path, or ``postgresql://...``.

        Raises:
            InvalidInputError: the address is none of these.
            LedgerError: there is no ledger, it cannot be reached or written, or it has the format
                of another version of tacit.
            CorruptLedgerError: it is damaged.
        """
        return cls._at(address, _refuse_missing)

    @staticmethod
    def check(address: str | Path) -> None:
        """Raise what ``create`` would, as far as can be told without making anything."""
        database = Database.at(parse_address(address))
        try:
            _refuse_other_format(database)
        finally:
            database.close()

    @classmethod
    def create(cls, address: str | Path, *, salt: bytes | None = None) -> Ledger:
        """As ``open``, after making the ledger where there is none.

        The folder of a SQLite file, or the PostgreSQL database, must exist.

        Args:
            address: as for ``open``.
            salt: of a new ledger, if it is to hold studies of another one; random by default.
        """
        return cls._at(address, partial(_make_missing, salt=salt or token_bytes(SALT_BYTES)))

    @classmethod
    def _at(cls, address: str | Path, when_missing: Callable[[Database], None]) -> Ledger:
        """The ledger at an address; ``when_missing`` makes it or raises where there is none."""
        with ExitStack() as on_error:
            database = Database.at(parse_address(address))
            on_error.callback(database.close)
            if _refuse_other_format(database) is None:
                when_missing(database)
            ledger = cls(database)
            on_error.pop_all()
        return ledger

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def studies(self) -> list[str]:
        """Every study in the ledger, sorted."""
        with self._database.reading() as connection:
            return sorted(connection.execute(select(studies.c.study)).scalars())

    def register(
        self,
        study: str,
        sketch: Sketch,
        body: Mapping[str, object],
        payload: bytes = b"",
        *,
        accepting: Collection[str] = (),
        superseding: Mapping[str, Head] = MappingProxyType({}),
    ) -> Entry:
        """Start a study: its registration and entry 1, of kind ``FIRST_KIND``, or neither.

        Of two studies that share records and start at the same moment, one is refused.

        Args:
            study: a name that is new to the ledger.
            sketch: of the study's ids, under ``salt``.
            body: of entry 1, a JSON object.
            payload: of entry 1.
            accepting: earlier studies that may share records with this one.
            superseding: earlier studies of which nothing was released, and where each ends: an
                entry says that this one takes its place.

        Raises:
            HeadMovedError: one of these ends elsewhere; nothing was recorded.
            LedgerError: the name is taken, or records are shared with a study that is not in
                ``accepting``.
        """
        registration = StoredStudy(check_name("study", study), sketch.n_records, sketch.as_text)
        start = Head(0, registration.seal(self.salt))
        first = seal_entry(study, start, FIRST_KIND, body, payload)
        with self._database.writing() as connection:
            _lock_registrations(connection)
            self._refuse_known(connection, study)
            for other, head in superseding.items():
                self._extend_chain(
                    connection, other, head, [(SUPERSEDED, {"successor": study}, b"")]
                )
            self._refuse_overlap(connection, sketch, accepting, "create")
            connection.execute(insert(studies), asdict(registration))
            connection.execute(insert(entries), asdict(first))
        return first.entry()

    def refuse_overlap(self, study: str, sketch: Sketch) -> None:
        """Raise what ``append_all`` would for ids that join a study, if no overlap is accepted."""
        with self._database.reading() as connection:
            self._refuse_overlap(connection, sketch, {study}, "extend")

    def overlapping(self, sketch: Sketch) -> list[Overlap]:
        """The studies that share records with a sketch, largest share first."""
        with self._database.reading() as connection:
            return _overlaps(connection, sketch)

    def append(
        self,
        study: str,
        kind: str,
        body: Mapping[str, object],
        payload: bytes = b"",
        *,
        head: Head,
        sketch: Sketch | None = None,
    ) -> Entry:
        """Add an entry after ``head``, for good.

        Args:
            study: a registered study.
            kind: what happened, in a word.
            body: a JSON object.
            payload: bytes that are no JSON.
            head: the last entry that the caller has taken into account.
            sketch: of the study's ids, where they are others from this entry on. It takes the
                place of the one before, and ``body`` has its ``registration_seal`` in the field
                ``REGISTRATION``.

        Raises:
            HeadMovedError: the chain ends elsewhere; nothing was recorded.
        """
        [entry] = self.append_all(study, [(kind, body, payload)], head=head, sketch=sketch)
        return entry

    def append_all(
        self,
        study: str,
        contents: Sequence[tuple[str, Mapping[str, object], bytes]],
        *,
        head: Head,
        sketch: Sketch | None = None,
        joining: Sketch | None = None,
        accepting: Collection[str] = (),
    ) -> list[Entry]:
        """As ``append``, for several entries, each a kind, a body and a payload: all or none.

        Args:
            study: a registered study.
            contents: of each entry.
            head: the last entry that the caller has taken into account.
            sketch: as for ``append``.
            joining: of ids that join the study, and may be in no other one.
            accepting: other studies that may have them.

        Raises:
            HeadMovedError: the chain ends elsewhere; nothing was recorded.
            LedgerError: a study that is not in ``accepting`` has records that join.
        """
        with self._database.writing() as connection:
            if joining is not None:
                _lock_registrations(connection)
                self._refuse_overlap(connection, joining, {study, *accepting}, "extend")
            added = self._extend_chain(connection, study, head, contents)
            if sketch is not None:
                _replace(connection, StoredStudy(study, sketch.n_records, sketch.as_text))
        return added

    def _extend_chain(
        self,
        connection: Connection,
        study: str,
        head: Head,
        contents: Sequence[tuple[str, Mapping[str, object], bytes]],
    ) -> list[Entry]:
        connection.execute(_lock_of(study))
        last = connection.execute(_end_of(study)).one_or_none()
        if last is None or Head(*last) != head:
            raise self._other_head(study, last, head)
        added = []
        for kind, body, payload in contents:
            new = seal_entry(study, head, kind, body, payload)
            added.append(new.entry())
            connection.execute(insert(entries), asdict(new))
            head = Head(new.number, new.hash)
        return added

    def entries_of_kind(self, kind: str) -> list[Entry]:
        """All entries of a kind, of every study; the chains are not checked."""
        rows = select(entries).where(entries.c.kind == kind)
        with self._database.reading() as connection:
            return [StoredEntry(*row).entry() for row in connection.execute(rows)]

    def registration_seal(self, study: str, sketch: Sketch) -> str:
        """What an entry has to name in its field ``REGISTRATION``, if it comes with this sketch."""
        return StoredStudy(study, sketch.n_records, sketch.as_text).seal(self.salt)

    def clear_replaced(self) -> None:
        """Leave nothing of replaced registrations in the database's files."""
        self._database.rewrite(studies.name)

    def head(self, study: str) -> Head:
        """Where the study's chain ends."""
        with self._database.reading() as connection:
            last = connection.execute(_end_of(study)).one_or_none()
        if last is None:
            raise self._unknown(study)
        return Head(*last)

    def entries(self, study: str, after: int = 0) -> list[Entry]:
        """The entries above number ``after``, checked to follow it as a whole chain.

        Raises:
            LedgerError: there is no such study, or it has no entry ``after``.
            CorruptLedgerError: an entry is not what was appended.
        """
        _, found = self._read(study, after)
        return found

    def entries_since(self, study: str, head: Head) -> list[Entry]:
        """The entries after one that was read before, checked to be the same still.

        Raises:
            LedgerError: there is no such entry any more.
            CorruptLedgerError: there is another one in its place, or a later entry is damaged.
        """
        start, found = self._read(study, head.number)
        if start != head:
            raise CorruptLedgerError(
                f"entry {head.number} of study {study!r} is not what it was when it was read: "
                f"the ledger {self.url_shown} was restored or rewritten meanwhile; "
                "verify it against a receipt"
            )
        return found

    def _read(self, study: str, number: int) -> tuple[Head, list[Entry]]:
        """What the entry after ``number`` follows, and all entries after it, checked."""
        before = _hash_of(study, number) if number else _registration_of(study)
        after = _rows_after(study, number)
        with self._database.reading() as connection:
            found = connection.execute(before).one_or_none()
            rows = list(starmap(StoredEntry, connection.execute(after)))
        if found is None:
            raise self._unknown(study, number)
        start = Head(number, found[0] if number else StoredStudy(*found).seal(self.salt))
        if number and not rows:
            return start, []
        fault = next(faults(rows, start), None)
        if fault is not None:
            raise self._broken(study, fault)
        return start, list(map(StoredEntry.entry, rows))

    def _broken(self, study: str, fault: str) -> CorruptLedgerError:
        return CorruptLedgerError(
            f"study {study!r} in the ledger {self.url_shown} is not what was appended "
            f"({fault}): restore it from a backup"
        )

    def add_missing(self, study: str, source: Ledger) -> int:
        """Add the entries of a study that a copy has and this ledger lacks; return how many.

        Entries that the copy lacks stay.

        Raises:
            LedgerError: the copy is of another ledger, or the two went on differently.
        """
        if source.salt != self.salt:
            raise LedgerError(
                f"the copy is of another ledger than {self.url_shown}, which has another salt: put "
                "it back where its own ledger was, or name a place of its own"
            )
        registration, rows = source._whole(study)
        with self._database.writing() as connection:
            _lock_registrations(connection)
            connection.execute(_lock_of(study))
            known = list(starmap(StoredEntry, connection.execute(_rows_after(study, 0))))
            self._refuse_divergence(study, known, rows)
            if _registration(connection, study) is None:
                connection.execute(insert(studies), asdict(registration))
            for row in rows[len(known) :]:
                connection.execute(insert(entries), asdict(row))
            if len(known) < len(rows) and _registration(connection, study) != registration:
                _replace(connection, registration)
        return max(0, len(rows) - len(known))

    def _whole(self, study: str) -> tuple[StoredStudy, list[StoredEntry]]:
        """A study's rows, checked to be a chain."""
        with self._database.reading() as connection:
            registration = _registration(connection, study)
            rows = list(starmap(StoredEntry, connection.execute(_rows_after(study, 0))))
        if registration is None:
            raise self._unknown(study)
        fault = next(faults(rows, Head(0, registration.seal(self.salt))), None)
        if fault is not None:
            raise self._broken(study, fault)
        return registration, rows

    def _refuse_divergence(
        self, study: str, known: Sequence[StoredEntry], copied: Sequence[StoredEntry]
    ) -> None:
        for ours, theirs in zip(known, copied, strict=False):
            if ours.hash != theirs.hash:
                raise LedgerError(
                    f"entry {ours.number} of study {study!r} in the ledger {self.url_shown} is not "
                    "that of the copy: each has an entry that the other lacks, and neither can "
                    "replace the other; keep both, and compare them with your receipts"
                )

    def contains(self, study: str, number: int, entry_hash: str) -> bool:
        """Whether the ledger holds the entry that a receipt names."""
        if not 1 <= number <= _LARGEST_NUMBER:
            return False
        with self._database.reading() as connection:
            return bool(connection.execute(_hash_of(study, number)).scalar() == entry_hash)

    def verify(self, study: str) -> list[str]:
        """Everything that was edited, removed or moved, in words; empty if the chain is whole.

        Entries cut off at the end leave a whole, shorter chain, and whoever owns the database can
        compute every later hash anew: ``contains`` finds both, given a receipt.
        """
        with self._database.reading() as connection:
            registration = _registration(connection, study)
            if registration is None:
                return [f"study {study!r} is not registered in this ledger"]
            start = Head(0, registration.seal(self.salt))
            # A payload may be large: few are in memory at a time.
            streamed = connection.execution_options(yield_per=_ROWS_AT_ONCE)
            rows = starmap(StoredEntry, streamed.execute(_rows_after(study, 0)))
            return list(faults(rows, start))

    def _unknown(self, study: str, number: int = 0) -> LedgerError:
        sought = f"entry {number} of study" if number else "study"
        return LedgerError(f"{sought} {study!r} is not in the ledger {self.url_shown}")

    def _other_head(self, study: str, last: Row[Any] | None, head: Head) -> LedgerError:
        """The error for a chain that ends elsewhere than the caller has read."""
        if last is None:
            return self._unknown(study)
        return HeadMovedError(
            f"study {study!r} ends at entry {last.number} ({last.hash[:12]}), "
            f"not at {head.number} ({head.hash[:12]}): read on and design again"
        )

    def _refuse_known(self, connection: Connection, study: str) -> None:
        if _registration(connection, study) is not None:
            raise LedgerError(f"study {study!r} is in the ledger {self.url_shown}: open it instead")

    def _refuse_overlap(
        self, connection: Connection, sketch: Sketch, accepting: Collection[str], action: str
    ) -> None:
        for overlap in _overlaps(connection, sketch):
            if overlap.study not in accepting:
                of = "" if overlap.table is None else f" of {overlap.table}"
                made = f"made{of} on {overlap.made[:_DATE]}"
                shares = f"about {max(overlap.share, 0.01):.0%} of the smaller table's ids"
                reset = Suggestion(action, {"accept_reset": True})
                if action == "create" and not overlap.is_released:
                    raise LedgerError(
                        f"these records overlap with those of a study {made}, of which nothing "
                        f"was released: {shares} are in both. Go on with that study, or make it "
                        "anew, which ends that one; or, if these ids are other people's there, as "
                        "numbers of rows are, accept that",
                        suggestions=[Suggestion(action, {"again": True}), reset],
                    )
                raise LedgerError(
                    f"these records and those of study {overlap.study!r} overlap: {shares} are in "
                    "both, and what the limits there protect would be handed out again: go on "
                    f"with that study ({made}; its folder is the one whose "
                    "study.json has this id). If these ids are other people's there, as numbers "
                    "of rows are, or if bits about the same people may be counted from 0 again, "
                    "accept that",
                    suggestions=[reset],
                )


def _refuse_other_format(database: Database) -> str | None:
    """The format of a ledger that this version reads; ``None`` if there is no ledger."""
    found = database.format()
    if found not in {None, LEDGER_FORMAT}:
        raise LedgerError(
            f"the ledger {database.shown} has format {found}, and this version of tacit reads "
            f"{LEDGER_FORMAT} only: use the version that made it"
        )
    return found


def _refuse_missing(database: Database) -> None:
    raise LedgerError(
        f"there is no ledger in {database.shown}: put it back where it was, or restore it from a "
        "backup"
    )


def _make_missing(database: Database, salt: bytes) -> None:
    """Make the tables in one transaction; of several processes that try, one does."""
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            connection.execute(select(func.pg_advisory_xact_lock(_POSTGRESQL_LOCK)))
        if not inspect(connection).has_table(ledgers.name):
            create_tables(connection, salt)


def _lock_registrations(connection: Connection) -> None:
    """Wait until no other transaction registers a study; SQLite writers wait at their start."""
    connection.execute(select(ledgers.c.id).with_for_update())


def _registration(connection: Connection, study: str) -> StoredStudy | None:
    row = connection.execute(_registration_of(study)).one_or_none()
    return None if row is None else StoredStudy(*row)


def _replace(connection: Connection, registration: StoredStudy) -> None:
    """Put a registration in the place of the study's, after the entry that names it."""
    same = studies.c.study == registration.study
    connection.execute(update(studies).where(same).values(asdict(registration)))


# -- queries ------------------------------------------------------------------------------------


def _registration_of(study: str) -> Select[Any]:
    """The row of a study's registration."""
    return select(studies).where(studies.c.study == study)


def _lock_of(study: str) -> Select[Any]:
    """Wait until no other transaction appends to the study; SQLite writers wait at their start."""
    return select(studies.c.study).where(studies.c.study == study).with_for_update()


def _hash_of(study: str, number: int) -> Select[Any]:
    """The stored hash of one entry."""
    return select(entries.c.hash).where(entries.c.study == study, entries.c.number == number)


def _rows_after(study: str, number: int) -> Select[Any]:
    """The study's entries above ``number``, in order.

    Above 0 are all of them, also those that an editor gave a number that none can have.
    """
    rows = select(entries).where(entries.c.study == study)
    if number:
        rows = rows.where(entries.c.number > number)
    return rows.order_by(entries.c.number)


def _end_of(study: str) -> Select[Any]:
    """Number and hash of the study's last entry."""
    ends = select(entries.c.number, entries.c.hash).where(entries.c.study == study)
    return ends.order_by(entries.c.number.desc()).limit(1)


def _kinds_of(study: str) -> Select[Any]:
    """The kinds of a study's entries."""
    return select(entries.c.kind).where(entries.c.study == study).distinct()


def _overlaps(connection: Connection, sketch: Sketch) -> list[Overlap]:
    shares = {
        study: Sketch.parse(study, n_records, text).share_in_both(sketch)
        for study, n_records, text in connection.execute(select(studies))
    }
    found = [
        Overlap(
            study,
            share,
            *_beginning(connection, study),
            frozenset(connection.execute(_kinds_of(study)).scalars()),
            Head(*connection.execute(_end_of(study)).one_or_none() or (0, "")),
        )
        for study, share in shares.items()
        if share
    ]
    found = [each for each in found if SUPERSEDED not in each.kinds]
    return sorted(found, key=lambda o: (-o.share, o.study))


def _beginning(connection: Connection, study: str) -> tuple[str, str | None]:
    """When a study was made, and the name of its table, as its first entry says."""
    first = select(entries.c.time, entries.c.body).where(
        entries.c.study == study, entries.c.number == 1
    )
    row = connection.execute(first).one_or_none()
    if row is None:  # somebody has removed it: verifying says so
        return "", None
    body = parse_json(row.body)
    table = body.get("table") if isinstance(body, dict) else None
    return str(row.time), table if isinstance(table, str) else None
