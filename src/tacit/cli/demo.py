"""The command ``tacit demo``: a whole study on real data, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to work; made if it is not there.")
    ] = Path("tacit-demo"),
    as_json: AsJson = False,
) -> None:
    """All of this on real data, in one go.

    A custodian's week on the census data Adult: study, quotes, releases, audit, verification.
    """
    from tacit.cli.story import tell

    tell(out, as_json=as_json)
