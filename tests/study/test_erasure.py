"""Erased people are gone; everybody else's answers, and what was counted, stay."""

from __future__ import annotations

import hashlib
import hmac
import io
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInputError, LedgerError
from tacit.ledger import Ledger
from tacit.remark import Remark
from tacit.study import Study, verify_study
from tacit.study.backup import back_up, restore
from tacit.study.folder import Layout, StudyKeys, find_copies
from tacit.study.releases.release import ReleaseWriter
from tacit.tables.delivery.engine import StateStore
from tacit.tables.delivery.local import LocalEngine
from tacit.tables.encoding.snapshot import Snapshot
from tacit.words.remarks import remark_in_words
from tests.study.clinic import (
    copy_clinic,
    entries_of,
    files_in,
    make_clinic,
    read_patients,
    read_release,
)
from tests.study.doomed import Doomed

ERASED = ("p000007", "p000100")
BITS = {"diagnosis": 0.1, "age": 0.1, "outcome": 0.05}


def write_ids(place: Path, ids: Sequence[str] = ERASED) -> str:
    file = place / "ids.csv"
    file.write_text("\n".join(["patient", *ids]) + "\n")
    return str(file)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a study is that is copied and never used itself."""
    place = tmp_path_factory.mktemp("kept")
    make_clinic(place, external=["outcome"]).close()
    return place


@pytest.fixture
def clinic(tmp_path: Path, ledger: str, kept: Path) -> Path:
    """A study with three releases, and what was released as ``NAME.csv``."""
    return copy_released(kept, tmp_path) if ledger == "folder" else make_released(tmp_path, ledger)


@pytest.fixture
def folder_clinic(tmp_path: Path, kept: Path) -> Path:
    """The same, for what has nothing to do with the ledger."""
    return copy_released(kept, tmp_path)


def copy_released(kept: Path, place: Path) -> Path:
    return release_all(Study.open(copy_clinic(kept, place)), place)


def make_released(place: Path, ledger: str) -> Path:
    return release_all(make_clinic(place, ledger, external=["outcome"]), place)


def release_all(opened: Study, place: Path) -> Path:
    with opened as study:
        study.set_limit("lab-a", 0.4)
        for asked, bits in BITS.items():
            study.release("lab-a", asked, out=place / f"{asked}.csv", bits=bits)
    return place / "clinic"


def erase(clinic: Path, ids: Sequence[str] = ERASED) -> None:
    with Study.open(clinic) as study:
        study.erase(write_ids(clinic.parent, ids))


def redeliver(clinic: Path, name: str) -> list[tuple[str, ...]]:
    """The rows of a request that was answered before, written again."""
    with Study.open(clinic) as study:
        study.release(
            "lab-a", name, out=clinic.parent / "again.csv", overwrite=True, bits=BITS[name]
        )
    return read_release(clinic.parent / "again.csv")[1]


def pseudonyms_of(clinic: Path, ids: Sequence[str]) -> set[str]:
    with Study.open(clinic) as study:
        study.link("lab-a", write_ids(clinic.parent, ids), out=clinic.parent / "links.csv")
    return {record for _, record in read_release(clinic.parent / "links.csv")[1]}


# -- what is gone and what stays ------------------------------------------------------------------


def test_the_others_get_the_same_answers_again(clinic: Path) -> None:
    gone = pseudonyms_of(clinic, ERASED)
    assert len(gone) == 2
    erase(clinic)
    for name in BITS:
        before = read_release(clinic.parent / f"{name}.csv")[1]
        assert redeliver(clinic, name) == [row for row in before if row[0] not in gone]
    assert pseudonyms_of(clinic, ERASED) == set()


@settings(max_examples=3, deadline=None)
@given(gone=st.lists(st.sets(st.integers(0, 199), min_size=1, max_size=90), min_size=1, max_size=2))
def test_whoever_is_erased_and_however_often(
    tmp_path_factory: pytest.TempPathFactory, kept: Path, gone: list[set[int]]
) -> None:
    place = tmp_path_factory.mktemp("any")
    clinic = copy_released(kept, place)
    names = pseudonyms_of(clinic, [f"p{number:06d}" for number in set().union(*gone)])
    for numbers in gone:
        erase(clinic, [f"p{number:06d}" for number in numbers])
    for name in BITS:
        before = read_release(place / f"{name}.csv")[1]
        assert redeliver(clinic, name) == [row for row in before if row[0] not in names]
    assert verify_study(clinic).problems == ()


def test_what_is_released_later_leaves_them_out(clinic: Path) -> None:
    gone = pseudonyms_of(clinic, ERASED)
    erase(clinic)
    with Study.open(clinic) as study:
        receipt = study.release("lab-a", "smoker", out=clinic.parent / "later.csv", bits=0.05)
    records = {row[0] for row in read_release(clinic.parent / "later.csv")[1]}
    assert len(records) == receipt.records == 198
    assert not records & gone
    assert verify_study(clinic).problems == ()


def test_public_ids_are_left_out_too(tmp_path: Path) -> None:
    with make_clinic(tmp_path, public_id=True) as study:
        study.set_limit("lab-a", 0.4)
        study.release("lab-a", "age", out=tmp_path / "age.csv")
        before = read_release(tmp_path / "age.csv")[1]
        study.erase(write_ids(tmp_path))
        study.release("lab-a", "age", out=tmp_path / "age.csv")
        assert read_release(tmp_path / "age.csv")[1] == [
            row for row in before if row[0] not in ERASED
        ]


def test_what_was_counted_stays_counted(clinic: Path) -> None:
    with Study.open(clinic) as study:
        before = study.status()
        report = study.erase(write_ids(clinic.parent))
        after = study.status()
        assert (report.records, report.erased, report.left) == (2, 2, 198)
        assert (after.records, after.erased) == (200, 2)
        assert (after.parties, after.coalitions) == (before.parties, before.coalitions)
        assert Remark("records_erased", {"records": 2, "left": 198}) in after.remarks
        assert study.audit(records=50).table_records == 200


def test_verify_stays_green_and_says_so(clinic: Path) -> None:
    erase(clinic)
    redeliver(clinic, "age")
    shutil.copy(clinic.parent / "again.csv", clinic.parent / "age.csv")
    found = verify_study(clinic)
    assert found.problems == ()
    assert Remark("records_erased", {"records": 2, "left": 198}) in found.notes
    old = [each.values["release"] for each in found.notes if each.code == "erased_in_file"]
    assert old == [3, 7]
    (clinic.parent / "outcome.csv").write_text("record,rhat\n")
    assert [each.code for each in verify_study(clinic).problems] == ["file_changed"]


def test_a_file_that_another_release_replaced_before_is_no_problem(folder_clinic: Path) -> None:
    shutil.copy(folder_clinic.parent / "age.csv", folder_clinic.parent / "outcome.csv")
    erase(folder_clinic)
    found = verify_study(folder_clinic)
    assert found.problems == ()
    outcome = str(folder_clinic.parent / "outcome.csv")
    assert Remark("file_replaced", {"release": 7, "file": outcome, "now": 5}) in found.notes


def test_files_under_other_names_are_named_until_they_are_written_again(
    folder_clinic: Path,
) -> None:
    place = folder_clinic.parent
    diagnosis, age, outcome, copy = (str(place / f"{name}.csv") for name in (*BITS, "again"))
    redeliver(folder_clinic, "age")
    redeliver(folder_clinic, "age")
    back_up(folder_clinic, place / "monday.tar")
    with Study.open(folder_clinic) as study:
        [said, _] = study.erase(write_ids(place)).remarks
    assert said.values["files"] == [diagnosis, age, copy, outcome]
    assert f"about them ({diagnosis}, {age}, {copy}, {outcome}): " in remark_in_words(said)
    notes = verify_study(folder_clinic).notes
    old = {each.values["file"] for each in notes if each.code == "erased_in_file"}
    assert old == {diagnosis, age, outcome, copy}

    redeliver(folder_clinic, "age")
    assert copy not in str(verify_study(folder_clinic).notes)
    (place / "again.csv").write_text("record,rhat\n")
    assert Remark("copy_changed", {"release": 5, "file": copy}) in verify_study(folder_clinic).notes
    assert verify_study(folder_clinic).problems == ()

    kept = Layout(folder_clinic).copies
    kept.write_text("[")
    assert "copies_unknown" in [each.code for each in verify_study(folder_clinic).notes]
    kept.unlink()
    restore(place / "monday.tar", folder_clinic)
    assert find_copies(Layout(folder_clinic)) == {5: [copy]}


def test_a_file_that_another_process_writes_meanwhile_is_known(
    folder_clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find a release that was never delivered; the ledger names the file of one of them."""
    place, write = folder_clinic.parent, ReleaseWriter.write
    with Study.open(folder_clinic) as study, Study.open(folder_clinic) as other:
        number = study.record("lab-a", "smoker", bits=0.05)

        def late(*args: Any) -> str:
            monkeypatch.setattr(ReleaseWriter, "write", write)
            other.deliver(number, place / "theirs.csv")
            return write(*args)

        monkeypatch.setattr(ReleaseWriter, "write", late)
        study.deliver(number, place / "ours.csv")
    assert find_copies(Layout(folder_clinic)) == {number: [str(place / "ours.csv")]}


