"""The names of a table's columns, as its first line gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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
