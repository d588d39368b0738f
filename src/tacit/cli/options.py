"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import InvalidInputError


def _page(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(
            f"{path} would be a page in HTML: give a name that ends in .html; a browser prints it "
            "as PDF"
        )
    return path


Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder.")]
Party = Annotated[str, typer.Argument(metavar="PARTY", help="Who asks.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document; of an error, too.")]
Requested = Annotated[
    str | None,
    typer.Argument(
        metavar="REQUEST", help="A private attribute, several with commas, or an external column."
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(
        metavar="EXPRESSION",
        help='Instead, an expression over the attributes\' levels, as in "age > 60".',
    ),
]
Utility = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How answers are judged: hamming (wrong or right), absolute or squared (levels that "
        "are numbers or bins), information, shares (with --analysable: the largest variance of "
        "their estimates), or a .json or .csv file of costs, a row for each answer and a column "
        "for each true level.",
    ),
]
WorstLevel = Annotated[
    bool,
    typer.Option(
        "--worst-level",
        help="Judge by the level that is told worst, not by the mean: no level is forgotten.",
    ),
]
Ceiling = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LEVEL=ERROR",
        help="The largest mean error, or cost, allowed at a level, as in 'below HS=0.6'; "
        "repeatable.",
    ),
]
Analysable = Annotated[
    bool,
    typer.Option(
        "--analysable",
        help="Answers that depend on nothing but what is asked: the recipient can analyse "
        "subgroups.",
    ),
]
Bits = Annotated[
    float | None,
    typer.Option(
        metavar="BITS",
        help="What the party may learn from it; by default all that is left to it.",
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="A new release, although the same was answered before.")
]
Cohort = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", min=1, help="Only for the records of this cohort; by default for all."
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="Go on in spite of what tacit has found, by the code that it named; again for each.",
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", callback=_page, help="Write it as a page that opens offline and prints."
    ),
]
AcceptRollback = Annotated[
    bool,
    typer.Option(
        "--accept-rollback",
        help="Go on although the ledger has lost entries. What they released is not counted any "
        "more: whoever received it may hold more than the limits say.",
    ),
]
