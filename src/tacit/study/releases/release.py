"""Releasing: record the best answer to a request, sample it, write its file.

What is recorded decides every letter, so the same bytes are written whenever it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tacit.auditing.disclosure import disclosure_lines
from tacit.errors import (
    AcceptanceError,
    CeilingError,
    DeliveryError,
    InfeasibleError,
    InvalidInputError,
    TacitError,
    UnconvergedError,
)
from tacit.remark import Remark
from tacit.solvers import Progress as DesignProgress
from tacit.storage import free_to_clear, in_use
from tacit.study.books.books import Books, Intent, Request
from tacit.study.books.records import FIRST_COHORT, DeliveredRecord
from tacit.study.disclosures import shown_disclosures
from tacit.study.folder import Layout, StudyKeys, find_copies, note_copy
from tacit.study.journal import Journal
from tacit.study.reports.receipts import Certificate, certificate_of, certificate_path
from tacit.study.requests.draft import Draft, draft, entry_of, holding_in_words, tightest
from tacit.study.requests.refusals import (
    ceiling_refusal,
    coarse_refusal,
    refusal_with_suggestion,
    worthless_refusal,
)
from tacit.tables.delivery.engine import Engine, MissingStatesError, Records, StateStore
from tacit.tables.delivery.release_file import Alphabet, Progress, RecordedRelease
from tacit.tables.delivery.release_reader import digest_of

Answer = tuple[Books, Request, Intent | None]
"""The books of a cohort, a request there, and its release if it was recorded before."""

DISCLOSURE = "disclosure"
"""Code of what has to be accepted where a release gives away who has a rare level."""

_STATES_KEPT = 2
"""States of older releases are computed anew when an old release is asked for again."""


def draft_all(
    answers: Sequence[Answer],
    max_error: float | None = None,
    watch: DesignProgress | None = None,
) -> list[tuple[Books, Draft]]:
    """The best release in each cohort that lacks one, or a refusal that suggests what would fit.

    A cohort where nothing worth giving is left gets what there is, the constant answer mostly, and
    does not hold up the others.

    Args:
        answers: for each cohort that is asked about; a refusal names its cohort, of several.
        max_error: refuse answers whose cost, as it is judged, is above this.
        watch: called with value, bound and seconds while a design is searched for.
    """
    lacking = [(books, request) for books, request, found in answers if found is None]
    designed: list[Draft | InfeasibleError] = []
    for books, request in lacking:
        try:
            with _naming_cohort(books):
                designed.append(_draft_or_refuse(books, request, watch))
        except CeilingError:
            raise
        except InfeasibleError as refusal:
            designed.append(refusal)
    refused = [each for each in designed if isinstance(each, InfeasibleError)]
    if refused and len(refused) == len(answers):
        raise next((each for each in refused if each.suggestions), refused[0])
    drafts = []
    for (books, request), best in zip(lacking, designed, strict=True):
        if isinstance(best, InfeasibleError):
            with _naming_cohort(books):
                modest = draft(books, request, watch, is_modest=True)
            if modest.is_worth_it:  # with fewer bits than were asked for
                raise best
            best = modest
        if max_error is not None and best.value > max_error:
            with _naming_cohort(books):
                raise coarse_refusal(books, best, max_error)
        drafts.append((books, best))
    return drafts


@contextmanager
def _naming_cohort(books: Books) -> Iterator[None]:
    """Name the cohort that a refusal is about, where there are others."""
    try:
        yield
    except TacitError as error:
        if len(books.cohorts) > 1:
            cohort = books.cohort
            named = f"cohort {cohort.number} ({cohort.record.records:,} records)"
            error.args = (f"{named}, nothing was spent in any cohort: {error}",)
        raise


def _draft_or_refuse(books: Books, request: Request, watch: DesignProgress | None) -> Draft:
    try:
        best = draft(books, request, watch)
    except CeilingError as error:
        raise ceiling_refusal(books, request, error) from None
    except InfeasibleError as error:
        raise refusal_with_suggestion(books, request, error) from None
    if best.is_worth_it:
        return best
    if best.had_no_time:
        held = holding_in_words(books, tightest(best))
        raise UnconvergedError(
            "the search ended before an answer was found that is better than a blind guess, "
            f"and {held}: ask with another utility; where next to nothing is left, raise that limit"
        )
    raise worthless_refusal(books, best)


def find_intent(books: Books, request: Request, *, again: bool) -> Intent | None:
    """A request's release, if it was recorded before.

    If its file was never written, the recorded release is returned even if ``again`` is true.

    Args:
        books: of the study.
        request: what is asked.
        again: whether a new release is asked for.
    """
    recorded = books.find(request.identity)
    is_new = recorded is None or (again and recorded.delivery is not None)
    return None if is_new else recorded


def record_intents(
    journal: Journal,
    answers: list[Answer],
    look_again: Callable[[Books], list[Answer]],
    *,
    max_error: float | None,
    reason: str | None,
    watch: DesignProgress | None,
    accept: Collection[str],
    confirm: Callable[[], None] | None,
) -> list[Intent]:
    """Design a request's releases for the cohorts that lack one, and record them: all or none.

    This spends their bits. They are designed outside any lock, and appended only if nothing else
    was appended meanwhile. If another process has recorded the same request meanwhile, its
    releases are taken.

    Args:
        journal: of the study.
        answers: for each cohort that is asked about, by the journal's books.
        look_again: gives the same by later books.
        max_error: refuse answers whose cost, as it is judged, is above this.
        reason: why it is released, as the custodian says it.
        watch: as for ``draft_all``.
        accept: codes of what is accepted, see ``AcceptanceError``.
        confirm: called before the bits are spent; an exception that it raises ends the request.

    Returns:
        The release for each cohort, recorded before or now.
    """
    while True:
        books = journal.books
        drafts = [
            (each, best, best.disclosures(each))
            for each, best in draft_all(answers, max_error, watch)
        ]
        shown = shown_disclosures((each, found) for each, _, found in drafts)
        if shown and DISCLOSURE not in accept:
            said = "; ".join(disclosure_lines(shown, "would name"))
            raise AcceptanceError(DISCLOSURE, said, disclosures=[each.as_dict() for each in shown])
        drafted = [entry_of(best, each.cohort, reason, found) for each, best, found in drafts]
        if drafted and confirm is not None:
            confirm()
        recorded = journal.record_intents(drafted, books) if drafted else []
        if recorded is not None:
            new = iter(recorded)
            return [next(new) if found is None else found for _, _, found in answers]
        answers = look_again(journal.refresh())


def refuse_foreign_file(
    journal: Journal, writer: ReleaseWriter, intent: Intent | None, file: Path
) -> None:
    """Refuse to replace an existing file, unless it is this release's own.

    Args:
        journal: of the study.
        writer: of its releases.
        intent: the release, if it was recorded before.
        file: which exists.
    """
    if intent is None or not _is_own_file(journal, writer, intent, file):
        raise InvalidInputError(
            f"{file} exists and is not the file of this release: choose another name, or replace "
            "it with --force (overwrite=True)"
        )


def _is_own_file(journal: Journal, writer: ReleaseWriter, intent: Intent, file: Path) -> bool:
    name, copies = str(file.resolve()), find_copies(journal.layout)
    written = [
        number
        for number, each in journal.books.releases.items()
        if (each.delivery is not None and each.delivery.file == name)
        or name in copies.get(number, ())
    ]
    if written == [intent.entry.number]:
        return True
    # Killed before the delivery was recorded, or moved since: its content decides.
    try:
        found = digest_of(file, writer.release_of(intent).digest_key)
    except InvalidInputError:
        return False
    return found == (intent.digest or writer.redraw(journal.books)[intent.entry.number])


def deliver_release(
    journal: Journal,
    writer: ReleaseWriter,
    intent: Intent,
    target: Path,
    progress: Progress | None,
) -> Certificate:
    """Write a recorded release's file and certificate, and record that they were written."""
    release, number = writer.release_of(intent), intent.entry.number
    first, file = intent.delivery, str(target.resolve())
    if first is not None and first.file != file:
        _note_copy(journal, intent, file)
    digest = writer.write(journal.books, intent, release, target, progress)
    paper = certificate_of(journal.books, intent, digest, release.digest_key)
    paper = paper.sealed(writer.keys.paper)
    try:
        paper.write(certificate_path(target))
    except OSError as error:
        raise DeliveryError(
            f"{certificate_path(target)} cannot be written ({error.strerror}): "
            "mend that and ask for the same release again, which costs nothing"
        ) from error

    cohort = intent.record.cohort - FIRST_COHORT

    def make(books: Books) -> DeliveredRecord | None:
        if books.cohorts[cohort].intents[number].delivery is not None:
            return None
        return DeliveredRecord(intent=number, digest=digest, file=file)

    is_first = journal.append_settled("delivered", make)
    if first is None and not is_first:  # another process has delivered it meanwhile
        _note_copy(journal, intent, file)
    return paper


