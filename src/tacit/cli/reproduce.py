"""The command ``tacit reproduce``: the paper's tables, figures and claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import show_json, show_rows
from tacit.cli.options import AsJson

if TYPE_CHECKING:
    from tacit.paper.reproduce import Report


def reproduce(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to put it; made if it is not there.")
    ],
    as_json: AsJson = False,
) -> None:
    """The paper's tables, figures and claims.

    With a report that tests each of the claims.
    """
    from tacit.paper.reproduce import as_json as report_json
    from tacit.paper.reproduce import reproduce as make_everything

    report = make_everything(out, lambda line: print(line, file=sys.stderr, flush=True))
    if as_json:
        show_json(report_json(report))
    else:
        _summarise(report, out)


def _summarise(report: Report, out: Path) -> None:
    """The claims and how they fared."""
    from tacit.paper.reproduce import verdict

    rows = [(verdict(claim), claim.section, claim.text) for claim in report.claims]
    show_rows(("", "[TVC]", "claim"), rows, wide=2)
    n_failing = len(report.claims) - report.n_holding
    print(f"{report.n_holding} claims hold, {n_failing} do not: {out / 'report.md'}")
