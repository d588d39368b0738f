"""The certificate: what any laws and multipliers prove ([M] fact 2)."""

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
from tests import oracles
from tests import strategies as own
from tests.solvers.solutions import problem_of
from tests.strategies import Array, Release

ROUNDING = 1e-12
"""Brute-force sums of a few hundred terms of size up to multipliers of 30 times 20 nats."""

LN2 = log(2.0)

ROOMS = (1e-3, 1e-2, 0.05, 0.2, inf)
"""Bits beyond what is held. Exact and nearly exact views have tests of their own."""

seeds = st.integers(0, 2**32 - 1)


def solved(release: Release) -> Solution:
    return solve(problem_of(release))


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
