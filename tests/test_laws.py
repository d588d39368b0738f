"""Laws of the release problem: what may not change an optimum, its shape, and its certificate."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Problem, Solution, solve
from tacit.solvers.convex.certificate import Witness, dual_bound
from tacit.solvers.convex.program import Program, Statement
from tacit.solvers.convex.reduction import Reduction
from tests import oracles
from tests import strategies as own
from tests.strategies import Array, Release

GAP_TOL = 1e-7
"""The solver's default: two optima of the same problem differ by at most this."""

ROUNDING = 1e-12
"""Brute-force sums of a few hundred terms of size up to multipliers of 30 times 20 nats."""

ORACLE_TOL = 2e-5
"""What is left in Clarabel's values; see test_solve."""

LN2 = log(2.0)

ROOMS = (1e-3, 1e-2, 0.05, 0.2, inf)
"""Bits beyond what is held. Exact and nearly exact views have tests of their own."""

seeds = st.integers(0, 2**32 - 1)


def solved(release: Release) -> Solution:
    return solve(
        Problem(release.joint, release.distortion, coalitions=release.limits, views=release.views)
    )


def assert_same_optimum(first: Solution, second: Solution) -> None:
    """Each bound is below the other's value: both claims about one optimum can be true."""
    assert first.bound is not None
    assert second.bound is not None
    assert first.bound <= second.value + ROUNDING
    assert second.bound <= first.value + ROUNDING
    oracles.assert_same_value(first.value, second.value, tolerance=GAP_TOL)


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
    program = statement.program(cost, statement.limits(problem)[None])
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


# --- the shape of the surface -------------------------------------------------------------------


