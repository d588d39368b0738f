"""The engine of a cluster: records in Parquet files, encoded, drawn and sorted by Spark.

Everything is a function of the key, the recorded release and the snapshot, so a task that runs
again, after a killed executor or because it was slow, gives the same rows. A release file is one
file: the driver puts it together from sorted parts, and digests it as the local engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tacit.errors import DeliveryError, InvalidInputError
from tacit.remark import Remark
from tacit.storage import scratch_folder
from tacit.tables.connection import reason
from tacit.tables.delivery.engine import MissingStatesError, StateStore
from tacit.tables.delivery.links import Links, link
from tacit.tables.delivery.release_file import (
    N_THREADS,
    Block,
    ByPublicId,
    Progress,
    RecordedRelease,
    Steps,
    digest_release,
    not_written,
    release_writer,
    states_not_written,
    without_collisions,
    write_release,
)
from tacit.tables.delivery.spark.census import read_table, take_census
from tacit.tables.delivery.spark.draw import (
    draw_letters,
    draw_named_letters,
    draw_states,
    named_blocks,
    runs,
)
from tacit.tables.delivery.spark.folders import (
    Folder,
    HadoopFolder,
    LocalFolder,
    read_folder,
    write_folder,
)
from tacit.tables.delivery.spark.parts import (
    PartedSnapshot,
    StateParts,
    batches_of,
    copy_snapshot,
    open_parts,
)
from tacit.tables.delivery.spark.session import (
    files_in_any_order,
    open_session,
    quote_column,
    told_by_spark,
)
from tacit.tables.encoding.cohort import Admission, build_cohort
from tacit.tables.encoding.column import Declaration
from tacit.tables.encoding.erasure import known_hashes
from tacit.tables.sources.source import AnyTable, find_source
from tacit.tables.sources.spark import SparkTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkError(Exception):
    """A job of Spark has failed."""


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Implements ``Engine`` with Spark.

    Attributes:
        master: the cluster's address; ``None`` for the application of this process, or for what
            ``spark-defaults.conf`` says.
        data: address of the folder that has records and states, on a file system that Spark
            reaches; ``None`` if they are in the study's folder.
    """

    master: str | None = None
    data: str | None = None

    def count(
        self,
        source: AnyTable,
        columns: Declaration,
        folder: Path,
        *,
        accept: Collection[str] = (),
        remark: Callable[[Remark], None] | None = None,
    ) -> PartedSnapshot:
        """Freeze a table in a new folder."""
        try:
            with _jobs(self.master) as session:
                data = self._new_data()
                take_census(
                    session, source, columns, folder, data=data, accept=accept, remark=remark
                )
        except (SparkError, duckdb.Error, OSError) as error:
            raise InvalidInputError(
                f"{source} cannot be counted: {told_by_spark(error)}; "
                "check it, and the room on the disks"
            ) from error
        return self.open(folder)

    @property
    def _data(self) -> HadoopFolder | None:
        return None if self.data is None else HadoopFolder(self.data, self.master)

    def _new_data(self) -> HadoopFolder | None:
        """The folder for a new study's records and states: nobody else's may be in it."""
        data = self._data
        if data is not None:
            if data.names():
                raise InvalidInputError(
                    f"{self.data} is not empty: choose a folder for this study alone, or remove "
                    "what is in it"
                )
            data.make()
        return data

    def count_cohort(
        self,
        source: AnyTable,
        cohorts: Sequence[PartedSnapshot],
        folder: Path,
        admission: Admission,
        *,
        remark: Callable[[Remark], None],
    ) -> PartedSnapshot:
        """Freeze the new records of a table in a new folder; the driver reads and encodes them."""
        with scratch_folder(folder) as scratch, ExitStack() as here:
            if isinstance(find_source(source), SparkTable):
                with _jobs(self.master) as session:
                    table = read_table(session, source)
                    assert table is not None
                    known = cohorts[0].encoding.types
                    names = [quote_column(name) for name in known if name in table.columns]
                    with files_in_any_order(session):
                        write_folder(table.select(names), LocalFolder(scratch / "now.parquet"))
                source = str(scratch / "now.parquet")
            held = [here.enter_context(each.here()) for each in cohorts]
            found = build_cohort(source, held, scratch / "snapshot", admission, remark=remark)
            try:
                copy_snapshot(found, folder, self._data)
            except OSError as error:
                raise InvalidInputError(
                    f"{folder} cannot be written: {told_by_spark(error)}; make room"
                ) from error
        return self.open(folder)

    def open(self, folder: Path) -> PartedSnapshot:
        """The snapshot in a folder."""
        return open_parts(folder, self.master)

    def discard(self, folder: Path) -> None:
        """Remove the snapshot in a folder, and its parts where they are elsewhere."""
        if folder.exists():
            self.open(folder).place.remove()
            LocalFolder(folder).remove()

    def link(
        self, records: PartedSnapshot, ids: AnyTable, pseudonym_key: Callable[[int], bytes]
    ) -> Links:
        """Which pseudonyms the ids of a table have."""
        with records.here() as held:
            return link(held, ids, pseudonym_key)

    def remembered(self, folder: Path) -> list[str]:
        """Releases of which states lie in a folder, sorted."""
        return StateParts(folder, LocalFolder(folder), b"").names()

    def _states(self, states: StateStore) -> StateParts:
        data = self._data
        parts = LocalFolder(states.folder) if data is None else data / "states"
        return StateParts(states.folder, parts, states.seal_key)

    def keeps(self, records: PartedSnapshot, states: StateStore, release: RecordedRelease) -> bool:
        """Whether the states after a release are there and whole."""
        del records
        return self._states(states).kept(release.name) is not None

    def remember(
        self,
        records: PartedSnapshot,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
    ) -> None:
        """Write the states after a release."""
        kept = self._states(states)
        try:
            with _jobs(self.master) as session:
                reached = _after(session, records, kept, before)
                _write_states(reached, kept, release)
        except (SparkError, OSError) as error:
            raise states_not_written(states.folder, told_by_spark(error)) from error

    def deliver(
        self,
        records: PartedSnapshot,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
        target: Path,
        *,
        expected: str | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write the states after a release, and its file."""
        release_writer(target)  # a name that cannot be used is refused before any work
        kept = self._states(states)

        def write(blocks: Iterator[Block]) -> str:
            with ThreadPoolExecutor(N_THREADS) as pool:
                return write_release(target, release, blocks, pool, expected=expected, steps=steps)

        try:
            with _jobs(self.master) as session:
                steps = Steps(progress, 2 * records.n_records - records.n_erased)
                reached = _after(session, records, kept, before)
                _write_states(reached, kept, release)
                steps.add(records.n_records)
                return _in_order(records, kept.parts, reached, release, write)
        except (OSError, duckdb.Error) as error:
            raise not_written(target, reason(error)) from error
        except SparkError as error:
            raise not_written(target, told_by_spark(error)) from error

    def redraw(
        self, records: PartedSnapshot, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        """Each release's content digest, and whether its states, if there are any, are right."""
        kept = self._states(states)
        kept.parts.make()
        with _jobs(self.master) as session, kept.parts.scratch("redrawn") as scratch:
            reached = _after(session, records, kept, None)
            for number, release in enumerate(releases):

                def digest(blocks: Iterator[Block], release: RecordedRelease = release) -> str:
                    return digest_release(release, blocks)

                content = _in_order(records, scratch, reached, release, digest)
                if release.is_copy:
                    yield content, True
                    continue
                folder = scratch / f"{number}.parquet"
                write_folder(draw_states(reached, release), folder)
                reached = read_folder(session, folder)
                yield content, _agrees(session, kept, release, reached)

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        """Remove states."""
        for name in names:
            self._states(states).forget(name)

    def known(self, records: PartedSnapshot, key: bytes, id_hashes: Collection[str]) -> set[str]:
        """Those of the keyed hashes that are of a record's id."""
        with records.here() as held:
            return known_hashes(held, key, id_hashes)

    def erase(
        self, records: PartedSnapshot, states: StateStore, key: bytes, id_hashes: Collection[str]
    ) -> None:
        """Erase records from the parts, and the folder of states."""
        try:
            records.erase(key, id_hashes)
            self._states(states).clear()
        except OSError as error:
            raise DeliveryError(
                f"records are to be erased, and some are left ({told_by_spark(error)}): mend that "
                "and erase them again"
            ) from error


@contextmanager
def _jobs(master: str | None) -> Iterator[SparkSession]:
    """A session whose failures are one error with one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield open_session(master)
    except (PySparkException, Py4JError) as error:
        raise SparkError(told_by_spark(error)) from error


def _after(
    session: SparkSession,
    records: PartedSnapshot,
    states: StateParts,
    release: RecordedRelease | None,
) -> DataFrame:
    """``row``, ``x`` and the ``state`` after a release; all 0 before the first release."""
    if release is None:
        return read_folder(session, records.place).selectExpr("row", "x", "0 AS state")
    folder = states.kept(release.name)
    if folder is None:
        raise MissingStatesError(states.folder)
    return read_folder(session, folder)


def _write_states(reached: DataFrame, states: StateParts, release: RecordedRelease) -> None:
    with states.writing(release.name) as folder:
        write_folder(draw_states(reached, release), folder)


def _in_order(
    records: PartedSnapshot,
    place: Folder,
    reached: DataFrame,
    release: RecordedRelease,
    use: Callable[[Iterator[Block]], str],
) -> str:
    """What ``use`` makes of a release's records in the order of its file."""
    n_letters = release.channel.weights.shape[-1]

    def attempt(key: bytes | None) -> str:
        with place.scratch("letters") as scratch, ThreadPoolExecutor(N_THREADS) as pool:
            parts = scratch / "letters.parquet"
            if key is not None:
                named = draw_named_letters(reached, release, key, records.n_records)
                write_folder(named, parts)
                return use(named_blocks(parts, n_letters))
            write_folder(draw_letters(reached, release), parts)
            with records.here() as held:
                order = ByPublicId(held.ids_sql, held.n_records, n_letters)
                for batch in batches_of(parts.files(), ["row", "letter"]):
                    letters, done = batch["letter"].to_numpy(), 0
                    for run in runs(batch["row"].to_numpy()):
                        order.put(int(run[0]), letters[done : done + len(run)])
                        done += len(run)
                return use(order.blocks(pool))

    return without_collisions(release, attempt)


def _agrees(
    session: SparkSession, states: StateParts, release: RecordedRelease, redrawn: DataFrame
) -> bool:
    """Whether the states kept after a release, if there are any, are these."""
    if release.name not in states.names():
        return True
    folder = states.kept(release.name)
    if folder is None:
        return False
    kept = read_folder(session, folder).withColumnRenamed("state", "kept")
    both = kept.join(redrawn, ["row", "x"], "full")
    return bool(both.filter("kept IS NULL OR state IS NULL OR kept <> state").isEmpty())
