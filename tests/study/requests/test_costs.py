"""Tables of costs: objects that are checked when they are made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

import tacit
from tacit import Costs
from tacit.errors import InvalidInputError
from tacit.study import Study
from tests.study.clinic import make_clinic


def test_a_table_is_its_rows() -> None:
    rows = ((0.0, 1.0), (5.0, 0.0), (2.0, 2.0))
    costs = tacit.Costs([[0, 1], [5, 0], [2, 2]])
    assert costs.rows == rows
    assert costs == Costs(rows) == Costs(np.array(rows))
    assert costs != Costs([[0, 1], [5, 0]])
    assert len({costs, Costs(rows)}) == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no rows of numbers"),
        ([0, 1], "no rows of numbers"),
        ([[[0]]], "no rows of numbers"),
        ([[0, 1], [1]], "rows of different lengths, or something that is no number"),
        ([["a"]], "something that is no number"),
        ([[0, -1]], "a number that is below 0, infinite or NaN"),
        ([[0, float("inf")]], "a number that is below 0, infinite or NaN"),
        ([[0, None]], "a number that is below 0, infinite or NaN"),
    ],
)
def test_what_is_no_table_of_costs(rows: ArrayLike, said: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the table of costs has .*{said}: give numbers"):
        Costs(rows)


def test_costs_are_a_measure_of_their_own(sqlite_study: Study, tmp_path: Path) -> None:
    """A wrong answer that costs 1 in any case is hamming's: the same worth, another request."""
    wrong = Costs([[0, 1], [1, 0]])
    by_word = sqlite_study.quote("lab-a", "smoker", bits=0.1)
    by_costs = sqlite_study.quote("lab-a", "smoker", utility=wrong, bits=0.1)
    assert (by_word.measure, by_costs.measure) == ("hamming", "costs")
    assert by_costs.value == pytest.approx(by_word.value, abs=1e-5)  # designs come so near
    one = sqlite_study.release("lab-a", "smoker", utility=wrong, bits=0.1, out=tmp_path / "1.csv")
    again = sqlite_study.release("lab-a", "smoker", utility=wrong, bits=0.1, out=tmp_path / "2.csv")
    assert one.entry == again.entry
    assert sqlite_study.quote("lab-a", "smoker", bits=0.1).answered_by is None


def test_costs_of_other_levels_are_refused(sqlite_study: Study) -> None:
    with pytest.raises(InvalidInputError, match="has rows of 3 and the request has 2 levels"):
        sqlite_study.quote("lab-a", "smoker", utility=Costs(np.ones((3, 3))))


def test_words_that_are_no_measure_are_refused(sqlite_study: Study) -> None:
    with pytest.raises(InvalidInputError, match="utility 'best' is none of hamming, absolute"):
        sqlite_study.quote("lab-a", "smoker", utility="best")


def test_the_unit_of_costs_does_not_matter(tmp_path: Path) -> None:
    """Millionths or squared dollars: the same law is released, and verified without a note."""
    laws = []
    for unit in (1.0, 1e-9, 1e11):
        folder = tmp_path / f"{unit:g}"
        folder.mkdir()
        with make_clinic(folder) as study:
            study.set_limit("lab-a", 0.5)
            costs = Costs(unit * np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0]]) / 4)
            receipt = study.release("lab-a", "age", utility=costs, out=folder / "age.csv")
            verification = study.verify()
        assert (verification.problems, verification.notes) == ((), ())
        laws.append(np.array(receipt.p_rhat_given_r))
    assert np.abs(laws[1] - laws[0]).max() <= 1e-6
    assert np.abs(laws[2] - laws[0]).max() <= 1e-6
