"""The limits that a ledger's entries say, read without tacit.

A limit on some parties holds for every part of them, too. A new kind of limit needs a line each in
``Limits.with_policy``, ``Limits.on`` and ``Limits.named``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import Any

Coalition = frozenset[str]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """Who may hold how many bits about one record.

    Attributes:
        own: party -> its own limit.
        everyone: on all parties together.
        sizes: how many parties -> limit on every coalition of so many.
        groups: parties -> limit on them together.
    """

    own: dict[str, float]
    everyone: float
    sizes: dict[int, float]
    groups: dict[Coalition, float]

    @staticmethod
    def at_start(created: Body) -> Limits:
        """What the first entry says."""
        return Limits({}, _bits(created["everyone"]), {}, {})

    def with_party(self, body: Body) -> Limits:
        """After an entry ``party``."""
        return replace(self, own=self.own | {body["party"]: body["limit"]})

    def without_party(self, body: Body) -> Limits:
        """After an entry ``removed``."""
        return replace(self, own={k: bits for k, bits in self.own.items() if k != body["party"]})

    def with_policy(self, body: Body) -> Limits:
        """After an entry ``policy``: in the place of those before. Groups let parties in."""
        sizes: dict[int, float] = {}
        for size, bits in body["sizes"]:
            sizes[size] = min(bits, sizes.get(size, inf))
        groups: dict[Coalition, float] = {}
        for parties, bits in body["groups"]:
            groups[frozenset(parties)] = min(bits, groups.get(frozenset(parties), inf))
        let_in: dict[str, float] = {}
        for group, bits in groups.items():
            for party in group - set(self.own):
                let_in[party] = min(bits, let_in.get(party, inf))
        return Limits(self.own | let_in, _bits(body["everyone"]), sizes, groups)

    def with_party_cap(self, body: Body) -> Limits:
        """Caps after an entry ``party``: in the place of the one before, if any."""
        return replace(self, own=self.own | {body["party"]: _bits(body["cap"])})

    def with_policy_caps(self, body: Body) -> Limits:
        """Caps after an entry ``policy``: in the place of those before."""
        caps: dict[str, Any] = {"everyone": {}, "sizes": {}, "groups": {}}
        for kind, whom, bits in body["caps"]:
            caps[kind][frozenset(whom) if kind == "groups" else whom] = bits
        return Limits(self.own, caps["everyone"].get(None, inf), caps["sizes"], caps["groups"])

    def on(self, coalition: Coalition) -> float:
        """The least limit on a coalition, or on one that contains it."""
        found = [bits for group, bits in self.groups.items() if coalition <= group]
        found += [bits for size, bits in self.sizes.items() if len(coalition) <= size]
        if len(coalition) == 1:
            found += [self.own.get(party, inf) for party in coalition]
        return min([*found, self.everyone])

    def fed_by(self, party: str, holders: Coalition) -> dict[Coalition, float]:
        """The coalitions that a release to a party feeds, by what names them, with their limits."""
        present = holders | {party}
        limits: dict[Coalition, float] = {frozenset({party}): self.on(frozenset({party}))}
        for coalition, bits in self.named(present):
            if party in coalition and bits < inf:
                limits[coalition] = min(bits, limits.get(coalition, inf))
        return limits

    def named(self, present: Coalition) -> Iterator[tuple[Coalition, float]]:
        """Every coalition of present parties that a limit names."""
        for group, bits in self.groups.items():
            yield group & present, bits
        for size, bits in self.sizes.items():
            for chosen in combinations(sorted(present), min(size, len(present))):
                yield frozenset(chosen), bits
        yield present, self.everyone


def _bits(stored: float | None) -> float:
    return inf if stored is None else stored
