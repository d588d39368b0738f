"""Extending a study: records that came since join it as a cohort of their own.

The snapshot is written first and the ledger told last, so that what a killed process leaves is no
loss: the same command clears it and begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from shutil import rmtree

from tacit.errors import InvalidInputError, Suggestion
from tacit.remark import Remark
from tacit.storage import atomic_folder, locked
from tacit.study.books.books import Books
from tacit.study.folder import Layout, TableRead, file_evidence, store_evidence
from tacit.study.journal import Journal
from tacit.study.releases.release import ReleaseWriter
from tacit.study.setup.creation import cohort_record, sketch_ids
from tacit.tables.delivery.engine import Records
from tacit.tables.sources.source import find_source

MIN_COHORT = 50
"""As for a new study: a cohort has public counts of its own, and in a small one whoever knows the
counts learns much about a person from everybody else's rows."""


def extend_study(
    journal: Journal,
    writer: ReleaseWriter,
    table: str,
    *,
    min_cohort: int,
    skip_known: bool,
    accept_reset: bool,
    remark: Callable[[Remark], None],
) -> None:
    """Let the new records of a table join a study; arguments as for ``Study.extend``.

    Args:
        journal: of the study.
        writer: which has the study's key and cohorts, checked.
        table: names it.
        min_cohort: refuse fewer new records.
        skip_known: leave out records that are known, instead of refusing them.
        accept_reset: whether records may join that the ledger knows from another study.
        remark: called with what the custodian should know about the table.
    """
    layout = journal.layout
    layout.cohorts.mkdir(mode=0o700, exist_ok=True)
    with locked(layout.cohorts):  # of two who extend at once, the second sees what the first did
        number = len(writer.cohorts) + 1
        _refuse_other_cohort(journal, number)
        _clear(layout, number)
        with atomic_folder(layout.of_cohort(number).folder) as place:
            records = _fill(Layout(place), writer, table, skip_known=skip_known, remark=remark)
            _refuse_few(records.n_records, table, min_cohort)
            record = cohort_record(records, table, writer.keys)
            salt = journal.ledger.salt
            joining = sketch_ids([records], salt)
            sketch = sketch_ids([*writer.cohorts, records], salt)
        append = partial(
            journal.append_cohort,
            record,
            corrected=0,
            joining=joining,
            sketch=sketch,
            accept_reset=accept_reset,
        )
        _append(journal, number, append)


def _clear(layout: Layout, number: int) -> None:
    """Remove what a killed process left where a cohort is to be; the ledger does not know it."""
    place = layout.of_cohort(number).folder
    if place.exists():
        rmtree(place)


def _fill(
    place: Layout,
    writer: ReleaseWriter,
    table: str,
    *,
    skip_known: bool,
    remark: Callable[[Remark], None],
) -> Records:
    """Snapshot, and which table it is of."""
    read = TableRead.of(table)
    seen = file_evidence(read.file)
    records: Records = writer.engine.count_cohort(
        table, writer.cohorts, place.snapshot, skip_known=skip_known, remark=remark
    )
    if seen is not None and seen == file_evidence(read.file):
        store_evidence(place, seen)
    place.table.touch(mode=0o600)  # an address of a server may hold a password
    place.table.write_text(read.model_dump_json(indent=2) + "\n")
    return records


def _refuse_few(n_records: int, table: str, min_cohort: int) -> None:
    if n_records < min_cohort:
        raise InvalidInputError(
            f"{find_source(table).shown} has {n_records:,} new records and {min_cohort:,} is the "
            f"fewest for a cohort, {min_cohort - n_records:,} are missing: its counts are public, "
            "and in a small cohort they tell whoever knows them much about each person; wait for "
            "more records, or accept that",
            suggestions=[Suggestion("extend", {"min_cohort": n_records})],
        )


def _append(journal: Journal, number: int, append: Callable[[Books], bool]) -> None:
    """Tell the ledger that a cohort of this number has joined."""
    try:
        while not append(journal.books):
            _refuse_other_cohort(journal, number)
    except BaseException:
        if len(journal.refresh().cohorts) < number:  # it knows these records, say
            _clear(journal.layout, number)
        raise


def _refuse_other_cohort(journal: Journal, number: int) -> None:
    """Refuse where another cohort has joined, from a copy of the folder that this one is not."""
    if len(journal.refresh().cohorts) >= number:
        raise InvalidInputError(
            "another cohort has joined meanwhile: extend the study again; if it joined from "
            "another copy of the folder, bring the copies together before"
        )
