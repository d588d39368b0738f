"""The command ``tacit status``: who holds what of which limit."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.display import (
    answer_in_words,
    bar,
    counted,
    plain,
    show_disclosures,
    show_json,
    show_remarks,
    show_rows,
)
from tacit.cli.options import AsJson, Folder
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import StudyStatus
    from tacit.study.reports.status import CohortStatus, Holding


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Parties, coalitions, bits used and left."""
    from tacit.study import Study

    with Study.open(folder) as study:
        found = study.status()
    if as_json:
        show_json(found.as_dict() | {"remarks": remarks_for_machines(found.remarks)})
    else:
        _show_status(found, folder)


def _show_status(found: StudyStatus, folder: Path) -> None:
    closed = " CLOSED." if found.is_closed else ""
    erased = f" ({found.erased:,} erased)" if found.erased else ""
    print(
        f"{plain(str(folder))}: {counted(found.records, 'record')}{erased}, "
        f"{found.entropy_bits:.4f} bits to learn about each, "
        f"{counted(found.releases, 'release')}.{closed}"
    )
    show_disclosures(found.disclosures, "can name")
    if found.corrected:
        print(f"{counted(found.corrected, 'record')} joined again after they were erased")
    if len(found.cohorts) > 1:
        print(f"{len(found.cohorts)} cohorts; of each party and coalition, where least is left:")
    _show_holdings((*found.parties, *found.coalitions), found.coalitions_left_out, found.cohorts)
    for cohort in found.cohorts if len(found.cohorts) > 1 else ():
        print(
            f"cohort {cohort.number} ({plain(cohort.table or 'a table')}): "
            f"{counted(cohort.records, 'record')}, {cohort.entropy_bits:.4f} bits to learn about "
            f"each, {counted(cohort.releases, 'release')}"
        )
        _show_holdings((*cohort.parties, *cohort.coalitions), cohort.coalitions_left_out)
    for number in found.undelivered:
        print(f"release {number} is recorded but was never delivered: run its command again")
    show_remarks(found.remarks)


def _show_holdings(
    holdings: Sequence[Holding], n_left_out: int, cohorts: Sequence[CohortStatus] = ()
) -> None:
    """What each holds of its limit; of several cohorts, where that is so."""
    from tacit.information.laws import bits_down, bits_up, limit_in_words

    rows = [
        (
            each.name,
            bar(each.held, each.limit),
            bits_up(each.held),
            limit_in_words(each.limit),
            "" if each.left == inf else bits_down(each.left),
            answer_in_words(each.worst_answer, each.times),
            "as everyone" if each.is_covered else "",
            *([f"cohort {each.cohort}"] if len(cohorts) > 1 else []),
        )
        for each in holdings
    ]
    if rows:
        heading = ("bits about one record", "", "held", "limit", "left", "answer", "")
        show_rows((*heading, *([""] if len(cohorts) > 1 else [])), rows)
    if n_left_out:
        print(f"and {counted(n_left_out, 'more coalition')}, farther from the limit")
