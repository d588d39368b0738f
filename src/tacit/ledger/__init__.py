"""The durable record of studies: append-only, hash-chained, in SQLite or PostgreSQL."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.ledger.entry import Entry, Head
    from tacit.ledger.ledger import Ledger
    from tacit.ledger.sketch import HASH_DIGITS, Overlap, Sketch
    from tacit.ledger.user_ledger import default_ledger

__all__ = ["HASH_DIGITS", "Entry", "Head", "Ledger", "Overlap", "Sketch", "default_ledger"]

__getattr__ = deferred(
    __name__,
    {
        "entry": ("Entry", "Head"),
        "ledger": ("Ledger",),
        "user_ledger": ("default_ledger",),
        "sketch": ("HASH_DIGITS", "Overlap", "Sketch"),
    },
)
