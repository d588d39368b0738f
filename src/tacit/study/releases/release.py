"""Releasing: record the best answer to a request, sample it, write its file.

What is recorded decides every letter, so the same bytes are written whenever it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from tacit.errors import DeliveryError, InfeasibleError
from tacit.sampling import StudyKey
from tacit.storage import free_to_clear, in_use
from tacit.study.books.books import Books, Intent, Request
from tacit.study.books.records import DeliveredRecord
from tacit.study.folder import Layout, paper_key, states_key
from tacit.study.journal import Journal
from tacit.study.reports.receipts import Receipt, certificate_of, certificate_path, receipt_of
from tacit.study.requests.draft import Draft, draft, intent_record
from tacit.study.requests.refusals import coarse_refusal, refusal_with_suggestion, worthless_refusal
from tacit.tables.delivery.engine import Engine, Progress, Records, StateStore
from tacit.tables.delivery.release_file import Alphabet, RecordedRelease

_STATES_KEPT = 2
"""States of older releases are computed anew when an old release is asked for again."""


def draft_or_refuse(books: Books, request: Request, max_error: float | None = None) -> Draft:
    """The best release for a request, or a refusal that suggests what would be answered.

    Args:
        books: of the study.
        request: what is asked.
        max_error: refuse answers whose mean cost is above this.
    """
    try:
        best = draft(books, request)
    except InfeasibleError as error:
        raise refusal_with_suggestion(books, request, error) from None
    if not best.is_worth_it:
        raise worthless_refusal(books, best)
    if max_error is not None and best.value > max_error:
        raise coarse_refusal(books, best, max_error)
    return best


def find_intent(
    journal: Journal, read: Callable[[Books], Request], *, again: bool
) -> Intent | None:
    """A request's release, if it was recorded before.

    If its file was never written, the recorded release is returned even if ``again`` is true.

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
        books = journal.books
        best = draft_or_refuse(books, read(books), max_error)
        record = intent_record(best, books.past)
        number = journal.record_intent(record, best.channel.to_bytes(), books.head)
        if number is not None:
            return journal.books.intents[number]
        recorded = find_intent(journal, read, again=again)
        if recorded is not None:
            return recorded


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
    digest_key = intent.digest_key(writer.key)
    paper = certificate_of(journal.books, intent, digest, digest_key).sealed(seal_key)
    try:
        paper.write(certificate_path(target))
    except OSError as error:
        raise DeliveryError(
            f"{certificate_path(target)} cannot be written ({error.strerror}): "
            "mend that and ask for the same release again, which costs nothing"
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
        # Another process must not remove states that are written here before they are read.
        with in_use(self.layout.folder):
            digest = self.engine.deliver(
                self.records,
                self._memory,
                self._remember_until(books, intent),
                self._release(intent),
                target,
                expected=None if intent.delivery is None else intent.delivery.digest,
                progress=progress,
            )
        self._forget_old_states(books)
        return digest

    def problems(self, books: Books) -> Iterator[str]:
        """Draw every release again; yield a sentence for each difference."""
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
    def _memory(self) -> StateStore:
        return StateStore(self.layout.states, states_key(self.key, self.study))

    def _release(self, intent: Intent) -> RecordedRelease:
        party, shares = intent.request.party, intent.record.time_shares

        def pseudonym_key(attempt: int) -> bytes:
            return self.key.derive("pseudonym", self.study, party, attempt)

        return RecordedRelease(
            intent.state_name,
            intent.channel,
            intent.next_state,
            intent.draw_key(self.key),
            intent.digest_key(self.key),
            Alphabet(intent.record.letters, shares if shares > 1 else None),
            None if self.is_id_public else pseudonym_key,
        )

    def _remember_until(self, books: Books, intent: Intent) -> RecordedRelease | None:
        """The release before ``intent``; its states are computed again if they are missing."""
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
        with free_to_clear(self.layout.folder) as is_free:
            if is_free:  # else another release is being written; a later one clears up
                self.engine.forget(self._memory, [intent.state_name for intent in old])


def _before(books: Books, intent: Intent) -> Iterable[Intent]:
    return takewhile(lambda each: each.number < intent.number, books.intents.values())
