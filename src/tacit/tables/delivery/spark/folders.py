"""Folders that Spark's tasks write to: on this machine, or on any file system that Spark reaches.

The latter are reached through the Java classes of Hadoop, which Spark brings along: HDFS, object
stores, and whatever else the cluster is set up for. Python cannot open their files, so the driver
copies those that it reads, one at a time where it can.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, Self

from tacit.storage import scratch_folder, sync
from tacit.tables.delivery.spark.session import escape, open_session, told_by_spark
from tacit.tables.encoding.snapshot import file_digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDING = ".parquet"
_OWNER_ONLY = "700"
_TOKEN_BYTES = 8
_COMING = "_coming-"
"""Before the name of a file that is to replace another; Spark reads no file of such a name."""


class Folder(Protocol):
    """Where a table is, or will be, as Parquet files."""

    @property
    def address(self) -> str:
        """What Spark calls it."""
        ...

    def __truediv__(self, name: str) -> Self:
        """A folder in it."""
        ...

    def names(self) -> list[str]:
        """What is in it, sorted; nothing if it is not there."""
        ...

    def parts(self) -> list[str]:
        """Those of the names that are of parts."""
        ...

    def make(self) -> None:
        """Make it and those above it, for their owner alone."""
        ...

    def move(self, to: Self) -> None:
        """Give it another place on the same file system, where nothing is."""
        ...

    def remove(self, name: str | None = None) -> None:
        """Remove it, or one file in it, if it is there."""
        ...

    def scratch(self, name: str) -> AbstractContextManager[Self]:
        """A new folder beside the one of this name, removed afterwards."""
        ...

    def put(self, file: Path) -> None:
        """Let a file of this machine take the place of the one of its name."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file in it."""
        ...

    def sync(self) -> None:
        """Make what is in it survive a power cut."""
        ...

    def digests(self) -> list[bytes]:
        """SHA-256 of each part, in the order of their names."""
        ...

    def files(self) -> Iterator[Path]:
        """The parts in the order of their names, each to be read before the next is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of this machine, which every node of a cluster finds at the same path."""

    path: Path

    @property
    def address(self) -> str:
        """What Spark calls it."""
        return f"file://{self.path.absolute()}"

    def __truediv__(self, name: str) -> LocalFolder:
        """A folder in it."""
        return LocalFolder(self.path / name)

    def names(self) -> list[str]:
        """What is in it, sorted."""
        return sorted(each.name for each in self.path.iterdir()) if self.path.exists() else []

    def parts(self) -> list[str]:
        """Those of the names that are of parts."""
        return [name for name in self.names() if _is_part(name)]

    def make(self) -> None:
        """Make it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def move(self, to: LocalFolder) -> None:
        """Give it another place."""
        self.path.rename(to.path)

    def remove(self, name: str | None = None) -> None:
        """Remove it, or one file in it."""
        if name is not None:
            (self.path / name).unlink(missing_ok=True)
        elif self.path.exists():
            shutil.rmtree(self.path)

    @contextmanager
    def scratch(self, name: str) -> Iterator[LocalFolder]:
        """A new folder; after a kill, the next writer removes it."""
        with scratch_folder(self.path / name) as path:
            yield LocalFolder(path)

    def put(self, file: Path) -> None:
        """Copy a file into it."""
        shutil.copyfile(file, self.path / file.name)
        sync(self.path / file.name)

    def read(self, name: str) -> bytes:
        """The content of a file in it."""
        return (self.path / name).read_bytes()

    def sync(self) -> None:
        """Make what is in it survive a power cut."""
        for path in (*self.path.iterdir(), self.path):
            sync(path)

    def digests(self) -> list[bytes]:
        """SHA-256 of each part."""
        return file_digests(list(self.files()))

    def files(self) -> Iterator[Path]:
        """The parts in the order of their names."""
        return (self.path / name for name in self.parts())


@dataclass(frozen=True, slots=True)
class HadoopFolder:
    """A folder of a file system that Hadoop's classes reach. What fails there is an OSError.

    Attributes:
        address: with its scheme: ``hdfs://...``, ``s3a://...``.
        master: of the cluster, see ``open_session``.
    """

    address: str
    master: str | None = None

    def __truediv__(self, name: str) -> HadoopFolder:
        """A folder in it."""
        return HadoopFolder(f"{self.address.rstrip('/')}/{name}", self.master)

    def names(self) -> list[str]:
        """What is in it, sorted."""
        with self._opened() as (_, system, path):
            found = system.listStatus(path) if system.exists(path) else ()
            return sorted(each.getPath().getName() for each in found)

    def parts(self) -> list[str]:
        """Those of the names that are of parts."""
        return [name for name in self.names() if _is_part(name)]

    def make(self) -> None:
        """Make it."""
        with self._opened() as (java, system, path):
            permission = java.org.apache.hadoop.fs.permission.FsPermission(_OWNER_ONLY)
            _check(system.mkdirs(path, permission), f"{self.address} cannot be made")

    def move(self, to: HadoopFolder) -> None:
        """Give it another place."""
        with self._opened() as (java, system, path):
            is_moved = system.rename(path, java.org.apache.hadoop.fs.Path(to.address))
            _check(is_moved, f"{self.address} cannot be moved to {to.address}")

    def remove(self, name: str | None = None) -> None:
        """Remove it, or one file in it."""
        with (self if name is None else self / name)._opened() as (_, system, path):
            _check(
                system.delete(path, True) or not system.exists(path),
                f"{path.toString()} cannot be removed",
            )

    @contextmanager
    def scratch(self, name: str) -> Iterator[HadoopFolder]:
        """A new folder; after a kill, it stays until the folder around it is removed."""
        folder = self / f".{name}.{token_hex(_TOKEN_BYTES)}.partial"
        folder.make()
        try:
            yield folder
        finally:
            folder.remove()

    def put(self, file: Path) -> None:
        """Copy a file beside its place, then move it there."""
        with self._opened() as (java, system, _):
            fs = java.org.apache.hadoop.fs
            place = fs.Path((self / file.name).address)
            coming = fs.Path((self / f"{_COMING}{file.name}").address)
            system.copyFromLocalFile(False, True, fs.Path(file.absolute().as_uri()), coming)
            # Java takes an array of options, here of one.
            gateway: Any = open_session(self.master).sparkContext._gateway
            over = gateway.new_array(fs.Options.Rename, 1)
            over[0] = fs.Options.Rename.OVERWRITE
            context = fs.FileContext.getFileContext(place.toUri(), system.getConf())
            context.rename(coming, place, over)

    def digests(self) -> list[bytes]:
        """SHA-256 of each part; tasks compute them, the driver sees no file."""
        names = self.parts()
        with self.session() as session:
            addresses = [escape((self / name).address) for name in names]
            found = session.read.format("binaryFile").load(addresses) if names else None
            rows = [] if found is None else found.selectExpr("path", "sha2(content, 256)").collect()
        digest_of = {address.rpartition("/")[2]: bytes.fromhex(digest) for address, digest in rows}
        return [digest_of[name] for name in names]

    def files(self) -> Iterator[Path]:
        """Copies of the parts, one at a time."""
        with TemporaryDirectory() as folder:
            for name in self.parts():
                yield self._fetch(name, Path(folder))
                (Path(folder) / name).unlink()

    def read(self, name: str) -> bytes:
        """The content of a file in it."""
        with TemporaryDirectory() as folder:
            return self._fetch(name, Path(folder)).read_bytes()

    def sync(self) -> None:
        """Nothing to do: such a file system has stored a file when it is closed."""

    def fetch(self, to: Path) -> None:
        """Copy all parts into a folder of this machine."""
        for name in self.parts():
            self._fetch(name, to)

    def _fetch(self, name: str, to: Path) -> Path:
        with self._opened() as (java, system, _):
            fs, target = java.org.apache.hadoop.fs, to.absolute() / name
            source, copy = fs.Path((self / name).address), fs.Path(target.as_uri())
            system.copyToLocalFile(False, source, copy, True)
            return target

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any, Any]]:
        """Java's classes, the file system, and the path on it."""
        with self.session() as session:
            java: Any = session._jvm
            path = java.org.apache.hadoop.fs.Path(self.address)
            settings = session._jsparkSession.sessionState().newHadoopConf()
            yield java, path.getFileSystem(settings), path

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """A session whose failures are an OSError."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield open_session(self.master)
        except (PySparkException, Py4JError) as error:
            raise OSError(f"{self.address}: {told_by_spark(error)}") from error


def _is_part(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith((".", "_"))


def _check(is_done: bool, otherwise: str) -> None:
    if not is_done:
        raise OSError(otherwise)


def read_folder(session: SparkSession, folder: Folder) -> DataFrame:
    """The Parquet files of a folder, or one file, and no other that its name could stand for."""
    return session.read.parquet(escape(folder.address))


def write_folder(table: DataFrame, folder: Folder) -> None:
    """Write a table as Parquet files in a new folder, with nothing else in it.

    A task that runs twice, because an executor died or was slow, leaves one file: Spark moves the
    files of a task to their place once, when it is finished.
    """
    # Version 2 packs numbers that rise by one into nearly nothing.
    options = {"compression": "zstd", "parquet.writer.version": "v2"}
    table.write.options(**options).parquet(folder.address)
    for name in set(folder.names()) - set(folder.parts()):  # marks and checksums
        folder.remove(name)
