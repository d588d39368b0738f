"""The command ``tacit party add``: let a party in, or change its limit."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.display import plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder


def add_party(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Its name; again to change it.")],
    limit: Annotated[
        float,
        typer.Option(
            metavar="BITS", help="Bits about one record, over everything it will ever hold."
        ),
    ],
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Let a party in, or change its limit."""
    from tacit.policy import bits_in_words
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        remarks = study.set_party(name, limit)
        party = study.spelling(name)
    done = f"{plain(party)} may learn {bits_in_words(limit)} about a record"
    show_done({"party": party, "limit": limit}, done, remarks, as_json=as_json)
