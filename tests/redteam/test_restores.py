"""Restored and copied studies: nobody gets a second, independent draw of the same release."""

from __future__ import annotations

import shutil
import signal
from math import inf
from pathlib import Path

import pytest

from tacit.study import Study, verify_study
from tests.cli.clinic import done, refused
from tests.redteam.raw_ledger import read_ledger
from tests.redteam.replay import replay
from tests.redteam.restoring import (
    ASKED,
    BITS,
    Loot,
    Scene,
    put_back_ledger,
    read_answers,
    repeat,
    share_guessed,
)
from tests.redteam.studies import ledger_file
from tests.study.doomed import Doomed


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene.make(tmp_path)


@pytest.mark.slow
def test_independent_draws_would_give_the_records_away(scene: Scene) -> None:
    """The attack as it would be: the helper shows a rise where draws really are independent."""
    with Study.open(scene.folder) as study:
        study.set_limit("everyone", inf)
        study.set_limit("lab-a", 3.0)
        files = []
        for number in range(8):
            target = scene.place / f"{number}.csv"
            study.release("lab-a", ASKED, bits=BITS, again=True, out=target, accept=["disclosure"])
            files.append(read_answers(target))
    assert share_guessed(scene, files) > share_guessed(scene, files[:1]) + 0.1


def test_nothing_is_restored(scene: Scene) -> None:
    loot = repeat(scene, lambda _: None)
    assert len(loot.files) == 1
    assert loot.refusals == []


def test_states_are_restored(tmp_path: Path) -> None:
    """Older states, other states or none: the file is the same."""
    scene = Scene.make(tmp_path, n_releases=3)
    loot = Loot()
    loot.ask(scene.folder, tmp_path / "0.csv")
    shutil.rmtree(scene.folder / "states")
    shutil.copytree(scene.kept / "states", scene.folder / "states")
    loot.ask(scene.folder, tmp_path / "1.csv")
    shutil.rmtree(scene.folder / "states")
    loot.ask(scene.folder, tmp_path / "2.csv")
    assert (len(loot.files), loot.refusals) == (1, [])


# -- restored ledgers ----------------------------------------------------------------------------


def assert_nothing_gained(scene: Scene, loot: Loot) -> None:
    """All files say the same, so that twelve tell what one tells."""
    assert len(loot.files) == 1
    assert share_guessed(scene, loot.files) < 0.75


def test_the_folder_is_restored_twelve_times(scene: Scene) -> None:
    loot = repeat(scene, Scene.restore_folder)
    loot.ask(scene.folder, scene.place / "last.csv")
    assert_nothing_gained(scene, loot)
    assert loot.refusals == []


def test_the_folder_is_restored_and_the_file_is_still_there(scene: Scene) -> None:
    """A certificate beside the file tells of a release that the restored ledger lacks."""
    loot = Loot()
    loot.ask(scene.folder, scene.place / "0.csv")
    scene.restore_folder()
    loot.ask(scene.folder, scene.place / "0.csv", BITS + 0.001)
    assert (len(loot.files), len(loot.refusals)) == (1, 1)
    assert read_answers(scene.place / "0.csv") in loot.files


def test_the_folder_is_restored_after_earlier_releases(tmp_path: Path) -> None:
    scene = Scene.make(tmp_path, n_releases=2)
    loot = repeat(scene, Scene.restore_folder, times=3)
    assert (len(loot.files), loot.refusals) == (1, [])


def test_the_ledger_alone_is_restored(scene: Scene) -> None:
    loot = repeat(scene, Scene.restore_ledger)
    assert len(loot.files) == 1
    assert len(loot.refusals) == 11
    for said in loot.refusals:
        assert "has lost entries" in said
        assert "the rollback can be accepted" in said
        assert "put the newest backup back" in said


