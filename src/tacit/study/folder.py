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
from tacit.remark import Remark
from tacit.sampling import StudyKey
from tacit.storage import atomic_file
from tacit.study.books.books import Books
from tacit.study.books.records import CreatedRecord
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.sources.source import find_source

FOLDER_FORMAT = 3
"""Of a study's folder; larger numbers are from newer versions, 1 is of 0.1 and 2 of 0.2."""

_NAMES_FILE = 3
"""Folders name the table's file since this format."""


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
        source_seen: size and time of the table's file when it was last found unchanged.
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
        file: the file that the table is in; ``None`` for a server. Folders of format 1 and 2 do not
            name it: use ``table_file``.
        ledger: address of the ledger; ``None`` for a file in the folder.
        engine: name of what reads and writes the records.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FOLDER_FORMAT
    made_by: str
    study: str
    source: str
    file: Path | None = None
    ledger: str | None
    engine: str = "local"

    @property
    def table_file(self) -> Path | None:
        """The file that the table is in; ``None`` for a server."""
        return find_source(self.source).file if self.format < _NAMES_FILE else self.file

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
        if isinstance(found, int) and found > FOLDER_FORMAT:
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


def file_evidence(file: Path | None) -> dict[str, int] | None:
    """Size and time of a file; ``None`` if it is gone, or if there is none."""
    try:
        status = None if file is None else file.stat()
    except FileNotFoundError:
        return None
    return status and {"size": status.st_size, "modified": status.st_mtime_ns}


def store_evidence(layout: Layout, seen: dict[str, int]) -> None:
    """Store the evidence of a file that equals the snapshot; ignore a failure to write it."""
    with suppress(OSError), atomic_file(layout.source_seen, mode=0o600) as written:
        written.write(json.dumps(seen).encode())


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None


def source_remarks(
    layout: Layout, configuration: Configuration, engine: Engine[Any], records: Records
) -> list[Remark]:
    """What to say before a new release about a table that is gone; one that changed is refused.

    A file that was compared before is compared again only when its size or time has moved.
    """
    file, source = configuration.table_file, configuration.source
    now = file_evidence(file)
    if file is None or now not in (None, _seen(layout)):
        _refuse_changes(layout, source, engine.compare(records, source))
        if now is not None:
            store_evidence(layout, now)
    if file is None or file.exists():
        return []
    return [Remark("table_gone", {"file": str(file)})]


def _refuse_changes(layout: Layout, source: str, changes: list[str]) -> None:
    if changes:
        raise InvalidInputError(
            f"{find_source(source).shown} has changed since {layout.folder} was made "
            f"({'; '.join(changes)}): put it back, or make a new study of it"
        )


def refuse_changed_snapshot(snapshot: Records, key: bytes, books: Books) -> None:
    """Raise InvalidInputError if the snapshot is not the one that the ledger says."""
    if books.snapshot_seal is None:  # 0.1 digested what the files say, which takes longer to check
        snapshot.check(key, books.snapshot_digest)
        return
    try:
        snapshot.check_seal(key, books.snapshot_seal)
    except InvalidInputError:
        if not books.n_erased:
            raise
        # Erased again in a restored folder, the same content may lie in other bytes.
        snapshot.check(key, books.snapshot_digest)


def refuse_own_files(configuration: Configuration, target: Path) -> None:
    """Raise InvalidInputError if the file is in a study's folder or is this study's table."""
    refuse_study_files(target)
    table = configuration.table_file
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
        ids: under which ids are hashed, so that erased ones are known again.
    """

    study: str
    key: StudyKey
    check: str
    snapshot: bytes
    paper: bytes
    states: bytes
    ids: bytes

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
            ids=key.derive("ids", study),
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
