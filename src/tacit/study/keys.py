"""Keys that tell genuine files and snapshots, while the study's key lives and after it is gone."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tacit.errors import KeyFileError
from tacit.sampling import StudyKey
from tacit.storage import whole_file
from tacit.study.books.books import Books, Intent
from tacit.study.folder import Layout


@dataclass(frozen=True, slots=True)
class DigestKeys:
    """They can check what was written, and tell nothing about a record.

    Attributes:
        snapshot: for the encoded table.
        releases: hash of an intent -> for the content of its file.
        paper: for the seals of receipts and certificates; ``None`` where 0.1 destroyed the key.
    """

    snapshot: bytes
    releases: dict[str, bytes]
    paper: bytes | None

    @staticmethod
    def of(key: StudyKey, study: str, books: Books) -> DigestKeys:
        """From the study's key."""
        return DigestKeys(
            snapshot_digest_key(key, study),
            {
                intent.entry.hash: release_digest_key(key, intent)
                for intent in books.intents.values()
            },
            paper_key(key, study),
        )

    def keep(self, layout: Layout) -> None:
        """In the folder, for when the key is destroyed."""
        stored = {
            "snapshot": self.snapshot.hex(),
            "releases": {sealed: key.hex() for sealed, key in self.releases.items()},
            "paper": None if self.paper is None else self.paper.hex(),
        }
        with whole_file(layout.digest_keys, mode=0o600) as file:
            file.write(json.dumps(stored, indent=2).encode() + b"\n")

    @staticmethod
    def find(layout: Layout, study: str, books: Books) -> DigestKeys | None:
        """From the key, or from what was kept when it was destroyed; ``None`` without either."""
        if not books.is_closed and layout.key.exists():
            return DigestKeys.of(load_key(layout, study, books), study, books)
        # Also where the ledger does not say that it was closed: it may have been rolled back.
        return DigestKeys._kept(layout)

    @staticmethod
    def _kept(layout: Layout) -> DigestKeys | None:
        try:
            stored = json.loads(layout.digest_keys.read_text())
            releases = {sealed: bytes.fromhex(key) for sealed, key in stored["releases"].items()}
            paper = stored.get("paper")  # 0.1 did not keep it
            return DigestKeys(
                bytes.fromhex(stored["snapshot"]),
                releases,
                None if paper is None else bytes.fromhex(paper),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def load_key(layout: Layout, study: str, books: Books) -> StudyKey:
    """The study's key, checked to be this study's."""
    key = StudyKey.load(layout.key)
    if key_check(key, study) != books.created.key_check:
        raise KeyFileError(
            f"the key {layout.key} is not this study's: restore the right one from a backup"
        )
    return key


def key_check(key: StudyKey, study: str) -> str:
    """Tells a study's key from every other, and tells nothing else of it."""
    return key.derive("check", study).hex()


def snapshot_digest_key(key: StudyKey, study: str) -> bytes:
    """Under which the encoded table is digested."""
    return key.derive("snapshot", study)


def paper_key(key: StudyKey, study: str) -> bytes:
    """Under which receipts and certificates are sealed."""
    return key.derive("paper", study)


def release_digest_key(key: StudyKey, intent: Intent) -> bytes:
    """Under which the content of a release is digested."""
    if intent.is_of_0_1:
        return key.derive("digest", intent.entry.hash)
    return key.derive("digest", intent.draw, intent.request.party)


def draw_key(key: StudyKey, intent: Intent) -> bytes:
    """Of the random numbers of a release."""
    return key.derive("release" if intent.is_of_0_1 else "draw", intent.draw)


def states_key(key: StudyKey, study: str) -> bytes:
    """Under which state files are sealed."""
    return key.derive("states", study)
