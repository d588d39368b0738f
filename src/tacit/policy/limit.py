"""Kinds of limits: on everyone, on any so many parties, on a group.

A kind says which coalitions it limits, how it is said in words, and how it is stored in a record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from heapq import heappop, heappush
from itertools import combinations
from math import comb, fsum, isnan
from typing import Any, ClassVar, Self, TypeVar

from tacit.errors import InvalidInputError

Parties = frozenset[str]

KINDS: dict[str, type[Limit]] = {}
"""Kind, as it stands in a record -> its class."""

_Kind = TypeVar("_Kind", bound="type[Limit]")


def register(kind: _Kind) -> _Kind:
    """Make a kind of limit readable from records: a decorator."""
    known = KINDS.get(kind.kind, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InvalidInputError(f"the kind {kind.kind!r} is {known.__qualname__} already")
    KINDS[kind.kind] = kind
    return kind


@dataclass(frozen=True, slots=True)
class Limit(ABC):
    """One limit on coalitions of parties. A new kind must define ``kind``, ``in_words`` and
    ``coalitions_among``; the other methods have defaults that are right for every kind.

    Attributes:
        kind: its name in a record.
        bits: about one record, that each coalition it limits may hold.
    """

    kind: ClassVar[str]
    bits: float

    def __post_init__(self) -> None:
        """Refuse what is no number of bits."""
        if isnan(self.bits) or self.bits < 0:
            raise InvalidInputError(
                f"the limit on {self.in_words} is {self.bits}: a limit is a number of bits >= 0"
            )

    @property
    @abstractmethod
    def in_words(self) -> str:
        """Whom it limits."""

    @abstractmethod
    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        """The largest coalitions of ``holders`` that it limits."""

    def coalitions_with(self, party: str, others: Parties) -> Iterator[Parties]:
        """The largest coalitions of ``party`` and others that it limits."""
        return (each for each in self.coalitions_among(others | {party}) if party in each)

    def holds_for(self, parties: Parties) -> bool:
        """Whether it is on these parties or on a coalition around them."""
        return any(parties <= each for each in self.coalitions_among(parties))

    def concerns(self, coalition: Parties, present: Parties) -> bool:
        """Whether the law of what a coalition holds is to be kept for this limit.

        A coalition whose law is not kept is covered by the bound on everyone: valid, but larger.
        A kind overrides this where small coalitions grow into limited ones, as any 3 parties do
        from any 2.
        """
        return coalition in self.coalitions_among(present)

    @property
    def parties(self) -> Parties:
        """The parties that it names: setting it lets them in."""
        return frozenset()

    def renamed(self, spelling: Callable[[str], str]) -> Self:
        """The same limit with every party's name spelled by ``spelling``."""
        return self

    @property
    def own_party(self) -> str | None:
        """The party whose own limit this is; ``None`` if it is no single party's."""
        return None

    @property
    def setting(self) -> tuple[str, str] | None:
        """How a command names it: the option, and whom. ``None`` if only Python can set it."""
        return None

    @property
    def whom(self) -> tuple[object, ...]:
        """All but the bits: two limits with the same ``whom`` are on the same coalitions."""
        own = (getattr(self, each.name) for each in fields(self) if each.name != "bits")
        return (self.kind, *own)

    @property
    def record(self) -> Any:
        """The limit as JSON."""
        return asdict(self)

    @classmethod
    def of_record(cls, stored: Any) -> Self:
        """The limit that ``record`` gave."""
        return cls(**stored)

    def ranked_among(self, held_bits: Mapping[str, float]) -> Iterator[Parties]:
        """The coalitions of all holders that it limits; those whose members hold most come first.

        Args:
            held_bits: party -> bits that it holds by itself, for every holder.
        """
        found = set(self.coalitions_among(frozenset(held_bits)))
        return iter(
            sorted(found, key=lambda each: (-fsum(held_bits[one] for one in each), sorted(each)))
        )

    def count_missing(self, listed: Collection[Parties], holders: Parties) -> int:
        """How many of its coalitions are not listed; single parties and everyone do not count."""
        limited = {each for each in self.coalitions_among(holders) if 1 < len(each) < len(holders)}
        return len(limited.difference(listed))


@register
@dataclass(frozen=True, slots=True)
class Everyone(Limit):
    """A limit on all parties together."""

    kind = "everyone"

    @property
    def in_words(self) -> str:
        """Whom it limits."""
        return "everyone"

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        """All of them."""
        yield holders

    def concerns(self, coalition: Parties, present: Parties) -> bool:
        """Never: the bound on everyone needs no law beside the memory's."""
        return False

    @property
    def setting(self) -> tuple[str, str]:
        """The option alone."""
        return "everyone", ""

    @property
    def record(self) -> float:
        """Its bits."""
        return self.bits

    @classmethod
    def of_record(cls, stored: float) -> Self:
        """A limit of so many bits."""
        return cls(stored)


