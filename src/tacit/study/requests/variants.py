"""Releases of other forms beside a quoted one: analysable, adaptive, and fair to every level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isinf
from typing import Any

from tacit.arrays import Array
from tacit.errors import TacitError
from tacit.problem import WORST_LEVEL
from tacit.remark import Remark
from tacit.solvers import work_done
from tacit.study.books.books import Books, Information, Shares
from tacit.study.requests.draft import Draft, draft


@dataclass(frozen=True, slots=True)
class Variant:
    """The best release of one form: analysable, or adapted to what was released before.

    Attributes:
        analysable: whether its answers depend on nothing but what is asked.
        is_asked: whether this form is asked for.
        value: mean cost of the answers, that of the worst level, or what shares are judged by.
        bits: what the party would learn.
        everyone_bits: what it would add for everyone together, at most.
        half_width: of the 95 % interval for a level's share among all records, for the level
            where it is widest; ``None`` where not every share can be estimated.
    """

    analysable: bool
    is_asked: bool
    value: float
    bits: float
    everyone_bits: float
    half_width: float | None


def design_variants(books: Books, drafted: Draft, until: float) -> Iterator[Variant]:
    """The best release of all and the best analysable one; fewer after too much work.

    Shares are estimated from analysable releases only.
    """
    request = drafted.request
    if isinstance(request.utility, Information) or request.question.external is not None:
        return
    for analysable in (True,) if isinstance(request.utility, Shares) else (False, True):
        is_asked = analysable == request.analysable
        # The first release can read nothing but what is asked.
        is_same = is_asked or not books.intents
        if not is_same and work_done() > until:
            continue
        try:
            other = drafted if is_same else draft(books, replace(request, analysable=analysable))
        except TacitError:  # no such answer
            continue
        own = frozenset({request.party})
        yield Variant(
            analysable,
            is_asked,
            other.value,
            max(0.0, other.after.upper_bits(own) - other.before.upper_bits(own)),
            max(0.0, other.after.everyone_bits - other.before.everyone_bits),
            _half_width(other.law, int(books.counts.sum())),
        )


def _half_width(law: Array, n_records: int) -> float | None:
    """Of the widest 95 % interval for a share among records, from p(r, letter)."""
    widest = float(Shares().half_widths(law, n_records).max())
    return None if isinf(widest) else widest


def price_of_levels(
    books: Books, drafted: Draft, never: list[str], until: float
) -> tuple[Remark, ...]:
    """A warning of levels that are never the answer, with the price of including them.

    Args:
        books: of the study.
        drafted: what would be released.
        never: the levels.
        until: when nothing more is designed, by ``work_done``; then no price is named.
    """
    measure = drafted.request.measure
    if not never or measure.objective == WORST_LEVEL:
        return ()
    values: dict[str, Any] = {"levels": never, "value": drafted.value}
    if (work := until - work_done()) > 0:
        worst = measure.model_copy(update={"objective": WORST_LEVEL})
        with suppress(TacitError):
            other = draft(books, replace(drafted.request, measure=worst), work=work)
            mean = float((other.law.T * other.request.distortion).sum())
            if not other.is_out_of_time:
                values |= {"worst_level": other.value, "mean": mean}
    return (Remark("level_never_released", values),)
