"""One ledger for all studies of a user, so that the same people are noticed again."""

from __future__ import annotations

import csv
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidInputError, LedgerError
from tacit.ledger import Sketch
from tacit.study import Study
from tacit.study.folder import Configuration
from tacit.study.setup.creation import least_overlap_noticed
from tests.study.clinic import PRIVATE, entries_of, make_clinic, read_patients, write_patients


def make(place: Path, table: Path, **options: str) -> Study:
    return Study.create(place, str(table), id="patient", private=PRIVATE, **options)  # type: ignore[arg-type]


def with_ids(table: Path, name: str, ids: list[str]) -> Path:
    """The same patients under other ids."""
    target = table.with_name(name)
    with target.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("patient", "age", "diagnosis", "smoker", "outcome"))
        for new, (_, *rest) in zip(ids, read_patients(table), strict=True):
            rows.writerow((new, *rest))
    return target


def test_studies_share_the_named_registry(tmp_path: Path, registry: Path) -> None:
    table = write_patients(tmp_path / "patients.csv")
    with make(tmp_path / "one", table) as study:
        assert study.ledger_shown == f"sqlite:///{registry}"
    assert stat.S_IMODE(registry.stat().st_mode) == 0o600
    with pytest.raises(LedgerError, match="overlap"):
        make(tmp_path / "two", table)
    assert not (tmp_path / "two").exists()


def test_without_a_name_it_is_in_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with make(tmp_path / "one", write_patients(tmp_path / "patients.csv")) as study:
        assert study.ledger_shown.endswith("/data/tacit/ledger.sqlite")
    place = tmp_path / "data" / "tacit"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "ledger.sqlite").stat().st_mode) == 0o600


def test_a_relative_address_is_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with make_clinic(tmp_path, "sqlite:///shared.sqlite"):
        pass
    monkeypatch.chdir("/")
    assert len(entries_of(tmp_path / "clinic")) == 1
    assert Configuration.read(tmp_path / "clinic").ledger == f"sqlite:///{tmp_path}/shared.sqlite"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([f"P{n:04d}" for n in range(200)], [f" p{n:04d} " for n in range(200)]),
        ([str(n) for n in range(200)], [f"{n:08d}" for n in range(200)]),
        ([str(n) for n in range(200)], [f"{n}.0" for n in range(200)]),
        ([f"É{n}" for n in range(200)], [f"e\N{COMBINING ACUTE ACCENT}{n}" for n in range(200)]),
    ],
    ids=["blanks and case", "leading zeros", "decimals", "accents"],
)
def test_the_same_people_under_ids_that_look_alike_are_noticed(
    tmp_path: Path, first: list[str], second: list[str]
) -> None:
    table = write_patients(tmp_path / "patients.csv")
    with make(tmp_path / "one", with_ids(table, "first.csv", first)):
        pass
    with pytest.raises(LedgerError, match=r"overlap .* about 100%"):
        make(tmp_path / "two", with_ids(table, "second.csv", second))


def test_other_people_are_not_taken_for_the_same(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv")
    with make(tmp_path / "one", with_ids(table, "1.csv", [f"{n}" for n in range(200)])):
        pass
    others = [f"{n}.5" for n in range(100)] + [f"-{n}" for n in range(1, 101)]
    with make(tmp_path / "two", with_ids(table, "2.csv", others)):
        pass


def test_one_record_in_both_is_noticed_in_small_tables(tmp_path: Path) -> None:
    assert least_overlap_noticed(4096) == 1
    with make(tmp_path / "one", write_patients(tmp_path / "1.csv", 3000)):
        pass
    with pytest.raises(LedgerError, match="overlap"):
        make(tmp_path / "two", write_patients(tmp_path / "2.csv", 3000, seed=1, first=2999))


def test_the_least_overlap_is_noticed_as_often_as_said() -> None:
    """In 99 of 100 ledgers; each has a salt of its own, and so hashes of its own."""
    n_records, n_hashes, trials = 20_000, 4096, 100
    least = least_overlap_noticed(n_records)
    assert least == 23
    rng = np.random.default_rng(0)
    n_noticed = 0
    for _ in range(trials):
        hashes = rng.integers(0, 2**64, 2 * n_records - least, dtype=np.uint64)
        tables = hashes[:n_records], hashes[n_records - least :]
        one, other = (
            Sketch(n_records, tuple(f"{each:016x}" for each in np.sort(table)[:n_hashes]), "nonce")
            for table in tables
        )
        n_noticed += one.share_in_both(other) > 0
    assert n_noticed >= 96  # fewer in less than 1 of 200 runs, were the seed another one


def test_four_times_the_least_overlap_is_noticed_in_a_large_table(tmp_path: Path) -> None:
    n_records = 20_000
    with make(tmp_path / "one", write_patients(tmp_path / "1.csv", n_records)):
        pass
    first = n_records - 4 * least_overlap_noticed(n_records)  # missed once in 10^8 salts
    with pytest.raises(LedgerError, match="overlap"):
        make(tmp_path / "two", write_patients(tmp_path / "2.csv", n_records, seed=1, first=first))


def test_a_study_killed_before_its_registration_is_made_anew(tmp_path: Path) -> None:
    """Its folder is complete, and the ledger does not know it."""
    table = write_patients(tmp_path / "patients.csv")
    code = (
        "import os, sys; from tacit.ledger import Ledger; from tacit.study import Study\n"
        "from tacit.tables import Column\n"
        "Ledger.register = lambda *a, **k: os._exit(9)\n"
        f"Study.create({str(tmp_path / 'one')!r}, {str(table)!r}, id='patient', "
        f"private={list(PRIVATE)!r})\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False)
    assert killed.returncode == 9
    assert (tmp_path / "one" / "study.json").exists()
    with pytest.raises(LedgerError, match="make it again"):
        Study.open(tmp_path / "one")
    with make(tmp_path / "one", table) as study:
        assert study.status().records == 200


@pytest.mark.parametrize("sign", ["high-water.json", "states"])
def test_a_study_that_was_used_is_never_removed(tmp_path: Path, registry: Path, sign: str) -> None:
    """Its ledger has lost it, which is no reason to destroy its key."""
    table = write_patients(tmp_path / "patients.csv")
    with make(tmp_path / "one", table):
        pass
    registry.unlink()
    with make(tmp_path / "other", table):  # another ledger in the place of the lost one
        pass
    place = tmp_path / "one"
    if sign != "high-water.json":
        (place / "high-water.json").unlink()
    if sign == "states":
        (place / "states").mkdir()
    with pytest.raises(InvalidInputError, match="exists already"):
        make(place, table)
    assert (place / "key").exists()
