"""Comparisons of a binned attribute with a number: those that its bins can decide, and no finer."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from tacit.errors import InvalidInputError
from tacit.tables.encoding.attribute import Attribute, is_integer, label_of

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What an operator is when its sides are exchanged; others cannot be decided by bins."""

_MOST_LISTED = 10


def bins_sql(attribute: Attribute, operator: str, number: str) -> str:
    """``attribute operator number`` as a condition on the attribute's bin: ``<= 2`` or ``> 2``.

    Bins end with their cut, so ``<= cut`` and ``> cut`` can be decided. Of whole numbers,
    ``< 61`` is ``<= 60`` and ``>= 61`` is ``> 60``.
    """
    side = "<=" if operator in ("<", "<=") else ">"
    cut = _deciding_cut(attribute, operator, number)
    if cut is None or cut not in attribute.cuts:
        nearest = min(attribute.cuts, key=lambda each: abs(Fraction(each) - Fraction(number)))
        raise InvalidInputError(
            f"{_steps(attribute)}; the nearest that can be asked is "
            f"{attribute.name} {side} {label_of(nearest)}"
        )
    return f"{side} {attribute.cuts.index(cut)}"


def undecided(attribute: Attribute) -> InvalidInputError:
    """What to raise where a binned attribute is used in any other way."""
    first = label_of(attribute.cuts[0])
    return InvalidInputError(
        f"{_steps(attribute)} and can only be compared with these numbers, as in "
        f"{attribute.name} <= {first} or {attribute.name} > {first}"
    )


def _deciding_cut(attribute: Attribute, operator: str, number: str) -> float | None:
    """The cut that would decide the comparison; ``None`` if none could."""
    is_side_of_cut = operator in ("<=", ">")
    if is_integer(attribute.sql_type):
        return floor(Fraction(number)) if is_side_of_cut else ceil(Fraction(number)) - 1
    return float(number) if is_side_of_cut else None


def _steps(attribute: Attribute) -> str:
    more = ", ..." if len(attribute.cuts) > _MOST_LISTED else ""
    listed = ", ".join(map(label_of, attribute.cuts[:_MOST_LISTED])) + more
    return f"{attribute.name} is known in steps of {listed} here"
