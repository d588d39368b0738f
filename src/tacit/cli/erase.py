"""The command ``tacit erase``: remove people from a study."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import confirm, counted, plain, show_done, waiting
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.study import ErasureReport, ListedRecords, Study


def erase(
    folder: Folder,
    ids: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The ids to erase, as a table with the study's id columns. Without it, an erasure "
            "that was interrupted is finished.",
        ),
    ] = None,
    skip_unknown: Annotated[
        bool,
        typer.Option("--skip-unknown", help="Skip ids that were never in the study, or are empty."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be erased, and erase nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Erase records: from the study, its ledger and all later files.

    What was released stays counted. The ledger keeps how many were erased, and a keyed proof.
    """
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        if ids is not None and dry_run:
            listed = study.find_listed(ids)
            show_done(listed.as_dict(), _in_words(listed), as_json=as_json)
            return
        done = _finish(study) if ids is None else _erase(study, ids, skip_unknown, yes)
    said = f"{plain(str(folder))}: {counted(done.records, 'record')} erased, {done.left:,} left"
    show_done(done.as_dict(), said, done.remarks, as_json=as_json)


def _erase(study: Study, ids: str, skip_unknown: bool, is_sure: bool) -> ErasureReport:
    with ExitStack() as shown:

        def ask(listed: ListedRecords) -> None:
            if not is_sure:
                confirm(f"{_in_words(listed)}. Erase them for good?")
            shown.enter_context(waiting("erasing records and drawing releases again"))

        return study.erase(ids, skip_unknown=skip_unknown, confirm=ask)


def _finish(study: Study) -> ErasureReport:
    with waiting("finishing the erasure"):
        done = study.finish_erasure()
    if not done.records:
        raise InvalidInputError("no erasure was interrupted: name the ids to erase with --ids")
    return done


def _in_words(listed: ListedRecords) -> str:
    """What a list of ids is about."""
    others = f", {len(listed.erased_rows):,} erased before" if listed.erased_rows else ""
    unknown = f", {len(listed.unknown_rows):,} unknown" if listed.unknown_rows else ""
    empty = f", {len(listed.empty_rows):,} empty" if listed.empty_rows else ""
    there = counted(len(listed.persons), "record")
    return f"{there} to erase{others}{unknown}{empty}; {listed.left:,} would be left"
