"""The command ``tacit quote``: what a request would cost and be worth."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.display import (
    answer_in_words,
    bar,
    plain,
    show_disclosures,
    show_json,
    show_rows,
    waiting,
    watch_design,
)
from tacit.cli.options import (
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
from tacit.cli.release import columns_of, objective_of, read_ceilings, read_utility
from tacit.errors import InvalidInputError
from tacit.words.commands import command_line
from tacit.words.remarks import remark_in_words, remarks_for_machines

if TYPE_CHECKING:
    from tacit.study import Quote, Risk
    from tacit.study.requests.quote import CurvePoint


def quote(
    folder: Folder,
    party: Party,
    request: Requested = None,
    sql: Sql = None,
    utility: Utility = "hamming",
    worst_level: WorstLevel = False,
    ceiling: Ceiling = None,
    analysable: Analysable = False,
    bits: Bits = None,
    again: Again = False,
    cohort: Cohort = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Show the trade-off of the other form, analysable or adaptive, and what a limit "
            "in times costs.",
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw all these: .png, .pdf or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What a request would cost and be worth.

    Spends nothing.
    """
    from tacit.study import Study

    objective, ceilings = objective_of(worst_level), read_ceilings(ceiling or [])
    judged = read_utility(utility)
    with Study.open(folder) as study, waiting("designing") as tell:
        quoted = study.quote(
            party,
            columns_of(study, request),
            sql=sql,
            utility=judged,
            objective=objective,
            ceilings=ceilings,
            analysable=analysable,
            bits=bits,
            again=again,
            cohort=cohort,
            compare=compare or plot is not None,
            watch=watch_design(tell),
        )
    if plot is not None:
        _draw(quoted, plot)
    if as_json:
        show_json(_for_machines(quoted))
    elif quoted.answered_by is not None:
        _show_answered(quoted, folder)
    else:
        _show_quote(quoted)


def _for_machines(quoted: Quote) -> dict[str, Any]:
    """A quote, and its worth in the words that people read."""
    from tacit.study.reports.receipts import value_in_words

    document = quoted.as_dict() | {"remarks": remarks_for_machines(quoted.remarks)}
    document["in_words"] = value_in_words(
        quoted.measure, quoted.value, quoted.blind, quoted.objective
    )
    for entry, point in zip(document["curve"], quoted.curve, strict=True):
        entry["in_words"] = _worth(quoted, point)
    return document


def _show_quote(quoted: Quote) -> None:
    from tacit.information.laws import bits_down, bits_in_words, bits_up, limit_in_words

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
        f"{bits_in_words(worst.limit)}"
    )
    print(f"  {_more(quoted)}")
    others = bits_up(quoted.others_bits)
    print(f"  to whoever knows every count, others' rows would add at most {others} bits")
    show_risks(quoted.risks)
    print()
    _show_shares(quoted)
    _show_levels(quoted)
    _show_variants(quoted)
    if len(quoted.curve) > 1:
        _show_curve(quoted)


def _show_answered(quoted: Quote, folder: Path) -> None:
    """The quote of a request that was answered before."""
    _show_question(quoted)
    print(f"  answered by release {quoted.answered_by}: asking again delivers it once more and")
    print("  costs nothing; --again asks for a new one")
    print(f"  receipt: {command_line('tacit', 'receipt', folder, quoted.answered_by)}")
    print()
    _show_shares(quoted)
    _show_levels(quoted)


def _show_question(quoted: Quote) -> None:
    from tacit.auditing.text import wrap
    from tacit.study.reports.receipts import value_in_words

    judged = f"judged by {quoted.measure}{', analysable' if quoted.analysable else ''}"
    judged += "" if quoted.cohort is None else f", about cohort {quoted.cohort}"
    print(f"{plain(quoted.request)} for {plain(quoted.party)}, {judged}:")
    show_disclosures(quoted.disclosures, "would name", "  ")
    worth = value_in_words(quoted.measure, quoted.value, quoted.blind, quoted.objective)
    print(f"  {worth}")
    for remark in quoted.remarks:
        print("\n".join(wrap(plain(remark_in_words(remark)), "    ", "  ")))


def show_risks(risks: Sequence[Risk], *, has_table: bool = False) -> None:
    """What each coalition can tell about a record, two lines or more each.

    Args:
        risks: of each.
        has_table: whether a table with every column follows, so that one is enough here.
    """
    from tacit.auditing.text import wrap

    for risk in risks:
        print("\n".join(wrap(plain(f"{risk.name}: {risk.in_words}"), "    ", "  ")))
        for text in () if has_table else risk.others_in_words:
            print("\n".join(wrap(plain(text), "      ", "    ")))


