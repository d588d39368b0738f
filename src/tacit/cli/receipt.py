"""The command ``tacit receipt``: a paper on one entry of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import (
    answer_in_words,
    bar,
    plain,
    show_disclosures,
    show_json,
    show_rows,
)
from tacit.cli.options import AsJson, Folder, Page
from tacit.cli.quote import show_risks
from tacit.words.remarks import remark_in_words

if TYPE_CHECKING:
    from tacit.study import EntryReceipt, Receipt


def receipt(
    folder: Folder,
    number: Annotated[
        int,
        typer.Argument(metavar="ENTRY", help="Number of a release, or of any other ledger entry."),
    ],
    html: Page = None,
    as_json: AsJson = False,
) -> None:
    """A receipt, to be kept elsewhere.

    With it, verify finds a ledger that was rolled back or rewritten.
    """
    from tacit.storage import atomic_file
    from tacit.study import Study
    from tacit.study.folder import refuse_study_files

    if html is not None:
        refuse_study_files(html)
    with Study.open(folder) as study:
        paper = study.receipt(number)
    if html is not None:
        with atomic_file(html) as file:
            file.write(paper.as_html().encode())
    if as_json:
        show_json(paper.model_dump(mode="json"))
    elif html is None:
        _show_receipt(paper)
    else:
        print(f"{plain(str(html))}: receipt of entry {number}, {plain(paper.in_words)}")


def _show_receipt(paper: Receipt | EntryReceipt) -> None:
    from tacit.study import Receipt
    from tacit.study.reports.receipts import NO_SEAL, time_in_words

    when = time_in_words(paper.time)
    if isinstance(paper, Receipt):
        title = f"Release {paper.entry}: {paper.request} for {paper.party}, {when}"
    else:
        title = f"Entry {paper.entry}: {paper.kind}, {when}"
    print(plain(title))
    if isinstance(paper, Receipt):
        show_disclosures(paper.disclosures, "can name", "  ")
    print(f"  {plain(paper.in_words)}")
    if isinstance(paper, Receipt):
        _show_worth(paper)
        for remark in paper.remarks:
            print(f"  {plain(remark_in_words(remark))}")
        show_risks(paper.risks or ())
        _show_holdings(paper)
        print(f"  reason     {plain(paper.reason or 'none was recorded')}")
        print(f"  file       {plain(paper.file or 'not delivered yet')}")
        print(f"  digest     {paper.digest or 'not delivered yet'}")
    print(f"  study      {paper.study}")
    print(f"  sealed by  {paper.hash}")
    print(f"  keyed seal {paper.seal or NO_SEAL}")


def _show_worth(paper: Receipt) -> None:
    from tacit.study.reports.receipts import value_in_units

    beats = "" if paper.bound is None else f"; nothing within these limits beats {paper.bound:.4f}"
    where = "at the worst level " if paper.objective != "mean" else ""
    print(f"  {where}{value_in_units(paper.measure, paper.value)}{beats}")
    for level, error in paper.level_errors.items():
        ceiling = f" (ceiling {paper.ceilings[level]:g})" if level in paper.ceilings else ""
        print(f"  at {plain(level)}: {value_in_units(paper.measure, error)}{ceiling}")
    if paper.analysable:
        print("  analysable: answers depend on nothing but what was asked")
    print(f"  {plain(paper.limit_in_words)}")
    print(f"  there are {paper.entropy_bits:.4f} bits to learn about a record, H(X)")


def _show_holdings(paper: Receipt) -> None:
    from tacit.information.laws import bits_up, limit_in_words

    rows = [
        (
            each.name,
            bits_up(before, 6),
            bar(each.bits, each.limit),
            bits_up(each.bits, 6),
            limit_in_words(each.limit),
            answer_in_words(each.worst_answer, each.times),
        )
        for each, before in paper.shown_budgets
    ]
    limit, times = paper.everyone_limit, paper.everyone_times
    allowed = "" if times is None else f"of {times:,.12g}x"
    limited = "" if limit is None else limit_in_words(limit)
    rows.append(("everyone", "", "", bits_up(paper.everyone_bits, 6), limited, allowed))
    show_rows(("bits about one record", "before", "", "holds at most", "limit", "answer"), rows)
