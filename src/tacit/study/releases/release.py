"""Releasing: record the best answer to a request, sample it, write its file.

What is recorded decides every letter, so the same bytes are written whenever it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np

from tacit.errors import DeliveryError
from tacit.sampling import Sampler, StudyKey
from tacit.study.books.books import Books, Intent
from tacit.study.books.records import DeliveredRecord
from tacit.study.folder import Layout
from tacit.study.journal import Journal
from tacit.study.keys import draw_key, paper_key, release_digest_key, states_key
from tacit.study.reports.receipts import Receipt, certificate_of, certificate_path, receipt_of
from tacit.study.requests.draft import intent_record
from tacit.study.requests.refusals import draft_or_refuse
from tacit.study.requests.request import Request
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


def find_intent(
    journal: Journal, read: Callable[[Books], Request], *, again: bool
) -> Intent | None:
    """A request's release, if it was recorded before.

    One whose file was never written is taken up, even where a new one is asked for.

    Args:
        journal: of the study.
        read: makes the request of the latest books, and refuses what they do not allow.
        again: whether a new release is asked for.
    """
    books = journal.refresh()
    recorded = books.find(read(books).identity)
    is_new = recorded is None or (again and recorded.delivery is not None)
    return None if is_new else recorded


def record_intent(
    journal: Journal,
    read: Callable[[Books], Request],
    *,
    max_error: float | None,
    again: bool,
) -> Intent:
    """Design a request's release and record it: this spends its bits.

    It is designed outside any lock, and appended only if nothing else was appended meanwhile. If
    another process has recorded the same request meanwhile, that release is taken.
    """
    while True:
        recorded = find_intent(journal, read, again=again)
        if recorded is not None:
            return recorded
        books = journal.books
        draft = draft_or_refuse(books, read(books), max_error)
        record = intent_record(draft, books.past)
        number = journal.record_intent(record, draft.channel.to_bytes(), books.head)
        if number is not None:
            return journal.books.intents[number]


def deliver_release(
    journal: Journal,
    writer: ReleaseWriter,
    intent: Intent,
    target: Path,
    progress: Progress | None,
) -> Receipt:
    """Write a recorded release's file and certificate, and record that they were written."""
    digest = writer.write(journal.books, intent, target, progress)
    seal_key = paper_key(writer.key, journal.study)
    digest_key = release_digest_key(writer.key, intent)
    paper = certificate_of(journal.books, intent, digest, digest_key).sealed(seal_key)
    try:
        paper.write(certificate_path(target))
    except OSError as error:
        raise DeliveryError(
            f"{certificate_path(target)} cannot be written ({error.strerror}): "
            "mend that and run the same command again, which costs nothing"
        ) from error

    def make(books: Books) -> DeliveredRecord | None:
        if books.intents[intent.number].delivery is not None:
            return None
        return DeliveredRecord(intent=intent.number, digest=digest, file=str(target.resolve()))

    journal.append("delivered", make)
    return receipt_of(journal.books, journal.books.intents[intent.number]).sealed(seal_key)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseWriter:
    """Samples and writes a study's recorded releases.

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
        party = intent.request.party
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
