"""A distortion that is added from outside: one row of the table, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import InvalidInputError, Problem, solve
from tacit.problem import DISTORTIONS, Distortion, distances
from tacit.study.reports.receipts import value_in_units, value_in_words
from tests.study.clinic import make_clinic

HUGE = Distortion(
    "cubed",
    lambda positions: distances(positions) ** 3,
    in_words="off, cubed, by {value} on average",
    guess_in_words="by {value}",
)


@pytest.fixture(autouse=True)
def _cubed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DISTORTIONS, HUGE.name, HUGE)


def test_a_problem_knows_it_by_name() -> None:
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(4, 3)
    by_name = solve(Problem(joint, "cubed", individual=0.1))
    by_matrix = solve(Problem(joint, [[0, 1, 8], [1, 0, 1], [8, 1, 0]], individual=0.1))
    assert by_name.value == by_matrix.value
    with pytest.raises(InvalidInputError, match="use hamming, absolute, squared, cubed, informat"):
        Problem(joint, "fourth power")


def test_a_study_releases_by_it_and_says_so(tmp_path: Path) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab", 0.3)
        quoted = study.quote("lab", "age", utility="cubed")
        assert quoted.measure == "cubed"
        in_words = value_in_words(quoted.measure, quoted.value, quoted.blind)
        assert in_words.startswith("answers are off, cubed, by ")
        assert "; a blind guess by " in in_words
        study.release("lab", "age", utility="cubed", out=tmp_path / "age.csv")
        assert study.verify().is_whole
        with pytest.raises(InvalidInputError, match="'cubed' needs levels that are numbers"):
            study.quote("lab", "diagnosis", utility="cubed")
    assert value_in_units("cubed", 0.5) == "off, cubed, by 0.5000 on average"


def test_a_missing_value_is_as_far_from_all_others_as_any_two_are() -> None:
    nan = float("nan")
    assert distances(np.array([1.0, nan, 3.0])).tolist() == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    assert distances(np.array([nan])).tolist() == [[0]]


def test_a_row_that_makes_no_costs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Distortion("bad", lambda at: at[:, None] - at, "off by {value}", "by {value}")
    monkeypatch.setitem(DISTORTIONS, "bad", bad)
    with pytest.raises(InvalidInputError, match="utility holds -1 at index"):
        Problem(np.ones((2, 2)), "bad")
