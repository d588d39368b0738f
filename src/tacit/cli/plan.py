"""The command ``tacit plan``: what limits would buy, before they are set."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.collusion import change_limits
from tacit.cli.display import bar, counted, plain, show_json, show_rows, waiting
from tacit.cli.options import AsJson, Folder
from tacit.cli.release import columns_of
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.study import LimitMeaning, LimitPlan, PlannedCurve

_MOST_COLUMNS = 3
"""Columns that a limit is explained by; JSON has all."""


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
        typer.Option(metavar="PERCENT", help="Right answers, of 100, to find the bits for."),
    ] = None,
    parties: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=0, help="New parties, which take the requests in turn."),
    ] = 0,
    limit: Annotated[
        float | None,
        typer.Option(
            metavar="BITS",
            help="Of each of them; by default an equal share of the limits on coalitions.",
        ),
    ] = None,
    any_of: Annotated[
        list[str] | None,
        typer.Option(
            "--any", metavar="N=BITS", help="Bits for any N parties together; again for each N."
        ),
    ] = None,
    everyone: Annotated[
        str | None, typer.Option(metavar="BITS", help="Bits for all parties together, or none.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curves: .png, .pdf, .svg or .html."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What limits would buy, before they are set.

    Records and spends nothing.
    """
    from tacit.study import Study

    if not parties and (limit is not None or any_of or everyone is not None):
        raise InvalidInputError("limits are given, but no parties: give --parties NUMBER")
    with Study.open(folder) as study, waiting("planning"):
        planned = study.plan(
            [columns_of(study, each) or each for each in request or ()],
            sql=sql or (),
            correct=None if correct is None else correct / 100,
            parties=parties,
            limit=limit,
            policy=change_limits(study.policy, everyone, any_of or (), ()),
        )
    if plot is not None:
        _draw(planned, plot)
    if as_json:
        show_json(planned.as_dict())
    else:
        _show_plan(planned)


def meanings_in_words(means: Sequence[LimitMeaning]) -> list[str]:
    """What a limit means, a line for each column, the largest growth first."""
    return [
        f"{each.column} could be told right for at most {_percent(each.most)} of 100 records; "
        f"a blind guess is right for {_percent(each.blind)}"
        for each in means[:_MOST_COLUMNS]
    ]


def _show_plan(planned: LimitPlan) -> None:
    for number, curve in enumerate(planned.curves):
        if number:
            print()
        _show_curve(curve)
    if planned.answers:
        print()
        _show_answers(planned)


def _show_curve(curve: PlannedCurve) -> None:
    request = plain(curve.request)
    print(f"{request}: a blind guess is right for {_percent(curve.blind)} of 100 records")
    if curve.needed is not None:
        print(f"  {_needed_in_words(curve)}")
    rows = [
        (f"{point.bits:.4f}", _percent(point.correct), bar(point.correct, 1.0))
        for point in curve.points
    ]
    show_rows(("bits", "right of 100", ""), rows)


def _needed_in_words(curve: PlannedCurve) -> str:
    from tacit.accounting import bits_down

    needed = curve.needed
    assert needed is not None  # asked for
    wanted = f"{100 * (1 - needed.distortion):g} of 100 right"
    if isinf(needed.at_most):
        most = _percent(1 - needed.best)
        return f"{wanted}: no number of bits is enough, at most {most} of 100 can be right"
    if needed.at_most == 0:
        return f"{wanted}: no bits are needed, a blind guess is as good"
    fewer = bits_down(needed.at_least)
    return f"{wanted}: {curve.bits_to_give:.4f} bits are enough, less than {fewer} are not"


def _show_answers(planned: LimitPlan) -> None:
    from tacit.policy import bits_in_words

    assert planned.limit is not None  # there are parties
    parties = counted(len({each.party for each in planned.answers}), "new party", "new parties")
    share = ", an equal share of the limits on coalitions" * planned.is_equal_share
    print(f"{parties}, each limited to {bits_in_words(planned.limit)}{share}.")
    print(plain(f"Limits on coalitions: {planned.policy.in_words}."))
    print("Right answers, of 100, if they ask in this order:")
    rows = [
        (
            each.party,
            each.request,
            _percent(each.blind),
            _percent(each.correct),
            f"{_percent(each.lowest)} to {_percent(each.highest)}",
            _percent(each.alone),
        )
        for each in planned.answers
    ]
    heading = ("who", "asks for", "blind", "right", "other orders", "alone")
    show_rows(heading, rows, wide=1)
    print(_spread_in_words(planned))


def _spread_in_words(planned: LimitPlan) -> str:
    tried = (
        f"Tried {counted(planned.orders, 'order')}, in which everybody asks later by some places"
    )
    if planned.spread < 0.0005:
        return f"{tried}: the order does not matter here."
    return (
        f"{tried}: one party's right answers differ by up to {_percent(planned.spread)} of 100. "
        "Other orders may differ more."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _draw(planned: LimitPlan, path: Path) -> None:
    import numpy as np

    from tacit import plots

    curves = {
        curve.request: np.array(
            [(0.0, 100 * curve.blind), *((each.bits, 100 * each.correct) for each in curve.points)]
        )
        for curve in planned.curves
    }
    draw = plots.tradeoff_curves_page if path.suffix == ".html" else plots.tradeoff_curves_figure
    labels = ("bits about one record", "right answers, of 100")
    draw({"one party that holds nothing else": curves}, labels, path=path)
