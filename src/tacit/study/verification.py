"""Replaying a ledger: is the chain whole, and does every recorded release keep its promises?

Everything is computed anew from what is stored, without the solver: the integer tables, the laws
that follow from them, the bounds on every leakage, the worth of the answers, and a proof of how
near to the best they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting import Account
from tacit.errors import InvalidInputError, KeyFileError
from tacit.ledger import Entry, Ledger
from tacit.study.books import Books, Intent
from tacit.study.closing import DigestKeys
from tacit.study.configuration import Configuration
from tacit.study.drafting import told_law, value_of
from tacit.study.layout import Layout
from tacit.study.optimality import lower_bound
from tacit.study.receipts import Sealed
from tacit.study.records import HoldingRecord
from tacit.study.standing import limited_coalitions
from tacit.tables import Snapshot
from tacit.tables.release_file import digest_of

_SAME_BITS = 1e-9
"""Recorded and recomputed bounds may differ by rounding on another machine, and no more."""

_SAME_VALUE = 1e-9


@dataclass(frozen=True, slots=True)
class Verification:
    """What a replay found.

    Attributes:
        entries: how many were read.
        releases: how many of them were releases.
        problems: everything that is not as it should be, in words.
        notes: what could not be checked, and why.
        proved_gaps: release -> its mean cost is within this of the best, proved here; releases
            judged by information have no such proof.
    """

    entries: int
    releases: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    proved_gaps: dict[int, float]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is amiss."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "entries": self.entries,
            "releases": self.releases,
            "is_whole": self.is_whole,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "proved_gaps": {str(number): gap for number, gap in self.proved_gaps.items()},
        }


@dataclass(slots=True, eq=False)
class Replay:
    """The books as they were before each entry, and what is wrong with it."""

    books: Books
    account: Account
    proved_gaps: dict[int, float]

    @staticmethod
    def begin(created: Entry) -> Replay:
        """Only the first entry is read."""
        books = Books.begin(created)
        return Replay(books, Account.start(books.counts, books.memory, books.policy), {})

    def follow(self, entry: Entry) -> list[str]:
        """Read an entry; what is wrong with it, in words."""
        after = self.books.read_on([entry])
        problems: list[str] = []
        if entry.kind == "policy":
            self.account = _replayed(after)
            problems = list(_policy_problems(after, self.account))
        elif entry.kind == "party":
            problems = list(_party_problems(after, self.account, str(entry.body["party"])))
        elif entry.kind == "intent":
            problems = self._follow_intent(after.intents[entry.number])
        if self.books.is_closed:
            problems.append("it was appended after the study was closed")
        self.books = after
        return [f"entry {entry.number}: {problem}" for problem in problems]

    def _follow_intent(self, intent: Intent) -> list[str]:
        before, party = self.account, intent.wish.party
        shape = (len(before.memory.mass), len(self.books.counts))
        if intent.channel.weights.shape[:2] != shape:
            return [f"its table has shape {intent.channel.weights.shape[:2]}, not {shape}"]
        if not _is_transition(before, intent):
            return ["its table leads to states that are not recorded"]
        self.account, _ = before.after(party, intent.channel, intent.next_state)
        problems = list(self._limit_problems(intent, before))
        value = value_of(told_law(before, intent.wish, intent.channel), intent.wish)
        if abs(value - intent.record.value) > _SAME_VALUE:
            problems.append(f"its answers are worth {value:.9f}, not {intent.record.value:.9f}")
        if not intent.wish.measure.is_information:
            best = lower_bound(before, intent.wish, intent.channel, intent.record.holdings)
            self.proved_gaps[intent.number] = max(value - best, 0.0)
        return problems

    def _limit_problems(self, intent: Intent, before: Account) -> Iterator[str]:
        wanted = self.books.policy.limits_on(intent.wish.party, self.books.holders)
        own = frozenset({intent.wish.party})
        wanted[own] = min(self.books.limits[intent.wish.party], wanted.get(own, np.inf))
        recorded = {frozenset(each.parties): each for each in intent.record.holdings}
        for coalition, limit in wanted.items():
            name = " + ".join(sorted(coalition))
            held = self.account.upper_bits(coalition)
            if coalition not in recorded:
                yield f"the limit on {name} is not among those recorded"
            elif recorded[coalition].limit > limit:
                yield f"it was held to {recorded[coalition].limit:g} bits for {name}, not {limit:g}"
            if held >= limit and held > before.upper_bits(coalition):
                yield f"{name} may hold {held:.9f} bits after it, not below {limit:g}"
        for coalition, holding in recorded.items():
            yield from _holding_problems(holding, self.account.upper_bits(coalition))
        if abs(self.account.everyone_bits - intent.record.everyone_bits) > _SAME_BITS:
            yield (
                f"everyone may hold {self.account.everyone_bits:.9f} bits after it, not "
                f"{intent.record.everyone_bits:.9f} as recorded"
            )


def _replayed(books: Books) -> Account:
    account = Account.start(books.counts, books.memory, books.policy)
    for intent in books.intents.values():
        account, _ = account.after(intent.wish.party, intent.channel, intent.next_state)
    return account


def _holding_problems(holding: HoldingRecord, held: float) -> Iterator[str]:
    if held > holding.bits + _SAME_BITS:
        name = " + ".join(holding.parties)
        yield f"{name} may hold {held:.9f} bits after it, not {holding.bits:.9f} as recorded"


def _policy_problems(books: Books, account: Account) -> Iterator[str]:
    for coalition, limit in limited_coalitions(books).items():
        held = account.upper_bits(coalition)
        if held > limit + _SAME_BITS:
            name = " + ".join(sorted(coalition))
            yield f"it limits {name} to {limit:g} bits, which held {held:.6f} already"


def _party_problems(books: Books, account: Account, party: str) -> Iterator[str]:
    held = account.upper_bits(frozenset({party}))
    if held > books.limits[party] + _SAME_BITS:
        yield f"it limits {party} to {books.limits[party]:g} bits, which held {held:.6f} already"


def _is_transition(before: Account, intent: Intent) -> bool:
    """Whether every letter that can occur leads to a state."""
    occurs = before.memory.mass > 0
    is_told = (intent.channel.weights > 0) & occurs[..., None]
    known = intent.next_state.shape == (len(occurs), intent.channel.weights.shape[-1])
    return known and bool((intent.next_state[is_told.any(axis=1)] >= 0).all())


def verify_study(folder: Path, receipt: str | Path | None = None) -> Verification:
    """Replay a study's ledger, and check its snapshot, its files and a receipt against it.

    Works on a study that cannot be opened because its ledger was tampered with.
    """
    layout, configuration = Layout(folder), Configuration.read(folder)
    with Ledger.open(configuration.ledger or layout.ledger) as ledger:
        problems = [*ledger.verify(configuration.study)]
        if receipt is not None:
            problems += _paper_problems(ledger, configuration.study, Path(receipt))
        if problems:  # nothing that such a ledger says can be relied on
            return Verification(0, 0, tuple(problems), (), {})
        first, *entries = ledger.entries(configuration.study)
    replay = Replay.begin(first)
    for entry in entries:
        problems += replay.follow(entry)
    more, notes = _file_problems(layout, configuration.study, replay.books)
    n_releases = len(replay.books.intents)
    return Verification(
        1 + len(entries), n_releases, (*problems, *more), tuple(notes), replay.proved_gaps
    )


def _paper_problems(ledger: Ledger, study: str, paper: Path) -> list[str]:
    sealed = Sealed.read(paper)
    if sealed.study != study:
        return [f"{paper} is a receipt of another study, {sealed.study}"]
    if not ledger.contains(study, sealed.entry, sealed.hash):
        lost = f"entry {sealed.entry} is not in the ledger as {paper} has it"
        return [f"{lost}: the ledger was rolled back or rewritten since"]
    return []


def _file_problems(layout: Layout, study: str, books: Books) -> tuple[list[str], list[str]]:
    """What is wrong with the snapshot and the release files, and what could not be checked."""
    try:
        keys = DigestKeys.find(layout, study, books)
    except KeyFileError as error:
        return [str(error)], []
    if keys is None:
        return [], ["without a key, neither the snapshot nor release files can be checked"]
    problems, notes = [], []
    try:
        Snapshot.open(layout.snapshot).check(keys.snapshot, books.created.snapshot_digest)
    except InvalidInputError as error:
        problems.append(str(error))
    for intent in books.intents.values():
        if intent.delivery is None:
            notes.append(f"release {intent.number} was recorded but never delivered")
            continue
        file = Path(intent.delivery.file)
        if not file.is_file():
            notes.append(f"release {intent.number} is no longer at {file}")
            continue
        found = next((each for each in _own_first(intent, books) if _is(each, file, keys)), None)
        if found is None:
            problems.append(f"{file} is not release {intent.number} as it was delivered")
        elif found is not intent:
            notes.append(f"{file} was release {intent.number} and is release {found.number} now")
    return problems, notes


def _own_first(intent: Intent, books: Books) -> list[Intent]:
    """All releases, this one first: a later one may have been written over its file."""
    return sorted(books.intents.values(), key=lambda each: each is not intent)


def _is(intent: Intent, file: Path, keys: DigestKeys) -> bool:
    """Whether a file has the content of a release."""
    try:
        digest = digest_of(file, keys.releases[intent.entry.hash])
    except InvalidInputError:
        return False
    return intent.delivery is not None and digest == intent.delivery.digest
