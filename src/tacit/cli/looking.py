"""Commands that look at what was released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import AsJson, Folder
from tacit.cli.showing import bar, show_json, show_rows

if TYPE_CHECKING:
    from tacit.study import Receipt, RecipientEstimate, Standing, Verification

PROBLEMS_FOUND = 5
"""Exit code of a verification that found something amiss, as for any trouble with a ledger."""


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
    records: Annotated[int, typer.Option(help="Simulated records to attack.")] = 20_000,
    as_json: AsJson = False,
) -> None:
    """What each party and each coalition learned, measured in many ways, with an attack."""
    from tacit.study import Study

    with Study.open(folder) as study:
        found = study.audit(records=records)
    if as_json:
        show_json(found.as_dict())
    else:
        print(found.as_text())


def receipt(
    folder: Folder,
    number: Annotated[int, typer.Argument(metavar="ENTRY", help="Number of the release.")],
    html: Annotated[Path | None, typer.Option(help="Write it as a page.")] = None,
    as_json: AsJson = False,
) -> None:
    """The receipt of a release, for the custodian's files."""
    from tacit.study import Study

    with Study.open(folder) as study:
        paper = study.receipt(number)
    if html is not None:
        html.write_text(paper.as_html())
    if as_json:
        show_json(paper.model_dump(mode="json"))
    elif html is None:
        show_receipt(paper)
    else:
        print(f"{html}: receipt of release {number}")


def verify(
    folder: Folder,
    receipt: Annotated[
        Path | None, typer.Option(help="A receipt or certificate that the ledger must still hold.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay the ledger: hash chain, certificates, files. Finds what was changed."""
    from tacit.study import verify_study

    found = verify_study(folder, receipt)
    if as_json:
        show_json(found.as_dict())
    else:
        show_verification(found)
    if not found.is_whole:
        raise typer.Exit(PROBLEMS_FOUND)


def estimate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A release, .parquet or .csv.")],
    confidence: Annotated[float, typer.Option(help="Of every interval.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """For recipients: frequencies of what was asked, with confidence intervals."""
    from tacit.study import estimate_file

    found = estimate_file(file, confidence=confidence)
    if as_json:
        show_json(found.as_dict())
    else:
        show_estimate(found)


def show_status(standing: Standing, folder: Path) -> None:
    """The state of a study for people."""
    closed = " CLOSED." if standing.is_closed else ""
    print(
        f"{folder}: {standing.records:,} records, {standing.entropy_bits:.4f} bits to learn about "
        f"each, {standing.releases} releases.{closed}"
    )
    rows = [
        (
            each.name,
            bar(each.held, each.limit),
            f"{each.held:.4f}",
            f"{each.limit:g}",
            f"{each.left:.4f}",
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


def show_receipt(paper: Receipt) -> None:
    """A receipt for people."""
    print(f"Release {paper.entry}: {paper.request} for {paper.party}, {paper.time}")
    print(f"  {paper.in_words}")
    rows = [
        (" + ".join(each.parties), f"{each.bits:.6f}", f"{each.limit:g}") for each in paper.holdings
    ]
    show_rows(("bits about one record", "holds at most", "limit"), rows)
    print(f"  sealed by  {paper.hash}")
    print(f"  file       {paper.file or 'not delivered yet'}")
    print(f"  digest     {paper.digest or 'not delivered yet'}")


def show_verification(found: Verification) -> None:
    """A verification for people."""
    for problem in found.problems:
        print(f"PROBLEM: {problem}")
    for note in found.notes:
        print(f"note: {note}")
    if found.is_whole:
        print(f"{found.entries} entries, {found.releases} releases: everything is as recorded")
    else:
        print(f"{len(found.problems)} problems: do not rely on this study")


def show_estimate(found: RecipientEstimate) -> None:
    """An estimate for people."""
    print(f"{found.request}: {found.n:,} records, {100 * found.confidence:g} % intervals")
    show_rows(("level", "share", "from", "to", ""), [tuple(row) for row in found.rows()])
    for line in found.remarks:
        print(f"note: {line}")
