"""Refusals that help: what stands in the way, and the nearest request that fits.

For the custodian: a refusal may name other parties.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.errors import NotWithinLimitsError, TacitError
from tacit.policy import Limit, Parties
from tacit.study.books.books import Books
from tacit.study.reports.words import (
    bits_down,
    bits_up,
    limit_in_words,
    value_in_words,
    whom_in_words,
)
from tacit.study.requests.draft import (
    Draft,
    draft,
    holding_in_words,
    is_worth_it,
    refusal,
    tightest,
)
from tacit.study.requests.question import Wish, arguments_of, record_of

_LEAST_OFFERED = 1e-3
"""Bits. Less is not worth a suggestion."""

_MOST_TRIED = 3
"""As many earlier questions are tried as substitutes."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a command names beside the wish: the study's folder, and the file to write."""

    folder: Path
    out: Path | None = None

    def command(self, wish: Wish, *options: str) -> str:
        """The release command for a wish, to paste."""
        words = ["tacit", "release", str(self.folder), wish.party, *arguments_of(wish.question)]
        if wish.measure.given not in ("hamming", None):
            words += ["--utility", wish.measure.given]
        out = str(self.out or f"{wish.party}.parquet")
        return shlex.join([*words, *options, "--out", out])

    def let_in(self, party: str) -> str:
        """The command that lets a party in or changes its own limit, to complete."""
        return shlex.join(["tacit", "party", "add", str(self.folder), party, "--limit"]) + " BITS"

    def raise_limits(self, limits: Iterable[Limit]) -> str:
        """The commands that change limits, to complete."""
        commands, options = list[str](), list[str]()
        for limit in limits:
            if limit.group is not None and len(limit.group) == 1:
                commands.append(self.let_in(*limit.group))
            else:
                options += _option(limit)
        if options:
            commands.append(shlex.join(["tacit", "collusion", "set", str(self.folder), *options]))
        return " and ".join(commands)


def _option(limit: Limit) -> list[str]:
    if limit.group is not None:
        return ["--group", f"{','.join(sorted(limit.group))}=BITS"]
    return ["--everyone", "BITS"] if limit.size is None else ["--any", f"{limit.size}=BITS"]


def drafted(books: Books, wish: Wish, place: Place, max_error: float | None = None) -> Draft:
    """The draft of a wish, or a refusal with the nearest command that fits.

    Args:
        books: of the study.
        wish: what is asked.
        place: for the command.
        max_error: refuse answers whose mean cost is above this.
    """
    try:
        found = draft(books, wish)
    except NotWithinLimitsError as error:
        raise _helped(books, wish, place, error) from None
    if not is_worth_it(found):
        raise _worthless(books, found, place)
    if max_error is not None and found.value > max_error:
        raise _too_coarse(books, found, place, max_error)
    return found


def _helped(
    books: Books, wish: Wish, place: Place, error: NotWithinLimitsError
) -> NotWithinLimitsError:
    """A limit leaves less than is asked for: what is left may do, too."""
    coalition = frozenset(error.coalition)
    is_own = coalition == {wish.party}
    left = error.limit_bits - (error.held_bits if is_own else books.proved.everyone_bits)
    if is_own and wish.bits is not None and wish.bits <= left:
        return error  # its limits leave what it asks for
    bits = bits_down(max(left, 0.0))  # so that pasting it works
    is_fewer = left >= _LEAST_OFFERED and (wish.bits is None or float(bits) < wish.bits)
    fewer = _drafted(books, replace(wish, bits=float(bits))) if is_fewer else None
    if fewer is not None and is_worth_it(fewer):
        return refusal(books, str(error), coalition, place.command(wish, "--bits", bits))
    if fewer is not None and is_own:
        return _worthless(books, fewer, place)
    who = "it" if is_own else wish.party
    advice = f"{who} may learn more only after {_remedy(books, wish.party, coalition, place)}"
    return refusal(books, f"{error}; {advice}", coalition)


def _drafted(books: Books, wish: Wish) -> Draft | None:
    try:
        return draft(books, wish)
    except TacitError:
        return None


