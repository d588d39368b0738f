"""Who may learn how much: what a custodian can say about it, and what is refused or remarked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

from tacit.accounting import Account
from tacit.errors import CapError, InfeasibleError, InvalidInputError
from tacit.information.laws import as_positive_bits, bits_up
from tacit.policy import Limit, Parties, bits_in_words, times_in_words
from tacit.remark import Remark
from tacit.scheme import Policy
from tacit.study.books.books import Books
from tacit.study.books.records import Measure
from tacit.study.proofs.caps import ExactLaws, told_steps
from tacit.study.setup.names import check_new_names

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


def check_limits(policy: Policy, known: Collection[str]) -> None:
    """Refuse limits of 0 bits, and names that are misleading beside those of known parties.

    A limit that is only a cap lets nobody in, so that its parties must be there already.
    """
    let_in = policy.newcomers.keys() | set(known)
    for limit in policy.limits:
        if limit.bits < inf or limit.cap == inf:
            as_positive_bits(limit.bits, name=f"the limit on {limit.in_words}")
        if not limit.parties <= let_in:
            names = ", ".join(sorted(limit.parties - let_in))
            raise InvalidInputError(
                f"the cap on {limit.in_words} names {names}, who may learn nothing yet: give them "
                "a limit first"
            )
    check_new_names(sorted(policy.newcomers.keys() - set(known)), known)


def check_policy(books: Books, policy: Policy) -> None:
    """Refuse limits of 0 bits, new names that are misleading, and limits below what is held."""
    check_limits(policy, books.known_names)
    for changed in books.with_policy(policy).by_cohort:
        account, limits, holders = changed.proved_account, changed.all_limits, changed.holders
        for limit, coalition in limits.worst_holders(holders, account.upper_bits):
            refuse_below(limit, coalition, account)
        for limit, coalition in limits.worst_holders(holders, account.worst_answer):
            refuse_cap_below(limit, coalition, changed)


def newcomer_remarks(policy: Policy, known: Mapping[str, float]) -> list[Remark]:
    """Remarks on parties that a policy names and that were not there before."""
    return [
        Remark("party_let_in", {"party": party, "bits": bits})
        for party, bits in policy.newcomers.items()
        if party not in known
    ]


def refuse_below(limit: Limit, coalition: Parties, account: Account) -> None:
    """Refuse a limit that is broken already, by these parties."""
    held = account.upper_bits(coalition)
    if limit.bits >= held:
        return
    name = " + ".join(sorted(coalition))
    who = name if name != limit.in_words else "it" if len(coalition) == 1 else "they"
    holds = "holds" if len(coalition) == 1 else "together hold"
    is_everyone = account.memory.present <= coalition
    covered = ", counted as everyone does" * (account.is_covered(coalition) and not is_everyone)
    raise InfeasibleError(
        tuple(sorted(coalition)),
        limit.bits,
        held,
        reason=f"a limit of {bits_in_words(limit.bits)} on {limit.in_words} is below what "
        f"{who} {holds} already{covered}: give at least {bits_up(held, 6)}",
    )


def refuse_cap_below(limit: Limit, coalition: Parties, books: Books) -> None:
    """Refuse a cap that is broken already, by an answer that these parties can hold."""
    account = books.proved_account
    held = account.worst_answer(coalition)
    if limit.cap >= held:
        return
    is_near = limit.cap >= held - _ROUNDED  # decided exactly, as ``verify`` does
    if is_near and ExactLaws().keeps_cap(account, told_steps(books), coalition, limit.cap):
        return
    name = " + ".join(sorted(coalition))
    who = name if name != limit.in_words else "it" if len(coalition) == 1 else "they"
    raise CapError(
        tuple(sorted(coalition)),
        limit.cap,
        held,
        reason=f"a cap of {bits_in_words(limit.cap)} on {limit.in_words} is below what {who} may "
        f"hold already: an answer that makes a combination of levels up to {times_in_words(held)} "
        f"times as likely; give at least {bits_up(held, 6)}",
    )
