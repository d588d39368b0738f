"""Who may learn how much: what a custodian can say about it, and what is refused or remarked."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from math import inf
from operator import itemgetter

from tacit.accounting import Account
from tacit.errors import CapError, InfeasibleError, InvalidInputError
from tacit.information.laws import as_positive_bits, bits_in_words, bits_up, times_in_words
from tacit.limits import Limit, Parties, Whom, cap_of, find, fullest, replaced, without
from tacit.remark import Remark
from tacit.study.books.books import Books
from tacit.study.books.records import LimitRecord, Measure
from tacit.study.entry_kinds import refuse_removal, refuse_unknown
from tacit.study.proofs.caps import ExactLaws, told_steps

MOST_SIGNS = 1000
"""Of a reason, or of an organisation's name."""

_ROUNDED = 1e-9
"""Bits. Figures of worst answers include so much for rounding at most."""

UNCHANGED = Remark("unchanged")
"""On a change that makes no entry."""


def check_max_error(max_error: float, measure: Measure) -> None:
    """Refuse what is no mean cost."""
    if not measure.is_cost:
        raise InvalidInputError(f"{measure.kind} has no mean error: leave the largest error out")
    if not 0 <= max_error < inf:
        raise InvalidInputError(f"the largest error is {max_error:g}: give a number, 0 or more")


def check_text(text: str, name: str) -> None:
    """Refuse what papers cannot show on a line or two."""
    if not text.strip() or len(text) > MOST_SIGNS or not text.isprintable():
        raise InvalidInputError(
            f"{name} is {text[:40]!r}: give a text without line breaks, of at most {MOST_SIGNS:,} "
            "signs"
        )


def changed_limit(
    books: Books, whom: Whom, bits: float | None, times: float | None, title: str | None
) -> LimitRecord:
    """The record of a limit of which some amounts change; ``None`` leaves one, ``inf`` takes it.

    Raises:
        InvalidInputError: nothing is named, a party has no bits, or somebody is no party.
        InfeasibleError: the limit is below what is held already.
    """
    known, party = find(books.limits, whom), whom.party
    refuse_unknown(books, whom)
    if title is not None:
        check_text(title, "the title")
        if party is None:
            raise InvalidInputError(f"a title is given for {whom.in_words}: only parties have one")
    if bits is None and times is None and (title is None or known is None):
        raise InvalidInputError(f"nothing is named for {whom.in_words}: give bits, times, or both")
    bits = known.bits if bits is None and known is not None else bits
    times = known.times if times is None and known is not None else times
    bits, times = (None if amount == inf else amount for amount in (bits, times))
    if known is None and bits is None and times is None:
        raise InvalidInputError(f"there is no limit on {whom.in_words} to take away")
    if bits is not None:
        as_positive_bits(bits, name=f"the limit on {whom.in_words}")
    if party is not None and bits is None:
        if known is None:
            raise InvalidInputError(f"{party} is new: give the bits that it may learn")
        refuse_removal(books, party)
        return LimitRecord(whom=str(whom))
    if bits is None and times is None:
        check_limits(books, without(books.limits, whom))
        return LimitRecord(whom=str(whom))
    limit = Limit(whom, bits, times)
    if party is None:
        check_limits(books, replaced(books.limits, limit))
        return LimitRecord(whom=str(whom), bits=limit.bits, times=limit.times)
    refuse_broken(books, [limit])
    shown = title or books.titles.get(party, party)
    return LimitRecord(whom=party, bits=limit.bits, times=limit.times, title=shown)


def check_limits(books: Books, limits: tuple[Limit, ...]) -> None:
    """Refuse limits on coalitions with somebody unknown, or below what is held already.

    All are checked: with other limits other coalitions are followed, and what is known of the rest
    may be less close.
    """
    for limit in limits:
        refuse_unknown(books, limit.whom)
    refuse_broken(books.with_limits(limits), limits)


def refuse_broken(books: Books, limits: Collection[Limit]) -> None:
    """Refuse limits below what is held already."""
    for held, refuse in (
        (Account.upper_bits, refuse_below),
        (Account.worst_answer, refuse_fewer_times),
    ):
        found = [
            (held(each.proved_account, coalition), limit, coalition, each)
            for each in books.by_cohort
            for limit, coalition in fullest(
                limits, each.holders, partial(held, each.proved_account)
            )
        ]
        # The most first: what is named as enough has to be enough in every cohort.
        for _, limit, coalition, each in sorted(found, key=itemgetter(0), reverse=True):
            refuse(limit, coalition, each)


def refuse_below(limit: Limit, coalition: Parties, books: Books) -> None:
    """Refuse a limit in bits that is broken already, by these parties."""
    account = books.proved_account
    held = account.upper_bits(coalition)
    if limit.bits is None or limit.bits >= held:
        return
    holds = "holds" if len(coalition) == 1 else "together hold"
    is_everyone = account.memory.present <= coalition
    covered = ", counted as everyone does" * (account.is_covered(coalition) and not is_everyone)
    raise InfeasibleError(
        tuple(sorted(coalition)),
        limit.bits,
        held,
        reason=f"a limit of {bits_in_words(limit.bits)} on {limit.whom.in_words} is below what "
        f"{_pronoun(limit, coalition)} {holds} already{covered}: give at least {bits_up(held, 6)}",
    )


def refuse_fewer_times(limit: Limit, coalition: Parties, books: Books) -> None:
    """Refuse a limit in times that is broken already, by an answer that these parties can hold."""
    account = books.proved_account
    held = account.worst_answer(coalition)
    if limit.times is None or cap_of(limit.times) >= held:
        return
    is_near = cap_of(limit.times) >= held - _ROUNDED  # decided exactly, as ``verify`` does
    if is_near and ExactLaws().keeps(account, told_steps(books), coalition, limit.times):
        return
    raise CapError(
        tuple(sorted(coalition)),
        cap_of(limit.times),
        held,
        reason=f"a limit of {limit.times:,.12g} times on {limit.whom.in_words} is below what "
        f"{_pronoun(limit, coalition)} may hold already: an answer that makes a combination of "
        f"levels up to {times_in_words(held)} times as likely; give at least that",
    )


def _pronoun(limit: Limit, coalition: Parties) -> str:
    name = " + ".join(sorted(coalition))
    return name if coalition != limit.whom.names else "it" if len(coalition) == 1 else "they"
