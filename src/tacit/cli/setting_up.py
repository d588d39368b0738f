"""Commands that say who may learn what."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli.options import AsJson, Folder
from tacit.cli.showing import show_json, show_rows
from tacit.errors import InvalidInputError

_MOST_CELLS_SHOWN = 20


def init(
    folder: Folder,
    table: Annotated[
        str,
        typer.Option(help="A .csv, .parquet or .duckdb file (::table), or postgresql://...#table."),
    ],
    id_columns: Annotated[
        str, typer.Option("--id", help="Column that tells records apart; several with commas.")
    ],
    private: Annotated[
        list[str],
        typer.Option(help="NAME, NAME:cut=30,45,60, NAME:quantiles=4 or NAME:map=groups.json."),
    ],
    external: Annotated[
        list[str] | None,
        typer.Option(help="A column that may be asked for too, declared in the same way."),
    ] = None,
    everyone: Annotated[
        float | None, typer.Option(help="Bits about one record, all parties together.")
    ] = None,
    public_id: Annotated[
        bool, typer.Option("--public-id", help="Write raw ids into release files.")
    ] = False,
    min_cell: Annotated[int, typer.Option(help="List cells with fewer records than this.")] = 10,
    memory: Annotated[
        int, typer.Option(help="The most states to remember a record's past by.")
    ] = 64,
    ledger: Annotated[
        str | None,
        typer.Option(help="postgresql://... or sqlite:///...; default: a file in the folder."),
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
    from tacit.study import Study

    with Study.create(
        folder,
        table,
        id=id_columns.split(","),
        private=private,
        external=external or (),
        everyone=everyone,
        public_id=public_id,
        memory=memory,
        ledger=ledger,
        accept_reset=accept_reset,
    ) as study:
        standing, small = study.status(), study.small_cells(min_cell)
        names = [attribute.name for attribute in study.attributes]
    if as_json:
        cells = [{"levels": list(cell.levels), "records": cell.records} for cell in small]
        show_json(standing.as_dict() | {"attributes": names, "small_cells": cells})
        return
    print(
        f"{folder}: {standing.records:,} records, {standing.entropy_bits:.4f} bits to learn about "
        f"each ({', '.join(names)})."
    )
    print(
        "How many records have each combination of levels counts as public, and so does every "
        "quote, design and refusal."
    )
    if small:
        print(f"{len(small)} combinations have fewer than {min_cell} records:")
        rows = [(*cell.levels, str(cell.records)) for cell in small[:_MOST_CELLS_SHOWN]]
        show_rows((*names, "records"), rows)
        if len(small) > _MOST_CELLS_SHOWN:
            print(f"and {len(small) - _MOST_CELLS_SHOWN} more; --json lists all")
    print(f"Next: tacit party add {folder} NAME --limit BITS")


def party_add(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="PARTY", help="Its name; again to change it.")],
    limit: Annotated[
        float, typer.Option(help="Bits about one record, over everything it will ever hold.")
    ],
    as_json: AsJson = False,
) -> None:
    """Let a party in, or change its limit."""
    from tacit.study import Study

    with Study.open(folder) as study:
        remarks = study.set_party(name, limit)
    _show_done(
        {"party": name, "limit": limit}, f"{name} may learn {limit:g} bits", remarks, as_json
    )


def collusion_set(
    folder: Folder,
    everyone: Annotated[
        str | None, typer.Option(metavar="BITS", help="Bits for all parties together, or none.")
    ] = None,
    any_of: Annotated[
        str | None,
        typer.Option("--any", metavar="N=BITS", help="Bits for any N parties together, or none."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B=BITS", help="Bits for these parties together, or A,B=none."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Limit what parties may learn together. What is not named stays as it is."""
    from dataclasses import replace

    from tacit.study import Study
    from tacit.study.records import PolicyRecord

    with Study.open(folder) as study:
        policy = study.policy
        if everyone is not None:
            policy = replace(policy, everyone=_bits("--everyone", everyone))
        if any_of is not None:
            size, bits = _any("--any", any_of)
            policy = replace(policy, any_size=size, bits=bits)
        groups = dict(policy.groups)
        for text in group or ():
            names, bits = _group(text)
            groups = {known: own for known, own in groups.items() if set(known) != set(names)}
            if bits is not None:
                groups[names] = bits
        policy = replace(policy, groups=groups)
        remarks = study.set_collusion(policy)
    stored = PolicyRecord.of_policy(policy).model_dump(mode="json")
    _show_done(stored, _policy_in_words(stored), remarks, as_json)


def close(
    folder: Folder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Destroy the key: no more releases, everything stays verifiable."""
    from tacit.study import Study

    if not yes:
        typer.confirm(
            f"Destroy the key of {folder}? Nothing can ever be released or redelivered again.",
            abort=True,
            err=True,
        )
    with Study.open(folder) as study:
        study.close()
        standing = study.status()
    done = f"{folder} is closed after {standing.releases} releases; tacit verify still works"
    _show_done({"is_closed": True, "releases": standing.releases}, done, [], as_json)


def _show_done(result: dict[str, object], line: str, remarks: list[str], as_json: bool) -> None:
    if as_json:
        show_json(result | {"remarks": remarks})
        return
    print(line)
    for remark in remarks:
        print(f"note: {remark}")


def _bits(option: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(
            f"{option} {text}: give a number of bits, or none for no limit"
        ) from None


def _any(option: str, text: str) -> tuple[int | None, float | None]:
    if text == "none":
        return None, None
    size, is_pair, bits = text.partition("=")
    if not (is_pair and size.isdigit()):
        raise InvalidInputError(f"{option} {text}: give N=BITS, as in --any 2=0.5, or none")
    limit = _bits(option, bits)
    return (None, None) if limit is None else (int(size), limit)


def _group(text: str) -> tuple[tuple[str, ...], float | None]:
    names, is_pair, bits = text.rpartition("=")
    members = tuple(name for name in names.split(",") if name)
    if not is_pair or len(members) < 2:
        raise InvalidInputError(f"--group {text}: give A,B=BITS, as in --group lab-a,lab-b=0.6")
    return members, _bits("--group", bits)


def _policy_in_words(stored: dict[str, object]) -> str:
    from tacit.study.records import PolicyRecord

    record = PolicyRecord.model_validate(stored)
    parts = [f"{' + '.join(group)}: {bits:g} bits" for group, bits in record.groups]
    if record.any_size is not None:
        parts.insert(0, f"any {record.any_size} parties: {record.bits:g} bits")
    if record.everyone is not None:
        parts.insert(0, f"everyone: {record.everyone:g} bits")
    return "Limits on coalitions: " + ("; ".join(parts) or "none")
