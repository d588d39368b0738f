"""Things that went wrong once, or nearly: each must be refused, noticed, or harmless."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import CorruptLedgerError, DeliveryError, InvalidInputError, LedgerError
from tacit.limits import Limit
from tacit.sampling import StudyKey
from tacit.study import Study
from tacit.study.entry_kinds import read_books
from tacit.tables.delivery.local import StateFiles
from tests.study.clinic import entries_of, limits_of, make_clinic, read_release
from tests.words import in_words


def test_the_limit_on_everyone_is_part_of_the_first_entry(tmp_path: Path) -> None:
    """A study that was made with it can never be found without it."""
    with make_clinic(tmp_path, everyone=0.2) as study:
        assert limits_of(study) == {Limit("everyone", 0.2)}
    assert [entry.kind for entry in entries_of(tmp_path / "clinic")] == ["created"]


def test_two_changes_of_one_limit_are_both_kept(tmp_path: Path) -> None:
    """What is not named is as somebody else has just left it."""
    with make_clinic(tmp_path) as study, Study.open(tmp_path / "clinic") as other:
        study.set_limit("any 2", 0.5)
        other.set_limit("any 2", times=4)
        study.set_limit("any 2", 0.4)
        assert limits_of(study) == {Limit("any 2", 0.4, 4)}


def test_a_ledger_that_is_rewritten_under_a_living_study_is_noticed(tmp_path: Path) -> None:
    clinic, backup = tmp_path / "clinic" / "ledger.sqlite", tmp_path / "backup.sqlite"
    with make_clinic(tmp_path) as study:
        copy_database(clinic, backup)
        study.set_limit("lab", 0.3)
        copy_database(backup, clinic)
        with Study.open(tmp_path / "clinic", accept_rollback=True) as other:
            other.set_limit("other", 0.2)
            other.set_limit("lab", 0.1)
        with pytest.raises(CorruptLedgerError, match="restored or rewritten"):
            study.release("lab", "diagnosis", out=tmp_path / "lab.csv")
    assert not (tmp_path / "lab.csv").exists()


def copy_database(source: Path, target: Path) -> None:
    """Restore in place, as a database's own backup tool does."""
    connections = [sqlite3.connect(path) for path in (source, target)]
    connections[0].backup(connections[1])
    for connection in connections:
        connection.close()


def test_only_the_ledger_says_whether_ids_are_public(tmp_path: Path) -> None:
    make_clinic(tmp_path).__exit__(None, None, None)
    path = tmp_path / "clinic" / "study.json"
    stored = json.loads(path.read_text())
    assert "is_id_public" not in stored
    path.write_text(json.dumps(stored | {"is_id_public": True}))
    with pytest.raises(InvalidInputError, match="damaged"):
        Study.open(tmp_path / "clinic")


def test_states_of_a_lost_timeline_are_never_sampled_from(tmp_path: Path) -> None:
    clinic, backup = tmp_path / "clinic" / "ledger.sqlite", tmp_path / "backup.sqlite"
    with make_clinic(tmp_path, public_id=True) as study:
        study.set_limit("a", 0.6)
        study.set_limit("b", 0.6)
        copy_database(clinic, backup)
        study.release("a", "diagnosis", out=tmp_path / "lost.csv", bits=0.5)
    lost = {path.name for path in (tmp_path / "clinic" / "states").iterdir()}
    copy_database(backup, clinic)
    with Study.open(tmp_path / "clinic", accept_rollback=True) as study:
        study.release("a", "smoker", out=tmp_path / "a.csv", bits=0.5, accept=["disclosure"])
        kept = {path.name for path in (tmp_path / "clinic" / "states").iterdir()}
        assert lost < kept
        study.release("b", "smoker", out=tmp_path / "b.csv", bits=0.5, accept=["disclosure"])
        shutil.rmtree(tmp_path / "clinic" / "states")
        study.release("b", "smoker", out=tmp_path / "again.csv", bits=0.5)
    assert read_release(tmp_path / "b.csv") == read_release(tmp_path / "again.csv")


