"""What a study's folder says about itself, in ``study.json``; the ledger has the rest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError
from tacit.study.books.records import STUDY_FORMAT


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


def is_study(folder: Path) -> bool:
    """Whether a folder is that of a study; one that cannot be looked into is none."""
    try:
        return Layout(folder).configuration.is_file()
    except OSError:
        return False


class Configuration(BaseModel):
    """What never changes about a study.

    Attributes:
        format: of the folder.
        made_by: version of tacit.
        study: the study's id.
        source: where the table was read.
        ledger: address of the ledger; ``None`` for a file in the folder.
        engine: name of what reads and writes the records.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = STUDY_FORMAT
    made_by: str
    study: str
    source: str
    ledger: str | None
    engine: str = "local"

    def write(self, folder: Path) -> None:
        """Into a study's folder; an address of a ledger may hold a password."""
        path = Layout(folder).configuration
        path.touch(mode=0o600)
        path.write_text(self.model_dump_json(indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Configuration:
        """From a study's folder."""
        path = Layout(folder).configuration
        try:
            stored = json.loads(path.read_text())
        except FileNotFoundError:
            raise InvalidInputError(
                f"{folder} is no study: make one with tacit init {folder} --table ..."
            ) from None
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{path} cannot be read ({error}): restore it") from error
        found = stored.get("format") if isinstance(stored, dict) else None
        if isinstance(found, int) and found > STUDY_FORMAT:
            raise InvalidInputError(
                f"{folder} was made by tacit {stored.get('made_by')}, which is newer than this "
                "one: update tacit"
            )
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            raise InvalidInputError(
                f"{path} is damaged ({error.error_count()} fields do not fit): restore it"
            ) from error
