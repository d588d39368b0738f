"""A plan: what limits would buy, before any party exists. It records and spends nothing.

Everything follows from the public counts and from the designs of earlier releases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, islice
from math import ceil, inf
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.auditing import SURE, Disclosure, most_complete_first
from tacit.auditing.disclosure import LEAST_PEOPLE, is_rare, most_named
from tacit.errors import InfeasibleError, InvalidInputError
from tacit.information.laws import as_positive_bits
from tacit.information.measures import guess_bound
from tacit.limits import (
    Limit,
    as_times,
    binding,
    bounds,
    cap_of,
    least,
    whom_in_words,
)
from tacit.problem import Problem
from tacit.remark import Remark
from tacit.scheme.views import class_rows, class_sums, refine_classes
from tacit.solvers import A_SECOND, solve, work_done
from tacit.study.books.books import RESERVE_BITS, Books
from tacit.tables import Question
from tacit.tradeoff import BitsNeeded, find_bits, trace_surface

_CURVE = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Points of a curve, in parts of the bits that the best answers need."""

_WIDE = 200
"""Levels above which a bound by Fano's inequality takes the place of a design."""

_ORDERS = 8
"""Orders of the parties that are tried, at most."""

_ORDER_WORK = 10 * A_SECOND
"""After so many operations no more orders are tried."""

_MOST_PARTIES = 50


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """So many bits to a party buy so many right answers.

    Attributes:
        bits: about one record.
        correct: share of right answers of a release within them.
        most: no release within them has a larger share.
        capped: share of right answers within the times that were asked about; ``None`` without.
    """

    bits: float
    correct: float
    most: float
    capped: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedCurve:
    """What bits buy, for one request of a party that holds nothing else.

    Attributes:
        request: what is asked for.
        blind: share that a blind guess gets right.
        points: with more and more bits.
        needed: bits for the share that was asked for, within the times that were asked about;
            ``None`` if none was.
    """

    request: str
    blind: float
    points: tuple[PlannedPoint, ...]
    needed: BitsNeeded | None

    def at(self, bits: float) -> float:
        """The share of right answers for some bits, between the points."""
        x, y = zip((0.0, self.blind), *((p.bits, p.correct) for p in self.points), strict=True)
        return float(np.interp(bits, x, y))

    @property
    def bits_to_give(self) -> float | None:
        """A limit that is enough for the share that was asked for, rounded up.

        Infinite where no limit is; a little more than ``needed``, because releases are rounded to
        whole numbers and stay below their limits.
        """
        if self.needed is None or self.needed.at_most == inf:
            return None if self.needed is None else inf
        return float(np.ceil((self.needed.at_most + 10 * RESERVE_BITS) * 1e4) / 1e4)

    def as_dict(self) -> dict[str, Any]:
        """For machines; what no number of bits reaches needs ``None``."""
        needed, bits = self.needed, self.bits_to_give
        told = None
        if needed is not None:
            is_reached = needed.at_most < inf
            told = {
                "correct": 1 - needed.distortion,
                "at_least": needed.at_least if is_reached else None,
                "at_most": needed.at_most if is_reached else None,
                "bits_to_give": bits if is_reached else None,
                "most": 1 - needed.best,
            }
        return asdict(self) | {"needed": told}


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """What one request of one party would get.

    Attributes:
        party: a name that no party has yet.
        request: what it asks for.
        blind: share that a blind guess gets right.
        correct: share of right answers, in the order of the plan.
        lowest, highest: the same, over all orders that were tried.
        analysable: the same in the order of the plan, if every answer depends on nothing but what
            is asked; ``None`` where one is about an external column, or where time ran out.
        alone: the same, with all of the party's bits for this request, and no other limit.
        bits: what the party holds after it.
    """

    party: str
    request: str
    blind: float
    correct: float
    lowest: float
    highest: float
    analysable: float | None
    alone: float
    bits: float


