"""The command ``tacit link``: the pseudonyms that a party's ids have in its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_done, waiting
from tacit.cli.options import AsJson, Folder, Party


def link(
    folder: Folder,
    party: Party,
    ids: Annotated[
        str, typer.Argument(metavar="TABLE", help="The ids that the party sent, as a table.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, .csv or .parquet.")],
    as_json: AsJson = False,
) -> None:
    """Tell a party which pseudonyms its ids have, so that it can link rows of its own.

    It then knows which of its ids are in the study.
    """
    from tacit.study import Study

    with Study.open(folder) as study, waiting("looking ids up"):
        found = study.link(party, ids, out=out)
    n_known = found.table.num_rows
    done = f"{plain(str(out))}: {counted(n_known, 'id')} with their pseudonyms for {plain(party)}"
    others = f"; {counted(found.n_unknown, 'other id')} not in the study" if found.n_unknown else ""
    result = {"party": party, "out": str(out), "linked": n_known, "unknown": found.n_unknown}
    show_done(result, done + others, as_json=as_json)
