"""A quote: what a request would cost and be worth. It spends nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import floor, isinf
from typing import Any

import numpy as np

from tacit.accounting import Account, other_rows_upper_bits
from tacit.arrays import Array
from tacit.auditing import Disclosure
from tacit.errors import TacitError
from tacit.information.laws import bits_down, bits_up, limit_in_words
from tacit.limits import Parties, binding, coalition_name, replaced, whom_in_words
from tacit.markup import html_table
from tacit.remark import Remark
from tacit.sampling import IntegerChannel
from tacit.scheme.views import ClassOfX, class_sums, parent_classes
from tacit.solvers import A_SECOND, work_done
from tacit.study.books.books import Books, Intent, Request
from tacit.study.reports.receipts import (
    remarks_on,
    remarks_on_cut,
    remarks_on_source,
    remarks_on_time,
)
from tacit.study.reports.risk import Risk
from tacit.study.reports.status import Holding, loose_bounds, loose_caps, unfollowed
from tacit.study.requests.draft import Draft, draft
from tacit.study.requests.plan import suggest_times
from tacit.study.requests.refusals import tight_cap
from tacit.study.requests.risk import foresee_risks
from tacit.study.requests.variants import Variant, design_variants, price_of_levels

_CURVE = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Points of the trade-off curve, in parts of the bits asked for."""

_SPARSE_CURVE = (0.5, 1.0, 1.5)
"""The same where a design takes long: information and shares are not convex in the channel."""

CURVE_WORK = 3 * A_SECOND
"""So many operations after a quote was begun nothing more is designed to compare it with: of a wide
table each design takes long."""

COMPARE_WORK = 30 * A_SECOND
"""The same where a comparison was asked for."""

_CURVE_DIGITS = 6
"""Decimals of the bits at these points."""

_SAME_VALUE = 1e-6
"""More bits that change the worth of an answer by less than this, relative to the range of the
distortion, buy nothing."""

_SAME_BITS = 1e-4
"""A design stays a little below what it may use."""

MOST_COUNTED = 1000
"""As many more requests are counted; beyond, any number fits."""


