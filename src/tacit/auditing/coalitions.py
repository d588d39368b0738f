"""Which limited coalitions a report lists, where there are too many to list them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice
from math import comb

from tacit.limits import Limit, Parties, Whom

MOST_PER_LIMIT = 64
"""Coalitions of one limit that are listed at most."""


def list_coalitions(
    limits: Iterable[Limit], held_bits: Mapping[str, float]
) -> tuple[list[Parties], int]:
    """Coalitions to report, without single parties and everyone; and how many are left out.

    Of too many coalitions of one limit, those of the parties that hold most are listed.

    Args:
        limits: in force.
        held_bits: party -> bits it holds by itself, for everyone present.
    """
    present = frozenset(held_bits)
    named = [each.whom for each in limits]
    chosen = {
        coalition
        for whom in named
        for coalition in islice(_fullest_first(whom, held_bits), MOST_PER_LIMIT)
        if 1 < len(coalition) < len(present)
    }
    sizes = {whom.size for whom in named if whom.size and 1 < whom.size < len(present)}
    every = sum(comb(len(present), size) for size in sizes)
    listed = sum(len(coalition) in sizes for coalition in chosen)
    return sorted(chosen, key=lambda each: (len(each), sorted(each))), every - listed


def _fullest_first(whom: Whom, held_bits: Mapping[str, float]) -> Iterator[Parties]:
    if not whom.size:
        return whom.coalitions(frozenset(held_bits))
    parties = sorted(held_bits, key=lambda party: (-held_bits[party], party))
    return map(frozenset, combinations(parties, min(whom.size, len(parties))))
