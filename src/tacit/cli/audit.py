"""The command ``tacit audit``: what everybody learned."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.display import plain, show_json, show_remarks, waiting
from tacit.cli.options import AsJson, Folder


def audit(
    folder: Folder,
    records: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Simulated records to attack.")
    ] = 20_000,
    as_json: AsJson = False,
) -> None:
    """What everybody learned, with an executed attack.

    Each party and each coalition, measured in several ways.
    """
    from tacit.study import Study

    with Study.open(folder) as study, waiting("attacking simulated records"):
        found = study.audit(records=records)
        remarks = study.status().remarks
    if as_json:
        show_json(found.as_dict())
        return
    for line in found.as_text().split("\n"):
        print(plain(line))
    show_remarks(each for each in remarks if each.code == "records_erased")