def test_papers_from_before_and_after_are_genuine(clinic: Path) -> None:
    place = clinic.parent
    with Study.open(clinic) as study:
        study.receipt(5).write(place / "before.json")
        shutil.copy(place / "age.csv.certificate.json", place / "certificate.json")
        study.erase(write_ids(place))
        study.erase(write_ids(place, ["p000003"]))
        study.receipt(5).write(place / "after.json")
        study.release("lab-a", "age", out=place / "age.csv", bits=BITS["age"])
        assert study.receipt(5).records == 197
    for paper in ("before.json", "certificate.json", "after.json", "age.csv.certificate.json"):
        found = verify_study(clinic, place / paper)
        assert found.problems == (), paper
        notes = [each.values for each in found.notes if each.code == "paper_before_erasure"]
        assert [each["records"] for each in notes] == [3] * (
            paper in ("before.json", "certificate.json")
        )
    forged = (place / "after.json").read_text().replace('"records": 197', '"records": 200')
    (place / "after.json").write_text(forged)
    assert verify_study(clinic, place / "after.json").problems != ()


# -- no trace -------------------------------------------------------------------------------------


def plain_contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder as it lies there, and what Parquet files hold unpacked."""
    for name, content in files_in(folder).items():
        yield name, content
        if name.endswith(".parquet"):
            table = pq.read_table(io.BytesIO(content))
            yield f"{name} unpacked", repr(table.to_pydict()).encode()
            yield f"{name} bounds", repr(pq.read_metadata(io.BytesIO(content)).to_dict()).encode()


def traces_of(patient: str, clinic: Path) -> list[str]:
    """Files that hold an id, or a hash of it under the ledger's salt."""
    with Ledger.open(Layout(clinic).ledger) as ledger:
        salt = ledger.salt.hex()
    texts = [f"{tag}{len(patient)}:{patient}" for tag in ("t", "")]
    digests = [hashlib.sha256(f"{salt}:{text}".encode()).hexdigest() for text in texts]
    sought = [patient.encode(), *(digest[:16].encode() for digest in digests)]
    sought += [bytes.fromhex(digest[:16]) for digest in digests]
    return [
        name for name, content in plain_contents(clinic) if any(each in content for each in sought)
    ]


