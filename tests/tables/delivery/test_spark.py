"""Spark's own ways of going wrong: other partitions, dead executors, logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from pickle import PicklingError
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyarrow import parquet

from tacit.errors import InvalidInputError, TacitError
from tacit.sampling import IntegerChannel, StudyKey, pseudonyms
from tacit.study import Study
from tacit.study.folder import find_engine
from tacit.tables import Column, Declaration
from tacit.tables.delivery.engine import Records, StateStore
from tacit.tables.delivery.local import LocalEngine
from tacit.tables.delivery.release_file import Alphabet, PseudonymCollisionError, RecordedRelease
from tacit.tables.delivery.spark.draw import at, named_blocks
from tacit.tables.delivery.spark.engine import SparkEngine
from tacit.tables.delivery.spark.folders import LocalFolder, read_folder, write_folder
from tacit.tables.delivery.spark.parts import PartedSnapshot
from tacit.tables.delivery.spark.session import open_session
from tests.tables.delivery.slow_once import SlowOnce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = bytes(range(7, 39))
KEY = StudyKey(SECRET)
N_RECORDS, N_CELLS, N_STATES, N_LETTERS = 400_000, 6, 3, 4
COLUMNS = [Column("age", quantiles=4), Column("ward")]


def recorded(name: str, n_states: int) -> RecordedRelease:
    rng = np.random.default_rng(n_states)
    law = rng.dirichlet(np.ones(N_LETTERS), size=(n_states, N_CELLS))
    next_state = rng.integers(0, N_STATES, size=(n_states, N_LETTERS))
    next_state[0, 0] = N_STATES - 1
    return RecordedRelease(
        name,
        IntegerChannel.quantised(law),
        np.arange(N_CELLS * 2) % N_CELLS,
        next_state,
        KEY.derive("release", name),
        KEY.derive("digest", name),
        Alphabet(("a", "b", "c", "d")),
        partial(KEY.derive, "pseudonym", "lab-a"),
    )


FIRST, SECOND = recorded("1-first", 1), recorded("2-second", N_STATES)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet files: ids in no order, ages, wards."""
    folder = tmp_path_factory.mktemp("table") / "patients.parquet"
    folder.mkdir()
    rng = np.random.default_rng(0)
    ids = rng.permutation(N_RECORDS)
    for number, some in enumerate(np.array_split(ids, 3)):
        columns = {
            "patient": some,
            "age": rng.integers(0, 100, len(some)),
            "ward": rng.choice(["north", "south", "west"], len(some)),
        }
        parquet.write_table(pa.table(columns), folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def local(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Records, str]:
    """The records as the local engine counts them, and the digest of the second release."""
    place = tmp_path_factory.mktemp("local")
    engine = LocalEngine()
    records = engine.count(str(table), Declaration(["patient"], COLUMNS), place / "records")
    return records, deliver(engine, records, place)


@pytest.fixture(scope="module")
def counted(
    spark: SparkSession, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> PartedSnapshot:
    del spark
    folder = tmp_path_factory.mktemp("counted") / "records"
    return SparkEngine().count(str(table), Declaration(["patient"], COLUMNS), folder)


def deliver(
    engine: SparkEngine | LocalEngine,
    records: Records,
    place: Path,
    release: RecordedRelease = SECOND,
) -> str:
    states = StateStore(place / "states", b"s" * 32)
    engine.remember(records, states, None, FIRST)
    return engine.deliver(records, states, FIRST, release, place / "release.parquet")


@pytest.mark.slow
def test_a_folder_of_parquet_is_counted_alike(
    counted: PartedSnapshot, local: tuple[Records, str], tmp_path: Path
) -> None:
    records, digest = local
    assert counted.encoding == records.encoding
    assert counted.counts.tolist() == records.counts.tolist()
    assert counted.digest(b"key") == records.digest(b"key")
    assert deliver(SparkEngine(), counted, tmp_path) == digest


@pytest.mark.slow
def test_small_files_share_tasks(spark: SparkSession, tmp_path: Path) -> None:
    n_files, folder = 24, tmp_path / "many"
    folder.mkdir()
    ids = np.random.default_rng(1).permutation(n_files * 5)
    for number, some in enumerate(np.split(ids, n_files)):
        columns = {"count": some, "age": some % 7, "ward": some % 2}
        parquet.write_table(pa.table(columns), folder / f"{number}.parquet")
    context, group = spark.sparkContext, "small files"
    context.setJobGroup(group, group)
    try:
        found = [
            engine.count(f"{folder}/", Declaration(["count"], COLUMNS), tmp_path / name)
            for name, engine in (("local", LocalEngine()), ("spark", SparkEngine()))
        ]
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert found[0].digest(b"key") == found[1].digest(b"key")
    jobs = map(context.statusTracker().getJobInfo, context.statusTracker().getJobIdsForGroup(group))
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    told = map(context.statusTracker().getStageInfo, stages)
    n_tasks = [each.numTasks for each in told if each is not None]
    assert n_tasks
    assert max(n_tasks) < n_files / 2


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 7])
def test_partitions_do_not_matter(
    spark: SparkSession,
    counted: PartedSnapshot,
    local: tuple[Records, str],
    n_parts: int,
    tmp_path: Path,
) -> None:
    session = open_session(None)
    mixed = read_folder(session, counted.place).repartition(n_parts, "id_0")
    other = PartedSnapshot(tmp_path / "records", counted.n_records, counted.encoding)
    other.folder.mkdir()
    write_folder(mixed.sortWithinPartitions("row"), other.place)
    assert len(list(other.parts.iterdir())) == n_parts
    assert deliver(SparkEngine(), other, tmp_path) == local[1]


