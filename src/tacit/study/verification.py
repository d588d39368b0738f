"""``tacit verify``: chain, certificates, snapshot, files and receipts, all against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from tacit.errors import InvalidInputError, KeyFileError
from tacit.ledger import Ledger
from tacit.study.books import Books, Intent
from tacit.study.closing import DigestKeys
from tacit.study.configuration import Configuration
from tacit.study.founding import public_facts
from tacit.study.layout import Layout
from tacit.study.receipts import Sealed
from tacit.study.replay import Replay, ReplayError
from tacit.tables import Snapshot
from tacit.tables.release_file import digest_of

PROVED_NEAR = 1e-5
"""In units of the cost: a release that is proved to be no farther from the best needs no note."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a replay found.

    Attributes:
        entries: how many were read.
        releases: how many of them were releases.
        problems: everything that is not as it should be, in words.
        notes: what could not be checked, and why.
        proved_gaps: release -> its mean cost is within this of the best, proved here. The best
            keeps ``RESERVE_BITS`` below each limit, as every design does; releases judged by
            information have no such proof.
        reserve_worths: release -> with these last bits, the best costs less by at most this.
    """

    entries: int
    releases: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    proved_gaps: dict[int, float]
    reserve_worths: dict[int, float] = field(default_factory=dict)

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
            "reserve_worths": {str(number): cost for number, cost in self.reserve_worths.items()},
        }


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
    try:
        for entry in entries:
            problems += replay.follow(entry)
    except ReplayError as error:
        problems.append(f"{error}; nothing after it was checked")
    problems += _folder_problems(layout, replay.books)
    more, notes = _file_problems(layout, configuration.study, replay.books)
    notes += _unproved(replay)
    return Verification(
        1 + len(entries),
        len(replay.books.intents),
        (*problems, *more),
        tuple(notes),
        replay.proved_gaps,
        replay.reserve_worths,
    )


def _unproved(replay: Replay) -> Iterator[str]:
    """Releases that are not proved to be within ``PROVED_NEAR`` of the best, and why."""
    for number, intent in replay.books.intents.items():
        record, gap = intent.record, replay.proved_gaps.get(number)
        if intent.wish.measure.is_information:
            yield f"release {number} is judged by information: no proof shows how near to the best"
        elif gap is not None and gap > PROVED_NEAR and record.bound is not None:
            recorded = record.value - record.bound
            reason = (
                f"its design came no nearer than {recorded:.1e}"
                if recorded > 0.5 * gap
                else f"{recorded:.1e} is recorded, and the search for a proof ended before that"
            )
            yield f"release {number} is proved to be within {gap:.1e} of the best only: {reason}"


def _folder_problems(layout: Layout, books: Books) -> list[str]:
    """Whether the folder is what the ledger says of it."""
    problems = []
    if books.is_closed and layout.key.exists():
        problems.append("the study is closed but its key is still there: run tacit close again")
    try:
        facts = public_facts(Snapshot.open(layout.snapshot))
    except (InvalidInputError, OSError, ValueError, KeyError, BadZipFile) as error:
        return [*problems, f"the snapshot cannot be read: {error}"]
    for name, found in facts.items():
        if getattr(books.created, name) != found:
            problems.append(f"the {name} in the ledger are not those of the snapshot")
    return problems


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