@register
@dataclass(frozen=True, slots=True)
class AnySize(Limit):
    """A limit on any ``size`` parties together, and so on fewer."""

    kind = "sizes"
    size: int

    def __post_init__(self) -> None:
        """Refuse what is no number of parties."""
        if self.size < 1 or self.size != self.size // 1:
            raise InvalidInputError(
                f"a limit is set on any {self.size} parties: a coalition has 1 party or more"
            )
        object.__setattr__(self, "size", int(self.size))
        Limit.__post_init__(self)

    @property
    def in_words(self) -> str:
        """Whom it limits."""
        return "any single party" if self.size == 1 else f"any {self.size} parties"

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        """Every choice of ``size`` of them."""
        size = min(self.size, len(holders))
        return map(frozenset, combinations(sorted(holders), size))

    def coalitions_with(self, party: str, others: Parties) -> Iterator[Parties]:
        """The party, and every choice of one fewer of the others."""
        own, n_others = frozenset({party}), min(self.size - 1, len(others))
        return (own.union(chosen) for chosen in combinations(sorted(others), n_others))

    def holds_for(self, parties: Parties) -> bool:
        """Whether they are few enough."""
        return len(parties) <= self.size

    def concerns(self, coalition: Parties, present: Parties) -> bool:
        """Whether they are few enough: newcomers may join them."""
        return self.holds_for(coalition)

    @property
    def setting(self) -> tuple[str, str]:
        """The option, and how many parties."""
        return "any", str(self.size)

    @property
    def record(self) -> tuple[int, float]:
        """Size and bits."""
        return self.size, self.bits

    @classmethod
    def of_record(cls, stored: Sequence[Any]) -> Self:
        """A limit from size and bits."""
        size, bits = stored
        return cls(bits, size)

    def ranked_among(self, held_bits: Mapping[str, float]) -> Iterator[Parties]:
        """One after the other: there may be too many to make them all."""
        by_bits = sorted(held_bits, key=lambda party: (-held_bits[party], party))
        choices = _largest_sums([held_bits[party] for party in by_bits], self.size)
        return (frozenset(by_bits[index] for index in indices) for indices in choices)

    def count_missing(self, listed: Collection[Parties], holders: Parties) -> int:
        """By the number of choices."""
        if not 1 < self.size < len(holders):
            return 0
        return comb(len(holders), self.size) - sum(len(each) == self.size for each in listed)


@register
@dataclass(frozen=True, slots=True)
class Group(Limit):
    """A limit on named parties together; of a single party, its own limit."""

    kind = "groups"
    members: Collection[str]

    def __post_init__(self) -> None:
        """Refuse what is no group."""
        if isinstance(self.members, str) or not self.members:
            raise InvalidInputError(f"group {self.members!r} is no tuple of party names")
        object.__setattr__(self, "members", frozenset(self.members))
        Limit.__post_init__(self)

    @property
    def in_words(self) -> str:
        """Whom it limits."""
        return " + ".join(sorted(self.parties))

    def coalitions_among(self, holders: Parties) -> Iterator[Parties]:
        """The members that hold something."""
        yield holders & self.parties

    def holds_for(self, parties: Parties) -> bool:
        """Whether they are all members."""
        return parties <= self.parties

    @property
    def parties(self) -> Parties:
        """Its members."""
        return frozenset(self.members)

    def renamed(self, spelling: Callable[[str], str]) -> Self:
        """The same limit with its members' names spelled by ``spelling``."""
        members = frozenset(map(spelling, self.members))
        if len(members) < len(self.members):
            raise InvalidInputError(f"group {', '.join(sorted(self.parties))} names one twice")
        return replace(self, members=members)

    @property
    def own_party(self) -> str | None:
        """Its only member."""
        return next(iter(self.members)) if len(self.members) == 1 else None

    @property
    def setting(self) -> tuple[str, str]:
        """The option, and the members."""
        return "group", ",".join(sorted(self.parties))

    @property
    def record(self) -> tuple[tuple[str, ...], float]:
        """Members and bits."""
        return tuple(sorted(self.parties)), self.bits

    @classmethod
    def of_record(cls, stored: Sequence[Any]) -> Self:
        """A limit from members and bits."""
        members, bits = stored
        return cls(bits, members)


def _largest_sums(bits: Sequence[float], size: int) -> Iterator[tuple[int, ...]]:
    """Every choice of ``size`` of the descending ``bits``, by indices, largest sum first.

    Replacing one index by the next lowers the sum, and every choice is reached from the first one
    in this way. So only neighbours of the choices made so far have to wait, never all choices.
    """
    if size > len(bits):
        return
    first = tuple(range(size))
    waiting, met = [(-fsum(bits[:size]), first)], {first}
    while waiting:
        _, indices = heappop(waiting)
        yield indices
        for place, index in enumerate(indices):
            moved = (*indices[:place], index + 1, *indices[place + 1 :])
            is_choice = index + 1 < len(bits) and index + 1 not in indices
            if is_choice and moved not in met:
                met.add(moved)
                heappush(waiting, (-fsum(bits[i] for i in moved), moved))
