"""The command ``tacit what-if``: what a request would be worth under other limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import plain, show_json, show_rows, waiting
from tacit.cli.options import (
    Analysable,
    AsJson,
    Ceiling,
    Folder,
    Party,
    Requested,
    Sql,
    Utility,
    WorstLevel,
)
from tacit.cli.release import columns_of, objective_of, read_ceilings, read_utility

if TYPE_CHECKING:
    from tacit.study import RequestSurface


def what_if(
    folder: Folder,
    party: Party,
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    worst_level: WorstLevel = False,
    ceiling: Ceiling = None,
    analysable: Analysable = False,
    limit: Annotated[
        float | None,
        typer.Option(
            metavar="BITS", help="What the party may hold about one record; by default its limit."
        ),
    ] = None,
    everyone: Annotated[
        float | None,
        typer.Option(
            metavar="BITS", help="The same for all parties together; by default the limit in force."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a request would be worth under other limits.

    Spends nothing and changes no limit.
    """
    from tacit.study import Study

    with Study.open(folder) as study, waiting("designing"):
        found = study.trace_surface(
            party,
            columns_of(study, request),
            sql=sql,
            utility=read_utility(utility),
            objective=objective_of(worst_level),
            ceilings=read_ceilings(ceiling or []),
            analysable=analysable,
            limit=limit,
            everyone=everyone,
        )
    if as_json:
        show_json(found.as_dict())
    else:
        for each in (found, *found.others):
            if found.others:
                least = ", where it is worth least" * (each is found)
                print(f"{chr(10) * (each is not found)}Cohort {each.cohort}{least}:")
            _show(each)


def _show(found: RequestSurface) -> None:
    from tacit.information.laws import bits_up, limit_in_words

    party = plain(found.party)
    limits = f"{limit_in_words(found.limit)} bits for {party} and "
    limits += f"{limit_in_words(found.everyone)} for everyone"
    print(f"{plain(found.request)} for {party}, with {limits}:")
    print(f"  {found.in_words}")
    now = bits_up(found.held), bits_up(found.everyone_held)
    print(f"  {party} holds {now[0]} bits now, everyone together {now[1]}")
    worth = "bits about what is asked" if found.measure == "information" else "error"
    print(f"\nThe {worth} by limits of {party} (rows) and of everyone, if no other limit held:")
    rows = [
        (limit_in_words(bits), *("-" if value is None else f"{value:.4f}" for value in row))
        for bits, row in zip(found.individual, found.values, strict=True)
    ]
    show_rows(("bits", *map(limit_in_words, found.collusion)), rows)
    if not found.is_complete:
        print("There was not time for all of them.")
