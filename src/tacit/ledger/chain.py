"""Walking a study's chain: what was changed, removed or moved, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tacit.ledger.entry import Head
from tacit.ledger.stored import StoredEntry


def faults(rows: Iterable[StoredEntry], start: Head) -> Iterator[str]:
    """Everything that is wrong with rows that should follow ``start``, ordered by number.

    A chain cannot show that its last entries were cut off, nor that all of them were computed
    anew from some entry on: for that, compare it with a receipt that was kept elsewhere.
    """
    last = start
    for row in rows:
        if not _is_number(row.number):
            yield f"an entry has the number {row.number!r}: entries are numbered 1, 2, 3 and so on"
            continue
        yield from _faults_of_place(row, last)
        if row.hash != row.seal:
            yield f"entry {row.number} was changed: its content does not give its hash"
        last = Head(row.number, row.hash)
    if last.number == 0:
        yield "every entry is missing"


def _is_number(number: object) -> bool:
    """Whether an entry can have it: SQLite lets an editor put 1.5, or a text."""
    return isinstance(number, int) and number > 0


def _faults_of_place(row: StoredEntry, last: Head) -> Iterator[str]:
    """At most one: the row has no place here, or does not name the entry before it."""
    expected = last.number + 1
    if row.number == expected:
        if row.previous != last.hash:
            before = f"entry {last.number}" if last.number else "the study's registration"
            yield f"entry {row.number} does not follow {before}: one of the two was replaced"
    elif row.number == expected + 1:
        yield f"entry {expected} is missing"
    elif row.number > expected:
        yield f"entries {expected} to {row.number - 1} are missing"
    else:
        yield f"entry {row.number} stands where entry {expected} should be"