def test_no_trace_is_left_in_the_folder_and_the_ledger(folder_clinic: Path) -> None:
    clinic = folder_clinic
    leftover = clinic / "states" / ".7-killed.npy.0123456789abcdef.partial"
    leftover.write_bytes(b"p000007")
    (clinic / ".staging.0123456789abcdef.partial").mkdir(mode=0o700)
    (clinic / ".staging.0123456789abcdef.partial" / "staging.duckdb").write_bytes(b"p000007")
    found = traces_of("p000007", clinic)
    assert {
        "ledger.sqlite",
        "snapshot/ids.parquet unpacked",
        str(leftover.relative_to(clinic)),
    } <= set(found)
    erase(clinic)
    for patient in ERASED:
        assert traces_of(patient, clinic) == []
    assert traces_of("p000008", clinic) != []
    for name in BITS:
        redeliver(clinic, name)
    for patient in ERASED:
        assert traces_of(patient, clinic) == []


def test_the_cell_and_the_states_are_gone(folder_clinic: Path) -> None:
    layout = Layout(folder_clinic)
    erase(folder_clinic)
    assert not layout.states.exists()
    x = np.load(layout.snapshot / "x.npy")
    ids = pq.read_table(layout.snapshot / "ids.parquet")["id_0"].to_pylist()
    assert [k for k, each in enumerate(ids) if each is None] == [7, 100]
    assert np.flatnonzero(x == 12).tolist() == [7, 100]


