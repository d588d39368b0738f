"""Standing limits on coalitions of parties: a ``Policy`` is several ``Limit``, each of some kind.

Other rooms ask a policy which coalitions are limited, and to what. Nobody else reads the fields of
its limits. A new kind of limit is a subclass of ``Limit`` with the decorator ``register_limit``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import ROUND_CEILING, Decimal
from importlib.metadata import entry_points
from itertools import combinations
from math import ceil, inf
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from tacit.errors import InvalidInputError
from tacit.information.laws import as_cap, as_limit, as_positive_bits

Parties = frozenset[str]

LIMITS: dict[str, type[Limit]] = {}
"""Kind, as it stands in a record -> its class."""

ENTRY_POINTS = "tacit.limits"
"""Group of entry points by which installed packages offer kinds: kind -> its class."""

_MOST_TIMES = 40
_COUNTED_ROUNDING = 1e-12
"""Bits. Larger factors are shown as a power of 2."""

NO_CAPS: Mapping[str, float] = MappingProxyType({})

Amount = Mapping[str, float | None]
"""``bits`` and ``cap`` of a limit, as far as they are named; ``None`` takes what is named away."""

_Kind = TypeVar("_Kind", bound="type[Limit]")
_Known = TypeVar("_Known", bound="Limit")


def register_limit(kind: _Kind) -> _Kind:
    """Make a kind of limit readable from records: a decorator."""
    known = LIMITS.get(kind.kind, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InvalidInputError(f"the kind {kind.kind!r} is {known.__qualname__} already")
    LIMITS[kind.kind] = kind
    return kind


@dataclass(frozen=True, slots=True)
class Limit(ABC):
    """One limit on coalitions of parties. A new kind must define ``kind``, ``in_words`` and
    ``coalitions_among``; the other methods have defaults that are right for every kind. With
    ``parse`` it can be set from the command line.

    Attributes:
        kind: its name in a record.
        bits: about one record, that each coalition it limits may hold on average; infinite where
            there is only a cap.
        cap: bits of the worst single answer: after any answer, no combination of levels is more
            than 2**cap times as likely as before ([M] fact 15); infinite for no cap.
    """

    kind: ClassVar[str]
    bits: float
    cap: float = field(default=inf, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what is no number of bits."""
        object.__setattr__(self, "bits", as_limit(self.bits, name=f"the limit on {self.in_words}"))
        object.__setattr__(self, "cap", as_cap(self.cap, name=f"the cap on {self.in_words}"))

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

    def rename(self, spelling: Callable[[str], str]) -> Self:
        """The same limit with every party's name spelled by ``spelling``."""
        return self

    @property
    def own_party(self) -> str | None:
        """The party whose own limit this is; ``None`` if it is no single party's."""
        return None

    def as_dict(self) -> dict[str, Any]:
        """For machines: its kind, its bits, its cap where there is one, and whom it limits."""
        own = {name: sorted(v) if isinstance(v, frozenset) else v for name, v in _items(self)}
        return {"kind": self.kind, **_finite(own)}

    @property
    def whom(self) -> tuple[object, ...]:
        """All but bits and cap: two limits with the same ``whom`` are on the same coalitions."""
        own = [value for name, value in _items(self) if name not in ("bits", "cap")]
        return (self.kind, *own)

    @property
    def amount_in_words(self) -> str:
        """Its bits and its cap."""
        bits = [] if self.bits == inf else [f"{self.bits:.12g} bits"]
        cap = [] if self.cap == inf else [cap_in_words(self.cap)]
        return ", and ".join([*bits, *cap]) or "no limit"

    @property
    def record(self) -> Any:
        """The limit as JSON, in the field ``others`` of a policy's record.

        The kinds that tacit knows stand in fields of their own, as earlier versions wrote them.
        Bits are ``None`` where there is only a cap, which is left out where there is none.
        """
        return _finite(asdict(self))

    @classmethod
    def of_record(cls, stored: Any) -> Self:
        """The limit that ``record`` gave."""
        bits = inf if stored["bits"] is None else stored["bits"]
        return cls(**(stored | {"bits": bits}))

    @classmethod
    def parse(cls, bits: float, whom: str) -> Self:
        """The limit on whom a text names, as people type it. A kind without this has no such text.

        Raises:
            InvalidInputError: the text names nobody.
        """
        raise InvalidInputError(
            f"limits of the kind {cls.kind!r} are not set by a text: use the option for them, or "
            "Python"
        )


