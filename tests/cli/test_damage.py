"""Studies whose key, ledger or folder is not as it should be: one line, and nothing is spent."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, tacit

RELEASE = ("release", "clinic", "lab-a", "income", "--out", "a.csv")


def refused_release(code: int) -> str:
    before = found_in(Path())
    message = refused(code, *RELEASE)
    assert found_in(Path()) == before
    assert not Path("a.csv").exists()
    return message


@contextmanager
def edited_ledger(study: Path) -> Iterator[sqlite3.Connection]:
    """The ledger as somebody with write access may edit it."""
    with closing(sqlite3.connect(study / "ledger.sqlite")) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            database.execute(f'DROP TRIGGER "{name}"')
        yield database
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_missing_key(used: Path) -> None:
    (used / "key").unlink()
    assert refused_release(7).startswith("the key clinic/key is missing: restore it from a backup")
    done("status", used)
    done("quote", used, "lab-a", "income", "--bits", 0.01)
    said = done("verify", used).out
    assert "note: without a key, neither the snapshot nor release files can be checked" in said


def test_the_key_of_another_study(used: Path) -> None:
    (used / "key").write_bytes(bytes(range(32)))
    said = refused_release(7)
    assert said == "the key clinic/key is not this study's: restore the right one from a backup"
    answer = tacit("verify", used)
    assert answer.code == 5
    assert "PROBLEM: the key clinic/key is not this study's" in answer.out
    assert "not this study's" in refused(7, "close", used, "--yes")


def test_a_key_that_was_cut_short(used: Path) -> None:
    (used / "key").write_bytes(b"short")
    assert "the key clinic/key is damaged" in refused_release(7)


def test_a_key_that_others_can_read(used: Path) -> None:
    (used / "key").chmod(0o640)
    said = refused_release(7)
    assert said == (
        "the key clinic/key is open to others (mode 0640): let only its owner read it (mode 0600)"
    )
    (used / "key").chmod(0o600)
    done(*RELEASE)


def test_a_ledger_that_is_noise(used: Path) -> None:
    (used / "ledger.sqlite").write_bytes(b"no database at all" * 300)
    for words in (("status", used), ("verify", used), ("audit", used), RELEASE):
        assert "restore it from a backup" in refused(5, *words)


def test_a_ledger_that_is_gone(used: Path) -> None:
    (used / "ledger.sqlite").unlink()
    assert "there is no ledger in" in refused_release(5)
    assert not (used / "ledger.sqlite").exists()


def test_an_edited_entry(used: Path) -> None:
    with edited_ledger(used) as database:
        database.execute(
            "UPDATE tacit_entries SET body = replace(body, '0.3', '3.0') WHERE kind = 'limit'"
        )
    said = refused_release(5)
    assert "is not what was appended" in said
    answer = tacit("verify", used)
    assert answer.code == 5
    assert answer.out.startswith("PROBLEM: ")
    assert answer.out.endswith("do not rely on this study, before that is explained\n")
    assert answer.err == ""
    found = tacit("verify", used, "--json")
    assert found.code == 5
    assert not found.json["is_whole"]


def test_a_ledger_that_was_rolled_back(used: Path) -> None:
    old = used / "old.sqlite"
    shutil.copy(used / "ledger.sqlite", old)
    done(*RELEASE)
    done("receipt", used, 9, "--html", "receipt.html")
    done("verify", used, "--receipt", "receipt.html")
    done("verify", used, "--receipt", "a.csv.certificate.json")
    old.replace(used / "ledger.sqlite")
    answer = tacit("verify", used)
    assert answer.code == 5
    assert "PROBLEM: the ledger has lost entries: high-water.json shows entry 10" in answer.out
    missing = {"code": "entry_missing", "file": "high-water.json", "entry": 10}
    said = {"in_words": "the ledger has lost entries: high-water.json shows entry 10"}
    assert missing | said in tacit("verify", used, "--json").json["problems"]
    (used / "high-water.json").unlink()
    shutil.rmtree(used / "states")
    done("verify", used)  # a shorter chain is whole, and nothing in the folder shows it now
    for paper in ("receipt.html", "a.csv.certificate.json"):
        answer = tacit("verify", used, "--receipt", paper)
        assert answer.code == 5
        assert "the ledger was rolled back or rewritten since" in answer.out
        assert f"do not rely on this study, or on {paper}, before" in answer.out


def test_receipts_of_something_else(used: Path) -> None:
    Path("notes.txt").write_text("milk, bread")
    assert "notes.txt is no receipt" in refused(4, "verify", used, "--receipt", "notes.txt")
    assert "none.json" in refused(4, "verify", used, "--receipt", "none.json")


@pytest.mark.parametrize(("found", "made_by"), [(3, "0.2.0"), (99, "7.0")])
def test_a_folder_of_another_version(used: Path, found: int, made_by: str) -> None:
    stored = json.loads((used / "study.json").read_text())
    (used / "study.json").write_text(json.dumps(stored | {"format": found, "made_by": made_by}))
    for words in (("status", used), ("verify", used), RELEASE):
        assert refused(4, *words) == (
            f"clinic has format {found} and was made by tacit {made_by}, and this version reads "
            "format 4 only: use the version that made it"
        )


def test_a_ledger_of_another_version(used: Path) -> None:
    with edited_ledger(used) as database:
        database.execute("UPDATE tacit_version SET version_num = '0003'")
    assert "has format 0003, and this version of tacit reads 4 only" in refused_release(5)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 4}', "\0"])
def test_a_configuration_that_is_damaged(used: Path, text: str) -> None:
    (used / "study.json").write_text(text)
    said = refused_release(4)
    assert said.startswith("clinic/study.json ")
    assert said.endswith(": restore it")


def test_a_snapshot_that_was_changed(used: Path) -> None:
    codes = used / "snapshot" / "x.npy"
    content = bytearray(codes.read_bytes())
    content[-1] ^= 1
    codes.write_bytes(content)
    answer = tacit("verify", used)
    assert answer.code == 5
    assert "PROBLEM: the snapshot in clinic/snapshot is not what it was" in answer.out
    shutil.rmtree(used / "snapshot")
    assert "there is no snapshot in clinic/snapshot" in refused_release(4)


def test_a_release_file_that_was_changed(used: Path) -> None:
    done(*RELEASE)
    text = Path("a.csv").read_text()
    Path("a.csv").write_text(text.replace("low", "high", 1))
    assert "a.csv is not release 9 as it was delivered" in tacit("verify", used).out
    Path("a.csv").write_text("nothing like it")
    answer = tacit("verify", used)
    assert answer.code == 5
    assert "a.csv is not release 9 as it was delivered" in answer.out
    Path("a.csv").write_text(text)
    done("verify", used)


def test_a_release_written_over_another_is_a_note(used: Path) -> None:
    done(*RELEASE)
    done("release", used, "lab-b", "income", "--bits", 0.01, "--out", "a.csv", "--force")
    said = done("verify", used).out
    assert "a.csv was release 9 and is release 11 now" in said


def test_a_state_file_that_is_gone_is_made_again(used: Path) -> None:
    done(*RELEASE)
    shutil.rmtree(used / "states")
    once = Path("a.csv").read_bytes()
    done(*RELEASE)
    assert Path("a.csv").read_bytes() == once


def test_a_read_only_folder(used: Path) -> None:
    folder = used.resolve()
    bind = subprocess.run(
        ["mount", "--bind", folder, folder], capture_output=True, text=True, check=False
    )
    if bind.returncode:
        pytest.skip(f"cannot mount here: {bind.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder, folder], check=True)
        said = refused_release(5)
        assert "clinic cannot be written (Read-only file system)" in said
    finally:
        subprocess.run(["umount", folder], check=True)
    done(*RELEASE)
