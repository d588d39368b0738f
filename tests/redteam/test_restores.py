"""Restored and copied studies: nobody gets a second, independent draw of the same release."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.study import Study
from tests.redteam.restoring import ASKED, BITS, Loot, Scene, read_answers, repeat, share_guessed


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene.make(tmp_path)


def test_independent_draws_would_give_the_records_away(scene: Scene) -> None:
    """The attack as it would be: the helper shows a rise where draws really are independent."""
    with Study.open(scene.folder) as study:
        study.set_collusion(type(study.policy)())
        study.set_party("lab-a", 3.0)
        files = []
        for number in range(8):
            target = scene.place / f"{number}.csv"
            study.release("lab-a", ASKED, bits=BITS, again=True, out=target)
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
