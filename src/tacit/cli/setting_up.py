"""Commands that say who may learn what."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.cli.progress import waiting
from tacit.cli.showing import counted, plain, show_json, show_rows
from tacit.errors import InvalidInputError, TacitError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tacit.scheme import Policy
    from tacit.study.reports.standing import SmallCell

_MOST_CELLS_SHOWN = 20

_Coalition = TypeVar("_Coalition")
"""Any so many parties, or the parties themselves."""


def init(
    folder: Folder,
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="A .csv, .parquet or .duckdb file (::table), or postgresql://...#table.",
        ),
    ],
    id_columns: Annotated[
        str,
        typer.Option(
            "--id", metavar="COLUMN", help="What tells records apart; several with commas."
        ),
    ],
    private: Annotated[
        list[str],
        typer.Option(
            metavar="ATTRIBUTE",
            help="NAME, NAME:cut=30,45,60, NAME:quantiles=4 or NAME:map=groups.json; again for "
            "each private attribute.",
        ),
    ],
    external: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="One that may be asked for too, declared in the same way. Nobody's own value is "
            "read for an answer: it is predicted from the private attributes.",
        ),
    ] = None,
    everyone: Annotated[
        float | None,
        typer.Option(metavar="BITS", help="What all parties together may learn about a record."),
    ] = None,
    public_id: Annotated[
        bool, typer.Option("--public-id", help="Write raw ids into release files.")
    ] = False,
    min_cell: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=0, help="List cells with fewer records; 0 for none."),
    ] = 10,
    min_records: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Refuse a smaller table: whoever knows its counts learns more than the limits "
            "say, from everybody else's rows.",
        ),
    ] = 50,
    memory: Annotated[
        int,
        typer.Option(metavar="STATES", help="The most states to remember a record's past by."),
    ] = 64,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="postgresql://..., sqlite:///... or folder, for a file in the study's folder; by "
            "default $TACIT_LEDGER, else a file in your data folder that all your studies share.",
        ),
    ] = None,
    accept_reset: Annotated[
        bool,
        typer.Option(
            "--accept-reset",
            help="Take records that the ledger knows from another study. Their bits are then "
            "counted from 0 again: whoever holds releases of both studies may hold the sum.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a study of a table."""
    from tacit.cli.columns import columns_in_shell, parse_column
    from tacit.study import Study
    from tacit.study.setup.creation import least_overlap_noticed

    with (
        waiting("reading the table"),
        columns_in_shell(),
        Study.create(
            folder,
            table,
            id=id_columns.split(","),
            private=list(map(parse_column, private)),
            external=list(map(parse_column, external or ())),
            everyone=everyone,
            public_id=public_id,
            memory=memory,
            ledger=ledger,
            accept_reset=accept_reset,
            min_records=min_records,
        ) as study,
    ):
        standing, small = study.status(), study.small_cells(min_cell)
        names, place = [attribute.name for attribute in study.attributes], study.ledger_shown
        remarks = [*study.remarks, *standing.remarks]
    noticed = least_overlap_noticed(standing.records)
    if as_json:
        found = {"attributes": names, "small_cells": [cell.as_dict() for cell in small]}
        found |= {"remarks": remarks, "ledger": place, "overlap_noticed": noticed}
        show_json(standing.as_dict() | found)
        return
    print(
        f"{plain(str(folder))}: {counted(standing.records, 'record')}, "
        f"{standing.entropy_bits:.4f} bits to learn about each "
        f"({', '.join(map(plain, names))})."
    )
    print("How many records have each combination of levels counts as public, and so does")
    print("every quote, design and refusal.")
    print(f"Ledger: {plain(place)}")
    shared = "any" if noticed == 1 else f"{noticed:,} or more"
    print(f"It notices another study with {shared} of these records, by their ids.")
    _show_cells(names, small, min_cell)
    for remark in remarks:
        print(f"note: {plain(remark)}")
    print(f"Next: tacit party add {shlex.quote(str(folder))} NAME --limit BITS")


