"""A study's folder: what lies where in it, and whether it and the source are as they were."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError, Suggestion
from tacit.storage import whole_file
from tacit.study.books.records import STUDY_FORMAT, CreatedRecord
from tacit.tables import Snapshot, compare
from tacit.tables.sources.postgresql import without_secrets

Look = dict[str, int]
"""Size and time of a file."""


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


def source_changes(layout: Layout, snapshot: Snapshot, source: str) -> list[str]:
    """What has changed in the source, in words; a file that is gone has not changed.

    A file that was compared before is compared again only when its size or time has moved.
    """
    if source_file(source) is None:
        return compare(snapshot, source)
    now = look(source)
    if now is None or now == _seen(layout):
        return []
    changes = compare(snapshot, source)
    if not changes:
        keep_look(layout, now)
    return changes


def look(source: str) -> Look | None:
    """Size and time of the file that a source is in; ``None`` if there is none."""
    file = source_file(source)
    try:
        status = None if file is None else file.stat()
    except FileNotFoundError:
        return None
    return None if status is None else {"size": status.st_size, "modified": status.st_mtime_ns}


def keep_look(layout: Layout, seen: Look) -> None:
    """Remember how a source looked that is the same as the snapshot, if there is room for it."""
    with suppress(OSError), whole_file(layout.source_seen, mode=0o600) as written:
        written.write(json.dumps(seen).encode())


def source_shown(source: str) -> str:
    """A source for messages: without a database's password."""
    return source if source_file(source) is not None else without_secrets(source)


def source_file(source: str) -> Path | None:
    """The file that a source is in; ``None`` for a database server."""
    if "://" in source:
        return None
    return Path(re.sub(r"(?<=\.duckdb)(::|#).*$", "", source))


def _seen(layout: Layout) -> object:
    try:
        return json.loads(layout.source_seen.read_text())
    except (OSError, ValueError):
        return None


def source_remarks(layout: Layout, snapshot: Snapshot, source: str) -> list[str]:
    """What to say before a new release about a table that is gone; one that changed is refused."""
    changes = source_changes(layout, snapshot, source)
    if changes:
        raise InvalidInputError(
            f"{source_shown(source)} has changed since {layout.folder} was made "
            f"({'; '.join(changes)}): put it back, or make a new study of it"
        )
    file = source_file(source)
    if file is None or file.exists():
        return []
    return [f"{file} is no longer there: the release is made of the table as it was at init"]


def refuse_changed_snapshot(snapshot: Snapshot, key: bytes, created: CreatedRecord) -> None:
    """A snapshot that is not, byte by byte, the one that the study began with."""
    if created.snapshot_seal is not None:
        snapshot.check_seal(key, created.snapshot_seal)
    else:  # 0.1 digested what the files say, which takes longer to check
        snapshot.check(key, created.snapshot_digest)


def refuse_own_files(source: str, target: Path) -> None:
    """A file that would lie in the folder of a study, of any, or over the study's table."""
    table, place = source_file(source), target.resolve()
    refuse_study_files(target)
    if table is not None and place == table.resolve():
        raise InvalidInputError(
            f"{target} belongs to the study, which was made of it: give another file"
        )


def refuse_study_files(target: Path) -> None:
    """A file that would lie in the folder of a study, of any."""
    for folder in target.resolve().parents:
        if is_study(folder):
            raise InvalidInputError(
                f"{target} belongs to the study {folder}: give a file that is not in its folder"
            )
