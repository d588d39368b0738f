"""The command ``tacit verify``: whether everything is as recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import counted, plain, show_json, show_remarks, waiting
from tacit.cli.failure import LEDGER
from tacit.cli.options import AsJson, Folder
from tacit.words.remarks import remark_in_words, remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import Verification


def verify(
    folder: Folder,
    receipt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A receipt or certificate: the ledger must still hold it, and everything that it "
            "shows must be so.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay the ledger: hash chain, certificates, files.

    Finds what was changed, without the optimiser. While the key exists, every release is drawn
    again.
    """
    from tacit.study import verify_study

    with waiting("replaying the ledger"):
        found = verify_study(folder, receipt)
    if as_json:
        said = {
            "problems": remarks_for_machines(found.problems),
            "notes": remarks_for_machines(found.notes),
        }
        show_json(found.as_dict() | said)
    else:
        _show_verification(found, receipt)
    if not found.is_whole:
        raise typer.Exit(LEDGER)


def _show_verification(found: Verification, paper: Path | None) -> None:
    for problem in found.problems:
        print(f"PROBLEM: {plain(remark_in_words(problem))}")
    show_remarks(found.notes)
    if not found.is_whole:
        or_paper = "" if paper is None else f", or on {plain(str(paper))}"
        problems = counted(len(found.problems), "problem")
        print(f"{problems}: do not rely on this study{or_paper}, before that is explained")
        return
    entries = counted(found.entries, "entry", "entries")
    print(f"{entries}, {counted(found.releases, 'release')}: everything is as recorded")
    print("only hashed: times, authors, reasons, names of tables and files")
    if found.proved_gaps:
        _show_proofs(found)


def _show_proofs(found: Verification) -> None:
    from tacit.study.books.books import RESERVE_BITS

    worst = max(found.proved_gaps.values())
    print(
        f"solved again: no release is more than {worst:.1e} worse than the best that stays "
        f"{RESERVE_BITS:.0e} bits below its limits"
    )
    if found.analysable:
        numbers = ", ".join(map(str, found.analysable))
        print(f"of analysable releases ({numbers}), the best that is analysable")
