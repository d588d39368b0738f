"""The engine of a cluster: records in Parquet files, encoded, drawn and sorted by Spark.

Everything is a function of the key, the recorded release and the snapshot, so a task that runs
again, after a killed executor or because it was slow, gives the same rows. A release file is one
file: the driver puts it together from sorted parts, and digests it as the local engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.storage import atomic_file, scratch_folder
from tacit.tables.delivery.engine import MissingStatesError, Progress, StateStore
from tacit.tables.delivery.links import Links, link
from tacit.tables.delivery.local import (
    Steps,
    digest_release,
    digest_while,
    not_written,
    refuse_other_content,
    states_not_written,
    told,
    without_collisions,
)
from tacit.tables.delivery.release_file import (
    N_THREADS,
    Block,
    ByPublicId,
    RecordedRelease,
    release_writer,
)
from tacit.tables.delivery.spark.census import read_table, take_census
from tacit.tables.delivery.spark.draw import (
    draw_letters,
    draw_named_letters,
    draw_states,
    named_blocks,
    runs,
)
from tacit.tables.delivery.spark.parts import PartedSnapshot, StateParts, batches_of
from tacit.tables.delivery.spark.session import (
    open_session,
    quote_column,
    read_folder,
    told_by_spark,
    write_folder,
)
from tacit.tables.encoding.column import Column
from tacit.tables.encoding.comparison import compare
from tacit.tables.sources.source import find_source
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
    """

    master: str | None = None

    def count(
        self,
        source: str,
        id_columns: Sequence[str],
        attributes: Sequence[Column],
        externals: Sequence[Column],
        folder: Path,
        *,
        remark: Callable[[Remark], None] | None = None,
    ) -> PartedSnapshot:
        """Freeze a table in a new folder."""
        try:
            with _jobs(self.master) as session:
                return take_census(
                    session, source, id_columns, attributes, externals, folder, remark=remark
                )
        except (SparkError, duckdb.Error, OSError) as error:
            raise InvalidInputError(
                f"{source} cannot be counted: {told_by_spark(error)}; "
                "check it, and the room on the disks"
            ) from error

    def open(self, folder: Path) -> PartedSnapshot:
        """The snapshot in a folder."""
        return PartedSnapshot.open(folder)

    def compare(self, records: PartedSnapshot, source: str) -> list[str]:
        """What has changed in the table; the driver compares."""
        if not isinstance(find_source(source), SparkTable):
            return compare(records, source)
        with _jobs(self.master) as session, scratch_folder(records.folder) as scratch:
            table = read_table(session, source)
            assert table is not None
            names = [quote_column(name) for name in records.encoding.types if name in table.columns]
            write_folder(table.select(names), scratch / "now.parquet")
            return compare(records, str(scratch / "now.parquet"))

    def link(
        self, records: PartedSnapshot, ids: str, pseudonym_key: Callable[[int], bytes]
    ) -> Links:
        """Which pseudonyms the ids of a table have."""
        return link(records, ids, pseudonym_key)

    def remembered(self, folder: Path) -> list[str]:
        """Releases of which states lie in a folder, sorted."""
        return StateParts(folder, b"").names()

    def keeps(self, records: PartedSnapshot, states: StateStore, release: RecordedRelease) -> bool:
        """Whether the states after a release are there and whole."""
        del records
        return StateParts.of(states).kept(release.name) is not None

    def remember(
        self,
        records: PartedSnapshot,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
    ) -> None:
        """Write the states after a release."""
        kept = StateParts.of(states)
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
        writer = release_writer(target)  # a name that cannot be used is refused before any work
        kept = StateParts.of(states)
        steps = Steps(progress, 2 * records.n_records)

        def write(blocks: Iterator[Block]) -> str:
            with ThreadPoolExecutor(N_THREADS) as pool, atomic_file(target) as file:
                content = digest_while(partial(writer, file), release, blocks, pool, steps)
                refuse_other_content(target, content, expected)
            return content

        try:
            with _jobs(self.master) as session:
                reached = _after(session, records, kept, before)
                _write_states(reached, kept, release)
                steps.add(records.n_records)
                return _in_order(records, kept.folder, reached, release, write)
        except (OSError, duckdb.Error) as error:
            raise not_written(target, told(error)) from error
        except SparkError as error:
            raise not_written(target, told_by_spark(error)) from error

    def redraw(
        self, records: PartedSnapshot, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        """Each release's content digest, and whether its states, if there are any, are right."""
        kept = StateParts.of(states)
        kept.folder.mkdir(mode=0o700, exist_ok=True)
        with _jobs(self.master) as session, scratch_folder(kept.folder / "redrawn") as scratch:
            reached = _after(session, records, kept, None)
            for number, release in enumerate(releases):

                def digest(blocks: Iterator[Block], release: RecordedRelease = release) -> str:
                    return digest_release(release, blocks)

                content = _in_order(records, scratch, reached, release, digest)
                folder = scratch / f"{number}.parquet"
                write_folder(draw_states(reached, release), folder)
                reached = read_folder(session, folder)
                yield content, _agrees(session, kept, release, reached)

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        """Remove states."""
        for name in names:
            StateParts.of(states).forget(name)


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
        return read_folder(session, records.parts).selectExpr("row", "x", "0 AS state")
    folder = states.kept(release.name)
    if folder is None:
        raise MissingStatesError(
            f"the states written to {states.folder} cannot be read again: check the disk and "
            "ask for the same release again, which costs nothing"
        )
    return read_folder(session, folder)


def _write_states(reached: DataFrame, states: StateParts, release: RecordedRelease) -> None:
    with states.writing(release.name) as folder:
        write_folder(draw_states(reached, release), folder)


def _in_order(
    records: PartedSnapshot,
    place: Path,
    reached: DataFrame,
    release: RecordedRelease,
    use: Callable[[Iterator[Block]], str],
) -> str:
    """What ``use`` makes of a release's records in the order of its file."""
    n_letters = release.channel.weights.shape[-1]

    def attempt(number: int) -> str:
        with scratch_folder(place / "letters") as scratch, ThreadPoolExecutor(N_THREADS) as pool:
            parts = scratch / "letters.parquet"
            if release.pseudonym_key is not None:
                key = release.pseudonym_key(number)
                named = draw_named_letters(reached, release, key, records.n_records)
                write_folder(named, parts)
                return use(named_blocks(parts, n_letters))
            write_folder(draw_letters(reached, release), parts)
            order = ByPublicId(records.ids_sql, records.n_records, n_letters)
            for batch in batches_of(sorted(parts.iterdir()), ["row", "letter"]):
                _put(order, batch)
            return use(order.blocks(pool))

    return without_collisions(attempt)


def _put(order: ByPublicId, batch: pa.RecordBatch) -> None:
    """Put letters where their records are."""
    letters, done = batch["letter"].to_numpy(), 0
    for run in runs(batch["row"].to_numpy()):
        order.put(int(run[0]), letters[done : done + len(run)])
        done += len(run)


def _agrees(
    session: SparkSession, states: StateParts, release: RecordedRelease, redrawn: DataFrame
) -> bool:
    """Whether the states kept after a release, if there are any, are these."""
    if not states.path(release.name).exists():
        return True
    folder = states.kept(release.name)
    if folder is None:
        return False
    kept = read_folder(session, folder).withColumnRenamed("state", "kept")
    both = kept.join(redrawn, ["row", "x"], "full")
    return bool(both.filter("kept IS NULL OR state IS NULL OR kept <> state").isEmpty())
