"""One Spark for all tests: two worker processes of one core each, with its event log on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"

# Java compiles as little as it can and collects in one thread: a test ends before more would pay.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_MOUNT = "spark.hadoop.fs.viewfs.mounttable.clinic.link"

_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.log.level": "ERROR",
    # A task that takes longer than others is run twice, very soon.
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.minTaskRuntime": "0ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark come first: one worker of xdist runs all of them, and starts one Spark."""
    items.sort(key=lambda item: "spark" not in item.nodeid)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    from pyspark.sql import SparkSession

    place = tmp_path_factory.mktemp("spark")
    (place / "events").mkdir()
    (place / "elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_SUBMIT_OPTS", _JAVA)  # of drivers, those of a test's own too
        builder = SparkSession.builder.master(MASTER).config(map=dict(_SETTINGS))
        session = (
            builder.config("spark.eventLog.dir", f"file://{place / 'events'}")
            .config("spark.sql.warehouse.dir", f"file://{place / 'warehouse'}")
            .config(f"{_MOUNT}./data", f"file://{place / 'elsewhere'}")
            .config("spark.executorEnv.PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.fixture
def elsewhere() -> str:
    """A folder of a file system of Hadoop's own: Python cannot open it."""
    return "viewfs://clinic/data"


@pytest.fixture(scope="session")
def event_log(spark: SparkSession) -> Path:
    """The folder that Spark writes what happens to."""
    return Path(spark.conf.get("spark.eventLog.dir", "").removeprefix("file://"))
