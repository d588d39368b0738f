"""The kinds of ledger entries: for each one what it changes, what is checked of it, what it says.

To add a kind, write its model and a row of ``KINDS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, NoReturn, TypeVar

from tacit.errors import CorruptLedgerError, InvalidInputError, LedgerError, Suggestion
from tacit.information.laws import bits_up
from tacit.ledger import Entry
from tacit.ledger.entry import FIRST_KIND, SUPERSEDED
from tacit.policy import Parties, bits_in_words, cap_in_words
from tacit.sampling import IntegerChannel
from tacit.scheme import Policy
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
    PartyRecord,
    PolicyRecord,
    Reading,
    Record,
    ReleaseRecord,
    RemovedRecord,
    RenamedRecord,
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
    policy = Policy(everyone=record.everyone)
    return Books(entry.head, record, (first,), record.memory, first, policy=policy)


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


# -- party: a party joins, or its limit changes ---------------------------------------------------


def _apply_party(books: Books, record: PartyRecord, entry: Entry) -> Books:
    others = {party: cap for party, cap in books.caps.items() if party != record.party}
    own = {} if record.cap is None else {record.party: record.cap}
    limits = books.limits | {record.party: record.limit}
    return replace(books, limits=limits, caps=others | own)


def _check_party(replay: Replay, after: Books, record: PartyRecord) -> Iterator[str]:
    own = {} if record.cap is None else {frozenset({record.party}): record.cap}
    for books in after.by_cohort:
        replay.look_at(books.cohort.number)
        held = replay.account.upper_bits(frozenset({record.party}))
        if held > record.limit + SAME:
            limit = bits_in_words(record.limit)
            yield f"it limits {record.party} to {limit}, which held {held:.6f} already"
        yield from _caps_too_low(replay, books, own)


def _caps_too_low(replay: Replay, after: Books, caps: Mapping[Parties, float]) -> Iterator[str]:
    """Caps that what was released before them breaks, in words."""
    steps = told_steps(after)
    for coalition, cap in caps.items():
        if not replay.laws.keeps_cap(replay.account, steps, coalition, cap):
            held = replay.account.worst_answer(coalition)
            yield (
                f"it caps {' + '.join(sorted(coalition))} at {bits_in_words(cap)}, and an answer "
                f"may have told {held:.6f} already"
            )


def _describe_party(record: PartyRecord) -> str:
    limit = f"{record.party} may learn {record.limit:.12g} bits about a record"
    return limit if record.cap is None else f"{limit}; {cap_in_words(record.cap)}"


def _party_action(record: PartyRecord) -> tuple[str, dict[str, Any]]:
    cap = {} if record.cap is None else {"cap": record.cap}
    return "set_party", {"name": record.party, "limit": record.limit, **cap}


# -- removed: a party that holds nothing leaves ---------------------------------------------------


def _apply_removed(books: Books, record: RemovedRecord, entry: Entry) -> Books:
    refuse_removal(books, record.party)
    kept = {party: limit for party, limit in books.limits.items() if party != record.party}
    aliases = {name: party for name, party in books.aliases.items() if party != record.party}
    caps = {party: cap for party, cap in books.caps.items() if party != record.party}
    approvals = books.approvals - {record.party}
    removals = books.removals | {record.party: books.removals.get(record.party, 0) + 1}
    return replace(
        books, limits=kept, caps=caps, aliases=aliases, approvals=approvals, removals=removals
    )


def refuse_removal(books: Books, party: str) -> None:
    """Refuse to remove a party that holds something, or that a limit names."""
    shown, own = books.shown_name(party), frozenset({party})
    fed = [each for each in books.by_cohort if party in each.holders]
    if fed:
        held = bits_up(max(each.holding(own).bits for each in fed), 6)
        raise InvalidInputError(
            f"{shown} received something and holds up to {held} bits: that stays counted for ever, "
            f"so it cannot be removed; to give it nothing more, set its limit to {held}",
            suggestions=[Suggestion("set_party", {"name": party, "limit": float(held)})],
        )
    named = [limit.in_words for limit in books.policy.limits if party in limit.parties]
    if named:
        raise InvalidInputError(
            f"{shown} is named by the limit on {' and on '.join(named)}: take that away first"
        )


def _describe_removed(record: RemovedRecord) -> str:
    return f"{record.party} is removed: it held nothing"


def _removed_action(record: RemovedRecord) -> tuple[str, dict[str, Any]]:
    return "remove_party", {"name": record.party}


# -- approval: whether a custodian has to approve a party's own requests --------------------------


def _apply_approval(books: Books, record: ApprovalRecord, entry: Entry) -> Books:
    if record.party not in books.limits:
        raise ValueError(f"there is no party {record.party!r}")
    others = books.approvals - {record.party}
    return replace(books, approvals=others | {record.party} if record.is_required else others)


def _describe_approval(record: ApprovalRecord) -> str:
    if record.is_required:
        return f"a custodian has to approve each request that {record.party} makes"
    return f"requests that {record.party} makes need no approval"


def _approval_action(record: ApprovalRecord) -> tuple[str, dict[str, Any]]:
    return "set_approval", {"name": record.party, "is_required": record.is_required}


# -- renamed: a party is called by another name ---------------------------------------------------


def _apply_renamed(books: Books, record: RenamedRecord, entry: Entry) -> Books:
    if record.party not in books.limits:
        raise ValueError(f"there is no party {record.party!r}")
    taken = books.aliases.get(record.name, record.name)
    if taken != record.party and (taken in books.limits or record.name in books.aliases):
        raise ValueError(f"{record.name!r} is another party")
    others = {name: party for name, party in books.aliases.items() if name != record.name}
    return replace(books, aliases=others | {record.name: record.party})


def _describe_renamed(record: RenamedRecord) -> str:
    return f"{record.party} is called {record.name} from now on"


def _renamed_action(record: RenamedRecord) -> tuple[str, dict[str, Any]]:
    return "rename_party", {"name": record.party, "new_name": record.name}


# -- policy: limits on coalitions, in the place of those before -----------------------------------


def _apply_policy(books: Books, record: PolicyRecord, entry: Entry) -> Books:
    policy = record.policy
    limits = books.limits | policy.newcomers | books.limits  # a party's own limit holds
    return replace(books, limits=limits).with_policy(policy)


def _check_policy(replay: Replay, after: Books, record: PolicyRecord) -> Iterator[str]:
    for books in after.by_cohort:
        replay.look_at(books.cohort.number)
        yield from _check_policy_in(replay, books)


def _check_policy_in(replay: Replay, after: Books) -> Iterator[str]:
    """What is wrong with a policy in a cohort; what coalitions hold there is proved anew."""
    account, intents = after.empty_account, [*after.intents.values()]
    for number, intent in enumerate(intents):
        account, _ = intent.prove_after(account, intents[:number])
    replay.account = account
    for coalition, limit in after.all_limits.limits_among(after.holders).items():
        held = account.upper_bits(coalition)
        if held > limit + SAME:
            name = " + ".join(sorted(coalition))
            yield f"it limits {name} to {bits_in_words(limit)}, which held {held:.6f} already"
    yield from _caps_too_low(replay, after, after.all_limits.caps_among(after.holders))


def _describe_policy(record: PolicyRecord) -> str:
    return f"limits on coalitions: {record.policy.in_words}"


def _policy_action(record: PolicyRecord) -> tuple[str, dict[str, Any]]:
    return "set_collusion", {"limits": [limit.as_dict() for limit in record.policy.limits]}


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
        books.limits[record.party],
        books.own_limit(record.party),
        books.policy,
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
        party_limit=books.limits[record.party],
        own_limit=books.own_limit(record.party),
        policy=books.policy,
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
            "party", PartyRecord, _apply_party, _describe_party, _check_party, action=_party_action
        ),
        EntryKind(
            "removed", RemovedRecord, _apply_removed, _describe_removed, action=_removed_action
        ),
        EntryKind(
            "approval", ApprovalRecord, _apply_approval, _describe_approval, action=_approval_action
        ),
        EntryKind(
            "renamed", RenamedRecord, _apply_renamed, _describe_renamed, action=_renamed_action
        ),
        EntryKind(
            "policy",
            PolicyRecord,
            _apply_policy,
            _describe_policy,
            _check_policy,
            action=_policy_action,
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
