"""Every standing limit of a study, also on coalitions that hold nothing yet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from tacit.information.laws import percent_used
from tacit.limits import Limit, Parties, fullest
from tacit.study.books.books import Books
from tacit.study.books.records import FIRST_COHORT


@dataclass(frozen=True, slots=True)
class StandingLimit:
    """A limit, and what the coalition under it holds that holds most.

    Attributes:
        whom: on whom it is, as it is typed.
        limited_by: the same for people.
        title: what a single party is called; ``None`` for a coalition.
        bits: that each coalition under it may hold about one record; infinite for no limit.
        times: after any answer, no combination of levels may be more times as likely as before;
            infinite for no limit.
        nearest: the parties that hold most under it; empty where nobody holds anything.
        held: what these hold, at most.
        cohort: where that is so: the one where they hold most.
        held_by_cohort: what those that hold most hold in each cohort.
    """

    whom: str
    limited_by: str
    title: str | None
    bits: float
    times: float
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
        figures = {"bits": self.bits, "times": self.times, "left": self.left}
        finite = {name: None if each == inf else each for name, each in figures.items()}
        return asdict(self) | finite


def list_limits(books: Books) -> tuple[StandingLimit, ...]:
    """Every party's own limit, then those on any so many parties, on groups, on everyone."""
    listed = sorted(books.limits, key=lambda limit: limit.whom.party is None)
    return tuple(_standing(books, limit) for limit in listed)


def _standing(books: Books, limit: Limit) -> StandingLimit:
    """A limit as it stands in the cohort where most is held of it."""
    nearest, held = zip(*(_fullest(each, limit) for each in books.by_cohort), strict=True)
    worst = max(range(len(held)), key=held.__getitem__)
    return StandingLimit(
        str(limit.whom),
        limit.whom.in_words,
        None if limit.whom.party is None else books.titles[limit.whom.party],
        limit.amount("bits"),
        limit.amount("times"),
        tuple(sorted(nearest[worst])),
        held[worst],
        FIRST_COHORT + worst,
        held,
    )


def _fullest(books: Books, limit: Limit) -> tuple[Parties, float]:
    """The coalition under a limit that holds most in a cohort."""

    def held(coalition: Parties) -> float:
        return books.holding(coalition).bits if coalition else 0.0

    [(_, coalition)] = fullest([limit], books.holders, held)
    return coalition, held(coalition)
