"""Refusals that help: what stands in the way, and the nearest request that fits.

For the custodian: a refusal may name other parties.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.errors import NotWithinLimitsError, TacitError
from tacit.scheme.policy import Parties
from tacit.study.asking import Wish
from tacit.study.books import Books
from tacit.study.drafting import Draft, draft, is_worth_it, tightest
from tacit.study.wording import (
    bits_down,
    bits_up,
    coalition_name,
    limit_in_words,
    value_in_words,
)

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
        words = ["tacit", "release", str(self.folder), wish.party, *wish.question.arguments]
        if wish.measure.given not in ("hamming", None):
            words += ["--utility", wish.measure.given]
        out = str(self.out or f"{wish.party}.parquet")
        return shlex.join([*words, *options, "--out", out])

    def raise_limit(self, party: str) -> str:
        """The command that gives a party more, to complete."""
        return shlex.join(["tacit", "party", "add", str(self.folder), party, "--limit"]) + " BITS"


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
        if error.coalition != (wish.party,):
            raise
        raise _spent(books, wish, place, error) from None
    if not is_worth_it(found):
        raise _worthless(books, found, place)
    if max_error is not None and found.value > max_error:
        raise _too_coarse(books, found, place, max_error)
    return found


def _spent(
    books: Books, wish: Wish, place: Place, error: NotWithinLimitsError
) -> NotWithinLimitsError:
    """The party's own limit leaves less than it asks for: what is left may do, too."""
    left = error.limit_bits - error.held_bits
    bits = bits_down(max(left, 0.0))  # so that pasting it works
    fewer = None if left < _LEAST_OFFERED else _drafted(books, replace(wish, bits=float(bits)))
    if fewer is not None and not is_worth_it(fewer):
        return _worthless(books, fewer, place)
    advice = f"; it may learn more only after {place.raise_limit(wish.party)}"
    return NotWithinLimitsError(
        f"{error}{advice if fewer is None else ''}",
        error.coalition,
        error.limit_bits,
        error.held_bits,
        None if fewer is None else place.command(wish, "--bits", bits),
    )


def _drafted(books: Books, wish: Wish) -> Draft | None:
    try:
        return draft(books, wish)
    except TacitError:
        return None


def _worthless(books: Books, found: Draft, place: Place) -> NotWithinLimitsError:
    coalition, limit, held = tightest(found)
    fits = _substitute(books, found, place)
    advice = (
        "" if fits else "; only a higher limit would help: tacit party add, tacit collusion set"
    )
    return NotWithinLimitsError(
        f"{_held(books, found, coalition, limit, held)}, which leaves {found.wish.party} nothing "
        f"better than a blind guess{advice}",
        tuple(sorted(coalition)),
        limit,
        held,
        fits,
    )


def _held(books: Books, found: Draft, coalition: Parties, limit: float, held: float) -> str:
    name = coalition_name(coalition, books.holders | {found.wish.party})
    verb = "holds" if len(coalition) == 1 or name == "everyone" else "together hold"
    return f"{name} {verb} {bits_up(held)} of {limit_in_words(limit)} bits"


def _substitute(books: Books, found: Draft, place: Place) -> str | None:
    """An earlier question of another party, whose letters add little: told again, they fit."""
    asked: dict[str, Wish] = {}
    for intent in reversed(books.intents.values()):
        wish = intent.wish
        is_other = wish.question.record != found.wish.question.record
        is_told_by_words = wish.measure.given is not None and not wish.measure.is_information
        if is_other and is_told_by_words and wish.party != found.wish.party:
            asked.setdefault(wish.question.name, wish)
    for wish in list(asked.values())[:_MOST_TRIED]:
        own = _drafted(books, replace(wish, party=found.wish.party, bits=None))
        if own is not None and is_worth_it(own):
            return place.command(own.wish)
    return None


def _too_coarse(books: Books, found: Draft, place: Place, max_error: float) -> NotWithinLimitsError:
    coalition, limit, held = binding(found)
    name = coalition_name(coalition, books.holders | {found.wish.party})
    words = value_in_words(found.wish.measure, found.value, found.blind)
    reachable = bits_up(found.value)  # so that pasting it works
    bits = [] if found.wish.bits is None else ["--bits", repr(found.wish.bits)]
    return NotWithinLimitsError(
        f"the limit of {limit_in_words(limit)} bits on {name} allows a mean error of {reachable}, "
        f"not {limit_in_words(max_error)} ({words})",
        tuple(sorted(coalition)),
        limit,
        held,
        place.command(found.wish, *bits, "--max-error", reachable),
    )


def binding(found: Draft) -> tuple[Parties, float, float]:
    """The coalition whose next bit would be worth most, its limit, and what it holds."""
    worth = {
        coalition: found.design.solution.multipliers.get(key, 0.0)
        for coalition, key in found.design.keys.items()
    }
    coalition = max(worth, key=lambda each: (worth[each], -len(each)))
    return coalition, found.limits[coalition], found.before.upper_bits(coalition)
