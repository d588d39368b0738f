"""The command ``tacit limit``: who may learn how much; without anybody named, every limit."""

from __future__ import annotations

from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.display import bar, plain, show_done, show_json, show_remarks, show_rows
from tacit.cli.options import AcceptRollback, AsJson, Folder
from tacit.cli.plan import limit_in_terms
from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.limits import Whom
    from tacit.study import StandingLimit, Study


def limit(
    folder: Folder,
    whom: Annotated[
        str | None,
        typer.Argument(
            metavar="WHOM",
            help="A party, such as lab-a; or those who pool what they hold: lab-a+lab-b, 'any 2' "
            "or everyone. Without it, every limit is shown.",
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(
            metavar="BITS",
            help="Bits about one record, on average, over everything they will ever hold; or none. "
            "A party is let in by them; none removes it if it holds nothing.",
        ),
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(
            metavar="TIMES",
            help="After any answer, no combination of levels is more times as likely as before; or "
            "none.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What a party is called in lists and on pages."),
    ] = None,
    accept_rollback: AcceptRollback = False,
    as_json: AsJson = False,
) -> None:
    """Say who may learn how much, alone or together; or show every limit.

    What is not named stays as it is.
    """
    from tacit.limits import Whom
    from tacit.study import Study

    on = None if whom is None else Whom.parse(whom)
    with Study.open(folder, accept_rollback=accept_rollback) as study:
        if on is None or (bits, times, title) == (None, None, None):
            shown = [each for each in study.limits() if on is None or each.whom == str(on)]
            if on is not None and not shown:
                raise InvalidInputError(f"there is no limit on {on}: give --bits or --times")
            _show_limits(shown, as_json=as_json)
        else:
            amounts = _number("bits", bits), _number("times", times)
            _set_limit(study, on, *amounts, title, as_json=as_json)


def _number(option: str, text: str | None) -> float | None:
    if text in (None, "none"):
        return None if text is None else inf
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not number < inf:
        raise InvalidInputError(f"--{option} {text}: give a number, or none for no limit")
    return number


def _set_limit(
    study: Study,
    on: Whom,
    bits: float | None,
    times: float | None,
    title: str | None,
    *,
    as_json: bool,
) -> None:
    """Set it, and say what it means, disclosures first."""
    remarks = study.set_limit(str(on), bits, times, title=title)
    found = next((each for each in study.limits() if each.whom == str(on)), None)
    if found is None:
        gone = " is removed: it held nothing" if on.party else ": no limit any more"
        nothing: dict[str, Any] = {
            "whom": str(on),
            "bits": None,
            "times": None,
            "title": None,
            "means": [],
        }
        show_done(nothing, plain(f"{on.in_words}{gone}"), remarks, as_json=as_json)
        return
    bound = study.bound_on(str(on))
    means = study.explain_limit(bound.bits, bound.times)
    remarks += [] if on.party is None else study.missing_times(on.party)
    if as_json:
        shown = found.as_dict()
        told = {name: shown[name] for name in ("whom", "bits", "times", "title")}
        show_done(told | {"means": [asdict(each) for each in means]}, "", remarks, as_json=True)
        return
    print(plain(_promise(found)))
    for line in limit_in_terms(bound.bits, bound.times, means):
        print(plain(line))
    show_remarks(remarks)


def _called(found: StandingLimit) -> str:
    named = found.title not in (None, found.whom)
    return f"{found.title} ({found.whom})" if named else found.limited_by


def _promise(found: StandingLimit) -> str:
    from tacit.information.laws import bits_in_words
    from tacit.limits import times_promise

    times = [] if found.times == inf else [times_promise(found.times)]
    if found.bits == inf:
        return f"{_called(found)}: {times[0]}"
    bits = f"{_called(found)} may learn {bits_in_words(found.bits)} about a record"
    return "; ".join([bits, *times])


def _show_limits(limits: list[StandingLimit], *, as_json: bool) -> None:
    """Of the coalitions under a limit, the one that holds most, in the cohort where it does."""
    from tacit.information.laws import bits_down, bits_up, limit_in_words

    if as_json:
        show_json({"limits": [each.as_dict() for each in limits]})
        return
    if not limits:
        print("no limits yet, and no parties")
        return
    has_cohorts = len(limits[0].held_by_cohort) > 1
    rows = [
        (
            _called(each),
            limit_in_words(each.bits),
            "" if each.times == inf else limit_in_words(each.times),
            bar(each.held, each.bits),
            bits_up(each.held),
            "" if each.left == inf else bits_down(each.left),
            " + ".join(each.nearest) or "nobody yet",
            *([", ".join(map(bits_up, each.held_by_cohort))] if has_cohorts else []),
        )
        for each in limits
    ]
    heading = ("limit on", "bits", "times", "", "held", "left", "held most by")
    by_cohort = ["held in each cohort"] if has_cohorts else []
    show_rows((*heading, *by_cohort), rows, wide=len(heading) - 1)
