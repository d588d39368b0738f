"""Every limit that is accepted can be lived with: asked under, shown, verified."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.information.laws import bits_down, bits_up
from tacit.limits import Limit
from tacit.problem import Problem
from tacit.scheme import Scheme
from tacit.solvers import solve
from tacit.study import Study
from tests.study.clinic import limits_of, make_clinic


@pytest.mark.parametrize(
    ("limit", "times"),
    [(1e24, None), (1e300, 1.5), (0.5, 0.999 * 2.0**64), (1e-300, None), (0.5, 1 + 2.0**-52)],
)
def test_a_study_lives_with_any_limit_that_it_accepted(
    limit: float, times: float | None, tmp_path: Path
) -> None:
    with make_clinic(tmp_path) as study:
        remarks = {each.code for each in study.set_limit("lab-a", limit, times)}
        assert ("limit_too_high" in remarks) == (limit > 1)
        study.set_limit("lab-b", 0.2)
        study.set_limit("everyone", 1e24)
        study.set_limit("any 2", 1e300)
        study.release("lab-b", "smoker", bits=0.1, out=tmp_path / "b.csv")
        if limit > 1e-3 and times != 1 + 2.0**-52:
            study.release("lab-a", "age", bits=0.2, out=tmp_path / "a.csv")
            study.quote("lab-a", "smoker")
    with Study.open(tmp_path / "clinic") as study:
        assert {Limit("everyone", 1e24), Limit("any 2", 1e300)} <= limits_of(study)
        for shown in (study.status(), study.report(), study.statement("lab-a")):
            assert str(shown)
        assert study.verify().problems == ()


@pytest.mark.parametrize("times", [2.0**64, 1e24, 1e308])
def test_times_that_allow_everything_are_refused(times: float, tmp_path: Path) -> None:
    problem = r"times: give a number from 1, .* and below 2\^64"
    with make_clinic(tmp_path) as study:
        with pytest.raises(InvalidInputError, match=f"the limit on lab-a is .* {problem}"):
            study.set_limit("lab-a", 0.5, times)
        with pytest.raises(InvalidInputError, match=problem):
            study.explain_limit(0.5, times)


@pytest.mark.parametrize("cap", [64.0, 1023.0, 1024.0, 1e24])
def test_a_cap_that_allows_everything_is_refused(cap: float) -> None:
    problem = "which allows every answer: give less than 64 bits, or no cap"
    with pytest.raises(InvalidInputError, match=problem):
        Problem([[0.5, 0.0], [0.0, 0.5]], caps={(): cap})
    with pytest.raises(InvalidInputError, match=problem):
        Scheme([1, 1]).release([[1, 0], [0, 1]], party="lab", individual=0.5, cap=cap)


def test_no_cap_is_no_cap_whatever_the_record_allows() -> None:
    """Tables of caps have what each record allows, which may be any number."""
    joint = [[0.5, 0.0], [0.0, 0.5]]
    free = solve(Problem(joint, individual=0.5))
    for bits in (70.0, 5000.0, inf):
        capped = solve(Problem(joint, individual=0.5, caps={(): np.full((1, 2), bits)}))
        assert capped.value == pytest.approx(free.value, abs=1e-6)


@given(st.floats(min_value=0, allow_infinity=False), st.integers(0, 9))
def test_any_number_of_bits_is_shown_rounded_the_right_way(bits: float, digits: int) -> None:
    assert float(bits_down(bits, digits)) <= bits <= float(bits_up(bits, digits))
