"""The command ``tacit plan``: what limits would buy, before they are set."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import bar, counted, plain, show_json, show_rows, waiting
from tacit.cli.options import AsJson, Folder
from tacit.cli.release import columns_of
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.limits import Limit
    from tacit.study import LimitMeaning, LimitPlan, PlannedCurve

_MOST_ATTRIBUTES = 3
"""Attributes that a limit is explained by; JSON has all."""

_SAME_GUESS = 1e-6
"""A share of right answers that is larger than that of a blind guess by less is the same."""

_SAME_SHARE = 0.0005
"""Shares of right answers that are nearer look the same."""


def plan(
    folder: Folder,
    request: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REQUEST",
            help="A private attribute, several with commas, or an external column; any number.",
        ),
    ] = None,
    sql: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="One more request, an expression over the attributes' levels; again for each.",
        ),
    ] = None,
    correct: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0.0,
            max=100.0,
            help="Right answers, of 100, to find the bits for.",
        ),
    ] = None,
    parties: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=0, help="New parties, which take the requests in turn."),
    ] = 0,
    bits: Annotated[
        float | None,
        typer.Option(
            metavar="BITS",
            help="Of each of them; by default an equal share of the limits on coalitions.",
        ),
    ] = None,
    times: Annotated[
        float | None,
        typer.Option(
            metavar="TIMES",
            help="After any answer of a party, no combination of levels is more times as likely as "
            "before; shown beside no such limit.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHOM=BITS",
            help="A limit on a coalition in the place of the one in force, such as 'any 2=0.5' or "
            "everyone=0.9; again for each.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curves: .png, .pdf or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What limits would buy, before they are set.

    Records and spends nothing.
    """
    from tacit.study import Study

    if not parties and (bits is not None or limit):
        raise InvalidInputError("limits are given, but no parties: give --parties NUMBER")
    with Study.open(folder) as study, waiting("planning"):
        planned = study.plan(
            [columns_of(study, each) or each for each in request or ()],
            sql=sql or (),
            correct=None if correct is None else correct / 100,
            parties=parties,
            limit=bits,
            times=times,
            limits=[_limit(text) for text in limit or ()],
        )
    if plot is not None:
        _draw(planned, plot)
    if as_json:
        show_json(planned.as_dict())
    else:
        _show_plan(planned)


def _limit(text: str) -> Limit:
    from tacit.limits import Limit

    whom, _, bits = text.rpartition("=")
    try:
        return Limit(whom, float(bits))
    except ValueError:
        raise InvalidInputError(f"--limit {text}: give WHOM=BITS, as in 'any 2=0.5'") from None


def limit_in_terms(bits: float, times: float, means: Sequence[LimitMeaning]) -> list[str]:
    """What a limit means: whom it lets be named, and a line for each attribute."""
    from tacit.auditing import most_complete_first
    from tacit.auditing.disclosure import disclosure_in_words
    from tacit.information.laws import bits_in_words

    allowed = "no limit in bits" if isinf(bits) else bits_in_words(bits)
    allowed += "" if isinf(times) else f" {_times_in_words(times)}"
    named = most_complete_first(each.disclosed for each in means if each.disclosed is not None)
    first = [f"! {allowed}: answers could name {disclosure_in_words(each)}" for each in named[:1]]
    return first + [
        f"{allowed}: {each.attribute} could be told right for at most "
        f"{_most_in_words(each)} of 100 records; a blind guess is right for "
        f"{_percent(each.blind)}{'' if each.cohort is None else f' (cohort {each.cohort})'}"
        for each in means[:_MOST_ATTRIBUTES]
    ]


def _most_in_words(meaning: LimitMeaning) -> str:
    """Rounded up, but for what is no better than a blind guess: equal shares look equal."""
    is_equal = meaning.growth < _SAME_GUESS
    return _percent(meaning.blind) if is_equal else _percent_up(meaning.most)


def _show_plan(planned: LimitPlan) -> None:
    """For each cohort, what each party would get; without parties, what bits buy."""
    for number, each in enumerate((planned, *planned.others)):
        if planned.others:
            least = "" if number else ", where answers are worth least"
            print(f"{chr(10) * bool(number)}Cohort {each.cohort}{least}:")
        _show_cohort(each)


