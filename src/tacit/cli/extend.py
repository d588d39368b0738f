"""The command ``tacit extend``: let records that came since join a study."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_json, show_remarks, waiting
from tacit.cli.options import Accept, AcceptRollback, AsJson, Folder
from tacit.cli.small_cells import MinCell, show_cells
from tacit.words.remarks import remarks_for_machines


def extend(
    folder: Folder,
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="As for tacit init, with the same columns.",
        ),
    ],
    min_cohort: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Refuse fewer new records: whoever knows the counts of a small cohort learns more "
            "than the limits say, from everybody else's rows.",
        ),
    ] = 50,
    min_cell: MinCell = 10,
    skip_known: Annotated[
        bool,
        typer.Option(
            "--skip-known", help="Leave out records whose ids are in the study, or were erased."
        ),
    ] = False,
    accept_corrections: Annotated[
        bool,
        typer.Option(
            "--accept-corrections",
            help="Erase records whose private values are others than in the study, and let them "
            "join again. Earlier answers about them stand: whoever "
            " holds these and new ones may hold up to twice the limits about them, "
            "and once more each further time.",
        ),
    ] = False,
    readmit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Let somebody join again who was erased, at the same price; an id of several "
            "columns with commas; again for each.",
        ),
    ] = None,
    accept_reset: Annotated[
        bool,
        typer.Option(
            "--accept-reset",
            help="Take records that the ledger knows from another study. Their bits are then "
            "counted from 0 again: whoever holds releases of both studies may hold the sum.",
        ),
    ] = False,
    accept: Accept = None,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Let records that came since join, as a cohort of their own.

    Every limit holds in every cohort. Repeating a request answers it for the new one.
    """
    from tacit.study import Study
    from tacit.study.setup.limits import UNCHANGED

    with (
        waiting("reading the table"),
        Study.open(folder, accept_rollback=accept_rollback) as study,
    ):
        remarks = study.extend(
            table,
            min_cohort=min_cohort,
            skip_known=skip_known,
            accept_corrections=accept_corrections,
            readmit=readmit or (),
            accept_reset=accept_reset,
            accept=accept or (),
        )
        cohorts = study.status().cohorts
        last = cohorts[-1]
        small = [cell for cell in study.small_cells(min_cell) if cell.cohort == last.number]
        names = [attribute.name for attribute in study.attributes]
    if as_json:
        found = {"cohorts": [each.as_dict() for each in cohorts], "attributes": names}
        found |= {"small_cells": [cell.as_dict() for cell in small]}
        show_json(found | {"remarks": remarks_for_machines(remarks)})
        return
    print(
        f"{plain(str(folder))}: {counted(len(cohorts), 'cohort')}, the last with "
        f"{counted(last.records, 'record')} and {last.entropy_bits:.4f} bits to learn about each. "
        "Their counts are public."
    )
    if UNCHANGED not in remarks:
        show_cells(names, small, min_cell)
    show_remarks(remarks)
