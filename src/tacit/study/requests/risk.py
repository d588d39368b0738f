"""What a party, and the coalition nearest to its limit, can tell about a record after a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from tacit.auditing import infer_held
from tacit.errors import InvalidInputError
from tacit.scheme import Scheme, Variable
from tacit.study.books.books import Books
from tacit.study.books.records import HoldingRecord
from tacit.study.disclosures import find_disclosures, list_variables, shown_disclosures
from tacit.study.reports.receipts import Receipt
from tacit.study.reports.risk import Risk, Told
from tacit.study.requests.draft import Draft


def foresee_risks(books: Books, drafted: Draft) -> tuple[Risk, ...]:
    """What could be told after a release that is not recorded yet; see ``tell_risks``."""
    party, question = drafted.request.party, drafted.request.question
    steps = drafted.steps_after(books)
    scheme = Scheme.resume(books.p_x, drafted.after.memory, steps, books.limits)
    return _risks(books, scheme, party, drafted.holdings, list_variables(books, question))


def tell_risks(books: Books) -> tuple[Risk, ...]:
    """What could be told after the last release, by its party and by the coalition nearest to its
    limit: about every column, every question that was asked, and last the whole record.
    """
    intent = next(reversed(books.intents.values()))
    scheme = books.scheme(books.proved_account)
    party, holdings = intent.request.party, intent.record.holdings
    return _risks(books, scheme, party, holdings, list_variables(books))


def tell_held(books: Books, parties: Sequence[str]) -> Risk:
    """What parties could tell together about a record, by all that they hold.

    Raises:
        InvalidInputError: none of them holds anything.
    """
    holders = books.holders & {books.find_party(each) for each in parties}
    if not holders:
        raise InvalidInputError("these parties hold nothing yet: name one that received something")
    account = books.proved_account
    told = _risk(books, books.scheme(account), sorted(holders), list_variables(books))
    found = shown_disclosures([(books, find_disclosures(books, account, [holders]))])
    return told.model_copy(update={"disclosures": found})


def complete_receipt(receipt: Receipt, before: Books, after: Books) -> Receipt:
    """The receipt with what was held before, and what can be told about a person.

    Args:
        receipt: of a release.
        before: the books up to it.
        after: the books with it, as the last entry.
    """
    account = before.proved_account
    held = tuple(account.upper_bits(frozenset(each.parties)) for each in receipt.holdings)
    return receipt.model_copy(update={"held_before": held, "risks": tell_risks(after)})


def _risks(
    books: Books,
    scheme: Scheme,
    party: str,
    holdings: Sequence[HoldingRecord],
    variables: Iterable[Variable],
) -> tuple[Risk, ...]:
    others = [each for each in holdings if each.parties != (party,)]
    nearest = sorted(others, key=lambda each: (each.limit - each.bits, len(each.parties)))[:1]
    known = tuple(variables)
    pooling = ((party,), *(each.parties for each in nearest))
    return tuple(_risk(books, scheme, parties, known) for parties in pooling)


def _risk(
    books: Books, scheme: Scheme, parties: Sequence[str], variables: Iterable[Variable]
) -> Risk:
    told = tuple(map(Told.of, infer_held(scheme, parties, variables)))
    times, records = books.least_on(*parties).times, books.cohort.record.records
    limit = None if times == inf else times
    return Risk(parties=tuple(parties), records=records, times=limit, told=told)
