"""The custodian's whole week on every ledger, and several studies in one."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tacit
from tacit.errors import InfeasibleError, LedgerError
from tacit.ledger import Ledger
from tacit.study import Study, estimate_file, verify_study
from tacit.study.folder import Configuration
from tests.study.clinic import (
    entries_of,
    files_in,
    intents_of,
    make_clinic,
    read_patients,
    read_release,
    write_patients,
    write_rows,
)
from tests.study.doomed import Doomed, Ended


def test_the_whole_story(tmp_path: Path, ledger: str) -> None:
    """Everything that is told depends on the table alone, so both ledgers tell the same."""
    folder = tmp_path / "clinic"
    with make_clinic(tmp_path, ledger, external=["outcome"], everyone=0.6) as study:
        study.set_limit("lab-a", 0.3)
        study.set_limit("lab-b", 0.3)
        study.set_limit("everyone", 0.6)
        study.set_limit("lab-a+lab-b", 0.5)
        quote = study.quote("lab-a", "diagnosis", bits=0.2)
        first = study.release("lab-a", "diagnosis", out=tmp_path / "a.parquet", bits=0.2)
        assert study.receipt(first.entry).value == quote.value < quote.blind
        study.release("lab-b", "outcome", out=tmp_path / "b.csv")
        with pytest.raises(InfeasibleError, match="lab-b"):
            study.release("lab-b", sql="smoker or age > 65", out=tmp_path / "c.csv")
        study.release("lab-a", "age", out=tmp_path / "d.csv", utility="absolute")
        standing = study.status()
        assert all(each.held < each.limit for each in (*standing.parties, *standing.coalitions))
        assert {each.name for each in standing.coalitions} == {"everyone"}
        assert "as predicted" in study.audit(records=2000).as_text()
    with Study.open(folder) as study:
        again = study.release("lab-a", "diagnosis", out=tmp_path / "again.parquet", bits=0.2)
        assert again == first
        assert study.status() == standing
        study.receipt(first.entry).write(tmp_path / "receipt.json")
        study.destroy_key()
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "a.parquet").read_bytes()
    assert verify_study(folder, tmp_path / "receipt.json").is_whole
    estimate = estimate_file(tmp_path / "a.parquet")
    assert (estimate.n, [level.level for level in estimate.levels]) == (200, ["asthma", "dementia"])
    kinds = ["intent", "delivered"] * 3 + ["closed"]
    assert [entry.kind for entry in entries_of(folder)][-7:] == kinds
    assert len(intents_of(folder)) == 3


def test_the_api_is_reached_from_the_package(tmp_path: Path) -> None:
    write_patients(tmp_path / "patients.csv")
    with tacit.Study.create(
        tmp_path / "clinic", str(tmp_path / "patients.csv"), id="patient", private=["diagnosis"]
    ) as study:
        assert study.status().records == 200
    with tacit.Study.open(tmp_path / "clinic") as study:
        assert [attribute.name for attribute in study.attributes] == ["diagnosis"]


# -- several studies in one ledger ------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a ledger that several studies are to share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.sqlite'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def places(tmp_path: Path, shared: str) -> Iterator[list[Path]]:
    """Two places, and a study of 200 patients in the first."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with make_clinic(folders[0], shared):
        yield folders


def test_the_same_records_again_are_refused(places: list[Path], shared: str) -> None:
    """Nothing of the attempt is left, so that it can be made again."""
    shutil.copy(places[0] / "patients.csv", places[1])
    before = files_in(places[1])
    for _ in range(2):
        with pytest.raises(LedgerError, match="100%"):
            make_clinic(places[1], shared)
        assert files_in(places[1]) == before
    assert [path.name for path in places[1].iterdir()] == ["patients.csv"]
    with Ledger.open(shared) as ledger:
        assert len(ledger.studies()) == 1