@settings(max_examples=25)
@given(own.limited_releases(rooms=ROOMS), seeds)
def test_more_bits_never_hurt_and_value_is_convex_in_the_limits(
    release: Release, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    finite = {axes: bits for axes, bits in release.limits.items() if bits < inf}
    release = replace(release, limits=finite)
    wider = {axes: bits + 0.2 * rng.random() for axes, bits in finite.items()}
    t = rng.random()
    between = {axes: (1 - t) * finite[axes] + t * wider[axes] for axes in finite}
    low, middle, high = (
        solved(replace(release, limits=limits)) for limits in (finite, between, wider)
    )
    assert high.bound <= middle.value + ROUNDING
    assert middle.bound <= low.value + ROUNDING
    assert middle.bound <= (1 - t) * low.value + t * high.value + ROUNDING


@settings(max_examples=25)
@given(own.limited_releases(rooms=ROOMS), seeds)
def test_multipliers_bound_what_other_limits_are_worth(release: Release, seed: int) -> None:
    """The bound is that of the multipliers, so it holds for all limits: D' >= bound - mu (l' - l).

    Limits go down too, as far as the views have room.
    """
    rng = np.random.default_rng(seed)
    here = solved(release)
    nothing_new = np.ones((*release.joint.shape[:-1], 1))
    other = {}
    for axes, bits in release.limits.items():
        held = max(0.0, oracles.leakage_bits(release.joint, nothing_new, axes))
        other[axes] = bits if bits == inf else held + (bits - held) * rng.choice([0.3, 0.9, 3.0])
    there = solved(replace(release, limits=other))
    paid = sum(
        here.multipliers[axes] * (other[axes] - bits)
        for axes, bits in release.limits.items()
        if bits < inf
    )
    assert there.value >= here.bound - paid - 1e-9  # a few multipliers of 30, each right to 1e-12
    for axes, bits in here.problem.limits.items():
        if bits == inf:
            assert here.multipliers[axes] == 0.0


@settings(max_examples=25)
@given(own.limited_releases(rooms=ROOMS), seeds)
def test_coarser_answers_never_leak_more(release: Release, seed: int) -> None:
    """Data processing: a deterministic map of Rhat, by brute force against what was reported."""
    solution = solved(release)
    n_rhat = solution.channel.shape[-1]
    map_to = np.eye(n_rhat)[np.random.default_rng(seed).integers(n_rhat, size=n_rhat)]
    coarse = oracles.every_leakage_bits(
        release.joint, solution.channel @ map_to, release.limits, release.views
    )
    for key, bits in coarse.items():
        assert bits <= solution.leakage[key] + ROUNDING


# --- the certificate ([M] fact 2) ------------------------------------------------------------


def program_of(release: Release) -> Program:
    """The whole problem, unlimited: the certificate is about its Lagrangian."""
    problem = Problem(
        release.joint, release.distortion, coalitions=release.limits, views=release.views
    )
    statement = Statement.of(problem)
    unlimited = np.full((1, len(statement.keys)), inf)
    return statement.program(statement.cost_of(release.distortion)[None], unlimited)


def lagrangian(program: Program, c: Array, multiplier: Array, full_weight: float) -> float:
    """E cost + sum mu I(Rhat; X | Y), nats, by plain sums; ``c`` is [rhat, z, x], zeros allowed."""
    joint = program.mass * c
    total = float((program.cost[0] * joint).sum())
    own_joint = np.concatenate([program.rows.collect(joint), joint], axis=1)
    weights = np.append(
        multiplier[program.rows.view_of_row], np.full(len(program.mass), full_weight)
    )
    for row, weight in enumerate(weights):
        p_ax = own_joint[:, row]
        independent = p_ax.sum(1, keepdims=True) * p_ax.sum(0) / max(p_ax.sum(), 1e-300)
        seen = p_ax > 0
        total += weight * float((p_ax[seen] * np.log(p_ax[seen] / independent[seen])).sum())
    return total


def random_laws_of_x(program: Program, n_rhat: int, rng: np.random.Generator) -> Array:
    """log q(x | rhat, y) / p(x | y) of arbitrary positive laws q, [1, rhat, row, x]."""
    shape = (1, n_rhat, *program.row_mass.shape)
    q = rng.dirichlet(np.full(shape[-1], 0.5), size=shape[:-1]) + 1e-9
    q = np.where(program.row_support, q, 0.0)
    q /= np.maximum(q.sum(axis=-1, keepdims=True), 1e-300)
    return np.where(
        program.row_support, np.log(np.where(q > 0, q, 1.0)) - program.log_row_prior, 0.0
    )


def random_channel(program: Program, rng: np.random.Generator) -> Array:
    """[rhat, z, x], from nearly deterministic to nearly uniform, sometimes blind."""
    n_rhat = program.cost.shape[1]
    rows = rng.dirichlet(np.full(n_rhat, rng.choice([0.02, 0.3, 3.0])), size=program.mass.shape)
    if rng.random() < 0.2:
        rows = np.broadcast_to(rows[:1, :1], rows.shape)
    return np.asarray(rows.transpose(2, 0, 1))


@settings(max_examples=60)
@given(own.limited_releases(rooms=ROOMS), seeds)
def test_any_laws_and_multipliers_give_a_lower_bound(release: Release, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = program_of(release)
    n_rhat, n_z = program.cost.shape[1], len(program.mass)
    multiplier = 10.0 ** rng.uniform(-3, 1.5, size=(1, program.rows.n_views))
    multiplier *= rng.random(multiplier.shape) < 0.7
    full_weight = np.array([rng.choice([0.0, 1e-8, 0.1, 1.0, 30.0])])
    log_q = np.log(rng.dirichlet(np.full(n_rhat, 0.5), size=(1, n_z)) + 1e-300).transpose(0, 2, 1)
    positive = np.maximum(random_channel(program, rng), 1e-200)
    weights = np.concatenate([multiplier, full_weight[:, None]], axis=1)
    seen = Witness.of(program, (positive / positive.sum(axis=0))[None], weights)
    readings = [
        (random_laws_of_x(program, n_rhat, rng), log_q),
        (seen.row_log_ratio, seen.log_p_rhat_given_z),
        (seen.row_log_ratio, log_q),
    ]
    others = [
        lagrangian(program, random_channel(program, rng), multiplier[0], full_weight[0])
        for _ in "123"
    ]
    for row_log_ratio, log_p_rhat_given_z in readings:
        witness = Witness(row_log_ratio, log_p_rhat_given_z, multiplier, full_weight)
        bound = float(dual_bound(program, witness)[0])
        assert np.isfinite(bound)
        assert bound <= min(others) + ROUNDING


@pytest.mark.parametrize("mu", [0.1, 0.4])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_laws_of_an_optimal_channel_prove_its_optimality(mu: float, share: float) -> None:
    """Bernoulli(0.3): D + mu (h(p) - h(D)) in nats is least at D = 1 / (1 + exp(1 / mu)).

    Without a history both kinds of price are for the same leakage: only their sum matters.
    """
    p, least = 0.3, 1 / (1 + np.exp(1 / mu))
    program = program_of(Release(np.diag([1 - p, p])[None], 1.0 - np.eye(2), {}, {}))
    p_rhat = np.array([1 - p - least, p - least]) / (1 - 2 * least)
    backward = np.array([[1 - least, least], [least, 1 - least]])  # p(x | rhat)
    c = (p_rhat[:, None] * backward / [1 - p, p])[:, None]
    multiplier, full_weight = np.array([[share * mu]]), np.array([(1 - share) * mu])
    optimum = least + mu * LN2 * (
        oracles.binary_entropy_bits(p) - oracles.binary_entropy_bits(least)
    )
    value = lagrangian(program, c, multiplier[0], full_weight[0])
    assert value == pytest.approx(optimum, abs=ROUNDING)
    witness = Witness.of(program, c[None], np.append(multiplier, full_weight)[None])
    bound = dual_bound(program, witness)
    assert float(bound[0]) <= optimum
    assert float(bound[0]) == pytest.approx(optimum, abs=ROUNDING)


@settings(max_examples=25)
@given(own.limited_releases(rooms=(0.01, 0.1)))
def test_no_laws_prove_more_than_cvxpys_optimum(release: Release) -> None:
    """At the solver's own multipliers and at the posteriors of cvxpy's channel, made positive."""
    solution = solved(release)
    oracle = oracles.solve_robustly_by_cvxpy(
        release.joint, release.distortion, release.limits, release.views
    )
    program = program_of(release)
    keys = [key for key in solution.problem.limits if key != solution.problem.everyone]
    multiplier = np.array([[solution.multipliers[key] / LN2 for key in keys]])
    full_weight = np.array([solution.multipliers[solution.problem.everyone] / LN2])
    statement = Statement.of(solution.problem)
    c = oracle.channel.reshape(*solution.problem.joint_zxr.shape[:2], -1)
    c = c[np.ix_(statement.seen_z, statement.seen_x)].transpose(2, 0, 1)
    positive = (1 - 1e-9) * c + 1e-9 / len(c)
    witness = Witness.of(program, positive[None], np.append(multiplier, full_weight)[None])
    bound = float(dual_bound(program, witness)[0])
    assert bound <= lagrangian(program, c, multiplier[0], full_weight[0]) + ROUNDING


@settings(max_examples=40)
@given(own.limited_releases(rooms=ROOMS), seeds)
def test_forces_on_exact_views_cost_exact_channels_nothing(release: Release, seed: int) -> None:
    """With a view exact, any force on its rows keeps the bound below channels blind to x."""
    rng = np.random.default_rng(seed)
    program = program_of(release)
    n_views = program.rows.n_views
    n_rhat, n_z = program.cost.shape[1], len(program.mass)
    exact = replace(program, is_exact=np.append(np.ones(n_views, dtype=bool), rng.random() < 0.5))
    force = 3.0 * rng.standard_normal((1, n_rhat, *program.row_mass.shape))
    witness = Witness(
        np.zeros((1, n_rhat, *program.row_mass.shape)),
        np.full((1, n_rhat, n_z), -log(n_rhat)),
        np.zeros((1, n_views)),
        np.array([rng.choice([0.0, 0.5])]),
        force,
    )
    bound = float(dual_bound(exact, witness)[0])
    for _ in range(5):
        constant = np.broadcast_to(
            rng.dirichlet(np.full(n_rhat, 0.3))[:, None, None], program.cost.shape[1:]
        )
        assert bound <= lagrangian(program, constant, np.zeros(n_views), 0.0) + ROUNDING


def test_an_unused_letter_must_prove_its_own_uselessness() -> None:
    """A third letter that is worth using: a certificate that forgot it would be too high."""
    joint = np.array([[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]])
    joint[1, 0] = 0.0  # a cell that cannot occur
    two, three = 1.0 - np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0], [0.05, 0.05]])
    multiplier, full_weight = np.array([[0.1]]), np.array([0.1])
    without, with_it = (program_of(Release(joint, d, {}, {})) for d in (two, three))
    rng = np.random.default_rng(0)
    # Without the third letter the Lagrangian cannot go below this ...
    solution = solve(Problem(joint, two, individual=0.3))
    c = solution.channel.transpose(2, 0, 1)
    weights = np.append(multiplier, full_weight)[None]
    witness = Witness.of(without, np.maximum(c, 1e-12)[None], weights)
    bound_without = float(dual_bound(without, witness)[0])
    # ... but with it, it can: so the same laws, and any for the new letter, prove less.
    blind = np.zeros((3, 2, 2))
    blind[2] = 1.0
    attained = lagrangian(with_it, blind, multiplier[0], full_weight[0])
    assert attained < bound_without - 0.01
    for _ in range(20):
        law = random_laws_of_x(with_it, 1, rng)
        row_log_ratio = np.concatenate([witness.row_log_ratio, law], axis=1)
        for log_new in (-inf, -700.0, -1.0):
            log_q = np.concatenate(
                [witness.log_p_rhat_given_z, np.full((1, 1, 2), log_new)], axis=1
            )
            bound = dual_bound(with_it, Witness(row_log_ratio, log_q, multiplier, full_weight))
            assert float(bound[0]) <= attained + ROUNDING


def test_assert_same_optimum_can_fail() -> None:
    joint = np.eye(2) / 2
    here, there = (solve(Problem(joint, individual=eps)) for eps in (0.1, 0.101))
    assert_same_optimum(here, here)
    with pytest.raises(AssertionError):
        assert_same_optimum(here, there)
    with pytest.raises(AssertionError):
        assert_same_optimum(there, here)
