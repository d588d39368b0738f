"""Letters that are merged: what may not change an optimum."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Problem, Solution, solve
from tacit.solution import GAP_TOL
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.reduction import Reduction
from tests import oracles
from tests import strategies as own
from tests.solvers.solutions import ORACLE_TOL, problem_of
from tests.strategies import Array, Release

ROUNDING = 1e-12
"""Brute-force sums of a few hundred terms of size up to multipliers of 30 times 20 nats."""

seeds = st.integers(0, 2**32 - 1)


def solved(release: Release) -> Solution:
    return solve(problem_of(release))


def assert_same_optimum(first: Solution, second: Solution) -> None:
    """Each bound is below the other's value: both claims about one optimum can be true."""
    assert first.bound is not None
    assert second.bound is not None
    assert first.bound <= second.value + ROUNDING
    assert second.bound <= first.value + ROUNDING
    oracles.assert_same_value(first.value, second.value, tolerance=GAP_TOL * first.problem.scale)


# --- relabelling and reductions -----------------------------------------------------------------


@settings(max_examples=25)
@given(own.limited_releases(rooms=(0.02, 0.1, inf)), seeds)
def test_relabelling_changes_no_optimum(release: Release, seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint, distortion = release.joint, release.distortion
    views = dict(release.views)
    for axis in range(joint.ndim):
        order = rng.permutation(joint.shape[axis])
        joint = joint.take(order, axis=axis)
        if axis < joint.ndim - 1:
            views = {name: (law.take(order, axis), bits) for name, (law, bits) in views.items()}
        else:
            distortion = distortion[:, order]
    distortion = distortion[rng.permutation(len(distortion))]
    relabelled = replace(release, joint=joint, distortion=distortion, views=views)
    assert_same_optimum(solved(release), solved(relabelled))


def split(array: Array, axis: int, letter: int, share: float | None) -> Array:
    """Add a copy of a letter as the last one; of its mass the copy takes ``share``."""
    copy = array.take([letter], axis=axis)
    grown = np.concatenate([array, copy], axis=axis)
    if share is not None:
        weights = np.ones(grown.shape[axis])
        weights[[letter, -1]] = 1 - share, share
        grown = grown * np.expand_dims(
            weights, tuple(other for other in range(grown.ndim) if other != axis)
        )
    return np.asarray(grown)


@settings(max_examples=40)
@given(own.limited_releases(rooms=(0.02, 0.1, inf)), seeds)
def test_a_letter_split_in_proportion_changes_no_optimum(release: Release, seed: int) -> None:
    """A record or history that differs from another by a coin nobody needs ([M] fact 3)."""
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(release.joint.ndim - 1))
    letter = int(rng.integers(release.joint.shape[axis]))
    grown = replace(
        release,
        joint=split(release.joint, axis, letter, share=0.3),
        views={
            name: (split(law, axis, letter, share=None), bits)
            for name, (law, bits) in release.views.items()
        },
    )
    assert_same_optimum(solved(release), solved(grown))


def merged_shape(release: Release) -> tuple[int, ...]:
    """Histories and records that are left of a problem when all its views are limited."""
    problem = Problem(
        release.joint, release.distortion, coalitions=release.limits, views=release.views
    )
    statement = Statement.of(problem)
    cost = statement.cost_of(release.distortion)[None]
    program = statement.program(cost, statement.limits(problem.limits)[None])
    return Reduction.of(program, np.arange(program.rows.n_views)).program.mass.shape


def test_split_letters_are_merged_again() -> None:
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(24)).reshape(2, 4, 3)
    law = rng.dirichlet(np.ones(2), size=(2, 4))
    release = Release(joint, 1.0 - np.eye(3), {}, {"auditor": (law, 1.0)})
    for axis, letter in [(0, 1), (1, 0), (1, 3)]:
        grown = replace(
            release,
            joint=split(release.joint, axis, letter, share=0.3),
            views={"auditor": (split(release.views["auditor"][0], axis, letter, None), 1.0)},
        )
        assert merged_shape(grown) == merged_shape(release) == (2, 4)
    # Not where the view tells the copies apart.
    told_apart = split(law, 1, 0, share=None)
    told_apart[:, -1] = told_apart[:, -1, ::-1]
    grown = Release(split(joint, 1, 0, share=0.3), 1.0 - np.eye(3), {}, {"a": (told_apart, 1.0)})
    assert merged_shape(grown) == (2, 5)


