"""Commands that ask for data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import AsJson, Bits, Folder, Party, Requested, Sql, Utility
from tacit.cli.showing import bar, progress_bar, show_json, show_rows

if TYPE_CHECKING:
    from tacit.study import Quote, Receipt


def quote(
    folder: Folder,
    party: Party,
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    bits: Bits = None,
    as_json: AsJson = False,
) -> None:
    """What a request would cost and be worth. Spends nothing."""
    from tacit.study import Study

    with Study.open(folder) as study:
        quoted = study.quote(party, request, sql=sql, utility=utility, bits=bits)
    if as_json:
        show_json(quoted.as_dict())
    else:
        show_quote(quoted)


def release(
    folder: Folder,
    party: Party,
    out: Annotated[Path, typer.Option(help="The file to write, .parquet or .csv.")],
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    bits: Bits = None,
    max_error: Annotated[
        float | None, typer.Option(help="Refuse an answer with a larger mean error (or cost).")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="A new release, although the same was answered before.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a request: once, recorded for good, and the same file whenever it is asked again."""
    from tacit.study import Study

    with Study.open(folder) as study, progress_bar(f"writing {out.name}") as progress:
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
        )
    if as_json:
        show_json(receipt.model_dump(mode="json"))
    else:
        show_release(receipt, folder, out)


def show_quote(quoted: Quote) -> None:
    """A quote for people."""
    print(f"{quoted.request} for {quoted.party}, judged by {quoted.measure}:")
    print(f"  {quoted.in_words}")
    if quoted.is_answered:
        print("  this very request was answered before: asking again redelivers it, at no cost")
    print()
    rows = [
        (
            share.name,
            f"{share.held:.4f}",
            f"{share.added:+.4f}",
            f"{share.left:.4f}",
            bar(share.after, share.limit),
            f"{share.limit:g}",
        )
        for share in quoted.coalitions
    ]
    show_rows(("bits about one record", "held", "this", "left", "", "limit"), rows)
    print()
    print(f"Nearest to its limit afterwards: {quoted.worst.name}.")
    more = f"About {quoted.about_more}" if quoted.about_more < 1000 else "Any number of"
    print(f"{more} more such requests would fit.")
    if len(quoted.curve) > 1:
        print()
        print("For fewer or more bits:")
        show_rows(
            ("--bits", "worth"), [(f"{point.bits:.4f}", point.in_words) for point in quoted.curve]
        )


def show_release(receipt: Receipt, folder: Path, out: Path) -> None:
    """A release for people."""
    print(f"{out}: {receipt.request} for {receipt.party}, {receipt.records:,} records")
    print(f"  {receipt.in_words}")
    print(f"  {receipt.party} now holds at most {receipt.party_bits:.4f} bits about a record")
    print(f"  certificate for the recipient: {out}.certificate.json")
    print(f"  receipt: tacit receipt {folder} {receipt.entry}")
