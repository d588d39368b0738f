"""The command ``tacit report``: one document on a study, for a record of processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.cli.display import counted, plain, show_json, show_remarks, show_rows
from tacit.cli.options import AsJson, Folder, Page
from tacit.words.remarks import remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import StudyReport


def report(
    folder: Folder,
    html: Page = None,
    as_json: AsJson = False,
) -> None:
    """One document on the study, for a record of processing.

    Columns, recipients, limits, and what was released to whom and why.
    """
    from tacit.storage import atomic_file
    from tacit.study import Study
    from tacit.study.folder import refuse_study_files

    if html is not None:
        refuse_study_files(html)
    with Study.open(folder) as study:
        found = study.report()
    if html is not None:
        with atomic_file(html) as file:
            file.write(found.as_html().encode())
    if as_json:
        document = found.as_dict()
        document["status"]["remarks"] = remarks_for_machines(found.status.remarks)
        show_json(document)
    elif html is None:
        _show_report(found)
    else:
        print(f"{plain(str(html))}: report on {counted(found.status.releases, 'release')}")


def _show_report(found: StudyReport) -> None:
    from tacit.study.reports.receipts import time_in_words

    print(plain(f"{found.organisation or 'organisation not recorded'}: {found.table or 'a table'}"))
    erased = f" ({found.status.erased:,} erased)" if found.status.erased else ""
    begun = time_in_words(found.made)
    print(f"  {counted(found.status.records, 'record')}{erased}, begun {begun}")
    print(f"  private columns: {plain(', '.join(found.columns))}")
    rows = [
        (
            str(each.entry),
            time_in_words(each.time),
            each.party,
            each.request if each.cohort is None else f"{each.request}, cohort {each.cohort}",
            each.reason or "no reason was recorded",
        )
        for each in found.releases
    ]
    if rows:
        show_rows(("entry", "when", "to", "what", "why"), rows, wide=4)
    else:
        print("  nothing was released yet")
    show_remarks(found.status.remarks)
