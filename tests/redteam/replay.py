"""A study's whole ledger replayed without tacit: what was promised, against what is true.

Reads raw rows, follows every coalition of parties that hold something through every release in
whole numbers, and compares with every limit in force, every recorded bound, every recorded worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from flint import arb, ctx

from tests.redteam.limits import Coalition, Limits
from tests.redteam.raw_ledger import (
    RawLedger,
    Row,
    classes_of_cells,
    cohort_of,
    read_ledger,
    read_table_on_cells,
)
from tests.redteam.true_law import (
    MOST_SEEN,
    PRECISION,
    Bits,
    Release,
    View,
    sum_log,
    unlikely_bits,
)
from tests.redteam.worth import worth_of

NOBODY: Coalition = frozenset()

SAME = Fraction(1, 10**9)
"""Worth and laws are recorded as floats, computed in another order."""

UNBELIEVABLE_BITS = 60
"""What should happen once in 2^60 times does not happen."""

DrawnFrom = Mapping[int, Mapping[int, int]]


@dataclass(slots=True)
class Replayed:
    """What a replay found.

    Attributes:
        faults: everything that is not as promised, in words.
        held: number of a release -> coalition -> what it holds after it.
        recorded: number of a release -> coalition -> the recorded bound.
        compared: how many bounds and limits were compared with the truth.
        compared_worst: how many caps and worst answers were.
        undecided: comparisons that the bounds on the truth were too wide for.
        overshot: releases that told their party more than the bits that were asked for.
    """

    faults: list[str] = field(default_factory=list)
    held: dict[int, dict[Coalition, Bits]] = field(default_factory=dict)
    recorded: dict[int, dict[Coalition, float]] = field(default_factory=dict)
    compared: int = 0
    compared_worst: int = 0
    undecided: int = 0
    overshot: dict[int, tuple[float, float]] = field(default_factory=dict)


def replay(
    folder: Path, drawn_from: DrawnFrom | None = None, *, most_seen: int = MOST_SEEN
) -> Replayed:
    """Replay the ledger of the study in a folder.

    Args:
        folder: of the study.
        drawn_from: number of a release -> state -> the state whose row was really used.
        most_seen: letters of a view before some become one.
    """
    return replay_ledger(read_ledger(folder), drawn_from, most_seen=most_seen)


def replay_ledger(
    ledger: RawLedger, drawn_from: DrawnFrom | None = None, *, most_seen: int = MOST_SEEN
) -> Replayed:
    """Replay a ledger that was read."""
    walks = [_Walk.start(ledger, drawn_from or {}, most_seen)]
    walks[0].found.faults += ledger.faults()
    for row in ledger.rows[1:]:
        if row.kind == "cohort":
            walks.append(walks[0].beside(ledger, row, len(walks) + 1))
        for cohort, walk in enumerate(walks, 1):
            if row.kind not in ("intent", "copy") or cohort == cohort_of(row):
                walk.follow(row)
    return walks[0].found


@dataclass(slots=True)
class _Walk:
    """A replay of the releases about one cohort, on its way.

    Attributes:
        joined: what is said of the cohort's records, in the entry that they joined with.
        classes: number of a release -> class of each cell.
        cells: cells that have records.
        drawn: number of a release -> the release, who has its letters, and masses before it.
        views: every coalition of parties that hold something, and nobody.
        bits: what each of them holds.
        chain: sum of I(Rhat; X | M), above what everyone holds.
        limits: in force now, in bits.
        times: in force now, on the worst single answer.
    """

    joined: dict[str, Any]
    classes: dict[int, list[int]]
    drawn_from: DrawnFrom
    most_seen: int
    cells: list[int]
    views: dict[Coalition, View]
    bits: dict[Coalition, Bits]
    chain: arb
    limits: Limits
    times: Limits
    found: Replayed = field(default_factory=Replayed)
    drawn: dict[int, tuple[Release, set[str], View]] = field(default_factory=dict)

    @staticmethod
    def start(ledger: RawLedger, drawn_from: DrawnFrom, most_seen: int) -> _Walk:
        created = ledger.rows[0].body
        cells = [x for x, count in enumerate(created["counts"]) if count]
        view = View.of_nothing([created["counts"][x] for x in cells])
        return _Walk(
            joined=created,
            classes=classes_of_cells(ledger.rows, created),
            drawn_from=drawn_from,
            most_seen=most_seen,
            cells=cells,
            views={NOBODY: view},
            bits={},
            chain=arb(0),
            limits=Limits.at_start("bits", created),
            times=Limits.at_start("times", created),
        )

    def beside(self, ledger: RawLedger, row: Row, cohort: int) -> _Walk:
        """The walk of a cohort that joins; limits are the study's, and faults go to one list."""
        counts = row.body["counts"]
        cells = [x for x, count in enumerate(counts) if count]
        return replace(
            self,
            joined=self.joined | row.body,
            classes=classes_of_cells(ledger.rows, row.body, cohort),
            cells=cells,
            views={NOBODY: View.of_nothing([counts[x] for x in cells])},
            bits={},
            chain=arb(0),
            drawn={},
        )

    @property
    def holders(self) -> Coalition:
        return frozenset().union(*self.views)

    def follow(self, row: Row) -> None:
        """Read the next entry."""
        match row.kind:
            case "limit":
                self.limits = self.limits.after(row.body)
                self.times = self.times.after(row.body)
            case "intent":
                self._release(row)
            case "copy":
                self._copy(row)
        self._compare_limits(row)

    def _release(self, row: Row) -> None:
        body = row.body
        party = body["party"]
        release = Release.of(
            row.number,
            party,
            read_table_on_cells(row.payload, self.classes[row.number]),
            body["next_state"],
            self.cells,
            self.drawn_from.get(row.number, {}),
        )
        before = self.views[NOBODY]
        fed = self.limits.fed_by(party, self.holders)
        held_before = self.bits.get(frozenset({party}))
        with ctx.workprec(PRECISION):
            self.chain += _told_beside_memory(before, release)
        self._advance(release)
        self.drawn[row.number] = release, {party}, before
        self._compare_gain(row.number, body, held_before)
        self.found.held[row.number] = dict(self.bits)
        self._compare_records(row.number, body, fed)
        self._compare_worth(row.number, body, release, before)

    def _advance(self, release: Release) -> None:
        """Every coalition after a release; the party's own, if it is new, begins with it."""
        party, views = release.party, dict(self.views)
        views.update(
            {who | {party}: view for who, view in self.views.items() if party not in self.holders}
        )
        self.views = {
            who: view.after(release, is_told=party in who, most_seen=self.most_seen)
            for who, view in views.items()
        }
        for who in self.views:
            if party in who:
                self.bits[who] = self.views[who].bits()

    def _copy(self, row: Row) -> None:
        """Letters of an earlier release, for one more party: nothing is drawn."""
        body, party = row.body, row.body["party"]
        release, having, before = self.drawn[body["source"]]
        fed = self.limits.fed_by(party, self.holders)
        held_before = self.bits.get(frozenset({party}))
        known = {who | {party} for who in self.views if party not in self.holders or party in who}
        self.views |= {who: self._with_copy(who, body) for who in known}
        having.add(party)
        self.bits |= {who: self.views[who].bits() for who in known}
        self._compare_gain(row.number, body, held_before)
        self.found.held[row.number] = dict(self.bits)
        self._compare_records(row.number, body, fed)
        self._compare_worth(row.number, body, release, before)

    def _with_copy(self, who: Coalition, body: Mapping[str, Any]) -> View:
        """What a coalition knows that its party is given a copy: all releases once more."""
        view = View.of_nothing([self.joined["counts"][x] for x in self.cells])
        for number, (release, having, _) in self.drawn.items():
            is_told = number == body["source"] or bool(having & who)
            view = view.after(release, is_told=is_told, most_seen=self.most_seen)
        return view

    def _held(self, coalition: Coalition) -> Bits:
        """What a coalition holds; its upper bound is also that of everyone around it."""
        own = self.bits[coalition]
        around = [bits.high for who, bits in self.bits.items() if coalition <= who]
        return Bits(own.low, min([*around, self.chain], key=lambda high: float(high.mid())))

    # -- comparing -----------------------------------------------------------------------------

    def _compare_limits(self, row: Row) -> None:
        """Every coalition with the limits that are in force after an entry."""
        for coalition in self.bits:
            limit = self.limits.on(coalition)
            if limit < inf:
                self._compare(coalition, limit, f"after entry {row.number} the limit of")
            times = self.times.on(coalition)
            if times < inf:
                what = f"after entry {row.number} the times allowed to"
                self._compare_worst(coalition, Fraction(times), what)

    def _compare_worst(self, coalition: Coalition, most: Fraction | arb, what: str) -> None:
        """The worst single answer of a coalition with a bound on its factor, in whole numbers."""
        ratio = self.views[coalition].worst_ratio()
        self.found.compared_worst += 1
        if ratio is None:
            self.found.undecided += 1
            return
        with ctx.workprec(PRECISION):
            is_above = (
                ratio > most
                if isinstance(most, Fraction)
                else arb(ratio.numerator) > most * ratio.denominator
            )
        if is_above:
            name = " + ".join(sorted(coalition))
            self.found.faults.append(
                f"{what} {name} is {float(most)!r}, an answer makes a cell {float(ratio)!r} times "
                "as likely"
            )

    def _compare(self, coalition: Coalition, bound: float, what: str) -> None:
        held = self._held(coalition)
        self.found.compared += 1
        if held.is_above(bound):
            name = " + ".join(sorted(coalition))
            self.found.faults.append(f"{what} {name} is {bound!r}, it holds {float(held)!r}")
        elif not held.is_proved_within(bound):
            self.found.undecided += 1

    def _compare_records(
        self, number: int, body: Mapping[str, Any], fed: dict[Coalition, float]
    ) -> None:
        """What a release says of coalitions with what is true."""
        recorded = {frozenset(each["parties"]): each for each in body["holdings"]}
        self.found.recorded[number] = {who: each["bits"] for who, each in recorded.items()}
        for coalition, each in recorded.items():
            self._compare(coalition, each["bits"], f"release {number}: the bound on")
            what = f"release {number}: the worst answer of"
            self._compare_worst(coalition, arb(2) ** arb(each["worst_answer"]), what)
        self._compare(self.holders, body["everyone_bits"], f"release {number}: the bound on")
        for coalition, limit in fed.items():
            name = " + ".join(sorted(coalition))
            if coalition not in recorded:
                self.found.faults.append(f"release {number} does not record the limit of {name}")
            elif (recorded[coalition]["limit"] or inf) > limit:
                seen = recorded[coalition]["limit"]
                self.found.faults.append(
                    f"release {number} holds {name} to {seen!r}, not to {limit!r}"
                )

    def _compare_gain(self, number: int, body: Mapping[str, Any], before: Bits | None) -> None:
        """What a release told its party with what was asked for."""
        if body["bits"] is None:
            return
        with ctx.workprec(PRECISION):
            after = self.bits[frozenset({body["party"]})]
            gain = after.low - (arb(0) if before is None else before.high)
        if gain > arb(body["bits"]):
            self.found.overshot[number] = (float(gain.mid()), body["bits"])

    def _compare_worth(
        self, number: int, body: Mapping[str, Any], release: Release, before: View
    ) -> None:
        worth = worth_of(body, self.joined, release, before.by_state)
        for name, true in (("value", worth.value), ("blind", worth.blind)):
            is_same = body[name] is true is None or (
                None not in (body[name], true)
                and abs(Fraction(body[name]) - true) <= SAME * max(1, abs(true))
            )
            if not is_same:
                self.found.faults.append(
                    f"release {number}: {name} is {true and float(true)!r}, not {body[name]!r}"
                )
        is_information = body["measure"]["kind"] == "information"
        bound = body["bound"]
        if bound is not None and not is_information and bound > worth.value + SAME:
            self.found.faults.append(f"release {number}: nothing beats {bound!r}, says the ledger")
        pairs = (
            pair
            for told, law in zip(body["p_rhat_given_r"], worth.law, strict=True)
            for pair in (() if law is None else zip(told, law, strict=True))
        )
        if any(abs(Fraction(told) - true) > SAME for told, true in pairs):
            self.found.faults.append(f"release {number}: its recipient is told another law")


