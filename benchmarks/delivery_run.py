"""One contender of ``benchmarks.delivery``, in a process of its own.

``python -m benchmarks.delivery_run CONTENDER FOLDER RECORDS`` prints one JSON object. No other
solver is imported, so that the peak is the contender's.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.memory import peak_gigabytes
from tacit.sampling import IntegerChannel, StudyKey
from tacit.tables import Encoding, Snapshot
from tacit.tables.delivery.engine import StateStore
from tacit.tables.delivery.local import LocalEngine, StateFiles
from tacit.tables.delivery.release_file import Alphabet, RecordedRelease

REPEATS = 3
N_STATES, N_X = 64, 256
LABELS = ("married", "never married", "divorced", "separated", "widowed", "missing")
BEFORE, NOW = "1", "2"
"""Ledger entries of the release before, which left a state, and of the one that is delivered."""
SEAL_KEY = bytes(32)


def make_study(folder: Path, n_records: int) -> None:
    """Cells and states of records after an earlier release."""
    rng = np.random.default_rng(0)
    np.save(folder / "x.npy", rng.integers(0, N_X, n_records, dtype=np.uint8))
    states = rng.integers(0, N_STATES, n_records, dtype=np.uint8)
    with StateFiles(folder / "states", n_records, SEAL_KEY).writing(BEFORE, N_STATES) as append:
        append(states)


def recorded_releases() -> tuple[RecordedRelease, RecordedRelease]:
    """The release before, and the one that is delivered."""
    rng = np.random.default_rng(1)
    channel = IntegerChannel.quantised(rng.dirichlet(np.ones(len(LABELS)), size=(N_STATES, N_X)))
    next_state = rng.integers(0, N_STATES, size=(N_STATES, len(LABELS)))
    next_state[0, 0] = N_STATES - 1
    key = StudyKey(bytes(range(32)))
    before, now = (
        RecordedRelease(
            name,
            channel,
            np.arange(N_X),
            next_state,
            key.derive("release", name),
            key.derive("digest"),
            Alphabet(LABELS),
            lambda attempt: key.derive("pseudonym", attempt),
        )
        for name in (BEFORE, NOW)
    )
    return before, now


def deliver_with_tacit(folder: Path, n_records: int) -> list[float]:
    """Seconds of deliveries from the study's files."""
    before, now = recorded_releases()
    engine, states = LocalEngine(), StateStore(folder / "states", SEAL_KEY)
    records = Snapshot(folder, n_records, Encoding(ids=(), attributes=()))
    target = folder / "release.parquet"
    return _seconds(lambda: engine.deliver(records, states, before, now, target))


def copy_with_duckdb(folder: Path, n_records: int) -> list[float]:
    """Seconds of sorted copies of the columns that tacit delivered."""
    with duckdb.connect() as connection:
        released = f"read_parquet('{folder / 'release.parquet'}')"
        connection.execute(f"CREATE TABLE release AS FROM {released} ORDER BY hash(record)")
        query = "SELECT record, rhat FROM release ORDER BY record"
        copy = f"COPY ({query}) TO '{folder / 'copy.parquet'}' (FORMAT parquet)"
        seconds = _seconds(lambda: connection.execute(copy))
        copied = connection.execute(f"SELECT count(*) FROM '{folder / 'copy.parquet'}'").fetchone()
        assert copied == (n_records,), f"DuckDB copied {copied} of {n_records} records"
    return seconds


def _seconds(work: Callable[[], object]) -> list[float]:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


CONTENDERS = {"tacit": deliver_with_tacit, "duckdb": copy_with_duckdb}


def main(contender: str, folder: Path, n_records: int) -> None:
    """Run one contender and print what it took."""
    seconds = CONTENDERS[contender](folder, n_records)
    print(json.dumps({"seconds": seconds, "peak_gb": peak_gigabytes()}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
