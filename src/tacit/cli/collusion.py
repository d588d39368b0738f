"""The command ``tacit collusion set``: limits on what parties may learn together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from math import inf
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.display import plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.policy import Amount, Limit, Policy
    from tacit.remark import Remark

_Coalition = TypeVar("_Coalition")
"""A number of parties, or the parties themselves."""


def set_collusion(
    folder: Folder,
    everyone: Annotated[
        str | None, typer.Option(metavar="BITS", help="Bits for all parties together, or none.")
    ] = None,
    everyone_cap: Annotated[
        str | None,
        typer.Option(
            metavar="BITS",
            help="Bits of the worst single answer of all parties together, or none: after any "
            "answer, no combination of levels is more than 2^BITS times as likely as before.",
        ),
    ] = None,
    any_of: Annotated[
        list[str] | None,
        typer.Option(
            "--any",
            metavar="N=BITS[,cap=BITS]",
            help="Bits for any N parties together, and a cap on their worst single answer; "
            "N=cap=BITS for a cap only; or N=none; again for each N. none alone takes all of these "
            "away.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B=BITS[,cap=BITS]",
            help="The same for these parties together, or A,B=none; again for each group.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:WHOM=BITS[,cap=BITS]",
            help="The same for whom a limit of another kind, of an installed package, is on, or "
            "KIND:WHOM=none; again for each.",
        ),
    ] = None,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Limit what parties may learn together, or show the limits.

    What is not named stays as it is.
    """
    from tacit.study import Study
    from tacit.study.books.records import PolicyRecord

    remarks: list[Remark] = []
    with Study.open(folder, accept_rollback=accept_rollback) as study:
        if everyone is not None or everyone_cap is not None or any_of or group or limit:
            groups = [_group(text, study.spelling) for text in group or ()]
            others = _others(limit or (), study.spelling)
            remarks = study.change_collusion(
                lambda policy: _put_all(
                    change_limits(policy, everyone, any_of or (), groups, everyone_cap), others
                )
            )
        policy = study.policy
    stored = PolicyRecord.of_policy(policy).model_dump(mode="json")
    line = plain(f"Limits on coalitions: {policy.in_words}")
    show_done(stored, line, remarks, as_json=as_json)


def change_limits(
    policy: Policy,
    everyone: str | None,
    any_of: Sequence[str],
    groups: Sequence[tuple[Collection[str], Amount]],
    everyone_cap: str | None = None,
) -> Policy:
    """A policy with some of its limits replaced."""
    from tacit.policy import AnySize, Everyone, Group

    changes: list[tuple[Limit, Amount]] = []
    if everyone is not None:
        bits = _number(f"--everyone {everyone}", everyone)
        changes.append((Everyone(inf), {"bits": bits}))
    if everyone_cap is not None:
        cap = _number(f"--everyone-cap {everyone_cap}", everyone_cap)
        changes.append((Everyone(inf), {"cap": cap}))
    if "none" in any_of:
        policy = policy.change(without=[AnySize])
    sizes = _distinct([_any(text) for text in any_of if text != "none"], "--any")
    changes += [(AnySize(inf, size), amount) for size, amount in sizes]
    changes += [(Group(inf, who), amount) for who, amount in _distinct(groups, "--group")]
    return _put_all(policy, changes)


def _put_all(policy: Policy, changes: Sequence[tuple[Limit, Amount]]) -> Policy:
    """Set limits, or take them away; what an amount does not name stays as it is."""
    for blank, amount in changes:
        policy = policy.amend(blank, amount)
    return policy


def _distinct(
    changes: Sequence[tuple[_Coalition, Amount]], option: str
) -> Sequence[tuple[_Coalition, Amount]]:
    if len(dict(changes)) < len(changes):
        raise InvalidInputError(f"{option} names the same parties twice: give them one limit")
    return changes


def _number(given: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{given}: give a number of bits, or none for no limit") from None


def _amount(given: str, text: str) -> Amount:
    """Bits, a cap, or both; ``none`` takes both away."""
    if text == "none":
        return {"bits": None, "cap": None}
    bits, _, cap = text.rpartition("cap=") if "cap=" in text else (text, "", "")
    bits = bits.removesuffix(",") if cap else bits
    named = ([("bits", bits)] if bits or not cap else []) + ([("cap", cap)] if cap else [])
    return {name: _number(given, number) for name, number in named}


def _parted(text: str) -> tuple[str, str] | None:
    """Whom a limit is on, and its amount: WHOM=BITS, WHOM=BITS,cap=BITS or WHOM=cap=BITS."""
    found = re.fullmatch(r"(.*?)=((?:[^=,]+,)?cap=[^=,]+|[^=,]*)", text, re.DOTALL)
    return None if found is None else (found[1], found[2])


def _any(text: str) -> tuple[int, Amount]:
    size, amount = _parted(text) or ("", "")
    if not re.fullmatch("[0-9]{1,6}", size):
        raise InvalidInputError(f"--any {text}: give N=BITS, as in --any 2=0.5, N=none, or none")
    if int(size) == 0:
        raise InvalidInputError(f"--any {text}: give a number of parties, 1 or more")
    return int(size), _amount(f"--any {text}", amount)


def _group(text: str, spelling: Callable[[str], str]) -> tuple[Collection[str], Amount]:
    names, amount = _parted(text) or ("", "")
    members = frozenset(spelling(name) for name in names.split(",") if name)
    if len(members) < 2:
        raise InvalidInputError(
            f"--group {text}: name two parties or more, as in --group lab-a,lab-b=0.6"
        )
    return members, _amount(f"--group {text}", amount)


def parse_new_limits(texts: Sequence[str]) -> list[Limit]:
    """Limits of kinds that have no option of their own, for a study that has none yet."""
    from tacit.policy import Policy

    others = _others(texts, str)
    for text, (_, amount) in zip(texts, others, strict=True):
        if None in amount.values():
            raise InvalidInputError(f"--limit {text}: a new study has no limit to take away")
    return [*_put_all(Policy(), others).limits]


def _others(texts: Sequence[str], spelling: Callable[[str], str]) -> list[tuple[Limit, Amount]]:
    """Limits of other kinds, and what is set of each or taken away."""
    others = [_other(text, spelling) for text in texts]
    _distinct([(limit.whom, amount) for limit, amount in others], "--limit")
    return others


def _other(text: str, spelling: Callable[[str], str]) -> tuple[Limit, Amount]:
    """A limit of a kind that has no option of its own, and what is set of it or taken away."""
    from tacit.policy import find_kind

    on, amount = _parted(text) or ("", "")
    kind, is_named, whom = on.partition(":")
    if not is_named:
        raise InvalidInputError(f"--limit {text}: give KIND:WHOM=BITS, or KIND:WHOM=none")
    blank = find_kind(kind).parse(inf, whom).rename(spelling)
    return blank, _amount(f"--limit {text}", amount)
