"""Where things lie in a study's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """A study's folder."""

    folder: Path

    @property
    def key(self) -> Path:
        """The secret key."""
        return self.folder / "key"

    @property
    def ledger(self) -> Path:
        """The ledger, unless it is elsewhere."""
        return self.folder / "ledger.sqlite"

    @property
    def snapshot(self) -> Path:
        """The encoded table."""
        return self.folder / "snapshot"

    @property
    def states(self) -> Path:
        """What is remembered of each record."""
        return self.folder / "states"

    @property
    def digest_keys(self) -> Path:
        """Keys that outlive the key, with which files can still be told genuine."""
        return self.folder / "digest-keys.json"

    @property
    def source_seen(self) -> Path:
        """Size and time of the source when it was last found unchanged."""
        return self.folder / "source-seen.json"
