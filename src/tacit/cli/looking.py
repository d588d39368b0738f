"""Commands that look at what was released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.failing import LEDGER
from tacit.cli.options import AsJson, Folder
from tacit.cli.progress import waiting
from tacit.cli.showing import bar, counted, plain, show_json, show_rows

if TYPE_CHECKING:
    from tacit.study import EntryReceipt, Receipt, RecipientEstimate, Standing, Verification


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Parties, coalitions, bits used and left."""
    from tacit.study import Study

    with Study.open(folder) as study:
        standing = study.status()
    if as_json:
        show_json(standing.as_dict())
    else:
        show_status(standing, folder)


def audit(
    folder: Folder,
    records: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Simulated records to attack.")
    ] = 20_000,
    as_json: AsJson = False,
) -> None:
    """What everybody learned, with an executed attack.

    Each party and each coalition, measured in several ways.
    """
    from tacit.study import Study

    with Study.open(folder) as study, waiting("attacking simulated records"):
        found = study.audit(records=records)
    if as_json:
        show_json(found.as_dict())
    else:
        for line in found.as_text().split("\n"):
            print(plain(line))


def receipt(
    folder: Folder,
    number: Annotated[
        int,
        typer.Argument(metavar="ENTRY", help="Number of a release, or of any other ledger entry."),
    ],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it as a page that opens offline.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A receipt, to be kept elsewhere.

    With it, verify finds a ledger that was rolled back or rewritten.
    """
    from tacit.storage import atomic_file
    from tacit.study import Study
    from tacit.study.guards import refuse_study_files

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
        show_receipt(paper)
    else:
        print(f"{plain(str(html))}: receipt of entry {number}, {plain(paper.in_words)}")


def verify(
    folder: Folder,
    receipt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A receipt or certificate: the ledger must still hold it, and everything that it "
            "shows must be so.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay the ledger: hash chain, certificates, files.

    Finds what was changed, without the optimiser. While the key exists, every release is drawn
    again.
    """
    from tacit.study import verify_study

    with waiting("replaying the ledger"):
        found = verify_study(folder, receipt)
    if as_json:
        show_json(found.as_dict())
    else:
        show_verification(found, receipt)
    if not found.is_whole:
        raise typer.Exit(LEDGER)


def estimate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A release, .parquet or .csv, its certificate beside it."
        ),
    ],
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Of every interval, between 0 and 1.")
    ] = 0.95,
    as_json: AsJson = False,
) -> None:
    """For recipients: frequencies with intervals.

    Of what was asked, among the records of the file.
    """
    from tacit.study import estimate_file

    found = estimate_file(file, confidence=confidence)
    if as_json:
        show_json(found.as_dict())
    else:
        show_estimate(found)


def show_status(standing: Standing, folder: Path) -> None:
    """The state of a study for people."""
    from tacit.study.reports.words import bits_down, bits_up, limit_in_words

    closed = " CLOSED." if standing.is_closed else ""
    print(
        f"{plain(str(folder))}: {counted(standing.records, 'record')}, "
        f"{standing.entropy_bits:.4f} bits to learn about each, "
        f"{counted(standing.releases, 'release')}.{closed}"
    )
    rows = [
        (
            each.name,
            bar(each.held, each.limit),
            bits_up(each.held),
            limit_in_words(each.limit),
            bits_down(each.left),
            "as everyone" if each.is_covered else "",
        )
        for each in (*standing.parties, *standing.coalitions)
    ]
    if rows:
        show_rows(("bits about one record", "", "held", "limit", "left", ""), rows)
    if standing.coalitions_left_out:
        print(f"and {standing.coalitions_left_out} more coalitions, farther from their limits")
    for number in standing.undelivered:
        print(f"release {number} is recorded but was never delivered: run its command again")
    for remark in standing.remarks:
        print(f"note: {plain(remark)}")


def show_receipt(paper: Receipt | EntryReceipt) -> None:
    """A receipt for people."""
    from tacit.study import Receipt
    from tacit.study.reports.receipts import NO_SEAL
    from tacit.study.reports.words import time_in_words

    when = time_in_words(paper.time)
    if isinstance(paper, Receipt):
        title = f"Release {paper.entry}: {paper.request} for {paper.party}, {when}"
    else:
        title = f"Entry {paper.entry}: {paper.kind}, {when}"
    print(plain(title))
    print(f"  {plain(paper.in_words)}")
    if isinstance(paper, Receipt):
        _show_worth(paper)
        for remark in paper.remarks:
            print(f"  {plain(remark)}")
        _show_holdings(paper)
        print(f"  file       {plain(paper.file or 'not delivered yet')}")
        print(f"  digest     {paper.digest or 'not delivered yet'}")
    print(f"  study      {paper.study}")
    print(f"  sealed by  {paper.hash}")
    print(f"  keyed seal {paper.seal or NO_SEAL}")


def _show_worth(paper: Receipt) -> None:
    from tacit.study.reports.words import value_in_units

    beats = "" if paper.bound is None else f"; nothing within these limits beats {paper.bound:.4f}"
    print(f"  {value_in_units(paper.measure, paper.value)}{beats}")
    print(f"  {plain(paper.limit_in_words)}")
    print(f"  there are {paper.entropy_bits:.4f} bits to learn about a record, H(X)")


def _show_holdings(paper: Receipt) -> None:
    from tacit.study.reports.words import bits_up, limit_in_words

    rows = [
        (each.name, bar(each.bits, each.limit), bits_up(each.bits, 6), limit_in_words(each.limit))
        for each in paper.shares
    ]
    rows.append(("everyone", "", bits_up(paper.everyone_bits, 6), ""))
    show_rows(("bits about one record", "", "holds at most", "limit"), rows)


def show_verification(found: Verification, paper: Path | None) -> None:
    """A verification for people, and of a paper if one was given."""
    for problem in found.problems:
        print(f"PROBLEM: {plain(problem)}")
    for note in found.notes:
        print(f"note: {plain(note)}")
    if not found.is_whole:
        or_paper = "" if paper is None else f", or on {plain(str(paper))}"
        problems = counted(len(found.problems), "problem")
        print(f"{problems}: do not rely on this study{or_paper}, before that is explained")
        return
    entries = "1 entry" if found.entries == 1 else f"{found.entries:,} entries"
    print(f"{entries}, {counted(found.releases, 'release')}: everything is as recorded")
    if found.proved_gaps:
        _show_proofs(found)


def _show_proofs(found: Verification) -> None:
    from tacit.study.books.books import RESERVE_BITS
    from tacit.study.verification.verify import PROVED_NEAR

    worst = max(found.proved_gaps.values())
    print(
        f"proved anew: no release is more than {worst:.1e} worse than the best that stays "
        f"{RESERVE_BITS:.0e} bits below its limits"
    )
    number = max(found.reserve_worths, key=lambda each: found.reserve_worths[each])
    if found.reserve_worths[number] > PROVED_NEAR:
        print(
            f"with these last bits a release could have been better, by at most "
            f"{found.reserve_worths[number]:.1e} (release {number})"
        )


def show_estimate(found: RecipientEstimate) -> None:
    """An estimate for people."""
    print(
        f"{plain(found.request)}: {counted(found.n, 'record')}, "
        f"{100 * found.confidence:g} % intervals"
    )
    show_rows(("level", "share", "from", "to", ""), list(found.rows()))
    if found.contrasts:
        print("told together, as sums of shares:")
        for contrast in found.contrasts:
            print(f"  {plain(contrast)}")
    for line in found.remarks:
        print(f"note: {plain(line)}")
