"""The command ``tacit restore``: put back what a study or its ledger has lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_json, show_remarks, waiting
from tacit.cli.options import AsJson, Folder
from tacit.words.remarks import remarks_for_machines


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What tacit backup has written.")],
    folder: Folder,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Another place for the ledger than before, as for init; only for a folder that is "
            "not there. Never go on with the study in both places.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put back what a study or its ledger has lost.

    Nothing that is there is changed: entries that are newer than the backup stay.
    """
    from tacit.study.backup import restore as put_back

    with waiting("putting back"):
        restored = put_back(file, folder, ledger=ledger)
    if as_json:
        show_json(restored.as_dict() | {"remarks": remarks_for_machines(restored.remarks)})
        return
    entries = counted(restored.entries, "ledger entry", "ledger entries")
    print(
        f"{plain(str(folder))}: {entries} and "
        f"{counted(len(restored.files), 'file')} were put back; ledger: {plain(restored.ledger)}"
    )
    show_remarks(restored.remarks)
