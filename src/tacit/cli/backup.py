"""Commands that keep a study safe, and bring it back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson, Folder
from tacit.cli.progress import waiting
from tacit.cli.showing import counted, plain, show_json


def backup(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, as in monday.tar.")],
    as_json: AsJson = False,
) -> None:
    """Copy a study and its ledger entries into one file.

    It holds the secret key: keep it as safe as the key.
    """
    from tacit.study.backup import back_up

    with waiting("copying"):
        made = back_up(folder, file)
    if as_json:
        show_json(made.as_dict())
        return
    key = ", with the secret key: keep it as safe as that" if made.has_key else ""
    entries = _entries(made.entries)
    print(f"{plain(str(file))}: backup of {plain(str(folder))}, {entries}{key}")


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
        show_json(restored.as_dict())
        return
    print(
        f"{plain(str(folder))}: {_entries(restored.entries)} and "
        f"{counted(len(restored.files), 'file')} were put back; ledger: {plain(restored.ledger)}"
    )
    for remark in restored.remarks:
        print(f"note: {plain(remark)}")


def _entries(number: int) -> str:
    return "1 ledger entry" if number == 1 else f"{number:,} ledger entries"
