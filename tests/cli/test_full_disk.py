"""A disk that fills up: one line, nothing half-written, and the same command finishes the work."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clinic import (
    OWN_LEDGER,
    copied,
    done,
    found_in,
    names_in,
    refused,
    tacit,
    write_patients,
)

DISK_KB = 4000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk so small that it can be filled."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KB}k", "tacit-test", str(place)]
    done_so = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done_so.returncode:
        pytest.skip(f"cannot mount a small disk here: {done_so.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(disk: Path, leave_kb: int) -> Path:
    """Take up all of the disk but a little."""
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    free = status.f_bavail * status.f_frsize
    ballast.write_bytes(bytes(max(0, free - leave_kb * 1024)))
    return ballast


def releases(study: Path) -> int:
    return int(done("status", study, "--json").json["releases"])


def held(study: Path) -> float:
    return float(done("status", study, "--json").json["parties"][0]["held"])


@pytest.mark.parametrize("out", ["a.csv", "a.parquet"])
def test_no_room_for_the_release_file(fresh: Path, disk: Path, out: str) -> None:
    ballast = fill(disk, leave_kb=4)
    words = ["release", fresh, "lab-a", "income", "--out", disk / out]
    said = refused(6, *words)
    assert "No space left on device" in said
    assert "ask for the same release again" in said
    assert names_in(disk) == ["ballast"]
    bits = held(fresh)
    assert releases(fresh) == 1
    assert "release 4 is recorded but was never delivered" in done("status", fresh).out
    ballast.unlink()
    done(*words)
    assert names_in(disk) == [out, f"{out}.certificate.json"]
    assert releases(fresh) == 1
    assert held(fresh) == bits
    done("verify", fresh)


def test_room_for_the_file_but_not_for_its_certificate(fresh: Path, disk: Path) -> None:
    done("release", fresh, "lab-a", "income", "--out", "once.csv")
    size = Path("once.csv").stat().st_size // 1024 + 1
    ballast = fill(disk, leave_kb=(size // 4 + 1) * 4)
    words = ["release", fresh, "lab-a", "income", "--out", disk / "a.csv"]
    answer = tacit(*words)
    assert answer.code == 6
    assert "a.csv.certificate.json cannot be written (No space left on device)" in answer.err
    ballast.unlink()
    done(*words)
    assert (disk / "a.csv").read_bytes() == Path("once.csv").read_bytes()


def test_no_room_for_a_receipt(fresh: Path, disk: Path) -> None:
    fill(disk, leave_kb=0)
    said = refused(6, "receipt", fresh, 1, "--html", disk / "receipt.html")
    assert "No space left on device" in said
    assert names_in(disk) == ["ballast"]


def test_no_room_in_the_ledger_for_the_intent(disk: Path, fresh: Path) -> None:
    study = copied(fresh, disk / "clinic")
    words = ["release", study, "lab-a", "income", "--out", "a.csv"]
    ballast = fill(disk, leave_kb=0)
    before = found_in(disk)
    said = refused(5, *words)
    assert "ledger" in said or "cannot be written (No space left on device)" in said
    assert found_in(disk) == before
    assert not Path("a.csv").exists()
    ballast.unlink()
    assert releases(study) == 0
    done(*words)


def test_no_room_in_the_study_for_its_mark(disk: Path, tmp_path: Path) -> None:
    """The ledger is on another disk: the release is recorded, and that is said."""
    study, out = disk / "clinic", tmp_path / "a.csv"
    table = write_patients(tmp_path / "t.csv", 60)
    done("init", study, "--table", table, "--id", "patient_id", "--private", "diagnosis")
    done("limit", study, "lab-a", "--bits", 0.3)
    ballast = fill(disk, leave_kb=0)
    words = ["release", study, "lab-a", "diagnosis", "--out", out]
    said = refused(6, *words)
    assert "the release is recorded but" in said
    assert "ask for the same release again, which costs nothing" in said
    ballast.unlink()
    assert releases(study) == 1
    done(*words)
    assert releases(study) == 1


@pytest.mark.slow
def test_no_room_in_the_study_for_the_states(disk: Path, tmp_path: Path) -> None:
    """The intent fits, what is remembered of each record does not."""
    table = write_patients(tmp_path / "t.csv", 200_000)
    study, out = disk / "clinic", tmp_path / "a.parquet"
    done("init", study, "--table", table, "--id", "patient_id", "--private", "diagnosis")
    done("limit", study, "lab-a", "--bits", 0.3)
    ballast = fill(disk, leave_kb=100)
    words = ["release", study, "lab-a", "diagnosis", "--out", out]
    said = refused(6, *words)
    assert "No space left on device" in said
    assert not out.exists()
    assert names_in(study / "states") == []
    bits = held(study)
    ballast.unlink()
    assert releases(study) == 1
    done(*words)
    assert (releases(study), held(study)) == (1, bits)
    done("verify", study)


def test_no_room_for_the_study(disk: Path, tmp_path: Path) -> None:
    table = write_patients(tmp_path / "t.csv", 60)
    fill(disk, leave_kb=40)
    words = ["--table", table, "--id", "patient_id", "--private", "diagnosis", *OWN_LEDGER]
    answer = tacit("init", disk / "clinic", *words)
    assert answer.code in (4, 5, 7)
    assert answer.err.startswith("tacit: ")
    assert len(answer.err.splitlines()) == 1
    assert names_in(disk) == ["ballast"]
    (disk / "ballast").unlink()
    done("init", disk / "clinic", *words)
