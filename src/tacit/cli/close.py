"""The command ``tacit close``: destroy the key of a study."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.display import confirm, counted, plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder


def close(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Destroy the key: no more releases, everything stays verifiable."""
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        if not yes:
            confirm(
                f"Destroy the key of {plain(str(folder))}? "
                "Nothing can ever be released or delivered again."
            )
        study.destroy_key()
        status = study.status()
    after = counted(status.releases, "release")
    done = f"{plain(str(folder))} is closed after {after}; tacit verify still works"
    show_done({"is_closed": True, "releases": status.releases}, done, as_json=as_json)
