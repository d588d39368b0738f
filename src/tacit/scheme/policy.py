"""Who may pool what with whom: standing limits on coalitions of parties."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, isnan

from tacit.errors import InvalidInputError

Parties = frozenset[str]


@dataclass(frozen=True, slots=True)
class Collusion:
    """Limits in bits about one record on what coalitions may learn together.

    Attributes:
        everyone: limit on all parties together; ``None`` for none.
        any_size: limit every coalition of this many parties (and so every smaller one) ...
        bits: ... to this many bits.
        groups: named coalitions -> bits; the smaller where one is named twice.
    """

    everyone: float | None = None
    any_size: int | None = None
    bits: float | None = None
    groups: Mapping[Collection[str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.everyone is not None:
            _check_bits("everyone", self.everyone)
        if (self.any_size is None) != (self.bits is None):
            raise InvalidInputError(
                f"any_size={self.any_size} and bits={self.bits} go together: "
                "give the size of the coalitions and what each may learn"
            )
        if self.any_size is not None and self.any_size < 1:
            raise InvalidInputError(f"any_size is {self.any_size}: a coalition has >= 1 parties")
        if self.bits is not None:
            _check_bits("bits", self.bits)
        for group, bits in self.groups.items():
            if isinstance(group, str) or not group:
                raise InvalidInputError(f"group {group!r} is no tuple of party names")
            _check_bits(f"groups[{group!r}]", bits)
        smallest: dict[Collection[str], float] = {}
        for group, bits in self.groups.items():
            members = tuple(sorted(frozenset(group)))
            smallest[members] = min(bits, smallest.get(members, inf))
        object.__setattr__(self, "groups", smallest)

    def limits_on(self, party: str, others: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions that a release to ``party`` feeds.

        Args:
            party: who is about to receive.
            others: the parties that hold something already.
        """
        present = frozenset(others) - {party}
        limits: dict[Parties, float] = {}

        def limit(coalition: Parties, bits: float) -> None:
            limits[coalition] = min(bits, limits.get(coalition, inf))

        if self.any_size is not None and self.bits is not None:
            n_others = min(self.any_size - 1, len(present))
            for chosen in combinations(sorted(present), n_others):
                limit(frozenset(chosen) | {party}, self.bits)
        for group, bits in self.groups.items():
            if party in group:
                limit((present & frozenset(group)) | {party}, bits)
        if self.everyone is not None:
            limit(present | {party}, self.everyone)
        return limits

    def concerns(self, coalition: Parties, present: Iterable[str]) -> bool:
        """Whether a limit is on this coalition, or may come to be on it and newcomers.

        Single parties always count: they may come back.

        Args:
            coalition: parties that hold something.
            present: all parties that do.
        """
        if len(coalition) <= max(1, self.any_size or 1):
            return True
        everybody = frozenset(present)
        return any(coalition == everybody & frozenset(group) for group in self.groups)


def _check_bits(name: str, bits: float) -> None:
    if isnan(bits) or bits < 0:
        raise InvalidInputError(f"{name} is {bits}: a limit is a number of bits >= 0")
