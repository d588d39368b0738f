"""A clinic's table, commands run as they are typed, and what is left on disk after them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import shutil
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.cli import run

HEADER = ("patient_id", "age", "diagnosis", "income")
PRIVATE = ["--private", "age:cut=30,45,60", "--private", "diagnosis", "--private", "income"]
OWN_LEDGER = ["--everyone", 0.9, "--ledger", "folder"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def tacit(*arguments: object) -> Answer:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return Answer(code, out.getvalue(), err.getvalue())


def done(*arguments: object) -> Answer:
    """Run a command that has to work."""
    answer = tacit(*arguments)
    assert answer.code == 0, answer.err
    return answer


def refused(code: int, *arguments: object) -> str:
    """Run a command that has to be refused: one line on stderr, and the same as JSON on stdout."""
    answer = tacit(*arguments, "--json")
    assert answer.code == code, answer
    assert answer.err.startswith("tacit: ")
    assert len(answer.err.splitlines()) == 1, answer.err
    message = answer.err.removeprefix("tacit: ").removesuffix("\n")
    assert answer.json["error"]["message"] == message
    assert answer.json["error"]["exit_code"] == code
    return message


def unchanged(code: int, *arguments: object) -> str:
    """What a refused command says; no file appears or changes, the ledger's included."""
    before = found_in(Path())
    message = refused(code, *arguments)
    assert found_in(Path()) == before
    return message


def write_rows(path: Path, rows: Iterable[Iterable[object]], header: Iterable[str] = HEADER) -> str:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return str(path)


def write_patients(path: Path, n: int = 600) -> str:
    """A table like a clinic's: the old have dementia more often."""
    draw = random.Random(1)
    rows = []
    for number in range(n):
        age = draw.randint(18, 90)
        odds = [5, 3, 4 if age > 60 else 0.2, 2]
        diagnosis = draw.choices(["none", "flu", "dementia", "diabetes"], odds)[0]
        income = draw.choices(["low", "middle", "high"], [3, 4, 2])[0]
        rows.append((f"P{number:05d}", age, diagnosis, income))
    return write_rows(path, rows)


def copied(study: Path, folder: Path) -> Path:
    """A study that a test may spoil."""
    shutil.copytree(study, folder)
    return folder


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def found_in(folder: Path) -> dict[str, str]:
    """Every file below a folder, with a digest of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }
