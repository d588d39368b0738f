"""What to say about a name that is not there: the names that are, the most similar first."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST_LISTED = 10
_MOST_SHOWN = 80


def nearest_first(wanted: str, names: Iterable[str]) -> str:
    """The names, most similar to ``wanted`` first, as a list for an error message."""

    def likeness(name: str) -> float:
        return SequenceMatcher(None, wanted.casefold(), name.casefold()).ratio()

    ranked = sorted(names, key=likeness, reverse=True)
    more = len(ranked) - _MOST_LISTED
    listed = ", ".join(map(shown, ranked[:_MOST_LISTED]))
    return f"{listed} and {more} more" if more > 0 else listed


def shown(name: str) -> str:
    """A name for a message: the first line of a binary file may be one of thousands of signs."""
    return repr(name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}...")