def test_a_first_request_needs_only_what_it_asks_about() -> None:
    """[M] fact 3: R a function of X, asked first: the records with equal R are one record."""
    p_x = np.random.default_rng(1).dirichlet(np.ones(32))
    joint = np.zeros((32, 4))
    joint[np.arange(32), np.arange(32) % 4] = p_x
    assert merged_shape(Release(joint, 1.0 - np.eye(4), {}, {})) == (1, 4)
    pooled = joint.reshape(8, 4, 4).sum(axis=0)
    assert_same_optimum(
        solve(Problem(joint, individual=0.3)), solve(Problem(pooled, individual=0.3))
    )


def posterior_twins() -> tuple[Array, float]:
    """p(z1, z2, x, r) whose histories (0, 0) and (1, 0) agree on p(x | z) and p(r | z, x), and
    what the holder of z1 knows: it tells the two apart, and confuses each with another one."""
    rng = np.random.default_rng(32)
    posterior = rng.dirichlet(np.ones(3))
    p_r = rng.dirichlet(np.full(2, 0.4), size=(3, 3))
    p_z = rng.dirichlet(np.ones(4))
    joint = np.zeros((2, 2, 3, 2))
    joint[0, 0] = p_z[0] * posterior[:, None] * p_r[0]
    joint[1, 0] = p_z[1] * posterior[:, None] * p_r[0]
    joint[0, 1] = p_z[2] * rng.dirichlet(np.ones(3))[:, None] * p_r[1]
    joint[1, 1] = p_z[3] * rng.dirichlet(np.ones(3))[:, None] * p_r[2]
    return joint, oracles.leakage_bits(joint, np.ones((2, 2, 3, 1)), (0,))


def test_histories_with_one_posterior_are_kept_apart_where_a_coalition_sees_part_of_them() -> None:
    joint, held = posterior_twins()
    hamming = 1.0 - np.eye(2)
    assert merged_shape(Release(joint, hamming, {}, {}))[0] == 3
    assert merged_shape(Release(joint, hamming, {(0,): held}, {}))[0] == 4
    oracle = oracles.solve_by_cvxpy(joint, hamming, {(0,): held})
    solution = solve(Problem(joint, coalitions={(0,): held}))
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)
    # Merged by posterior alone, with z1 a noisy view of the merged history, it costs 0.1 more.
    merged = np.stack([joint[0, 0] + joint[1, 0], joint[0, 1], joint[1, 1]])
    p_first = joint[0, 0].sum() / merged[0].sum()
    law = np.array([[p_first, 1 - p_first], [1.0, 0.0], [0.0, 1.0]])[:, None].repeat(3, axis=1)
    wrong = oracles.solve_by_cvxpy(merged, hamming, {}, {"z1": (law, held)})
    assert wrong.value > oracle.value + 0.1


def test_assert_same_optimum_can_fail() -> None:
    joint = np.eye(2) / 2
    here, there = (solve(Problem(joint, individual=eps)) for eps in (0.1, 0.101))
    assert_same_optimum(here, here)
    with pytest.raises(AssertionError):
        assert_same_optimum(here, there)
    with pytest.raises(AssertionError):
        assert_same_optimum(there, here)


@settings(max_examples=40)
@given(own.limited_releases(rooms=(0.0, 1e-3, 0.02, 0.1, inf)))
def test_merging_what_only_everyone_tells_apart_changes_no_optimum(release: Release) -> None:
    """Where everyone is free and any optimum will do, histories merge that no view tells apart."""
    history = tuple(range(release.joint.ndim - 2))
    free = {axes: bits for axes, bits in release.limits.items() if axes != history or not history}
    problem = problem_of(replace(release, limits=free))
    assert_same_optimum(solve(problem), solve(problem, frugal=False))


def test_a_history_that_no_limit_reads_is_merged() -> None:
    """A hundred histories, R - X - Z: what is solved has one."""
    rng = np.random.default_rng(0)
    p_zx, p_r_given_x = rng.dirichlet(np.ones(500)).reshape(100, 5), rng.dirichlet(np.ones(3), 5)
    problem = Problem(p_zx[..., None] * p_r_given_x, individual=0.2)
    statement = Statement.of(problem)
    whole = statement.program(
        statement.cost_of(problem.distortion)[None], statement.limits(problem.limits)[None]
    )
    chosen = np.arange(whole.rows.n_views)
    assert Reduction.of(whole, chosen, is_everyone_free=True).program.mass.shape == (1, 5)
    assert Reduction.of(whole, chosen).program.mass.shape == (100, 5)
