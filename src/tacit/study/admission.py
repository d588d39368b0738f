"""Who may learn how much: what a custodian can say about it, and what is refused or remarked."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan
from pathlib import Path

from tacit.errors import InvalidInputError, NotWithinLimitsError
from tacit.scheme.policy import Parties
from tacit.study.books import Books
from tacit.study.records import PolicyRecord
from tacit.study.refusals import Place
from tacit.study.wording import bits_up, limit_in_words
from tacit.tables.nearest import nearest_first


def check_limit(name: str, bits: float) -> None:
    """Refuse what is no number of bits."""
    if isnan(bits) or bits <= 0 or bits == inf:
        raise InvalidInputError(f"{name} is {bits:g}: give a number of bits above 0")


def check_max_error(max_error: float | None, utility: str) -> None:
    """Refuse what is no mean cost."""
    if max_error is None:
        return
    if utility == "information":
        raise InvalidInputError("information has no mean error: leave the largest error out")
    if not 0 <= max_error < inf:
        raise InvalidInputError(f"the largest error is {max_error:g}: give a number, 0 or more")


def check_name(party: str) -> None:
    """Refuse a party's name that lists, tables or commands would not show as it is."""
    is_plain = party.isprintable() and party == party.strip() and not party.startswith("-")
    if not party or not is_plain or "+" in party or "," in party or party == "everyone":
        raise InvalidInputError(
            f"party {party!r}: give a name without commas, plus signs and outer blanks, not "
            "'everyone' and not beginning with a dash"
        )


def lower_around(books: Books, party: str) -> list[str]:
    """A remark where a coalition's limit leaves a party less than its own."""
    lowest = books.own_limit(party)
    if lowest >= books.limits[party]:
        return []
    shown = limit_in_words(lowest)
    return [f"a coalition around {party} may learn only {shown} bits, and so may {party}"]


def let_in(policy: PolicyRecord, known: Mapping[str, float]) -> list[str]:
    """Remarks on parties that a policy names and that were not there before."""
    return [
        f"{party} is new and let in with its group's limit of {limit_in_words(bits)} bits: "
        "tacit party add gives it its own"
        for party, bits in policy.newcomers.items()
        if party not in known
    ]


def check_party(books: Books, party: str, folder: Path) -> None:
    """Refuse a party that was never let in."""
    if party not in books.limits:
        known = nearest_first(party, books.limits) or "none yet"
        raise InvalidInputError(
            f"party {party!r} is unknown (parties: {known}): "
            f"let it in with {Place(folder).raise_limit(party)}"
        )


def refuse_below(coalition: Parties, limit: float, held: float) -> None:
    """Refuse a limit that is broken already."""
    if limit < held:
        name = " + ".join(sorted(coalition))
        raise NotWithinLimitsError(
            f"a limit of {limit_in_words(limit)} bits on {name} is below what it holds already: "
            f"give at least {bits_up(held, 6)}",
            tuple(sorted(coalition)),
            limit,
            held,
            None,
        )