@pytest.mark.parametrize("removed", ["high-water.json", "states", "both"])
def test_traces_of_a_rollback_are_removed(scene: Scene, removed: str) -> None:
    """One trace left is enough; without any, the draw is the same as before."""
    loot = Loot()
    loot.ask(scene.folder, scene.place / "0.csv")
    scene.restore_ledger()
    if removed != "states":
        (scene.folder / "high-water.json").unlink()
    if removed != "high-water.json":
        shutil.rmtree(scene.folder / "states")
    loot.ask(scene.folder, scene.place / "1.csv")
    assert len(loot.files) == 1
    assert len(loot.refusals) == (0 if removed == "both" else 1)


@pytest.mark.parametrize("bits", [BITS, BITS + 0.001])
def test_another_request_after_the_ledger_alone_was_restored(scene: Scene, bits: float) -> None:
    """Another table would be an independent draw: it is refused, and nothing is lost by that."""
    loot = Loot()
    loot.ask(scene.folder, scene.place / "0.csv")
    traces = {path.name for path in (scene.folder / "states").iterdir()}
    scene.restore_ledger()
    loot.ask(scene.folder, scene.place / "1.csv", bits)
    assert len(loot.refusals) == 1
    assert {path.name for path in (scene.folder / "states").iterdir()} == traces
    assert not verify_study(scene.folder).is_whole
    said = refused(5, "limit", scene.folder, "lab-c", "--bits", "0.1")
    assert "has lost entries" in said


def test_a_rollback_that_is_accepted_is_recorded(scene: Scene) -> None:
    loot = Loot()
    loot.ask(scene.folder, scene.place / "0.csv")
    scene.restore_ledger()
    words = ["release", scene.folder, "lab-a", ASKED, "--bits", BITS, "--accept-rollback"]
    done(*words, "--out", scene.place / "1.csv")
    kinds = [row.kind for row in read_ledger(scene.folder).rows]
    assert kinds[-3:] == ["rollback", "intent", "delivered"]
    assert read_answers(scene.place / "1.csv") in loot.files
    loot.ask(scene.folder, scene.place / "2.csv")
    assert (len(loot.files), loot.refusals) == (1, [])
    assert replay(scene.folder).faults == []


def test_the_folder_is_copied_elsewhere(scene: Scene) -> None:
    """Another path, as on another machine: the same command gives the same file."""
    loot = Loot()
    for number in range(4):
        elsewhere = scene.place / f"machine-{number}" / "study"
        shutil.copytree(scene.kept, elsewhere)
        loot.ask(elsewhere, scene.place / f"{number}.csv")
    scene.restore_folder()
    loot.ask(scene.folder, scene.place / "last.csv")
    assert_nothing_gained(scene, loot)
    assert loot.refusals == []


# -- a plain copy of the ledger's file ------------------------------------------------------------


def test_a_plain_copy_after_a_kill_has_every_intent(scene: Scene, server: Doomed) -> None:
    """``kill -9`` right after a release; then only ledger.sqlite is copied, and restored later."""
    words = ("release", str(scene.folder), "lab-a", ASKED, "--bits", str(BITS), "--out")
    copy = scene.place / "copy.sqlite"
    steps = server.rehearse(*words, str(scene.place / "whole.csv")).steps
    for point in points_after_the_file(steps):
        scene.restore_folder()
        target = scene.place / f"{point}.csv"
        killed = server.run(*words, str(target), die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        assert target.exists()
        shutil.copyfile(ledger_file(scene.folder), copy)
        put_back_ledger(scene.folder, copy)
        assert "intent" in [row.kind for row in read_ledger(scene.folder).rows]


def points_after_the_file(steps: list[str]) -> list[int]:
    """The last two files that were put in their place, and the last entry that was recorded."""
    placed = [number for number, step in enumerate(steps, 1) if step == "after posix replace"]
    recorded = [number for number, step in enumerate(steps, 1) if step == "after sqlite commit"]
    return [*placed[-2:], recorded[-1]]
