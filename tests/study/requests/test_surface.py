"""What other limits would buy, before they are set."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study
from tests.study.clinic import make_clinic

GRID_GAP = 2e-3
"""Twice the gap that is asked of a point of the grid."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    place = tmp_path_factory.mktemp("surface")
    made = make_clinic(place, everyone=0.9)
    for party in ("lab-a", "lab-b"):
        made.set_limit(party, 0.3)
    made.release("lab-a", "age", bits=0.2, out=place / "a.csv")
    return made


def test_more_bits_never_make_answers_worse(study: Study) -> None:
    head = study.status().head
    found = study.trace_surface("lab-b", "diagnosis")
    assert found.is_complete
    assert study.status().head == head
    for row in found.values:
        assert all(a + GRID_GAP >= b for a, b in pairwise(row))
    for column in zip(*found.values, strict=True):
        assert all(a + GRID_GAP >= b for a, b in pairwise(column))
    assert found.values[0][0] > found.values[-1][-1] + 0.05


def test_at_the_limits_in_force_it_is_the_quote(study: Study) -> None:
    found, quoted = study.trace_surface("lab-b", "diagnosis"), study.quote("lab-b", "diagnosis")
    assert (found.limit, found.everyone) == (0.3, 0.9)
    assert found.value == pytest.approx(quoted.value, abs=1e-4)  # releases are rounded
    assert found.alone == pytest.approx(quoted.value, abs=GRID_GAP)
    assert found.blind == pytest.approx(quoted.blind)


def test_a_limit_below_what_is_held_leaves_nothing(study: Study) -> None:
    found = study.trace_surface("lab-b", "diagnosis", limit=0.1, everyone=0.15)
    assert found.everyone_held > 0.15
    assert found.value is None
    with pytest.raises(InvalidInputError, match="everyone"):
        study.trace_surface("lab-b", "diagnosis", everyone=0.0)


def test_what_parties_know_together(study: Study) -> None:
    risk = study.risk(["lab-b", "lab-a"])
    assert risk.parties == ("lab-a",)
    assert risk == study.receipt(study.log()[-2].number).risks[0]
    with pytest.raises(InvalidInputError, match="hold nothing yet"):
        study.risk(["lab-b"])
