"""Erasing records: the person is gone from the folder and the ledger, what was counted stays.

An erasure is recorded before anything is removed, with keyed hashes of the ids. So one that was
interrupted is finished without the list of ids, and who was erased is known again when a backup, or
a table that joins the study, brings the person back. Without the study's key the hashes tell
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInputError, Suggestion
from tacit.remark import Remark
from tacit.study.books.books import Books, Erasure
from tacit.study.books.records import ErasedCohortRecord, ErasedRecord, ErasureRecord
from tacit.study.folder import Layout, StudyKeys, find_copies, is_there
from tacit.study.journal import Journal
from tacit.study.releases.release import ReleaseWriter, open_cohorts
from tacit.study.setup.creation import sketch_ids
from tacit.study.setup.limits import UNCHANGED
from tacit.tables.delivery.engine import Engine, StateStore
from tacit.tables.encoding.erasure import hash_ids
from tacit.tables.sources.source import AnyTable

_MOST_LISTED = 10
"""As many rows of a list are named in a message."""


@dataclass(frozen=True, slots=True)
class ListedRecords:
    """What a list of ids is about.

    Attributes:
        persons: keyed hash of the id of each record that is in the study -> that of its
            normalised id.
        erased_rows: rows of the list, from 1, whose record was erased before.
        unknown_rows: rows of the list, from 1, whose id was never in the study.
        empty_rows: rows of the list, from 1, without an id.
        left: how many records would be left without those.
    """

    persons: Mapping[str, str]
    erased_rows: tuple[int, ...]
    unknown_rows: tuple[int, ...]
    empty_rows: tuple[int, ...]
    left: int

    def as_dict(self) -> dict[str, Any]:
        """For machines, without the hashes."""
        return {
            "records": len(self.persons),
            "erased_rows": list(self.erased_rows),
            "unknown_rows": list(self.unknown_rows),
            "empty_rows": list(self.empty_rows),
            "left": self.left,
        }


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was erased.

    Attributes:
        records: how many now.
        erased: how many in all.
        left: how many are left.
        remarks: on files and backups that still hold the erased records.
    """

    records: int
    erased: int
    left: int
    remarks: tuple[Remark, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"remarks": [each.as_dict() for each in self.remarks]}


def find_listed(journal: Journal, writer: ReleaseWriter, ids: AnyTable) -> ListedRecords:
    """Look the ids of a list up, in every cohort and among those that were erased."""
    found = hash_ids(writer.cohorts[0].encoding, ids, writer.keys.ids, journal.layout.folder)
    rows = found.hash_of
    listed = {hashed for hashed in rows.values() if hashed is not None}
    known = known_in(writer, listed)
    gone = (listed & journal.books.erased_ids) - known
    erased = [row for row, hashed in rows.items() if hashed in gone]
    unknown = [row for row, hashed in rows.items() if hashed not in known | gone]
    left = journal.books.n_left - len(known)
    persons = {hashed: found.persons[hashed] for hashed in known}
    return ListedRecords(persons, tuple(erased), tuple(unknown), found.empty_rows, left)


def known_in(writer: ReleaseWriter, id_hashes: Collection[str]) -> set[str]:
    """Those of the keyed hashes that are of a record's id in any cohort."""
    known = (writer.engine.known(each, writer.keys.ids, id_hashes) for each in writer.cohorts)
    return set().union(*known)


def refuse_unknown(listed: ListedRecords) -> None:
    """Refuse a list with ids that were never in the study, or none: it may be the wrong list."""
    found = [("ids that were never in the study", listed.unknown_rows)]
    found += [("empty ids", listed.empty_rows)]
    wrong = [f"{what}, in {_rows_in_words(rows)}" for what, rows in found if rows]
    if wrong:
        raise InvalidInputError(
            f"nothing was erased: the list has {', and '.join(wrong)}, counted from 1 without a "
            "heading: correct the list, or skip them",
            suggestions=[Suggestion("erase", {"skip_unknown": True})],
        )


def _rows_in_words(rows: Sequence[int]) -> str:
    more = f" and {len(rows) - _MOST_LISTED:,} more" if len(rows) > _MOST_LISTED else ""
    counted = "row" if len(rows) == 1 else f"{len(rows):,} rows"
    return f"{counted} {', '.join(map(str, rows[:_MOST_LISTED]))}{more}"


