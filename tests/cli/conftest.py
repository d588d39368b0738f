"""Studies that many tests start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import OWN_LEDGER, PRIVATE, copied, done, write_patients, write_rows


@pytest.fixture(scope="session")
def patients(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_patients(tmp_path_factory.mktemp("table") / "patients.csv")


@pytest.fixture(scope="session")
def _fresh(tmp_path_factory: pytest.TempPathFactory, patients: str) -> Path:
    clinic = tmp_path_factory.mktemp("fresh") / "clinic"
    done("init", clinic, "--table", patients, "--id", "patient_id", *PRIVATE, *OWN_LEDGER)
    done("limit", clinic, "lab-a", "--bits", 0.3)
    done("limit", clinic, "lab-b", "--bits", 0.3)
    return clinic


@pytest.fixture(scope="session")
def _used(tmp_path_factory: pytest.TempPathFactory, _fresh: Path) -> Path:
    folder = tmp_path_factory.mktemp("used")
    clinic = copied(_fresh, folder / "clinic")
    done("limit", clinic, "any 2", "--bits", "0.35")
    done("release", clinic, "lab-a", "diagnosis", "--bits", 0.2, "--out", folder / "lab-a.csv")
    done("release", clinic, "lab-b", "age", "--bits", 0.1, "--out", folder / "lab-b.parquet")
    return clinic


@pytest.fixture
def fresh(_fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of lab-a and lab-b with nothing released; the test runs beside it."""
    monkeypatch.chdir(tmp_path)
    copied(_fresh, tmp_path / "clinic")
    return Path("clinic")


@pytest.fixture
def used(_used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with two releases, entries 5 and 7; the test runs beside it."""
    monkeypatch.chdir(tmp_path)
    copied(_used, tmp_path / "clinic")
    return Path("clinic")


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of 20,000 coins, 30 % of them heads."""
    monkeypatch.chdir(tmp_path)
    sides = ["heads"] * 6_000 + ["tails"] * 14_000
    write_rows(Path("coins.csv"), enumerate(sides), ("coin", "side"))
    done("init", "study", "--table", "coins.csv", "--id", "coin", "--private", "side")
    done("limit", "study", "lab", "--bits", 0.2)
    return Path("study")
