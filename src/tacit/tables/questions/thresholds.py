"""Comparisons of a binned attribute with a constant: those that its bins can decide, and no finer.

Constants are numbers or, where the bins are of dates or times, ISO texts of these.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_text
from tacit.tables.encoding.attribute import (
    Attribute,
    Bins,
    decimal_places,
    is_integer,
    is_number,
    label_of,
    moment_of,
)

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What an operator is when its sides are exchanged; others cannot be decided by bins."""

_MOST_LISTED = 10


def has_moments(attribute: Attribute) -> bool:
    """Whether the bins of an attribute are of dates or times."""
    return bool(attribute.cuts) and not is_number(attribute.sql_type)


def bins_sql(attribute: Attribute, operator: str, constant: str) -> str:
    """``attribute operator constant`` as a condition on the attribute's bin: ``<= 2`` or ``> 2``.

    Bins end with their cut, so ``<= cut`` and ``> cut`` can be decided. Of whole numbers,
    ``< 61`` is ``<= 60`` and ``>= 61`` is ``> 60``; days are counted in the same way.
    """
    side = "<=" if operator in ("<", "<=") else ">"
    places = [_place(attribute, str(cut)) for cut in attribute.cuts]
    wanted = _place(attribute, constant)
    deciding = _deciding_place(attribute, operator, wanted)
    if deciding not in places:
        nearest = min(range(len(places)), key=lambda k: abs(places[k] - wanted))
        raise InvalidInputError(
            f"{_steps(attribute)}; the nearest that can be asked is "
            f"{attribute.name} {side} {_written(attribute, nearest)}"
        )
    return f"{side} {places.index(deciding)}"


def undecided(attribute: Attribute) -> InvalidInputError:
    """What to raise where a binned attribute is used in any other way."""
    first = _written(attribute, 0)
    noun = "times" if has_moments(attribute) else "numbers"
    return InvalidInputError(
        f"{_steps(attribute)} and can only be compared with these {noun}, as in "
        f"{attribute.name} <= {first} or {attribute.name} > {first}"
    )


def _deciding_place(attribute: Attribute, operator: str, place: Fraction) -> Fraction | None:
    """Where the cut lies that would decide the comparison; ``None`` if none could."""
    is_side_of_cut = operator in ("<=", ">")
    step = _step(attribute)
    if step is None:
        return place if is_side_of_cut else None
    return step * (floor(place / step) if is_side_of_cut else ceil(place / step) - 1)


def _step(attribute: Attribute) -> Fraction | None:
    """How far neighbouring values lie apart; ``None`` if there are more between any two."""
    has_days = isinstance(attribute.coding, Bins) and attribute.coding.has_days
    if is_integer(attribute.sql_type) or has_days:
        return Fraction(1)
    places = decimal_places(attribute.sql_type)
    return Fraction(1, 10 ** places[1]) if places is not None and _is_exact(attribute) else None


def _is_exact(attribute: Attribute) -> bool:
    """Whether the cuts are decimals with all their digits."""
    return decimal_places(attribute.sql_type) is not None and isinstance(attribute.cuts[0], str)


def _place(attribute: Attribute, constant: str) -> Fraction:
    """Where a constant lies on the line of the attribute's values."""
    if has_moments(attribute):
        return _moment_place(attribute, constant)
    if is_integer(attribute.sql_type) or _is_exact(attribute) or not isfinite(float(constant)):
        return Fraction(constant)
    return Fraction(float(constant))


def _moment_place(attribute: Attribute, constant: str) -> Fraction:
    """Days of a date, microseconds of a time; a date does not compare with times."""
    try:
        moment = moment_of(constant)
    except ValueError:
        raise undecided(attribute) from None
    if type(moment) is not type(moment_of(str(attribute.cuts[0]))):
        raise undecided(attribute)
    if isinstance(moment, time):
        moment = datetime.combine(date.min, moment)
    if isinstance(moment, datetime):
        return Fraction((moment - datetime.min) // timedelta(microseconds=1))
    return Fraction(moment.toordinal())


def _steps(attribute: Attribute) -> str:
    more = ", ..." if len(attribute.cuts) > _MOST_LISTED else ""
    listed = ", ".join(map(label_of, attribute.cuts[:_MOST_LISTED])) + more
    return f"{attribute.name} is known in steps of {listed} here"


def _written(attribute: Attribute, k: int) -> str:
    """A cut as it is written in SQL."""
    written = label_of(attribute.cuts[k])
    return quote_text(written) if has_moments(attribute) else written
