"""The command ``tacit demo``: every other command once, on real data."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.display import show_json
from tacit.cli.failure import REFUSED
from tacit.cli.options import AsJson
from tacit.errors import InvalidInputError, TacitError
from tacit.words.commands import command_line

_SEED = 1996

_NEWCOMERS, _LEAVERS = 2_000, 3
"""People who come after the study began, and of those before them people who leave it."""

_TOO_MUCH = "more.csv"
"""The file of the one request that is refused."""


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to work; made if it is not there.")
    ] = Path("tacit-demo"),
    as_json: AsJson = False,
) -> None:
    """All of this on real data, in one go.

    A custodian's week on the census data Adult: study, quotes, releases, audit, verification.
    """
    if (out / "clinic").exists():
        raise InvalidInputError(
            f"{out / 'clinic'} is there already and a study is made once: remove {out}, or use "
            "--out for another folder"
        )
    out.mkdir(parents=True, exist_ok=True)
    write_people(out)
    _write_changes(out)
    steps = [_step(words, as_json) for words in _commands(out)]
    if as_json:
        show_json({"folder": str(out), "steps": steps})
    else:
        print(f"\nTo see it as pages: {command_line('tacit', 'serve', out / 'clinic')}")


def _commands(out: Path) -> Iterator[list[str]]:
    clinic = str(out / "clinic")
    table, groups = str(out / "first.csv"), f"education:map={out / 'education.json'}"
    private = ["--private", "age:cut=30,45,60", "--private", groups, "--private", "income"]
    limits = ["--everyone", "0.9", "--ledger", "folder"]
    held = [
        "--held",
        f"registry={out / 'sent-2019.csv'}",
        "--held",
        f"lab-a={out / 'sent-2021.csv'}",
    ]
    about = ["--id", "person", "--secret", "income", "--known", "age", "--known", "education"]
    yield ["measure", table, *about, *held, "--same", "registry:decade=age", "--no-learner"]
    yield ["init", clinic, "--table", table, "--id", "person", *private, *limits]
    yield ["plan", clinic, "education", "--correct", "60"]
    yield ["limit", clinic, "lab-a", "--bits", "0.3", "--title", "Lab A"]
    yield ["limit", clinic, "lab-b", "--bits", "0.3", "--title", "Lab B"]
    yield ["limit", clinic, "registry", "--bits", "0.4"]
    yield ["limit", clinic, "any 2", "--bits", "0.5"]
    yield ["limit", clinic, "lab-a+lab-b", "--bits", "0.45"]
    yield ["quote", clinic, "lab-a", "education"]
    yield ["what-if", clinic, "lab-a", "education", "--limit", "0.2"]
    yield ["release", clinic, "lab-a", "education", "--out", str(out / "lab-a.parquet")]
    senior = "age > 60 and education = 'bachelor and above'"
    named = ["--accept", "disclosure"]
    yield ["release", clinic, "lab-b", "--sql", senior, "--out", str(out / "lab-b.csv"), *named]
    more = ["income", "--bits", "0.25"]
    yield ["release", clinic, "lab-b", *more, "--out", str(out / _TOO_MUCH)]
    ages = ["age", "--utility", "absolute", "--bits", "0.25"]
    yield ["release", clinic, "registry", *ages, "--out", str(out / "registry.parquet")]
    yield ["release", clinic, "lab-a", "education", "--out", str(out / "lab-a-again.csv")]
    yield ["status", clinic]
    yield ["limit", clinic]
    yield ["log", clinic]
    yield ["audit", clinic]
    yield ["receipt", clinic, "7", "--html", str(out / "receipt.html")]
    yield ["report", clinic, "--html", str(out / "report.html")]
    yield ["estimate", str(out / "lab-a.parquet")]
    yield ["crosstab", str(out / "lab-a.parquet")]
    yield ["link", clinic, "lab-a", table, "--out", str(out / "links.csv")]
    yield ["extend", clinic, "--table", str(out / "newcomers.csv")]
    yield ["release", clinic, "lab-a", "education", "--out", str(out / "lab-a.parquet")]
    yield ["erase", clinic, "--ids", str(out / "leavers.csv"), "--yes"]
    yield ["party", "token", clinic, "lab-a", "--expires", "12h"]
    yield ["custodian", "token", clinic, "anna", "--expires", "1h"]
    yield ["backup", clinic, str(out / "friday.tar")]
    yield ["restore", str(out / "friday.tar"), clinic]
    yield ["close", clinic, "--yes"]
    yield ["verify", clinic, "--receipt", str(out / "receipt.html")]


def _step(words: list[str], as_json: bool) -> dict[str, object]:
    """Run one command as if it had been typed; one of them is meant to be refused."""
    from tacit.cli.app import run  # the table of commands has this one

    command = command_line("tacit", *words)
    printed = io.StringIO()
    if as_json:
        with redirect_stdout(printed):
            code = run([*words, "--json"], errors=printed)
    else:
        print(f"\n$ {command}", flush=True)
        code = run(words, errors=sys.stdout)
    expected = REFUSED if words[-1].endswith(_TOO_MUCH) else 0
    if code != expected:
        raise TacitError(f"{command} ended with exit code {code}, not {expected}")
    return {"command": command, "exit_code": code, "result": json.loads(printed.getvalue() or "{}")}


def write_people(out: Path) -> None:
    """The people behind Adult's counts, in random order, as a table and its grouping."""
    import numpy as np

    from tacit.datasets import adult
    from tacit.datasets.adult import EDUCATION_GROUPS

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


def _write_changes(out: Path) -> None:
    """People that the study begins with, who come later, who leave; and files sent long ago."""
    header, *people = (out / "people.csv").read_text().splitlines(keepends=True)
    first, newcomers = people[:-_NEWCOMERS], people[-_NEWCOMERS:]
    (out / "first.csv").write_text("".join([header, *first]))
    (out / "newcomers.csv").write_text("".join([header, *newcomers]))
    rows = list(csv.DictReader([header, *first]))
    with (
        (out / "sent-2019.csv").open("w", newline="") as early,
        (out / "sent-2021.csv").open("w", newline="") as late,
    ):
        csv.writer(early).writerow(("person", "decade", "income"))
        csv.writer(early).writerows(
            (row["person"], row["age"][:1], row["income"]) for row in rows[::3]
        )
        csv.writer(late).writerow(("person", "age", "education"))
        csv.writer(late).writerows((row["person"], row["age"], row["education"]) for row in rows)
    (out / "leavers.csv").write_text("".join([header, *first[:_LEAVERS]]))
