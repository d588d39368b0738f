"""Sampling a recorded release and writing its file: the same bytes whenever it is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np

from tacit.errors import DeliveryError
from tacit.sampling import Sampler, StudyKey
from tacit.study.books.books import Books, Intent
from tacit.study.folder import Layout
from tacit.study.setup.digest_keys import draw_key, release_digest_key, states_key
from tacit.tables import Snapshot
from tacit.tables.delivery.local import (
    Delivery,
    Draw,
    Progress,
    Pseudonyms,
    PublicIds,
    deliver,
    redraw,
    remember,
)
from tacit.tables.delivery.release_file import Alphabet
from tacit.tables.delivery.states import StateFiles, States

_STATE_FILES_KEPT = 2
"""Older ones are computed anew when an old release is asked for again."""

_MOST_TRIES = 10
"""States that are gone as often as that were not cleared up by somebody faster: the disk is bad."""


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch:
    """All that is needed to write a study's releases.

    Attributes:
        study: the study's id.
        layout: of its folder.
        snapshot: the encoded table.
        key: the study's.
        is_id_public: whether release files carry raw ids.
    """

    study: str
    layout: Layout
    snapshot: Snapshot
    key: StudyKey
    is_id_public: bool

    def write(
        self, books: Books, intent: Intent, target: Path, progress: Progress | None = None
    ) -> str:
        """Write a release's file, and return the digest of its content."""
        delivery = Delivery(
            self._draw(intent, self._states_before(books, intent)),
            _alphabet(intent),
            self._names(intent),
            self._state_files,
            intent.state_name,
        )
        digest = deliver(
            delivery,
            target,
            digest_key=release_digest_key(self.key, intent),
            expected=None if intent.delivery is None else intent.delivery.digest,
            progress=progress,
        )
        self._remove_old_states(books)
        return digest

    def problems(self, books: Books) -> Iterator[str]:
        """What is not as it comes out when every release is drawn again, in words."""
        states = self._state_files.start()
        for intent in books.intents.values():
            draw = self._draw(intent, states)
            digest, states = redraw(
                draw,
                _alphabet(intent),
                self._names(intent),
                digest_key=release_digest_key(self.key, intent),
            )
            if intent.delivery is not None and intent.delivery.digest != digest:
                yield f"release {intent.number}, drawn again, is not what was delivered"
            if not self._are_states_kept(intent, states):
                yield (
                    f"the states after release {intent.number} are damaged: they are computed "
                    "again when they are needed"
                )

    def _are_states_kept(self, intent: Intent, states: States) -> bool:
        """Whether the state file of a release, if there is one, holds these states."""
        if intent.is_of_0_1 or not self._state_files.path(intent.state_name).exists():
            return True  # 0.1 did not seal states: they are never believed
        kept = self._load(intent)
        return kept is not None and np.array_equal(kept, states)

    @property
    def _state_files(self) -> StateFiles:
        seal_key = states_key(self.key, self.study)
        return StateFiles(self.layout.states, self.snapshot.n_records, seal_key)

    def _names(self, intent: Intent) -> Pseudonyms | PublicIds:
        if self.is_id_public:
            return PublicIds(self.snapshot.ids_path)
        party = intent.wish.party
        return Pseudonyms(lambda attempt: self.key.derive("pseudonym", self.study, party, attempt))

    def _draw(self, intent: Intent, states: States) -> Draw:
        return Draw(
            self.snapshot.x,
            states,
            Sampler(intent.channel, intent.next_state),
            draw_key(self.key, intent),
        )

    def _states_before(self, books: Books, intent: Intent) -> States:
        """Every record's state before a release: from the nearest state file, or from the start."""
        states, missing = self._state_files.start(), list[Intent]()
        for earlier in reversed(list(_before(books, intent))):
            found = self._load(earlier)
            if found is not None:
                states = found
                break
            missing.append(earlier)
        for earlier in reversed(missing):
            states = self._remembered(earlier, states)
        return states

    def _remembered(self, intent: Intent, before: States) -> States:
        """Write the states after a release again, and read them."""
        for _ in range(_MOST_TRIES):  # another process may clear them up before they are read
            try:
                remember(self._draw(intent, before), self._state_files, intent.state_name)
            except OSError as error:
                raise DeliveryError(
                    f"the states in {self.layout.states} cannot be written ({error.strerror}): "
                    "mend that and run the same command again, which costs nothing"
                ) from error
            states = self._load(intent)
            if states is not None:
                return states
        raise DeliveryError(
            f"the states written to {self.layout.states} cannot be read again: check the disk and "
            "run the same command again, which costs nothing"
        )

    def _load(self, intent: Intent) -> States | None:
        return self._state_files.load(intent.state_name, int(intent.next_state.max()) + 1)

    def _remove_old_states(self, books: Books) -> None:
        """Remove states of older releases; what the ledger does not know is left as evidence."""
        for intent in list(books.intents.values())[:-_STATE_FILES_KEPT]:
            self._state_files.path(intent.state_name).unlink(missing_ok=True)


def _before(books: Books, intent: Intent) -> Iterator[Intent]:
    return takewhile(lambda each: each.number < intent.number, books.intents.values())


def _alphabet(intent: Intent) -> Alphabet:
    shares = intent.record.time_shares
    return Alphabet(intent.record.letters, shares if shares > 1 else None)
