"""Who is audited: every party, every coalition that the policy limits, and everyone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, islice
from math import comb

from tacit.scheme import Collusion
from tacit.scheme.policy import Parties

MOST_COALITIONS = 64
"""Coalitions of ``Collusion(any_size=...)`` that a report lists at most."""


def coalitions_of(policy: Collusion, held_bits: Mapping[str, float]) -> tuple[list[Parties], int]:
    """Coalitions to report, without single parties and everyone; and how many are left out.

    Of too many coalitions of ``any_size``, those are listed whose members hold most.

    Args:
        policy: the scheme's standing limits.
        held_bits: party -> bits it holds by itself, for everyone present.
    """
    present = frozenset(held_bits)
    groups = [present & frozenset(group) for group in policy.groups]
    chosen, left_out = _coalitions_of_size(policy.any_size, held_bits)
    listed = [c for c in {*groups, *chosen} if 1 < len(c) < len(present)]
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


def _coalitions_of_size(
    size: int | None, held_bits: Mapping[str, float]
) -> tuple[list[Parties], int]:
    if size is None or not 1 < size < len(held_bits):
        return [], 0  # single parties and everyone are reported anyway
    by_bits = sorted(held_bits, key=lambda party: (-held_bits[party], party))
    n_members = size
    while n_members < len(by_bits) and comb(n_members, size) < MOST_COALITIONS:
        n_members += 1
    chosen = islice(combinations(by_bits[:n_members], size), MOST_COALITIONS)
    listed = [frozenset(members) for members in chosen]
    return listed, comb(len(by_bits), size) - len(listed)