@dataclass(frozen=True, slots=True)
class QuotedHolding(Holding):
    """What a coalition holds of its limit before and after the quoted release.

    ``letters``, ``slack``, ``worst_answer`` and its slack are those after it.

    Attributes:
        after: what it would hold after the quoted release, at most.
    """

    after: float

    @property
    def added(self) -> float:
        """What the release would add."""
        return max(0.0, self.after - self.held)

    @property
    def left(self) -> float:
        """What would be left."""
        return max(0.0, self.limit - self.after)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return Holding.as_dict(self) | {"added": self.added}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of the trade-off: so many bits to the party buy such answers.

    Attributes:
        bits: to ask for.
        value: mean cost of the answers, or bits about R.
        is_asked: whether this is what was asked for.
        others: the same of other releases with as many bits, where they were compared:
            ``analysable`` or ``adaptive``, the form that was not asked for; ``capped``, with the
            cap that is suggested to a party without one; ``uncapped``, without the party's own.
    """

    bits: float
    value: float
    is_asked: bool
    others: dict[str, float]


@dataclass(frozen=True, slots=True)
class QuotedLevel:
    """How well one level of what is asked would be told.

    Attributes:
        level: its label.
        records: that have it.
        error: mean cost of the answers where it is true.
        is_released: whether it would ever be the answer; ``None`` where answers are no levels.
    """

    level: str
    records: int
    error: float
    is_released: bool | None


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """What a request would cost and be worth.

    Attributes:
        party: who asks.
        request: what for.
        measure: how answers are judged.
        objective: ``"mean"``, or ``"worst-level"``.
        ceilings: level -> the largest mean cost that is allowed there.
        analysable: whether the answers are to depend on nothing but what is asked.
        cohort: whom the quote is about: of those that lack an answer, the one where it would be
            worth least; ``None`` where there is only one.
        value: mean cost of the answers, that of the worst level, bits about R, or n times the
            largest variance of an estimated share among n records.
        blind: the same for a blind guess; ``None`` for shares.
        bound: no release within these limits does better.
        levels: every level that records have; none where answers are not judged by a cost.
        variants: the best analysable release and the best one of all, side by side; none for
            external columns, for information, and for a request that was answered before; only
            the analysable one for shares.
        own: the party's bits.
        worst: the coalition that would be nearest to its limit.
        coalitions: all that the release feeds.
        about_more: about how many such requests would still fit after it; ``None`` where a cap is
            reached, so that bits do not say it.
        curve: bits to the party against value, around the asked point.
        compared_times: the party's own limit in times, or the one suggested to it, where the
            curve compares with and without it.
        answered_by: number of the release that answered this very request before, which asking
            again delivers once more, at no cost; ``None`` for a new one.
        others_bits: what everybody else's rows add at most, to any coalition that knows every
            count of the table; limits are on what a person's own rows tell.
        risks: what the party could tell about a record after it, and the coalition that would be
            nearest to its limit; none for a request that was answered before, whose receipt has
            them.
        disclosures: levels that few records have and that it would give away, to the party or to a
            coalition that it feeds, and that they cannot tell already; most complete first.
        remarks: what whoever gets the answer should know.
    """

    party: str
    request: str
    measure: str
    objective: str
    ceilings: dict[str, float]
    analysable: bool
    cohort: int | None
    value: float
    blind: float | None
    bound: float | None
    levels: tuple[QuotedLevel, ...]
    variants: tuple[Variant, ...]
    own: QuotedHolding
    worst: QuotedHolding
    coalitions: tuple[QuotedHolding, ...]
    about_more: int | None
    curve: tuple[CurvePoint, ...]
    compared_times: float | None
    answered_by: int | None
    others_bits: float
    risks: tuple[Risk, ...]
    disclosures: tuple[Disclosure, ...]
    remarks: tuple[Remark, ...]

    def __repr__(self) -> str:
        """Who asks for what, what it would be worth, and what it would cost."""
        blind = "" if self.blind is None else f", blind {self.blind:.4g}"
        return (
            f"Quote({self.request} for {self.party}: {self.measure} {self.value:.4g}{blind}; "
            f"{self.party} would learn {bits_up(self.own.added)} bits)"
        )

    def _repr_html_(self) -> str:
        """What every coalition would hold of its limit, as a table for notebooks."""
        head = ("bits about one record", "held", "this", "limit", "left")
        rows = [
            (
                share.name,
                bits_up(share.held),
                f"+{bits_up(share.added)}",
                limit_in_words(share.limit),
                bits_down(share.left),
            )
            for share in self.coalitions
        ]
        return html_table(repr(self), head, rows)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        parts = {
            "own": self.own.as_dict(),
            "worst": self.worst.as_dict(),
            "coalitions": [share.as_dict() for share in self.coalitions],
            "risks": [risk.as_dict() for risk in self.risks],
            "disclosures": [each.as_dict() for each in self.disclosures],
            "remarks": [each.as_dict() for each in self.remarks],
        }
        return asdict(self) | parts


def quote_draft(
    books: Books,
    drafted: Draft,
    disclosed: tuple[Disclosure, ...],
    until: float,
    *,
    compare: bool,
) -> Quote:
    """The quote of a draft.

    Args:
        books: of the study.
        drafted: what would be released.
        disclosed: what that would disclose, in all cohorts that are asked about.
        until: when nothing more is designed to compare it with, by ``work_done``.
        compare: whether the curve shows other releases, too.
    """
    request, bound = drafted.request, drafted.bound
    shares = _shares(books, request.party, drafted.limits, drafted.before, drafted.after)
    own = next(share for share in shares if share.parties == (request.party,))
    levels, reached = _levels(books, request, drafted.law), _reached_cap(books, drafted)
    variants = tuple(design_variants(books, drafted, until))
    never = [each.level for each in levels if each.is_released is False]
    priced = price_of_levels(books, drafted, never, until)  # before its curve, if time is short
    curve = tuple(_curve(books, drafted, own, until))
    new = [drafted.channel] if drafted.source is None else []
    own_times = books.own_limit(request.party).times
    times = (own_times or suggest_times(books, request.party)) if compare else None
    if compare:
        others = _other_releases(books, request, times)
        curve = tuple(_compare(point, others, until) for point in curve)
    return Quote(
        **_asked(books, request),
        value=drafted.value,
        blind=drafted.blind,
        bound=bound,
        levels=levels,
        variants=variants,
        own=own,
        worst=_worst(shares),
        coalitions=shares,
        about_more=None if reached else min(map(_fits, shares)),
        curve=curve,
        compared_times=times,
        answered_by=None,
        others_bits=_others_bits(books, drafted.design.class_of_x, *new),
        risks=foresee_risks(books, drafted),
        disclosures=disclosed,
        remarks=(
            *unfollowed(books, shares),
            *remarks_on(request.question.external),
            *remarks_on_source(drafted.source),
            *remarks_on_cut(request.party, drafted.holdings, drafted.value, drafted.blind),
            *priced,
            *loose_bounds(shares),
            *loose_caps(shares),
            *reached,
            *remarks_on_time(drafted.is_out_of_time, drafted.value, bound),
        ),
    )


def quote_recorded(books: Books, intent: Intent) -> Quote:
    """The quote of a request that was answered before."""
    record, request = intent.record, intent.request
    p_r = books.p_x @ request.question.p_r_given_x
    coalitions = books.bounds_on(request.party)
    shares = _shares(books, request.party, coalitions, books.proved_account, books.proved_account)
    return Quote(
        **_asked(books, request),
        value=record.value,
        blind=record.blind,
        bound=record.bound,
        levels=_levels(books, request, p_r[:, None] * np.array(record.p_rhat_given_r)),
        variants=(),
        own=next(share for share in shares if share.parties == (request.party,)),
        worst=_worst(shares),
        coalitions=shares,
        about_more=MOST_COUNTED,
        curve=(),
        compared_times=None,
        answered_by=intent.entry.number,
        others_bits=_others_bits(books, books.class_of_x),
        risks=(),
        disclosures=(),
        remarks=(
            *remarks_on(request.question.external),
            *remarks_on_source(intent.source),
            *loose_bounds(shares),
            *loose_caps(shares),
            *remarks_on_time(record.is_out_of_time, record.value, record.bound),
        ),
    )


def _asked(books: Books, request: Request) -> dict[str, Any]:
    """What a quote says of the request itself."""
    return {
        "party": request.party,
        "request": request.question.name,
        "measure": request.measure.kind,
        "objective": request.measure.objective,
        "ceilings": request.measure.ceilings,
        "analysable": request.analysable,
        "cohort": books.cohort_shown,
    }


def _levels(books: Books, request: Request, law: Array) -> tuple[QuotedLevel, ...]:
    """Every level that records have, from p(r, letter); none where answers only inform."""
    labels, errors = request.question.labels, request.level_errors(law)
    records = np.rint(books.counts @ request.question.p_r_given_x).astype(int)
    is_named = request.names_of_answers(law.shape[1]) == labels
    return tuple(
        QuotedLevel(
            level, int(records[r]), errors[level], bool(law[:, r].any()) if is_named else None
        )
        for r, level in enumerate(labels)
        if level in errors
    )


def _others_bits(books: Books, class_of_x: ClassOfX, *more: IntegerChannel) -> float:
    """After all releases, and more on these classes, which refine those of all before."""
    counts = class_sums(class_of_x, books.counts.astype(float)).astype(np.int64)
    tables = [
        intent.channel.weights[:, parent_classes(intent.class_of_x, class_of_x)]
        for intent in books.cohort.drawn
    ]
    return other_rows_upper_bits(counts, [*tables, *(channel.weights for channel in more)])


def _shares(
    books: Books, party: str, coalitions: Iterable[Parties], before: Account, after: Account
) -> tuple[QuotedHolding, ...]:
    """What the limited coalitions hold; the party's standing limit is shown, not what it asks."""
    holdings = after.holdings(sorted(coalitions, key=_by_size))
    return tuple(
        QuotedHolding(
            tuple(sorted(coalition)),
            coalition_name(coalition, books.holders | {party}),
            books.least_on(*coalition).bits,
            whom_in_words(binding(books.limits, coalition)),
            before.upper_bits(coalition),
            held.is_covered and coalition != books.holders | {party},
            held.letters,
            held.slack,
            held.worst_answer,
            held.worst_answer_slack,
            books.least_on(*coalition).times,
            books.cohort.number,
            held.bits,
        )
        for coalition, held in holdings.items()
    )