@pytest.mark.slow
def test_a_killed_executor_changes_nothing(
    spark: SparkSession, counted: PartedSnapshot, local: tuple[Records, str], tmp_path: Path
) -> None:
    def is_running() -> bool:
        tracker = spark.sparkContext.statusTracker()
        stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
        return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)

    before = executors(spark)
    assert len(before) == 2
    with ThreadPoolExecutor(1) as pool:
        delivered = pool.submit(deliver, SparkEngine(), counted, tmp_path)
        wait_until(is_running)
        os.kill(before[0], signal.SIGKILL)
        assert not delivered.done()
        assert delivered.result() == local[1]
    wait_until(lambda: len(set(executors(spark)) - {before[0]}) == 2)


@pytest.mark.slow
def test_a_killed_driver_leaves_nothing_that_counts(
    counted: PartedSnapshot, local: tuple[Records, str], tmp_path: Path
) -> None:
    """A driver of its own, with its own Spark, is killed while it writes; another one goes on."""
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", _DRIVER, str(counted.folder), str(tmp_path)]
    driver = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        wait_until(lambda: driver.poll() is not None or _is_writing(tmp_path / "states"))
        assert driver.poll() is None
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert not (tmp_path / "release.parquet").exists()
    assert deliver(SparkEngine(), counted, tmp_path) == local[1]


@pytest.fixture
def second_host(spark: SparkSession) -> Iterator[None]:
    """One more worker, on another address: Spark runs no task twice on one host."""
    context, before = spark.sparkContext, len(executors(spark))
    assert context._jvm is not None
    java, backend = context._jvm, context._jsc.sc().schedulerBackend()
    masters = backend.getClass().getDeclaredField("masters")
    masters.setAccessible(True)
    worker = java.org.apache.spark.deploy.worker.Worker.startRpcEnvAndEndpoint(
        *("127.0.0.2", 0, 0, 1, 1024, masters.get(backend), None),
        *(java.scala.Option.apply(9), context._jsc.sc().conf(), java.scala.Option.empty()),
    )
    wait_until(lambda: len(executors(spark)) > before)
    yield
    worker.shutdown()
    wait_until(lambda: len(executors(spark)) == before)


@pytest.mark.slow
@pytest.mark.usefixtures("second_host")
def test_a_slow_task_that_runs_twice_changes_nothing(
    counted: PartedSnapshot, local: tuple[Records, str], event_log: Path, tmp_path: Path
) -> None:
    """The first attempt at a task waits, in the job of states and in that of the file."""
    key = SlowOnce(KEY.derive("pseudonym", "lab-a", 0), tmp_path / "file.marker")
    slow = replace(
        SECOND,
        draw_key=SlowOnce(SECOND.draw_key, tmp_path / "states.marker"),
        pseudonym_key=lambda _: key,
    )
    assert deliver(SparkEngine(), counted, tmp_path, slow) == local[1]
    assert len(list(tmp_path.glob("*.marker"))) == 2
    assert not list(tmp_path.glob("*.waited"))  # others were faster
    lines = (line for path in event_log.rglob("events_*") for line in path.read_text().split("\n"))
    ends = [
        json.loads(line) for line in lines if line.startswith('{"Event":"SparkListenerTaskEnd"')
    ]
    tasks = [each["Task Info"] for each in ends]
    assert sum(each["Speculative"] and not each["Killed"] for each in tasks) >= 2
    states = pa.dataset.dataset(tmp_path / "states" / f"{SECOND.name}.parquet", format="parquet")
    assert sorted(states.to_table()["row"].to_pylist()) == list(range(N_RECORDS))


