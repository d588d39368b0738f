"""The limits that a ledger's entries say, read without tacit.

A limit on some parties holds for every part of them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any, Literal

Coalition = frozenset[str]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """Who may learn how much about one record, in one kind of amount.

    Attributes:
        kind: of amount.
        by_whom: as an entry names them -> the amount.
    """

    kind: Literal["bits", "times"]
    by_whom: dict[str, float]

    @staticmethod
    def at_start(kind: Literal["bits", "times"], created: Body) -> Limits:
        """What the first entry says."""
        everyone = created["everyone"] if kind == "bits" else None
        return Limits(kind, {} if everyone is None else {"everyone": everyone})

    def after(self, body: Body) -> Limits:
        """After an entry ``limit``: in the place of the one on the same parties, or of none."""
        others = {whom: most for whom, most in self.by_whom.items() if whom != body["whom"]}
        amount = body[self.kind]
        return Limits(self.kind, others | ({} if amount is None else {body["whom"]: amount}))

    def on(self, coalition: Coalition) -> float:
        """The least limit on a coalition, or on one that contains it."""
        return min(
            (most for whom, most in self.by_whom.items() if _is_on(whom, coalition)), default=inf
        )

    def fed_by(self, party: str, holders: Coalition) -> dict[Coalition, float]:
        """The coalitions that a release to a party feeds, by what names them, with their limits."""
        present = holders | {party}
        limits: dict[Coalition, float] = {frozenset({party}): self.on(frozenset({party}))}
        for whom, most in self.by_whom.items():
            for coalition in _named(whom, present):
                if party in coalition:
                    limits[coalition] = min(most, limits.get(coalition, inf))
        return limits


def _is_on(whom: str, coalition: Coalition) -> bool:
    if whom == "everyone":
        return True
    if whom.startswith("any "):
        return len(coalition) <= int(whom[4:])
    return coalition <= set(whom.split("+"))


def _named(whom: str, present: Coalition) -> Iterator[Coalition]:
    """Every coalition of present parties that a limit names."""
    if whom == "everyone":
        yield present
    elif whom.startswith("any "):
        yield from map(frozenset, combinations(sorted(present), min(int(whom[4:]), len(present))))
    else:
        yield present & set(whom.split("+"))
