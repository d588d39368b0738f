"""Damaged files of a study: found before anything is drawn, or computed anew; never believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.errors import TacitError
from tacit.study import Study, verify_study
from tests.redteam import damage
from tests.redteam.damage import Damage
from tests.redteam.restoring import read_answers
from tests.redteam.studies import make_hospital, write_patients

NEW = ("lab-a", "diagnosis", 0.1)
OLD = ("lab-b", "diagnosis", 0.2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies of tables of the same size, with two releases each."""
    place = tmp_path_factory.mktemp("damage")
    for name, seed in (("other", 5), ("clinic", 0)):
        write_patients(place / "patients.csv", seed=seed)
        with make_hospital(place, name) as study:
            for party in ("lab-a", "lab-b"):
                study.set_party(party, 0.5)
            study.release("lab-a", "age", bits=0.2, out=place / f"{name}-a.csv")
            study.release("lab-b", "diagnosis", bits=0.2, out=place / f"{name}-b.csv")
    return place


@pytest.fixture
def victim(made: Path, tmp_path: Path) -> Path:
    """A copy of the study that may be spoiled."""
    shutil.copytree(made / "clinic", tmp_path / "victim")
    return tmp_path / "victim"


def answered(folder: Path, target: Path, wanted: tuple[str, str, float]) -> str:
    """Ask for a release; what a refusal says, or nothing."""
    party, question, bits = wanted
    try:
        with Study.open(folder) as study:
            study.release(party, question, bits=bits, out=target)
    except TacitError as error:
        return str(error)
    return ""


def assert_refused(folder: Path, target: Path) -> None:
    """Neither an old release nor a new one comes out, and a file that is there stays."""
    target.write_text("kept")
    for wanted in (OLD, NEW):
        said = answered(folder, target, wanted)
        assert said
        assert "\n" not in said
        assert target.read_text() == "kept"


@pytest.mark.parametrize(
    "spoil", [*damage.OTHERS, damage.change_a_cell, damage.truncate_description]
)
def test_what_cannot_be_used_is_refused(made: Path, victim: Path, spoil: Damage) -> None:
    spoil(victim, made / "other")
    assert_refused(victim, victim.parent / "out.csv")


@pytest.mark.parametrize("spoil", [damage.truncate_states, damage.empty_states])
def test_states_that_are_not_whole_are_computed_anew(
    made: Path, victim: Path, spoil: Damage
) -> None:
    spoil(victim, made / "other")
    target = victim.parent / "out.csv"
    assert answered(victim, target, OLD) == ""
    assert read_answers(target) == read_answers(made / "clinic-b.csv")
    assert verify_study(victim).is_whole


@pytest.mark.parametrize(
    "spoil",
    [
        damage.swap_two_records,
        damage.rotate_records,
        damage.change_a_cell,
        damage.truncate_cells,
        damage.truncate_ids,
        damage.truncate_description,
        damage.truncate_key,
        damage.take_key_of_another_study,
        damage.take_ledger_of_another_study,
    ],
)
def test_verify_names_what_is_damaged(made: Path, victim: Path, spoil: Damage) -> None:
    spoil(victim, made / "other")
    found = verify_study(victim)
    assert not found.is_whole
    assert all("\n" not in problem for problem in found.problems)
