"""Delivering a release of millions of records beside DuckDB copying the same columns.

DuckDB copies a table in memory, columns ``record`` and ``rhat`` as they will be in the file, in no
order, to Parquet sorted by ``record``. tacit starts from a study's files (cells and states on disk)
and ends with a file of the same columns, sorted alike, and the next states: pseudonyms, sampling,
content digest and fsync are its own extra work. Each runs in a process of its own
(``benchmarks.delivery_run``), three times, and the median counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import say
from benchmarks.delivery_run import make_study
from benchmarks.memory import ROOT
from benchmarks.tables import print_table, ratio_text, seconds_text

QUICK_SIZES = (1_000_000,)
SIZES = (10_000_000, 50_000_000)
COMPARED = 10_000_000
"""Larger sizes are about memory: DuckDB's table alone would need several gigabytes there."""

TARGET_RATIO = 2.0
TARGET_GB = {10_000_000: 1.0, 50_000_000: 1.5}


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """One size: seconds of both, ``None`` where DuckDB did not run, and tacit's peak memory."""

    n_records: int
    tacit_seconds: float
    tacit_peak_gb: float
    duckdb_seconds: float | None

    @property
    def ratio(self) -> float | None:
        """tacit's time over DuckDB's."""
        return None if self.duckdb_seconds is None else self.tacit_seconds / self.duckdb_seconds


def run(*, quick: bool) -> list[DeliveryResult]:
    """Deliver studies of growing size (one small one if ``quick``) and print the table."""
    results = [_compare(n_records) for n_records in (QUICK_SIZES if quick else SIZES)]
    print_table(
        "Delivering a release (Parquet, sorted by record)",
        ["records", "tacit", "DuckDB copy", "tacit / DuckDB's", "peak of tacit"],
        [_cells(result) for result in results],
    )
    print(
        f"Targets: at most {TARGET_RATIO:g}x; at most "
        + ", ".join(f"{most:g} GB at {n:,}" for n, most in TARGET_GB.items()),
        flush=True,
    )
    return results


def _compare(n_records: int) -> DeliveryResult:
    with TemporaryDirectory() as folder:
        make_study(Path(folder), n_records)
        seconds, peak_gb = _measured("tacit", folder, n_records)
        theirs = None
        if n_records <= COMPARED:
            theirs, _ = _measured("duckdb", folder, n_records)
    return DeliveryResult(n_records, seconds, peak_gb, theirs)


def _measured(contender: str, folder: str, n_records: int) -> tuple[float, float]:
    """Median seconds, and peak gigabytes."""
    say(f"{n_records:,} records: {contender} ...")
    command = [sys.executable, "-m", "benchmarks.delivery_run", contender, folder, str(n_records)]
    finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    measured = json.loads(finished.stdout)
    return statistics.median(measured["seconds"]), measured["peak_gb"]


def _cells(result: DeliveryResult) -> list[str]:
    theirs = result.duckdb_seconds
    return [
        f"{result.n_records:,}",
        seconds_text(result.tacit_seconds),
        "-" if theirs is None else seconds_text(theirs),
        ratio_text(result.ratio),
        f"{result.tacit_peak_gb:.2f} GB",
    ]
