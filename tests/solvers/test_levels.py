"""The worst level and ceilings per level: witnesses, certificates, corners and refusals."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.datasets import adult
from tacit.errors import CeilingError, InfeasibleError, UnconvergedError
from tacit.problem import WORST_LEVEL, Problem
from tests import oracles
from tests import strategies as own
from tests.solvers.solutions import (
    LIMIT_SLACK,
    ORACLE_TOL,
    ROUNDING,
    assert_certified,
    assert_honest,
    problem_of,
)
from tests.strategies import Array

CEILING_TOL = 2e-12
"""Promised is 1e-10 of the largest distortion, here 4 at most: the linear program's tolerance. Its
solutions are corners, right to rounding; mixing in a constant release adds 1e-13."""

BITS = 0.3


def education(n_groups: int | None = 4) -> Array:
    """Counts [x, r] of Adult, with education as r."""
    table = adult() if n_groups else adult(education=None)
    n_r = table.counts.shape[0]
    x = np.arange(table.counts.size)
    joint = np.zeros((x.size, n_r))
    joint[x, x * n_r // x.size] = table.counts.ravel()
    return joint


# --- closed forms and known figures -------------------------------------------------------------


def test_the_best_mean_on_adult_is_always_wrong_about_one_level_and_the_worst_level_need_not() -> (
    None
):
    mean = tacit.solve(Problem(education(), individual=BITS))
    worst = tacit.solve(Problem(education(), individual=BITS, objective=WORST_LEVEL))
    assert_certified(worst)
    assert mean.value == pytest.approx(0.412, abs=5e-4)
    assert mean.level_errors[0] == pytest.approx(1.0, abs=1e-5)  # below HS
    assert worst.value == pytest.approx(0.436, abs=5e-4)
    np.testing.assert_allclose(worst.level_errors, worst.value, atol=1e-6)
    assert np.linalg.cond(worst.p_rhat_given_r) < 3
    assert np.linalg.cond(mean.p_rhat_given_r) > 1e5


@pytest.mark.parametrize("n_letters", [2, 3, 5])
@pytest.mark.parametrize("bits", [0.0, 0.01, 0.3, 1.0])
def test_equal_levels_have_the_same_worst_and_mean(n_letters: int, bits: float) -> None:
    """By symmetry the worst level of a uniform source is its distortion-rate function."""
    joint = np.eye(n_letters)
    solution = tacit.solve(Problem(joint, individual=bits, objective=WORST_LEVEL))
    assert_certified(solution)
    closed = oracles.uniform_hamming_distortion(n_letters, bits)
    assert solution.value == pytest.approx(closed, abs=1e-7)


@pytest.mark.parametrize("p", [0.5, 0.2, 0.01])
def test_a_binary_source_errs_alike_at_both_levels(p: float) -> None:
    """The error e at both levels is the root of h(p * e) - h(e) = limit: a symmetric channel."""
    limit = 0.4 * oracles.binary_entropy_bits(p)
    solution = tacit.solve(Problem(np.diag([p, 1 - p]), individual=limit, objective=WORST_LEVEL))
    assert_certified(solution)
    error = solution.value
    mixed = p * (1 - error) + (1 - p) * error
    told = oracles.binary_entropy_bits(mixed) - oracles.binary_entropy_bits(error)
    assert told == pytest.approx(limit, abs=1e-5)  # a bit is worth up to some 20 here


# --- cvxpy --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(release=own.limited_releases(rooms=(1e-2, 0.05, 0.2, 1.0)))
def test_the_worst_level_is_what_cvxpy_finds(release: own.Release) -> None:
    solution = tacit.solve(problem_of(release, objective=WORST_LEVEL))
    assert_certified(solution)
    assert sum(solution.level_multipliers.values()) == pytest.approx(1.0, abs=ROUNDING)
    found = oracles.solve_levels_by_cvxpy(
        release.joint, release.distortion, release.limits, release.views, is_worst=True
    )
    assert found is not None
    assert solution.value == pytest.approx(found[0], abs=10 * ORACLE_TOL)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    release=own.limited_releases(rooms=(1e-2, 0.05, 0.2, 1.0)),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    objective=st.sampled_from(["mean", WORST_LEVEL]),
)
def test_ceilings_are_met_at_the_cost_that_cvxpy_finds(
    release: own.Release, share: float, objective: str
) -> None:
    """Ceilings between the errors of the best mean and of the best worst level."""
    mean = tacit.solve(problem_of(release))
    worst = tacit.solve(problem_of(release, objective=WORST_LEVEL))
    low = np.minimum(mean.level_errors, worst.level_errors)
    ceilings = {
        level: (1 - share) * worst.level_errors[level] + share * low[level] + 0.01
        for level in np.flatnonzero(mean.problem.p_r).tolist()[:2]
    }
    problem = problem_of(release, objective=objective, ceilings=ceilings)
    found = oracles.solve_levels_by_cvxpy(
        release.joint,
        release.distortion,
        release.limits,
        release.views,
        ceilings=ceilings,
        is_worst=objective == WORST_LEVEL,
    )
    if found is None:
        with pytest.raises(CeilingError):
            tacit.solve(problem)
        return
    solution = tacit.solve(problem)
    assert_certified(solution)
    assert solution.value == pytest.approx(found[0], abs=10 * ORACLE_TOL)
    for level, most in ceilings.items():
        assert solution.level_errors[level] <= most + CEILING_TOL
        assert solution.ceiling_multipliers[level] >= 0


# --- properties ---------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(joint=own.joints_zxr(), data=st.data())
def test_any_table_has_an_honest_worst_level(joint: Array, data: st.DataObject) -> None:
    """Zero-mass letters, ties, single letters, limits that allow nothing more."""
    held = max(0.0, oracles.leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), (0,)))
    problem = Problem(
        joint,
        data.draw(own.distortions(joint.shape[-1])),
        individual=data.draw(st.sampled_from([0.0, 0.1, inf])),
        collusion=held + data.draw(st.sampled_from([0.0, 0.1, inf])),
        objective=WORST_LEVEL,
    )
    solution = tacit.solve(problem)
    assert_honest(solution)
    mean = tacit.solve(Problem(joint, problem.distortion, problem.individual, problem.collusion))
    assert mean.bound is not None
    assert solution.value >= mean.bound  # no mean is above its worst level
    errors = oracles.level_errors(problem.joint, problem.distortion, mean.channel)
    assert solution.bound is not None
    assert solution.bound <= errors.max() + ROUNDING


def test_without_limits_every_level_is_right() -> None:
    solution = tacit.solve(Problem(education(), objective=WORST_LEVEL))
    assert solution.value == 0.0
    assert solution.level_errors.tolist() == [0.0] * 4


def test_a_limit_that_is_used_up_leaves_what_the_history_tells() -> None:
    """z = x is known to everyone: with no bits left for them, the release may still depend on z."""
    joint = np.zeros((2, 2, 2))
    joint[[0, 1], [0, 1], [0, 1]] = [0.3, 0.7]
    problem = Problem(joint, collusion=oracles.binary_entropy_bits(0.3), objective=WORST_LEVEL)
    assert tacit.solve(problem).value == pytest.approx(0.0, abs=1e-7)


def test_a_level_without_records_has_no_error_and_any_ceiling() -> None:
    joint = np.diag([0.5, 0.0, 0.5])
    solution = tacit.solve(
        Problem(joint, individual=BITS, objective=WORST_LEVEL, ceilings={1: 0.0})
    )
    assert np.isnan(solution.level_errors).tolist() == [False, True, False]
    closed = oracles.uniform_hamming_distortion(2, BITS)
    assert solution.value == pytest.approx(closed, abs=1e-7)
    assert solution.level_multipliers.keys() == {0, 2}


def test_huge_and_tiny_costs_are_certified_in_their_own_units() -> None:
    matrix = 1.0 - np.eye(4)
    for scale in (1e-6, 1e6):
        problem = Problem(education(), scale * matrix, BITS, objective=WORST_LEVEL)
        solution = tacit.solve(problem)
        assert_certified(solution)
        assert solution.value == pytest.approx(scale * 0.435683, rel=1e-5)


# --- ceilings -----------------------------------------------------------------------------------


def test_a_ceiling_costs_what_its_multiplier_says() -> None:
    """The optimum is convex in the ceiling, and its slope is minus the multiplier."""
    values, slopes = [], []
    for ceiling in (0.6, 0.61):
        solution = tacit.solve(
            Problem(education(), individual=BITS, ceilings={0: ceiling}), gap_tol=1e-9
        )
        values.append(solution.value)
        slopes.append(solution.ceiling_multipliers[0])
    fall = (values[0] - values[1]) / 0.01
    assert slopes[1] - 1e-4 <= fall <= slopes[0] + 1e-4


def test_a_ceiling_of_zero_makes_a_level_always_right() -> None:
    solution = tacit.solve(Problem(education(), individual=BITS, ceilings={0: 0.0}))
    assert_certified(solution)
    assert solution.level_errors[0] <= CEILING_TOL


def test_ceilings_that_do_not_bind_change_nothing() -> None:
    plain = tacit.solve(Problem(education(), individual=BITS))
    solution = tacit.solve(Problem(education(), individual=BITS, ceilings={1: 0.9, 2: inf}))
    assert solution.value == pytest.approx(plain.value, abs=2e-7)
    assert solution.ceiling_multipliers == {1: pytest.approx(0.0, abs=1e-9)}


def test_a_ceiling_that_cannot_be_met_is_named_with_what_can() -> None:
    joint, most = education(), dict.fromkeys(range(4), 0.42)
    with pytest.raises(CeilingError, match=r"at most 0.42 at level \d and meets") as refusal:
        tacit.solve(Problem(joint, individual=BITS, ceilings=most))
    error = refusal.value
    assert isinstance(error, InfeasibleError)
    assert error.ceiling == 0.42
    assert error.reachable == pytest.approx(0.435683, abs=2e-4)  # told to 1 % of what is missing
    raised = dict.fromkeys(range(4), error.reachable + 1e-9)
    solution = tacit.solve(Problem(joint, individual=BITS, ceilings=raised))
    assert (solution.level_errors <= error.reachable + 1e-9 + CEILING_TOL).all()


def test_a_surface_of_worst_levels_has_holes_where_a_limit_is_used_up() -> None:
    joint = np.einsum("xr,xz->zxr", np.diag([0.4, 0.6]), [[0.9, 0.1], [0.2, 0.8]])
    surface = tacit.trace_surface(
        Problem(joint, objective=WORST_LEVEL), individual=[0.1, 0.3], collusion=[0.1, 0.9]
    )
    assert np.isnan(surface.value[:, 0]).all()
    assert surface.value[0, 1] > surface.value[1, 1]
    assert surface.solution(1, 1).leakage[()] <= 0.3 + LIMIT_SLACK


# -- time ------------------------------------------------------------------------------------------


def many_levels() -> Array:
    """p(x, r) of 12 levels; the search takes dozens of releases."""
    return np.asarray(np.random.default_rng(3).dirichlet(np.full(30 * 12, 0.1)).reshape(30, 12))


def test_a_search_that_runs_out_of_time_returns_its_best_and_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("tacit.solvers.kernel.monotonic", lambda: now)
    problem = Problem(many_levels(), individual=0.5, objective=WORST_LEVEL)
    best = tacit.solve(problem)
    told: list[tuple[float, float, float]] = []

    def stop_soon(value: float, bound: float, seconds: float) -> None:
        nonlocal now
        told.append((value, bound, seconds))
        now = 100.0 if len(told) == 3 else 0.0

    late = tacit.solve(problem, time_limit=60.0, progress=stop_soon)
    assert len(told) == 3
    assert best.status is tacit.Status.OPTIMAL
    assert late.status is tacit.Status.OUT_OF_TIME
    assert late.bound is not None
    assert late.bound - ROUNDING <= best.value <= late.value + ROUNDING
    assert late.value <= told[-1][0] + ROUNDING
    assert late.bound >= told[-1][1] - ROUNDING
    assert late.leakage[()] <= 0.5
    values, bounds, _ = np.array(told).T
    assert (np.diff(values) <= ROUNDING).all()
    assert (np.diff(bounds) >= -ROUNDING).all()


def test_no_time_at_all_leaves_a_constant_release() -> None:
    problem = Problem(many_levels(), individual=0.5, objective=WORST_LEVEL)
    late = tacit.solve(problem, time_limit=1e-9)
    assert late.status is tacit.Status.OUT_OF_TIME
    assert (late.value, late.bound) == (pytest.approx(11 / 12), 0.0)
    with pytest.raises(UnconvergedError, match="time ran out before a release was found"):
        tacit.solve(replace(problem, ceilings={0: 0.3, 1: 0.3, 2: 0.3}), time_limit=1e-9)
