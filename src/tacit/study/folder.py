"""A study's folder: what lies where in it, and whether that is as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError, KeyFileError, Suggestion
from tacit.sampling import StudyKey
from tacit.storage import atomic_file, locked
from tacit.study.books.books import Cohort
from tacit.study.books.records import FIRST_COHORT, STUDY_FORMAT, CreatedRecord
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.delivery.registry import ENGINES, SPARK
from tacit.tables.delivery.spark.engine import SparkEngine
from tacit.tables.sources.source import AnyTable, find_source

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


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
        cohorts: one folder for each cohort that joined later, see ``of_cohort``.
        table: which table such a cohort was read from.
        copies: files that releases were written to again, under other names.
    """

    folder: Path
    configuration: Path = field(init=False)
    key: Path = field(init=False)
    ledger: Path = field(init=False)
    snapshot: Path = field(init=False)
    states: Path = field(init=False)
    digest_keys: Path = field(init=False)
    high_water: Path = field(init=False)
    cohorts: Path = field(init=False)
    table: Path = field(init=False)
    copies: Path = field(init=False)

    def __post_init__(self) -> None:
        for name, path in _NAMES.items():
            object.__setattr__(self, name, self.folder / path)

    def of_cohort(self, number: int) -> Layout:
        """Where ``snapshot`` and ``table`` of a cohort are; the first one's are the study's."""
        return self if number == FIRST_COHORT else Layout(self.cohorts / str(number))


_NAMES = {
    "configuration": "study.json",
    "key": "key",
    "ledger": "ledger.sqlite",
    "snapshot": "snapshot",
    "states": "states",
    "digest_keys": "digest-keys.json",
    "high_water": "high-water.json",
    "cohorts": "cohorts",
    "table": "table.json",
    "copies": "copies.json",
}


def is_study(folder: Path) -> bool:
    """Whether a folder is that of a study; one that cannot be looked into is none."""
    try:
        return Layout(folder).configuration.is_file()
    except OSError:
        return False


def is_there(file: Path) -> bool:
    """Whether there is such a file."""
    try:
        return file.is_file()
    except OSError:  # a name that no disk can have
        return False


class TableRead(BaseModel):
    """Which table a cohort was read from.

    Attributes:
        source: names the table.
        file: the file that it is in; ``None`` for a server.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    file: Path | None = None

    @classmethod
    def of(cls, table: AnyTable) -> TableRead:
        """A table as the custodian names it; a file by its absolute path."""
        source = find_source(table)
        file = source.file
        named = source.text if file is None else str(Path(source.text).absolute())
        return cls(source=named, file=file and file.absolute())


def find_engine(name: str, master: str | None = None, data: str | None = None) -> Engine[Any]:
    """The engine of a name.

    Args:
        name: of the engine.
        master: address of its cluster, where it has one.
        data: address of the folder where it keeps records and states, if not the study's.
    """
    engine = ENGINES[name]
    if master is None and data is None:
        return engine
    if not isinstance(engine, SparkEngine):
        told = ("master", master) if master is not None else ("data", data)
        raise InvalidInputError(
            f"the engine {name} runs on this machine and has no {told[0]}: leave {told[1]!r} out, "
            f"or use the engine {SPARK}"
        )
    if data is not None and not _ADDRESS.match(data):
        raise InvalidInputError(
            f"{data!r} is no address of a folder that Spark reaches: write it with its scheme, "
            "such as hdfs://name/clinic, s3a://bucket/clinic or file:///shared/clinic"
        )
    return replace(engine, master=master, data=data)


@contextmanager
def discarding_after_errors(engine: Engine[Any], layout: Layout) -> Iterator[None]:
    """Discard the records that were frozen meanwhile, if what follows fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the first error is the one to tell
            engine.discard(layout.snapshot)
        raise


class Configuration(BaseModel):
    """What never changes about a study.

    Attributes:
        format: of the folder.
        made_by: version of tacit.
        study: the study's id.
        source: where the table was read.
        file: the file that the table is in; ``None`` for a server.
        ledger: address of the ledger; ``None`` for a file in the folder.
        engine: name of what reads and writes the records.
        master: address of the engine's cluster; ``None`` where it has none, or its own settings
            say it.
        data: address of the folder where the engine keeps records and states; ``None`` if that is
            this folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = STUDY_FORMAT
    made_by: str
    study: str
    source: str
    file: Path | None
    ledger: str | None
    engine: str = "local"
    master: str | None = None
    data: str | None = None

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
        if isinstance(found, int) and found != STUDY_FORMAT:
            raise InvalidInputError(
                f"{folder} has format {found} and was made by tacit {stored.get('made_by')}, and "
                f"this version reads format {STUDY_FORMAT} only: use the version that made it"
            )
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            raise InvalidInputError(
                f"{path} is damaged ({error.error_count()} fields do not fit): restore it"
            ) from error


def engine_of(configuration: Configuration) -> Engine[Any]:
    """What reads and writes the records of a study."""
    return find_engine(configuration.engine, configuration.master, configuration.data)


def _table_of(configuration: Configuration, layout: Layout, cohort: int) -> TableRead:
    """Which table a cohort was read from."""
    if cohort == FIRST_COHORT:
        return TableRead(source=configuration.source, file=configuration.file)
    path = layout.of_cohort(cohort).table
    try:
        return TableRead.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path} cannot be read ({error}): restore it from a backup"
        ) from error


def refuse_changed_snapshot(snapshot: Records, key: bytes, cohort: Cohort) -> None:
    """Raise InvalidInputError if the snapshot of a cohort is not the one that the ledger says."""
    try:
        snapshot.check_seal(key, cohort.snapshot_seal)
    except InvalidInputError:
        if not cohort.n_erased:
            raise
        # Erased again in a restored folder, the same content may lie in other bytes.
        snapshot.check(key, cohort.snapshot_digest)


def find_copies(layout: Layout) -> dict[int, list[str]]:
    """Release -> files that it was written to again from this folder, under other names.

    Raises:
        InvalidInputError: what is known of them is damaged.
    """
    try:
        stored = json.loads(layout.copies.read_text())
        return {
            int(number): [str(Path(each)) for each in files] for number, files in stored.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{layout.copies} cannot be read ({error}), so that files under other names are not "
            "known: restore it from a backup, or remove it"
        ) from error


def note_copy(layout: Layout, release: int, file: str) -> None:
    """Remember that a release is written again under another name: it may have to be found."""
    with locked(layout.configuration):  # one writer at a time
        copies = find_copies(layout)
        if file not in copies.setdefault(release, []):
            copies[release].append(file)
            with atomic_file(layout.copies, mode=0o600) as written:
                written.write(json.dumps(copies, indent=2).encode() + b"\n")


def follow_link(target: Path) -> Path:
    """Where a file is really written: a link is followed once, before anything is recorded."""
    return target.resolve() if target.is_symlink() else target


def refuse_own_files(layout: Layout, configuration: Configuration, target: Path) -> None:
    """Raise InvalidInputError if the file is in a study's folder or is a table of this study."""
    refuse_study_files(target)
    later = (int(each.parent.name) for each in layout.cohorts.glob(f"[0-9]*/{layout.table.name}"))
    for cohort in (FIRST_COHORT, *later):
        table = _table_of(configuration, layout, cohort).file
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

    def pseudonym_key(self, party: str, cohort: int) -> Callable[[int], bytes]:
        """Attempt -> key of the names that only this party knows records of a cohort by."""
        later = () if cohort == FIRST_COHORT else (cohort,)
        return lambda attempt: self.key.derive("pseudonym", self.study, party, attempt, *later)