_DRIVER = """
import sys
from pathlib import Path
from tacit.tables.delivery.spark.engine import SparkEngine
from tests.tables.delivery.test_spark import deliver
engine = SparkEngine("local[1]")
deliver(engine, engine.open(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def _is_writing(states: Path) -> bool:
    """Whether the states after the first release are there, and more is being written."""
    return any(states.glob("*.parquet")) and any(states.glob(".*.partial"))


def executors(spark: SparkSession) -> list[int]:
    """Processes of this Spark's executors."""
    application = spark.sparkContext.applicationId.encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if application in words and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in (
            words
        ):
            found.append(int(path.parent.name))
    return sorted(found)


def wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def log_files(folder: Path) -> Iterator[Path]:
    return filter(Path.is_file, folder.rglob("*"))


# -- secrets ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_keys_are_in_no_log_and_not_in_the_pages_of_spark(
    spark: SparkSession, counted: PartedSnapshot, event_log: Path, tmp_path: Path
) -> None:
    import pyspark

    deliver(SparkEngine(), counted, tmp_path)
    work = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
    logs = [path.read_bytes() for folder in (event_log, work) for path in log_files(folder)]
    pages = list(pages_of(spark))
    assert any(b"MapInArrow" in text for text in logs)  # what is searched says what was done
    assert any(b"MapInArrow" in text for text in pages)
    assert any(path.name == "stderr" for path in log_files(work))
    keys = (SECRET, SECOND.draw_key, KEY.derive("pseudonym", "lab-a", 0), b"s" * 32)
    for key in keys:
        for form in (key, key.hex().encode(), key.hex().upper().encode(), b64encode(key)):
            assert not any(form in text for text in (*logs, *pages))


def pages_of(spark: SparkSession) -> Iterator[bytes]:
    """What Spark's pages tell machines."""
    address = spark.sparkContext.uiWebUrl
    application = f"{address}/api/v1/applications/{spark.sparkContext.applicationId}"
    for name in ("jobs", "stages?details=true", "sql?details=true&length=1000", "environment"):
        with urllib.request.urlopen(f"{application}/{name}") as answer:
            yield answer.read()


@pytest.mark.slow
def test_the_key_of_a_study_cannot_travel(spark: SparkSession) -> None:
    key = StudyKey(SECRET)

    def leak(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key.derive("anything")
        yield from batches

    with pytest.raises(PicklingError, match="cannot be pickled"):
        spark.range(2).mapInArrow(leak, "id long").count()


# -- sources and columns ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_of_the_catalog_is_a_source(
    spark: SparkSession, table: Path, local: tuple[Records, str], tmp_path: Path
) -> None:
    read_folder(spark, LocalFolder(table)).write.saveAsTable("ward_patients")
    engine = SparkEngine()
    source = "spark:ward_patients"
    records = engine.count(source, Declaration(["patient"], COLUMNS), tmp_path / "records")
    assert records.digest(b"key") == local[0].digest(b"key")
    with pytest.raises(InvalidInputError, match="spark:nothing cannot be read"):
        engine.count("spark:nothing", Declaration(["patient"], COLUMNS), tmp_path / "other")


ODD = {
    "id": pa.array(["b", "a", "é", "Z", "10", "9", "z", "zz"]),
    "part": pa.array([1, 2, 3, 4, 5, 6, 7, 8], pa.int16()),
    "small": pa.array([0.1, 0.2, float("nan"), -0.0, 0.0, None, 0.1, 7.5], pa.float32()),
    "price": pa.array([Decimal("1.50"), None, *map(Decimal, ["2", "2", "3", "3", "4", "1.5"])]),
    "near": pa.array([Decimal(f"12345678901234567.0{k % 3}") for k in range(8)]),
    "long": pa.array([Decimal(f"{10**27 + k}.001") for k in range(8)], pa.decimal128(31, 3)),
    "born": pa.array([date(1960 + 7 * k, 3, 1 + k) for k in range(8)]),
    "seen": pa.array([datetime(2020 + k % 3, 1, 1, 23, 59, k) for k in range(8)]),
    "zoned": pa.array([datetime(2020 + k % 2, 1, 1) for k in range(8)], pa.timestamp("us", "UTC")),
    "smoker": pa.array([True, False, None, True, True, False, True, False]),
    "text": pa.array(["1", " 2", "three", None, "4", "5.5", "6", "7"]),
    "code": pa.array(["A", "B", "A", "C", "A", "D", "B", "A"]),
    "raw": pa.array([b"\x01", b"\xff", None, b"\x01", b"", b"\x01", b"", b"\x02"]),
}
ODD_COLUMNS = [
    Column("small"),
    Column("price", quantiles=3),
    Column("born", by="year"),
    Column("seen", cuts=[date(2020, 12, 31)]),
]
MORE_ODD_COLUMNS = [
    Column("zoned", by="month"),
    Column("smoker"),
    Column("text", cuts=[2, 5], stray="missing"),
    Column("code", top=2),
    Column("raw"),
    Column("near"),
    Column("long", quantiles=2),
]