def _finite(own: dict[str, Any]) -> dict[str, Any]:
    """Fields of a limit as JSON can have them: ``None`` for infinite bits, and no infinite cap."""
    bits = None if own["bits"] == inf else own["bits"]
    return {name: v for name, v in own.items() if name != "cap" or v < inf} | {"bits": bits}


def _items(limit: Limit) -> list[tuple[str, Any]]:
    """Names and values of a limit's fields."""
    return [(each.name, getattr(limit, each.name)) for each in fields(limit)]


@register_limit
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


@register_limit
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


@register_limit
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

    def rename(self, spelling: Callable[[str], str]) -> Self:
        """The same limit with its members' names spelled by ``spelling``."""
        members = frozenset(map(spelling, self.members))
        if len(members) < len(self.members):
            raise InvalidInputError(f"group {', '.join(sorted(self.parties))} names one twice")
        return replace(self, members=members)

    @property
    def own_party(self) -> str | None:
        """Its only member."""
        return next(iter(self.members)) if len(self.members) == 1 else None


class Policy:
    """Limits in bits about one record on what coalitions may learn together, and caps on what a
    single answer may tell them.
    """

    __slots__ = ("_limits",)

    def __init__(
        self,
        everyone: float | None = None,
        *,
        sizes: Mapping[int, float] | None = None,
        groups: Mapping[Collection[str], float] | None = None,
        limits: Iterable[Limit] = (),
    ) -> None:
        """A policy. Of two limits on the same coalitions the smaller holds, of two caps likewise.

        Args:
            everyone: limit on all parties together.
            sizes: number of parties -> bits for every coalition of so many, and so of fewer.
            groups: named coalitions -> bits.
            limits: more limits, of any kind, and those that have a cap.
        """
        given = [
            *(AnySize(each, size) for size, each in (sizes or {}).items()),
            *(Group(each, group) for group, each in (groups or {}).items()),
            *([] if everyone is None else [Everyone(everyone)]),
            *limits,
        ]
        self._limits = tuple(sorted(_least(given), key=_place))

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Every limit: on sizes, on groups, of other kinds, on everyone."""
        return self._limits

    @property
    def everyone(self) -> float | None:
        """Limit on all parties together; ``None`` for none."""
        return next((limit.bits for limit in self._with_bits(Everyone)), None)

    @property
    def sizes(self) -> Mapping[int, float]:
        """Number of parties -> bits."""
        return MappingProxyType({limit.size: limit.bits for limit in self._with_bits(AnySize)})

    @property
    def groups(self) -> Mapping[tuple[str, ...], float]:
        """Sorted members -> bits."""
        named = self._with_bits(Group)
        return MappingProxyType({tuple(sorted(each.parties)): each.bits for each in named})

    def _with_bits(self, kind: type[_Known]) -> list[_Known]:
        """The limits of a kind that are not caps alone."""
        return [limit for limit in self._limits if type(limit) is kind and limit.bits < inf]

    @property
    def everyone_cap(self) -> float:
        """Cap on all parties together; infinite for none."""
        return min((each.cap for each in self._limits if isinstance(each, Everyone)), default=inf)

    @property
    def has_caps(self) -> bool:
        """Whether any limit has a cap."""
        return any(limit.cap < inf for limit in self._limits)

    def __eq__(self, other: object) -> bool:
        """Whether the limits are the same, in any order."""
        return isinstance(other, Policy) and set(self._limits) == set(other._limits)

    def __hash__(self) -> int:
        """Of the limits in any order."""
        return hash(frozenset(self._limits))

    def __repr__(self) -> str:
        """Every limit in words."""
        return f"Policy({self.in_words})"

    @property
    def in_words(self) -> str:
        """Every limit for people; the limit on everyone comes first.

        Receipts have these words, and verifying one compares them: always "bits", never "1 bit".
        """
        limits = sorted(self._limits, key=lambda limit: not isinstance(limit, Everyone))
        return "; ".join(f"{each.in_words}: {each.amount_in_words}" for each in limits) or "none"

    # -- other policies ---------------------------------------------------------------------

    def with_own(self, own: Mapping[str, float], caps: Mapping[str, float] = NO_CAPS) -> Policy:
        """The same limits, and each party's own limit in bits, and cap, beside them."""
        parties = [Group(bits, {party}, cap=caps.get(party, inf)) for party, bits in own.items()]
        return Policy(limits=[*self._limits, *parties])

    def change(self, *limits: Limit, without: Collection[Limit | type[Limit]] = ()) -> Policy:
        """The policy with other limits on some coalitions.

        Args:
            limits: put in the place of those on the same coalitions.
            without: taken away, whatever their bits; a class takes away all limits of its kind.
        """
        kinds = tuple(each for each in without if isinstance(each, type))
        gone = {each.whom for each in (*limits, *without) if isinstance(each, Limit)}
        kept = [
            limit
            for limit in self._limits
            if limit.whom not in gone and not isinstance(limit, kinds)
        ]
        return Policy(limits=[*kept, *limits])

    def amend(self, whom: Limit, amount: Amount) -> Policy:
        """The policy with other bits, or another cap, for the coalitions of one limit.

        Args:
            whom: a limit on these coalitions, whatever its bits and cap.
            amount: what is set or taken away; what it does not name stays as it is.
        """
        for bits in amount.values():
            if bits == inf:  # who means no limit says so
                as_positive_bits(bits, name=f"the limit on {whom.in_words}")
        known = next((each for each in self._limits if each.whom == whom.whom), whom)
        changed = {name: inf if bits is None else bits for name, bits in amount.items()}
        limit = replace(known, **changed)
        is_set = min(limit.bits, limit.cap) < inf
        return self.change(limit) if is_set else self.change(without=[limit])

    def rename(self, spelling: Callable[[str], str]) -> Policy:
        """The policy with every party's name spelled by ``spelling``.

        Raises:
            InvalidInputError: two names, or two limits, become the same.
        """
        limits: dict[tuple[object, ...], Limit] = {}
        for limit in self._limits:
            renamed = limit.rename(spelling)
            if limits.setdefault(renamed.whom, renamed) is not renamed:
                raise InvalidInputError(f"group {renamed.in_words} is named twice")
        return Policy(limits=limits.values())

    # -- in a record ------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any]:
        """The policy as JSON; ``others`` is left out where there are no other kinds, and ``caps``
        where those that tacit knows have none.

        Raises:
            InvalidInputError: a limit could not be read again; it must never be lost.
        """
        stored: dict[str, Any] = {
            "everyone": self.everyone,
            "sizes": list(self.sizes.items()),
            "groups": sorted(self.groups.items()),
        }
        others = [each for each in self._limits if type(each) not in (Everyone, AnySize, Group)]
        for limit in others:
            _check_restored(limit)
        if others:
            stored["others"] = [(limit.kind, limit.record) for limit in others]
        if caps := [_cap_record(limit) for limit in self._limits if _is_capped(limit)]:
            stored["caps"] = caps
        return stored

    @staticmethod
    def of_record(stored: Mapping[str, Any]) -> Policy:
        """The policy that ``record`` gave.

        Raises:
            InvalidInputError: a coalition is limited twice, or a kind of limit is not known.
        """
        everyone = stored.get("everyone")
        limits = [
            *([] if everyone is None else [Everyone(everyone)]),
            *(AnySize(bits, size) for size, bits in stored.get("sizes", ())),
            *(Group(bits, members) for members, bits in stored.get("groups", ())),
            *(find_kind(kind).of_record(body) for kind, body in stored.get("others", ())),
        ]
        caps = [_read_cap(*each) for each in stored.get("caps", ())]
        if any(len({each.whom for each in given}) < len(given) for given in (limits, caps)):
            raise InvalidInputError("a coalition is limited twice")
        return Policy(limits=[*limits, *caps])

    @staticmethod
    def update_record(stored: Mapping[str, Any]) -> Mapping[str, Any]:
        """A record of any version in today's form.

        Version 0.1 wrote at most one size, as ``any_size`` and ``bits``.
        """
        if not {"any_size", "bits"} & set(stored) or "sizes" in stored:
            return stored
        size, bits = stored.get("any_size"), stored.get("bits")
        if (size is None) != (bits is None):
            raise InvalidInputError(f"any_size is {size} and bits is {bits}: they go together")
        rest = {name: value for name, value in stored.items() if name not in ("any_size", "bits")}
        return rest | {"sizes": [] if size is None else [[size, bits]]}

    # -- who is limited to what -------------------------------------------------------------

    def limits_on(
        self, party: str, others: Iterable[str], own_bits: float | None = None
    ) -> dict[Parties, float]:
        """Limits on the coalitions that a release to ``party`` feeds.

        Args:
            party: who is about to receive.
            others: the parties that hold something already.
            own_bits: limit on the party by itself, beside the policy; ``None`` for none.
        """
        present = frozenset(others) - {party}
        limited = [
            (coalition, limit.bits)
            for limit in self._limits
            for coalition in limit.coalitions_with(party, present)
        ]
        own = [] if own_bits is None else [(frozenset({party}), own_bits)]
        return _least_bits([*limited, *own])

    def caps_on(
        self, party: str, others: Iterable[str], own_cap: float = inf
    ) -> dict[Parties, float]:
        """Caps on the coalitions that a release to ``party`` feeds; only those that have one.

        Args:
            party: who is about to receive.
            others: the parties that hold something already.
            own_cap: cap on the party by itself, beside the policy.
        """
        present, own = frozenset(others) - {party}, [(frozenset({party}), own_cap)]
        capped = [
            (coalition, limit.cap)
            for limit in self._limits
            if limit.cap < inf
            for coalition in limit.coalitions_with(party, present)
        ]
        return _least_bits([*capped, *(own if own_cap < inf else [])])

    def limits_among(self, holders: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions of parties that hold something; nobody is no coalition."""
        present = frozenset(holders)
        return _least_bits(
            (coalition, limit.bits)
            for limit in self._limits
            for coalition in limit.coalitions_among(present)
            if coalition
        )

    def caps_among(self, holders: Iterable[str]) -> dict[Parties, float]:
        """Caps on the coalitions of parties that hold something; only those that have one."""
        present = frozenset(holders)
        return _least_bits(
            (coalition, limit.cap)
            for limit in self._limits
            if limit.cap < inf
            for coalition in limit.coalitions_among(present)
            if coalition
        )

    def binding_on(self, parties: Collection[str]) -> tuple[Limit, ...]:
        """The smallest limit on these parties or a coalition around them; all that are as small."""
        named = frozenset(parties)
        limits = [limit for limit in self._limits if limit.holds_for(named)]
        least = min((limit.bits for limit in limits), default=inf)
        return tuple(limit for limit in limits if limit.bits == least)

    def bits_for_everyone(self, otherwise: float) -> float:
        """The limit on all parties together, or ``otherwise`` where there is none."""
        return otherwise if self.everyone is None else self.everyone

    def least_bits_on(self, parties: Collection[str]) -> float | None:
        """What these parties may hold together; ``None`` where nothing limits them."""
        return next((each.bits for each in self.binding_on(parties) if each.bits < inf), None)

    def least_cap_on(self, parties: Collection[str]) -> float:
        """Cap on these parties or a coalition around them; infinite for none."""
        named = frozenset(parties)
        return min((each.cap for each in self._limits if each.holds_for(named)), default=inf)

    def capped_by(self, parties: Collection[str]) -> tuple[Limit, ...]:
        """The limits with the smallest cap on these parties or a coalition around them."""
        named, least = frozenset(parties), self.least_cap_on(parties)
        return tuple(
            each for each in self._limits if each.cap == least < inf and each.holds_for(named)
        )

    def used_up(
        self,
        party: str,
        others: Iterable[str],
        held: Callable[[Parties], float],
        least: float,
    ) -> tuple[Limit, ...]:
        """Limits that leave ``party`` together with others less than ``least`` bits.

        Args:
            party: who asks.
            others: the parties that hold something.
            held: bits that a coalition holds.
            least: bits that would be worth asking for.
        """
        present = frozenset(others) - {party}
        return tuple(
            limit
            for limit in self._limits
            if any(
                limit.bits - held(each) < least for each in limit.coalitions_with(party, present)
            )
        )

    def worst_holders(
        self, holders: Parties, held: Callable[[Parties], float]
    ) -> Iterator[tuple[Limit, Parties]]:
        """Every limit, and the coalition of holders under it that holds most."""
        for limit in self._limits:
            coalitions = list(limit.coalitions_among(holders))
            if coalitions:
                yield limit, max(coalitions, key=held)

    @property
    def newcomers(self) -> dict[str, float]:
        """The parties that limits name -> the least bits of those; unknown ones are let in so.

        A limit that is only a cap lets nobody in.
        """
        least_last = sorted(
            (limit for limit in self._limits if limit.bits < inf), key=lambda limit: -limit.bits
        )
        return {party: limit.bits for limit in least_last for party in sorted(limit.parties)}

    def concerns(self, coalition: Parties, present: Iterable[str]) -> bool:
        """Whether the law of what a coalition holds is to be kept beside the memory.

        That of single parties always is: they may come back.

        Args:
            coalition: parties that hold something.
            present: all parties that do.
        """
        everybody = frozenset(present)
        return len(coalition) <= 1 or any(
            limit.concerns(coalition, everybody) for limit in self._limits
        )


def _least(limits: Iterable[Limit]) -> list[Limit]:
    """One limit for each ``whom``, with the smallest bits and the smallest cap."""
    least: dict[tuple[object, ...], Limit] = {}
    for limit in limits:
        known = least.setdefault(limit.whom, limit)
        if known is not limit:
            bits, cap = min(limit.bits, known.bits), min(limit.cap, known.cap)
            least[limit.whom] = replace(known, bits=bits, cap=cap)
    return list(least.values())


def _least_bits(limited: Iterable[tuple[Parties, float]]) -> dict[Parties, float]:
    limits: dict[Parties, float] = {}
    for coalition, bits in limited:
        limits[coalition] = min(bits, limits.get(coalition, inf))
    return limits


def _place(limit: Limit) -> tuple[int, int]:
    """Where a limit stands in ``Policy.limits``."""
    match limit:
        case AnySize(size=size):
            return 0, size
        case Group():
            return 1, 0
        case Everyone():
            return 3, 0
        case _:
            return 2, 0


def _is_capped(limit: Limit) -> bool:
    """Whether a limit of a kind that has fields of its own in a record has a cap."""
    return type(limit) in (Everyone, AnySize, Group) and limit.cap < inf


def _cap_record(limit: Limit) -> tuple[str, Any, float]:
    """Kind, whom it is on, and the cap."""
    match limit:
        case AnySize(size=size):
            return limit.kind, size, limit.cap
        case Group():
            return limit.kind, sorted(limit.parties), limit.cap
        case _:
            return limit.kind, None, limit.cap


def _read_cap(kind: str, whom: Any, cap: float) -> Limit:
    """A limit that is only a cap, from its record."""
    match kind:
        case Everyone.kind:
            return Everyone(inf, cap=cap)
        case AnySize.kind:
            return AnySize(inf, whom, cap=cap)
        case Group.kind:
            return Group(inf, whom, cap=cap)
    raise InvalidInputError(f"a cap is on the kind {kind!r}, which has none in this version")


def _check_restored(limit: Limit) -> None:
    """Refuse a limit that is not the same after it was written and read."""
    restored = find_kind(limit.kind).of_record(json.loads(json.dumps(limit.record)))
    if restored != limit:
        raise InvalidInputError(
            f"the limit on {limit.in_words} is {restored} when read from its record: "
            f"{type(limit).__name__}.record and of_record must agree"
        )


def find_kind(kind: str) -> type[Limit]:
    """The class of a kind of limit; where an installed package offers it, that is imported first.

    Raises:
        InvalidInputError: nobody offers it.
    """
    if kind not in LIMITS:
        for offered in entry_points(group=ENTRY_POINTS, name=kind):
            offered.load()
    if kind not in LIMITS:
        raise InvalidInputError(
            f"the kind of limit {kind!r} is not known here: decorate its class with "
            "tacit.policy.register_limit and import it, install the package that has it, or update "
            "tacit"
        )
    return LIMITS[kind]


def coalition_name(coalition: Parties, everyone: Parties) -> str:
    """How people call a coalition."""
    if coalition == everyone and len(everyone) > 1:
        return "everyone"
    return " + ".join(sorted(coalition))


def limit_in_words(bits: float) -> str:
    """A limit as it was given."""
    return "none" if bits == inf else f"{bits:.12g}"


def cap_in_words(cap: float) -> str:
    """What a cap promises."""
    if cap == 0:
        return "after any answer, every combination of levels is as likely as before"
    return (
        f"after any answer, no combination of levels is more than {times_in_words(cap)} times as "
        "likely as before"
    )


def times_in_words(bits: float) -> str:
    """2**bits, rounded up to three digits; not by less than what counting roundings adds."""
    if bits >= _MOST_TIMES:
        return f"2^{ceil(bits)}"
    times = Decimal(2.0**bits * (1 - _COUNTED_ROUNDING))
    digits = Decimal(1).scaleb(min(times.adjusted() - 2, 0))
    shown = times.quantize(digits, ROUND_CEILING)
    return f"{shown.normalize():,f}"


def bits_in_words(bits: float) -> str:
    """Bits as they were given, with the unit: ``1 bit``, ``0.3 bits``."""
    return f"{limit_in_words(bits)} {'bit' if bits == 1 else 'bits'}"


def whom_in_words(limits: Sequence[Limit]) -> str:
    """Whom limits are on."""
    return " and ".join(limit.in_words for limit in limits)


def bits_of(limits: Sequence[Limit], coalition: Parties) -> str:
    """The bits of limits that are equal, and whose they are, said of a coalition."""
    shown = bits_in_words(limits[0].bits)
    if all(limit.parties == coalition for limit in limits):
        return f"{'its' if len(coalition) == 1 else 'their'} {shown}"
    return f"the {shown} that {whom_in_words(limits)} may hold"
