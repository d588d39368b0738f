"""The command ``tacit policy``: every limit, also on coalitions that hold nothing yet."""

from __future__ import annotations

from math import inf

from tacit.cli.display import bar, show_json, show_rows
from tacit.cli.options import AsJson, Folder


def policy(folder: Folder, as_json: AsJson = False) -> None:
    """Every limit, also on coalitions that hold nothing yet.

    Of the coalitions under a limit, the one that holds most is named, in the cohort where it does.
    """
    from tacit.information.laws import bits_down, bits_up
    from tacit.policy import limit_in_words, times_in_words
    from tacit.study import Study

    with Study.open(folder) as study:
        limits = study.limits()
    if as_json:
        show_json({"limits": [each.as_dict() for each in limits]})
        return
    has_cohorts = any(len(each.held_by_cohort) > 1 for each in limits)
    rows = [
        (
            each.limited_by,
            limit_in_words(each.bits),
            "" if each.cap == inf else f"{times_in_words(each.cap)}x",
            bar(each.held, each.bits),
            bits_up(each.held),
            "" if each.left == inf else bits_down(each.left),
            " + ".join(each.nearest) or "nobody yet",
            *([", ".join(map(bits_up, each.held_by_cohort))] if has_cohorts else []),
        )
        for each in limits
    ]
    if rows:
        heading = ("limit on", "bits", "cap", "", "held", "left", "held most by")
        by_cohort = ["held in each cohort"] if has_cohorts else []
        show_rows((*heading, *by_cohort), rows, wide=len(heading) - 1)
    else:
        print("no limits yet, and no parties")
