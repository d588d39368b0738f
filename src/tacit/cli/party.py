"""The command ``tacit party approval``: whether a party's own requests wait for a custodian."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tacit.cli.display import plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder


def set_approval(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Who asks through the service.")],
    setting: Annotated[
        Literal["on", "off"],
        typer.Argument(metavar="SETTING", help="on if a custodian approves each request, or off."),
    ],
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Let what a party asks for through the service wait for approval, or not.

    It holds for every token of the party, on every server.
    """
    from tacit.study import Study

    is_required = setting == "on"
    with Study.open(folder, accept_rollback=accept_rollback) as study:
        remarks = study.set_approval(name, is_required=is_required)
    done = f"requests that {plain(name)} makes {'wait for' if is_required else 'need no'} approval"
    show_done({"party": name, "needs_approval": is_required}, done, remarks, as_json=as_json)
