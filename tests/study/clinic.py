"""A small clinic to test with: a seeded table, studies of it, and what their ledgers say."""

from __future__ import annotations

import csv
import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

from tacit.ledger import Entry, Ledger
from tacit.limits import Limit
from tacit.sampling import IntegerChannel
from tacit.study import Study
from tacit.study.folder import Configuration, Layout
from tacit.tables import Column
from tests.redteam.raw_ledger import classes_of_cells, read_ledger

AGE_CUTS = (40, 65)
DIAGNOSES = ("asthma", "dementia")
PRIVATE = (Column("age", cuts=AGE_CUTS), "diagnosis", "smoker")
N_CELLS = 12

Row = tuple[str, ...]


class Options(TypedDict, total=False):
    """What ``Study.create`` takes beside the clinic's own table."""

    private: Sequence[str | Column]
    external: Sequence[str | Column]
    everyone: float
    public_id: bool
    memory: int
    accept_reset: bool
    min_records: int


def set_limits(study: Study, limits: Iterable[Limit]) -> None:
    """One after the other."""
    for each in limits:
        study.set_limit(str(each.whom), each.bits, each.times)


def limits_of(study: Study) -> set[Limit]:
    """All that are in force."""
    listed = ((each, (each.bits, each.times)) for each in study.limits())
    return {
        Limit(each.whom, *(None if most == inf else most for most in both)) for each, both in listed
    }


def write_patients(table: Path, n_records: int = 200, seed: int = 0, first: int = 0) -> Path:
    """Patients in random order, numbered from ``first``, so that no cell is empty."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(first, first + n_records):
        age = int(rng.integers(20, 95))
        diagnosis = DIAGNOSES[int(rng.random() < age / 120)]
        is_smoker = rng.random() < 0.4
        is_well = rng.random() < (0.4 if is_smoker or age > 65 else 0.8)
        smoker, outcome = ("no", "yes")[is_smoker], ("ill", "well")[is_well]
        rows.append((f"p{number:06d}", str(age), diagnosis, smoker, outcome))
    write_rows(table, [rows[i] for i in rng.permutation(n_records)])
    return table


def write_rows(table: Path, rows: Sequence[Row]) -> None:
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("patient", "age", "diagnosis", "smoker", "outcome"))
        writer.writerows(rows)


def read_patients(table: Path) -> list[Row]:
    with table.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def cell_of(patient: Row) -> int:
    """The cell that a row of the table belongs to, as the documentation says it: C order."""
    _, age, diagnosis, smoker, _ = patient
    levels = (
        bisect_left(AGE_CUTS, int(age)),
        DIAGNOSES.index(diagnosis),
        ("no", "yes").index(smoker),
    )
    return int(np.ravel_multi_index(levels, (3, 2, 2)))


def make_clinic(
    place: Path, ledger: str = "folder", *, n_records: int = 200, **options: Unpack[Options]
) -> Study:
    """A study ``place/clinic`` of ``place/patients.csv``, which is made too unless it is there."""
    table = place / "patients.csv"
    if not table.exists():
        write_patients(table, n_records)
    settings: Options = {"private": PRIVATE, "memory": 8}
    return Study.create(
        place / "clinic", str(table), id="patient", ledger=ledger, **(settings | options)
    )


def copy_clinic(made: Path, place: Path) -> Path:
    """All that is in ``made``, as if it had been made in ``place``; the study's folder there.

    For a study that has its ledger in its folder, and no release: the ledger names where these are.
    Copying takes a tenth of the time that making takes.
    """
    shutil.copytree(made, place, dirs_exist_ok=True)
    folder = place / "clinic"
    configuration = Layout(folder).configuration
    configuration.write_text(configuration.read_text().replace(str(made), str(place)))
    return folder


def entries_of(folder: Path) -> list[Entry]:
    """The whole ledger of a study, checked to be a chain."""
    configuration = Configuration.read(folder)
    with Ledger.open(configuration.ledger or Layout(folder).ledger) as ledger:
        return ledger.entries(configuration.study)


def intents_of(folder: Path) -> list[Entry]:
    return [entry for entry in entries_of(folder) if entry.kind == "intent"]


def releases_of(folder: Path) -> list[Entry]:
    """Everything that was handed out, copies included."""
    return [entry for entry in entries_of(folder) if entry.kind in ("intent", "copy")]


def holders_of(folder: Path) -> dict[int, set[str]]:
    """Number of each intent -> everybody who has its letters, some of them by a copy."""
    holders: dict[int, set[str]] = {}
    for entry in releases_of(folder):
        first = entry.body["source"] if entry.kind == "copy" else entry.number
        holders.setdefault(first, set()).add(entry.body["party"])
    return holders


def channel_of(intent: Entry) -> IntegerChannel:
    """The recorded table, [m, class of x, letter]."""
    return IntegerChannel.from_bytes(intent.payload)


def classes_of(folder: Path) -> dict[int, NDArray[np.intp]]:
    """Number of each release -> class of each cell, computed as docs/reference/ledger.md says."""
    rows = read_ledger(folder).rows
    classes = classes_of_cells(rows, rows[0].body)
    return {number: np.array(each, dtype=np.intp) for number, each in classes.items()}


def next_state_of(intent: Entry) -> NDArray[np.intp]:
    return np.array(intent.body["next_state"], dtype=np.intp)


def counts_of(folder: Path) -> NDArray[np.int64]:
    """Records in each cell, as the ledger has them."""
    return np.array(entries_of(folder)[0].body["counts"], dtype=np.int64)


def read_release(file: Path) -> tuple[list[str], list[Row]]:
    """Names of the columns, and the rows, all as texts."""
    if file.suffix == ".csv":
        with file.open(newline="") as opened:
            heading, *rows = csv.reader(opened)
        return heading, [tuple(row) for row in rows]
    table = parquet.read_table(file)
    columns = [[str(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, list(zip(*columns, strict=True))


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and what is in it; SQLite's own scratch files aside."""
    return dict(_files_in(folder))


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            yield str(path.relative_to(folder)), path.read_bytes()
