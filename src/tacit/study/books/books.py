"""The state of a study, read from its ledger: who may learn what, and what was released.

Nothing here depends on what letters came out, only on the designs: two studies with equal ledgers
have equal books.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.accounting import Account, Counts
from tacit.arrays import Array
from tacit.errors import CorruptLedgerError, LedgerError, TacitError
from tacit.ledger import Entry, Head
from tacit.ledger.ledger import FIRST_KIND
from tacit.policy import Parties
from tacit.sampling import IntegerChannel
from tacit.scheme import Policy, Scheme, Step
from tacit.scheme.memory import Transitions
from tacit.study.books.draws import draw_of, first_past, next_past
from tacit.study.books.records import (
    STUDY_FORMAT,
    ClosedRecord,
    CreatedRecord,
    DeliveredRecord,
    IntentRecord,
    PartyRecord,
    PolicyRecord,
    QuestionRecord,
    RollbackRecord,
    check_readable,
)
from tacit.study.requests.question import Question
from tacit.study.requests.request import Request
from tacit.study.requests.utilities import Measure

RESERVE_BITS = 1e-6
"""A design aims this far below every limit: rounding its channel to integers costs far less."""

SENSELESS = (
    TacitError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What following an entry can raise that nobody but a forger would have written."""


@contextmanager
def understood(entry: Entry) -> Iterator[None]:
    """Raise CorruptLedgerError, in one line, for whatever is raised by what an entry says.

    Whoever owns the database can write any entry and seal it. Sums that are no numbers raise, too.
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except LedgerError:
        raise
    except SENSELESS as error:
        said = str(error).partition("\n")[0]
        raise CorruptLedgerError(
            f"entry {entry.number} of study {entry.study}, {entry.kind!r}, makes no sense after "
            f"those before it ({type(error).__name__}: {said}): run tacit verify, and restore the "
            "ledger from a backup"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Intent:
    """A release as it was recorded, before the first letter was drawn.

    Attributes:
        entry: where it stands in the ledger.
        record: what stands there.
        request: what it answers.
        channel: the integer table that is sampled.
        next_state: state after it, [m, letter]; -1 where that cannot occur.
        draw: name of the random numbers that it is drawn with, see ``study.draws``.
        past: name of all that was released up to it, itself included.
        party_limit: its party's limit at that time, as it was set.
        own_limit: that, or the limit of a coalition around the party where it was lower.
        delivery: says that its file was written; ``None`` until then.
    """

    entry: Entry
    record: IntentRecord
    request: Request
    channel: IntegerChannel
    next_state: Transitions
    draw: str
    past: str
    party_limit: float
    own_limit: float
    delivery: DeliveredRecord | None = None

    @property
    def number(self) -> int:
        """Its number in the ledger, by which people call it."""
        return self.entry.number

    @property
    def is_of_0_1(self) -> bool:
        """Whether 0.1 recorded it, which drew by the hash of the entry."""
        return self.record.draw is None

    @property
    def state_name(self) -> str:
        """Of the file with every record's state after it: only the same past has the same name."""
        named_by = self.entry.hash if self.is_of_0_1 else self.past
        return f"{self.number}-{named_by[:16]}"


