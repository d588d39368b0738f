"""The commands ``tacit party``: let a party in, change its limit and cap, rename it, remove it."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import Annotated, Literal

import typer

from tacit.cli.display import plain, show_done, show_remarks
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.errors import InvalidInputError


def add_party(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Its name; again to change it.")],
    limit: Annotated[
        float,
        typer.Option(
            metavar="BITS", help="Bits about one record, over everything it will ever hold."
        ),
    ],
    cap: Annotated[
        str | None,
        typer.Option(
            metavar="BITS",
            help="Bits of the worst single answer, or none: after any answer, no combination of "
            "levels is more than 2^BITS times as likely as before.",
        ),
    ] = None,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Let a party in, or change its limit.

    A cap that is not named stays as it is.
    """
    from tacit.cli.plan import limit_in_terms
    from tacit.policy import bits_in_words, cap_in_words
    from tacit.study import Study

    bits = None if cap is None else _cap(cap)
    with Study.open(folder, accept_rollback=accept_rollback) as study:
        remarks = study.set_party(name, limit, cap=bits)
        party = study.spelling(name)
        around = study.policy.least_bits_on({party})
        holds = limit if around is None else min(limit, around)
        kept, cap_around = study.cap_of(party), study.policy.least_cap_on({party})
        capped = cap_around if kept is None else min(kept, cap_around)
        means = study.explain_limit(holds, cap=capped)
        remarks += study.missing_cap(party)
    no_cap = "" if bits is None else "; no cap"
    promise = no_cap if kept is None else f"; {cap_in_words(kept)}"
    done = f"{plain(party)} may learn {bits_in_words(limit)} about a record{promise}"
    told = {
        "party": party,
        "limit": limit,
        "cap": kept,
        "means": [asdict(each) for each in means],
    }
    if as_json:
        show_done(told, done, remarks, as_json=True)
        return
    print(done)
    for line in limit_in_terms(holds, capped, means):
        print(plain(line))
    show_remarks(remarks)


def remove_party(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="A party that holds nothing.")],
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Remove a party that holds nothing.

    What was released stays counted for ever, so a party that received something stays.
    """
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        party = study.spelling(name)
        remarks = study.remove_party(name)
    show_done(
        {"party": party}, f"{plain(party)} is removed: it held nothing", remarks, as_json=as_json
    )


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
        party = study.spelling(name)
    done = f"requests that {plain(party)} makes {'wait for' if is_required else 'need no'} approval"
    show_done({"party": party, "needs_approval": is_required}, done, remarks, as_json=as_json)


def rename_party(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Any name that it has, or had.")],
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called from now on.")],
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Call a party by another name; its earlier names still find it."""
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        remarks = study.rename_party(name, new_name)
        party = study.spelling(new_name)
    done = f"{plain(party)} is called {plain(new_name)} from now on"
    show_done({"party": party, "name": new_name}, done, remarks, as_json=as_json)


def _cap(text: str) -> float:
    try:
        bits = inf if text == "none" else float(text)
    except ValueError:
        raise InvalidInputError(
            f"--cap {text}: give a number of bits, or none for no cap"
        ) from None
    return bits
