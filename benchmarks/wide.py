"""A wide table through the command line: 7 attributes, 34,560 combinations, 4 and then 12 parties.

Every command runs in a process of its own, which says what it took (``python -m benchmarks.wide
FILE COMMAND ...``). Each party asks for one or two attributes; any two parties together may learn
less than both ask for, so that these limits bind.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.memory import ROOT, peak_gigabytes
from benchmarks.tables import print_table, seconds_text
from tacit.cli import app

LEVELS = {"age": 6, "work": 6, "school": 6, "region": 5, "marriage": 4, "home": 4, "sex": 2}
RECORDS = 12_000
REQUESTS = (
    ("tax", "work"),
    ("schools", "school"),
    ("planning", "region"),
    ("registry", "marriage"),
    ("pensions", "age"),
    ("housing", "home"),
    ("equality", "sex"),
    ("labour", "work,school"),
    ("elections", "age,sex"),
    ("transport", "region,work"),
    ("health", "age,home"),
    ("university", "school"),
)
FEW = 4
"""Parties after which it is measured for the first time."""

BITS, ANY_TWO, EVERYONE = 0.3, 0.5, 5.0
TARGETS = "status under 2 s and 500 MB, a quote under 10 s"


@dataclass(frozen=True, slots=True)
class WideResult:
    """What one command took.

    Attributes:
        command: its name.
        parties: that hold something afterwards.
        asked: what was asked for.
        seconds: on the clock.
        cpu_seconds: of its process.
        peak_gb: of its process.
        is_done: whether it succeeded.
    """

    command: str
    parties: int
    asked: str
    seconds: float
    cpu_seconds: float
    peak_gb: float
    is_done: bool


def run(*, quick: bool) -> list[WideResult]:
    """Make a study, let every party ask, and print what each command took."""
    requests = REQUESTS[:FEW] if quick else REQUESTS
    with TemporaryDirectory() as place:
        results = run_study(Path(place), requests)
    rows = [_cells(result) for result in results]
    print_table(f"A wide table ({TARGETS})", HEADER, rows)
    return results


def run_study(place: Path, requests: tuple[tuple[str, str], ...]) -> list[WideResult]:
    """All commands of an office, in order; those that set it up are not measured."""
    table, study = place / "people.csv", str(place / "study")
    write_people(table)
    private = [word for name in LEVELS for word in ("--private", name)]
    options = ["--everyone", str(EVERYONE), "--ledger", "folder", "--min-cell", "0"]
    measure(["init", study, "--table", str(table), "--id", "person", *private, *options], 0)
    for party, _ in requests:
        measure(["limit", study, party, "--bits", "0.4"], 0)
    measure(["limit", study, "any 2", "--bits", ANY_TWO], 0)
    results = []
    for number, (party, asked) in enumerate(requests, start=1):
        words = [study, party, asked, "--bits", str(BITS)]
        results.append(measure(["quote", *words], number - 1, asked))
        out = str(place / f"{party}.csv")
        told = ["--out", out, "--accept", "disclosure"]
        results.append(measure(["release", *words, *told], number, asked))
        if number in (FEW, len(requests)):
            results += [measure([command, study], number) for command in ("status", "verify")]
    return results


def write_people(table: Path) -> None:
    """People of eight kinds; each kind prefers some levels of every attribute."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 8, size=RECORDS)
    columns = []
    for n_levels in LEVELS.values():
        laws = rng.dirichlet(np.full(n_levels, 0.5), size=8)
        columns.append((rng.random(RECORDS)[:, None] > laws[kinds].cumsum(axis=1)).sum(axis=1))
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", *LEVELS])
        levels = np.minimum(np.stack(columns, axis=1), np.array([*LEVELS.values()]) - 1)
        writer.writerows([number, *row] for number, row in enumerate(levels.tolist()))


def measure(words: list[str], parties: int, asked: str = "") -> WideResult:
    """What a command of tacit takes, in a process of its own."""
    with TemporaryDirectory() as place:
        told = Path(place) / "told.json"
        command = [sys.executable, "-m", "benchmarks.wide", str(told), *words]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        taken = json.loads(told.read_text())
    return WideResult(words[0], parties, asked, seconds, *taken, done.returncode == 0)


def main(told: Path, words: list[str]) -> int:
    """Run a command of tacit, and write its CPU seconds and its peak into a file."""
    code = app.run(words)
    told.write_text(json.dumps([time.process_time(), peak_gigabytes()]))
    return code


HEADER = ("command", "parties", "asked", "clock", "CPU", "peak", "")


def _cells(result: WideResult) -> list[str]:
    return [
        result.command,
        str(result.parties),
        result.asked,
        seconds_text(result.seconds),
        seconds_text(result.cpu_seconds),
        f"{result.peak_gb:.2f} GB",
        "" if result.is_done else "FAILED",
    ]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
