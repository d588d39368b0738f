"""Extending a study: records that came since join it as a cohort of their own.

The snapshot is written first and the ledger told last, so that what a killed process leaves is no
loss: the same command clears it and begins anew. Known records whose values changed are erased in
between, if that is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from shutil import rmtree

from tacit.errors import InvalidInputError, Suggestion
from tacit.remark import Remark
from tacit.storage import atomic_folder, locked
from tacit.study.books.books import Books
from tacit.study.books.records import CohortRecord
from tacit.study.erasure import known_in, record_erasure, refuse_unfinished
from tacit.study.folder import (
    Layout,
    TableRead,
    discarding_after_errors,
)
from tacit.study.journal import Journal
from tacit.study.releases.release import ReleaseWriter
from tacit.study.setup.creation import cohort_record, sketch_ids
from tacit.tables.delivery.engine import Records
from tacit.tables.encoding.cohort import Admission
from tacit.tables.encoding.erasure import hash_ids, hash_persons
from tacit.tables.sources.source import AnyTable, find_source

MIN_COHORT = 50
"""As for a new study: a cohort has public counts of its own, and in a small one whoever knows the
counts learns much about a person from everybody else's rows."""


def extend_study(
    journal: Journal,
    writer: ReleaseWriter,
    table: AnyTable,
    *,
    min_cohort: int,
    skip_known: bool,
    accept_corrections: bool,
    readmit: Sequence[str],
    accept_reset: bool,
    accept: Collection[str],
    finish_erasure: Callable[[], object],
    remark: Callable[[Remark], None],
) -> None:
    """Let the new records of a table join a study; arguments as for ``Study.extend``.

    Args:
        journal: of the study.
        writer: which has the study's key and cohorts, checked.
        table: names it.
        min_cohort: refuse fewer new records.
        skip_known: leave out records that are known or erased, instead of refusing them.
        accept_corrections: erase known records whose values changed, and let them join again.
        readmit: ids that were erased and may join again.
        accept_reset: whether records may join that the ledger knows from another study.
        accept: codes of what the custodian accepts about ids.
        finish_erasure: removes the records of an erasure that is recorded.
        remark: called with what the custodian should know about the table.
    """
    layout, number = journal.layout, len(writer.cohorts) + 1
    readmitted = _find_readmitted(journal, writer, readmit)
    erased = journal.books.erased_persons - readmitted
    admission = Admission(skip_known, accept_corrections, erased, writer.keys.ids, accept)
    layout.cohorts.mkdir(mode=0o700, exist_ok=True)
    with locked(layout.cohorts):  # of two who extend at once, the second sees what the first did
        _refuse_moved_on(journal, number)
        _clear(journal, number)
        with (
            atomic_folder(layout.of_cohort(number).folder) as place,
            discarding_after_errors(journal.engine, Layout(place)),
        ):
            records = _fill(Layout(place), writer, table, admission, remark)
            _refuse_few(records.n_records, table, min_cohort)
            returning = _find_returning(journal, writer, records, table)
            if not (accept_corrections or readmitted.issuperset(returning.values())):
                _refuse_half_corrected(len(set(returning.values()) - readmitted))
            record = cohort_record(records, table, writer.keys)
        records = journal.engine.open(layout.of_cohort(number).snapshot)
        try:
            _let_join(
                journal,
                writer,
                records,
                record,
                returning,
                accept_reset=accept_reset,
                finish_erasure=finish_erasure,
            )
        except BaseException:
            if len(journal.refresh().cohorts) < number:  # the ledger knows these records, say
                _clear(journal, number)
            raise
        if returning:
            times = _times_counted(journal.books, frozenset(returning.values()))
            remark(Remark("corrected", {"records": len(returning), "times": times}))


def _refuse_moved_on(journal: Journal, number: int) -> None:
    """Refuse where a cohort of this number has joined, or records are to be erased."""
    books = journal.refresh()
    refuse_unfinished(books)
    if len(books.cohorts) >= number:
        raise InvalidInputError(
            "another cohort has joined meanwhile: extend the study again; if it joined from "
            "another copy of the folder, bring the copies together before"
        )


