"""Releases that read only the level asked for: what they are, what they cost, what is refused."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.errors import InfeasibleError, InvalidInputError
from tacit.problem import WORST_LEVEL, Problem
from tests import oracles
from tests import strategies as own
from tests.solvers.solutions import (
    LIMIT_SLACK,
    ORACLE_TOL,
    ROUNDING,
    assert_certified,
    assert_honest,
    assert_within_limits,
    held_bits,
    problem_of,
)
from tests.strategies import Array

ROWS = 1e-12
"""Rows of records with the same level are computed alike, up to a mixture by rounding."""


def reads_a_function(release: own.Release) -> bool:
    """Whether R is a function of x."""
    p_xr = release.joint.reshape(-1, *release.joint.shape[-2:]).sum(axis=0)
    return bool(((p_xr > 0).sum(axis=1) <= 1).all())


def assert_reads_only_the_level(solution: tacit.Solution) -> None:
    """Cells with mass and the same level have the same row."""
    joint = solution.problem.joint_zxr
    rows = solution.channel.reshape(*joint.shape[:2], -1)
    for level in np.flatnonzero(solution.problem.p_r):
        own_rows = rows[joint[..., level] > 0]
        np.testing.assert_allclose(own_rows, own_rows[:1].repeat(len(own_rows), 0), atol=ROWS)


def chain(seed: int, *, n_x: int = 6, n_r: int = 3) -> Array:
    """joint[z, x, r]: r a function of x, z an earlier release that reads x beyond r."""
    rng = np.random.default_rng(seed)
    p_x, p_z_given_x = rng.dirichlet(np.ones(n_x)), rng.dirichlet(np.ones(4), size=n_x)
    return np.einsum("x,xz,xr->zxr", p_x, p_z_given_x, np.eye(n_r)[np.arange(n_x) % n_r])


# --- what it is -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    release=own.limited_releases(rooms=(1e-2, 0.05, 0.2, 1.0)).filter(reads_a_function),
    objective=st.sampled_from(["mean", WORST_LEVEL]),
)
def test_the_best_is_what_cvxpy_finds(release: own.Release, objective: str) -> None:
    solution = tacit.solve(problem_of(release, objective=objective, analysable=True))
    assert_certified(solution)
    assert_reads_only_the_level(solution)
    found = oracles.solve_levels_by_cvxpy(
        release.joint,
        release.distortion,
        release.limits,
        release.views,
        is_worst=objective == WORST_LEVEL,
        is_analysable=True,
    )
    assert found is not None
    assert solution.value == pytest.approx(found[0], abs=10 * ORACLE_TOL)


@settings(max_examples=40, deadline=None)
@given(
    release=own.limited_releases(rooms=(0.0, 1e-3, 0.1)).filter(reads_a_function),
    objective=st.sampled_from(["mean", WORST_LEVEL]),
)
def test_it_is_never_better_than_an_adaptive_release(release: own.Release, objective: str) -> None:
    """Also where views have no bits left."""
    solution = tacit.solve(problem_of(release, objective=objective, analysable=True))
    assert_honest(solution)
    assert_reads_only_the_level(solution)
    adaptive = tacit.solve(problem_of(release, objective=objective))
    assert adaptive.bound is not None
    assert solution.value >= adaptive.bound


@pytest.mark.parametrize("utility", ["hamming", "absolute", "information"])
def test_without_a_history_nothing_is_lost(utility: str) -> None:
    """Records that differ only beyond r are merged anyway ([M] fact 3)."""
    joint = chain(1).sum(axis=0)
    plain = tacit.solve(Problem(joint, utility, 0.3))
    solution = tacit.solve(Problem(joint, utility, 0.3, analysable=True))
    assert solution.value == pytest.approx(
        plain.value, abs=2e-4 if utility == "information" else 2e-7
    )
    assert_within_limits(solution)
    assert_reads_only_the_level(solution)


def test_given_the_level_a_release_tells_nothing_about_other_columns() -> None:
    """Rhat - R - X: subgroups of records err alike."""
    joint = chain(2)
    problem = Problem(joint, individual=0.3, collusion=held_bits(joint, (0,)) + 0.3)
    for analysable in (True, False):
        options = {"individual": 0.3, "collusion": problem.collusion, "analysable": analysable}
        channel = tacit.solve(Problem(joint, **options)).channel
        p_xr_rhat = np.einsum("zxr,zxa->rxa", joint, channel)
        told = sum(oracles.mutual_information_bits(level / level.sum()) for level in p_xr_rhat)
        assert (told < ROWS) == analysable


def test_a_limit_of_nothing_allows_a_constant() -> None:
    joint = chain(3)
    solution = tacit.solve(Problem(joint, individual=0.0, analysable=True))
    assert solution.value == pytest.approx(1 - solution.problem.p_r.max(), abs=1e-7)
    assert (solution.channel == solution.channel[0, 0]).all()


def test_a_limit_equal_to_what_is_held_allows_what_depends_on_no_history() -> None:
    """An adaptive release may copy z; one that reads r alone must be constant here."""
    joint = chain(4)
    limit = held_bits(joint, (0,))
    solution = tacit.solve(Problem(joint, collusion=limit, analysable=True))
    assert_certified(solution)
    assert solution.value == pytest.approx(1 - solution.problem.p_r.max(), abs=1e-7)
    assert tacit.solve(Problem(joint, collusion=limit)).value < solution.value - 0.01


def test_a_history_that_settles_the_level_makes_it_free() -> None:
    """Everyone knows r already: releasing it exactly adds nothing."""
    joint = np.zeros((3, 3, 3))
    joint[np.arange(3), np.arange(3), np.arange(3)] = [0.2, 0.3, 0.5]
    solution = tacit.solve(Problem(joint, collusion=held_bits(joint, (0,)), analysable=True))
    assert solution.value == pytest.approx(0.0, abs=1e-7)


def test_records_that_never_occur_get_a_row() -> None:
    joint = np.array([[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]])
    solution = tacit.solve(Problem(joint, individual=0.2, analysable=True))
    oracles.assert_is_channel(solution.channel, tolerance=ROUNDING)
    closed = oracles.uniform_hamming_distortion(2, 0.2)
    assert solution.value == pytest.approx(closed, abs=1e-7)


def test_ceilings_hold_for_analysable_releases() -> None:
    joint = chain(5)
    limits = {"individual": 0.3, "collusion": held_bits(joint, (0,)) + 0.25}
    free = tacit.solve(Problem(joint, **limits, analysable=True))
    level = int(np.argmax(free.level_errors))
    ceiling = 0.9 * free.level_errors[level]
    solution = tacit.solve(Problem(joint, **limits, analysable=True, ceilings={level: ceiling}))
    assert_certified(solution)
    assert solution.level_errors[level] <= ceiling + ROWS
    assert solution.value > free.value + 1e-4
    assert solution.ceiling_multipliers[level] > 0


def test_a_thousand_histories_are_no_more_unknowns() -> None:
    rng = np.random.default_rng(6)
    p_zx = rng.dirichlet(np.full(512 * 12, 0.3)).reshape(512, 12)
    joint = p_zx[..., None] * np.eye(4)[np.arange(12) % 4]
    problem = Problem(joint, individual=0.3, collusion=held_bits(joint, (0,)) + 0.2)
    solution = tacit.solve(Problem(joint, "hamming", 0.3, problem.collusion, analysable=True))
    assert_certified(solution)


# --- what is refused ------------------------------------------------------------------------------


def test_a_level_that_x_does_not_settle_is_refused() -> None:
    joint = np.array([[0.5, 0.0], [0.2, 0.3]])
    with pytest.raises(InvalidInputError, match=r"record x=1 has the levels r=\[0, 1\]: a release"):
        Problem(joint, individual=0.3, analysable=True)


def test_a_limit_below_what_is_held_is_refused_by_its_own_name() -> None:
    with pytest.raises(InfeasibleError) as refusal:
        tacit.solve(Problem(chain(7), collusion=0.0, analysable=True))
    assert refusal.value.coalition == (0,)


def test_infinite_limits_release_the_level_itself() -> None:
    solution = tacit.solve(Problem(chain(8), individual=inf, analysable=True))
    assert solution.value == 0.0
    assert (
        solution.leakage[()]
        <= oracles.mutual_information_bits(chain(8).sum(axis=0).T) + LIMIT_SLACK
    )
