"""A key that keeps the first task that gets it waiting, and no other."""

from __future__ import annotations

import time
from pathlib import Path

_LONGEST = 300.0
"""Seconds; Spark ends the task long before, when another attempt is finished."""


class SlowOnce(bytes):
    """Bytes that are slow to unpickle, once: whoever makes the file ``marker`` waits.

    One that has waited to the end makes a file with the ending ``.waited``.
    """

    marker: Path

    def __new__(cls, content: bytes, marker: Path) -> SlowOnce:
        found = super().__new__(cls, content)
        found.marker = marker
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (bytes(self), self.marker)


def _unpickle(content: bytes, marker: Path) -> bytes:
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return content
    time.sleep(_LONGEST)
    marker.with_suffix(".waited").touch()
    return content
