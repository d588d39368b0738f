"""The names of a table's columns, as its first line gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tacit.errors import InvalidInputError


def check_names(names: Iterable[str], shown: str) -> None:
    """Refuse two columns of one name: a reader would take either of them.

    Args:
        names: of all columns; an empty one is no name.
        shown: the table's name for the message.
    """
    for name, times in Counter(names).items():
        if name and times > 1:
            raise InvalidInputError(f"{shown} has two columns {name!r}: give each its own name")


def check_case(wanted: Iterable[str], names: Sequence[str], shown: str) -> None:
    """Refuse a wanted column if names differ from its own only in case: SQL takes them for one."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.casefold(), []).append(name)
    for name in wanted:
        alike = found.get(name.casefold(), [])
        if len(alike) > 1:
            raise InvalidInputError(
                f"{shown} has columns {' and '.join(map(repr, alike))}, which SQL does not tell "
                "apart: give each its own name"
            )
