"""What is refused before anything is recorded, because the study is not as it should be."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.accounting import Counts
from tacit.errors import InvalidInputError, LedgerError
from tacit.ledger import Ledger
from tacit.study.configuration import Configuration, is_study
from tacit.study.layout import Layout
from tacit.study.source_check import source_changes, source_file, source_shown
from tacit.tables import Snapshot


def refuse_unregistered(layout: Layout, configuration: Configuration, ledger: Ledger) -> None:
    """A folder whose making was cut short just before its ledger knew of it, or a lost ledger."""
    if configuration.study not in ledger.studies():
        raise LedgerError(
            f"the ledger {ledger.url_shown} does not know {layout.folder}: if making it was "
            "interrupted, remove the folder and run tacit init again; else restore the ledger"
        )


def refuse_changed_source(layout: Layout, snapshot: Snapshot, source: str) -> None:
    """A table that is no longer what the study was made of."""
    changes = source_changes(layout, snapshot, source)
    if changes:
        raise InvalidInputError(
            f"{source_shown(source)} has changed since {layout.folder} was made "
            f"({'; '.join(changes)}): put it back, or make a new study of it"
        )


def refuse_changed_snapshot(layout: Layout, snapshot: Snapshot, counts: Counts) -> None:
    """A snapshot with other cells than the ledger counts."""
    if not np.array_equal(np.bincount(snapshot.x, minlength=len(counts)), counts):
        raise InvalidInputError(
            f"the snapshot in {layout.snapshot} is not what it was when the study began: "
            "restore it from a backup"
        )


def refuse_own_files(source: str, target: Path) -> None:
    """A file that would lie in the folder of a study, of any, or over the study's table."""
    table, place = source_file(source), target.resolve()
    refuse_study_files(target)
    if table is not None and place == table.resolve():
        raise InvalidInputError(
            f"{target} belongs to the study, which was made of it: give another file"
        )


def refuse_study_files(target: Path) -> None:
    """A file that would lie in the folder of a study, of any."""
    for folder in target.resolve().parents:
        if is_study(folder):
            raise InvalidInputError(
                f"{target} belongs to the study {folder}: give a file that is not in its folder"
            )
