"""Disclosures: levels that fewer than half of the records have, and that answers give away.

An average hides them: to name everybody with a rare level costs few bits per record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.arrays import LN2, Array
from tacit.information.laws import entropy_terms
from tacit.limits import Parties
from tacit.scheme import Variable

SURE = 0.9
"""An answer gives a level away to somebody who is at least so sure of it."""

_TIE = 1e-9
"""Relative. Laws are in double precision; a tie counts as sure, and as half of the records."""

LEAST_PEOPLE = 0.1
"""People. Where fewer are named in expectation, most likely nobody is."""

_MOST_IN_WORDS = 5

_STEPS = 10**9
"""Of what is searched for by halves."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A level that answers give away, about some of the people who have it.

    Attributes:
        column: a column, or something else that was asked.
        level: of the column.
        people: how many of those who have it are named, in expectation.
        of: how many have it.
        sure: share of those named who have it: how sure somebody who reads the answers can be.
        whom: the parties that pool their answers; empty where none exists yet.
        cohort: whom it is about; ``None`` where there is one cohort.
    """

    column: str
    level: str
    people: float
    of: int
    sure: float
    whom: tuple[str, ...]
    cohort: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


Levels = Mapping[tuple[str, str], Disclosure]
"""Column and level -> how it is disclosed."""

NOTHING: Mapping[Parties, Levels] = MappingProxyType({})


def disclosed_levels(
    laws: Iterable[Array], variables: Sequence[Variable], records: int, whom: Sequence[str]
) -> Levels:
    """What any of some laws p(y, class) discloses.

    Args:
        laws: [y, class], each of something that the same parties hold.
        variables: with their laws on the classes.
        records: how many there are.
        whom: who holds it.
    """
    found: dict[tuple[str, str], Disclosure] = {}
    for law in laws:
        p_y = law.sum(axis=1, keepdims=True)
        for each in variables:
            joint = law @ each.p_r_given_x
            is_sure = joint >= SURE * (1 - _TIE) * p_y
            people = records * np.where(is_sure, joint, 0.0).sum(axis=0)
            named = records * np.where(is_sure, p_y, 0.0).sum(axis=0)
            for r in np.flatnonzero((people >= LEAST_PEOPLE) & is_rare(joint.sum(axis=0))):
                key = each.name, str(each.letters[r])
                if key in found and found[key].people >= people[r]:
                    continue
                of, sure = round(records * float(joint[:, r].sum())), float(people[r] / named[r])
                found[key] = Disclosure(*key, float(people[r]), of, min(1.0, sure), tuple(whom))
    return found


def is_rare(p_r: Array) -> Array:
    """Whether fewer than half of the records have a level."""
    return np.asarray(2 * p_r < 1 - _TIE)


def may_disclose(bits: float, p_class: Array, variables: Iterable[Variable]) -> bool:
    """Whether answers can disclose a level, if the worst of them tells no more than some bits."""
    laws = (p_class @ each.p_r_given_x for each in variables)
    return any((2.0**bits * p_r[is_rare(p_r)] >= SURE * (1 - _TIE)).any() for p_r in laws)


def most_named(p: float, bits: float, cap: float = inf) -> tuple[float, float]:
    """The largest share of those with a level that answers can name, and how surely then.

    Exact for one level that a share p of the records have. To name a share f of them, and so many
    others that the named are a share q right, costs h(p) - a h(q) - (1 - a) h((1 - f) p / (1 - a))
    bits with a = f p / q named in all; any other answers that name as many cost more (data
    processing), and so do surer ones.

    Args:
        p: less than 1/2.
        bits: that an answer may tell about a record.
        cap: bits of the worst single answer.

    Returns:
        0 and 0 where nobody can be named with ``SURE``.
    """

    def cost(share: float, sure: float) -> float:
        named = share * p / sure
        others = (1 - share) * p / (1 - named)
        told = named * _entropy(sure) + (1 - named) * _entropy(others)
        return _entropy(p) - told

    surest = min(1.0, p * 2.0 ** min(cap, 1000.0)) if p else 0.0
    if surest < SURE * (1 - _TIE):
        return 0.0, 0.0
    if cost(1.0, SURE) > bits:
        return _largest(lambda share: cost(share, SURE), 0.0, 1.0, bits), SURE
    return 1.0, _largest(lambda sure: cost(1.0, sure), SURE, surest, bits)


def _largest(cost: Callable[[float], float], low: float, high: float, bits: float) -> float:
    """The largest number between two, of so many, whose cost, which grows, is within some bits."""
    step = (high - low) / _STEPS
    above = bisect_right(range(_STEPS + 1), bits, key=lambda k: cost(min(high, low + step * k)))
    return min(high, low + step * max(0, above - 1))


def _entropy(p: float) -> float:
    """Of a coin, in bits."""
    return float(entropy_terms(np.array([p, 1 - p])).sum()) / LN2


def list_disclosures(
    held: Mapping[Parties, Levels], before: Mapping[Parties, Levels] = NOTHING
) -> tuple[Disclosure, ...]:
    """What coalitions can tell, and could not before, most complete first.

    A coalition is left out where parties within it can tell as much without the others.

    Args:
        held: coalition -> what is disclosed to it.
        before: the same before.
    """
    found: list[Disclosure] = []
    for parties in sorted(held, key=lambda each: (len(each), sorted(each))):
        known = before.get(parties, {})
        for key, each in held[parties].items():
            told = [one for one in found if (one.column, one.level) == key]
            within = [one.people for one in told if parties.issuperset(one.whom)]
            least = max([0.0, *within, *([known[key].people] if key in known else [])])
            # One person more is news, and so are twice as many where they were not even one.
            if each.people - least >= min(1.0, max(least, LEAST_PEOPLE)):
                found.append(each)
    return most_complete_first(found)


def most_complete_first(found: Iterable[Disclosure]) -> tuple[Disclosure, ...]:
    """By the share of those with the level who are named, then by how surely."""

    def place(each: Disclosure) -> tuple[Any, ...]:
        share = round(each.people / each.of, 6) if each.of else 1.0
        return -share, -round(each.sure, 6), len(each.whom), -each.of, each.column, each.level

    return tuple(sorted(found, key=place))


def disclosure_in_words(each: Disclosure) -> str:
    """How many are named of how many, and how surely."""
    column = f"({each.column})" if " " in each.column else each.column
    about = "" if each.cohort is None else f" (cohort {each.cohort})"
    return (
        f"{_people(each.people)} of the {each.of:,} with {column} = {each.level}, "
        f"{100 * each.sure:.1f} % sure{about}".replace(".0 % sure", " % sure")
    )


def _people(number: float) -> str:
    """Rounded to one, where there is one; else as a part of one."""
    return f"{number:,.0f}" if number >= 0.95 else f"{number:.2g}"


def disclosure_lines(disclosures: Sequence[Disclosure], verb: str) -> list[str]:
    """Who names whom, a line each; of many, the first and how many more there are.

    Args:
        disclosures: most complete first.
        verb: what answers do, as in ``would name``.
    """
    shown = disclosures[: _MOST_IN_WORDS + (len(disclosures) == _MOST_IN_WORDS + 1)]
    lines = [
        f"{' + '.join(each.whom) or 'answers'} {verb} {disclosure_in_words(each)}" for each in shown
    ]
    more = len(disclosures) - len(shown)
    return lines + [f"{more} more levels like this"] * (more > 0)


def unfollowed_in_words(names: Sequence[str]) -> str:
    """Of whom it is not known whether they can tell more."""
    more = "" if len(names) == 1 else f" and {len(names) - 1} more coalitions"
    return f"{names[0]}{more} may be able to name more people: what they hold is only bounded"
