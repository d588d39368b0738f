"""Names of parties: one spelling for each, and no two that people could take for each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

from tacit.errors import InvalidInputError

_SIZE_IN_WORDS = re.compile(r"any .* part(y|ies)")
"""What lists call a limit on any so many parties, and so no party."""

_INVISIBLE = frozenset(
    map(
        chr,
        chain(
            (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            range(0x180B, 0x1810),
            range(0xFE00, 0xFE10),
            range(0xE0100, 0xE01F0),
        ),
    )
)
"""Signs that Python calls printable and that no screen shows."""

_TWINS = {
    "A": "АΑ", "B": "ВвΒ", "C": "С", "E": "ЕΕ", "H": "НнΗ", "I": "ІΙ", "J": "Ј", "K": "КкΚ",
    "M": "МмΜ", "N": "Ν", "O": "ОΟՕ", "P": "РΡ", "S": "ЅՏ", "T": "ТтΤ", "U": "Ս", "X": "ХΧ",
    "Y": "УΥ", "Z": "Ζ", "a": "аαɑ", "c": "сϲ", "d": "ԁ", "e": "е", "g": "ɡ", "h": "һհ",
    "i": "іιı", "j": "јϳȷ", "k": "κ", "n": "ո", "o": "оοօ", "p": "рρ", "q": "ԛ", "r": "г",
    "s": "ѕ", "t": "τ", "u": "υս", "v": "ν", "w": "ԝω", "x": "хχ", "y": "уγ",
    "'": "’‘ʼ′ꞌ", "-": "‐‒–—―−",
}  # fmt: skip
"""ASCII -> Cyrillic, Greek and Armenian letters, and signs, that look like it."""

_LOOKS_LIKE = {ord(twin): sign for sign, twins in _TWINS.items() for twin in twins}

_ALIKE = str.maketrans({"0": "O", "1": "l", "I": "l", "|": "l", "m": "rn"})
"""ASCII signs that look like each other."""


def check_new_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse new parties whose names do not show as they are, or show as another one."""
    there = list(known)
    for name in names:
        _check_name(name)
        other = next((each for each in there if _is_alike(name, each)), None)
        if other is not None:
            raise InvalidInputError(
                f"party {name!r} differs from {other!r} only by case or look: use that name, or "
                "one that nobody can take for it"
            )
        there.append(name)


def _check_name(party: str) -> None:
    """Refuse a party's name that lists, tables or commands would not show as it is."""
    shown = unicodedata.normalize("NFKC", party)
    is_shown = party.isprintable() and party == party.strip() and not _INVISIBLE & set(party)
    is_plain = is_shown and not shown.startswith("-") and not set("+,") & set(shown)
    is_word = bool(_SIZE_IN_WORDS.fullmatch(shown.casefold())) or _is_alike(party, "everyone")
    if not party or not is_plain or is_word:
        raise InvalidInputError(
            f"party {party!r}: give a name without commas, plus signs, signs that cannot be seen "
            "and outer blanks, not 'everyone' or 'any 2 parties' and not beginning with a dash"
        )


def _is_alike(one: str, other: str) -> bool:
    """Whether two names differ at most by case or by look."""
    return bool(_skeletons(one) & _skeletons(other))


def _skeletons(name: str) -> set[str]:
    """A name as it is remembered without case, and as it looks."""
    shown = unicodedata.normalize("NFKC", name)
    bare = "".join(sign for sign in shown if not _is_invisible_or_mark(sign))
    latin = " ".join(bare.translate(_LOOKS_LIKE).split())
    return {"case " + latin.casefold(), "look " + latin.translate(_ALIKE)}


def _is_invisible_or_mark(sign: str) -> bool:
    """What no screen shows, and accents that belong to no letter of their own."""
    is_mark = unicodedata.name(sign, "").startswith("COMBINING ")
    return is_mark or sign in _INVISIBLE or unicodedata.category(sign) == "Cf"
