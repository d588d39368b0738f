"""Merged letters in the ledger: recorded, proved again, and refused where they are forged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.ledger import Entry
from tacit.study import Study, verify_study
from tests.study.clinic import intents_of, make_clinic
from tests.study.exact import exact_bits
from tests.study.filled_clinic import assert_found
from tests.study.forging import Edit, forge, forge_last

ROUNDING = 1e-9
"""Bounds are computed in floats and rounded up."""

ASKED = ("age", "age", "smoker", "age", "diagnosis", "smoker")
"""By lab-a, one after another: 144 different answers in all, of which 80 are kept apart."""


def visit(study: Study, place: Path, number: int) -> None:
    study.release(
        "lab-a",
        ASKED[number],
        bits=0.1 + number / 100,
        out=place / f"{number}.csv",
        accept=["disclosure"],
    )


@pytest.fixture(scope="module", autouse=True)
def few_letters() -> Iterator[None]:
    """No view keeps more than 80 letters apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.scheme.bounded_memory.MOST_LETTERS", 80)
        yield


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of which a party was told so much that letters were merged."""
    place = tmp_path_factory.mktemp("returning")
    with make_clinic(place, everyone=1.5) as study:
        study.set_limit("lab-a", 1.2)
        study.set_limit("lab-b", 0.5)
        study.set_limit("everyone", 1.5)
        study.set_limit("any 2", 1.3)
        for number in range(len(ASKED)):
            visit(study, place, number)
            if number == 2:
                study.release("lab-b", "age", bits=0.05, out=place / "b.csv")
    return place / "clinic"


@pytest.fixture
def returning(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "clinic")
    return tmp_path / "clinic"


def test_merges_are_recorded_and_the_bounds_stay_above_the_truth(original: Path) -> None:
    assert verify_study(original).problems == ()
    last = intents_of(original)[-1].body
    assert {tuple(each["parties"]) for each in last["merges"]} == {("lab-a",), ("lab-a", "lab-b")}
    assert all(max(each["labels"]) < len(each["labels"]) - 1 for each in last["merges"])
    for holding in last["holdings"]:
        held = float(exact_bits(original, holding["parties"]).mid())
        assert held <= holding["bits"] + ROUNDING
        if not holding["is_covered"]:
            assert holding["bits"] <= held + 0.01 * holding["limit"]


def test_status_and_quote_say_how_loose_a_bound_is(original: Path) -> None:
    with Study.open(original) as study:
        own = study.status().parties[0].as_dict()
        quoted = study.quote("lab-a", "age", bits=0.05).own.as_dict()
    for said in (own, quoted):
        assert 2 < said["letters"] <= 80
        assert 0 <= said["slack_share"] == said["slack"] / said["limit"] <= 0.01


def merge_all(slack: float) -> Edit:
    """Every letter of lab-a becomes one."""

    def edit(body: dict[str, Any]) -> None:
        own = body["merges"][0]
        labels = [min(label, 0) for label in own["labels"]]
        body["merges"] = [own | {"labels": labels, "slack": slack}, *body["merges"][1:]]

    return edit


def change(**fields: Any) -> Edit:
    """Other fields of the first merge."""

    def edit(body: dict[str, Any]) -> None:
        body["merges"] = [body["merges"][0] | fields, *body["merges"][1:]]

    return edit


def change_labels(make: Any) -> Edit:
    def edit(body: dict[str, Any]) -> None:
        change(labels=make(body["merges"][0]["labels"]))(body)

    return edit


def say(**fields: Any) -> Edit:
    """Other fields of the first holding."""

    def edit(body: dict[str, Any]) -> None:
        body["holdings"] = [body["holdings"][0] | fields, *body["holdings"][1:]]

    return edit


FORGED: dict[str, tuple[Edit, str]] = {
    "another slack of what is held": (say(slack=0.02), "letters at a slack of 0.02"),
    "other letters of what is held": (say(letters=3), "is said to hold 3 letters"),
    "a larger slack": (change(slack=0.01), "merging letters of lab-a costs 0.0000"),
    "no slack": (merge_all(0.0), "merging letters of lab-a costs"),
    "too small a slack": (merge_all(0.1), "merging letters of lab-a costs"),
    "a negative slack": (change(slack=-0.1), "slack"),
    "labels with gaps": (change_labels(lambda labels: [10**9, *labels[1:]]), "have gaps"),
    "too few labels": (change_labels(lambda labels: labels[:-1]), "merges name 143 letters"),
    "a letter without label": (
        change_labels(lambda labels: [-1 if each == 79 else each for each in labels]),
        "give a label for every letter that occurs",
    ),
    "a coalition that holds nothing": (change(parties=["nobody"]), "there are none to merge"),
    "a coalition twice": (change(parties=["lab-a", "lab-a"]), "one is twice"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_forged_merges_are_found(returning: Path, forged: str) -> None:
    edit, said = FORGED[forged]
    forge_last(returning, "intent", edit)
    assert_found(verify_study(returning), "entry 17", said)


def test_forged_classes_are_found(returning: Path) -> None:
    """What the first release says of classes, and its table does not fit."""

    def edited(entries: list[Entry]) -> list[Entry]:
        first = next(entry for entry in entries if entry.kind == "intent")
        body = deepcopy(dict(first.body))
        body["question"].update(letter_of_cell=[0] * 8 + [1] * 4)
        return [replace(entry, body=body) if entry is first else entry for entry in entries]

    forge(returning, edited)
    assert_found(verify_study(returning), "a recorded channel of", "its shape is")


def test_coalitions_that_matter_later_are_rebuilt_alike_every_time(tmp_path: Path) -> None:
    """Nothing is recorded for them: their letters are kept apart until their next release."""
    folder = tmp_path / "clinic"
    with make_clinic(tmp_path, everyone=1.5) as study:
        study.set_limit("lab-a", 1.2)
        study.set_limit("lab-b", 0.5)
        for number in range(3):
            visit(study, tmp_path, number)
        study.release("lab-b", "age", bits=0.05, out=tmp_path / "b.csv")
        study.set_limit("everyone", 1.5)
        study.set_limit("any 2", 1.3)
        for number in range(3, 6):
            visit(study, tmp_path, number)
        shown = study.status()
    with Study.open(folder) as again:
        assert again.status() == shown
    assert verify_study(folder).problems == ()
    [pair] = shown.coalitions
    held = float(exact_bits(folder, pair.parties).mid())
    assert held <= pair.held <= held + pair.slack + ROUNDING
