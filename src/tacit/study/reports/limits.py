"""Every standing limit of a study, also on coalitions that hold nothing yet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from tacit.accounting import percent_used
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
    """

    kind: str
    limited_by: str
    bits: float
    cap: float
    nearest: tuple[str, ...]
    held: float

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

    def held(coalition: Parties) -> float:
        return books.holding(coalition).bits if coalition else 0.0

    found = [
        StandingLimit(
            "own" if limit.own_party else limit.kind,
            limit.rename(books.shown_name).in_words,
            limit.bits,
            limit.cap,
            tuple(sorted(map(books.shown_name, coalition))),
            held(coalition),
        )
        for limit, coalition in books.all_limits.worst_holders(books.holders, held)
    ]
    return tuple(sorted(found, key=lambda each: each.kind != "own"))
