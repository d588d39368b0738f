"""Backups: whole, consistent, and put back without taking anything away."""

from __future__ import annotations

import shutil
import stat
import tarfile
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError, LedgerError, RolledBackError
from tacit.ledger import Ledger
from tacit.study import Study, verify_study
from tacit.study.backup import back_up, restore
from tests.study.clinic import entries_of, make_clinic, read_patients, write_rows


@pytest.fixture
def clinic(tmp_path: Path, ledger: str) -> Path:
    """A study with one release, and ``monday.tar``, its backup before a second one."""
    with make_clinic(tmp_path, ledger) as study:
        study.set_limit("lab-a", 0.6)
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
        study.release("lab-a", "diagnosis", out=tmp_path / "2.csv", bits=0.2)
    return tmp_path / "clinic"


def test_a_lost_folder_comes_back_and_delivers_the_same(clinic: Path, tmp_path: Path) -> None:
    entries = entries_of(clinic)
    back_up(clinic, tmp_path / "tuesday.tar")
    shutil.rmtree(clinic)
    restored = restore(tmp_path / "tuesday.tar", clinic)
    assert "key" in restored.files
    with Study.open(clinic) as study:
        assert restored.ledger == study.ledger_shown
    assert entries_of(clinic) == entries
    with Study.open(clinic) as study:
        study.release("lab-a", "diagnosis", out=tmp_path / "again.csv", bits=0.2)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert verify_study(clinic).problems == ()
    assert stat.S_IMODE((clinic / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE(clinic.stat().st_mode) == 0o700


def test_an_older_backup_takes_nothing_away(clinic: Path, tmp_path: Path) -> None:
    entries = entries_of(clinic)
    restored = restore(tmp_path / "monday.tar", clinic)
    assert (restored.entries, restored.files) == (0, ())
    assert entries_of(clinic) == entries


def test_entries_that_a_ledger_lost_come_back(tmp_path: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    with make_clinic(tmp_path, shared) as study:
        study.set_limit("lab-a", 0.6)
        shutil.copy(tmp_path / "shared.sqlite", tmp_path / "old.sqlite")
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
    clinic, entries = tmp_path / "clinic", entries_of(tmp_path / "clinic")
    back_up(clinic, tmp_path / "monday.tar")
    shutil.copy(tmp_path / "old.sqlite", tmp_path / "shared.sqlite")
    with Study.open(clinic) as study, pytest.raises(RolledBackError, match="newest backup"):
        study.set_limit("lab-a", 0.7)
    assert restore(tmp_path / "monday.tar", clinic).entries == 2
    assert entries_of(clinic) == entries
    with Study.open(clinic) as study:
        study.set_limit("lab-a", 0.7)


def test_an_older_backup_of_a_ledger_that_lost_more_says_so(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.6)
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
        shutil.copy(tmp_path / "clinic" / "ledger.sqlite", tmp_path / "old.sqlite")
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
    clinic = tmp_path / "clinic"
    shutil.copy(tmp_path / "old.sqlite", clinic / "ledger.sqlite")
    restored = restore(tmp_path / "monday.tar", clinic)
    lost = {(remark.code, remark.values.get("file")) for remark in restored.remarks}
    assert ("entry_still_lost", "high-water.json") in lost


def test_a_lost_ledger_comes_back_for_all_of_its_studies(tmp_path: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with make_clinic(tmp_path / name, shared, accept_reset=True) as study:
            study.set_limit("lab-a", 0.6)
        back_up(tmp_path / name / "clinic", tmp_path / f"{name}.tar")
    (tmp_path / "shared.sqlite").unlink()
    for name in ("one", "two"):
        restore(tmp_path / f"{name}.tar", tmp_path / name / "clinic")
        assert verify_study(tmp_path / name / "clinic").problems == ()
    with Ledger.open(shared) as ledger:
        assert len(ledger.studies()) == 2


def test_a_ledger_that_went_on_differently_is_refused(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.6)
    clinic, fork = tmp_path / "clinic", tmp_path / "fork"
    shutil.copytree(clinic, fork)
    for folder, limit in ((clinic, 0.7), (fork, 0.8)):
        with Study.open(folder) as study:
            study.set_limit("lab-a", limit)
    back_up(fork, tmp_path / "fork.tar")
    with pytest.raises(LedgerError, match="each has an entry that the other lacks"):
        restore(tmp_path / "fork.tar", clinic)


def test_the_key_of_a_closed_study_stays_destroyed(clinic: Path, tmp_path: Path) -> None:
    with Study.open(clinic) as study:
        study.destroy_key()
    restored = restore(tmp_path / "monday.tar", clinic)
    assert "key" not in restored.files
    assert not (clinic / "key").exists()


def test_the_key_stays_destroyed_where_the_ledger_has_forgotten_it(tmp_path: Path) -> None:
    """The folder shows that the study was closed, though its ledger was rolled back."""
    clinic, ledger = tmp_path / "clinic", tmp_path / "clinic" / "ledger.sqlite"
    with make_clinic(tmp_path) as study:
        back_up(clinic, tmp_path / "monday.tar")
        shutil.copy(ledger, tmp_path / "old.sqlite")
        study.destroy_key()
    shutil.copy(tmp_path / "old.sqlite", ledger)
    assert restore(tmp_path / "monday.tar", clinic).files == ()
    assert not (clinic / "key").exists()


def test_restoring_keeps_the_mark_of_an_entry_that_is_still_lost(tmp_path: Path) -> None:
    """The ledger was rolled back, and went on from a copy of the folder, past the mark."""
    shared, clinic, copy = tmp_path / "shared.sqlite", tmp_path / "clinic", tmp_path / "copy"
    with make_clinic(tmp_path, f"sqlite:///{shared}") as study:
        back_up(clinic, tmp_path / "monday.tar")
        shutil.copytree(clinic, copy)
        shutil.copy(shared, tmp_path / "old.sqlite")
        study.set_limit("lab-a", 0.6)
    shutil.copy(tmp_path / "old.sqlite", shared)
    with Study.open(copy) as study:
        for limit in (0.7, 0.8):
            study.set_limit("lab-a", limit)
    restore(tmp_path / "monday.tar", clinic)
    with (
        Study.open(clinic) as study,
        pytest.raises(RolledBackError, match=r"high-water\.json shows entry 2"),
    ):
        study.set_limit("lab-b", 0.6)


def test_the_ledger_that_is_named_is_where_it_will_be(tmp_path: Path) -> None:
    with make_clinic(tmp_path):
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
    restored = restore(tmp_path / "monday.tar", tmp_path / "new")
    assert restored.ledger == f"sqlite:///{tmp_path / 'new' / 'ledger.sqlite'}"


def test_a_study_can_be_restored_from_inside_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_clinic(tmp_path):
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
    (tmp_path / "clinic" / "key").unlink()
    monkeypatch.chdir(tmp_path / "clinic")
    assert restore(tmp_path / "monday.tar", Path()).files == ("key",)


def test_a_folder_is_not_made_around_who_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be replaced by another one, and commands in it would find nothing."""
    with make_clinic(tmp_path):
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    with pytest.raises(InvalidInputError, match="from outside"):
        restore(tmp_path / "monday.tar", Path())
    assert list(Path().iterdir()) == []


def test_a_backup_is_private_and_never_replaced(clinic: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "monday.tar").stat().st_mode) == 0o600
    with pytest.raises(InvalidInputError, match="exists already"):
        back_up(clinic, tmp_path / "monday.tar")
    with pytest.raises(InvalidInputError, match="belongs to the study"):
        back_up(clinic, clinic / "backup.tar")


def test_a_rolled_back_study_is_not_backed_up(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        shutil.copy(tmp_path / "clinic" / "ledger.sqlite", tmp_path / "old.sqlite")
        study.set_limit("lab-a", 0.6)
    shutil.copy(tmp_path / "old.sqlite", tmp_path / "clinic" / "ledger.sqlite")
    with pytest.raises(RolledBackError):
        back_up(tmp_path / "clinic", tmp_path / "monday.tar")
    assert not (tmp_path / "monday.tar").exists()


@pytest.mark.parametrize("name", ["../escape", "snapshot/../../escape", "/escape", "snapshot/a/b"])
def test_an_archive_with_other_names_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "content").write_text("x")
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        tar.add(tmp_path / "content", name)
    with pytest.raises(InvalidInputError, match="no backup"):
        restore(tmp_path / "evil.tar", tmp_path / "clinic")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["content", "evil.tar"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no archive")
    with pytest.raises(InvalidInputError, match="cannot be read as a backup"):
        restore(tmp_path / "plain", tmp_path / "clinic")
    with pytest.raises(InvalidInputError, match="cannot be read as a backup"):
        restore(tmp_path / "absent", tmp_path / "clinic")


def test_a_backup_of_another_study_is_refused(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with make_clinic(tmp_path / "other"):
        pass
    with pytest.raises(InvalidInputError, match="is a backup of study"):
        restore(tmp_path / "monday.tar", tmp_path / "other" / "clinic")


@pytest.mark.parametrize("place", ["folder", "sqlite:///{}/new.sqlite"])
def test_a_study_comes_back_on_another_machine(tmp_path: Path, place: str) -> None:
    """The old ledger's folder is not there, and cannot be made."""
    old = tmp_path / "old-home"
    old.mkdir()
    with make_clinic(tmp_path, f"sqlite:///{old / 'ledger.sqlite'}") as study:
        study.set_limit("lab-a", 0.6)
        study.release("lab-a", "age", out=tmp_path / "1.csv", bits=0.2)
    back_up(tmp_path / "clinic", tmp_path / "monday.tar")
    entries = entries_of(tmp_path / "clinic")
    shutil.rmtree(tmp_path / "clinic")
    shutil.rmtree(old)
    address = place.format(tmp_path)
    with pytest.raises(LedgerError, match="does not exist"):
        restore(tmp_path / "monday.tar", tmp_path / "clinic")
    assert not (tmp_path / "clinic").exists()
    restore(tmp_path / "monday.tar", tmp_path / "clinic", ledger=address)
    assert entries_of(tmp_path / "clinic") == entries
    assert verify_study(tmp_path / "clinic").problems == ()
    with Study.open(tmp_path / "clinic") as study:
        study.release("lab-a", "age", out=tmp_path / "again.csv", bits=0.2)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    with pytest.raises(InvalidInputError, match="is for a folder that is to be made"):
        restore(tmp_path / "monday.tar", tmp_path / "clinic", ledger=address)


@pytest.mark.parametrize("is_erased", [False, True])
def test_a_backup_from_before_records_joined_changes_nothing(
    clinic: Path, tmp_path: Path, is_erased: bool
) -> None:
    rows = read_patients(tmp_path / "patients.csv")
    write_rows(tmp_path / "new.csv", [(f"q{row[0]}", *row[1:]) for row in rows[:60]])
    write_rows(tmp_path / "leavers.csv", rows[:1])
    with Study.open(clinic) as study:
        study.extend(str(tmp_path / "new.csv"))
        if is_erased:
            study.erase(str(tmp_path / "leavers.csv"))
    entries = entries_of(clinic)
    back_up(clinic, tmp_path / "friday.tar")
    shutil.move(clinic, tmp_path / "lost")
    if (tmp_path / "lost" / "ledger.sqlite").exists():  # the ledger that it finds
        clinic.mkdir()
        shutil.move(tmp_path / "lost" / "ledger.sqlite", clinic)
        shutil.copy(tmp_path / "lost" / "study.json", clinic)
    before = sorted(clinic.rglob("*"))
    with pytest.raises(InvalidInputError, match=r"older than cohort 2 .* nothing was changed"):
        restore(tmp_path / "monday.tar", clinic)
    assert sorted(clinic.rglob("*")) == before
    restored = restore(tmp_path / "friday.tar", clinic)
    assert "key" in restored.files
    assert entries_of(clinic) == entries
    with Study.open(clinic) as study:
        study.release("lab-a", "age", out=tmp_path / "again.csv", bits=0.2)
    assert verify_study(clinic).problems == ()
