"""What coalitions hold, from the ledger's integer tables alone: every history, no rounding.

Nothing of tacit's accounting is used: masses are whole numbers, logarithms have 200 bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from math import inf, log2
from pathlib import Path

from flint import arb, ctx

from tacit.limits import Limit
from tests.study.clinic import (
    channel_of,
    classes_of,
    counts_of,
    holders_of,
    intents_of,
    next_state_of,
)

_PRECISION = 200

Coalition = tuple[str, ...]


def exact_bits(folder: Path, coalition: Collection[str]) -> arb:
    """I(Y; X) of all that a coalition has received, in bits."""
    return _information(exact_law(folder, coalition))


def exact_worst_answer(folder: Path, coalition: Collection[str]) -> float:
    """The largest log2 p(x | y) / p(x) of all that a coalition has received."""
    law = exact_law(folder, coalition)
    p_x = [sum(column) for column in zip(*law, strict=True)]
    ratios = (
        Fraction(mass * sum(p_x), sum(row) * total)
        for row in law
        for mass, total in zip(row, p_x, strict=True)
        if mass
    )
    return log2(max(ratios))


def exact_law(folder: Path, coalition: Collection[str]) -> list[list[int]]:
    """p(y, x) of all that a coalition has received, in whole numbers, [y, x]."""
    counts: list[int] = counts_of(folder).tolist()
    masses: dict[tuple[tuple[int, ...], int], list[int]] = {((), 0): counts}
    classes, holders = classes_of(folder), holders_of(folder)
    for intent in intents_of(folder):
        weights = channel_of(intent).weights[:, classes[intent.number]].tolist()
        next_state = next_state_of(intent).tolist()
        is_told = not holders[intent.number].isdisjoint(coalition)
        grown: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(lambda: [0] * len(counts))
        for (seen, state), mass in masses.items():
            for letter, after in enumerate(next_state[state]):
                told = (*seen, letter) if is_told else seen
                sums = grown[told, after]
                for x, count in enumerate(mass):
                    sums[x] += count * weights[state][x][letter]
        masses = {key: mass for key, mass in grown.items() if any(mass)}
    by_view: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * len(counts))
    for (seen, _), mass in masses.items():
        by_view[seen] = [one + other for one, other in zip(by_view[seen], mass, strict=True)]
    return list(by_view.values())


def _information(law: list[list[int]]) -> arb:
    """I(Y; X) of a law in whole numbers, [y, x]."""
    p_x = [sum(column) for column in zip(*law, strict=True)]
    with ctx.workprec(_PRECISION):
        total = arb(sum(p_x))
        nats = _sum_log(law) - _sum_log([[sum(row) for row in law], p_x]) + total * total.log()
        return nats / total / arb(2).log()


def _sum_log(numbers: list[list[int]]) -> arb:
    return sum((arb(n) * arb(n).log() for row in numbers for n in row if n), arb(0))


def coalitions(parties: Collection[str]) -> Iterator[Coalition]:
    for size in range(1, len(parties) + 1):
        yield from combinations(sorted(parties), size)


def limit_on(coalition: Coalition, limits: Iterable[Limit]) -> float:
    """The least limit in bits that says something about a coalition or one that contains it."""
    return min((each.amount("bits") for each in limits if is_on(each, coalition)), default=inf)


def is_on(limit: Limit, coalition: Collection[str]) -> bool:
    """By the words alone: a limit on some parties is one on every part of them."""
    whom = str(limit.whom)
    if whom == "everyone":
        return True
    if whom.startswith("any "):
        return len(coalition) <= int(whom.removeprefix("any "))
    return set(coalition) <= set(whom.split("+"))
