"""Studies to attack: made in one place, so that one line changes when ``Study.create`` does."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.study import Study
from tests.redteam.raw_ledger import ledger_address

OWN_LEDGER: str | None = "folder"
"""What ``Study.create`` is told, so that the ledger lies in the study's folder."""

AGES = ("young", "middle", "old")
DIAGNOSES = ("asthma", "dementia", "none")


def make_study(folder: Path, table: Path, *, ledger: str | None = OWN_LEDGER, **how: Any) -> Study:
    """A study whose ledger lies in its folder, unless told otherwise."""
    return Study.create(folder, str(table), ledger=ledger, **how)


def own_ledger_words() -> list[str]:
    """The same on the command line of ``tacit init``."""
    return [] if OWN_LEDGER is None else ["--ledger", OWN_LEDGER]


def ledger_file(folder: Path) -> Path:
    """The SQLite file that a study's ledger is in."""
    return Path(ledger_address(folder)[1])


def write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def write_patients(path: Path, n_records: int = 600, seed: int = 0) -> Path:
    """Patients with an age, a diagnosis that goes along with it, and a ward; ids tell the seed."""
    draw = random.Random(seed)
    rows = []
    for number in range(n_records):
        age = draw.choice(AGES)
        diagnosis = draw.choices(DIAGNOSES, [2, 6 if age == "old" else 1, 3])[0]
        rows.append((f"p{seed}{number:05d}", age, diagnosis, draw.choice("NS")))
    return write_table(path, ("patient", "age", "diagnosis", "ward"), rows)


def make_hospital(place: Path, name: str = "clinic", **how: Any) -> Study:
    """A study ``place/NAME`` of ``place/patients.csv``, which is made too unless it is there."""
    table = place / "patients.csv"
    if not table.exists():
        write_patients(table)
    settings: dict[str, Any] = {"id": "patient", "private": ["age", "diagnosis"], "memory": 8}
    return make_study(place / name, table, **(settings | how))