@dataclass(frozen=True, slots=True)
class LimitPlan:
    """What limits would buy.

    Attributes:
        curves: one for each request.
        answers: what each party would get, in the order in which they ask; empty without parties.
        limit: of each party, in bits; ``None`` without parties.
        times: of each party; ``None`` without such a limit.
        is_equal_share: whether that is an equal share of the limits on coalitions.
        limits: on coalitions.
        orders: how many orders were tried; in each, everybody asks later by as many places.
        cohort: whom it is about; ``None`` where there is one cohort.
        others: the same for the other cohorts; in all, the one where answers are worth least is
            first.
    """

    curves: tuple[PlannedCurve, ...]
    answers: tuple[PlannedAnswer, ...]
    limit: float | None
    times: float | None
    is_equal_share: bool
    limits: tuple[Limit, ...]
    orders: int
    cohort: int | None = None
    others: tuple[LimitPlan, ...] = ()

    @property
    def spread(self) -> float:
        """By how much the share of right answers differs between orders, at most."""
        return max((each.highest - each.lowest for each in self.answers), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "curves": [curve.as_dict() for curve in self.curves],
            "answers": [asdict(answer) for answer in self.answers],
            "limit": self.limit,
            "times": self.times,
            "is_equal_share": self.is_equal_share,
            "limits": [limit.as_dict() for limit in self.limits],
            "orders": self.orders,
            "spread": self.spread,
            "cohort": self.cohort,
            "others": [other.as_dict() for other in self.others],
        }

    def worth_at(self, bits: float) -> float:
        """How much better than blind guesses answers are, or minus the bits that are needed.

        Without parties, and without a share that is asked for, answers for these bits. What all
        records have alike is known without any, and does not count.
        """
        needed = [each.needed.at_most for each in self.curves if each.needed is not None]
        if needed and not self.answers:
            return -max(needed)
        got = [(each.correct, each.blind) for each in self.answers]
        got = got or [(each.at(bits), each.blind) for each in self.curves]
        gains = [correct - blind for correct, blind in got if blind < 1]
        return float(np.mean(gains)) if gains else inf


@dataclass(frozen=True, slots=True)
class LimitMeaning:
    """What a limit means for one private attribute.

    Attributes:
        attribute: its name.
        blind: share that a blind guess gets right.
        most: largest share that can be told right within the limit.
        cohort: where that is; ``None`` where there is one cohort.
        disclosed: the level that few records have and that answers within the limit can give away
            most completely, in any cohort; ``None`` where they can give none away.
    """

    attribute: str
    blind: float
    most: float
    cohort: int | None = None
    disclosed: Disclosure | None = None

    @property
    def growth(self) -> float:
        """By how much the share grows."""
        return self.most - self.blind


def explain_limit(books: Books, bits: float, times: float) -> list[LimitMeaning]:
    """What a limit means for each private attribute, the largest growth first.

    Of several cohorts, in the one where it grows most.
    """
    by_cohort = (_explain_in_cohort(each, bits, times) for each in books.with_records)
    worst = []
    for each in zip(*by_cohort, strict=True):
        disclosed = most_complete_first(one.disclosed for one in each if one.disclosed is not None)
        most = max(each, key=lambda one: one.growth)
        worst.append(replace(most, disclosed=disclosed[0] if disclosed else None))
    return sorted(worst, key=lambda each: -each.growth)


def _explain_in_cohort(books: Books, bits: float, times: float) -> Iterator[LimitMeaning]:
    caps = {} if times == inf else {(): cap_of(times)}
    for attribute, p_r in zip(books.created.attributes, _laws_of_attributes(books), strict=True):
        blind = float(p_r.max())
        most = _most_correct(Problem(np.diag(p_r[p_r > 0]), caps=caps), blind, bits)
        levels = zip(attribute.labels, p_r, strict=True)
        found = most_complete_first(
            _disclosable(books, attribute.name, label, float(p), bits, cap_of(times))
            for label, p in levels
            if is_rare(p)
        )
        disclosed = found[0] if found and found[0].people >= LEAST_PEOPLE else None
        yield LimitMeaning(attribute.name, blind, most, books.cohort_shown, disclosed)


