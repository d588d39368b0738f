"""The command ``tacit collusion set``: limits on what parties may learn together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.display import plain, show_done
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.policy import Limit, Policy
    from tacit.remark import Remark

_Coalition = TypeVar("_Coalition")
"""A number of parties, or the parties themselves."""


def set_collusion(
    folder: Folder,
    everyone: Annotated[
        str | None, typer.Option(metavar="BITS", help="Bits for all parties together, or none.")
    ] = None,
    any_of: Annotated[
        list[str] | None,
        typer.Option(
            "--any",
            metavar="N=BITS",
            help="Bits for any N parties together, or N=none; again for each N. none alone takes "
            "all of these away.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B=BITS",
            help="Bits for these parties together, or A,B=none; again for each group.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:WHOM=BITS",
            help="Bits for whom a limit of another kind, of an installed package, is on, or "
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
        if everyone is not None or any_of or group or limit:
            groups = [_group(text, study.spelling) for text in group or ()]
            others = _others(limit or (), study.spelling)
            remarks = study.change_collusion(
                lambda policy: _with_others(
                    change_limits(policy, everyone, any_of or (), groups), others
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
    groups: Sequence[tuple[Collection[str], float | None]],
) -> Policy:
    """A policy with some of its limits replaced."""
    from tacit.policy import AnySize, Everyone, Group

    if everyone is not None:
        policy = _put(policy, Everyone, bits=_bits(f"--everyone {everyone}", everyone))
    if "none" in any_of:
        policy = policy.change(without=[AnySize])
    for size, bits in _distinct([_any(text) for text in any_of if text != "none"], "--any"):
        policy = _put(policy, AnySize, size, bits=bits)
    for members, bits in _distinct(groups, "--group"):
        policy = _put(policy, Group, members, bits=bits)
    return policy


def _with_others(policy: Policy, others: Sequence[tuple[Limit, bool]]) -> Policy:
    """A policy with some limits of other kinds set, or taken away."""
    for limit, is_set in others:
        policy = policy.change(limit) if is_set else policy.change(without=[limit])
    return policy


def _put(policy: Policy, kind: Callable[..., Limit], *whom: object, bits: float | None) -> Policy:
    """Set a limit, or take it away."""
    if bits is None:
        return policy.change(without=[kind(0.0, *whom)])
    return policy.change(kind(bits, *whom))


def _distinct(
    changes: Sequence[tuple[_Coalition, float | None]], option: str
) -> Sequence[tuple[_Coalition, float | None]]:
    if len(dict(changes)) < len(changes):
        raise InvalidInputError(f"{option} names the same parties twice: give them one limit")
    return changes


def _bits(given: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{given}: give a number of bits, or none for no limit") from None


def _any(text: str) -> tuple[int, float | None]:
    size, is_pair, bits = text.partition("=")
    if not is_pair or not re.fullmatch("[0-9]{1,6}", size):
        raise InvalidInputError(f"--any {text}: give N=BITS, as in --any 2=0.5, N=none, or none")
    if int(size) == 0:
        raise InvalidInputError(f"--any {text}: give a number of parties, 1 or more")
    return int(size), _bits(f"--any {text}", bits)


def _group(text: str, spelling: Callable[[str], str]) -> tuple[Collection[str], float | None]:
    names, is_pair, bits = text.rpartition("=")
    members = frozenset(spelling(name) for name in names.split(",") if name)
    if not is_pair or len(members) < 2:
        raise InvalidInputError(
            f"--group {text}: name two parties or more, as in --group lab-a,lab-b=0.6"
        )
    return members, _bits(f"--group {text}", bits)


def parse_new_limits(texts: Sequence[str]) -> list[Limit]:
    """Limits of kinds that have no option of their own, for a study that has none yet."""
    limits = []
    for text, (limit, is_set) in zip(texts, _others(texts, str), strict=True):
        if not is_set:
            raise InvalidInputError(f"--limit {text}: a new study has no limit to take away")
        limits.append(limit)
    return limits


def _others(texts: Sequence[str], spelling: Callable[[str], str]) -> list[tuple[Limit, bool]]:
    """Limits of other kinds, and whether each is set or taken away."""
    others = [_other(text, spelling) for text in texts]
    _distinct([(limit.whom, limit.bits) for limit, _ in others], "--limit")
    return others


def _other(text: str, spelling: Callable[[str], str]) -> tuple[Limit, bool]:
    """A limit of a kind that has no option of its own, and whether it is set or taken away."""
    from tacit.policy import find_kind

    on, is_pair, number = text.rpartition("=")
    kind, is_named, whom = on.partition(":")
    if not is_pair or not is_named:
        raise InvalidInputError(f"--limit {text}: give KIND:WHOM=BITS, or KIND:WHOM=none")
    bits = _bits(f"--limit {text}", number)
    limit = find_kind(kind).parse(0.0 if bits is None else bits, whom)
    return limit.rename(spelling), bits is not None
