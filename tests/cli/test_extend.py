"""``tacit extend``: what is said of a cohort whose public counts tell much."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import OWN_LEDGER, PRIVATE, done, tacit, write_patients, write_rows


@pytest.fixture(autouse=True)
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_patients(Path("patients.csv"))
    done("init", "clinic", "--table", table, "--id", "patient_id", *PRIVATE, *OWN_LEDGER)


def write_cohort(ages: list[int]) -> str:
    rows = [(f"new-{k}", age, "flu", "low") for k, age in enumerate(ages)]
    return write_rows(Path("new.csv"), rows)


def test_few_records_of_a_combination_are_listed_as_for_a_new_study() -> None:
    table = write_cohort([20] * 60 + [70] * 3)
    said = done("extend", "clinic", "--table", table).out.splitlines()
    start = said.index("1 combination has fewer than 10 records:")
    assert said[start + 2].split() == [">60", "flu", "low", "3"]
    again = done("extend", "clinic", "--table", table).out
    assert "combination" not in again  # nothing was changed
    [cell] = done("extend", "clinic", "--table", table, "--json").json["small_cells"]
    assert (cell["cohort"], cell["records"]) == (2, 3)
    cells = done("extend", "clinic", "--table", table, "--min-cell", 0, "--json").json
    assert cells["small_cells"] == []


@pytest.mark.parametrize(
    ("n_records", "words"),
    [
        (1, "there is 1 record: its public counts tell everything about it"),
        (60, "all 60 records have the same combination of levels: the public counts tell"),
    ],
)
def test_records_that_are_all_alike_are_told_by_their_counts(n_records: int, words: str) -> None:
    said = done("extend", "clinic", "--table", write_cohort([20] * n_records), "--min-cohort", 1)
    assert words in said.out
    assert "are few" not in said.out  # nobody else's rows add anything
    done("limit", "clinic", "lab", "--bits", 0.5)
    released = done("release", "clinic", "lab", "age", "--bits", 0.1, "--out", "a.csv").out
    counted = "1 record" if n_records == 1 else f"{n_records} records"
    assert f"age for lab, {counted} of cohort 2\n" in released


def test_who_was_erased_is_refused_and_let_in_by_name(tmp_path: Path) -> None:
    rows = [line.split(",") for line in Path("patients.csv").read_text().splitlines()[1:]]
    write_rows(Path("leavers.csv"), rows[:3])
    done("erase", "clinic", "--ids", "leavers.csv", "--yes")
    table = write_rows(
        Path("new.csv"), [*rows, *((f"new-{k}", 70, "flu", "low") for k in range(60))]
    )
    accepted = ("--skip-known", "--accept-corrections")
    said = done("extend", "clinic", "--table", table, *accepted).out
    assert "3 records were left out: erased from the study before" in said
    table = write_rows(Path("one.csv"), rows[:1])
    refused = tacit("extend", "clinic", "--table", table, "--min-cohort", 1)
    assert refused.code == 4
    assert "1 of 1 records were erased from the study (row 1)" in refused.err
    assert refused.err.endswith("that is --skip-known, or --readmit ID\n")
    readmit = ("--min-cohort", 1, "--readmit", rows[0][0].lower())
    said = done("extend", "clinic", "--table", table, *readmit).out
    assert "1 record joined again: earlier answers about them stand" in said
