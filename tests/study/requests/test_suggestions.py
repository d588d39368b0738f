"""What an error suggests is plain data, and names methods and parameters that exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pytest

from tacit import Suggestion, TacitError
from tacit.study import Study, back_up, restore, verify_study
from tests.study.clinic import make_clinic


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Study]:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.3)
        study.set_limit("lab-b", 0.3)
        yield study


def suggested(error: pytest.ExceptionInfo[TacitError]) -> tuple[Suggestion, ...]:
    """The suggestions of an error, each of which can be followed."""
    assert error.value.suggestions
    for each in error.value.suggestions:
        assert json.loads(json.dumps(each.as_dict()))["action"] == each.action
        method = restore if each.action == "restore" else getattr(Study, each.action)
        assert set(each.arguments) <= set(signature(method).parameters)
    return error.value.suggestions


def test_an_unknown_party(clinic: Study) -> None:
    with pytest.raises(TacitError) as error:
        clinic.quote("nobody", "age")
    [suggestion] = suggested(error)
    clinic.set_limit(**suggestion.arguments | {"bits": 0.3})
    assert clinic.quote("nobody", "age").own.added > 0


def test_more_than_is_left(clinic: Study, tmp_path: Path) -> None:
    with pytest.raises(TacitError) as error:
        clinic.release("lab-a", ["age", "smoker"], bits=50.0, out=tmp_path / "a.csv")
    [suggestion] = suggested(error)
    assert suggestion.is_answered
    receipt = clinic.release(**suggestion.arguments, out=tmp_path / "a.csv")
    assert receipt.request == "age,smoker"


def test_limits_on_coalitions_that_are_used_up(clinic: Study, tmp_path: Path) -> None:
    clinic.set_limit("any 2", 0.1)
    clinic.set_limit("lab-a+lab-b", 0.1)
    clinic.release("lab-a", "age", out=tmp_path / "a.csv")
    with pytest.raises(TacitError) as error:
        clinic.release("lab-a", "smoker", out=tmp_path / "b.csv")
    assert {"any 2", "lab-a+lab-b"} <= {each.arguments["whom"] for each in suggested(error)}


def test_paths_may_be_texts(clinic: Study, tmp_path: Path) -> None:
    folder, file = str(tmp_path / "clinic"), str(tmp_path / "a.tar")
    assert back_up(folder, file).entries > 0
    assert restore(file, folder).entries == 0
    assert verify_study(folder).is_whole


def test_an_answer_that_only_keeps_ceilings_is_no_substitute(clinic: Study, tmp_path: Path) -> None:
    clinic.set_limit("everyone", 0.1)
    clinic.release("lab-a", "diagnosis", out=tmp_path / "a.csv")
    clinic.set_limit("lab-c", 0.3)
    clinic.release("lab-c", "age", ceilings={"<=40": 0.1}, out=tmp_path / "b.csv")
    with pytest.raises(TacitError) as error:
        clinic.release("lab-b", "smoker", out=tmp_path / "c.csv")
    [suggestion] = suggested(error)
    assert suggestion.arguments["asked"] == ["diagnosis"]
    clinic.release(**suggestion.arguments, out=tmp_path / "c.csv")
    with pytest.raises(TacitError) as error:
        clinic.release("lab-b", "smoker", out=tmp_path / "d.csv")
    assert [each.action for each in suggested(error)] == ["set_limit"]
