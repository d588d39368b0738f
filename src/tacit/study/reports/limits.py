"""Every standing limit of a study, also on coalitions that hold nothing yet."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from tacit.information.laws import percent_used
from tacit.policy import Parties
from tacit.study.books.books import Books


@dataclass(frozen=True, slots=True)
class StandingLimit:
    """A limit, and what the coalition under it holds that holds most.

    Attributes:
        kind: of the limit, as in the ledger; ``"own"`` for a party's own limit.
        limited_by: on whom it is set.
        bits: that each coalition under it may hold about one record; infinite for a cap only.
        cap: bits that the worst single answer of each may have; infinite for none.
        nearest: the parties that hold most under it; empty where nobody holds anything.
        held: what these hold, at most.
        cohort: where that is so: the one where they hold most.
        held_by_cohort: what those that hold most hold in each cohort.
    """

    kind: str
    limited_by: str
    bits: float
    cap: float
    nearest: tuple[str, ...]
    held: float
    cohort: int
    held_by_cohort: tuple[float, ...]

    @property
    def left(self) -> float:
        """What is left to them."""
        return max(0.0, self.bits - self.held)

    @property
    def percent(self) -> float:
        """Of the limit that is used, rounded as it is shown; at most 100."""
        return percent_used(self.held, self.bits)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        figures = {"bits": self.bits, "cap": self.cap, "left": self.left}
        finite = {name: None if each == inf else each for name, each in figures.items()}
        return asdict(self) | finite


def list_limits(books: Books) -> tuple[StandingLimit, ...]:
    """Every party's own limit, then those on sizes, on groups, of other kinds, on everyone."""
    by_limit: dict[tuple[str, str, float, float], dict[int, StandingLimit]] = {}
    for each in books.by_cohort:
        for limit in _limits_in(each):
            on = limit.kind, limit.limited_by, limit.bits, limit.cap
            by_limit.setdefault(on, {})[limit.cohort] = limit
    found = [_worst_of(cohorts, len(books.cohorts)) for cohorts in by_limit.values()]
    return tuple(sorted(found, key=lambda each: each.kind != "own"))


def _worst_of(cohorts: dict[int, StandingLimit], n_cohorts: int) -> StandingLimit:
    """A limit as it stands in the cohort where most is held of it."""
    held = {number: each.held for number, each in cohorts.items()}
    worst = max(cohorts.values(), key=lambda each: each.held)
    by_cohort = tuple(held.get(number, 0.0) for number in range(1, n_cohorts + 1))
    return replace(worst, held_by_cohort=by_cohort)


def _limits_in(books: Books) -> list[StandingLimit]:
    """Every limit as it stands in a cohort."""

    def held(coalition: Parties) -> float:
        return books.holding(coalition).bits if coalition else 0.0

    return [
        StandingLimit(
            "own" if limit.own_party else limit.kind,
            limit.rename(books.shown_name).in_words,
            limit.bits,
            limit.cap,
            tuple(sorted(map(books.shown_name, coalition))),
            held(coalition),
            books.cohort.number,
            (held(coalition),),
        )
        for limit, coalition in books.all_limits.worst_holders(books.holders, held)
    ]