def _disclosable(
    books: Books, column: str, level: str, p: float, bits: float, cap: float
) -> Disclosure:
    """How completely answers within a limit can give a level away."""
    of, (share, sure) = round(p * books.cohort.record.records), most_named(p, bits, cap)
    return Disclosure(column, level, share * of, of, sure, (), books.cohort_shown)


def _laws_of_attributes(books: Books) -> list[Array]:
    """p(level) of each private attribute."""
    table = books.p_x.reshape([len(each.labels) for each in books.created.attributes])
    axes = range(table.ndim)
    return [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]


def _most_correct(problem: Problem, blind: float, bits: float) -> float:
    if len(problem.joint) > _WIDE:
        return guess_bound(blind, bits)
    return _points(problem, [bits])[0].most


def missing_times(books: Books, party: str) -> list[Remark]:
    """A limit in times for a party without one, under which no answer gives away who has a rare
    level.

    No remark where its bits, or a limit around it, rule that out. Of several cohorts, the least.
    """
    found = [suggest_times(each, party) for each in books.with_records]
    suggested = [times for times in found if times is not None]
    if not suggested:
        return []
    times, bound = min(suggested), books.least_on(party)
    lost = max(_lost_correct(each, bound.bits, times) for each in books.with_records)
    told = {"party": party, "times": times, "lost": lost}
    if bound.times < inf:
        whom = whom_in_words(binding(books.limits, frozenset({party}), "times"))
        told |= {"around": bound.times, "limited_by": whom}
    return [Remark("no_cap", told)]


def suggest_times(books: Books, party: str) -> float | None:
    """The most times, in tenths, within which no level that few records have is disclosed.

    The most common of these levels decides. ``None`` where the party has such a limit of its own or
    was told more already, or where a smaller one on a coalition around it forbids as much.
    """
    shares = [
        float(p)
        for p_r in (*_laws_of_attributes(books), *_laws_of_externals(books))
        for p in p_r[is_rare(p_r)]
        if p > 0
    ]
    if books.own_limit(party).times is not None or not shares:
        return None
    times = (ceil(10 * SURE / max(shares) - 1e-9) - 1) / 10
    told = books.proved_account.worst_answer(frozenset({party}))
    return None if cap_of(times) < told or books.least_on(party).times <= times else times


def _laws_of_externals(books: Books) -> list[Array]:
    """p(level) of each external column whose level some cell tells."""
    rows = [each.p_r_given_x for each in books.externals.values()]
    return [np.where(each.max(axis=0) >= SURE, books.p_x @ each, 0.0) for each in rows]


def _lost_correct(books: Books, bits: float, times: float) -> float:
    """Share of right answers about an attribute that times cost beside a limit in bits, at most."""
    lost = [0.0]
    for p_r in _laws_of_attributes(books):
        if np.count_nonzero(p_r) <= _WIDE:
            problem = Problem(np.diag(p_r[p_r > 0]), individual=bits)
            capped = solve(replace(problem, caps={(): cap_of(times)})).value
            lost.append(capped - solve(problem).value)
    return max(lost)


def _problem(books: Books, question: Question) -> Problem:
    """The release problem of a party that holds nothing, on the classes of a question.

    Earlier releases play no part: they tell nothing about the answer beyond the record, and
    without limits on coalitions no release is better for reading them ([M] fact 9).
    """
    rows, p_x = question.p_r_given_x, books.p_x
    classes = refine_classes(np.zeros(len(p_x), dtype=np.intp), rows, p_x)
    return Problem(class_sums(classes, p_x)[:, None] * class_rows(classes, rows))


def _points(problem: Problem, grid: Sequence[float] | Array) -> list[PlannedPoint]:
    surface = trace_surface(problem, individual=grid, collusion=[inf])
    found = [surface.solution(i, 0) for i in range(len(surface.individual))]
    return [
        PlannedPoint(float(bits), 1 - each.value, min(1.0, 1 - (each.bound or 0.0)))
        for bits, each in zip(surface.individual, found, strict=True)
    ]


