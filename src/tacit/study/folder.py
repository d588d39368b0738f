"""A study's folder: what lies where in it, and whether it and the source are as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError, KeyFileError, Suggestion
from tacit.sampling import StudyKey
from tacit.storage import atomic_file
from tacit.study.books.records import STUDY_FORMAT, CreatedRecord
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.sources.source import Evidence, Source, find_source


@dataclass(frozen=True, slots=True)
class Layout:
    """A study's folder.

    Attributes:
        folder: all of it.
        configuration: which study this is, and where its table and its ledger are.
        key: the secret key.
        ledger: the ledger, unless it is elsewhere.
        snapshot: the encoded table.
        states: what is remembered of each record.
        digest_keys: keys that stay after the study's key is destroyed: they check that files are
            genuine.
        high_water: the last entry that the ledger had when it was last changed from this folder.
        source_seen: size and time of the source when it was last found unchanged.
    """

    folder: Path
    configuration: Path = field(init=False)
    key: Path = field(init=False)
    ledger: Path = field(init=False)
    snapshot: Path = field(init=False)
    states: Path = field(init=False)
    digest_keys: Path = field(init=False)
    high_water: Path = field(init=False)
    source_seen: Path = field(init=False)

    def __post_init__(self) -> None:
        for name, path in _NAMES.items():
            object.__setattr__(self, name, self.folder / path)


_NAMES = {
    "configuration": "study.json",
    "key": "key",
    "ledger": "ledger.sqlite",
    "snapshot": "snapshot",
    "states": "states",
    "digest_keys": "digest-keys.json",
    "high_water": "high-water.json",
    "source_seen": "source-seen.json",
}


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
                f"{folder} is no study: make one", suggestions=[Suggestion("create")]
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


def source_evidence(source: str) -> Evidence | None:
    """Evidence of what a source is now; ``None`` if there is none."""
    return find_source(source).evidence()


def store_evidence(layout: Layout, seen: Evidence) -> None:
    """Store the evidence of a source that equals the snapshot; ignore a failure to write it."""
    with suppress(OSError), atomic_file(layout.source_seen, mode=0o600) as written:
        written.write(json.dumps(seen).encode())


def source_shown(source: str) -> str:
    """A source for messages: without a database's password."""
    return find_source(source).shown


def source_file(source: str) -> Path | None:
    """The file that a source is in; ``None`` for a database server."""
    return find_source(source).file


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None


def source_remarks(layout: Layout, engine: Engine[Any], records: Records, source: str) -> list[str]:
    """What to say before a new release about a table that is gone; one that changed is refused.

    A file that was compared before is compared again only when its size or time has moved.
    """
    seen, table = _seen(layout), find_source(source)
    file, now = table.file, table.evidence()
    if file is None or now not in (None, seen):
        _refuse_changes(layout, table, engine.compare(records, source))
        if file is not None and now is not None:
            store_evidence(layout, now)
    if file is None or file.exists():
        return []
    made_of = "the release is made of the table as it was when the study was made"
    return [f"{file} is no longer there: {made_of}"]


def _refuse_changes(layout: Layout, table: Source, changes: list[str]) -> None:
    if changes:
        raise InvalidInputError(
            f"{table.shown} has changed since {layout.folder} was made "
            f"({'; '.join(changes)}): put it back, or make a new study of it"
        )


def refuse_changed_snapshot(snapshot: Records, key: bytes, created: CreatedRecord) -> None:
    """Raise InvalidInputError if the snapshot is not the one that the study was made with."""
    if created.snapshot_seal is not None:
        snapshot.check_seal(key, created.snapshot_seal)
    else:  # 0.1 digested what the files say, which takes longer to check
        snapshot.check(key, created.snapshot_digest)


def refuse_own_files(source: str, target: Path) -> None:
    """Raise InvalidInputError if the file is in a study's folder or is this study's table."""
    refuse_study_files(target)
    table = source_file(source)
    if table is not None and target.resolve() == table.resolve():
        raise InvalidInputError(
            f"{target} belongs to the study, which was made of it: give another file"
        )


def refuse_study_files(target: Path) -> None:
    """Raise InvalidInputError if the file is in the folder of any study."""
    for folder in target.resolve().parents:
        if is_study(folder):
            raise InvalidInputError(
                f"{target} belongs to the study {folder}: give a file that is not in its folder"
            )


@dataclass(frozen=True, slots=True)
class StudyKeys:
    """A study's key, and the keys that are derived from it, each for one purpose.

    Attributes:
        study: the study's id.
        key: its secret key.
        check: identifies the key and reveals nothing else about it.
        snapshot: under which the encoded table is digested.
        paper: under which receipts and certificates are sealed.
        states: under which state files are sealed.
    """

    study: str
    key: StudyKey
    check: str
    snapshot: bytes
    paper: bytes
    states: bytes

    @staticmethod
    def of(file: Path, study: str) -> StudyKeys:
        """Read a study's key and derive the others."""
        key = StudyKey.load(file)
        return StudyKeys(
            study,
            key,
            check=key.derive("check", study).hex(),
            snapshot=key.derive("snapshot", study),
            paper=key.derive("paper", study),
            states=key.derive("states", study),
        )

    @staticmethod
    def load(layout: Layout, study: str, created: CreatedRecord) -> StudyKeys:
        """From a study's folder, checked to be this study's."""
        keys = StudyKeys.of(layout.key, study)
        if keys.check != created.key_check:
            raise KeyFileError(
                f"the key {layout.key} is not this study's: restore the right one from a backup"
            )
        return keys

    def pseudonym_key(self, party: str) -> Callable[[int], bytes]:
        """Attempt -> key of the names that only this party knows records by."""
        return lambda attempt: self.key.derive("pseudonym", self.study, party, attempt)
