"""Standing limits on coalitions of parties: a ``Policy`` is several ``Limit``.

Other rooms ask a policy which coalitions are limited, and to what. Nobody else reads its limits'
fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import Any

from tacit.errors import InvalidInputError
from tacit.policy.limit import KINDS, AnySize, Everyone, Group, Limit, Parties

MOST_COALITIONS = 64
"""Coalitions of one limit that an audit lists at most."""


class Policy:
    """Limits in bits about one record on what coalitions may learn together."""

    __slots__ = ("_limits",)

    def __init__(
        self,
        everyone: float | None = None,
        any_size: int | None = None,
        bits: float | None = None,
        groups: Mapping[Collection[str], float] | None = None,
        *,
        sizes: Mapping[int, float] | None = None,
        limits: Iterable[Limit] = (),
    ) -> None:
        """A policy. Of two limits on the same coalitions the smaller holds.

        Args:
            everyone: limit on all parties together.
            any_size: one more size, limited to ``bits``.
            bits: of ``any_size``.
            groups: named coalitions -> bits.
            sizes: number of parties -> bits for every coalition of so many, and so of fewer.
            limits: more limits, of any kind.
        """
        given = [
            *(AnySize(each, size) for size, each in (sizes or {}).items()),
            *_one_size(any_size, bits),
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
        return next((limit.bits for limit in self._limits if isinstance(limit, Everyone)), None)

    @property
    def sizes(self) -> Mapping[int, float]:
        """Number of parties -> bits."""
        sized = [limit for limit in self._limits if isinstance(limit, AnySize)]
        return MappingProxyType({limit.size: limit.bits for limit in sized})

    @property
    def groups(self) -> Mapping[Collection[str], float]:
        """Sorted members -> bits."""
        named = [limit for limit in self._limits if isinstance(limit, Group)]
        return MappingProxyType({tuple(sorted(each.parties)): each.bits for each in named})

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
        """Every limit for people; the limit on everyone comes first."""
        limits = sorted(self._limits, key=lambda limit: not isinstance(limit, Everyone))
        return "; ".join(f"{limit.in_words}: {limit.bits:.12g} bits" for limit in limits) or "none"

    # -- other policies ---------------------------------------------------------------------

    def with_own(self, own: Mapping[str, float]) -> Policy:
        """The same limits, and each party's own limit in bits beside them."""
        parties = [Group(bits, {party}) for party, bits in own.items()]
        return Policy(limits=[*self._limits, *parties])

    def change(self, *limits: Limit, without: Iterable[Limit | type[Limit]] = ()) -> Policy:
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

    def renamed(self, spelling: Callable[[str], str]) -> Policy:
        """The policy with every party's name spelled by ``spelling``.

        Raises:
            InvalidInputError: two names, or two limits, become the same.
        """
        limits: dict[tuple[object, ...], Limit] = {}
        for limit in self._limits:
            renamed = limit.renamed(spelling)
            if limits.setdefault(renamed.whom, renamed) is not renamed:
                raise InvalidInputError(f"group {renamed.in_words} is named twice")
        return Policy(limits=limits.values())

    # -- in a record ------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any]:
        """The policy as JSON; ``others`` is left out where there are no other kinds."""
        stored: dict[str, Any] = {
            "everyone": self.everyone,
            "sizes": [limit.record for limit in self._limits if isinstance(limit, AnySize)],
            "groups": sorted(limit.record for limit in self._limits if isinstance(limit, Group)),
        }
        others = [(each.kind, each.record) for each in self._limits if each.kind not in stored]
        return stored | ({"others": others} if others else {})

    @staticmethod
    def of_record(stored: Mapping[str, Any]) -> Policy:
        """The policy that ``record`` gave.

        Raises:
            InvalidInputError: a coalition is limited twice, or a kind of limit is not known.
        """
        everyone = stored.get("everyone")
        limits = [
            *([] if everyone is None else [Everyone.of_record(everyone)]),
            *map(AnySize.of_record, stored.get("sizes", ())),
            *map(Group.of_record, stored.get("groups", ())),
            *(_known_kind(kind).of_record(body) for kind, body in stored.get("others", ())),
        ]
        if len({limit.whom for limit in limits}) < len(limits):
            raise InvalidInputError("a coalition is limited twice")
        return Policy(limits=limits)

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

    def limits_on(self, party: str, others: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions that a release to ``party`` feeds.

        Args:
            party: who is about to receive.
            others: the parties that hold something already.
        """
        present = frozenset(others) - {party}
        return _least_bits(
            (coalition, limit.bits)
            for limit in self._limits
            for coalition in limit.coalitions_with(party, present)
        )

    def limits_among(self, holders: Iterable[str]) -> dict[Parties, float]:
        """Limits on the coalitions of parties that hold something; nobody is no coalition."""
        present = frozenset(holders)
        return _least_bits(
            (coalition, limit.bits)
            for limit in self._limits
            for coalition in limit.coalitions_among(present)
            if coalition
        )

    def binding_on(self, parties: Collection[str]) -> tuple[Limit, ...]:
        """The smallest limit on these parties or a coalition around them; all that are as small."""
        named = frozenset(parties)
        limits = [limit for limit in self._limits if limit.holds_for(named)]
        least = min((limit.bits for limit in limits), default=inf)
        return tuple(limit for limit in limits if limit.bits == least)

    def least_bits_on(self, parties: Collection[str]) -> float | None:
        """What these parties may hold together; ``None`` where nothing limits them."""
        return next((limit.bits for limit in self.binding_on(parties)), None)

    @property
    def newcomers(self) -> dict[str, float]:
        """The parties that limits name -> the least bits of those; unknown ones are let in so."""
        least_last = sorted(self._limits, key=lambda limit: -limit.bits)
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

    def listed_among(self, held_bits: Mapping[str, float]) -> tuple[list[Parties], int]:
        """Coalitions to report, without single parties and everyone; and how many are left out.

        Of too many coalitions of one limit, those are listed whose members, each by itself, hold
        most in sum.

        Args:
            held_bits: party -> bits it holds by itself, for everyone present.
        """
        present = frozenset(held_bits)
        chosen = {
            coalition
            for limit in self._limits
            for coalition in islice(limit.ranked_among(held_bits), MOST_COALITIONS)
            if 1 < len(coalition) < len(present)
        }
        left_out = sum(limit.count_missing(chosen, present) for limit in self._limits)
        return sorted(chosen, key=lambda each: (len(each), sorted(each))), left_out


def _one_size(any_size: int | None, bits: float | None) -> list[Limit]:
    if any_size is None and bits is None:
        return []
    if any_size is None or bits is None:
        raise InvalidInputError(
            f"any_size={any_size} and bits={bits} go together: "
            "give the size of the coalitions and what each may learn"
        )
    return [AnySize(bits, any_size)]


def _least(limits: Iterable[Limit]) -> list[Limit]:
    """One limit, the smallest, for each ``whom``."""
    least: dict[tuple[object, ...], Limit] = {}
    for limit in limits:
        known = least.setdefault(limit.whom, limit)
        if limit.bits < known.bits:
            least[limit.whom] = limit
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


def _known_kind(kind: str) -> type[Limit]:
    if kind not in KINDS:
        raise InvalidInputError(
            f"the kind of limit {kind!r} is not known here: import the package that registers it, "
            "or update tacit"
        )
    return KINDS[kind]
