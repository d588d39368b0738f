"""The command ``tacit status``: who holds what of which limit."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.display import bar, counted, plain, show_json, show_remarks, show_rows
from tacit.cli.options import AsJson, Folder
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import StudyStatus


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
    from tacit.accounting import bits_down, bits_up
    from tacit.policy import limit_in_words, times_in_words

    closed = " CLOSED." if found.is_closed else ""
    erased = f" ({found.erased:,} erased)" if found.erased else ""
    print(
        f"{plain(str(folder))}: {counted(found.records, 'record')}{erased}, "
        f"{found.entropy_bits:.4f} bits to learn about each, "
        f"{counted(found.releases, 'release')}.{closed}"
    )
    rows = [
        (
            each.name,
            bar(each.held, each.limit),
            bits_up(each.held),
            limit_in_words(each.limit),
            "" if each.left == inf else bits_down(each.left),
            f"{times_in_words(each.worst_answer)}x"
            + ("" if each.cap == inf else f" of {times_in_words(each.cap)}x"),
            "as everyone" if each.is_covered else "",
        )
        for each in (*found.parties, *found.coalitions)
    ]
    if rows:
        heading = ("bits about one record", "", "held", "limit", "left", "answer", "")
        show_rows(heading, rows)
    if found.coalitions_left_out:
        print(f"and {found.coalitions_left_out} more coalitions, farther from their limits")
    for number in found.undelivered:
        print(f"release {number} is recorded but was never delivered: run its command again")
    show_remarks(found.remarks)
