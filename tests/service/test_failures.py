"""Every error of tacit has a status, and tells what it carries."""

from __future__ import annotations

import json
from math import inf

import pytest

from tacit import errors
from tacit.errors import AcceptanceError, CeilingError, InfeasibleError, Suggestion, TacitError
from tacit.service.failures import STATUS, failure_of

KINDS = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, TacitError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_status(kind: type[TacitError]) -> None:
    if issubclass(kind, (InfeasibleError, AcceptanceError)):  # they carry data
        return
    failure = failure_of(kind("what to do"))
    assert failure.status == next(s for each, s in STATUS.items() if issubclass(kind, each))
    assert failure.as_dict()["error"] == {
        "kind": kind.__name__,
        "message": "what to do",
        "suggestions": [],
    }


def test_what_an_error_carries_is_told() -> None:
    suggestion = Suggestion("release", {"party": "a", "bits": inf})
    refusal = InfeasibleError(frozenset({"a"}), inf, 0.5, suggestions=[suggestion])
    told = json.loads(json.dumps(failure_of(refusal).as_dict(), allow_nan=False))["error"]
    assert told["coalition"] == ["a"]
    assert told["limit_bits"] is None
    assert told["held_bits"] == 0.5
    assert told["suggestions"] == [{"action": "release", "party": "a", "bits": None}]
    found = failure_of(AcceptanceError("rows", "two rows of a person", most=2)).as_dict()["error"]
    assert (found["code"], found["figures"]) == ("rows", {"most": 2})
    ceiling = failure_of(CeilingError("old", 0.1, 0.2)).as_dict()["error"]
    assert (ceiling["level"], ceiling["ceiling"], ceiling["reachable"]) == ("old", 0.1, 0.2)


def test_an_error_inside_says_nothing_of_the_machine() -> None:
    failure = failure_of(FileNotFoundError(2, "No such file", "/secret/place"))
    assert failure.status == 503
    assert "/secret" not in str(failure.as_dict())
    assert failure_of(ZeroDivisionError("x")).status == 500