def plan_curve(
    books: Books, question: Question, correct: float | None, times: float
) -> PlannedCurve:
    """What bits buy for a question; and the bits for a share of right answers."""
    problem = _problem(books, question)
    all_bits = solve(problem).leakage[()]
    grid = np.unique(np.maximum(np.round(np.array(_CURVE) * all_bits, 4), 1e-4))
    points = _points(problem, grid)
    allowed = problem if times == inf else replace(problem, caps={(): cap_of(times)})
    if times < inf:
        points = [
            replace(point, capped=other.correct)
            for point, other in zip(points, _points(allowed, grid), strict=True)
        ]
    return PlannedCurve(
        request=question.name,
        blind=float(problem.p_r.max()),
        points=tuple(points),
        needed=None if correct is None else find_bits(allowed, 1 - correct),
    )


def make_plans(
    views: Sequence[Books],
    read: Callable[[Books], Sequence[Question]],
    *,
    correct: float | None,
    parties: int,
    limit: float | None,
    times: float | None,
    limits: tuple[Limit, ...],
) -> LimitPlan:
    """What limits would buy in each cohort; of the one where answers are worth least, first.

    Args:
        views: the books for each cohort.
        read: what will be asked for, as a cohort's books understand it.
        correct, parties, limit, times, limits: as for ``make_plan``.
    """
    plans = [
        replace(
            make_plan(
                each,
                read(each),
                correct=correct,
                parties=parties,
                limit=limit,
                times=times,
                limits=limits,
                work=_ORDER_WORK / len(views),
            ),
            cohort=each.cohort_shown,
        )
        for each in views
    ]
    bits = min(curve.points[len(curve.points) // 2].bits for each in plans for curve in each.curves)
    worst, *others = sorted(plans, key=lambda each: each.worth_at(bits))
    return replace(worst, others=tuple(others))


def make_plan(
    books: Books,
    questions: Sequence[Question],
    *,
    correct: float | None,
    parties: int,
    limit: float | None,
    times: float | None,
    limits: tuple[Limit, ...],
    work: float = _ORDER_WORK,
) -> LimitPlan:
    """What limits would buy, request by request; and what each of some new parties would get.

    Args:
        books: of the study, for one cohort.
        questions: what will be asked for; new parties take them in turn.
        correct: share of right answers to find the bits for.
        parties: how many new parties ask.
        limit: of each of them; by default an equal share of the limits on coalitions.
        times: the same; a smaller one on coalitions counts.
        limits: in force.
        work: operations after which no more orders are tried.
    """
    _check(questions, correct, parties, limit, times)
    around = least(limits, frozenset(_newcomers(books, 1))).times  # whatever it says of its own
    most = min(inf if times is None else times, around)
    shown = None if most == inf else most
    shared = tuple(each for each in limits if each.whom.party is None)
    curves = tuple(plan_curve(books, question, correct, most) for question in questions)
    if not parties:
        return LimitPlan(curves, (), None, shown, is_equal_share=False, limits=shared, orders=0)
    names = _newcomers(books, parties)
    own = _equal_share(limits, names) if limit is None else limit
    planned = books.with_limits(limits)
    turns = [
        (names[turn % parties], questions[turn % len(questions)])
        for turn in range(max(parties, len(questions)))
    ]
    until, cap = work_done() + work, None if most == inf else cap_of(most)
    tried = _try_orders(planned, turns, own, cap, until)
    analysable = _rehearse_analysable(planned, turns, own, cap, until)
    answers = tuple(
        _answer(planned, turn, own, [order[place] for order in tried], analysable.get(place))
        for place, turn in enumerate(turns)
    )
    return LimitPlan(curves, answers, own, shown, limit is None, shared, len(tried))


def _newcomers(books: Books, parties: int) -> list[str]:
    """Names that no party has yet."""
    names = (f"party-{n}" for n in count(1))
    return [*islice((name for name in names if name not in books.titles), parties)]


def _check(
    questions: Sequence[Question],
    correct: float | None,
    parties: int,
    limit: float | None,
    times: float | None,
) -> None:
    if not questions:
        raise InvalidInputError("nothing is asked for: name at least one column")
    if correct is not None and not 0 < correct <= 1:
        raise InvalidInputError(
            f"the share of right answers is {correct:g}: give more than 0 and at most 1"
        )
    if not 0 <= parties <= _MOST_PARTIES:
        raise InvalidInputError(f"parties are {parties}: give 1 to {_MOST_PARTIES}")
    if limit is not None:
        as_positive_bits(limit, name="the limit of each party")
    if times is not None:
        as_times(times, name="the limit of each party")


def _equal_share(limits: Sequence[Limit], names: Sequence[str]) -> float:
    """The largest own limit at which each party is sure to get what it would get alone.

    Releases that do not read each other tell a coalition at most the sum of what each one tells.
    """
    named = bounds(limits, frozenset(names))
    share = min((each.bits / len(who) for who, each in named.items()), default=inf)
    if share == inf:
        raise InvalidInputError("there are no limits on coalitions: give a limit for each party")
    return share


def _try_orders(
    books: Books,
    turns: Sequence[tuple[str, Question]],
    own: float,
    cap: float | None,
    until: float,
) -> list[dict[int, tuple[float, float]]]:
    """Place in the plan -> share of right answers and bits held, for each order that is tried."""
    tried: list[dict[int, tuple[float, float]]] = []
    n = len(turns)
    for shift in dict.fromkeys(int(n * k / _ORDERS) for k in range(_ORDERS)):
        if tried and work_done() > until:
            break
        tried.append(_rehearse(books, turns, [(k + shift) % n for k in range(n)], own, cap))
    return tried


def _rehearse_analysable(
    books: Books,
    turns: Sequence[tuple[str, Question]],
    own: float,
    cap: float | None,
    until: float,
) -> dict[int, float]:
    """Place in the plan -> share of right answers, if all of them are analysable; or nothing."""
    is_external = any(question.external is not None for _, question in turns)
    if is_external or work_done() > until:
        return {}
    got = _rehearse(books, turns, range(len(turns)), own, cap, analysable=True)
    return {place: correct for place, (correct, _) in got.items()}


def _rehearse(
    books: Books,
    turns: Sequence[tuple[str, Question]],
    order: Sequence[int],
    own: float,
    cap: float | None,
    *,
    analysable: bool = False,
) -> dict[int, tuple[float, float]]:
    """Design one release after another; a party that asks often spends evenly."""
    scheme = books.scheme(books.proved_account)
    visits = Counter(party for party, _ in turns)
    visited: Counter[str] = Counter()
    got = {}
    for place in order:
        party, question = turns[place]
        visited[party] += 1
        ceiling = own * visited[party] / visits[party]
        rows = question.p_r_given_x
        guess = float((scheme.p_x @ rows).max())
        try:
            design = scheme.design(
                rows, party=party, individual=ceiling, cap=cap, analysable=analysable
            )
            correct = max(1 - scheme.make(design).value, guess)
        except InfeasibleError:  # a coalition is full
            correct = guess
        got[place] = correct, scheme.leakage([party]) if party in scheme.parties else 0.0
    return got


def _answer(
    books: Books,
    turn: tuple[str, Question],
    own: float,
    got: Sequence[tuple[float, float]],
    analysable: float | None,
) -> PlannedAnswer:
    party, question = turn
    problem = _problem(books, question)
    shares = [correct for correct, _ in got]
    return PlannedAnswer(
        party=party,
        request=question.name,
        blind=float(problem.p_r.max()),
        correct=shares[0],
        lowest=min(shares),
        highest=max(shares),
        analysable=analysable,
        alone=_points(problem, [own])[0].correct,
        bits=got[0][1],
    )
