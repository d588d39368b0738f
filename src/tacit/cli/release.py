"""The command ``tacit release``: answer a request, once."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import (
    accepting,
    counted,
    plain,
    progress_bar,
    show_disclosures,
    show_json,
    watch_design,
)
from tacit.cli.options import (
    Accept,
    AcceptRollback,
    Again,
    Analysable,
    AsJson,
    Bits,
    Ceiling,
    Cohort,
    Folder,
    Party,
    Requested,
    Sql,
    Utility,
    WorstLevel,
)
from tacit.errors import InvalidInputError
from tacit.words.remarks import remark_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.problem import Costs
    from tacit.remark import Remark
    from tacit.study import Certificate, Receipt, Study


def release(
    folder: Folder,
    party: Party,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, .parquet or .csv.")],
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    worst_level: WorstLevel = False,
    ceiling: Ceiling = None,
    analysable: Analysable = False,
    bits: Bits = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="ERROR",
            help="Refuse an answer with a larger mean error, or cost; with --worst-level, of the "
            "worst level.",
        ),
    ] = None,
    again: Again = False,
    cohort: Cohort = None,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Why it is released, for the ledger and the receipt."),
    ] = None,
    accept: Accept = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is not this release's own.")
    ] = False,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Answer a request: once, and recorded for good.

    The same request gets the same file again, at no cost. Each later cohort has a file of its own.
    """
    from tacit.study import Receipt, Study
    from tacit.study.releases.release import cohort_file

    objective, ceilings = objective_of(worst_level), read_ceilings(ceiling or [])
    judged = read_utility(utility)
    with (
        Study.open(folder, accept_rollback=accept_rollback) as study,
        progress_bar(f"writing {plain(out.name)}") as (progress, tell),
    ):

        def answer(accept: Sequence[str]) -> Certificate:
            return study.release(
                party,
                columns_of(study, request),
                out=out,
                sql=sql,
                utility=judged,
                objective=objective,
                ceilings=ceilings,
                analysable=analysable,
                bits=bits,
                max_error=max_error,
                again=again,
                cohort=cohort,
                reason=reason,
                accept=accept,
                overwrite=force,
                watch=watch_design(tell),
                progress=progress,
                notify=_show_note,
            )

        certificate = accepting(answer, accept or [])
        others = study.receipts_beside(certificate.entry) if cohort is None else ()
        if as_json:
            beside = {"beside": [each.model_dump(mode="json") for each in others]} if others else {}
            show_json(study.receipt(certificate.entry).model_dump(mode="json") | beside)
            return
        remarks = study.remarks_on(certificate.entry)
        # Without the code there is nothing new to name, or it was named when it was asked about.
        for each in (certificate, *others) if accept else ():
            receipt = study.receipt(each.entry)
            assert isinstance(receipt, Receipt)
            show_disclosures(receipt.disclosures, "can name")
    _show_release(certificate, folder, out, remarks)
    for each in others:
        _show_release(each, folder, cohort_file(out, each.cohort or 1))


def columns_of(study: Study, text: str | None) -> str | list[str] | None:
    """What is asked for, as it is typed: a column, or several attributes with commas between."""
    if text is None or text in study.columns:
        return text
    return text.split(",")


def read_utility(text: str) -> str | Costs:
    """How answers are judged, as it is typed: a name, or a file with a table of costs."""
    from tacit.cli.costs import read_costs
    from tacit.study.books.records import measure_names

    if text in measure_names():
        return text
    path = Path(text)
    if not path.is_file():
        raise InvalidInputError(
            f"utility {text!r} is neither one of {', '.join(measure_names())} nor a file of costs: "
            "give one of these words, or the path of a table with a row for each answer"
        )
    return read_costs(path)


def objective_of(worst_level: bool) -> str:
    """What of the errors is minimised."""
    from tacit.problem import MEAN, WORST_LEVEL

    return WORST_LEVEL if worst_level else MEAN


def read_ceilings(texts: list[str]) -> dict[str, float]:
    """Ceilings as they are typed, LEVEL=ERROR each."""
    ceilings: dict[str, float] = {}
    for text in texts:
        level, equals, error = text.rpartition("=")
        try:
            most = float(error)
        except ValueError:
            equals = ""
        if not equals or level in ceilings:
            seen = "is given twice" if equals else "is no LEVEL=ERROR"
            raise InvalidInputError(
                f"--ceiling {text!r} {seen}: give each level once, as in 'below HS=0.6'"
            )
        ceilings[level] = most
    return ceilings


def _show_note(remark: Remark) -> None:
    print(f"note: {plain(remark_in_words(remark))}", file=sys.stderr, flush=True)


def _show_release(
    paper: Certificate | Receipt, folder: Path, out: Path, remarks: Sequence[Remark] = ()
) -> None:
    from tacit.information.laws import bits_up

    party, request = plain(paper.party), plain(paper.request)
    cohort = "" if paper.cohort is None else f" of cohort {paper.cohort}"
    print(f"{plain(str(out))}: {request} for {party}, {counted(paper.records, 'record')}{cohort}")
    print(f"  {paper.in_words}")
    for remark in (*paper.remarks, *remarks):
        print(f"  {plain(remark_in_words(remark))}")
    held = bits_up(paper.party_bits)
    print(f"  after this release, {party} held at most {held} bits about a record")
    print(f"  certificate for the recipient: {plain(str(out))}.certificate.json")
    print(f"  receipt: {shlex.join(['tacit', 'receipt', str(folder), str(paper.entry)])}")