def _clear(journal: Journal, number: int) -> None:
    """Remove what a killed process left where a cohort is to be; the ledger does not know it."""
    place = journal.layout.of_cohort(number)
    if place.folder.exists():
        journal.engine.discard(place.snapshot)
        rmtree(place.folder)


def _find_readmitted(journal: Journal, writer: ReleaseWriter, ids: Sequence[str]) -> frozenset[str]:
    """Keyed hashes of ids that may join again; refused where one was not erased."""
    n_columns = len(writer.cohorts[0].encoding.ids)
    persons = hash_persons(ids, n_columns, writer.keys.ids) if ids else {}
    for text, person in persons.items():
        if person not in journal.books.erased_persons:
            raise InvalidInputError(
                f"{text!r} is to be let in again, and was not erased from the study: correct the "
                "id, or leave it out"
            )
    return frozenset(persons.values())


def _fill(
    place: Layout,
    writer: ReleaseWriter,
    table: AnyTable,
    admission: Admission,
    remark: Callable[[Remark], None],
) -> Records:
    """Snapshot, and which table it is of."""
    records: Records = writer.engine.count_cohort(
        table, writer.cohorts, place.snapshot, admission, remark=remark
    )
    place.table.touch(mode=0o600)  # an address of a server may hold a password
    place.table.write_text(TableRead.of(table).model_dump_json(indent=2) + "\n")
    return records


def _refuse_few(n_records: int, table: AnyTable, min_cohort: int) -> None:
    if n_records < min_cohort:
        n_lacking = min_cohort - n_records
        raise InvalidInputError(
            f"{find_source(table).shown} has {n_records:,} new record{'s' * (n_records != 1)} and "
            f"{min_cohort:,} is the fewest for a cohort, {n_lacking:,} "
            f"{'is' if n_lacking == 1 else 'are'} missing: its counts are public, and in a small "
            "cohort they tell whoever knows them much about each person; wait for more records, or "
            "accept that",
            suggestions=[Suggestion("extend", {"min_cohort": n_records})],
        )


def _find_returning(
    journal: Journal, writer: ReleaseWriter, records: Records, table: AnyTable
) -> dict[str, str]:
    """New records that are in a cohort, or were erased: keyed hashes of id and normalised id."""
    found = hash_ids(records.encoding, table, writer.keys.ids, journal.layout.folder)
    new = writer.engine.known(records, writer.keys.ids, found.persons)
    known = known_in(writer, new)
    erased = frozenset().union(*(each.persons for each in journal.books.erasures))
    return {
        hashed: found.persons[hashed]
        for hashed in new
        if hashed in known or found.persons[hashed] in erased
    }


def _times_counted(books: Books, returning: frozenset[str]) -> int:
    """How often the bits about one of these begin at 0: when it joined, and after each erasure."""
    erased = Counter(each for erasure in books.erasures for each in erasure.persons & returning)
    return 1 + max(erased.values(), default=0)


def _refuse_half_corrected(n_records: int) -> None:
    """Refuse those whom a killed call has erased to let them join again, without its option."""
    raise InvalidInputError(
        f"{n_records:,} of the new records were erased from the study to join it again with other "
        "values: accept that once more, or leave them out of the table",
        suggestions=[Suggestion("extend", {"accept_corrections": True})],
    )


def _let_join(
    journal: Journal,
    writer: ReleaseWriter,
    records: Records,
    record: CohortRecord,
    returning: Mapping[str, str],
    *,
    accept_reset: bool,
    finish_erasure: Callable[[], object],
) -> None:
    """Erase who is to join again, then tell the ledger of the cohort."""
    joining = sketch_ids([records], journal.ledger.salt)
    if not accept_reset:  # before anything is erased
        journal.ledger.refuse_overlap(journal.study, joining)
    present = {hashed: returning[hashed] for hashed in known_in(writer, returning)}
    if present:
        record_erasure(journal, present, is_correction=True)
        finish_erasure()
    sketch = sketch_ids([*writer.cohorts, records], journal.ledger.salt)
    number = len(writer.cohorts) + 1
    while not journal.append_cohort(
        record,
        journal.books,
        corrected=len(returning),
        joining=joining,
        sketch=sketch,
        accept_reset=accept_reset,
    ):
        _refuse_moved_on(journal, number)
