"""Who is audited: every party, every coalition that the policy limits, and everyone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from math import comb, fsum

from tacit.policy import Parties
from tacit.scheme import Policy

MOST_COALITIONS = 64
"""Coalitions of each size of ``Policy(sizes=...)`` that a report lists at most."""


def coalitions_of(policy: Policy, held_bits: Mapping[str, float]) -> tuple[list[Parties], int]:
    """Coalitions to report, without single parties and everyone; and how many are left out.

    Of too many coalitions of a size, those are listed whose members, each by itself, hold most in
    sum.

    Args:
        policy: the scheme's standing limits.
        held_bits: party -> bits it holds by itself, for everyone present.
    """
    present = frozenset(held_bits)
    # Single parties and everyone are reported anyway.
    sizes = [size for size in policy.sizes if 1 < size < len(present)]
    chosen = {present & frozenset(group) for group in policy.groups}
    chosen |= {each for size in sizes for each in _coalitions_of_size(size, held_bits)}
    listed = [coalition for coalition in chosen if 1 < len(coalition) < len(present)]
    n_limited = sum(comb(len(present), size) for size in sizes)
    left_out = n_limited - sum(len(coalition) in sizes for coalition in listed)
    return sorted(listed, key=lambda coalition: (len(coalition), sorted(coalition))), left_out


def _coalitions_of_size(size: int, held_bits: Mapping[str, float]) -> set[Parties]:
    by_bits = sorted(held_bits, key=lambda party: (-held_bits[party], party))
    bits = [held_bits[party] for party in by_bits]
    chosen = islice(_by_sum(bits, size), MOST_COALITIONS)
    return {frozenset(by_bits[index] for index in indices) for indices in chosen}


def _by_sum(bits: Sequence[float], size: int) -> Iterator[tuple[int, ...]]:
    """Every choice of ``size`` of the descending ``bits``, by indices, largest sum first.

    Moving one index to the next party lowers the sum, and every choice is reached so from the
    first ones: what waits is next to what has been told, never all choices.
    """
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