def _reached_cap(books: Books, drafted: Draft) -> list[Remark]:
    """A remark on a cap that holds the answer back although bits are left."""
    coalition = tight_cap(drafted)
    if coalition is None:
        return []
    name = coalition_name(coalition, books.holders | coalition)
    whom = whom_in_words(binding(books.limits, coalition, "times"))
    told = {"coalition": name, "times": books.least_on(*coalition).times, "limited_by": whom}
    return [Remark("cap_reached", told)]


def _by_size(coalition: Parties) -> tuple[int, list[str]]:
    """The party first, then pairs, then larger coalitions."""
    return len(coalition), sorted(coalition)


def _worst(shares: tuple[QuotedHolding, ...]) -> QuotedHolding:
    return min(shares, key=lambda share: (share.left, len(share.parties)))


def _fits(share: QuotedHolding) -> int:
    """How often what this release adds fits into what it leaves."""
    if share.added < 1e-9:
        return MOST_COUNTED
    return floor(min(MOST_COUNTED, share.left / share.added))


def _curve(books: Books, drafted: Draft, own: QuotedHolding, until: float) -> list[CurvePoint]:
    """Answers for fewer and for more bits than asked, as long as more bits buy more."""
    points: list[CurvePoint] = []
    asked, left = _asked_bits(drafted, own), own.limit - own.held
    same = _SAME_VALUE * drafted.design.solution.problem.scale
    for part in _SPARSE_CURVE if drafted.request.mean_cost is None else _CURVE:
        bits = float(bits_down(round(part * asked, 12), _CURVE_DIGITS))  # so that pasting it works
        if not 0 < bits <= left or (part != 1 and work_done() > until):
            continue
        try:
            other = (
                drafted
                if part == 1
                else draft(books, replace(drafted.request, bits=bits), work=until - work_done())
            )
        except TacitError:  # no such answer: the curve has a point less
            continue
        is_early = other.is_out_of_time and part != 1  # others had more time
        if isinf(other.value) or is_early:
            continue
        if part > 1 and points and abs(other.value - points[-1].value) < same:
            break
        points.append(CurvePoint(bits, other.value, is_asked=part == 1, others={}))
    return points