def _note_copy(journal: Journal, intent: Intent, file: str) -> None:
    """Remember a file beside the one that the ledger names."""
    try:
        note_copy(journal.layout, intent.entry.number, file)
    except OSError as error:
        raise DeliveryError(
            f"{journal.layout.copies} cannot be written ({error.strerror}): mend that and ask for "
            "the same release again, which costs nothing"
        ) from error


def cohort_file(target: Path, cohort: int) -> Path:
    """The file of a cohort's release, where the first one's is ``target``."""
    if cohort == FIRST_COHORT:
        return target
    return target.with_name(f"{target.stem}.cohort-{cohort}{target.suffix}")


def open_cohorts(layout: Layout, engine: Engine[Any], books: Books) -> list[Records]:
    """The encoded table of each cohort."""
    return [engine.open(layout.of_cohort(each.number).snapshot) for each in books.cohorts]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseWriter:
    """Samples and writes a study's recorded releases.

    Attributes:
        keys: the study's.
        layout: of its folder.
        engine: what reads and writes the records.
        cohorts: the encoded table of each cohort.
        is_id_public: whether release files carry raw ids.
    """

    keys: StudyKeys
    layout: Layout
    engine: Engine[Any]
    cohorts: Sequence[Records]
    is_id_public: bool

    def write(
        self,
        books: Books,
        intent: Intent,
        release: RecordedRelease,
        target: Path,
        progress: Progress | None = None,
    ) -> str:
        """Write a release's file, and return the digest of its content.

        Args:
            books: of the study.
            intent: what was recorded.
            release: the same for the engine, see ``release_of``.
            target: the file.
            progress: called with steps done and steps in all.
        """
        states = StateStore(self.layout.states, self.keys.states)
        records = self.records_of(intent)
        earlier = books.cohorts[intent.record.cohort - FIRST_COHORT].drawn_before(intent)
        before = self.release_of(earlier[-1]) if earlier else None
        deliver = partial(
            self.engine.deliver,
            records,
            states,
            before,
            release,
            target,
            expected=intent.digest,
            progress=progress,
        )
        # Another process must not remove states that are written here before they are read.
        with in_use(self.layout.folder):
            try:
                digest = deliver()
            except MissingStatesError:
                self._remember_all(states, earlier)
                digest = deliver()
        self._forget_old_states(books, states)
        return digest

    def problems(self, books: Books) -> Iterator[Remark]:
        """Draw every release again; yield each difference."""
        for intent, digest, is_remembered in self._redraw(books):
            number = intent.entry.number
            if intent.digest not in (None, digest):
                yield Remark("drawn_otherwise", {"release": number})
            if not is_remembered:
                yield Remark("states_damaged", {"release": number})

    def redraw(self, books: Books) -> dict[int, str]:
        """Draw every release again: its number -> the digest that its file must have."""
        return {intent.entry.number: digest for intent, digest, _ in self._redraw(books)}

    def _redraw(self, books: Books) -> Iterator[tuple[Intent, str, bool]]:
        """Each release, its file's digest, and whether its states, if any, are right."""
        for each in books.cohorts:
            if each.intents:
                yield from self._redraw_cohort(list(each.intents.values()))

    def _redraw_cohort(self, intents: list[Intent]) -> Iterator[tuple[Intent, str, bool]]:
        """The same of all releases about a cohort; copies beside what they are copies of."""
        intents = sorted(intents, key=lambda each: (each.drawn.entry.number, each.source is None))
        releases = list(map(self.release_of, intents))
        states = StateStore(self.layout.states, self.keys.states)
        redrawn = self.engine.redraw(self.records_of(intents[0]), states, releases)
        for intent, (digest, is_remembered) in zip(intents, redrawn, strict=True):
            yield intent, digest, is_remembered

    def records_of(self, intent: Intent) -> Records:
        """The cohort that a release is about."""
        return self.cohorts[intent.record.cohort - FIRST_COHORT]

    def release_of(self, intent: Intent) -> RecordedRelease:
        """A release as the engine draws it."""
        party, state_name = intent.request.party, intent.state_name
        draw_key, digest_key = intent.derive_keys(self.keys.key)
        return RecordedRelease(
            state_name,
            intent.channel,
            intent.class_of_x,
            intent.next_state,
            draw_key,
            digest_key,
            Alphabet(intent.record.letters),
            None if self.is_id_public else self.keys.pseudonym_key(party, intent.record.cohort),
            is_copy=intent.source is not None,
        )

    def _remember_all(self, states: StateStore, intents: list[Intent]) -> None:
        """Compute the states after consecutive releases again, as far back as they are missing."""
        before, missing, records = None, [], self.records_of(intents[0])
        for release in map(self.release_of, reversed(intents)):
            if self.engine.keeps(records, states, release):
                before = release
                break
            missing.append(release)
        for release in reversed(missing):
            self.engine.remember(records, states, before, release)
            before = release

    def _forget_old_states(self, books: Books, states: StateStore) -> None:
        """Remove states of older releases; what the ledger does not know is left as evidence."""
        old = [
            name for cohort in books.cohorts for name in cohort.names_of_old_states(_STATES_KEPT)
        ]
        if not old:
            return
        with free_to_clear(self.layout.folder) as is_free:
            if is_free:  # else another release is being written; a later one clears up
                self.engine.forget(states, old)
