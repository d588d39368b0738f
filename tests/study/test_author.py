"""Entries say who made them, where somebody was named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tacit.errors import CorruptLedgerError
from tacit.study import Study, verify_study
from tacit.study.books.records import LimitRecord, author_of
from tests.study.clinic import entries_of, make_clinic


def test_every_kind_of_entry_names_its_author(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()
    folder = tmp_path / "clinic"
    with Study.open(folder, by="anna") as study:
        study.set_limit("lab-a", 0.3)
    with Study.open(folder) as study:
        study.set_limit("lab-b", 0.3)
    with Study.open(folder, by="eve") as study:
        study.set_limit("everyone", 0.5)
        study.release("lab-a", "age", out=tmp_path / "a.csv", bits=0.1)
        logged = study.log()
        study.destroy_key()
    assert [(each.kind, each.by) for each in logged] == [
        ("created", None),
        ("limit", "anna"),
        ("limit", None),
        ("limit", "eve"),
        ("intent", "eve"),
        ("delivered", "eve"),
    ]
    assert logged[1].in_words == "lab-a may learn 0.3 bits about a record"
    assert author_of(entries_of(folder)[-1]) == "eve"
    assert verify_study(folder).is_whole


def test_nobody_named_leaves_entries_as_they_were(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
    assert entries_of(tmp_path / "clinic")[-1].body == {
        "whom": "lab-a",
        "bits": 0.3,
        "times": None,
        "title": "lab-a",
    }


@pytest.mark.parametrize("author", [7, ["anna"], {"name": "anna"}, True])
def test_an_author_that_is_no_text_is_refused(tmp_path: Path, author: object) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
    entry = entries_of(tmp_path / "clinic")[-1]
    forged = replace(entry, body={**entry.body, "by": author})
    with pytest.raises(CorruptLedgerError, match="which is no name"):
        LimitRecord.of(forged)
