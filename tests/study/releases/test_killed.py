"""``kill -9`` at any moment, then the same command: the same file, one intent, spent once."""

from __future__ import annotations

import os
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tacit.study import Study, StudyStatus, verify_study
from tests.study.clinic import entries_of, files_in, make_clinic
from tests.study.doomed import Doomed, Ended

FEWEST_POINTS = 15


@dataclass(frozen=True, slots=True)
class Scene:
    """A study with a past, put back to the same state before each death.

    Attributes:
        place: of the study's folder and of release files.
        kept: a copy of all that is there.
        ledger: address of the ledger, unless it is in the folder.
        n_entries: in the ledger.
    """

    place: Path
    kept: Path
    ledger: str
    n_entries: int

    @property
    def folder(self) -> Path:
        return self.place / "clinic"

    @property
    def target(self) -> Path:
        return self.place / "lab-a.parquet"

    @property
    def command(self) -> tuple[str, ...]:
        words = ("release", str(self.folder), "lab-a", "diagnosis", "--bits", "0.1")
        return (*words, "--out", str(self.target))

    @property
    def places(self) -> list[Path | str]:
        """All that a command may change."""
        return [self.place, *([self.ledger] if self.ledger != "folder" else [])]

    def put_back(self) -> None:
        shutil.rmtree(self.place)
        shutil.copytree(self.kept, self.place)
        if self.ledger != "folder":
            with psycopg.connect(self.ledger) as connection:
                connection.execute("ALTER TABLE tacit_entries DISABLE TRIGGER USER")
                connection.execute("DELETE FROM tacit_entries WHERE number > %s", (self.n_entries,))
                connection.execute("ALTER TABLE tacit_entries ENABLE TRIGGER USER")

    def files(self) -> set[str]:
        """Names of all files, without the hash of an entry, which is never the same twice."""
        return {re.sub(r"-[0-9a-f]{16}\b", "", name) for name in files_in(self.place)}


@pytest.fixture
def scene(tmp_path: Path, ledger: str) -> Scene:
    """Three releases to others lie behind, and the source looks as if it might have changed."""
    place = tmp_path / "place"
    place.mkdir()
    with make_clinic(place, ledger) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.3)
        for number in range(3):
            study.release("lab-b", "age", out=place / f"{number}.csv", bits=(number + 1) / 64)
    os.utime(place / "patients.csv", (0, 0))
    shutil.copytree(place, tmp_path / "kept")
    return Scene(place, tmp_path / "kept", ledger, len(entries_of(place / "clinic")))


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What the command does when nobody disturbs it."""

    ended: Ended
    files: set[str]
    status: StudyStatus


def undisturbed(scene: Scene, server: Doomed) -> Undisturbed:
    ended = server.rehearse(*scene.command, places=scene.places)
    assert ended.code == 0, ended.output
    with Study.open(scene.folder) as study:
        return Undisturbed(ended, scene.files(), study.status())


@pytest.mark.slow
def test_killed_at_many_points(scene: Scene, server: Doomed) -> None:
    expected = undisturbed(scene, server)
    points = expected.ended.kill_points
    assert len(points) >= FEWEST_POINTS
    n_recorded_before = []
    for point in points:
        scene.put_back()
        killed = server.run(*scene.command, die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        assert killed.steps == expected.ended.steps[:point]
        n_recorded_before.append(len(entries_of(scene.folder)) - scene.n_entries)
        left = scene.target.read_bytes() if scene.target.exists() else None
        again = server.run(*scene.command)
        assert again.code == 0, again.output
        assert left in (None, scene.target.read_bytes())
        assert_answered_once(scene, expected)
    assert n_recorded_before == sorted(n_recorded_before)
    assert set(n_recorded_before) == {0, 1, 2}  # before the intent, before the delivery, after


def assert_answered_once(scene: Scene, expected: Undisturbed) -> None:
    kinds = [entry.kind for entry in entries_of(scene.folder)[scene.n_entries :]]
    assert kinds == ["intent", "delivered"]
    assert scene.files() == expected.files
    with Study.open(scene.folder) as study:
        status = study.status()
        assert status.parties == expected.status.parties
        assert status.coalitions == expected.status.coalitions
        assert status.undelivered == ()
        found = verify_study(scene.folder)
        assert found.problems == ()
        # Once more, in another process, and from nothing but key, ledger and snapshot.
        shutil.rmtree(scene.folder / "states")
        other = scene.place / "other.parquet"
        study.release("lab-a", "diagnosis", out=other, bits=0.1)
    assert other.read_bytes() == scene.target.read_bytes()


def test_the_helper_notices_what_is_left_and_what_is_spent_twice(
    scene: Scene, server: Doomed
) -> None:
    expected = undisturbed(scene, server)
    assert_answered_once(scene, expected)
    scene.put_back()
    assert server.run(*scene.command).code == 0
    (scene.place / ".lab-a.parquet.partial").touch()
    with pytest.raises(AssertionError):
        assert_answered_once(scene, expected)
    (scene.place / ".lab-a.parquet.partial").unlink()
    assert server.run(*scene.command, "--again", "--force").code == 0
    with pytest.raises(AssertionError):
        assert_answered_once(scene, expected)


@pytest.mark.slow
def test_killed_while_closing(scene: Scene, server: Doomed) -> None:
    """Closing again finishes what was begun: the key is gone, and all can still be verified."""
    command = ("close", str(scene.folder), "--yes")
    whole = server.rehearse(*command, places=scene.places)
    n_closed_before = []
    for point in whole.kill_points:
        scene.put_back()
        killed = server.run(*command, die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        n_closed_before.append(len(entries_of(scene.folder)) - scene.n_entries)
        again = server.run(*command)
        assert again.code == 0, again.output
        assert not (scene.folder / "key").exists()
        assert [entry.kind for entry in entries_of(scene.folder)].count("closed") == 1
        found = verify_study(scene.folder)
        assert (found.problems, found.releases) == ((), 3)
        assert not [name for name in scene.files() if name.endswith(".partial")]
    assert n_closed_before == sorted(n_closed_before)
    assert set(n_closed_before) == {0, 1}