@pytest.mark.slow
@pytest.mark.parametrize("private", [ODD_COLUMNS, MORE_ODD_COLUMNS])
def test_columns_of_every_type_are_read_alike(
    spark: SparkSession, private: list[Column], tmp_path: Path
) -> None:
    source = str(tmp_path / "odd.parquet")
    parquet.write_table(pa.table(ODD), source)
    grouped = Column("code", groups={"A": "often", "*": "rare"})
    externals = [] if grouped.name in {column.name for column in private} else [grouped]
    found = [
        engine.count(source, Declaration(["id", "part"], private, externals), tmp_path / name)
        for name, engine in (("local", LocalEngine()), ("spark", SparkEngine()))
    ]
    assert found[0].encoding == found[1].encoding
    assert found[0].digest(b"key") == found[1].digest(b"key")
    assert found[0].sketch(b"salt", 3) == found[1].sketch(b"salt", 3)


@pytest.mark.slow
def test_tables_are_refused_in_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    source = str(tmp_path / "odd.parquet")
    parquet.write_table(pa.table(ODD), source)
    for number, (ids, column) in enumerate(
        [
            (["code"], Column("smoker")),
            (["raw"], Column("smoker")),
            (["id"], Column("text", cuts=[3])),
            (["id"], Column("nothing")),
            (["id"], Column("part", cuts=[100])),
        ]
    ):
        said = []
        for name, engine in (("local", LocalEngine()), ("spark", SparkEngine())):
            with pytest.raises(TacitError) as refusal:
                engine.count(source, Declaration(ids, [column]), tmp_path / f"{name}{number}")
            # Of a table that only a cluster reaches, no query of DuckDB makes another.
            said.append((type(refusal.value), str(refusal.value).partition("; ")[0]))
        assert said[0] == said[1]


# -- without Spark ------------------------------------------------------------------------------


def test_only_the_engine_spark_has_a_master(tmp_path: Path) -> None:
    assert find_engine("spark", "yarn") == SparkEngine("yarn")
    with pytest.raises(InvalidInputError, match="the engine local runs on this machine"):
        Study.create(tmp_path / "a", "a.csv", id="a", private=["b"], master="yarn")


def test_spark_is_not_imported_before_it_is_used() -> None:
    check = "import sys, tacit.study.study; print('pyspark' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_keyed_numbers_of_any_records() -> None:
    stream = partial(pseudonyms, FIRST.draw_key)
    rows = np.array([5, 6, 7, 2, 3, 9, 100, 101, 4, 4095, 4096, 4, 4, 9000, 20_000, 5000])
    assert at(stream, rows).tolist() == stream(0, 20_001)[rows].tolist()
    every_seventh = np.arange(3, 20_000, 7)
    assert at(stream, every_seventh).tolist() == stream(0, 20_001)[every_seventh].tolist()


def test_equal_pseudonyms_in_parts_are_noticed(tmp_path: Path) -> None:
    words = np.array([-5, 1, 1, 4])
    for number, some in enumerate((words[:2], words[2:])):
        columns = {"word": some, "letter": np.zeros(2, np.int32)}
        parquet.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    with pytest.raises(PseudonymCollisionError):
        list(named_blocks(LocalFolder(tmp_path), N_LETTERS))
    columns = {"word": np.array([2, 4]), "letter": np.array([1, 3], np.int32)}
    parquet.write_table(pa.table(columns), tmp_path / "part-1.parquet")
    [block] = named_blocks(LocalFolder(tmp_path), N_LETTERS)
    assert block.letters.tolist() == [0, 0, 1, 3]
    assert block.record.to_pylist()[0] == f"{2**63 - 5:016x}"


@pytest.mark.slow
def test_the_next_key_is_used_after_a_collision(
    spark: SparkSession, counted: PartedSnapshot, local: tuple[Records, str], tmp_path: Path
) -> None:
    def second_key(attempt: int) -> bytes:
        if attempt == 0:
            raise PseudonymCollisionError
        return KEY.derive("pseudonym", "lab-a", attempt - 1)

    states = StateStore(tmp_path / "states", b"s" * 32)
    SparkEngine().remember(counted, states, None, FIRST)
    release = replace(SECOND, pseudonym_key=second_key)
    target = tmp_path / "release.csv"
    assert SparkEngine().deliver(counted, states, FIRST, release, target) == local[1]
