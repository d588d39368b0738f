"""A ledger that was restored, or lost entries otherwise: nothing is drawn twice unnoticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError, RolledBackError
from tacit.remark import Remark
from tacit.study import Study, verify_study
from tests.study.clinic import copy_clinic, entries_of, intents_of, make_clinic
from tests.words import in_words


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("kept")
    with make_clinic(place) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.6)
    return place


@pytest.fixture
def clinic(tmp_path: Path, kept: Path) -> Path:
    """A study with one release, and ``before.sqlite``, its ledger before a second one."""
    with Study.open(copy_clinic(kept, tmp_path)) as study:
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
        shutil.copy(tmp_path / "clinic" / "ledger.sqlite", tmp_path / "before.sqlite")
        study.release("lab-b", "diagnosis", out=tmp_path / "2.csv", bits=0.2)
    return tmp_path / "clinic"


def roll_back(clinic: Path) -> None:
    shutil.copy(clinic.parent / "before.sqlite", clinic / "ledger.sqlite")


def test_a_restored_ledger_is_noticed_before_anything_is_spent(clinic: Path) -> None:
    roll_back(clinic)
    place, before = clinic.parent, entries_of(clinic)
    with Study.open(clinic) as study:
        with pytest.raises(RolledBackError, match=r"high-water\.json shows entry 7.*be accepted"):
            study.release("lab-b", "diagnosis", out=place / "3.csv", bits=0.2)
        with pytest.raises(RolledBackError):
            study.set_limit("lab-a", 0.7)
        with pytest.raises(RolledBackError, match="newest backup"):
            study.quote("lab-b", "diagnosis", bits=0.2)
        assert (
            Remark("entry_lost", {"file": "high-water.json", "entry": 7}) in study.status().remarks
        )
        assert any("lost entries" in problem for problem in in_words(study.verify().problems))
    assert entries_of(clinic) == before
    assert not (place / "3.csv").exists()


def test_states_that_the_ledger_does_not_know_are_evidence(clinic: Path) -> None:
    """Somebody has removed the mark as well."""
    roll_back(clinic)
    (clinic / "high-water.json").unlink()
    with (
        Study.open(clinic) as study,
        pytest.raises(RolledBackError, match=r"the state 6-\w+ is of"),
    ):
        study.release("lab-b", "smoker", out=clinic.parent / "3.csv", bits=0.2)


def test_a_release_file_that_the_ledger_does_not_know_is_evidence(clinic: Path) -> None:
    """Nothing is left in the folder, but the file to be written is there already."""
    roll_back(clinic)
    (clinic / "high-water.json").unlink()
    shutil.rmtree(clinic / "states")
    with (
        Study.open(clinic) as study,
        pytest.raises(RolledBackError, match=r"2\.csv\.c.*entry 6"),
    ):
        study.release("lab-b", "smoker", out=clinic.parent / "2.csv", bits=0.2)


@pytest.mark.parametrize("entry", ["1e999", "-5", "true", "1.5", "9" * 30])
def test_a_certificate_that_names_no_entry_is_any_other_file(clinic: Path, entry: str) -> None:
    study_id = json.loads((clinic / "study.json").read_text())["study"]
    paper = clinic.parent / "3.csv.certificate.json"
    paper.write_text(f'{{"study": "{study_id}", "entry": {entry}, "hash": "x"}}')
    with Study.open(clinic) as study:
        study.release("lab-a", "smoker", out=clinic.parent / "3.csv", bits=0.1)


def test_a_certificate_nested_without_end_is_any_other_file(clinic: Path) -> None:
    (clinic.parent / "3.csv.certificate.json").write_text("[" * 200_000)
    with Study.open(clinic) as study:
        study.release("lab-a", "smoker", out=clinic.parent / "3.csv", bits=0.1)


@pytest.mark.parametrize("content", ["", "[]", '{"number": 1e999, "hash": "x"}', "[" * 200_000])
def test_a_damaged_mark_is_refused_and_verify_says_so(clinic: Path, content: str) -> None:
    """The refusal says to run verify, so that has to work."""
    (clinic / "high-water.json").write_text(content)
    with (
        Study.open(clinic) as study,
        pytest.raises(InvalidInputError, match=r"high-water\.json is damaged.*newest receipt"),
    ):
        study.set_limit("lab-a", 0.7)
    found = verify_study(clinic)
    assert found.entries == 7
    assert [
        problem for problem in in_words(found.problems) if "high-water.json is damaged" in problem
    ]


def test_an_accepted_rollback_is_recorded_and_the_same_request_is_the_same_draw(
    clinic: Path,
) -> None:
    roll_back(clinic)
    place = clinic.parent
    with Study.open(clinic, accept_rollback=True) as study:
        study.release("lab-b", "diagnosis", out=place / "3.csv", bits=0.2)
    assert (place / "3.csv").read_bytes() == (place / "2.csv").read_bytes()
    kinds = [entry.kind for entry in entries_of(clinic)]
    assert kinds[-3:] == ["rollback", "intent", "delivered"]
    with Study.open(clinic) as study:  # it was accepted once and for all
        study.release("lab-a", "smoker", out=place / "4.csv", bits=0.1)
        found = study.verify()
        remarks = study.status().remarks
    assert found.problems == ()
    assert any("rollback" in note for note in in_words(found.notes))
    assert Remark("rollback_accepted") in remarks
    (clinic / "key").unlink()
    assert any("rollback" in note for note in in_words(verify_study(clinic).notes))


def test_states_of_a_lost_release_are_never_removed(clinic: Path) -> None:
    """It was not the same request that went on after an accepted rollback."""
    lost = {path.name for path in (clinic / "states").glob("6-*")}
    roll_back(clinic)
    with Study.open(clinic, accept_rollback=True) as study:
        for number, question in enumerate(("smoker", "age", ("diagnosis", "smoker"))):
            study.release("lab-b", question, out=clinic.parent / f"after-{number}.csv", bits=0.1)
    assert lost
    assert lost <= {path.name for path in (clinic / "states").iterdir()}


def test_twelve_restores_give_twelve_times_the_same_file(clinic: Path) -> None:
    """The whole folder is put back each time, mark and states included."""
    place, backup = clinic.parent, clinic.parent / "backup"
    shutil.copytree(clinic, backup)
    files = set()
    for number in range(12):
        shutil.rmtree(clinic)
        shutil.copytree(backup, clinic)
        with Study.open(clinic) as study:
            study.release("lab-a", ("diagnosis", "smoker"), out=place / f"r{number}.csv", bits=0.3)
        files.add((place / f"r{number}.csv").read_bytes())
    assert len(files) == 1


def test_another_table_after_the_same_past_is_drawn_with_other_numbers(clinic: Path) -> None:
    place, backup = clinic.parent, clinic.parent / "backup"
    shutil.copytree(clinic, backup)
    draws = set()
    for bits in (0.1, 0.2, 0.3):
        shutil.rmtree(clinic)
        shutil.copytree(backup, clinic)
        with Study.open(clinic) as study:
            study.release("lab-a", "smoker", out=place / "r.csv", bits=bits)
        draws.add(intents_of(clinic)[-1].body["draw"])
        for left in place.glob("r.csv*"):
            left.unlink()
    assert len(draws) == 3


def test_the_mark_is_never_behind_what_was_drawn(clinic: Path) -> None:
    [*_, intent] = intents_of(clinic)
    mark = json.loads((clinic / "high-water.json").read_text())
    assert mark["number"] >= intent.number


def test_a_plain_copy_of_the_ledger_file_has_every_entry(clinic: Path, tmp_path: Path) -> None:
    """While a connection is open, too: nothing lies in a file beside it."""
    with Study.open(clinic) as study:
        study.release("lab-a", "smoker", out=tmp_path / "3.csv", bits=0.1)
        shutil.copy(clinic / "ledger.sqlite", tmp_path / "copy.sqlite")
        shutil.copytree(clinic, tmp_path / "other")
    shutil.copy(tmp_path / "copy.sqlite", tmp_path / "other" / "ledger.sqlite")
    assert entries_of(tmp_path / "other") == entries_of(clinic)
