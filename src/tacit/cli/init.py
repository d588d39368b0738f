"""The command ``tacit init``: make a study of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import counted, plain, show_json, show_remarks, waiting
from tacit.cli.options import Accept, AsJson, Folder
from tacit.cli.small_cells import MinCell, show_cells
from tacit.tables.encoding.column import Stray
from tacit.words.commands import command_line
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import StudyStatus


def init(
    folder: Folder,
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="A .csv, .parquet, .arrow, .feather, .xlsx (::sheet) or .duckdb file (::table), "
            "a folder/ of .parquet files, or postgresql://...#table; for --engine spark also "
            "spark:TABLE of its catalog, or the address of a folder of Parquet files.",
        ),
    ],
    id_columns: Annotated[
        str,
        typer.Option(
            "--id", metavar="COLUMN", help="What tells records apart; several with commas."
        ),
    ],
    private: Annotated[
        list[str],
        typer.Option(
            metavar="ATTRIBUTE",
            help="NAME, NAME:cut=30,45,60, NAME:quantiles=4, NAME:map=groups.json, NAME:by=year "
            "(or month) or NAME:top=20; again for each private attribute.",
        ),
    ],
    external: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="One that may be asked for too, declared in the same way. Nobody's own value is "
            "read for an answer: it is predicted from the private attributes.",
        ),
    ] = None,
    stray: Annotated[
        Stray,
        typer.Option(
            metavar="refuse|missing",
            help="What to do with a text in a column that is cut and otherwise has numbers or "
            "dates: refuse the table, or count the value as missing.",
        ),
    ] = "refuse",
    everyone: Annotated[
        float | None,
        typer.Option(metavar="BITS", help="What all parties together may learn about a record."),
    ] = None,
    public_id: Annotated[
        bool, typer.Option("--public-id", help="Write raw ids into release files.")
    ] = False,
    organisation: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Whose table it is, for receipts and reports."),
    ] = None,
    min_cell: MinCell = 10,
    min_records: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Refuse a smaller table: whoever knows its counts learns more than the limits "
            "say, from everybody else's rows.",
        ),
    ] = 50,
    memory: Annotated[
        int,
        typer.Option(metavar="STATES", help="The most states to remember a record's past by."),
    ] = 64,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="postgresql://..., sqlite:///... or folder, for a file in the study's folder; by "
            "default $TACIT_LEDGER, else a file in your data folder that all your studies share.",
        ),
    ] = None,
    accept_reset: Annotated[
        bool,
        typer.Option(
            "--accept-reset",
            help="Take records that the ledger knows from another study. Their bits are then "
            "counted from 0 again: whoever holds releases of both studies may hold the sum. Also "
            "where the ids are other people's there, as numbers of rows are.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Make a study anew of which nothing was released: the one in this folder, if it "
            "is there. Those of the ledger that have some of these records end.",
        ),
    ] = False,
    accept: Accept = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="local|spark",
            help="What reads and writes the records: this machine, or a Spark cluster.",
        ),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The cluster for --engine spark, such as spark://host:7077 or yarn; by default "
            "what Spark's own settings say.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="An empty folder for records and states that --engine spark reaches, such as "
            "hdfs://name/clinic or s3a://bucket/clinic; by default the study's own.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a study of a table."""
    from tacit.cli.columns import columns_in_shell, parse_column
    from tacit.study import Study
    from tacit.study.setup.creation import least_overlap_noticed

    with (
        waiting("reading the table"),
        columns_in_shell(),
        Study.create(
            folder,
            table,
            id=id_columns.split(","),
            private=[parse_column(each, stray) for each in private],
            external=[parse_column(each, stray) for each in external or ()],
            everyone=everyone,
            public_id=public_id,
            organisation=organisation,
            memory=memory,
            ledger=ledger,
            accept_reset=accept_reset,
            again=again,
            accept=accept or (),
            min_records=min_records,
            engine=engine,
            master=master,
            data=data,
        ) as study,
    ):
        status, small = study.status(), study.small_cells(min_cell)
        names, place = [attribute.name for attribute in study.attributes], study.ledger_shown
        remarks = [*study.remarks, *status.remarks]
    noticed = least_overlap_noticed(status.records)
    if as_json:
        found = {"attributes": names, "small_cells": [cell.as_dict() for cell in small]}
        found |= {
            "remarks": remarks_for_machines(remarks),
            "ledger": place,
            "overlap_noticed": noticed,
        }
        show_json(status.as_dict() | found)
        return
    _show_study(folder, status, names)
    _show_ledger(place, noticed)
    show_cells(names, small, min_cell)
    show_remarks(remarks)
    print(f"Next: {command_line('tacit', 'limit', folder)} PARTY --bits BITS")


def _show_study(folder: Path, status: StudyStatus, names: Sequence[str]) -> None:
    print(
        f"{plain(str(folder))}: {counted(status.records, 'record')}, "
        f"{status.entropy_bits:.4f} bits to learn about each "
        f"({', '.join(map(plain, names))})."
    )
    print("How many records have each combination of levels counts as public, and so does")
    print("every quote, design and refusal.")


def _show_ledger(place: str, noticed: int) -> None:
    print(f"Ledger: {plain(place)}")
    shared = "any" if noticed == 1 else f"{noticed:,} or more"
    print(f"It notices another study with {shared} of these records, by their ids.")
