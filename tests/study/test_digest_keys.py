"""Closing a study closes its connections; only ``destroy_key`` ends it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study, verify_study
from tests.study.clinic import entries_of, files_in, make_clinic
from tests.words import in_words


def test_closing_a_study_keeps_its_key_and_its_ledger(tmp_path: Path) -> None:
    with closing(make_clinic(tmp_path)) as study:
        study.set_limit("lab", 0.3)
    before = files_in(tmp_path / "clinic")
    with closing(Study.open(tmp_path / "clinic")):
        pass
    assert files_in(tmp_path / "clinic") == before
    with closing(Study.open(tmp_path / "clinic")) as study:
        assert not study.status().is_closed
        assert study.release("lab", "diagnosis", out=tmp_path / "lab.csv").digest is not None


def test_a_study_may_be_closed_twice(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.close()
    study.close()


def test_destroying_the_key_ends_the_study(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.3)
        study.destroy_key()
        assert study.status().is_closed
        with pytest.raises(InvalidInputError, match="key was destroyed"):
            study.release("lab", "diagnosis", out=tmp_path / "lab.csv")
    assert not (tmp_path / "clinic" / "key").exists()
    assert entries_of(tmp_path / "clinic")[-1].kind == "closed"


def test_a_second_copy_of_the_folder_can_be_closed_and_still_verified(tmp_path: Path) -> None:
    """Two custodians with a folder each and one ledger: the first has closed the study."""
    with make_clinic(tmp_path, f"sqlite:///{tmp_path / 'shared.sqlite'}") as study:
        shutil.copytree(tmp_path / "clinic", tmp_path / "copy")
        study.set_limit("lab", 0.3)
        study.release("lab", "diagnosis", out=tmp_path / "lab.csv")
        study.destroy_key()
    with Study.open(tmp_path / "copy") as study:
        study.destroy_key()
    assert not (tmp_path / "copy" / "key").exists()
    found = verify_study(tmp_path / "copy")
    assert found.problems == ()
    assert not [note for note in in_words(found.notes) if "without a key" in note]
