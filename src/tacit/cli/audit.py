"""The command ``tacit audit``: what everybody learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import plain, show_disclosures, show_json, show_remarks, show_rows, waiting
from tacit.cli.options import AsJson, Folder
from tacit.cli.quote import show_risks
from tacit.words.remarks import remarks_for_machines


def audit(
    folder: Folder,
    records: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Simulated records to attack.")
    ] = 20_000,
    parties: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Only what these parties, with commas, could tell together; nothing is attacked.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What everybody learned, with an executed attack.

    Each party and each coalition, measured in several ways.
    """
    from tacit.study import Study

    if parties is not None:
        _show_risk(folder, parties.split(","), as_json=as_json)
        return
    with Study.open(folder) as study, waiting("attacking simulated records"):
        found, status = study.audit_cohorts(records=records), study.status()
    worst = max(found, key=lambda number: found[number].everyone.exposure.mutual_information)
    if as_json:
        beside = {str(number): each.as_dict() for number, each in found.items()}
        more = {"cohort": worst, "cohorts": beside} if len(found) > 1 else {}
        said = {"remarks": remarks_for_machines(status.audit_remarks)}
        show_json(found[worst].as_dict() | more | said)
        return
    for number, each in found.items():
        if len(found) > 1:
            print(f"cohort {number}{', of which everyone holds most' * (number == worst)}:")
        for line in each.as_text().split("\n"):
            print(plain(line))
    show_remarks(status.audit_remarks)


def _show_risk(folder: Path, parties: list[str], *, as_json: bool) -> None:
    """What parties could tell together about a record, about each column in turn."""
    from tacit.auditing.text import guess_row
    from tacit.study import Study

    with Study.open(folder) as study:
        found = study.risk(parties)
    if as_json:
        show_json(found.as_dict())
        return
    show_disclosures(found.disclosures, "can name")
    show_risks([found], has_table=True)
    print()
    figures = [guess_row(each.inference) for each in found.told]
    rows = [(name.strip(), *others) for name, *others in figures]
    heading = ("of 100 guesses of", "right before", "right now", "worst answer")
    show_rows(heading, rows)
