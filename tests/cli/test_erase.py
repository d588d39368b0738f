"""``tacit erase``: asks first, says what is left, finishes what was interrupted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.tables.delivery.local import LocalEngine
from tests.cli.clinic import done, tacit
from tests.study.clinic import entries_of, make_clinic


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with one release, and a list with an id of it and another."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        study.release("lab-a", "age", out=tmp_path / "age.csv")
    (tmp_path / "ids.csv").write_text("patient\np000007\n")
    (tmp_path / "wrong.csv").write_text("patient\np000007\nnobody\n")
    monkeypatch.chdir(tmp_path)
    return Path("clinic")


def test_nobody_is_erased_unasked(clinic: Path) -> None:
    entries = entries_of(clinic)
    answer = tacit("erase", clinic, "--ids", "ids.csv")
    assert answer.code != 0
    assert "add --yes" in answer.err
    assert done("erase", clinic, "--ids", "ids.csv", "--dry-run").out == (
        "1 record to erase; 199 would be left\n"
    )
    assert entries_of(clinic) == entries


def test_it_is_said_wherever_somebody_would_wonder(clinic: Path) -> None:
    shown = done("erase", clinic, "--ids", "ids.csv", "--yes").out
    assert shown.startswith("clinic: 1 record erased, 199 left\n")
    assert "release 3 were delivered before" in shown
    note = "1 record was erased: files that are written now have 199 rows"
    assert "200 records (1 erased)" in done("status", clinic).out
    for command in ("status", "verify", "audit"):
        assert note in done(command, clinic).out, command
    assert "200 records (1 erased)" in done("report", clinic).out
    done("report", clinic, "--html", "report.html")
    assert "of which 1 were erased" in Path("report.html").read_text()
    done("receipt", clinic, 3, "--html", "receipt.html")
    assert note in Path("receipt.html").read_text()
    log = done("log", clinic).out
    assert "records to be erased: 1" in log
    assert "p000007" not in log


def test_unknown_ids_are_refused_with_what_to_type(clinic: Path) -> None:
    answer = tacit("erase", clinic, "--ids", "wrong.csv", "--yes")
    assert "in row 2, counted from 1" in answer.err
    assert answer.err.endswith("or skip them with --skip-unknown\n")
    found = done("erase", clinic, "--ids", "wrong.csv", "--dry-run", "--json").json
    assert (found["records"], found["unknown_rows"]) == (1, [2])
    assert done("erase", clinic, "--ids", "wrong.csv", "--yes", "--skip-unknown").code == 0


def test_an_interrupted_erasure_is_finished_without_a_list(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "name the ids to erase with --ids" in tacit("erase", clinic).err
    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "erase", _fail)
        assert tacit("erase", clinic, "--ids", "ids.csv", "--yes").code != 0
    refused = tacit("release", clinic, "lab-a", "age", "--out", "age.csv")
    assert "was not finished: finish it first with tacit erase clinic\n" in refused.err
    assert "the erasure of 1 record was not finished" in done("status", clinic).out
    assert tacit("verify", clinic).code != 0
    assert done("erase", clinic).out.startswith("clinic: 1 record erased, 199 left\n")
    assert done("verify", clinic).code == 0


def _fail(*_: object) -> None:
    raise OSError("no room")


def test_a_restored_backup_says_that_it_erases_again(clinic: Path) -> None:
    done("backup", clinic, "monday.tar")
    done("erase", clinic, "--ids", "ids.csv", "--yes")
    shutil.rmtree(clinic / "snapshot")
    shown = done("restore", "monday.tar", clinic).out
    assert "note: 1 record was erased since the backup was made, and erased again\n" in shown
    assert done("verify", clinic).code == 0
