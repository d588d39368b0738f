"""Keys that check files and snapshots, also after the study's key is destroyed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tacit.storage import atomic_file
from tacit.study.books.books import Books
from tacit.study.folder import Layout, StudyKeys


@dataclass(frozen=True, slots=True)
class DigestKeys:
    """Keys that check digests and seals. They reveal nothing about a record.

    Attributes:
        snapshot: for the encoded table.
        releases: hash of an intent -> for the content of its file.
        paper: for the seals of receipts and certificates.
    """

    snapshot: bytes
    releases: dict[str, bytes]
    paper: bytes

    @staticmethod
    def of(keys: StudyKeys, books: Books) -> DigestKeys:
        """From the study's key."""
        intents = books.releases.values()
        releases = {intent.entry.hash: intent.derive_keys(keys.key)[1] for intent in intents}
        return DigestKeys(keys.snapshot, releases, keys.paper)

    def keep(self, layout: Layout) -> None:
        """In the folder, for when the key is destroyed."""
        stored = {
            "snapshot": self.snapshot.hex(),
            "releases": {sealed: key.hex() for sealed, key in self.releases.items()},
            "paper": self.paper.hex(),
        }
        with atomic_file(layout.digest_keys, mode=0o600) as file:
            file.write(json.dumps(stored, indent=2).encode() + b"\n")

    @staticmethod
    def find(layout: Layout, study: str, books: Books) -> DigestKeys | None:
        """From the key, or from what was kept when it was destroyed; ``None`` without either."""
        if not books.is_closed and layout.key.exists():
            return DigestKeys.of(StudyKeys.load(layout, study, books.created), books)
        # Also where the ledger does not say that it was closed: it may have been rolled back.
        return DigestKeys._kept(layout)

    @staticmethod
    def _kept(layout: Layout) -> DigestKeys | None:
        try:
            stored = json.loads(layout.digest_keys.read_text())
            releases = {sealed: bytes.fromhex(key) for sealed, key in stored["releases"].items()}
            snapshot, paper = (bytes.fromhex(stored[name]) for name in ("snapshot", "paper"))
            return DigestKeys(snapshot, releases, paper)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
