"""The surface D(ε, δ) of a request: what other limits would buy. It records and spends nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

import numpy as np

from tacit.errors import CeilingError, InfeasibleError
from tacit.information import entropy
from tacit.limits import EVERYONE, cap_of, find, without
from tacit.scheme import Scheme, Variable
from tacit.solution import GAP_TOL
from tacit.solvers import A_SECOND, work_done
from tacit.study.books.books import Books, Request
from tacit.study.reports.receipts import value_in_words

_STEPS = 5
"""Limits of a grid, beside those that are asked about."""

_WORK = 20 * A_SECOND
"""After so many operations no more points are designed; the rest stays open."""

_GAP_TOL = 1e-3
"""Of a point of the grid: a picture shows no more."""

_DIGITS, _GRID_DIGITS = 6, 3
"""Decimals of the limits that are asked about, and of those around them."""


@dataclass(frozen=True, slots=True)
class RequestSurface:
    """What a request would be worth under other limits, given every earlier release.

    Attributes:
        party: who would ask.
        request: what for.
        measure: how answers are judged.
        objective: ``"mean"`` or ``"worst-level"``.
        blind: what a blind guess is worth.
        held: what the party holds now, at most.
        everyone_held: what all parties together hold now, at most.
        limit: bits that the party may hold after it, as asked about.
        everyone: the same for all parties together.
        individual: a grid of limits on the party; ``limit`` is one of them.
        collusion: a grid of limits on everyone; ``everyone`` is one of them.
        values: worth of the best release within these two limits alone, [individual, collusion];
            ``None`` where they leave nothing, or where time ran out.
        value: the same at ``limit`` and ``everyone``, within all other limits and caps, too.
        is_complete: whether there was time for all of it.
        cohort: whom it is about; ``None`` where there is one cohort.
        others: the same for the other cohorts; in all, the one where the request is worth least is
            first.
    """

    party: str
    request: str
    measure: str
    objective: str
    blind: float | None
    held: float
    everyone_held: float
    limit: float
    everyone: float
    individual: tuple[float, ...]
    collusion: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    value: float | None
    is_complete: bool
    cohort: int | None = None
    others: tuple[RequestSurface, ...] = ()

    @property
    def alone(self) -> float | None:
        """The worth at ``limit`` and ``everyone`` if no other limit were in force."""
        return self.values[self.individual.index(self.limit)][self.collusion.index(self.everyone)]

    @property
    def in_words(self) -> str:
        """What ``value`` is worth, beside a blind guess."""
        if self.value is None:
            return "these limits leave nothing"
        return value_in_words(self.measure, self.value, self.blind, self.objective)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        told = asdict(self) | {"alone": self.alone, "in_words": self.in_words}
        return told | {"others": [other.as_dict() for other in self.others]}


def trace_requests(
    views: Sequence[Books],
    read: Callable[[Books], Request],
    limit: float | None,
    everyone: float | None,
) -> RequestSurface:
    """The surface of a request in each cohort; of the one where it is worth least, first.

    Args:
        views: the books for each cohort.
        read: what would be asked, as a cohort's books understand it.
        limit, everyone: as for ``trace_request``.
    """
    found = []
    for each in views:
        request = read(each)
        surface = trace_request(each, request, limit, everyone, work=_WORK / len(views))
        value, p_r = surface.value, each.p_x @ request.question.p_r_given_x
        gain = -inf if value is None else request.utility.gain(value, p_r)
        is_constant = int(np.count_nonzero(p_r)) == 1  # known to all, and worth no bits
        found.append((inf if is_constant else gain, replace(surface, cohort=each.cohort_shown)))
    worst, *others = [surface for _, surface in sorted(found, key=lambda each: each[0])]
    return replace(worst, others=tuple(others))


def trace_request(
    books: Books,
    request: Request,
    limit: float | None,
    everyone: float | None,
    *,
    work: float = _WORK,
) -> RequestSurface:
    """The surface of a request around two limits.

    Args:
        books: of the study, for one cohort.
        request: what would be asked.
        limit: bits that the party may hold after it; by default its own limit.
        everyone: the same for all parties together; by default the limit in force, or all bits.
        work: operations after which no more points are designed.
    """
    account, all_bits = books.account_for(request.question), entropy(books.p_x)
    held = account.upper_bits(frozenset({request.party}))
    everyone_held = account.upper_bits(books.holders) if books.holders else 0.0
    set_limit = books.own_limit(request.party)
    own = round(min(set_limit.amount("bits") if limit is None else limit, all_bits), _DIGITS)
    on_all = find(books.limits, EVERYONE)
    standing = inf if on_all is None else on_all.amount("bits")
    full = round(min(standing if everyone is None else everyone, all_bits), _DIGITS)
    rows, columns = _grid(held, own, all_bits), _grid(everyone_held, full, all_bits)
    others = without(books.limits, EVERYONE, set_limit.whom)
    cap = None if set_limit.times is None else cap_of(set_limit.times)
    value = _value(
        replace(books, limits=others).scheme(account), request, own, full, cap=cap, gap_tol=GAP_TOL
    )
    alone = replace(books, limits=()).scheme(account)
    found, until = dict[tuple[float, float], float | None](), work_done() + work
    points = [(own, full), *((row, column) for row in rows for column in columns)]
    for point in points:
        if point not in found and work_done() < until:
            found[point] = _value(alone, request, *point)
    return RequestSurface(
        party=request.party,
        request=request.question.name,
        measure=request.measure.kind,
        objective=request.measure.objective,
        blind=request.blind_value(books.p_x),
        held=held,
        everyone_held=everyone_held,
        limit=own,
        everyone=full,
        individual=rows,
        collusion=columns,
        values=tuple(tuple(found.get((row, column)) for column in columns) for row in rows),
        value=value,
        is_complete=len(found) == len(set(points)),
    )


def _grid(held: float, asked: float, most: float) -> tuple[float, ...]:
    """Limits from what is held to half as much again as is asked about."""
    top = min(max(1.5 * asked, held + 0.1), most)
    step = (top - held) / _STEPS
    limits = np.minimum(np.round(held + step * np.arange(1, _STEPS + 1), _GRID_DIGITS), most)
    others = (each for each in limits.tolist() if abs(each - asked) > step / 4)
    return tuple(sorted({asked, *others}))


def _value(
    scheme: Scheme,
    request: Request,
    limit: float,
    everyone: float,
    *,
    cap: float | None = None,
    gap_tol: float = _GAP_TOL,
) -> float | None:
    question = request.question
    try:
        design = scheme.design(
            Variable(question.name, question.p_r_given_x, question.labels),
            party=request.party,
            utility=request.utility.posed,
            objective=request.measure.objective,
            ceilings=request.ceilings,
            analysable=request.analysable,
            individual=min(limit, everyone),
            collusion=everyone,
            cap=cap,
            gap_tol=gap_tol,
            work_limit=_WORK / _STEPS**2,
        )
    except (CeilingError, InfeasibleError):
        return None
    value = float(design.solution.value)
    return value if value < inf else None