def _remedy(books: Books, party: str, coalition: Parties, place: Place) -> str:
    """The commands that raise a coalition's limit, and all others that are next to used up.

    Raising one limit does not help a party that another leaves nothing to.
    """
    account, others = books.proved, books.holders - {party}
    used_up = [
        limit
        for limit in books.all_limits.limits
        if any(
            limit.bits - account.upper_bits(each) < _LEAST_OFFERED
            for each in limit.coalitions_with(party, others)
        )
    ]
    binding = books.all_limits.binding_on(coalition)
    return place.raise_limits(dict.fromkeys((*binding, *used_up)))


def _worthless(books: Books, found: Draft, place: Place) -> NotWithinLimitsError:
    wish = found.wish
    coalition = tightest(found)
    if wish.bits is not None and coalition == {wish.party} and _is_ask(books, found):
        reason = f"{limit_in_words(wish.bits)} bits buy {wish.party} nothing better than a blind"
        return refusal(books, f"{reason} guess: ask for more", coalition)
    fits = _substitute(books, found, place)
    remedy = _remedy(books, wish.party, coalition, place)
    advice = "" if fits else f"; only a higher limit would help: {remedy}"
    return refusal(
        books,
        f"{holding_in_words(books, coalition)}, which leaves {wish.party} nothing better than a "
        f"blind guess{advice}",
        coalition,
        fits,
    )


def _is_ask(books: Books, found: Draft) -> bool:
    """Whether a party is held to what it asks for, not to its limits."""
    party = found.wish.party
    return found.limits[frozenset({party})] < books.own_limit(party)


def _substitute(books: Books, found: Draft, place: Place) -> str | None:
    """An earlier question of another party, whose letters add little: told again, they fit."""
    asked: dict[str, Wish] = {}
    for intent in reversed(books.intents.values()):
        wish = intent.wish
        is_other = record_of(wish.question) != record_of(found.wish.question)
        is_told_by_words = wish.measure.given is not None and not wish.measure.is_information
        is_askable = is_told_by_words and _can_be_asked(books, wish)
        if is_other and is_askable and wish.party != found.wish.party:
            asked.setdefault(wish.question.name, wish)
    for wish in list(asked.values())[:_MOST_TRIED]:
        own = _drafted(books, replace(wish, party=found.wish.party, bits=None))
        if own is not None and is_worth_it(own):
            return place.command(own.wish)
    return None


def _can_be_asked(books: Books, wish: Wish) -> bool:
    """Whether a question's name can be pasted: 0.1 recorded several attributes as a+b."""
    question, attributes = wish.question, {each.name for each in books.created.attributes}
    is_named = question.external is not None or attributes.issuperset(question.name.split(","))
    return question.sql is not None or is_named


def _too_coarse(books: Books, found: Draft, place: Place, max_error: float) -> NotWithinLimitsError:
    coalition = binding(found)
    words = value_in_words(found.wish.measure, found.value, found.blind)
    reachable = bits_up(found.value)  # so that pasting it works
    bits = [] if found.wish.bits is None else ["--bits", repr(found.wish.bits)]
    return refusal(
        books,
        f"{_what_binds(books, found, coalition)} a mean error of {reachable}, not "
        f"{limit_in_words(max_error)} ({words})",
        coalition,
        place.command(found.wish, *bits, "--max-error", reachable),
    )


def _what_binds(books: Books, found: Draft, coalition: Parties) -> str:
    asked = found.wish.bits
    if asked is not None and coalition == {found.wish.party} and _is_ask(books, found):
        return f"the {limit_in_words(asked)} bits asked for allow"
    limits = books.all_limits.binding_on(coalition)
    shown = limit_in_words(limits[0].bits)
    return f"the limit of {shown} bits on {whom_in_words(limits)} allows"


def binding(found: Draft) -> Parties:
    """The coalition whose next bit would be worth most; of several, that with the least limit."""
    multipliers = found.design.solution.multipliers
    worth = {
        coalition: (multipliers.get(key, 0.0), -found.limits[coalition], -len(coalition))
        for coalition, key in found.design.keys.items()
    }
    return max(worth, key=lambda coalition: worth[coalition])