def _told_beside_memory(before: View, release: Release) -> arb:
    """I(Rhat; X | M) in bits, M being the memory before a release."""
    told, spread_letters, spread_cells, spread_states = [], [], [], []
    for state, mass in before.by_state.items():
        rows = [
            [count * weight for count, weight in zip(mass, column, strict=True)]
            for _, column, _ in release.moves(state)
        ]
        told += [n for row in rows for n in row]
        spread_letters += [sum(row) for row in rows]
        spread_cells += [sum(column) for column in zip(*rows, strict=True)]
        spread_states.append(sum(map(sum, rows)))
    total = arb(sum(spread_states))
    nats = sum_log(told) - sum_log(spread_letters) - sum_log(spread_cells) + sum_log(spread_states)
    return nats / total / arb(2).log()


def unlikely_draws(
    folder: Path, x: Sequence[int], letters: Sequence[Sequence[int]]
) -> Iterator[str]:
    """What real records got that their recorded law cannot have given them.

    Args:
        folder: of the study.
        x: cell of every record.
        letters: for every release, in order, the letter that each record got.
    """
    rows = read_ledger(folder).rows
    intents = [row for row in rows if row.kind == "intent"]
    counts = rows[0].body["counts"]
    laws = {(cell, ()): {0: 1} for cell, count in enumerate(counts) if count}
    classes = classes_of_cells(rows, rows[0].body)
    for row in intents:
        table = read_table_on_cells(row.payload, classes[row.number])
        laws = _histories_after(laws, table, row.body["next_state"])
    seen = Counter(zip(x, zip(*letters, strict=True), strict=True))
    scale = 2 ** (32 * len(intents))
    for (cell, history), count in seen.items():
        if (cell, history) not in laws:
            yield f"{count} records of cell {cell} got {history}, which cannot be"
    for (cell, history), by_state in laws.items():
        share = sum(by_state.values()) / scale
        if unlikely_bits(counts[cell], share, seen[cell, history]) > UNBELIEVABLE_BITS:
            yield (
                f"{seen[cell, history]} of {counts[cell]} records of cell {cell} got {history}, "
                f"{counts[cell] * share:.1f} were expected"
            )


Histories = dict[tuple[int, tuple[int, ...]], dict[int, int]]


def _histories_after(
    laws: Histories, table: list[list[list[int]]], next_state: list[list[int]]
) -> Histories:
    """Whole numbers for every cell and sequence of letters, by the state that it leads to."""
    grown: Histories = {}
    for (cell, history), by_state in laws.items():
        for state, mass in by_state.items():
            for letter, weight in enumerate(table[state][cell]):
                if weight:
                    states = grown.setdefault((cell, (*history, letter)), {})
                    after = next_state[state][letter]
                    states[after] = states.get(after, 0) + mass * weight
    return grown
