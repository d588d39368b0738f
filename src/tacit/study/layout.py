"""Where things lie in a study's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """A study's folder."""

    folder: Path

    @property
    def configuration(self) -> Path:
        """Which study this is, and where its table and its ledger are."""
        return self.folder / "study.json"

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
    def high_water(self) -> Path:
        """The last entry that the ledger had when it was last changed from this folder."""
        return self.folder / "high-water.json"

    @property
    def source_seen(self) -> Path:
        """Size and time of the source when it was last found unchanged."""
        return self.folder / "source-seen.json"
