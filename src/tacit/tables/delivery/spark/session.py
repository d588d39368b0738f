"""Spark as tacit uses it: how a session starts, and how columns are named in it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tacit.errors import InvalidInputError

if TYPE_CHECKING:  # an extra that most do not need
    from pyspark.sql import SparkSession

BATCH = 2**16
"""Records that are handed to Python at a time."""

_PART_BYTES = "128MB"
_COST_OF_OPENING = "spark.sql.files.openCostInBytes"
_COST_OF_A_SMALL_FILE = "4MB"  # Spark's own default

_STARTED: dict[str, bool | float | int | str | None] = {
    "spark.app.name": "tacit",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that tacit starts itself; ``spark-defaults.conf`` has all others."""

_OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
    # A task reads one file or a range of it, never two files: records stay in order.
    "spark.sql.files.maxPartitionBytes": _PART_BYTES,
    _COST_OF_OPENING: _PART_BYTES,
}
"""Settings of every session; a session that the caller has keeps its own."""


def open_session(master: str | None) -> SparkSession:
    """A session of the application that runs in this process, or of one that is started.

    Args:
        master: the cluster's address, where an application has to be started.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    if SparkSession.getActiveSession() is None:
        builder = builder.config(map=_STARTED)
        builder = builder if master is None else builder.master(master)
    try:
        session = builder.getOrCreate().newSession()
    except (PySparkException, OSError) as error:
        raise InvalidInputError(
            f"Spark cannot be started ({told_by_spark(error)}): install Java 17, check the master "
            f"{master or 'in spark-defaults.conf'}, and see what tacit doctor finds"
        ) from error
    for name, value in _OWN.items():
        session.conf.set(name, value)
    return session


@contextmanager
def files_in_any_order(session: SparkSession) -> Iterator[None]:
    """Let a task read several small files meanwhile: for records that are in no order, or lose it.

    A task of its own for each of many small files costs more than what is in them.
    """
    session.conf.set(_COST_OF_OPENING, _COST_OF_A_SMALL_FILE)
    try:
        yield
    finally:
        session.conf.set(_COST_OF_OPENING, _PART_BYTES)


def told_by_spark(error: Exception) -> str:
    """What went wrong, in one line: of Python's stack the last, of Java's the first."""
    lines = str(error).partition("\n\tat ")[0].strip().splitlines() or [type(error).__name__]
    if lines[0].startswith("An error occurred while calling") and len(lines) > 1:
        return lines[1].removeprefix(": ")
    if "Python worker" not in lines[0]:
        return lines[0]
    return next(line for line in reversed(lines) if line and not line[0].isspace())


def quote_column(name: str) -> str:
    """A column by its name, whatever characters are in it."""
    return "`" + name.replace("`", "``") + "`"


def escape(address: str) -> str:
    """An address that stands for nothing but itself where Spark reads."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", address)