def test_a_part_of_the_records_is_refused_too(places: list[Path], shared: str) -> None:
    """In another order, with other columns, and among others."""
    known = read_patients(places[0] / "patients.csv")[:20]
    strangers = read_patients(write_patients(places[1] / "strangers.csv", 80, seed=1, first=500))
    write_rows(places[1] / "patients.csv", [*strangers, *known])
    with pytest.raises(LedgerError, match="20%"):
        make_clinic(places[1], shared, private=["smoker"])
    assert not (places[1] / "clinic").exists()


def test_other_records_are_welcome(places: list[Path], shared: str) -> None:
    write_patients(places[1] / "patients.csv", first=500)
    with make_clinic(places[1], shared) as study:
        study.set_limit("lab-a", 0.3)
        study.release("lab-a", "age", out=places[1] / "a.csv")
    with Ledger.open(shared) as ledger:
        assert len(ledger.studies()) == 2
    for place in places:
        assert verify_study(place / "clinic").is_whole


def test_a_reset_that_is_accepted_counts_anew(places: list[Path], shared: str) -> None:
    shutil.copy(places[0] / "patients.csv", places[1])
    with make_clinic(places[1], shared, accept_reset=True) as second:
        second.set_limit("lab-a", 0.3)
        assert second.status().parties[0].held == 0
        second.release("lab-a", "age", out=places[1] / "a.csv")
        with Study.open(places[0] / "clinic") as first:
            first.set_limit("lab-a", 0.3)
            first.release("lab-a", "age", out=places[0] / "a.csv")
    records = [{row[0] for row in read_release(place / "a.csv")[1]} for place in places]
    assert not records[0] & records[1]


# -- interrupted ------------------------------------------------------------------------------


def test_init_that_is_killed_is_made_again(tmp_path: Path, shared: str, server: Doomed) -> None:
    """Before the folder is there, nothing is; once it is registered, everything is. In between, a
    folder is left that says what to do with it.
    """
    Ledger.create(shared).close()
    making = Making(tmp_path, shared, server)
    whole = making.rehearse()
    assert whole.code == 0, whole.output
    seen = [making.killed(point, whole.steps[point - 1]) for point in whole.kill_points]
    assert set(seen) == {"nothing", "a folder", "a study"}


@dataclass(frozen=True, slots=True)
class Making:
    """Studies that are made one after the other, each of records of its own."""

    tmp_path: Path
    ledger: str
    server: Doomed

    def place(self, number: int) -> Path:
        return self.tmp_path / str(number)

    def rehearse(self) -> Ended:
        servers = [self.ledger] if self.ledger.startswith("postgresql") else []
        return self.server.rehearse(*self._words(0), places=[self.tmp_path, *servers])

    def init(self, number: int, die_at: int | None = None) -> Ended:
        return self.server.run(*self._words(number), die_at=die_at)

    def _words(self, number: int) -> tuple[str, ...]:
        place = self.place(number)
        place.mkdir(exist_ok=True)
        table = write_patients(place / "patients.csv", 50, first=1000 * number)
        words = ("init", str(place / "clinic"), "--table", str(table), "--id", "patient")
        options = ("--private", "diagnosis", "--private", "smoker", "--ledger", self.ledger)
        return (*words, *options)

    def killed(self, point: int, step: str) -> str:
        """Die at a step, and make the study again; what was there in between."""
        ended = self.init(point, die_at=point)
        assert (ended.code, ended.steps[-1]) == (-signal.SIGKILL, step)
        found = self._found(point)
        if found == "a folder":
            told = self.server.run("status", str(self.place(point) / "clinic"))
            assert told.code != 0
            assert len(told.output.splitlines()) == 1
            assert "tacit init" in told.output
            shutil.rmtree(self.place(point) / "clinic")
        again = self.init(point)
        assert (again.code == 0) == (found != "a study"), again.output
        assert {path.name for path in self.place(point).iterdir()} == {"clinic", "patients.csv"}
        assert verify_study(self.place(point) / "clinic").is_whole
        return found

    def _found(self, number: int) -> str:
        folder = self.place(number) / "clinic"
        if not folder.exists():
            return "nothing"
        with Ledger.open(self.ledger) as ledger:
            is_registered = Configuration.read(folder).study in ledger.studies()
        return "a study" if is_registered else "a folder"
