"""A study's folder names the file of its table, and is made of it no more than once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study
from tacit.study.folder import Configuration
from tacit.tables.sources.source import SOURCES
from tests.study.clinic import make_clinic


def test_a_release_never_reads_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the table as it was when the study was made."""
    table = tmp_path / "patients.csv"
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.4)
        table.write_text(table.read_text().replace("asthma", "dementia", 3))
        for pattern in list(SOURCES):  # the package that read the table may be gone
            monkeypatch.delitem(SOURCES, pattern)
        study.release("lab", "smoker", bits=0.1, out=tmp_path / "1.csv")
        table.unlink()
        study.release("lab", "age", bits=0.1, out=tmp_path / "2.csv")
        assert study.verify().problems == ()


def test_a_release_is_never_written_over_the_table(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.4)
    table = tmp_path / "patients.csv"
    assert Configuration.read(tmp_path / "clinic").file == table
    before = table.read_bytes()
    with (
        Study.open(tmp_path / "clinic") as study,
        pytest.raises(InvalidInputError, match="made of it"),
    ):
        study.release("lab", "smoker", out=table)
    assert table.read_bytes() == before
