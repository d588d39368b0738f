"""Adult by commands: every level, analysable files, risk in words, plans."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tacit.cli.demo import write_people
from tacit.datasets import adult
from tests.cli.clinic import copied, done, tacit

LEVELS = ("below HS", "HS-grad", "some college or associate", "bachelor and above")


@pytest.fixture(scope="module")
def adults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of all adults with public ids, a party, and a recipient's own table."""
    folder = tmp_path_factory.mktemp("adults")
    write_people(folder)
    private = ["age:cut=30,45,60", f"education:map={folder / 'education.json'}", "income"]
    columns = [word for column in private for word in ("--private", column)]
    table = ["--table", folder / "people.csv", "--id", "person", "--public-id"]
    done("init", folder / "c", *table, *columns, "--everyone", 0.9, "--ledger", "folder")
    done("limit", folder / "c", "lab-a", "--bits", 0.3)
    with (folder / "people.csv").open() as people, (folder / "mine.csv").open("w") as mine:
        rows = csv.writer(mine)
        rows.writerow(("person", "rich"))
        rows.writerows((row["person"], row["income"]) for row in csv.DictReader(people))
    return folder


def errors_of_levels(said: str) -> dict[str, float]:
    """The table of a quote: level -> error."""
    rows = [line for line in said.splitlines() if line.startswith(LEVELS)]
    named = [(next(level for level in LEVELS if row.startswith(level)), row) for row in rows]
    return {level: float(row.removeprefix(level).split()[1]) for level, row in named}


def test_a_quote_warns_of_a_level_that_is_never_the_answer(adults: Path) -> None:
    said = done("quote", adults / "c", "lab-a", "education").out
    assert (
        "below HS would never be the answer; with --worst-level every level would be: "
        "error 0.436 at most and 0.436 on average, instead of 0.412"
    ) in " ".join(said.split())
    assert errors_of_levels(said)["below HS"] == 1
    assert "never the answer" in next(
        line for line in said.splitlines() if line.startswith("below HS")
    )


def test_the_worst_level_is_told_as_well_as_the_others(adults: Path) -> None:
    said = done("quote", adults / "c", "lab-a", "education", "--worst-level").out
    assert errors_of_levels(said) == dict.fromkeys(LEVELS, 0.4357)


def test_a_ceiling_holds_at_its_level(adults: Path) -> None:
    said = done("quote", adults / "c", "lab-a", "education", "--ceiling", "below HS=0.6").out
    assert errors_of_levels(said)["below HS"] <= 0.6


def test_both_forms_stand_side_by_side(adults: Path) -> None:
    """Accuracy, bits and half the width of the interval of a share among all records."""
    said = done("quote", adults / "c", "lab-a", "education", "--worst-level").out.splitlines()
    first = next(k for k, line in enumerate(said) if line.startswith("adaptive"))
    assert said[first - 1].split("  ")[0] == "release"
    for line, form in zip(said[first:], ("adaptive", "analysable"), strict=False):
        assert line.split()[:5] == [form, "0.4357", "0.3000", "0.3000", "+-0.0096"]


def test_shares_have_the_narrowest_interval(adults: Path) -> None:
    asked = ["education", "--analysable", "--utility", "shares"]
    said = done("quote", adults / "c", "lab-a", *asked).out
    assert "analysable        0.9020  0.3000        0.3000  +-0.0084" in said


def test_a_file_that_is_analysable_is_cross_tabulated(adults: Path, tmp_path: Path) -> None:
    study, file = copied(adults / "c", tmp_path / "c"), tmp_path / "education.parquet"
    asked = ["education", "--analysable", "--worst-level"]
    done("release", study, "lab-a", *asked, "--out", file)
    certificate = json.loads(Path(f"{file}.certificate.json").read_text())
    assert certificate["is_analysable"]
    assert len(certificate["p_rhat_given_r"]) == len(LEVELS)
    mine = ["--with", adults / "mine.csv", "--id", "person", "--by", "rich"]
    found = done("crosstab", file, *mine, "--json").json
    counts = adult().counts.sum(axis=2)  # [education, income]
    truth = dict(zip(adult().levels[1], counts[0] / counts.sum(axis=0), strict=True))
    below = {c["group"][0]: c for c in found["cells"] if c["levels"] == ["below HS"]}
    for group, share in truth.items():
        assert abs(below[group]["share"] - share) < 4 * below[group]["standard_error"]
    assert len(found["odds_ratios"]) == 3
    said = done("audit", study, "--records", 2000).out
    assert " ".join(said.split()).startswith(
        "Every coalition is within its limits; every attack went as predicted. The strongest "
        "inference: lab-a can guess education right for 56.44 of 100 records (32.32 before)."
    )


def test_a_plan_says_bits_for_right_answers(adults: Path) -> None:
    said = done("plan", adults / "c", "education", "--correct", 80).out
    assert "80 of 100 right: 0.8915 bits are enough, less than 0.8914 are not" in said


def test_what_is_not_analysable_is_refused(adults: Path, tmp_path: Path) -> None:
    study = copied(adults / "c", tmp_path / "c")
    done("limit", study, "lab-b", "--bits", 0.3)
    done("release", study, "lab-a", "education", "--out", tmp_path / "education.parquet")
    done("release", study, "lab-b", "age", "--out", tmp_path / "age.parquet")
    asked = ["crosstab", tmp_path / "age.parquet", "--with", adults / "mine.csv"]
    asked += ["--id", "person", "--by", "rich"]
    assert "is not analysable" in tacit(*asked).err
    assert "bounds" in done(*asked, "--insist").out
