"""Studies to test with, and a way around the ledger's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from sqlalchemy import create_engine

from tacit.ledger import HASH_DIGITS, Entry, Ledger, Sketch
from tacit.ledger.database import parse_address

STUDY = "clinic"
TABLES = ("tacit_ledger", "tacit_studies", "tacit_entries")


def sketch_of(ids: Iterable[object], k: int = 1024) -> Sketch:
    hashes = sorted(sha256(repr(i).encode()).hexdigest()[:HASH_DIGITS] for i in ids)
    return Sketch(len(hashes), tuple(hashes[:k]), "nonce")


def chain(ledger: Ledger, length: int, study: str = STUDY) -> list[Entry]:
    """A study with some entries; no two studies share records."""
    entries = [ledger.register(study, sketch_of([study]), {"made": "here"}, b"table")]
    while len(entries) < length:
        body = {"party": "lab-a", "bits": 0.1 * len(entries)}
        payload = bytes([len(entries)])
        entries.append(ledger.append(study, "release", body, payload, head=entries[-1].head))
    return entries


def execute(url: str, *statements: str) -> None:
    """Run SQL as the owner of the database would, each statement by itself."""
    engine = create_engine(parse_address(url), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


def tamper(url: str, *statements: str) -> None:
    """Run SQL without the triggers that forbid changes."""
    execute(url, *_without_triggers(url), *statements)


def _without_triggers(url: str) -> Sequence[str]:
    if url.startswith("sqlite"):
        kinds = ("update", "delete", "replace")
        return [f"DROP TRIGGER {table}_{kind}" for table in TABLES for kind in kinds]
    dropped = [f"DROP TRIGGER {table}_append_only ON {table}" for table in TABLES]
    return [*dropped, "DROP TRIGGER tacit_studies_update ON tacit_studies"]
