"""Damaged files of a study: found before anything is drawn, or computed anew; never believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.errors import TacitError
from tacit.study import Study, verify_study
from tests.redteam import damage
from tests.redteam.damage import Damage
from tests.redteam.replay import replay
from tests.redteam.restoring import read_answers
from tests.redteam.studies import make_hospital, write_patients
from tests.words import in_words

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
                study.set_limit(party, 0.5)
            study.release(
                "lab-a", "age", bits=0.2, out=place / f"{name}-a.csv", accept=["disclosure"]
            )
            study.release(
                "lab-b", "diagnosis", bits=0.2, out=place / f"{name}-b.csv", accept=["disclosure"]
            )
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
            study.release(
                party, question, bits=bits, out=target, overwrite=True, accept=["disclosure"]
            )
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


def test_zeroed_states_would_break_a_limit(tmp_path: Path) -> None:
    """Why states must not be believed: what would be held if every record were in state 0."""
    with make_hospital(tmp_path) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.35)
        study.set_limit("any 2", 0.3)
        study.release("lab-a", "diagnosis", bits=0.2, out=tmp_path / "a.csv", accept=["disclosure"])
        number = study.release(
            "lab-b", "age", bits=0.2, out=tmp_path / "b.csv", accept=["disclosure"]
        ).entry
    both = frozenset({"lab-a", "lab-b"})
    assert replay(tmp_path / "clinic").faults == []
    zeroed = replay(tmp_path / "clinic", {number: dict.fromkeys(range(8), 0)})
    assert float(zeroed.held[number][both]) > 0.305
    assert any("the limit of lab-a + lab-b is 0.3" in fault for fault in zeroed.faults)


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
        damage.take_ids_of_another_study,
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
    assert all("\n" not in problem for problem in in_words(found.problems))


# -- states of the right size --------------------------------------------------------------------


@pytest.mark.parametrize("spoil", damage.STATES)
def test_damaged_states_change_nothing(made: Path, victim: Path, spoil: Damage) -> None:
    """An old release and a new one are as they would be with good states."""
    twin = victim.parent / "twin"
    shutil.copytree(made / "clinic", twin)
    spoil(victim, made / "other")
    for wanted in (OLD, NEW):
        files = victim.parent / "victim.csv", victim.parent / "twin.csv"
        assert answered(victim, files[0], wanted) == ""
        assert answered(twin, files[1], wanted) == ""
        assert read_answers(files[0]) == read_answers(files[1])
    assert replay(victim).faults == []


@pytest.mark.parametrize(
    "spoil", [each for each in damage.STATES if each is not damage.flip_one_state]
)
def test_verify_names_damaged_states(made: Path, victim: Path, spoil: Damage) -> None:
    spoil(victim, made / "other")
    found = verify_study(victim)
    said = in_words([*found.problems, *found.notes])
    assert any("states" in each for each in said), said


@pytest.mark.parametrize("spoil", damage.SNAPSHOT)
def test_a_damaged_snapshot_is_not_used(made: Path, victim: Path, spoil: Damage) -> None:
    spoil(victim, made / "other")
    assert_refused(victim, victim.parent / "out.csv")