@dataclass(frozen=True, slots=True, eq=False)
class Books:
    """A study's ledger up to ``head``, understood.

    Attributes:
        head: the last entry read.
        created: what the first entry says.
        counts: records in each cell x.
        externals: external column -> its question.
        memory: the most states that a record's past is remembered by.
        limits: party -> bits about one record, over everything that it will ever hold.
        policy: limits on coalitions.
        account: what every coalition holds, proved.
        intents: all releases, by their number in the ledger.
        past: name of all that was released so far, see ``study.draws``.
        accepted: hashes of lost entries, and names of states, that the custodian gave up when
            accepting a rollback.
        is_closed: whether the key was destroyed.
    """

    head: Head
    created: CreatedRecord
    counts: Counts
    externals: dict[str, Question]
    memory: int
    past: str
    limits: dict[str, float] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    account: Account | None = None
    intents: dict[int, Intent] = field(default_factory=dict)
    accepted: frozenset[str] = frozenset()
    is_closed: bool = False

    @staticmethod
    def begin(created: Entry) -> Books:
        """The books of a study of which only the first entry is read."""
        _refuse_newer(created)
        check_readable(created, [FIRST_KIND])
        with understood(created):
            return Books._begun(created, CreatedRecord.of(created))

    @staticmethod
    def _begun(created: Entry, record: CreatedRecord) -> Books:
        externals = {
            name: Question(
                name, stored.labels, stored.numbers, np.array(stored.counts, dtype=np.int64), name
            )
            for name, stored in record.externals.items()
        }
        counts = np.array(record.counts, dtype=np.int64)
        policy = Policy(everyone=record.everyone)
        past = first_past(created.study)
        return Books(created.head, record, counts, externals, record.memory, past, policy=policy)

    def read_on(self, entries: Iterable[Entry]) -> Books:
        """The books after more entries."""
        books = self
        for entry in entries:
            check_readable(entry, _READERS)
            with understood(entry):
                books = replace(_READERS[entry.kind](books, entry), head=entry.head)
        return books

    def under(self, policy: Policy) -> Books:
        """The books if this were the policy: what is carried depends on it, and starts anew."""
        return replace(self, policy=policy, account=None)

    @property
    def p_x(self) -> Array:
        """The public law of a record's cell."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def proved(self) -> Account:
        """What every coalition holds; read from the releases anew after a change of policy."""
        if self.account is not None:
            return self.account
        account = Account.start(self.counts, self.memory, self.policy)
        for intent in self.intents.values():
            with understood(intent.entry):
                account = _continued(account, intent)
        object.__setattr__(self, "account", account)
        return account

    @property
    def scheme(self) -> Scheme:
        """For designing what comes next."""
        return self._scheme(self.policy)

    @property
    def audited_scheme(self) -> Scheme:
        """For auditing: every party's own limit is part of the policy."""
        return self._scheme(self.all_limits)

    def _scheme(self, policy: Policy) -> Scheme:
        steps = [
            Step(
                intent.request.party,
                intent.channel.law,
                intent.next_state,
                intent.record.everyone_bits,
            )
            for intent in self.intents.values()
        ]
        return Scheme.resume(self.p_x, self.proved.memory, steps, policy, reserve=RESERVE_BITS)

    @property
    def all_limits(self) -> Policy:
        """The policy, and every party's own limit."""
        return self.policy.with_own(self.limits)

    def own_limit(self, party: str) -> float:
        """What a party may hold: its limit, or that of a coalition around it where that is less."""
        return min(limit.bits for limit in self.all_limits.binding_on({party}))

    @property
    def n_states(self) -> int:
        """States that a record can be in now."""
        last = next(reversed(self.intents.values()), None)
        return 1 if last is None else int(last.next_state.max()) + 1

    @property
    def holders(self) -> Parties:
        """Parties that received something."""
        return frozenset(intent.request.party for intent in self.intents.values())

    def find(self, identity: str) -> Intent | None:
        """The latest release for a request, if there is one."""
        same = [each for each in self.intents.values() if each.record.identity == identity]
        return same[-1] if same else None

    def question(self, record: QuestionRecord) -> Question:
        """A question as it stands in the ledger."""
        if record.external is not None:
            return self.externals[record.external]
        letter = np.array(record.letter_of_cell, dtype=np.intp)
        counts = np.eye(len(record.labels), dtype=np.int64)[letter]
        return Question(record.name, record.labels, record.numbers, counts, sql=record.sql)


def _refuse_newer(created: Entry) -> None:
    found = created.body.get("format")
    if isinstance(found, int) and found > STUDY_FORMAT:
        raise LedgerError(
            f"study {created.study} was made by tacit {created.body.get('made_by')}, which is "
            "newer than this one: update tacit"
        )


def _continued(account: Account, intent: Intent) -> Account:
    return account.recorded(
        intent.request.party, intent.channel, intent.next_state, intent.record.everyone_bits
    )


def _read_party(books: Books, entry: Entry) -> Books:
    record = PartyRecord.of(entry)
    return replace(books, limits=books.limits | {record.party: record.limit})


def _read_policy(books: Books, entry: Entry) -> Books:
    record = PolicyRecord.of(entry)
    limits = books.limits | {
        party: bits for party, bits in record.newcomers.items() if party not in books.limits
    }
    return replace(books, limits=limits).under(record.policy)


def _read_intent(books: Books, entry: Entry) -> Books:
    intent = _intent(books, entry)
    return replace(
        books,
        intents=books.intents | {entry.number: intent},
        past=intent.past,
        account=None if books.account is None else _continued(books.account, intent),
    )


def _intent(books: Books, entry: Entry) -> Intent:
    record = IntentRecord.of(entry)
    request = Request(
        record.party,
        books.question(record.question),
        Measure.of_record(record.measure),
        record.bits,
    )
    n_cells, n_states = len(books.counts), len(record.next_state)
    if n_states != books.n_states or not request.question.counts.shape[0] == n_cells:
        raise CorruptLedgerError(
            f"entry {entry.number} of study {entry.study} tells {request.question.counts.shape[0]} "
            f"cells and {n_states} states apart, and there are {n_cells} and {books.n_states}"
        )
    channel = IntegerChannel.from_bytes(entry.payload, (n_states, n_cells, record.n_letters))
    next_state = np.array(record.next_state, dtype=np.intp)
    # What is recorded as ``draw`` is not believed, only that it is: ``verify`` compares the two.
    draw = entry.hash if record.draw is None else draw_of(books.past, channel)
    return Intent(
        entry,
        record,
        request,
        channel,
        next_state,
        draw,
        next_past(books.past, draw, next_state),
        books.limits[record.party],
        books.own_limit(record.party),
    )


def _read_delivery(books: Books, entry: Entry) -> Books:
    record = DeliveredRecord.of(entry)
    delivered = replace(books.intents[record.intent], delivery=record)
    return replace(books, intents=books.intents | {record.intent: delivered})


def _read_rollback(books: Books, entry: Entry) -> Books:
    record = RollbackRecord.of(entry)
    given_up = {*(sealed for _, sealed in record.entries), *record.states}
    return replace(books, accepted=books.accepted | given_up)


def _read_close(books: Books, entry: Entry) -> Books:
    ClosedRecord.of(entry)
    return replace(books, is_closed=True)


_READERS = {
    "party": _read_party,
    "policy": _read_policy,
    "intent": _read_intent,
    "delivered": _read_delivery,
    "rollback": _read_rollback,
    "closed": _read_close,
}