def test_the_ledger_keeps_a_count_and_a_keyed_proof(clinic: Path) -> None:
    erase(clinic)
    *_, erasure, erased = entries_of(clinic)
    assert (erasure.kind, erasure.body) == (
        "erasure",
        {"records": 2, "is_correction": False},
    )
    created = entries_of(clinic)[0].body
    with Study.open(clinic) as study:
        key = StudyKeys.of(Layout(clinic).key, study.configuration.study).ids
    proofs = [
        b"".join(
            hmac.new(key, f"{tag}{len(patient)}:{text}".encode(), "sha256").digest()[:16]
            for tag, text in (("t", patient), ("", patient.lower()))
        )
        for patient in ERASED
    ]
    assert erasure.payload == b"".join(sorted(proofs))
    assert erased.body["erasure"] == erasure.number
    assert erased.body["snapshot_digest"] != created["snapshot_digest"]
    assert [number for number, _ in erased.body["digests"]] == [3, 5, 7]


# -- lists ----------------------------------------------------------------------------------------

WRONG_LIST = r"ids that were never in the study, in 2 rows 1, 3, and empty ids, in row 5, counted"


def test_unknown_ids_are_refused_by_their_rows_or_skipped(folder_clinic: Path) -> None:
    ids = write_ids(folder_clinic.parent, ["nobody", "p000007", "someone", "p000007", ""])
    entries = entries_of(folder_clinic)
    with Study.open(folder_clinic) as study:
        with pytest.raises(InvalidInputError, match=WRONG_LIST) as refusal:
            study.erase(ids)
        assert "nobody" not in str(refusal.value)
        assert entries_of(folder_clinic) == entries
        listed = study.find_listed(ids)
        assert listed.as_dict() == {
            "records": 1,
            "erased_rows": [],
            "unknown_rows": [1, 3],
            "empty_rows": [5],
            "left": 199,
        }
        assert entries_of(folder_clinic) == entries
        assert study.erase(ids, skip_unknown=True).records == 1


def test_erasing_again_changes_nothing(folder_clinic: Path) -> None:
    erase(folder_clinic)
    entries = entries_of(folder_clinic)
    with Study.open(folder_clinic) as study:
        ids = write_ids(folder_clinic.parent)
        assert study.find_listed(ids).erased_rows == (1, 2)
        assert study.erase(ids).records == 0
    assert entries_of(folder_clinic) == entries


def test_the_last_record_is_not_erased(folder_clinic: Path) -> None:
    everybody = [row[0] for row in read_patients(folder_clinic.parent / "patients.csv")]
    with pytest.raises(InvalidInputError, match="all records that are left"):
        erase(folder_clinic, everybody)
    erase(folder_clinic, everybody[1:])
    assert len(redeliver(folder_clinic, "age")) == 1
    assert verify_study(folder_clinic).problems == ()


def test_whoever_does_not_confirm_erases_nothing(folder_clinic: Path) -> None:
    entries = entries_of(folder_clinic)

    def refuse(_: object) -> None:
        raise InvalidInputError("not confirmed")

    with (
        Study.open(folder_clinic) as study,
        pytest.raises(InvalidInputError, match="not confirmed"),
    ):
        study.erase(write_ids(folder_clinic.parent), confirm=refuse)
    assert entries_of(folder_clinic) == entries


def test_a_closed_study_erases_nobody(folder_clinic: Path) -> None:
    with Study.open(folder_clinic) as study:
        study.destroy_key()
    with pytest.raises(InvalidInputError, match="is closed"):
        erase(folder_clinic)


def test_an_erased_study_can_be_closed_and_stays_verifiable(folder_clinic: Path) -> None:
    erase(folder_clinic)
    with Study.open(folder_clinic) as study:
        study.destroy_key()
    assert verify_study(folder_clinic).problems == ()


# -- attacks and accidents ------------------------------------------------------------------------


def test_a_backup_from_before_does_not_bring_them_back(clinic: Path) -> None:
    place = clinic.parent
    back_up(clinic, place / "monday.tar")
    erase(clinic)
    for name in ("ids.parquet", "x.npy"):
        (clinic / "snapshot" / name).unlink()
    restored = restore(place / "monday.tar", clinic)
    assert Remark("erased_again", {"records": 2}) in restored.remarks
    assert verify_study(clinic).problems == ()
    assert len(redeliver(clinic, "age")) == 198