def _more(quoted: Quote) -> str:
    from tacit.study.requests.quote import MOST_COUNTED

    match quoted.about_more:
        case None:
            return "the limit in times is reached: bits do not say how many more would fit after it"
        case 0:
            return "no other request of this size would fit after it"
        case 1:
            return "about one more request of this size would fit after it"
        case many if many < MOST_COUNTED:
            return f"about {many} more requests of this size would fit after it"
        case _:
            return "any number of requests of this size would fit after it"


def _show_shares(quoted: Quote) -> None:
    from tacit.information.laws import bits_down, bits_up, limit_in_words

    rows = [
        (
            share.name,
            bits_up(share.held),
            f"+{bits_up(share.added)}",
            bar(share.after, share.limit),
            limit_in_words(share.limit),
            bits_down(share.left),
            answer_in_words(share.worst_answer, share.times),
        )
        for share in quoted.coalitions
    ]
    show_rows(("bits about one record", "held", "this", "", "limit", "left", "answer"), rows)


def _show_levels(quoted: Quote) -> None:
    """The error of every level, never only the mean."""
    if not quoted.levels:
        return
    print()
    has_ceilings = bool(quoted.ceilings)
    rows = [
        (
            each.level,
            f"{each.records:,}",
            f"{each.error:.4f}",
            *([f"{quoted.ceilings.get(each.level, '')}"] if has_ceilings else []),
            "never the answer" if each.is_released is False else "",
        )
        for each in quoted.levels
    ]
    ceiling = ("ceiling",) if has_ceilings else ()
    show_rows((quoted.request, "records", "error", *ceiling, ""), rows)


def _show_variants(quoted: Quote) -> None:
    """Analysable and adaptive, side by side; for shares there is only the analysable one."""
    from tacit.information.laws import bits_up

    if len(quoted.variants) < (1 if quoted.measure == "shares" else 2):
        return
    print()
    rows = [
        (
            "analysable" if each.analysable else "adaptive",
            f"{each.value:.4f}",
            bits_up(each.bits),
            bits_up(each.everyone_bits),
            "not every share" if each.half_width is None else f"+-{each.half_width:.4f}",
            "<- this" if each.is_asked else "",
        )
        for each in quoted.variants
    ]
    error = "worst error" if quoted.objective != "mean" else "error"
    error = "n x variance" if quoted.measure == "shares" else error
    show_rows(("release", error, "bits", "for everyone", "a share, 95 %", ""), rows)


def _show_curve(quoted: Quote) -> None:
    from tacit.information.laws import limit_in_words

    print("\nFor fewer or more bits:")
    others = _others_in_words(quoted)
    rows = [
        (
            limit_in_words(point.bits),
            _worth(quoted, point) + (" <- this" if point.is_asked else ""),
            *([f"{point.value:.4f}"] if others else []),
            *(f"{point.others[name]:.4f}" if name in point.others else "" for name in others),
        )
        for point in quoted.curve
    ]
    asked = ("as asked",) if others else ()
    show_rows(("--bits", "worth", *asked, *others.values()), rows, wide=1)


def _others_in_words(quoted: Quote) -> dict[str, str]:
    """Releases that the curve compares with, by name."""
    times = f"{quoted.compared_times or inf:,.12g} times"
    words = {
        "analysable": "analysable",
        "adaptive": "adaptive",
        "capped": f"within {times}",
        "uncapped": f"without its limit of {times}",
    }
    found = {name for point in quoted.curve for name in point.others}
    return {name: said for name, said in words.items() if name in found}


def _draw(quoted: Quote, path: Path) -> None:
    """The trade-off as asked and of what it is compared with, in one picture."""
    import numpy as np

    from tacit import plots

    if not quoted.curve:
        raise InvalidInputError(
            f"there is no curve to draw: {quoted.request} was answered by release "
            f"{quoted.answered_by}; --again asks for a new one"
        )
    form = "analysable" if quoted.analysable else "adaptive"
    curves = {
        f"{form}, as asked": [(point.bits, point.value) for point in quoted.curve],
        **{
            said: [(each.bits, each.others[name]) for each in quoted.curve if name in each.others]
            for name, said in _others_in_words(quoted).items()
        },
    }
    error = "largest error of a level" if quoted.objective != "mean" else "mean error"
    others = {"information": "bits about what is asked", "shares": "n times a share's variance"}
    worth = others.get(quoted.measure, error)
    panel = {name: np.array(points) for name, points in curves.items()}
    labels = (f"bits more about one record, to {quoted.party}", worth)
    plots.tradeoff_curves_figure({f"{quoted.request} for {quoted.party}": panel}, labels, path=path)


def _worth(quoted: Quote, point: CurvePoint) -> str:
    from tacit.study.reports.receipts import worth_in_words

    values = [each.value for each in quoted.curve]
    return worth_in_words(
        quoted.measure, point.value, quoted.blind, quoted.objective, beside=values
    )
