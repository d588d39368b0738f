"""Refusals that help: what stands in the way, and the nearest request that fits.

For the custodian: a refusal may name other parties.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from math import ceil, floor
from pathlib import Path

from tacit.errors import NotWithinLimitsError
from tacit.study.asking import Wish
from tacit.study.books import Books
from tacit.study.drafting import Draft, draft, is_worth_it, tightest
from tacit.study.wording import coalition_name, value_in_words

_LEAST_OFFERED = 1e-3
"""Bits. Less is not worth a suggestion."""

_MOST_TRIED = 3
"""As many earlier questions are tried as substitutes."""


def drafted(books: Books, wish: Wish, folder: Path, max_error: float | None = None) -> Draft:
    """The draft of a wish, or a refusal with the nearest command that fits.

    Args:
        books: of the study.
        wish: what is asked.
        folder: of the study, for the command.
        max_error: refuse answers whose mean cost is above this.
    """
    try:
        found = draft(books, wish)
    except NotWithinLimitsError as error:
        raise NotWithinLimitsError(
            str(error),
            error.coalition,
            error.limit_bits,
            error.held_bits,
            _with_fewer_bits(books, wish, folder, error.limit_bits - error.held_bits),
        ) from None
    if not is_worth_it(found):
        raise _worthless(books, found, folder)
    if max_error is not None and found.value > max_error:
        raise _too_coarse(books, found, folder, max_error)
    return found


def command(folder: Path, wish: Wish, *options: str) -> str:
    """The release command for a wish, to paste."""
    words = ["tacit", "release", str(folder), wish.party, *wish.question.arguments, *options]
    if wish.measure.kind not in ("hamming", "costs"):
        words += ["--utility", wish.measure.kind]
    return shlex.join([*words, "--out", f"{wish.party}.parquet"])


def _with_fewer_bits(books: Books, wish: Wish, folder: Path, left: float) -> str | None:
    """The same request for what is left to the party, if that is worth asking for."""
    bits = floor(left * 1e4) / 1e4  # rounded down, so that pasting it works
    if bits < _LEAST_OFFERED:
        return None
    if not is_worth_it(draft(books, replace(wish, bits=bits))):
        return None
    return command(folder, wish, "--bits", f"{bits:g}")


def _worthless(books: Books, found: Draft, folder: Path) -> NotWithinLimitsError:
    coalition, limit, held = tightest(found)
    name = coalition_name(coalition, books.holders | {found.wish.party})
    return NotWithinLimitsError(
        f"{name} together hold {held:.4f} of {limit:g} bits, which leaves {found.wish.party} "
        "nothing better than a blind guess",
        tuple(sorted(coalition)),
        limit,
        held,
        _substitute(books, found, folder),
    )


def _substitute(books: Books, found: Draft, folder: Path) -> str | None:
    """An earlier question of another party, whose letters add little: told again, they fit."""
    asked: dict[str, Wish] = {}
    for intent in reversed(books.intents.values()):
        wish = intent.wish
        is_other = wish.question.record != found.wish.question.record
        if is_other and wish.party != found.wish.party and not wish.measure.is_information:
            asked.setdefault(wish.question.name, wish)
    for wish in list(asked.values())[:_MOST_TRIED]:
        own = replace(wish, party=found.wish.party, bits=None)
        with suppress(NotWithinLimitsError):
            if is_worth_it(draft(books, own)):
                return command(folder, own)
    return None


def _too_coarse(books: Books, found: Draft, folder: Path, max_error: float) -> NotWithinLimitsError:
    coalition, limit, held = binding(found)
    name = coalition_name(coalition, books.holders | {found.wish.party})
    words = value_in_words(found.wish.measure, found.value, found.blind)
    reachable = ceil(found.value * 1e4) / 1e4  # rounded up, so that pasting it works
    fits = command(folder, found.wish, "--max-error", f"{reachable:g}")
    return NotWithinLimitsError(
        f"the limit of {limit:g} bits on {name} allows {words}, "
        f"a mean error of {found.value:.4f}, not {max_error:g}",
        tuple(sorted(coalition)),
        limit,
        held,
        fits,
    )


def binding(found: Draft) -> tuple[frozenset[str], float, float]:
    """The coalition whose next bit would be worth most, its limit, and what it holds."""
    worth = {
        coalition: found.design.solution.multipliers.get(key, 0.0)
        for coalition, key in found.design.keys.items()
    }
    coalition = max(worth, key=lambda each: (worth[each], -len(each)))
    return coalition, found.limits[coalition], found.before.upper_bits(coalition)
