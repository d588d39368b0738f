"""What coalitions truly hold, in whole numbers: no rounding, no floating point, nothing of tacit.

A view is the law of all that a coalition has received, of the memory's state and of the cell.
Its masses are whole numbers: records times products of the tables' entries. Logarithms have 200
bits and a proved error. Where a view has too many letters to go on, letters whose laws are nearly
in proportion become one: what is held is then between a lower and an upper bound, both proved:
with W what Y is merged into, I(W, F; X) <= I(Y, F; X) <= I(W, F; X) + I(Y; X, M | W) for all later
letters F, because given cell X and state M the future does not depend on Y.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import log2, sqrt

from flint import arb, ctx

from tests.redteam.raw_ledger import Table

PRECISION = 200

MOST_SEEN = 600
"""Letters that a view may have before some become one; tacit itself carries 512 at most."""

KEPT_SEEN = 300

Numbers = list[int]
"""Whole numbers by cell."""


@dataclass(frozen=True, slots=True)
class Bits:
    """What is held, in bits about one record: between two proved numbers, mostly the same ones."""

    low: arb
    high: arb

    def is_above(self, limit: float) -> bool:
        """For sure."""
        return bool(self.low > arb(limit))

    def is_proved_within(self, limit: float) -> bool:
        """Up to the last of 200 bits, which a release that adds nothing may miss."""
        with ctx.workprec(PRECISION):
            return bool(self.high < arb(limit) + arb(2) ** -100)

    def __float__(self) -> float:
        return float(self.low.mid())


@dataclass(frozen=True, slots=True)
class Release:
    """One recorded release.

    Attributes:
        number: in the ledger.
        party: who received it.
        columns: whole numbers, [state][letter][cell], cells without records left out.
        next_state: [state][letter].
        drawn_from: state -> the state whose row was really used, where states were damaged.
    """

    number: int
    party: str
    columns: list[list[Numbers]]
    next_state: list[list[int]]
    drawn_from: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def of(
        number: int,
        party: str,
        table: Table,
        next_state: list[list[int]],
        cells: list[int],
        drawn_from: Mapping[int, int],
    ) -> Release:
        """From the table as it is stored, [state][cell][letter]."""
        columns = [
            [[rows[x][letter] for x in cells] for letter in range(len(rows[0]))] for rows in table
        ]
        return Release(number, party, columns, next_state, drawn_from)

    def moves(self, state: int) -> Iterable[tuple[int, Numbers, int]]:
        """Letters that a record in a state may get: letter, numbers by cell, state after it."""
        used = self.drawn_from.get(state, state)
        return zip(
            range(len(self.next_state[used])),
            self.columns[used],
            self.next_state[used],
            strict=True,
        )


@dataclass(frozen=True, slots=True)
class View:
    """What some parties hold.

    Attributes:
        masses: (what they have seen, state of the memory) -> whole numbers by cell.
        slack: bits that merging letters may have hidden, at most.
    """

    masses: dict[tuple[int, int], Numbers]
    slack: arb

    def worst_ratio(self) -> Fraction | None:
        """The largest p(seen | x) / p(seen); ``None`` where letters were merged."""
        if self.slack != 0:
            return None
        seen = self.by_letter
        p_x = [sum(column) for column in zip(*seen.values(), strict=True)]
        total = sum(p_x)
        return max(
            Fraction(own * total, sum(mass) * p)
            for mass in seen.values()
            for own, p in zip(mass, p_x, strict=True)
            if own
        )

    @staticmethod
    def of_nothing(counts: Numbers) -> View:
        """Before the first release."""
        return View({(0, 0): counts}, arb(0))

    def after(self, release: Release, *, is_told: bool, most_seen: int = MOST_SEEN) -> View:
        """After a release to one of the parties, or to somebody else."""
        grown: dict[tuple[int, int], Numbers] = {}
        numbers: dict[tuple[int, int], int] = {}
        for (seen, state), mass in self.masses.items():
            for letter, column, after in release.moves(state):
                told = [count * weight for count, weight in zip(mass, column, strict=True)]
                if not any(told):
                    continue
                assert after >= 0, f"release {release.number} leads nowhere from state {state}"
                now = numbers.setdefault((seen, letter), len(numbers)) if is_told else seen
                before = grown.get((now, after))
                grown[now, after] = told if before is None else _sum(before, told)
        return View(grown, self.slack)._merged(most_seen)

    @property
    def by_letter(self) -> dict[int, Numbers]:
        """Whole numbers by cell for everything that may have been seen."""
        return _added(self.masses, lambda key: key[0])

    @property
    def by_state(self) -> dict[int, Numbers]:
        """Whole numbers by cell for every state of the memory."""
        return _added(self.masses, lambda key: key[1])

    def bits(self) -> Bits:
        """I(Y; X)."""
        with ctx.workprec(PRECISION):
            low = information(list(self.by_letter.values()))
            return Bits(low, low + self.slack)

    def _merged(self, most_seen: int) -> View:
        """The same with fewer letters, if it has too many."""
        letters = {seen for seen, _ in self.masses}
        if len(letters) <= most_seen:
            return self
        merged_into = _nearest(self.masses, min(KEPT_SEEN, most_seen))
        fewer = _added(self.masses, lambda key: (merged_into[key[0]], key[1]))
        with ctx.workprec(PRECISION):
            return View(fewer, self.slack + _lost(self.masses, merged_into))


def information(law: list[Numbers]) -> arb:
    """I(Y; X) in bits of a law in whole numbers, [y][x]."""
    p_x = [sum(column) for column in zip(*law, strict=True)]
    total = arb(sum(p_x))
    told = sum_log(n for row in law for n in row)
    spread = sum_log(map(sum, law)) + sum_log(p_x)
    return (told - spread + total * total.log()) / total / arb(2).log()


def sum_log(numbers: Iterable[int]) -> arb:
    """Sum of n log n."""
    return sum((arb(n) * arb(n).log() for n in numbers if n), arb(0))


def _lost(masses: dict[tuple[int, int], Numbers], merged_into: dict[int, int]) -> arb:
    """I(Y; X, M | W) in bits, W being what Y is merged into."""
    total = arb(sum(map(sum, masses.values())))
    fewer = _added(masses, lambda key: (merged_into[key[0]], key[1]))

    def spread(law: dict[tuple[int, int], Numbers]) -> arb:
        by_letter = _added(law, lambda key: key[0])
        told = sum_log(n for row in law.values() for n in row)
        return told - sum_log(sum(row) for row in by_letter.values())

    return (spread(masses) - spread(fewer)) / total / arb(2).log()


def _nearest(masses: dict[tuple[int, int], Numbers], n_kept: int) -> dict[int, int]:
    """For each letter the most frequent one whose law of state and cell is nearest (Hellinger)."""
    weight: dict[int, int] = defaultdict(int)
    for (seen, _), mass in masses.items():
        weight[seen] += sum(mass)
    roots: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
    for (seen, state), mass in masses.items():
        for x, count in enumerate(mass):
            if count:
                roots[seen][state, x] = sqrt(count / weight[seen])
    kept = sorted(weight, key=lambda seen: -weight[seen])[:n_kept]

    def likeness(one: dict[tuple[int, int], float], other: dict[tuple[int, int], float]) -> float:
        return sum(root * other.get(key, 0.0) for key, root in one.items())

    own = {seen: seen for seen in kept}
    rest = (seen for seen in weight if seen not in own)
    return own | {
        seen: max(kept, key=lambda other: likeness(roots[seen], roots[other])) for seen in rest
    }


def _added(masses, key_of):  # type: ignore[no-untyped-def]  # a key of any type
    """Masses with the same new key, added up."""
    added: dict[object, Numbers] = {}
    for key, mass in masses.items():
        new = key_of(key)
        added[new] = _sum(added[new], mass) if new in added else mass
    return added


def _sum(one: Numbers, other: Numbers) -> Numbers:
    return [a + b for a, b in zip(one, other, strict=True)]


def unlikely_bits(n: int, share: float, seen: int) -> float:
    """How unlikely it is, in bits, to see a letter so often in n draws (Chernoff)."""
    found = seen / n

    def term(a: float, b: float) -> float:
        return 0.0 if a == 0 else float("inf") if b == 0 else a * log2(a / b)

    return n * (term(found, share) + term(1 - found, 1 - share))
