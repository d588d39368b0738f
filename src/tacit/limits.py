"""Limits: who may learn how much, over everything that they will ever receive.

A limit names a coalition and at least one amount. What depends on how a coalition is named stands
in ``Whom``. The rest of tacit asks four things: what the coalitions that an answer feeds may hold,
which limit is the smallest on a coalition, which limits leave nothing, and which coalitions have
to be followed so that limits can be held exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import frexp, inf, log2, nan, nextafter
from typing import Any, Literal, SupportsFloat

from tacit.errors import InvalidInputError
from tacit.information.laws import as_limit, bits_in_words

Parties = frozenset[str]
"""Those that pool what they hold."""

Kind = Literal["bits", "times"]

MOST_TIMES = 2.0**64
"""No table has so many records that an answer could make a level as many times as likely."""

_PARTY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED = {"any", "everyone"}


@dataclass(frozen=True, slots=True)
class Whom:
    """Parties that pool what they hold: those named, any ``size`` of them, or everyone."""

    names: Parties = frozenset()
    size: int | None = None

    @classmethod
    def parse(cls, text: str) -> Whom:
        """Read ``lab-a``, ``lab-a+lab-b``, ``any 2`` or ``everyone``."""
        words = text.split()
        if words == ["everyone"]:
            return cls()
        if found := re.fullmatch(r"any 0*([1-9][0-9]{0,5})", " ".join(words)):
            return cls(size=int(found[1]))
        names = [name.strip() for name in text.split("+")]
        for name in names:
            if not _PARTY.fullmatch(name) or name in _RESERVED:
                raise InvalidInputError(
                    f"{name!r} is not a party: use a-z, 0-9 and -, as in lab-a; a coalition is "
                    "lab-a+lab-b, any 2, or everyone"
                )
        if len(set(names)) < len(names):
            raise InvalidInputError(f"{text!r} names a party twice")
        return cls(frozenset(names))

    def __str__(self) -> str:
        """As ``parse`` reads it."""
        return "+".join(sorted(self.names)) or (f"any {self.size}" if self.size else "everyone")

    @property
    def in_words(self) -> str:
        """For people."""
        if self.names or not self.size:
            return " + ".join(sorted(self.names)) or "everyone"
        return "any single party" if self.size == 1 else f"any {self.size} parties"

    @property
    def party(self) -> str | None:
        """The only party named; ``None`` where there are several, or none."""
        return next(iter(self.names)) if len(self.names) == 1 else None

    def coalitions(self, holders: Parties, party: str | None = None) -> Iterator[Parties]:
        """The largest coalitions of ``holders`` that this names; with a party, those around it."""
        own = frozenset() if party is None else frozenset({party})
        everybody = holders | own
        if not self.size:
            coalition = self.names & everybody if self.names else everybody
            if own <= coalition and coalition:
                yield coalition
        elif everybody:
            others = sorted(everybody - own)
            size = min(self.size - len(own), len(others))
            yield from (own.union(chosen) for chosen in combinations(others, size))

    def covers(self, coalition: Parties) -> bool:
        """Whether a limit on this holds for a coalition: what a part holds, the whole holds."""
        if self.names:
            return coalition <= self.names
        return self.size is None or len(coalition) <= self.size


EVERYONE = Whom()


@dataclass(frozen=True, slots=True, init=False)
class Limit:
    """The most that a coalition may learn about a record, over everything it will ever receive.

    Attributes:
        whom: on whom it is.
        bits: mutual information: on average over the records.
        times: after any answer, no combination of levels is more times as likely as before.
        sure: nobody is surer than this of a level; not in use yet.
        about: the columns that it is on; all of them.
        given: the columns that are known anyway; none of them.
    """

    whom: Whom
    bits: float | None
    times: float | None
    sure: None
    about: tuple[()]
    given: tuple[()]

    def __init__(
        self,
        whom: Whom | str,
        bits: float | None = None,
        times: float | None = None,
        sure: None = None,
        about: tuple[()] = (),
        given: tuple[()] = (),
    ) -> None:
        """A limit; a text is read as ``Whom.parse`` does."""
        on = Whom.parse(whom) if isinstance(whom, str) else whom
        if bits is None and times is None:
            raise InvalidInputError(f"the limit on {on.in_words} has no amount: give bits or times")
        values: dict[str, Any] = {
            "whom": on,
            "bits": None if bits is None else _as_bits(bits, on),
            "times": None if times is None else as_times(times, name=_name(on)),
            "sure": sure,
            "about": about,
            "given": given,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def amount(self, kind: Kind) -> float:
        """Its bits or times; infinite where it has none."""
        found: float | None = getattr(self, kind)
        return inf if found is None else found

    @property
    def amounts_in_words(self) -> str:
        """Its bits and times."""
        bits = [] if self.bits is None else [bits_in_words(self.bits)]
        times = [] if self.times is None else [times_promise(self.times)]
        return ", and ".join([*bits, *times])

    @property
    def in_words(self) -> str:
        """Whom it is on, and its amounts."""
        return f"{self.whom.in_words}: {self.amounts_in_words}"

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"whom": str(self.whom), "bits": self.bits, "times": self.times}


def _as_bits(bits: float, whom: Whom) -> float:
    number = as_limit(bits, name=_name(whom))
    if number == inf:
        raise InvalidInputError(f"{_name(whom)} is inf: give a number of bits")
    return number


def _name(whom: Whom) -> str:
    return f"the limit on {whom.in_words}"


def as_times(times: object, *, name: str) -> float:
    """A factor: 1 or more, below 2**64."""
    number = float(times) if isinstance(times, SupportsFloat) else nan
    if not 1 <= number < MOST_TIMES:
        raise InvalidInputError(
            f"{name} is {times} times: give a number from 1, where no answer tells anything, and "
            "below 2^64"
        )
    return number


def cap_of(times: float) -> float:
    """log2 of a factor, as the engine takes it: exact for powers of 2, else never above."""
    bits = log2(times) if times < inf else inf
    return bits if times == inf or frexp(times)[0] == 0.5 else nextafter(bits, 0.0)


@dataclass(frozen=True, slots=True)
class Bound:
    """The least amounts that limits leave to a coalition; infinite for none."""

    bits: float = inf
    times: float = inf

    @property
    def cap(self) -> float:
        """Bits of the worst single answer; see ``cap_of``."""
        return cap_of(self.times)

    def within(self, limit: Limit) -> Bound:
        """The least amounts with one more limit."""
        return Bound(min(self.bits, limit.amount("bits")), min(self.times, limit.amount("times")))


def bounds(
    limits: Iterable[Limit], holders: Parties, party: str | None = None
) -> dict[Parties, Bound]:
    """What each coalition of holders that a limit names may hold; with a party, those around it.

    Coalitions that hold the same are the same: while a party is the only holder, a limit on it, on
    a group around it and on everyone all bound the coalition of it alone, and the least counts.
    """
    found: dict[Parties, Bound] = {}
    for limit in limits:
        for coalition in limit.whom.coalitions(holders, party):
            found[coalition] = found.get(coalition, Bound()).within(limit)
    return found


def least(limits: Iterable[Limit], coalition: Parties) -> Bound:
    """What a coalition may hold: the least on it or on a coalition around it."""
    found = Bound()
    for limit in limits:
        if limit.whom.covers(coalition):
            found = found.within(limit)
    return found


def binding(limits: Sequence[Limit], coalition: Parties, kind: Kind = "bits") -> list[Limit]:
    """The limits on a coalition, or around it, with the least amount; all that have as little."""
    smallest = getattr(least(limits, coalition), kind)
    return [
        each for each in limits if each.whom.covers(coalition) and each.amount(kind) == smallest
    ]


def used_up(
    limits: Iterable[Limit],
    holders: Parties,
    party: str,
    held: Callable[[Parties], float],
    wanted: float,
) -> list[Limit]:
    """Limits that leave a party, together with others, less than the bits that it wants."""
    return [
        limit
        for limit in limits
        if any(
            limit.amount("bits") - held(each) < wanted
            for each in limit.whom.coalitions(holders, party)
        )
    ]


def fullest(
    limits: Iterable[Limit], holders: Parties, held: Callable[[Parties], float]
) -> Iterator[tuple[Limit, Parties]]:
    """Every limit, and the coalition of holders under it that holds most; nobody where none do."""
    for limit in limits:
        yield limit, max(limit.whom.coalitions(holders), key=held, default=frozenset())


def must_follow(limits: Iterable[Limit], coalition: Parties, present: Parties) -> bool:
    """Whether the law of what a coalition holds has to be kept beside the memory.

    That of single parties always: they may come back. A coalition that is not followed is covered
    by the bound on everyone, which is valid, but larger.
    """
    return len(coalition) <= 1 or any(_grows_into(each.whom, coalition, present) for each in limits)


def _grows_into(whom: Whom, coalition: Parties, present: Parties) -> bool:
    if whom.size:
        return len(coalition) <= whom.size  # newcomers may join them: a pair becomes a triple
    return bool(whom.names) and coalition == present & whom.names


def find(limits: Iterable[Limit], whom: Whom) -> Limit | None:
    """The limit on these coalitions; ``None`` where there is none."""
    return next((each for each in limits if each.whom == whom), None)


def without(limits: Iterable[Limit], *whom: Whom) -> tuple[Limit, ...]:
    """The limits on other coalitions."""
    return tuple(each for each in limits if each.whom not in whom)


def replaced(limits: Iterable[Limit], *changed: Limit) -> tuple[Limit, ...]:
    """The limits, some on the same coalitions being replaced by others."""
    there = {each.whom: each for each in (*limits, *changed)}
    return in_order(there.values())


def in_order(limits: Iterable[Limit]) -> tuple[Limit, ...]:
    """Limits on any so many parties, on groups, on everyone, on single parties.

    The order of views in a design follows from it, and with it the last digits of the table that
    is drawn from: it must not depend on the order in which limits were set.
    """
    return tuple(sorted(limits, key=lambda each: _place(each.whom)))


def _place(whom: Whom) -> tuple[int, int, str]:
    rank = 0 if whom.size else 2 if not whom.names else 1 if whom.party is None else 3
    return rank, whom.size or 0, str(whom)


# -- in words -----------------------------------------------------------------------------------


def whom_in_words(limits: Iterable[Limit]) -> str:
    """Whom limits are on."""
    return " and ".join(limit.whom.in_words for limit in limits)


def coalition_name(coalition: Parties, everyone: Parties) -> str:
    """How people call a coalition."""
    if coalition == everyone and len(everyone) > 1:
        return "everyone"
    return " + ".join(sorted(coalition))


def times_promise(times: float) -> str:
    """What a limit in times promises."""
    if times == 1:
        return "after any answer, every combination of levels is as likely as before"
    return (
        f"after any answer, no combination of levels is more than {times:,.12g} times as likely as "
        "before"
    )
