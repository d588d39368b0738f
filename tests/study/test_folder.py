"""A study's folder names the file of its table, and notices when that file is changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study
from tacit.study.folder import Configuration, file_evidence
from tacit.tables.sources.source import SOURCES
from tests.study.clinic import make_clinic


def test_evidence_shows_that_a_file_changed(tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    table.write_text("patient\n1\n")
    before = file_evidence(table)
    assert file_evidence(table) == before
    os.utime(table, (1, 1))
    assert file_evidence(table) not in (None, before)
    table.unlink()
    assert file_evidence(table) is None
    assert file_evidence(None) is None


def test_a_release_needs_no_kind_of_source_while_the_table_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package that read the table may be gone."""
    with make_clinic(tmp_path) as study:
        study.set_party("lab", 0.4)
        for pattern in list(SOURCES):
            monkeypatch.delitem(SOURCES, pattern)
        study.release("lab", "smoker", bits=0.1, out=tmp_path / "1.csv")
        os.utime(tmp_path / "patients.csv", (1, 1))
        with pytest.raises(InvalidInputError, match="is no table that tacit reads"):
            study.release("lab", "age", bits=0.1, out=tmp_path / "2.csv")


@pytest.mark.parametrize("is_of_0_2", [False, True])
def test_a_release_is_never_written_over_the_table(tmp_path: Path, is_of_0_2: bool) -> None:
    with make_clinic(tmp_path) as study:
        study.set_party("lab", 0.4)
    if is_of_0_2:
        forget_file(tmp_path / "clinic")
    table = tmp_path / "patients.csv"
    assert Configuration.read(tmp_path / "clinic").table_file == table
    before = table.read_bytes()
    with (
        Study.open(tmp_path / "clinic") as study,
        pytest.raises(InvalidInputError, match="made of it"),
    ):
        study.release("lab", "smoker", out=table)
    assert table.read_bytes() == before


def forget_file(folder: Path) -> None:
    """Leave what 0.2 wrote, which did not name the table's file."""
    path = folder / "study.json"
    stored = json.loads(path.read_text())
    del stored["file"]
    path.write_text(json.dumps(stored | {"format": 2}))
