"""What a party may know of its own account."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tacit.study.books.books import Books, Intent
from tacit.study.reports.receipts import value_in_words


@dataclass(frozen=True, slots=True)
class OwnRelease:
    """A release, as its party may know it.

    Attributes:
        number: in the ledger.
        time: when it was recorded.
        request: what was asked.
        measure: how answers are judged.
        in_words: what the answers are worth.
        is_delivered: whether its file was written before.
        cohort: whom it is about.
    """

    number: int
    time: str
    request: str
    measure: str
    in_words: str
    is_delivered: bool
    cohort: int


@dataclass(frozen=True, slots=True)
class PartyStatement:
    """A party's own account, in bits about one record. It says nothing of other parties.

    Attributes:
        party: whose.
        title: what it is called.
        limit: what it may hold, as it was set; limits on coalitions may leave it less.
        held: what it holds, at most, in the cohort where that is most.
        needs_approval: whether a custodian has to approve what it asks for.
        is_closed: whether nothing can be asked for any more.
        releases: what it received.
        columns: what can be asked for -> the levels of it.
    """

    party: str
    title: str
    limit: float
    held: float
    needs_approval: bool
    is_closed: bool
    releases: tuple[OwnRelease, ...]
    columns: dict[str, tuple[str, ...]]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def read_statement(books: Books, party: str) -> PartyStatement:
    """The account of a party."""
    known = books.find_party(party)
    own = [each for each in books.releases.values() if each.request.party == known]
    private = {each.name: each.labels for each in books.created.attributes}
    return PartyStatement(
        party=known,
        title=books.titles[known],
        limit=books.own_limit(known).amount("bits"),
        held=max(each.holding(frozenset({known})).bits for each in books.by_cohort),
        needs_approval=known in books.approvals,
        is_closed=books.is_closed,
        releases=tuple(map(_own_release, own)),
        columns=private | {name: each.labels for name, each in books.externals.items()},
    )


def _own_release(intent: Intent) -> OwnRelease:
    record, measure = intent.record, intent.record.measure
    return OwnRelease(
        number=intent.entry.number,
        time=intent.entry.time,
        request=record.question.name,
        measure=measure.kind,
        in_words=value_in_words(measure.kind, record.value, record.blind, measure.objective),
        is_delivered=intent.delivery is not None,
        cohort=intent.record.cohort,
    )
