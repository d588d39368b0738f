"""The kinds of ledger entries: for each one what it changes, what is checked of it, what it says.

To add a kind, write its model and a row of ``KINDS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any, Generic, NoReturn, TypeVar

from tacit.accounting import Account
from tacit.errors import CorruptLedgerError, InvalidInputError, LedgerError, Suggestion
from tacit.information.laws import bits_in_words, bits_up, times_in_words
from tacit.ledger import Entry
from tacit.ledger.entry import FIRST_KIND, SUPERSEDED
from tacit.limits import (
    EVERYONE,
    Limit,
    Whom,
    bounds,
    find,
    replaced,
    times_promise,
    whom_in_words,
    without,
)
from tacit.sampling import IntegerChannel
from tacit.study.books.books import (
    Books,
    Cohort,
    Erasure,
    Intent,
    Request,
    draw_of,
    next_past,
)
from tacit.study.books.records import (
    FIRST_COHORT,
    STUDY_FORMAT,
    ApprovalRecord,
    ClosedRecord,
    CohortRecord,
    CopyRecord,
    CreatedRecord,
    DeliveredRecord,
    ErasedRecord,
    ErasureRecord,
    IntentRecord,
    JoinedRecord,
    LimitRecord,
    Reading,
    Record,
    ReleaseRecord,
    RollbackRecord,
    SupersededRecord,
    author_of,
    read_bodies,
    refuse_nonsense,
)
from tacit.study.proofs.caps import told_steps
from tacit.study.proofs.claims import SAME
from tacit.study.proofs.replay import Replay, check_copy, check_intent
from tacit.study.reports.log import LogEntry
from tacit.study.reports.receipts import value_in_words
from tacit.tables.encoding.ids import ID_HASH_DIGITS

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)

R = TypeVar("R", bound=Record)


def _check_nothing(replay: Replay, after: Books, record: Record) -> Iterator[str]:
    """No check: no other entry can contradict such an entry."""
    return iter(())


@dataclass(frozen=True, slots=True)
class EntryKind(Generic[R]):
    """What a study does with one kind of entry.

    Attributes:
        name: as it stands in the ledger.
        model: of the entry's body.
        apply: the books after the entry, from the books before it.
        describe: the entry in words, for people.
        check: what is wrong with the entry, in words. It gets the replay before the entry, whose
            account it brings up to date, and the books after the entry.
        has_payload: whether such an entry carries bytes beside its body.
        action: the method of ``Study`` that makes such an entry, and what it is given, by the
            names of its parameters; ``None`` where no single call does.
        may_follow_close: whether such an entry may be appended to a study that is closed.
    """

    name: str
    model: type[R]
    apply: Callable[[Books, R, Entry], Books]
    describe: Callable[[R], str]
    check: Callable[[Replay, Books, R], Iterable[str]] = _check_nothing
    has_payload: bool = False
    action: Callable[[R], tuple[str, dict[str, Any]]] | None = None
    may_follow_close: bool = False


# -- every kind -----------------------------------------------------------------------------------


def read_books(entries: Sequence[Entry]) -> Books:
    """The books of a study, from its entries, the first one included.

    Raises:
        LedgerError: another version of tacit has made the study, or appended to it.
        CorruptLedgerError: an entry makes no sense after those before it.
    """
    _refuse_other_start(entries[0])
    records = read_bodies(entries, _models_of(entries))
    with refuse_nonsense(entries[0]) as reading:
        books = _begin_books(records[0], entries[0])
        return _apply_each(books, entries[1:], records[1:], reading)


def read_around(entries: Sequence[Entry], number: int) -> tuple[Books, Books]:
    """The books before and after a release, for its cohort; raises as ``read_books`` does."""
    entry = entries[number - 1]
    cohort = _kind_of(entry).model.of(entry).cohort
    before = read_books(entries[: number - 1]).look_at(cohort)
    _ = before.proved_account  # so that the books after it go on from there
    return before, read_on(before, entries[number - 1 : number])


def read_on(books: Books, entries: Sequence[Entry]) -> Books:
    """The books after one or more entries; raises as ``read_books`` does."""
    records = read_bodies(entries, _models_of(entries))
    with refuse_nonsense(entries[0]) as reading:
        return _apply_each(books, entries, records, reading)


def _models_of(entries: Sequence[Entry]) -> list[type[Record]]:
    return [_kind_of(entry).model for entry in entries]


def _apply_each(
    books: Books, entries: Sequence[Entry], records: Sequence[Any], reading: Reading
) -> Books:
    """The books after entries whose bodies were read."""
    for entry, record in zip(entries, records, strict=True):
        reading.entry = entry
        books = KINDS[entry.kind].apply(books, record, entry)
    return replace(books, head=reading.entry.head)


def check_entry(replay: Replay, after: Books, entry: Entry) -> list[str]:
    """What is wrong with an entry, in words; ``after`` are the books with it."""
    kind = _kind_of(entry)
    with refuse_nonsense(entry):
        problems = list(kind.check(replay, after, kind.model.of(entry)))
    if replay.books.is_closed and not kind.may_follow_close:
        problems.append("it was appended after the study was closed")
    if entry.payload and not kind.has_payload:
        problems.append("it carries bytes beside its body, which such an entry has not")
    return problems


def describe_entry(entry: Entry) -> str:
    """What an entry says, for people."""
    kind = _kind_of(entry)
    return kind.describe(kind.model.of(entry))


def log_entry(entry: Entry) -> LogEntry:
    """An entry as the log has it."""
    kind = _kind_of(entry)
    record = kind.model.of(entry)
    action, arguments = (None, {}) if kind.action is None else kind.action(record)
    return LogEntry(
        entry.number,
        entry.time,
        entry.kind,
        kind.describe(record),
        getattr(record, "party", None),
        getattr(record, "reason", None),
        author_of(entry),
        action,
        arguments,
    )


def _kind_of(entry: Entry) -> EntryKind[Any]:
    """The kind of an entry that this version can read, as far as its kind and time show.

    Raises:
        LedgerError: the kind is unknown.
        CorruptLedgerError: the time is no ISO-8601 in UTC with microseconds.
    """
    if entry.kind not in KINDS:
        raise _unknown_kind(entry)
    if not _is_time(entry.time):
        raise CorruptLedgerError(
            f"entry {entry.number} of study {entry.study} has the time {entry.time!r}, which is "
            "no ISO-8601 in UTC with microseconds as this version of tacit knows it: update "
            "tacit, or restore the ledger from a backup"
        )
    return KINDS[entry.kind]


def _unknown_kind(entry: Entry) -> LedgerError:
    return LedgerError(
        f"entry {entry.number} of study {entry.study} is of the kind {entry.kind!r}, which "
        "this version of tacit does not know: update tacit"
    )


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return _TIME.fullmatch(text) is not None


# -- created: a study begins ----------------------------------------------------------------------


def _refuse_other_start(first: Entry) -> None:
    """Refuse a first entry of another version, or of a kind that begins no study."""
    found = first.body.get("format")
    if found != STUDY_FORMAT:
        raise LedgerError(
            f"study {first.study} has format {found} and was made by tacit "
            f"{first.body.get('made_by')}, and this version reads format {STUDY_FORMAT} only: use "
            "the version that made it"
        )
    if first.kind != FIRST_KIND:
        raise _unknown_kind(first)


def _begin_books(record: CreatedRecord, entry: Entry) -> Books:
    first = Cohort.of(FIRST_COHORT, record, entry)
    limits = () if record.everyone is None else (Limit(EVERYONE, record.everyone),)
    return Books(entry.head, record, (first,), record.memory, first, limits=limits)


def _apply_created(books: Books, record: CreatedRecord, entry: Entry) -> NoReturn:
    raise ValueError("a study begins only once")


def _describe_created(record: CreatedRecord) -> str:
    names = ", ".join(attribute.name for attribute in record.attributes)
    begins = f"a study of {record.records:,} records begins, private are {names}"
    limit = "" if record.everyone is None else f"; everyone may learn {record.everyone:.12g} bits"
    return begins + limit


# -- cohort: more records join --------------------------------------------------------------------


def _apply_cohort(books: Books, record: JoinedRecord, entry: Entry) -> Books:
    first = books.created
    if books.unfinished_erasure is not None:
        raise ValueError("the erasure before it is not finished")
    if len(record.counts) != len(first.counts) or _levels(record) != _levels(first):
        raise ValueError("a cohort has other levels than its study")
    return books.with_cohorts((*books.cohorts, Cohort.of(len(books.cohorts) + 1, record, entry)))


def _levels(record: CohortRecord) -> dict[str, tuple[object, object]]:
    return {name: (each.labels, each.numbers) for name, each in record.externals.items()}


def _check_cohort(replay: Replay, after: Books, record: JoinedRecord) -> Iterator[str]:
    replay.begin_cohort(after.look_at(len(after.cohorts)))
    return iter(())


def _describe_cohort(record: JoinedRecord) -> str:
    return f"{record.records:,} records of {record.table} join as a cohort of their own"


# -- limit: a party joins, or what it or a coalition may learn changes -----------------------------


def _apply_limit(books: Books, record: LimitRecord, entry: Entry) -> Books:
    refuse_unknown(books, record.on)
    if record.limit is None:
        return _without_limit(books, record.on)
    party, changed = record.on.party, books.with_limits(replaced(books.limits, record.limit))
    if party is None:
        return changed
    return replace(changed, titles=books.titles | {party: record.title or party})


def _without_limit(books: Books, whom: Whom) -> Books:
    """Of a single party: it leaves."""
    if find(books.limits, whom) is None:
        raise ValueError(f"there is no limit on {whom.in_words}")
    changed = books.with_limits(without(books.limits, whom))
    if whom.party is None:
        return changed
    refuse_removal(books, whom.party)
    titles = {party: title for party, title in books.titles.items() if party != whom.party}
    removals = books.removals | {whom.party: books.removals.get(whom.party, 0) + 1}
    approvals = books.approvals - {whom.party}
    return replace(changed, titles=titles, approvals=approvals, removals=removals)


def refuse_unknown(books: Books, whom: Whom) -> None:
    """Refuse a coalition with somebody who was not let in: a name that is mistyped protects nobody.

    A single party is let in by its limit.
    """
    if whom.party is None:
        for name in sorted(whom.names):
            books.find_party(name)


def refuse_removal(books: Books, party: str) -> None:
    """Refuse to remove a party that holds something, or that a limit on a coalition names."""
    own = frozenset({party})
    fed = [each for each in books.by_cohort if party in each.holders]
    if fed:
        held = bits_up(max(each.holding(own).bits for each in fed), 6)
        raise InvalidInputError(
            f"{party} received something and holds up to {held} bits: that stays counted for ever, "
            f"so it cannot be removed; to give it nothing more, set its limit to {held}",
            suggestions=[Suggestion("set_limit", {"whom": party, "bits": float(held)})],
        )
    named = [each for each in books.shared_limits if party in each.whom.names]
    if named:
        raise InvalidInputError(
            f"{party} is named by the limit on {whom_in_words(named)}: take that away first"
        )


def _check_limit(replay: Replay, after: Books, record: LimitRecord) -> Iterator[str]:
    for books in after.by_cohort:
        replay.look_at(books.cohort.number)
        limits = books.limits
        if record.on.party is None:
            replay.account = _proved_anew(books)
        else:
            limits = () if record.limit is None else (record.limit,)
        yield from _limits_too_low(replay, books, limits)


def _proved_anew(books: Books) -> Account:
    """What coalitions hold in a cohort: other limits, other coalitions that are followed."""
    account, intents = books.empty_account, [*books.intents.values()]
    for number, intent in enumerate(intents):
        account, _ = intent.prove_after(account, intents[:number])
    return account


def _limits_too_low(replay: Replay, after: Books, limits: Iterable[Limit]) -> Iterator[str]:
    """Limits that what was released before them breaks, in words."""
    steps, account = told_steps(after), replay.account
    for coalition, bound in bounds(limits, after.holders).items():
        name, held = " + ".join(sorted(coalition)), account.upper_bits(coalition)
        if held > bound.bits + SAME:
            limit = bits_in_words(bound.bits)
            yield f"it limits {name} to {limit}, which held {held:.6f} already"
        if bound.times < inf and not replay.laws.keeps(account, steps, coalition, bound.times):
            worst = times_in_words(account.worst_answer(coalition))
            yield (
                f"it limits {name} to {bound.times:.12g} times, and an answer may have made a "
                f"combination of levels {worst} times as likely already"
            )


def _describe_limit(record: LimitRecord) -> str:
    limit, party = record.limit, record.on.party
    if limit is None:
        return (
            f"the limit on {record.on.in_words} is taken away"
            if party is None
            else f"{party} is removed: it held nothing"
        )
    if party is None:
        return f"limit on {limit.in_words}"
    name = party if record.title in (None, party) else f"{record.title} ({party})"
    promise = "" if limit.times is None else f"; {times_promise(limit.times)}"
    return f"{name} may learn {bits_in_words(limit.amount('bits'))} about a record{promise}"


def _limit_action(record: LimitRecord) -> tuple[str, dict[str, Any]]:
    if record.limit is None:
        return "set_limit", {"whom": record.whom, "bits": "none", "times": "none"}
    said: dict[str, Any] = {"bits": record.bits, "times": record.times}
    said |= {} if record.title == record.whom else {"title": record.title}
    named = {name: value for name, value in said.items() if value is not None}
    return "set_limit", {"whom": record.whom, **named}


# -- approval: whether a custodian has to approve a party's own requests --------------------------


def _apply_approval(books: Books, record: ApprovalRecord, entry: Entry) -> Books:
    if record.party not in books.titles:
        raise ValueError(f"there is no party {record.party!r}")
    others = books.approvals - {record.party}
    return replace(books, approvals=others | {record.party} if record.is_required else others)


def _describe_approval(record: ApprovalRecord) -> str:
    if record.is_required:
        return f"a custodian has to approve each request that {record.party} makes"
    return f"requests that {record.party} makes need no approval"


def _approval_action(record: ApprovalRecord) -> tuple[str, dict[str, Any]]:
    return "set_approval", {"name": record.party, "is_required": record.is_required}


# -- intent: a release, recorded before its first letter is drawn ---------------------------------


def _apply_intent(books: Books, record: IntentRecord, entry: Entry) -> Books:
    view = books if books.cohort.number == record.cohort else books.look_at(record.cohort)
    intent = _read_intent(view, record, entry)
    return books.with_release(view.cohort, intent, intent.past)


def _read_intent(books: Books, record: IntentRecord, entry: Entry) -> Intent:
    transition, n_cells = record.transition, len(books.cohort.counts)
    n_states, n_letters = transition.next_state.shape
    n_before, question = books.n_states, books.question(record.question)
    if n_states != n_before or question.counts.shape[0] != n_cells:
        raise CorruptLedgerError(
            f"entry {entry.number} of study {entry.study} tells {question.counts.shape[0]} "
            f"cells and {n_states} states apart, and there are {n_cells} and {n_before}"
        )
    classes = books.classes_for(question)
    shape = (n_states, int(classes.max()) + 1, n_letters)
    channel = IntegerChannel.from_bytes(entry.payload, shape)
    # Not what is recorded: ``verify`` compares the two.
    draw = draw_of(books.cohort.past, channel, classes)
    return Intent(
        entry,
        record,
        Request(record.party, question, record.measure, record.bits, record.analysable),
        channel,
        classes,
        transition,
        draw,
        next_past(books.cohort.past, draw, transition.next_state),
        books.limits,
        len(books.cohorts),
    )


def _describe_intent(record: ReleaseRecord) -> str:
    measure = record.measure
    worth = value_in_words(measure.kind, record.value, record.blind, measure.objective)
    cohort = "" if record.cohort == FIRST_COHORT else f", cohort {record.cohort}"
    return f"{record.question.name} for {record.party}{cohort}: {worth}"


def _release_action(record: ReleaseRecord) -> tuple[str, dict[str, Any]]:
    question, measure = record.question, record.measure
    asked = {"asked": [question.name]} if question.sql is None else {"sql": question.sql}
    utility = measure.kind if measure.costs is None else [list(row) for row in measure.costs]
    told = {"bits": record.bits, "reason": record.reason, "ceilings": measure.ceilings}
    told |= {} if record.cohort == FIRST_COHORT else {"cohort": record.cohort}
    return "release", {
        "party": record.party,
        **asked,
        "utility": utility,
        "objective": measure.objective,
        "analysable": record.analysable,
        **{name: value for name, value in told.items() if value},
    }


# -- copy: the letters of an earlier release are handed to one more party ------------------------


def _apply_copy(books: Books, record: CopyRecord, entry: Entry) -> Books:
    view = books.look_at(record.cohort)
    cohort = view.cohort
    source = cohort.intents.get(record.source)
    if source is None or source.source is not None:
        raise ValueError(f"entry {record.source} is no release that was drawn about the cohort")
    request = Request(
        record.party,
        view.question(record.question),
        record.measure,
        record.bits,
        record.analysable,
    )
    copy = replace(
        source,
        entry=entry,
        record=record,
        request=request,
        limits=books.limits,
        n_cohorts=len(books.cohorts),
        delivery=None,
        digest=None,
        source=source,
    )
    return books.with_release(cohort, copy, cohort.past)


def _describe_copy(record: CopyRecord) -> str:
    return f"{_describe_intent(record)} (a copy of the answers of release {record.source})"


# -- delivered: the file of a release was written -------------------------------------------------


def _apply_delivered(books: Books, record: DeliveredRecord, entry: Entry) -> Books:
    [cohort] = (each for each in books.cohorts if record.intent in each.intents)
    delivered = replace(cohort.intents[record.intent], delivery=record, digest=record.digest)
    after = replace(cohort, intents=cohort.intents | {record.intent: delivered})
    cohorts = (*books.cohorts[: cohort.number - 1], after, *books.cohorts[cohort.number :])
    return replace(books, cohorts=cohorts, cohort=cohorts[books.cohort.number - 1])


def _check_delivered(replay: Replay, after: Books, record: DeliveredRecord) -> Iterator[str]:
    if replay.books.releases[record.intent].delivery is not None:
        yield f"release {record.intent} was delivered already"


def _describe_delivered(record: DeliveredRecord) -> str:
    return f"the file of release {record.intent} was written"


# -- erasure: records are to be erased ------------------------------------------------------------


def _apply_erasure(books: Books, record: ErasureRecord, entry: Entry) -> Books:
    if books.unfinished_erasure is not None:
        raise ValueError("the erasure before it is not finished")
    digits, size = entry.payload.hex(), 2 * ID_HASH_DIGITS
    pairs = [digits[at : at + size] for at in range(0, len(digits), size)]
    ids = frozenset(each[:ID_HASH_DIGITS] for each in pairs)
    persons = frozenset(each[ID_HASH_DIGITS:] for each in pairs)
    is_whole = len(digits) == record.records * size and len(ids) == record.records
    if not is_whole or pairs != sorted(pairs):
        raise ValueError(f"{record.records:,} records have other hashes")
    erasure = Erasure(entry.number, record.is_correction, ids, persons)
    return replace(books, unfinished_erasure=erasure)


def _check_erasure(replay: Replay, after: Books, record: ErasureRecord) -> Iterator[str]:
    n_left = replay.books.n_left
    if record.records >= n_left:
        yield f"it erases {record.records:,} records of {n_left:,}"


def _describe_erasure(record: ErasureRecord) -> str:
    what = "corrected" if record.is_correction else "erased"
    return f"records to be {what}: {record.records:,}"


# -- erased: the records of an erasure are gone ---------------------------------------------------


def _apply_erased(books: Books, record: ErasedRecord, entry: Entry) -> Books:
    erasure = books.unfinished_erasure
    if erasure is None or erasure.number != record.erasure:
        raise ValueError(f"entry {record.erasure} is no erasure that is to be finished")
    left, digests = record.by_cohort(len(erasure.id_hashes)), dict(record.digests)
    done = replace(erasure, digests=digests, by_cohort=tuple(each.erased for each in left))
    cohorts = zip(books.cohorts, left, strict=True)
    return replace(books, erasures=(*books.erasures, done), unfinished_erasure=None).with_cohorts(
        cohort.without(gone, digests) for cohort, gone in cohorts
    )


def _check_erased(replay: Replay, after: Books, record: ErasedRecord) -> Iterator[str]:
    intents = replay.books.releases.items()
    delivered = [number for number, intent in intents if intent.delivery is not None]
    if [number for number, _ in record.digests] != delivered:
        yield "it has digests of other releases than those that were delivered"


def _describe_erased(record: ErasedRecord) -> str:
    return f"the records of erasure {record.erasure} are gone"


# -- rollback: the custodian accepted that entries were lost --------------------------------------


def _apply_rollback(books: Books, record: RollbackRecord, entry: Entry) -> Books:
    given_up = {*(sealed for _, sealed in record.entries), *record.states}
    return replace(books, accepted=books.accepted | given_up)


def _describe_rollback(record: RollbackRecord) -> str:
    return (
        "a rollback of the ledger was accepted: releases that it has lost are not counted, and "
        "whoever holds them may hold that much more"
    )


# -- closed: the key was destroyed ----------------------------------------------------------------


def _apply_closed(books: Books, record: ClosedRecord, entry: Entry) -> Books:
    return replace(books, is_closed=True)


def _check_closed(replay: Replay, after: Books, record: ClosedRecord) -> Iterator[str]:
    if record.releases != len(after.releases):
        yield f"it counts {record.releases} releases, not {len(after.releases)}"


def _describe_closed(record: ClosedRecord) -> str:
    return f"the key was destroyed after {record.releases} releases"


def _closed_action(record: ClosedRecord) -> tuple[str, dict[str, Any]]:
    return "destroy_key", {}


# -- superseded: the study was made anew ----------------------------------------------------------


def _apply_superseded(books: Books, record: SupersededRecord, entry: Entry) -> Books:
    if books.releases:
        raise ValueError("something was released of a study that was made anew")
    return replace(books, is_closed=True, successor=record.successor)


def _describe_superseded(record: SupersededRecord) -> str:
    return f"the study was made anew, as {record.successor}: nothing had been released"


KINDS: dict[str, EntryKind[Any]] = {
    each.name: each
    for each in (
        EntryKind(FIRST_KIND, CreatedRecord, _apply_created, _describe_created),
        EntryKind("cohort", JoinedRecord, _apply_cohort, _describe_cohort, _check_cohort),
        EntryKind(
            "limit", LimitRecord, _apply_limit, _describe_limit, _check_limit, action=_limit_action
        ),
        EntryKind(
            "approval", ApprovalRecord, _apply_approval, _describe_approval, action=_approval_action
        ),
        EntryKind(
            "intent",
            IntentRecord,
            _apply_intent,
            _describe_intent,
            check_intent,
            has_payload=True,
            action=_release_action,
        ),
        EntryKind(
            "copy", CopyRecord, _apply_copy, _describe_copy, check_copy, action=_release_action
        ),
        EntryKind(
            "delivered",
            DeliveredRecord,
            _apply_delivered,
            _describe_delivered,
            _check_delivered,
            may_follow_close=True,
        ),
        EntryKind(
            "erasure",
            ErasureRecord,
            _apply_erasure,
            _describe_erasure,
            _check_erasure,
            has_payload=True,
        ),
        EntryKind("erased", ErasedRecord, _apply_erased, _describe_erased, _check_erased),
        EntryKind("rollback", RollbackRecord, _apply_rollback, _describe_rollback),
        EntryKind(
            "closed",
            ClosedRecord,
            _apply_closed,
            _describe_closed,
            _check_closed,
            action=_closed_action,
        ),
        EntryKind(
            SUPERSEDED,
            SupersededRecord,
            _apply_superseded,
            _describe_superseded,
            may_follow_close=True,
        ),
    )
}
"""Name -> kind."""
