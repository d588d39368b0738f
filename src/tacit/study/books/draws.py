"""Which random numbers a release uses: decided by the study, its past and its own table.

The past is every earlier release's table and the states that follow from it, in order. No time, no
name and no hash of a ledger entry is in it. So the same table after the same past is drawn with the
same numbers, and gives the same letters, even if the ledger was restored from a backup in between
and has forgotten that it was drawn before: nobody gets a second, independent draw of it.

Another table after the same past is drawn with other numbers. Were they the same, the letters of
the two together could tell more than the sum of what each tells.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from tacit.sampling import IntegerChannel
from tacit.scheme.memory import Transitions


def first_past(study: str) -> str:
    """The past of a study that has released nothing."""
    return _hash(b"tacit past 1", study.encode())


def draw_of(past: str, channel: IntegerChannel) -> str:
    """Name of the numbers for a table after a past."""
    return _hash(b"tacit draw 1", past.encode(), _content(channel))


def next_past(past: str, draw: str, next_state: Transitions) -> str:
    """The past after a release.

    Args:
        past: before it.
        draw: name of its numbers; for a release that 0.1 recorded the hash of its entry, which
            decided its numbers then.
        next_state: state after each letter, [m, letter].
    """
    return _hash(b"tacit next 1", past.encode(), draw.encode(), _content(next_state))


def _content(table: IntegerChannel | Transitions) -> bytes:
    """Shape and numbers: not the compressed form, which may differ between versions of zlib."""
    numbers = table.weights if isinstance(table, IntegerChannel) else table
    return repr(numbers.shape).encode() + b":" + np.ascontiguousarray(numbers, "<i8").tobytes()


def _hash(*parts: bytes) -> str:
    """SHA-256 of the parts, each behind its length."""
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
