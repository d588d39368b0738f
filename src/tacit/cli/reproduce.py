"""The command ``tacit reproduce``: the paper's tables, figures and claims."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.paper.reproduce import Report


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder to fill; made if it is not there.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON; progress goes to stderr.")
    ] = False,
) -> None:
    """Make every table and figure of the paper, and a report that tests each of its claims."""
    from tacit.paper.reproduce import as_json as report_json
    from tacit.paper.reproduce import reproduce as make_everything

    say = _progress(to_stderr=as_json)
    try:
        report = make_everything(out, say)
    except OSError as error:
        raise TacitError(f"cannot write into {out}: {error.strerror or error}") from error
    if as_json:
        print(json.dumps(report_json(report), indent=2, ensure_ascii=False))
    else:
        _summarise(report, out)


def _progress(*, to_stderr: bool) -> Callable[[str], None]:
    """Lines of progress, written as they come."""
    stream = sys.stderr if to_stderr else sys.stdout
    return lambda line: print(line, file=stream, flush=True)


def _summarise(report: Report, out: Path) -> None:
    """The claims and how they fared: a table on a terminal, plain lines elsewhere."""
    from tacit.paper.reproduce import verdict

    n_failing = len(report.claims) - report.n_holding
    rows = [(verdict(claim), claim.section, claim.text) for claim in report.claims]
    if sys.stdout.isatty():
        _print_table(rows)
    else:
        for fate, section, text in rows:
            print(f"{fate:13}  {section}: {text}")
    print(f"{report.n_holding} claims hold, {n_failing} do not: {out / 'report.md'}")


def _print_table(rows: list[tuple[str, str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "[TVC]", "claim", show_lines=False)
    for fate, section, text in rows:
        table.add_row(fate, section, text, style=None if fate == "holds" else "bold")
    Console().print(table)
