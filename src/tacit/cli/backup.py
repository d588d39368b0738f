"""The command ``tacit backup``: a study and its ledger entries in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_json, waiting
from tacit.cli.options import AsJson, Folder


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
    entries = counted(made.entries, "ledger entry", "ledger entries")
    print(f"{plain(str(file))}: backup of {plain(str(folder))}, {entries}{key}")
    if made.records_at is not None:
        print(f"its records are not in it: copy {plain(made.records_at)} yourself, too")