def _other_releases(
    books: Books, request: Request, times: float | None
) -> dict[str, tuple[Books, Request]]:
    """Name -> the books and the request of a release to compare with."""
    others = {}
    if request.mean_cost is not None and request.question.external is None:
        form = "adaptive" if request.analysable else "analysable"
        others[form] = books, replace(request, analysable=not request.analysable)
    if times is not None:
        own = books.own_limit(request.party)
        other = replace(own, times=times if own.times is None else None)
        changed = books.with_limits(replaced(books.limits, other))
        others["capped" if own.times is None else "uncapped"] = changed, request
    return others


def _compare(
    point: CurvePoint, others: dict[str, tuple[Books, Request]], until: float
) -> CurvePoint:
    """A point with what other releases would be worth; fewer where there is no time."""
    values: dict[str, float] = {}
    for name, (books, request) in others.items():
        if work_done() > until:
            continue
        with suppress(TacitError):  # no such answer
            other = draft(books, replace(request, bits=point.bits), work=until - work_done())
            values |= {} if other.is_out_of_time else {name: other.value}
    return replace(point, others=values)


def _asked_bits(drafted: Draft, own: QuotedHolding) -> float:
    """What was asked for, or what the best answer needs where that is less."""
    wanted = drafted.request.bits
    asked = own.limit - own.held if wanted is None else wanted
    return asked if asked - own.added < _SAME_BITS else own.added
