"""The command ``tacit audit``: what everybody learned."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.display import plain, show_json, waiting
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
    from tacit.study.books.records import FIRST_COHORT

    with Study.open(folder) as study, waiting("attacking simulated records"):
        told = [each.number for each in study.status().cohorts if each.releases]
        numbers = told or [FIRST_COHORT]  # which says that there is nothing to audit
        found = {number: study.audit(records=records, cohort=number) for number in numbers}
    worst = max(found, key=lambda number: found[number].everyone.exposure.mutual_information)
    if as_json:
        beside = {str(number): each.as_dict() for number, each in found.items()}
        more = {"cohort": worst, "cohorts": beside} if len(found) > 1 else {}
        show_json(found[worst].as_dict() | more)
        return
    for number, each in found.items():
        if len(found) > 1:
            print(f"cohort {number}{', of which everyone holds most' * (number == worst)}:")
        for line in each.as_text().split("\n"):
            print(plain(line))
