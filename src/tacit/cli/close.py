"""The command ``tacit close``: destroy the key of a study."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.errors import InvalidInputError, TacitError


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
            _confirm(
                f"Destroy the key of {plain(str(folder))}? "
                "Nothing can ever be released or delivered again."
            )
        study.destroy_key()
        status = study.status()
    after = counted(status.releases, "release")
    done = f"{plain(str(folder))} is closed after {after}; tacit verify still works"
    show_done({"is_closed": True, "releases": status.releases}, done, as_json=as_json)


def _confirm(question: str) -> None:
    """Ask on the terminal; anything but yes is no."""
    if not sys.stdin.isatty():
        raise InvalidInputError("nobody is there to be asked whether this is meant: add --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise TacitError("nothing was changed: it was not confirmed")
