"""Who is audited: every party, every coalition that the policy limits, and everyone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from math import comb, fsum

from tacit.scheme import Collusion
from tacit.scheme.policy import Parties

MOST_COALITIONS = 64
"""Coalitions of ``Collusion(any_size=...)`` that a report lists at most."""


def coalitions_of(policy: Collusion, held_bits: Mapping[str, float]) -> tuple[list[Parties], int]:
    """Coalitions to report, without single parties and everyone; and how many are left out.

    Of too many coalitions of ``any_size``, those are listed whose members, each by itself, hold
    most in sum.

    Args:
        policy: the scheme's standing limits.
        held_bits: party -> bits it holds by itself, for everyone present.
    """
    present = frozenset(held_bits)
    groups = {present & frozenset(group) for group in policy.groups}
    chosen = _coalitions_of_size(policy.any_size, held_bits)
    listed = [c for c in groups | chosen if 1 < len(c) < len(present)]
    left_out = 0
    if chosen and policy.any_size is not None:
        n_listed = sum(len(coalition) == policy.any_size for coalition in listed)
        left_out = comb(len(present), policy.any_size) - n_listed
    return sorted(listed, key=lambda coalition: (len(coalition), sorted(coalition))), left_out


def limit_on(policy: Collusion, parties: Parties, present: Parties) -> float | None:
    """The smallest standing limit on these parties: on them or on any coalition around them."""
    limits = [bits for group, bits in policy.groups.items() if parties <= frozenset(group)]
    if policy.everyone is not None:
        limits.append(policy.everyone)
    if policy.any_size is not None and policy.bits is not None:
        size = min(policy.any_size, len(present))
        limits.extend([policy.bits] * (len(parties) <= size))
    return min(limits, default=None)


def _coalitions_of_size(size: int | None, held_bits: Mapping[str, float]) -> set[Parties]:
    if size is None or not 1 < size < len(held_bits):
        return set()  # single parties and everyone are reported anyway
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
