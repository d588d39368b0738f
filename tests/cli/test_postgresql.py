"""A study whose ledger is in PostgreSQL, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import PRIVATE, done, names_in, refused

PASSWORD = "not-for-anybody"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_all_of_it(patients: str, postgres_url: str) -> None:
    table = ["--table", patients, "--id", "patient_id", *PRIVATE]
    done("init", "clinic", *table, "--ledger", postgres_url)
    assert not Path("clinic/ledger.sqlite").exists()
    done("limit", "clinic", "lab-a", "--bits", 0.1)
    done("release", "clinic", "lab-a", "diagnosis", "--out", "a.csv")
    done("receipt", "clinic", 3, "--html", "receipt.html")
    said = done("verify", "clinic", "--receipt", "receipt.html").out
    assert said.startswith("4 entries, 1 release: everything is as recorded")
    before = names_in(Path())
    assert "overlap" in refused(5, "init", "other", *table, "--ledger", postgres_url)
    assert names_in(Path()) == before
    done("init", "other", *table, "--ledger", postgres_url, "--accept-reset")


def test_a_server_that_does_not_answer(patients: str) -> None:
    address = f"postgresql://user:{PASSWORD}@127.0.0.1:1/clinic"
    said = refused(
        5,
        "init",
        "clinic",
        "--table",
        patients,
        "--id",
        "patient_id",
        *PRIVATE,
        "--ledger",
        address,
    )
    assert "check that the server runs and that the address is right" in said
    assert PASSWORD not in said
    assert names_in(Path()) == []


def test_a_table_on_a_server_that_does_not_answer() -> None:
    address = f"postgresql://user:{PASSWORD}@127.0.0.1:1/clinic#patients"
    said = refused(4, "init", "clinic", "--table", address, "--id", "patient_id", *PRIVATE)
    assert "cannot be read" in said
    assert PASSWORD not in said
    assert names_in(Path()) == []
