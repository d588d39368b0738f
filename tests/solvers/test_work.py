"""Work, not time, ends what a study does: the same request has the same answer on any machine."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from tacit.errors import InvalidInputError
from tacit.problem import Problem
from tacit.scheme import Scheme
from tacit.solution import Frugality, Solution, Status
from tacit.solvers import A_SECOND, solve, work_done
from tacit.tradeoff import trace_surface

OVERSHOT = 1.2
"""A solve ends at the first look after its work is done."""


def heard(n: int) -> Problem:
    """Everyone saw a noisy copy of X, and only the recipient is limited: many optima."""
    random = np.random.default_rng(0)
    p_x, p_z_given_x = random.dirichlet(np.ones(n)), random.dirichlet(np.ones(n), size=n)
    joint = np.zeros((n, n, n))
    joint[:, np.arange(n), np.arange(n)] = (p_x[:, None] * p_z_given_x).T
    return Problem(joint, "squared", individual=0.5)


def many_levels() -> Problem:
    """The search for the worst of 12 levels takes dozens of releases."""
    joint = np.random.default_rng(3).dirichlet(np.full(30 * 12, 0.1)).reshape(30, 12)
    return Problem(joint, individual=0.5, objective="worst-level")


def work_of(problem: Problem, *, frugal: bool) -> tuple[Solution, float]:
    began = work_done()
    return solve(problem, frugal=frugal), work_done() - began


def test_a_small_problem_leaks_the_least() -> None:
    plain, _ = work_of(heard(8), frugal=False)
    frugal, _ = work_of(heard(8), frugal=True)
    assert plain.frugality is Frugality.NONE
    assert frugal.frugality is Frugality.LEAST
    assert frugal.leakage[0,] < plain.leakage[0,] - 1e-3


def test_frugality_ends_after_a_multiple_of_the_solves_work() -> None:
    """A step that tells 40 histories apart costs thousands of steps that do not."""
    plain, work = work_of(heard(40), frugal=False)
    frugal, more = work_of(heard(40), frugal=True)
    assert plain.status is frugal.status is Status.OPTIMAL
    assert frugal.frugality is Frugality.CURTAILED
    assert more - work <= OVERSHOT * max(3 * work, A_SECOND)
    np.testing.assert_array_equal(frugal.channel, plain.channel)


def test_surfaces_and_schemes_are_frugal_on_request() -> None:
    problem, limits = heard(4), {"individual": [0.2, 0.5], "collusion": [np.inf]}
    for frugal, said in ((False, Frugality.NONE), (True, Frugality.LEAST)):
        surface = trace_surface(problem, **limits, frugal=frugal)
        assert {each.frugality for each in surface.solutions if each is not None} == {said}
        design = Scheme(np.arange(1, 5.0)).design(
            np.eye(4), party="lab", individual=0.3, frugal=frugal
        )
        assert design.solution.frugality is said


@pytest.mark.parametrize("utility", ["information", "worst-level"])
def test_a_limit_on_work_ends_a_search_at_the_same_place_on_any_machine(
    utility: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = many_levels()
    if utility == "information":
        problem = Problem(problem.joint, utility, 0.5)
    _, whole = work_of(problem, frugal=True)
    early = solve(problem, work_limit=0.3 * whole)
    clock = count(step=1000.0)  # a very slow machine
    monkeypatch.setattr("tacit.solvers.kernel.monotonic", lambda: next(clock))
    slow = solve(problem, work_limit=0.3 * whole)
    assert early.status is slow.status is Status.OUT_OF_TIME
    np.testing.assert_array_equal(early.channel, slow.channel)
    assert early.bound == slow.bound
    assert early.bound is not None
    best = solve(problem)
    sign = 1 if utility == "information" else -1
    assert sign * early.value <= sign * best.value + 1e-9
    assert sign * best.value <= sign * early.bound + 1e-9


def test_a_limit_on_work_is_a_positive_number_and_for_searches() -> None:
    with pytest.raises(InvalidInputError, match="work_limit is 0"):
        solve(many_levels(), work_limit=0)
    with pytest.raises(InvalidInputError, match="leave them out for the mean"):
        solve(heard(4), work_limit=1e9)