def _show_cohort(planned: LimitPlan) -> None:
    if planned.answers:
        _show_answers(planned)
    shown = [each for each in planned.curves if not planned.answers or each.needed is not None]
    for number, curve in enumerate(shown):
        if number or planned.answers:
            print()
        _show_curve(curve, planned.times)


def _show_curve(curve: PlannedCurve, times: float | None) -> None:
    request = plain(curve.request)
    print(f"{request}: a blind guess is right for {_percent(curve.blind)} of 100 records")
    if curve.needed is not None:
        print(f"  {_needed_in_words(curve, times)}")
    rows = [
        (
            f"{point.bits:.4f}",
            _percent(point.correct),
            *([] if point.capped is None else [_percent(point.capped)]),
            bar(point.correct, 1.0),
        )
        for point in curve.points
    ]
    capped = () if times is None else (_times_in_words(times),)
    show_rows(("bits", "right of 100", *capped, ""), rows)


def _times_in_words(times: float) -> str:
    return f"within {times:,.12g} times"


def _needed_in_words(curve: PlannedCurve, times: float | None) -> str:
    from tacit.information.laws import bits_down

    needed = curve.needed
    assert needed is not None  # asked for
    capped = "" if times is None else f" {_times_in_words(times)}"
    wanted = f"{100 * (1 - needed.distortion):g} of 100 right{capped}"
    if isinf(needed.at_most):
        most = _percent(1 - needed.best)
        return f"{wanted}: no number of bits is enough, at most {most} of 100 can be right"
    if needed.at_most == 0:
        return f"{wanted}: no bits are needed, a blind guess is as good"
    fewer = bits_down(needed.at_least)
    return f"{wanted}: {curve.bits_to_give:.4f} bits are enough, less than {fewer} are not"


def _show_answers(planned: LimitPlan) -> None:
    from tacit.information.laws import bits_in_words

    assert planned.limit is not None  # there are parties
    parties = counted(len({each.party for each in planned.answers}), "new party", "new parties")
    share = ", an equal share of the limits on coalitions" * planned.is_equal_share
    times = "" if planned.times is None else f", {_times_in_words(planned.times)}"
    print(f"{parties}, {bits_in_words(planned.limit)} each{share}{times}.")
    limits = "; ".join(each.in_words for each in planned.limits) or "none"
    print(plain(f"Limits on coalitions: {limits}."))
    print("Right answers, of 100, if they ask in this order:")
    rows = [
        (
            each.party,
            each.request,
            _percent(each.blind),
            _percent(each.correct),
            f"{_percent(each.lowest)} to {_percent(each.highest)}",
            "" if each.analysable is None else _percent(each.analysable),
            _percent(each.alone),
        )
        for each in planned.answers
    ]
    heading = ("who", "asks for", "blind", "right", "all orders", "analysable", "alone")
    show_rows(heading, rows, wide=1)
    if len(planned.answers) > 1:
        print(_spread_in_words(planned))


def _spread_in_words(planned: LimitPlan) -> str:
    if planned.orders == 1:
        return "No other order was tried: one took too long."
    tried = f"Tried {counted(planned.orders, 'order')}; each begins with another request."
    if planned.spread < _SAME_SHARE:
        return f"{tried}\nThe order does not matter here."
    differ = f"A party's right answers differ by up to {_percent(planned.spread)}"
    return f"{tried}\n{differ}; in other orders perhaps by more."


def _percent_up(share: float) -> str:
    return f"{min(100.0, ceil(1000 * share - 1e-6) / 10):.1f}"


def _percent(share: float) -> str:
    from tacit.information.laws import of_hundred

    return of_hundred(share)


def _draw(planned: LimitPlan, path: Path) -> None:
    import numpy as np

    from tacit import plots

    curves = {}
    for curve in planned.curves:  # of the cohort where answers are worth least
        blind, bits = 100 * curve.blind, [0.0, *(each.bits for each in curve.points)]
        correct = [blind, *(100 * each.correct for each in curve.points)]
        curves[curve.request] = np.array([bits, correct]).T
        if planned.times is not None:
            capped = [blind, *(100 * (each.capped or 0.0) for each in curve.points)]
            name = f"{curve.request}, {_times_in_words(planned.times)}"
            curves[name] = np.array([bits, capped]).T
    labels = ("bits about one record", "right answers, of 100")
    plots.tradeoff_curves_figure({"one party that holds nothing else": curves}, labels, path=path)
