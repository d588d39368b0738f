"""The commands ``tacit party token`` and ``tacit custodian token``: who may call a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import counted, plain, show_done
from tacit.cli.options import AsJson, Folder

Expires = Annotated[
    str, typer.Option(metavar="DURATION", help="When it ends, as in 30d, 12h or 15m.")
]
Revoke = Annotated[
    bool, typer.Option("--revoke", help="Give no token: end all that it has, and its sessions.")
]


def party_token(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Who gets the token.")],
    expires: Expires = "30d",
    revoke: Revoke = False,
    as_json: AsJson = False,
) -> None:
    """Give a party a token for the service, or end its tokens.

    The token is shown once; only its hash is kept.
    """
    from tacit.service.access import PARTY
    from tacit.study import Study

    with Study.open(folder) as study:
        party = name if revoke else study.statement(name).party
        removals = study.removals(party)
    _change_tokens(folder, PARTY, party, removals, expires, revoke=revoke, as_json=as_json)


def custodian_token(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As the ledger will name them.")],
    expires: Expires = "30d",
    revoke: Revoke = False,
    as_json: AsJson = False,
) -> None:
    """Give a custodian a token for the service, or end their tokens.

    The ledger says by this name who did what.
    """
    from tacit.service.access import CUSTODIAN
    from tacit.study import Study

    Study.open(folder).close()  # refuse what is no study
    _change_tokens(folder, CUSTODIAN, name, 0, expires, revoke=revoke, as_json=as_json)


def _change_tokens(
    folder: Path,
    role: str,
    name: str,
    removals: int,
    expires: str,
    *,
    revoke: bool,
    as_json: bool,
) -> None:
    from tacit.service.access import Access, read_duration
    from tacit.service.database import Database

    seconds = read_duration(expires)
    access = Access(Database.open(folder))
    if revoke:
        ended = access.revoke_tokens(role, name)
        done = f"{counted(ended, 'token')} of {plain(name)} ended"
        show_done({"name": name, "revoked": ended}, done, as_json=as_json)
        return
    token = access.issue_token(role, name, removals=removals, seconds=seconds)
    show_done(
        {"name": name, "token": token},
        f"token of {plain(name)}, shown once: {token}",
        as_json=as_json,
    )
