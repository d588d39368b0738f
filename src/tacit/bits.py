"""What a number of bits is: the two checks of those that somebody gives."""

from __future__ import annotations

from math import inf
from typing import SupportsFloat

from tacit.errors import InvalidInputError


def as_limit(name: str, bits: object) -> float:
    """A limit in bits: 0 or more; infinity for none."""
    number = _as_number(name, bits)
    if not number >= 0:
        raise InvalidInputError(f"{name} is {number}: a limit is a number of bits >= 0")
    return number


def as_positive_bits(name: str, bits: object) -> float:
    """Bits that somebody may learn: more than 0, and finite."""
    number = _as_number(name, bits)
    if not 0 < number < inf:
        raise InvalidInputError(f"{name} is {number:g}: give a number of bits above 0")
    return number


def _as_number(name: str, given: object) -> float:
    try:
        if isinstance(given, SupportsFloat):  # a text is none, even if it reads as a number
            return float(given)
    except TypeError:  # an array of several numbers
        pass
    raise InvalidInputError(f"{name} is {given!r}: give a number of bits")
