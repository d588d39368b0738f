"""A study's ledger as it is read and written from one folder.

A ledger that was put back from a backup has forgotten what was released since: its bits would be
spent twice. The folder shows it by its high-water mark, the last entry that the ledger had when it
was last changed from here, and by states of releases that the ledger does not know; a release file
shows it by its certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import (
    DeliveryError,
    HeadMovedError,
    InvalidInputError,
    LedgerError,
    RolledBackError,
    Suggestion,
)
from tacit.ledger import Head, Ledger, Sketch
from tacit.remark import Remark
from tacit.storage import atomic_file, locked
from tacit.study.books.books import Books, Intent
from tacit.study.books.records import (
    AUTHOR,
    FIRST_COHORT,
    CohortRecord,
    JoinedRecord,
    Record,
    ReleaseRecord,
    RollbackRecord,
    other_studies,
)
from tacit.study.entry_kinds import read_books, read_on
from tacit.study.folder import Configuration, Layout, engine_of
from tacit.tables.delivery.engine import Engine

_LARGEST_NUMBER = 2**63 - 1
"""That a ledger can hold."""

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
"""Exceptions from reading a file that is damaged or was not written by tacit."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What a folder and a file show of the ledger's entries, whether or not it still has them.

    Attributes:
        entries: the file that names each -> the entry.
        states: names of state files.
    """

    entries: dict[Path, Head]
    states: tuple[str, ...]

    @staticmethod
    def find(
        layout: Layout, engine: Engine[Any], study: str, certificate: Path | None = None
    ) -> Traces:
        """All traces.

        Read them before the ledger: an entry is written to the ledger first, its trace after that.

        Args:
            layout: of the study's folder.
            engine: what keeps its states.
            study: its id.
            certificate: of a release file that may be there already.

        Raises:
            InvalidInputError: the high-water mark is damaged.
        """
        found = {layout.high_water: _read_mark(layout.high_water)}
        if certificate is not None:
            found[certificate] = _read_certificate(certificate, study)
        entries = {file: head for file, head in found.items() if head is not None}
        return Traces(entries, tuple(engine.remembered(layout.states)))

    def lost(self, books: Books, ledger: Ledger, study: str) -> Traces:
        """Those that the ledger does not know, and that no rollback has been accepted for."""
        intents = [each for cohort in books.cohorts for each in cohort.intents.values()]
        known = {intent.state_name for intent in intents} | books.accepted
        return Traces(
            {
                file: head
                for file, head in self.entries.items()
                if head != books.head  # which was in the ledger when the books were read
                and head.hash not in books.accepted
                and not ledger.contains(study, head.number, head.hash)
            },
            tuple(name for name in self.states if name not in known),
        )

    def __bool__(self) -> bool:
        return bool(self.entries or self.states)

    @property
    def in_words(self) -> list[str]:
        """Each trace, for people."""
        return list(map(trace_in_words, self._as_dicts()))

    def remarks(self, code: str) -> tuple[Remark, ...]:
        """A remark on each trace."""
        return tuple(Remark(code, trace) for trace in self._as_dicts())

    def _as_dicts(self) -> list[dict[str, Any]]:
        entries = [{"file": file.name, "entry": head.number} for file, head in self.entries.items()]
        return [*entries, *({"state": name} for name in self.states)]

    @property
    def record(self) -> RollbackRecord:
        """For the ledger, once it is accepted."""
        entries = {(head.number, head.hash) for head in self.entries.values()}
        return RollbackRecord(entries=tuple(sorted(entries)), states=self.states)


def trace_in_words(trace: Mapping[str, Any]) -> str:
    """What a trace shows: the file of an entry, or a state."""
    if "state" in trace:
        return f"the state {trace['state']} is of a release that it lacks"
    return f"{trace['file']} shows entry {trace['entry']}"


class Journal:
    """A study's ledger, its books, and what the folder shows of entries that it has lost.

    Attributes:
        layout: of the study's folder.
        configuration: what the folder says about itself.
        study: its id.
        engine: what reads and writes its records.
        ledger: where its entries stand.
        books: what they say, as far as they were read.
    """

    def __init__(
        self,
        layout: Layout,
        configuration: Configuration,
        ledger: Ledger,
        *,
        accept_rollback: bool = False,
        by: str | None = None,
    ) -> None:
        """Read the whole ledger.

        Args:
            layout: of the study's folder.
            configuration: what the folder says about itself.
            ledger: where its entries stand.
            accept_rollback: go on although entries were lost; the first change records it.
            by: who makes entries, as they will say.
        """
        self.layout = layout
        self.configuration = configuration
        self.study = configuration.study
        self.engine = engine_of(configuration)
        self.ledger = ledger
        self._accept_rollback = accept_rollback
        self._author = {} if by is None else {AUTHOR: by}
        try:
            self.books = read_books(ledger.entries(self.study))
        except LedgerError:
            refuse_unregistered(layout, self.study, ledger)
            raise

    @classmethod
    def open(cls, folder: Path, *, accept_rollback: bool = False, by: str | None = None) -> Journal:
        """The journal of a study's folder."""
        layout = Layout(folder)
        configuration = Configuration.read(folder)
        ledger = Ledger.open(configuration.ledger or layout.ledger)
        try:
            return cls(layout, configuration, ledger, accept_rollback=accept_rollback, by=by)
        except BaseException:
            ledger.close()
            raise

    def refresh(self) -> Books:
        """The books with everything that was appended since."""
        entries = self.ledger.entries_since(self.study, self.books.head)
        if entries:
            self.books = read_on(self.books, entries)
        return self.books

    def refuse_closed(self, books: Books) -> None:
        """Refuse a study whose key was destroyed, or that was made anew."""
        if books.successor is not None:
            raise InvalidInputError(
                f"{self.layout.folder} was made anew as study {books.successor}: go on with "
                "that one; its folder is the one whose study.json has this id"
            )
        if books.is_closed:
            raise InvalidInputError(
                f"{self.layout.folder} is closed, its key was destroyed: nothing can be changed or "
                "released any more; its status, audit, receipts and verification stay"
            )

    # -- appending --------------------------------------------------------------------------

    def append(self, kind: str, make: Callable[[Books], Record | None]) -> bool:
        """Append the record that ``make`` returns for the latest books; nothing if it returns None.

        Returns:
            Whether anything was appended.
        """
        self.settle_rollback()
        return self.append_settled(kind, make)

    def append_settled(
        self,
        kind: str,
        make: Callable[[Books], Record | None],
        payload: bytes = b"",
        *,
        sketch: Sketch | None = None,
    ) -> bool:
        """As ``append``, where ``settle_rollback`` was called for the same change before.

        Args:
            kind: of the entry.
            make: as for ``append``.
            payload: bytes that the entry carries beside the record.
            sketch: as for ``Ledger.append``.
        """
        while True:
            books = self.books
            record = make(books)
            if record is None:
                return False
            after = self._try_append([(kind, record, payload)], books, sketch)
            if after is not None:
                update_high_water_mark(self.layout, after.head, after.accepted)
                return True
            self.refresh()

    def record_intents(
        self, drafted: Sequence[tuple[str, ReleaseRecord, bytes]], books: Books
    ) -> list[Intent] | None:
        """Spend the bits of releases: append all or none, and remember that the ledger has them.

        Args:
            drafted: of each its kind, its record, and the integer table that is sampled, if any.
            books: that they were designed for.

        Returns:
            The releases; ``None`` where something was appended after these books, so that they
            have to be designed again.
        """
        after = self._try_append(drafted, books)
        if after is None:
            return None
        try:
            update_high_water_mark(self.layout, after.head, after.accepted)
        except OSError as error:
            raise DeliveryError(
                f"the release is recorded but {self.layout.high_water} cannot be written "
                f"({error.strerror}): mend that and ask for the same release again, which costs "
                "nothing"
            ) from error
        new = [record.cohort for _, record, _ in drafted]
        numbers = range(books.head.number + 1, after.head.number + 1)
        return [
            after.cohorts[cohort - FIRST_COHORT].intents[number]
            for cohort, number in zip(new, numbers, strict=True)
        ]

    def append_cohort(
        self,
        cohort: CohortRecord,
        books: Books,
        *,
        corrected: int,
        joining: Sketch,
        sketch: Sketch,
        accept_reset: bool,
    ) -> bool:
        """Append that more records join; whether the ledger still ended where these books do.

        Args:
            cohort: what is said of them.
            books: that they join.
            corrected: how many of them were erased before, and join again.
            joining: of their ids.
            sketch: of all ids of the study, theirs included.
            accept_reset: whether records may join that the ledger knows from another study.
        """
        seal = self.ledger.registration_seal(self.study, sketch)
        known = self.ledger.overlapping(joining) if accept_reset else []
        said = dict(cohort) | {"known_in": other_studies(known, self.study)}
        record = JoinedRecord(**said, corrected=corrected, registration=seal)
        try:
            [entry] = self.ledger.append_all(
                self.study,
                [("cohort", record.model_dump(mode="json") | self._author, b"")],
                head=books.head,
                joining=joining,
                sketch=sketch,
                accepting=[overlap.study for overlap in known],
            )
        except HeadMovedError:
            return False
        self.books = read_on(books, [entry])
        update_high_water_mark(self.layout, entry.head, self.books.accepted)
        return True

    def _try_append(
        self,
        contents: Sequence[tuple[str, Record, bytes]],
        books: Books,
        sketch: Sketch | None = None,
    ) -> Books | None:
        """The books after records that are appended to them; ``None`` if the ledger has more."""
        bodies = [
            (kind, record.model_dump(mode="json") | self._author, payload)
            for kind, record, payload in contents
        ]
        try:
            entries = self.ledger.append_all(self.study, bodies, head=books.head, sketch=sketch)
        except HeadMovedError:
            return None
        self.books = read_on(books, entries)
        return self.books

    # -- entries that were lost -------------------------------------------------------------

    def find_lost(self, certificate: Path | None = None) -> Traces:
        """Traces of entries that the ledger has lost."""
        # Before the ledger is read.
        traces = Traces.find(self.layout, self.engine, self.study, certificate)
        return traces.lost(self.refresh(), self.ledger, self.study)

    def refuse_rollback(self, lost: Traces) -> None:
        """Refuse to go on with a ledger that has lost entries, unless that was accepted."""
        if not lost or self._accept_rollback:
            return
        papers = lost.entries.keys() - {self.layout.high_water}
        receipt = next(map(str, papers), None)
        raise RolledBackError(
            f"the ledger {self.ledger.url_shown} ends at entry {self.books.head.number} and has "
            f"lost entries that {self.layout.folder} was used with ({'; '.join(lost.in_words)}): "
            "put the newest backup back. If there is none, the rollback can be accepted: what the "
            "lost entries released is then not counted, so that whoever received it may hold more "
            "than the limits say",
            suggestions=[
                Suggestion("verify", {} if receipt is None else {"receipt": receipt}),
                Suggestion("restore"),
                Suggestion("open", {"accept_rollback": True}),
            ],
        )

    def settle_rollback(self, certificate: Path | None = None) -> None:
        """Before a change: refuse a ledger that has lost entries, or record that it is accepted."""
        lost = self.find_lost(certificate)
        self.refuse_rollback(lost)
        if lost:
            self.append_settled("rollback", lambda _: lost.record)
        else:  # entries may have been appended elsewhere, or just before a crash
            update_high_water_mark(self.layout, self.books.head, self.books.accepted)