@pytest.mark.parametrize("place", ["clinic/key", "clinic/snapshot/ids", "patients"])
def test_no_release_is_written_over_the_studys_own_files(tmp_path: Path, place: str) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.3)
        target = tmp_path / f"{place}.{'parquet' if 'ids' in place else 'csv'}"
        before = target.read_bytes() if target.exists() else None
        with pytest.raises(InvalidInputError, match="belongs to the study"):
            study.release("lab", "diagnosis", out=target)
        assert (target.read_bytes() if target.exists() else None) == before
        assert study.status().releases == 0


def test_a_password_of_the_source_is_never_shown(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study, pytest.raises(InvalidInputError) as refusal:
        study.extend("postgresql://me:s3cret@127.0.0.1:1/db#patients")
    assert "s3cret" not in str(refusal.value)
    assert "s3cret" not in str([each.as_dict() for each in refusal.value.suggestions])
    assert "127.0.0.1" in str(refusal.value)


def test_a_snapshot_with_other_cells_is_refused_before_anything_is_recorded(
    tmp_path: Path,
) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.3)
        x = np.load(tmp_path / "clinic" / "snapshot" / "x.npy")
        x[0] = (x[0] + 1) % 12
        np.save(tmp_path / "clinic" / "snapshot" / "x.npy", x)
        with pytest.raises(InvalidInputError, match="not what it was"):
            study.release("lab", "diagnosis", out=tmp_path / "lab.csv")
        assert study.status().releases == 0


def test_a_key_that_outlives_its_study_is_found_and_destroyed(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        key = tmp_path / "clinic" / "key"
        secret = key.read_bytes()
        study.destroy_key()
        assert study.verify().is_whole
        key.write_bytes(secret)  # as if the process had been killed just before
        key.chmod(0o600)
        assert any("key is still there" in problem for problem in in_words(study.verify().problems))
        study.destroy_key()
        assert not key.exists()
        assert study.verify().is_whole


def test_a_delivery_that_ends_after_the_study_was_closed_is_in_order(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study, Study.open(tmp_path / "clinic") as other:
        study.set_limit("lab", 0.3)
        StudyKey.load(tmp_path / "clinic" / "key")

        def close_meanwhile(done: int, total: int) -> None:
            if done == total and not other.status().is_closed:
                other.destroy_key()

        study.release("lab", "diagnosis", out=tmp_path / "lab.csv", progress=close_meanwhile)
        kinds = [entry.kind for entry in entries_of(tmp_path / "clinic")]
        assert kinds[-2:] == ["closed", "delivered"]
        assert study.verify().problems == ()


@pytest.mark.parametrize(("found", "made_by"), [(2, "0.2.0"), (99, "9.0")])
def test_a_study_of_another_version_is_refused(tmp_path: Path, found: int, made_by: str) -> None:
    make_clinic(tmp_path).__exit__(None, None, None)
    [created] = entries_of(tmp_path / "clinic")
    other = {**created.body, "format": found, "made_by": made_by, "something": "new"}
    said = rf"format {found} and was made by tacit {made_by}, and this version reads format 4 only"
    with pytest.raises(LedgerError, match=said):
        read_books([replace(created, body=other)])


def test_states_that_cannot_be_read_back_end_in_an_error_not_in_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.3)
        study.release("lab", "diagnosis", out=tmp_path / "a.csv", bits=0.1)
        with monkeypatch.context() as bad_disk:
            bad_disk.setattr(StateFiles, "load", lambda *_: None)
            with pytest.raises(DeliveryError, match="cannot be read again"):
                study.release("lab", "smoker", out=tmp_path / "b.csv", bits=0.1)
        assert study.release("lab", "smoker", out=tmp_path / "b.csv", bits=0.1).digest is not None
        assert study.status().releases == 2
