"""What ``tacit demo`` does: the commands of a custodian's first week, one after the other."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from tacit.cli.app import app, exit_code
from tacit.cli.showing import show_json
from tacit.datasets import adult
from tacit.datasets.adult import EDUCATION_GROUPS
from tacit.errors import InvalidInputError, NotWithinLimitsError

_SEED = 1996


def tell(out: Path, *, as_json: bool) -> None:
    """Make a table of people and a study of it in ``out``, and run every command on it."""
    if (out / "clinic").exists():
        raise InvalidInputError(
            f"{out / 'clinic'} is there already: a study is made once; remove it, or use --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    write_people(out)
    told = [_run(words, as_json) for words in _commands(out)]
    if as_json:
        show_json(told)


def _commands(out: Path) -> Iterator[list[str]]:
    clinic = str(out / "clinic")
    table, groups = str(out / "people.csv"), f"education:map={out / 'education.json'}"
    private = ["--private", "age:cut=30,45,60", "--private", groups, "--private", "income"]
    yield ["init", clinic, "--table", table, "--id", "person", *private, "--everyone", "0.9"]
    yield ["party", "add", clinic, "lab-a", "--limit", "0.3"]
    yield ["party", "add", clinic, "lab-b", "--limit", "0.3"]
    yield ["party", "add", clinic, "registry", "--limit", "0.4"]
    yield ["collusion", "set", clinic, "--any", "2=0.5", "--group", "lab-a,lab-b=0.45"]
    yield ["quote", clinic, "lab-a", "education"]
    yield ["release", clinic, "lab-a", "education", "--out", str(out / "lab-a.parquet")]
    senior = "age > 60 and education = 'bachelor and above'"
    yield ["release", clinic, "lab-b", "--sql", senior, "--out", str(out / "lab-b.csv")]
    yield ["release", clinic, "lab-a", "income", "--out", str(out / "more.csv")]  # refused
    ages = ["age", "--utility", "absolute", "--bits", "0.25"]
    yield ["release", clinic, "registry", *ages, "--out", str(out / "registry.parquet")]
    yield ["release", clinic, "lab-a", "education", "--out", str(out / "lab-a-again.csv")]
    yield ["status", clinic]
    yield ["audit", clinic]
    yield ["receipt", clinic, "7", "--html", str(out / "receipt.html")]
    yield ["estimate", str(out / "lab-a.parquet")]
    yield ["close", clinic, "--yes"]
    yield ["verify", clinic, "--receipt", str(out / "receipt.html")]


def _run(words: list[str], as_json: bool) -> dict[str, object]:
    """Run one command as if it had been typed; a refusal is part of the story."""
    command = shlex.join(["tacit", *words])
    if as_json:
        printed = io.StringIO()
        with redirect_stdout(printed):
            _answer([*words, "--json"])
        return {"command": command, "result": json.loads(printed.getvalue())}
    print(f"\n$ {command}", flush=True)
    _answer(words)
    return {}


def _answer(words: list[str]) -> None:
    try:
        app(words, standalone_mode=False)
    except NotWithinLimitsError as error:
        code = exit_code(error)
        told = {"error": str(error), "exit_code": code}
        print(json.dumps(told) if "--json" in words else f"tacit: {error} (exit code {code})")


def write_people(out: Path) -> None:
    """The people behind Adult's counts, in random order, as a table and its grouping."""
    data = adult(education=None, age_cuts=None)
    cells = np.repeat(np.arange(data.counts.size), data.counts.reshape(-1))
    np.random.default_rng(_SEED).shuffle(cells)
    education, income, age = np.unravel_index(cells, data.counts.shape)
    levels, incomes, ages = data.levels
    with (out / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("person", "education", "income", "age"))
        rows.writerows(
            (number, levels[e], incomes[i], ages[a])
            for number, (e, i, a) in enumerate(zip(education, income, age, strict=True), 1)
        )
    groups = {level: name for name, members in EDUCATION_GROUPS.items() for level in members}
    (out / "education.json").write_text(json.dumps(groups, indent=2) + "\n")
