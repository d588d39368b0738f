"""Recording and delivering apart: the same release as in one step, spent once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study
from tests.study.clinic import intents_of


class NoError(Exception):
    """What a custodian's refusal raises here."""


def refuse() -> None:
    raise NoError


def test_two_steps_give_what_one_gives(sqlite_study: Study, tmp_path: Path) -> None:
    number = sqlite_study.record("lab-a", "age", bits=0.1)
    assert sqlite_study.status().undelivered == (number,)
    receipt = sqlite_study.deliver(number, tmp_path / "a.csv")
    assert receipt.entry == number
    again = sqlite_study.release("lab-a", "age", bits=0.1, out=tmp_path / "b.csv")
    assert again.entry == number
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert sqlite_study.record("lab-a", "age", bits=0.1) == number


def test_nothing_is_recorded_that_is_not_confirmed(sqlite_study: Study, tmp_path: Path) -> None:
    with pytest.raises(NoError):
        sqlite_study.record("lab-a", "age", bits=0.1, confirm=refuse)
    assert intents_of(tmp_path / "clinic") == []
    number = sqlite_study.record("lab-a", "age", bits=0.1, confirm=lambda: None)
    assert sqlite_study.record("lab-a", "age", bits=0.1, confirm=refuse) == number  # spent before


def test_only_releases_are_delivered(sqlite_study: Study, tmp_path: Path) -> None:
    for number in (0, 1, 99):
        with pytest.raises(InvalidInputError, match="is no release"):
            sqlite_study.deliver(number, tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match="belongs to the study"):
        sqlite_study.deliver(1, tmp_path / "clinic" / "a.csv")


def test_a_statement_is_of_one_party(sqlite_study: Study, tmp_path: Path) -> None:
    sqlite_study.release("lab-a", "age", bits=0.1, out=tmp_path / "a.csv")
    number = sqlite_study.record("lab-b", "smoker", bits=0.1)
    held = {each.name: each.held for each in sqlite_study.status().parties}
    for party, asked, is_delivered in (("lab-a", "age", True), ("lab-b", "smoker", False)):
        found = sqlite_study.statement(party)
        assert (found.limit, found.held) == (0.4, held[party])
        [release] = found.releases
        assert (release.request, release.is_delivered) == (asked, is_delivered)
    assert sqlite_study.statement("lab-b").releases[0].number == number
    assert sqlite_study.statement("registry").held == 0
    with pytest.raises(InvalidInputError, match="unknown"):
        sqlite_study.statement("nobody")


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ("nothing", {}),
        (None, {}),
        ("age", {"sql": "age"}),
        ("diagnosis", {"utility": "absolute"}),
        ("age", {"ceilings": {"nobody": 0.1}}),
        ("age", {"bits": 0.0}),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_design(
    sqlite_study: Study, asked: str | None, options: dict
) -> None:
    with pytest.raises(InvalidInputError):
        sqlite_study.check_request("lab-a", asked, **options)
    sqlite_study.check_request("lab-a", "age", bits=99)  # whether it fits is found by designing
