"""What a study's folder says about itself, in ``study.json``; the ledger has the rest."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError
from tacit.study.layout import Layout
from tacit.study.records import STUDY_FORMAT


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
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = STUDY_FORMAT
    made_by: str
    study: str
    source: str
    ledger: str | None

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
