"""Delivering a release with Spark beside a plain Spark job, and beside the local engine.

The plain job reads the columns ``record`` and ``rhat`` as they are in the release file, in no
order, sorts them by ``record`` and writes them, all in Parquet. tacit starts from the records and
states of a study, and ends with one file of the same columns, sorted alike, and the next states.
Both run in one Spark on all cores of this machine, one after the other. The local engine delivers
the same release from the same records; that its content is the same is checked.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import matplotlib as mpl
import numpy as np

from benchmarks.contenders import say
from benchmarks.delivery_run import N_X, SEAL_KEY, recorded_releases
from benchmarks.memory import ROOT
from benchmarks.tables import print_table, ratio_text, seconds_text
from tacit.tables import Encoding, Snapshot
from tacit.tables.delivery.engine import StateStore
from tacit.tables.delivery.local import LocalEngine
from tacit.tables.delivery.spark.engine import SparkEngine
from tacit.tables.delivery.spark.folders import Folder, LocalFolder, read_folder, write_folder
from tacit.tables.delivery.spark.parts import PartedSnapshot
from tacit.tables.delivery.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_SIZES = (100_000,)
SIZES = (1_000_000, 10_000_000, 100_000_000)
TARGET_RATIO = 2.0
FIGURE = ROOT / "docs" / "figures" / "spark.png"
MASTER, DRIVER_MEMORY = "local[*]", "6g"

Result = TypeVar("Result")
Cost = tuple[float, float]
"""Seconds of the clock, and of processors."""

NO_ENCODING = Encoding(ids=(), attributes=())


@dataclass(frozen=True, slots=True)
class SparkResult:
    """One size: the release in Spark, the plain job, and the local engine.

    Seconds of the clock, and of processors: the latter do not depend on who else uses the machine.
    """

    n_records: int
    spark_seconds: float
    plain_seconds: float
    local_seconds: float
    spark_processor_seconds: float
    plain_processor_seconds: float
    local_processor_seconds: float

    @property
    def ratio(self) -> float:
        """The release over the plain job, by the clock."""
        return self.spark_seconds / self.plain_seconds

    @property
    def processor_ratio(self) -> float:
        """The release over the plain job, in processor seconds."""
        return self.spark_processor_seconds / self.plain_processor_seconds


def run(*, quick: bool, sizes: tuple[int, ...] | None = None) -> list[SparkResult]:
    """Deliver releases of growing size, print the table, and draw it unless ``quick``."""
    plain = start_spark()
    session = open_session(MASTER)
    _compare(
        plain, session, QUICK_SIZES[0]
    )  # Java compiles what runs often; the first job is slower
    sizes = sizes or (QUICK_SIZES if quick else SIZES)
    results = [_compare(plain, session, n_records) for n_records in sizes]
    session.stop()
    print_table(
        "Delivering a release with Spark (Parquet, sorted by record)",
        ["records", "", "tacit in Spark", "plain Spark", "tacit / plain", "local engine"],
        [cells for result in results for cells in _cells(result)],
    )
    print(f"Target: at most {TARGET_RATIO:g}x of the plain job", flush=True)
    if not quick:
        draw(results)
    return results


def start_spark() -> SparkSession:
    """Spark in this process, on all cores, with its own settings: the plain job has no others."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.config("spark.driver.memory", DRIVER_MEMORY)
    return builder.config("spark.log.level", "ERROR").master(MASTER).getOrCreate()


def _compare(plain: SparkSession, session: SparkSession, n_records: int) -> SparkResult:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "spark").mkdir()
        (place / "local").mkdir()
        say(f"{n_records:,} records: Spark ...")
        of_spark = _deliver(SparkEngine(), _write_parts(session, place / "spark", n_records))
        say(f"{n_records:,} records: plain ...")
        unsorted = LocalFolder(place) / "unsorted.parquet"
        released = read_folder(session, LocalFolder(place / "spark" / "release.parquet"))
        write_folder(released.repartition(_n_parts(n_records), "rhat", "record"), unsorted)
        of_plain = _measure(lambda: _sort(plain, unsorted, place / "sorted.parquet"))
        say(f"{n_records:,} records: local ...")
        of_local = _deliver(LocalEngine(), _write_files(place / "local", n_records))
    assert of_spark[1] == of_local[1], "the engines delivered different contents"
    costs = zip(of_spark[0], of_plain[0], of_local[0], strict=True)
    return SparkResult(n_records, *(seconds for three in costs for seconds in three))


def _n_parts(n_records: int) -> int:
    return max(2, n_records // 2**22)


def _cells_of_records(n_records: int) -> np.ndarray:
    return ((np.arange(n_records, dtype=np.uint64) * np.uint64(2654435761)) >> np.uint64(8)).astype(
        np.uint8
    )


def _write_parts(session: SparkSession, folder: Path, n_records: int) -> PartedSnapshot:
    """Records as Spark keeps them; their cells are those of ``_cells_of_records``."""
    cell = f"CAST(shiftright(id * 2654435761, 8) & {N_X - 1} AS int)"
    records = PartedSnapshot(folder, n_records, NO_ENCODING)
    rows = session.range(0, n_records, 1, _n_parts(n_records))
    write_folder(rows.selectExpr("id AS row", f"{cell} AS x", "id AS id_0"), records.place)
    return records


def _write_files(folder: Path, n_records: int) -> Snapshot:
    np.save(folder / "x.npy", _cells_of_records(n_records))
    return Snapshot(folder, n_records, NO_ENCODING)


def _deliver(engine: SparkEngine | LocalEngine, records: Snapshot) -> tuple[Cost, str]:
    """What one delivery after an earlier release costs, and its digest."""
    before, now = recorded_releases()
    states = StateStore(records.folder / "states", SEAL_KEY)
    engine.remember(records, states, None, before)
    target = records.folder / "release.parquet"
    return _measure(lambda: engine.deliver(records, states, before, now, target))


def _sort(session: SparkSession, unsorted: Folder, target: Path) -> None:
    read_folder(session, unsorted).orderBy("record").write.parquet(f"file://{target}")


def _measure(work: Callable[[], Result]) -> tuple[Cost, Result]:
    """Seconds of the clock and of processors, and what was computed."""
    start, before = time.perf_counter(), _processor_seconds()
    result = work()
    return (time.perf_counter() - start, _processor_seconds() - before), result


def _processor_seconds() -> float:
    """Of this process and all that it has started, Java and its Python workers included."""
    own, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number] = int(fields[1])
            own[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(own[each] for each in family)


def draw(results: list[SparkResult]) -> None:
    """Seconds against records, on logarithmic axes."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    n_records = [result.n_records for result in results]
    for name, label in (
        ("local_seconds", "tacit, local engine"),
        ("spark_seconds", "tacit, engine spark"),
        ("plain_seconds", "plain Spark: read, sort, write"),
    ):
        axes.plot(n_records, [getattr(each, name) for each in results], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds")
    axes.legend()
    figure.savefig(FIGURE, dpi=120)
    plt.close(figure)


def _cells(result: SparkResult) -> list[list[str]]:
    return [
        [
            f"{result.n_records:,}",
            "clock",
            seconds_text(result.spark_seconds),
            seconds_text(result.plain_seconds),
            ratio_text(result.ratio),
            seconds_text(result.local_seconds),
        ],
        [
            "",
            "processors",
            seconds_text(result.spark_processor_seconds),
            seconds_text(result.plain_processor_seconds),
            ratio_text(result.processor_ratio),
            seconds_text(result.local_processor_seconds),
        ],
    ]