def _show_cells(names: Sequence[str], small: Sequence[SmallCell], min_cell: int) -> None:
    """Few records by private levels, then by these and each external column."""
    kinds: dict[str | None, list[SmallCell]] = {}
    for cell in small:
        kinds.setdefault(cell.external[0] if cell.external else None, []).append(cell)
    for external, cells in kinds.items():
        with_it = "" if external is None else f" with {plain(external)}"
        have = f"combination{with_it} has" if len(cells) == 1 else f"combinations{with_it} have"
        print(f"{len(cells):,} {have} fewer than {min_cell} records:")
        rows = [
            (*cell.levels, *(cell.external or ())[1:], str(cell.records))
            for cell in cells[:_MOST_CELLS_SHOWN]
        ]
        show_rows((*names, *([] if external is None else [external]), "records"), rows)
        if len(cells) > _MOST_CELLS_SHOWN:
            print(f"and {len(cells) - _MOST_CELLS_SHOWN:,} more; --json lists all")


def party_add(
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
    from tacit.study import Study

    with Study.open(folder, accept_rollback=accept_rollback) as study:
        remarks = study.set_party(name, limit)
        party = study.spelling(name)
    done = f"{plain(party)} may learn {limit:.12g} bits about a record"
    _show_done({"party": party, "limit": limit}, done, remarks, as_json)


def collusion_set(
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
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Limit what parties may learn together, or show the limits.

    What is not named stays as it is.
    """
    from tacit.study import Study
    from tacit.study.books.records import PolicyRecord

    remarks: list[str] = []
    with Study.open(folder, accept_rollback=accept_rollback) as study:
        if everyone is not None or any_of or group:
            limits = [_group(text, study.spelling) for text in group or ()]
            remarks = study.change_collusion(
                lambda policy: _changed(policy, everyone, any_of or (), limits)
            )
        policy = study.policy
    stored = PolicyRecord.of_policy(policy).model_dump(mode="json")
    _show_done(stored, plain(f"Limits on coalitions: {policy.in_words}"), remarks, as_json)


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
        standing = study.status()
    after = counted(standing.releases, "release")
    done = f"{plain(str(folder))} is closed after {after}; tacit verify still works"
    _show_done({"is_closed": True, "releases": standing.releases}, done, [], as_json)


def _confirm(question: str) -> None:
    """Ask on the terminal; anything but yes is no."""
    if not sys.stdin.isatty():
        raise InvalidInputError("nobody is there to be asked whether this is meant: add --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise TacitError("nothing was changed: it was not confirmed")


def _changed(
    policy: Policy,
    everyone: str | None,
    any_of: Sequence[str],
    groups: Sequence[tuple[Collection[str], float | None]],
) -> Policy:
    """A policy with some of its limits replaced."""
    from dataclasses import replace

    if everyone is not None:
        policy = replace(policy, everyone=_bits(f"--everyone {everyone}", everyone))
    sizes = {} if "none" in any_of else dict(policy.sizes)
    _put(sizes, [_any(text) for text in any_of if text != "none"], "--any")
    limits: dict[Collection[str], float] = {
        frozenset(group): bits for group, bits in policy.groups.items()
    }
    _put(limits, groups, "--group")
    return replace(policy, sizes=sizes, groups=limits)


def _put(
    limits: dict[_Coalition, float],
    changes: Sequence[tuple[_Coalition, float | None]],
    option: str,
) -> None:
    """Set limits, or take them away."""
    if len(dict(changes)) < len(changes):
        raise InvalidInputError(f"{option} names the same parties twice: give them one limit")
    for coalition, bits in changes:
        limits.pop(coalition, None)
        if bits is not None:
            limits[coalition] = bits


def _show_done(result: dict[str, object], line: str, remarks: list[str], as_json: bool) -> None:
    if as_json:
        show_json(result | {"remarks": remarks})
        return
    print(line)
    for remark in remarks:
        print(f"note: {plain(remark)}")


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