def test_a_backup_in_another_folder_does_not_either(tmp_path: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    clinic = make_released(tmp_path, shared)
    back_up(clinic, tmp_path / "monday.tar")
    erase(clinic)
    restored = restore(tmp_path / "monday.tar", tmp_path / "copy")
    assert Remark("erased_again", {"records": 2}) in restored.remarks
    assert verify_study(tmp_path / "copy").problems == ()


def test_a_backup_whose_ledger_is_lost_says_that_they_are_back(tmp_path: Path) -> None:
    clinic, place = make_released(tmp_path, f"sqlite:///{tmp_path / 'shared.sqlite'}"), tmp_path
    back_up(clinic, place / "monday.tar")
    assert restore(place / "monday.tar", clinic).remarks == ()  # the ledger knows the study
    erase(clinic)
    shutil.rmtree(clinic)
    (place / "shared.sqlite").unlink()
    restored = restore(place / "monday.tar", clinic)
    assert restored.remarks == (Remark("known_from_backup_alone"),)
    assert len(redeliver(clinic, "age")) == 200


def test_of_a_closed_study_the_old_snapshot_stays_away(tmp_path: Path) -> None:
    clinic = make_released(tmp_path, f"sqlite:///{tmp_path / 'shared.sqlite'}")
    back_up(clinic, tmp_path / "monday.tar")
    erase(clinic)
    with Study.open(clinic) as study:
        study.destroy_key()
    restored = restore(tmp_path / "monday.tar", tmp_path / "copy")
    assert not [name for name in restored.files if name.startswith(("snapshot", "key"))]


def test_a_backup_from_after_holds_nothing_of_them(clinic: Path, tmp_path: Path) -> None:
    erase(clinic)
    back_up(clinic, tmp_path / "tuesday.tar")
    shutil.rmtree(clinic)
    restore(tmp_path / "tuesday.tar", clinic)
    assert verify_study(clinic).problems == ()
    with Study.open(clinic) as study:
        assert study.find_listed(write_ids(tmp_path)).erased_rows == (1, 2)


def test_a_table_that_brings_them_back_is_noticed_by_the_study(folder_clinic: Path) -> None:
    erase(folder_clinic)
    with Study.open(folder_clinic) as study:
        found = study.find_listed(write_ids(folder_clinic.parent, ["new", "p000100", "p000003"]))
    assert (found.erased_rows, found.unknown_rows, len(found.persons)) == ((2,), (1,), 1)


def test_a_second_study_is_noticed_by_who_is_left(tmp_path: Path) -> None:
    """Erased people are not in the sketch any more: the page on threats says what follows."""
    shared = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    clinic = make_released(tmp_path, shared)
    erase(clinic)
    (tmp_path / "again").mkdir()
    shutil.copy(tmp_path / "patients.csv", tmp_path / "again")
    with pytest.raises(LedgerError, match="overlap"):
        make_clinic(tmp_path / "again", shared)
    with make_clinic(tmp_path / "again", shared, accept_reset=True) as study:
        assert Remark("erased_elsewhere", {"records": 2}) in study.remarks


def test_an_old_ledger_with_a_new_folder_is_noticed(tmp_path: Path) -> None:
    clinic = make_released(tmp_path, f"sqlite:///{tmp_path / 'shared.sqlite'}")
    shutil.copy(tmp_path / "shared.sqlite", tmp_path / "old.sqlite")
    erase(clinic)
    shutil.copy(tmp_path / "old.sqlite", tmp_path / "shared.sqlite")
    assert "entry_missing" in [each.code for each in verify_study(clinic).problems]
    with pytest.raises(LedgerError, match="has lost entries"):
        erase(clinic, ["p000003"])


def test_a_snapshot_that_is_emptied_by_hand_is_noticed(folder_clinic: Path) -> None:
    shutil.copytree(folder_clinic, folder_clinic.parent / "kept")
    erase(folder_clinic)
    kept = folder_clinic.parent / "kept" / "snapshot"
    shutil.rmtree(kept)
    shutil.copytree(folder_clinic / "snapshot", kept)
    codes = [each.code for each in verify_study(kept.parent).problems]
    assert codes == ["snapshot_differs", "snapshot_changed"]


@pytest.mark.parametrize("instead", [(), ("p000003", "p000004")])
def test_an_erasure_that_is_only_claimed_is_noticed(
    folder_clinic: Path, monkeypatch: pytest.MonkeyPatch, instead: Sequence[str]
) -> None:
    """By a custodian who erases nobody, or others than the ledger says."""
    honest = LocalEngine.erase

    def pretend(
        engine: LocalEngine, records: Snapshot, states: StateStore, key: bytes, _: object
    ) -> None:
        typed = [f"t{len(patient)}:{patient}".encode() for patient in instead]
        others = [hmac.new(key, text, "sha256").hexdigest()[:32] for text in typed]
        honest(engine, records, states, key, others)

    monkeypatch.setattr(LocalEngine, "erase", pretend)
    erase(folder_clinic)
    found = [each.code for each in verify_study(folder_clinic).problems]
    assert found == ["erased_still_there" if instead else "snapshot_differs"]


def test_a_forged_digest_of_a_file_is_noticed(
    folder_clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a custodian who wants to hand out another file after an erasure."""
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseWriter, "redraw", lambda *_: dict.fromkeys((3, 5, 7), "0" * 64))
        erase(folder_clinic)
    found = [each.code for each in verify_study(folder_clinic).problems]
    assert found == ["drawn_otherwise"] * 3


# -- killed ---------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(folder_clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose erasure was recorded, and nothing more."""
    with monkeypatch.context() as patch, Study.open(folder_clinic) as study:
        patch.setattr(type(study._journal.engine), "erase", _fail)
        with pytest.raises(OSError, match="no room"):
            study.erase(write_ids(folder_clinic.parent))
    return folder_clinic


def _fail(*_: object) -> None:
    raise OSError("no room")


def test_an_interrupted_erasure_is_noticed_and_stops_releases(interrupted: Path) -> None:
    place = interrupted.parent
    unfinished = Remark("erasure_unfinished", {"records": 2})
    assert unfinished in verify_study(interrupted).problems
    with Study.open(interrupted) as study:
        assert unfinished in study.status().remarks
        for refused in (
            lambda: study.release("lab-a", "smoker", out=place / "a.csv", bits=0.05),
            lambda: study.deliver(3, place / "a.csv"),
            lambda: study.find_listed(write_ids(place)),
            study.destroy_key,
            lambda: back_up(interrupted, place / "a.tar"),
        ):
            with pytest.raises(InvalidInputError, match="was not finished"):
                refused()


def test_it_is_finished_without_the_list_or_before_another(interrupted: Path) -> None:
    with Study.open(interrupted) as study:
        assert study.erase(write_ids(interrupted.parent, ["p000003"])).records == 3
        assert study.finish_erasure().records == 0
    assert verify_study(interrupted).problems == ()
    assert [entry.kind for entry in entries_of(interrupted)][-4:] == ["erasure", "erased"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("again", ["same list", "no list"])
def test_killed_at_many_points(folder_clinic: Path, server: Doomed, again: str) -> None:
    place = folder_clinic.parent
    kept = place.with_name(f"{place.name}-kept")
    command = ("erase", str(folder_clinic), "--ids", write_ids(place), "--yes")
    shutil.copytree(place, kept)
    whole = server.rehearse(*command, places=[place])
    assert whole.code == 0, whole.output
    expected = {name: redeliver(folder_clinic, name) for name in BITS}
    n_entries = len(entries_of(kept / "clinic"))
    stages = []
    for point in whole.kill_points:
        shutil.rmtree(place)
        shutil.copytree(kept, place)
        killed = server.run(*command, die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        stages.append(len(entries_of(folder_clinic)) - n_entries)
        words = command if again == "same list" or stages[-1] != 1 else command[:2]
        ended = server.run(*words)
        assert ended.code == 0, ended.output
        kinds = [entry.kind for entry in entries_of(folder_clinic)]
        assert kinds[n_entries:] == ["erasure", "erased"]
        assert traces_of(ERASED[0], folder_clinic) == []
        assert not [name for name in files_in(place) if name.endswith(".partial")]
        assert verify_study(folder_clinic).problems == ()
    assert stages == sorted(stages)
    assert set(stages) == {0, 1, 2}
    assert {name: redeliver(folder_clinic, name) for name in BITS} == expected
