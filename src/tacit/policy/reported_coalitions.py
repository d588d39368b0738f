"""Which limited coalitions a report lists, where there are too many to list them all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from math import comb, fsum

from tacit.policy.policy import AnySize, Limit, Parties, Policy

MOST_PER_LIMIT = 64
"""Coalitions of one limit that are listed at most."""


def list_coalitions(policy: Policy, held_bits: Mapping[str, float]) -> tuple[list[Parties], int]:
    """Coalitions to report, without single parties and everyone; and how many are left out.

    Of too many coalitions of one limit, those are listed whose members, each by itself, hold most
    in sum.

    Args:
        policy: the standing limits.
        held_bits: party -> bits it holds by itself, for everyone present.
    """
    present = frozenset(held_bits)
    chosen = {
        coalition
        for limit in policy.limits
        for coalition in islice(_ranked(limit, held_bits), MOST_PER_LIMIT)
        if 1 < len(coalition) < len(present)
    }
    left_out = sum(_count_missing(limit, chosen, present) for limit in policy.limits)
    return sorted(chosen, key=lambda each: (len(each), sorted(each))), left_out


def _ranked(limit: Limit, held_bits: Mapping[str, float]) -> Iterator[Parties]:
    """The coalitions of a limit, one after the other; those whose members hold most come first."""
    if isinstance(limit, AnySize):  # too many to make them all
        parties = sorted(held_bits, key=lambda party: (-held_bits[party], party))
        choices = _largest_sums([held_bits[party] for party in parties], limit.size)
        return (frozenset(parties[index] for index in indices) for indices in choices)
    coalitions = set(limit.coalitions_among(frozenset(held_bits)))
    return iter(sorted(coalitions, key=lambda each: (-_sum(held_bits, each), sorted(each))))


def _sum(held_bits: Mapping[str, float], coalition: Parties) -> float:
    return fsum(held_bits.get(party, 0.0) for party in coalition)


def _count_missing(limit: Limit, listed: Collection[Parties], present: Parties) -> int:
    """How many coalitions of a limit are not listed; single parties and everyone do not count."""
    if isinstance(limit, AnySize):
        if not 1 < limit.size < len(present):
            return 0
        return comb(len(present), limit.size) - sum(len(each) == limit.size for each in listed)
    limited = {each for each in limit.coalitions_among(present) if 1 < len(each) < len(present)}
    return len(limited.difference(listed))


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