def record_erasure(journal: Journal, persons: Mapping[str, str], *, is_correction: bool) -> None:
    """Record that records are to be erased. From here on it has to be finished.

    Args:
        journal: of the study.
        persons: keyed hash of each one's id -> that of its normalised id.
        is_correction: whether they are to join again with other values.
    """
    n_erasures = len(journal.books.erasures)
    if len(persons) == journal.books.n_left:
        raise InvalidInputError(
            "these are all records that are left: close the study and remove its folder instead; "
            "nothing was erased"
        )

    def make(books: Books) -> ErasureRecord:
        journal.refuse_closed(books)
        refuse_unfinished(books)
        if len(books.erasures) > n_erasures:
            raise InvalidInputError("some of these were erased meanwhile: look the list up again")
        return ErasureRecord(records=len(persons), is_correction=is_correction)

    payload = bytes.fromhex("".join(sorted(map("".join, persons.items()))))
    journal.append_settled("erasure", make, payload)


def refuse_unfinished(books: Books) -> None:
    """Refuse to go on with records that are to be erased."""
    if books.unfinished_erasure is not None:
        raise unfinished_error(books.unfinished_erasure)


def unfinished_error(erasure: Erasure) -> InvalidInputError:
    """The error for a study whose erasure was interrupted."""
    return InvalidInputError(
        f"the erasure of {len(erasure.id_hashes):,} records was not finished: finish it first",
        suggestions=[Suggestion("erase")],
    )


def finish_erasure(journal: Journal, keys: StudyKeys, erasure: Erasure) -> None:
    """Remove the records of an erasure, and record that they are gone.

    To be called while nobody else reads or writes the records. Killed at any moment, the same call
    finishes it.
    """
    layout, engine, books = journal.layout, journal.engine, journal.books
    states = StateStore(layout.states, keys.states)
    for records in open_cohorts(layout, engine, books):
        engine.erase(records, states, keys.ids, erasure.id_hashes)
    cohorts = open_cohorts(layout, engine, books)
    writer = ReleaseWriter(keys, layout, engine, cohorts, books.created.is_id_public)
    sketch = sketch_ids(cohorts, journal.ledger.salt)
    first, *later = (
        ErasedCohortRecord(
            erased=records.n_erased - cohort.n_erased,
            snapshot_digest=records.digest(keys.snapshot),
            snapshot_seal=records.seal(keys.snapshot),
        )
        for cohort, records in zip(books.cohorts, cohorts, strict=True)
    )
    digests: dict[int, str] = {}

    def make(books: Books) -> ErasedRecord:
        delivered = [number for number, each in books.releases.items() if each.digest is not None]
        if not digests.keys() >= set(delivered):
            digests.update(writer.redraw(books))
        return ErasedRecord(
            erasure=erasure.number,
            snapshot_digest=first.snapshot_digest,
            snapshot_seal=first.snapshot_seal,
            later=tuple(later),
            digests=tuple((number, digests[number]) for number in delivered),
            registration=journal.ledger.registration_seal(journal.study, sketch),
        )

    journal.append_settled("erased", make, sketch=sketch)


def erase_again(layout: Layout, engine: Engine[Any], keys: StudyKeys, books: Books) -> int:
    """Erase what a backup has brought back; return how many records that were."""
    states, n_back = StateStore(layout.states, keys.states), 0
    for cohort, records in zip(books.cohorts, open_cohorts(layout, engine, books), strict=True):
        back = engine.known(records, keys.ids, books.erased_ids_of(cohort))
        if back:
            engine.erase(records, states, keys.ids, back)
        n_back += len(back)
    return n_back


def report_erasure(layout: Layout, books: Books, erasure: Erasure | None) -> ErasureReport:
    """What was erased just now, and where the erased records still are: in files, in backups."""
    delivered = {
        number: each.delivery.file
        for cohort in books.cohorts
        for number, each in cohort.intents.items()
        if cohort.n_erased and each.delivery is not None
    }
    values = {"releases": list(delivered), "files": _files_of(layout, delivered)}
    files = [Remark("erased_in_files", values)] if delivered else []
    return ErasureReport(
        records=0 if erasure is None else len(erasure.id_hashes),
        erased=books.n_erased,
        left=books.n_left,
        remarks=(UNCHANGED,) if erasure is None else (*files, Remark("erased_in_backups")),
    )


def _files_of(layout: Layout, delivered: Mapping[int, str]) -> list[str]:
    """Where files of these releases are still, as far as this folder has written them."""
    copies: dict[int, list[str]] = {}
    with suppress(InvalidInputError):  # verifying says so
        copies = find_copies(layout)
    known = (
        file for number, first in delivered.items() for file in (first, *copies.get(number, ()))
    )
    return [file for file in dict.fromkeys(known) if is_there(Path(file))]