def refuse_unregistered(layout: Layout, study: str, ledger: Ledger) -> None:
    """Raise LedgerError if the ledger does not have the study."""
    if study in ledger.studies():
        return
    shown = f"the ledger {ledger.url_shown} does not know {layout.folder}"
    if layout.high_water.exists():
        raise RolledBackError(
            f"{shown}, which was used with it: it was rolled back or replaced; put the newest "
            "backup back",
            suggestions=[Suggestion("restore")],
        )
    raise LedgerError(
        f"{shown}: restore the ledger; if making the study was interrupted, make it again",
        suggestions=[Suggestion("create")],
    )


def update_high_water_mark(
    layout: Layout, head: Head, accepted: frozenset[str] = frozenset()
) -> None:
    """Remember that the ledger has had this entry.

    Must be on disk before anything is drawn. A mark is lowered only where the entry that it names
    is among those that the custodian has ``accepted`` as lost.
    """
    with locked(layout.configuration):
        mark = _read_mark(layout.high_water)
        if mark is None or mark.number < head.number or mark.hash in accepted:
            with atomic_file(layout.high_water, mode=0o600) as file:
                file.write(json.dumps({"number": head.number, "hash": head.hash}).encode() + b"\n")


def _read_mark(path: Path) -> Head | None:
    try:
        stored = json.loads(path.read_bytes())
        return _head(stored["number"], stored["hash"])
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path} is damaged ({error}): it says which entry of the ledger was the last; compare "
            "the ledger with your newest receipt by verifying it, then remove the file"
        ) from error


def _read_certificate(path: Path, study: str) -> Head | None:
    """The entry that a certificate of this study names; ``None`` for any other file."""
    try:
        stored = json.loads(path.read_bytes())
        is_ours = stored["study"] == study
        return _head(stored["entry"], stored["hash"]) if is_ours else None
    except _UNREADABLE:
        return None


def _head(number: object, sealed: object) -> Head:
    """The entry of this number and hash, if a ledger can have one."""
    if type(number) is not int or not 1 <= number <= _LARGEST_NUMBER:
        raise ValueError(f"{str(number)[:20]!r} is no number of an entry")
    return Head(number, str(sealed))
