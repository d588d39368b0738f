"""Who may pool what with whom: standing limits on coalitions of parties.

What a policy means is decided here: others ask it which coalitions are limited to what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan

from tacit.errors import InvalidInputError

Parties = frozenset[str]


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit as it was set: on named parties, on any so many, or else on everyone.

    Attributes:
        bits: about one record, that those whom it limits may hold together.
        group: the parties that it names; of a single party, its own limit.
        size: it limits any so many parties.
    """

    bits: float
    group: Parties | None = None
    size: int | None = None

    @property
    def in_words(self) -> str:
        """Whom it limits."""
        if self.group is not None:
            return " + ".join(sorted(self.group))
        match self.size:
            case None:
                return "everyone"
            case 1:
                return "any single party"
            case _:
                return f"any {self.size} parties"

    def holds_for(self, parties: Parties) -> bool:
        """Whether it is on these parties or on a coalition around them."""
        if self.group is not None:
            return parties <= self.group
        return self.size is None or len(parties) <= self.size

    def coalitions_with(self, party: str, others: Parties) -> Iterator[Parties]:
        """The largest coalitions of ``party`` and others that it limits."""
        own = frozenset({party})
        if self.group is not None:
            if party in self.group:
                yield (others & self.group) | own
        elif self.size is None:
            yield others | own
        else:
            n_others = min(self.size - 1, len(others))
            for chosen in combinations(sorted(others), n_others):
                yield own.union(chosen)

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        """The largest coalitions of ``holders`` that it limits."""
        if self.group is not None:
            yield holders & self.group
        elif self.size is None:
            yield holders
        else:
            size = min(self.size, len(holders))
            yield from map(frozenset, combinations(sorted(holders), size))


@dataclass(frozen=True, slots=True, init=False)
class Policy:
    """Limits in bits about one record on what coalitions may learn together.

    Attributes:
        everyone: limit on all parties together; ``None`` for none.
        sizes: number of parties -> bits for every coalition of so many, and so of fewer.
        groups: named coalitions -> bits; the smaller where one is named twice.
    """

    everyone: float | None
    sizes: Mapping[int, float]
    groups: Mapping[Collection[str], float]

    def __init__(
        self,
        everyone: float | None = None,
        any_size: int | None = None,
        bits: float | None = None,
        groups: Mapping[Collection[str], float] | None = None,
        *,
        sizes: Mapping[int, float] | None = None,
    ) -> None:
        """A policy; ``any_size`` and ``bits`` are one more size."""
        put = object.__setattr__
        if everyone is not None:
            _check_bits("everyone", everyone)
        put(self, "everyone", everyone)
        put(self, "sizes", _checked_sizes(sizes or {}, any_size, bits))
        put(self, "groups", _checked_groups(groups or {}))

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Every limit: on sizes, on groups, on everyone."""
        return (
            *(Limit(bits, size=size) for size, bits in self.sizes.items()),
            *(Limit(bits, group=frozenset(group)) for group, bits in self.groups.items()),
            *(() if self.everyone is None else (Limit(self.everyone),)),
        )

    @property
    def in_words(self) -> str:
        """Every limit for people, that on everyone first."""
        limits = sorted(self.limits, key=lambda limit: limit != Limit(limit.bits))
        return "; ".join(f"{limit.in_words}: {limit.bits:.12g} bits" for limit in limits) or "none"

    def with_own(self, own: Mapping[str, float]) -> Policy:
        """The same limits, and each party's own beside them, as on a group of one."""
        groups = dict(self.groups)
        for party, bits in own.items():
            groups[(party,)] = min(bits, groups.get((party,), inf))
        return Policy(self.everyone, groups=groups, sizes=self.sizes)

    def limits_on(self, party: str, others: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions that a release to ``party`` feeds.

        Args:
            party: who is about to receive.
            others: the parties that hold something already.
        """
        present = frozenset(others) - {party}
        return _least(
            (coalition, limit.bits)
            for limit in self.limits
            for coalition in limit.coalitions_with(party, present)
        )

    def limits_among(self, holders: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions of parties that hold something; nobody is no coalition."""
        present = frozenset(holders)
        return _least(
            (coalition, limit.bits)
            for limit in self.limits
            for coalition in limit.coalitions_among(present)
            if coalition
        )

    def binding_on(self, parties: Collection[str]) -> tuple[Limit, ...]:
        """The smallest limit on these parties or a coalition around them; all that are as small."""
        named = frozenset(parties)
        limits = [limit for limit in self.limits if limit.holds_for(named)]
        least = min((limit.bits for limit in limits), default=inf)
        return tuple(limit for limit in limits if limit.bits == least)

    def least_bits_on(self, parties: Collection[str]) -> float | None:
        """What these parties may hold together; ``None`` where nothing limits them."""
        return next((limit.bits for limit in self.binding_on(parties)), None)

    def concerns(self, coalition: Parties, present: Iterable[str]) -> bool:
        """Whether a limit is on this coalition, or may come to be on it and newcomers.

        Single parties always count: they may come back.

        Args:
            coalition: parties that hold something.
            present: all parties that do.
        """
        if len(coalition) <= max(self.sizes, default=1):
            return True
        everybody = frozenset(present)
        return any(coalition == everybody & frozenset(group) for group in self.groups)


def _least(limited: Iterable[tuple[Parties, float]]) -> dict[Parties, float]:
    limits: dict[Parties, float] = {}
    for coalition, bits in limited:
        limits[coalition] = min(bits, limits.get(coalition, inf))
    return limits


def _checked_sizes(
    sizes: Mapping[int, float], any_size: int | None, bits: float | None
) -> dict[int, float]:
    """Sizes -> bits, smallest size first; the smaller bits where a size is given twice."""
    if (any_size is None) != (bits is None):
        raise InvalidInputError(
            f"any_size={any_size} and bits={bits} go together: "
            "give the size of the coalitions and what each may learn"
        )
    given = [*sizes.items()]
    if any_size is not None and bits is not None:
        given.append((any_size, bits))
    checked: dict[int, float] = {}
    for size, limit in given:
        if size < 1 or size != size // 1:
            raise InvalidInputError(
                f"a limit is set on any {size} parties: a coalition has 1 party or more"
            )
        _check_bits(f"the limit on {Limit(limit, size=size).in_words}", limit)
        checked[int(size)] = min(limit, checked.get(int(size), inf))
    return dict(sorted(checked.items()))


def _checked_groups(groups: Mapping[Collection[str], float]) -> dict[Collection[str], float]:
    """Sorted members -> bits; the smaller bits where a group is named twice."""
    checked: dict[Collection[str], float] = {}
    for group, bits in groups.items():
        if isinstance(group, str) or not group:
            raise InvalidInputError(f"group {group!r} is no tuple of party names")
        _check_bits(f"groups[{group!r}]", bits)
        members = tuple(sorted(frozenset(group)))
        checked[members] = min(bits, checked.get(members, inf))
    return checked


def _check_bits(name: str, bits: float) -> None:
    if isnan(bits) or bits < 0:
        raise InvalidInputError(f"{name} is {bits}: a limit is a number of bits >= 0")
