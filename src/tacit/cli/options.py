"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder.")]
Party = Annotated[str, typer.Argument(metavar="PARTY", help="Who asks.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Requested = Annotated[
    str | None,
    typer.Argument(
        metavar="[REQUEST]", help="A private attribute, several with commas, or an external column."
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(help='An expression over the attributes\' levels instead, as in "age > 60".'),
]
Utility = Annotated[
    str,
    typer.Option(
        help="hamming, absolute, squared (ordered levels), information, or a file of costs."
    ),
]
Bits = Annotated[
    float | None,
    typer.Option(help="What the party may learn from it; by default all that is left to it."),
]
