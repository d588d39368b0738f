"""Sampling a recorded release and writing its file: the same bytes whenever it is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from tacit.sampling import StudyKey
from tacit.study.books.books import Books, Intent
from tacit.study.folder import Layout
from tacit.study.setup.digest_keys import draw_key, release_digest_key, states_key
from tacit.tables.delivery.engine import Engine, Memory, MissingStatesError, Progress, Records
from tacit.tables.delivery.release_file import Alphabet, RecordedRelease

_STATES_KEPT = 2
"""States of older releases are computed anew when an old release is asked for again."""

_MOST_TRIES = 10
"""Another process may remove states before they are read. If that happens so often, the disk is
bad."""


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch:
    """All that is needed to write a study's releases.

    Attributes:
        study: the study's id.
        layout: of its folder.
        engine: what reads and writes the records.
        records: the encoded table.
        key: the study's.
        is_id_public: whether release files carry raw ids.
    """

    study: str
    layout: Layout
    engine: Engine[Any]
    records: Records
    key: StudyKey
    is_id_public: bool

    def write(
        self, books: Books, intent: Intent, target: Path, progress: Progress | None = None
    ) -> str:
        """Write a release's file, and return the digest of its content."""
        release, tries = self._release(intent), 0
        expected = None if intent.delivery is None else intent.delivery.digest
        while True:
            try:
                digest = self.engine.deliver(
                    self.records,
                    self._memory,
                    self._remember_until(books, intent),
                    release,
                    target,
                    expected=expected,
                    progress=progress,
                )
            except MissingStatesError:
                tries += 1
                if tries == _MOST_TRIES:
                    raise
            else:
                self._forget_old_states(books)
                return digest

    def problems(self, books: Books) -> Iterator[str]:
        """What is not as it comes out when every release is drawn again, in words."""
        intents = list(books.intents.values())
        releases = list(map(self._release, intents))
        redrawn = self.engine.redraw(self.records, self._memory, releases)
        for intent, (digest, is_remembered) in zip(intents, redrawn, strict=True):
            if intent.delivery is not None and intent.delivery.digest != digest:
                yield f"release {intent.number}, drawn again, is not what was delivered"
            # 0.1 did not seal states: they are never believed.
            if not (is_remembered or intent.is_of_0_1):
                yield (
                    f"the states after release {intent.number} are damaged: they are computed "
                    "again when they are needed"
                )

    @property
    def _memory(self) -> Memory:
        return Memory(self.layout.states, states_key(self.key, self.study))

    def _release(self, intent: Intent) -> RecordedRelease:
        party, shares = intent.wish.party, intent.record.time_shares

        def pseudonym_key(attempt: int) -> bytes:
            return self.key.derive("pseudonym", self.study, party, attempt)

        return RecordedRelease(
            intent.state_name,
            intent.channel,
            intent.next_state,
            draw_key(self.key, intent),
            release_digest_key(self.key, intent),
            Alphabet(intent.record.letters, shares if shares > 1 else None),
            None if self.is_id_public else pseudonym_key,
        )

    def _remember_until(self, books: Books, intent: Intent) -> RecordedRelease | None:
        """The release before another, its states kept: from the nearest kept ones, or the start."""
        before, missing = None, []
        for earlier in reversed(list(_before(books, intent))):
            release = self._release(earlier)
            if self.engine.keeps(self.records, self._memory, release):
                before = release
                break
            missing.append(release)
        for release in reversed(missing):
            self.engine.remember(self.records, self._memory, before, release)
            before = release
        return before

    def _forget_old_states(self, books: Books) -> None:
        """Remove states of older releases; what the ledger does not know is left as evidence."""
        old = list(books.intents.values())[:-_STATES_KEPT]
        self.engine.forget(self._memory, [intent.state_name for intent in old])


def _before(books: Books, intent: Intent) -> Iterable[Intent]:
    return takewhile(lambda each: each.number < intent.number, books.intents.values())
