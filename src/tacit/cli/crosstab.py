"""The command ``tacit crosstab``: what a recipient can read from releases beside its own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import (
    counted,
    plain,
    share_in_words,
    show_json,
    show_remarks,
    show_rows,
)
from tacit.cli.options import AsJson
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.estimation import Cell, CrossTable, OddsRatio


def crosstab(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Analysable releases of one party, certificates beside them."
        ),
    ],
    own: Annotated[
        Path | None,
        typer.Option("--with", metavar="TABLE", help="Your own table, .csv or .parquet."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of it that makes groups; repeatable."),
    ] = None,
    own_id: Annotated[
        str, typer.Option("--id", metavar="COLUMN", help="The column of it with the record ids.")
    ] = "record",
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Of every interval, between 0 and 1.")
    ] = 0.95,
    insist: Annotated[
        bool, typer.Option("--insist", help="Bounds from a file that is not analysable.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """For recipients: shares in groups of your own rows, and odds ratios.

    Several files are taken jointly.
    """
    from tacit.study import crosstab_files

    found = crosstab_files(
        files, own, by or (), own_id=own_id, confidence=confidence, insist=insist
    )
    if as_json:
        show_json(found.as_dict() | {"remarks": remarks_for_machines(found.remarks)})
    else:
        _show_crosstab(found)


def _show_crosstab(found: CrossTable) -> None:
    title = " and ".join(map(plain, found.columns))
    by = f" by {', '.join(map(plain, found.by))}" if found.by else ""
    print(f"{title}{by}: {counted(found.n, 'record')}, {100 * found.confidence:g} % intervals")
    heading = (*found.by, *found.columns, "records", "share", "error", "from", "to", "")
    show_rows(heading, [_row(cell) for cell in found.cells])
    if found.odds_ratios:
        print("odds ratios:")
        heading = (*(found.by if len(found.columns) > 1 else ()), "odds of", "against", "in")
        rows = [_odds_row(each) for each in found.odds_ratios]
        show_rows((*heading, "against", "ratio", "from", "to"), rows)
    show_remarks(found.remarks)


def _row(cell: Cell) -> tuple[str, ...]:
    """Group, levels, rows, share, standard error, interval, and how to read them."""
    share, how = share_in_words(cell.share)
    error = "" if cell.standard_error is None else f"{cell.standard_error:.4f}"
    figures = share, error, f"{cell.low:.4f}", f"{cell.high:.4f}", how
    return (*cell.group, *cell.levels, f"{cell.n:,}", *figures)


def _odds_row(each: OddsRatio) -> tuple[str, ...]:
    ratio = "" if each.value is None else f"{each.value:.3f}"
    high = "∞" if each.high is None else f"{each.high:.3f}"
    where = each.level, each.against, each.where, each.compared_with
    return (*each.within, *where, ratio, f"{each.low:.3f}", high)
