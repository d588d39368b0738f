"""Commands that ask for data."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import (
    AcceptRollback,
    Again,
    AsJson,
    Bits,
    Folder,
    Party,
    Requested,
    Sql,
    Utility,
)
from tacit.cli.progress import progress_bar, waiting
from tacit.cli.showing import bar, plain, show_json, show_rows

if TYPE_CHECKING:
    from tacit.study import Quote, Receipt


def quote(
    folder: Folder,
    party: Party,
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    bits: Bits = None,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """What a request would cost and be worth.

    Spends nothing.
    """
    from tacit.study import Study

    with Study.open(folder) as study, waiting("designing"):
        quoted = study.quote(party, request, sql=sql, utility=utility, bits=bits, again=again)
    if as_json:
        show_json(quoted.as_dict())
    elif quoted.answered_by is not None:
        show_answered(quoted, folder)
    else:
        show_quote(quoted)


def release(
    folder: Folder,
    party: Party,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, .parquet or .csv.")],
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    bits: Bits = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="ERROR", help="Refuse an answer with a larger mean error, or cost."),
    ] = None,
    again: Again = False,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Answer a request: once, and recorded for good.

    The same request gets the same file again, at no cost.
    """
    from tacit.study import Study

    with (
        Study.open(folder, accept_rollback=accept_rollback) as study,
        progress_bar(f"writing {plain(out.name)}") as progress,
    ):
        receipt = study.release(
            party,
            request,
            out=out,
            sql=sql,
            utility=utility,
            bits=bits,
            max_error=max_error,
            again=again,
            progress=progress,
            notify=_note,
        )
    if as_json:
        show_json(receipt.model_dump(mode="json"))
    else:
        show_release(receipt, folder, out)


def _note(remark: str) -> None:
    print(f"note: {plain(remark)}", file=sys.stderr, flush=True)


def show_quote(quoted: Quote) -> None:
    """A quote for people."""
    from tacit.study.reports.words import bits_down, bits_up, limit_in_words

    own, worst = quoted.own, quoted.worst
    _show_question(quoted)
    whose = "its" if own.limited_by == own.name else "the"
    by = "" if own.limited_by == own.name else f", the limit on {plain(own.limited_by)},"
    print(
        f"  {plain(own.name)} would learn {bits_up(own.added)} bits about a record; "
        f"{bits_down(own.left)} of {whose} {limit_in_words(own.limit)}{by} would be left"
    )
    print(
        f"  nearest to its limit: {plain(worst.name)}, which would hold {bits_up(worst.after)} of "
        f"{limit_in_words(worst.limit)} bits"
    )
    print(f"  {_more(quoted)}")
    others = bits_up(quoted.others_bits)
    print(f"  to whoever knows every count, others' rows would add at most {others} bits")
    print()
    _show_shares(quoted)
    if len(quoted.curve) > 1:
        print("\nFor fewer or more bits:")
        rows = [
            (limit_in_words(point.bits), point.in_words + (" <- this" if point.is_asked else ""))
            for point in quoted.curve
        ]
        show_rows(("--bits", "worth"), rows, wide=1)


def show_answered(quoted: Quote, folder: Path) -> None:
    """A quote of what was answered before, for people."""
    _show_question(quoted)
    print(f"  answered by release {quoted.answered_by}: asking again delivers it once more and")
    print("  costs nothing; --again asks for a new one")
    print(f"  receipt: {_receipt_command(folder, quoted.answered_by or 0)}")
    print()
    _show_shares(quoted)


def show_release(receipt: Receipt, folder: Path, out: Path) -> None:
    """A release for people."""
    from tacit.study.reports.words import bits_up

    party = plain(receipt.party)
    print(f"{plain(str(out))}: {plain(receipt.request)} for {party}, {receipt.records:,} records")
    print(f"  {receipt.in_words}")
    for remark in receipt.remarks:
        print(f"  {plain(remark)}")
    print(f"  {party} held at most {bits_up(receipt.party_bits)} bits about a record after it")
    print(f"  certificate for the recipient: {plain(str(out))}.certificate.json")
    print(f"  receipt: {_receipt_command(folder, receipt.entry)}")


def _show_question(quoted: Quote) -> None:
    print(f"{plain(quoted.request)} for {plain(quoted.party)}, judged by {quoted.measure}:")
    print(f"  {quoted.in_words}")
    for remark in quoted.remarks:
        print(f"  {plain(remark)}")


def _more(quoted: Quote) -> str:
    from tacit.study.requests.quote import MOST_COUNTED

    match quoted.about_more:
        case 0:
            return "no other request of this size would fit after it"
        case 1:
            return "about one more request of this size would fit after it"
        case many if many < MOST_COUNTED:
            return f"about {many} more requests of this size would fit after it"
        case _:
            return "any number of requests of this size would fit after it"


def _show_shares(quoted: Quote) -> None:
    from tacit.study.reports.words import bits_down, bits_up, limit_in_words

    rows = [
        (
            share.name,
            bits_up(share.held),
            f"+{bits_up(share.added)}",
            bar(share.after, share.limit),
            limit_in_words(share.limit),
            bits_down(share.left),
        )
        for share in quoted.coalitions
    ]
    show_rows(("bits about one record", "held", "this", "", "limit", "left"), rows)


def _receipt_command(folder: Path, entry: int) -> str:
    return shlex.join(["tacit", "receipt", str(folder), str(entry)])
