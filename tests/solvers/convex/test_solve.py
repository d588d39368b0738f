"""The certified solver against closed forms, dit, cvxpy and its own proof, in every corner."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import inf, log, log2, nan, sqrt

import cvxpy as cp
import numpy as np
import pytest
from dit.rate_distortion.blahut_arimoto import blahut_arimoto as dit_blahut_arimoto
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacit import (
    InfeasibleError,
    InvalidInputError,
    Problem,
    Solution,
    Status,
    mutual_information,
    solve,
)
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.solve import _zeros, solve_batch
from tests import oracles
from tests import strategies as own
from tests.oracles import expected_distortion
from tests.solvers.solutions import (
    GAP_TOL,
    LIMIT_SLACK,
    ORACLE_TOL,
    ROUNDING,
    assert_certified,
    assert_honest,
    brute_force,
    held_bits,
    problem_of,
)
from tests.strategies import Array, Release

LONG_SUMS = 1e-12
"""Brute-force sums of a few hundred terms of size up to multipliers of 30 times 20 nats."""

ROOMS = (1e-3, 1e-2, 0.05, 0.2, inf)
"""Bits beyond what is held. Exact and nearly exact views have tests of their own."""

CLOSED_FORM = 1e-11
"""brentq stops where the rate is right to 1e-16; at a rate of 1e-9 that is 2e-12 in distortion."""

TABLE_1 = np.array(
    [[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]]
)  # [TVC] Table I
HAMMING = 1.0 - np.eye(2)

seeds = st.integers(0, 2**32 - 1)


def solved(release: Release) -> Solution:
    return solve(problem_of(release))


def with_history(joint_xr: Array, channel: Array) -> Array:
    """p(z, x, r) where Z is drawn from X by ``channel[x, z]``: R - X - Z."""
    return np.einsum("xr,xz->zxr", joint_xr, channel)


def markov_joint(seed: int, n_z: int, n_x: int, n_r: int) -> Array:
    rng = np.random.default_rng(seed)
    p_x = rng.dirichlet(np.ones(n_x))
    p_z_given_x = rng.dirichlet(np.full(n_z, 0.5), size=n_x)
    return with_history(p_x[:, None] * rng.dirichlet(np.full(n_r, 0.4), size=n_x), p_z_given_x)


def random_joint(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


# --- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_letters", [2, 3, 5])
@pytest.mark.parametrize("share", [0.0, 1e-4, 0.01, 0.3, 0.9, 1.0, 1.5])
def test_uniform_source_under_hamming_distortion(n_letters: int, share: float) -> None:
    rate = share * log2(n_letters)
    solution = solve(Problem(np.eye(n_letters), individual=rate))
    assert_certified(solution)
    expected = oracles.uniform_hamming_distortion(n_letters, rate)
    assert solution.bound <= expected + CLOSED_FORM
    assert solution.value >= expected - CLOSED_FORM


@pytest.mark.parametrize("p", [0.5, 0.3, 0.05])
@pytest.mark.parametrize("rate", [0.0, 1e-5, 1e-3, 0.1, 0.5, 0.9, 2.0])
def test_bernoulli_source_under_hamming_distortion(p: float, rate: float) -> None:
    solution = solve(Problem(np.diag([1 - p, p]), individual=rate))
    assert_certified(solution)
    expected = oracles.bernoulli_hamming_distortion(p, rate)
    assert solution.bound <= expected + CLOSED_FORM
    assert solution.value >= expected - CLOSED_FORM


@pytest.mark.parametrize("p", [0.5, 0.45, 0.3, 0.1])
@pytest.mark.parametrize("rate", [1e-9, 1e-8, 1e-7, 1e-6, 4e-6])
def test_tiny_budgets(p: float, rate: float) -> None:
    """A fair coin gains as the square root of the budget, a loaded one in proportion to it."""
    solution = solve(Problem(np.diag([1 - p, p]), individual=rate))
    assert_certified(solution)
    expected = oracles.bernoulli_hamming_distortion(p, rate)
    assert solution.bound <= expected + CLOSED_FORM
    assert solution.value >= expected - CLOSED_FORM


@pytest.mark.parametrize("rate", [1e-14, 1e-13, 1e-12, 2e-12])
def test_no_budget_is_too_small_for_the_bound(rate: float) -> None:
    """A fair coin's distortion falls by sqrt(ln 2 rate / 2): 6e-7 at 1e-12 bits, above gap_tol."""
    solution = solve(Problem(np.eye(2), individual=rate))
    optimum = 0.5 - sqrt(log(2) * rate / 2)  # to first order in the rate
    assert solution.bound is not None
    assert solution.bound <= optimum + rate


@pytest.mark.parametrize("room", [2e-14, 4e-14, 5e-13, 1.01e-12, 1.03e-12, 1.2e-12, 3e-12])
def test_no_room_beside_a_history_is_too_small_for_the_bound(room: float) -> None:
    """X = (A, B) are two fair bits, A is out and B is asked for: the coin of above, given A."""
    joint = np.zeros((2, 4, 2))
    for a, b in np.ndindex(2, 2):
        joint[a, 2 * a + b, b] = 0.25
    limit = 1.0 + room
    solution = solve(Problem(joint, collusion=limit))
    optimum = 0.5 - sqrt(log(2) * (limit - 1.0) / 2)
    assert solution.bound <= optimum + ROUNDING
    assert solution.value >= optimum - ROUNDING
    assert solution.gap <= optimum - solution.bound + (0.5 - optimum) + ROUNDING


@pytest.mark.parametrize(
    ("alone", "everyone"), [(1e-9, 1e-10), (1e-7, 1e-10), (1e-7, 1e-8), (1e-6, 1e-9)]
)
def test_tiny_budgets_where_the_frequencies_of_letters_hardly_matter(
    alone: float, everyone: float
) -> None:
    rng = np.random.default_rng(3)
    joint = with_history(np.eye(3) / 3, rng.dirichlet(np.full(2, 3.0), size=3))
    limits = {(): alone, (0,): held_bits(joint, (0,)) + everyone}
    assert_certified(solve(Problem(joint, coalitions=limits)))


@settings(max_examples=25)
@given(own.markov_joints_zxr(), st.data())
def test_nothing_about_x_leaves_the_blind_guess_where_r_depends_on_x_alone(
    joint: Array, data: st.DataObject
) -> None:
    distortion = data.draw(own.distortions(joint.shape[-1]))
    solution = solve(Problem(joint, distortion, individual=0.0))
    blind_guess = (distortion @ joint.sum(axis=(0, 1))).min()
    assert solution.value == pytest.approx(blind_guess, abs=GAP_TOL)
    assert_certified(solution)


def test_the_history_helps_at_no_individual_leakage_unless_r_depends_on_x_alone() -> None:
    """[M] fact 9: on [TVC] Table I z is not irrelevant without the collusion limit."""
    solution = solve(Problem(TABLE_1, individual=0.0))
    assert_certified(solution)
    assert solution.value == pytest.approx(0.44761, abs=5e-6)  # [M] fact 9
    assert solution.value < TABLE_1.sum(axis=(0, 1)).min() - 0.03


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("eps", [0.01, 0.1, 0.5])
def test_the_first_repeat_is_free(seed: int, eps: float) -> None:
    """[M] fact 4: the same request, no new bits for anyone, and the same value."""
    joint_xr = random_joint(seed, 3, 3)
    first = solve(Problem(joint_xr, "absolute", individual=eps))
    joint = with_history(joint_xr, first.channel)
    delta = mutual_information(joint.sum(axis=-1))
    again = solve(Problem(joint, "absolute", individual=eps, collusion=delta))
    assert_certified(again)
    assert again.value == pytest.approx(first.value, abs=2 * GAP_TOL)
    assert again.leakage[0,] <= delta + LIMIT_SLACK


# --- independent solvers ------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [1.5, 2.0, 4.0, 8.0])
def test_dit_finds_the_same_rate_distortion_point(beta: float) -> None:
    """dit minimises rate + beta * distortion, so a bit is worth 1/beta where it stops."""
    p_x = np.array([0.5, 0.3, 0.2])
    squared = np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]])
    (rate, distortion), _ = dit_blahut_arimoto(
        p_x, beta, distortion=lambda *_: squared, max_iters=5000, restarts=1
    )
    solution = solve(Problem(np.diag(p_x), "squared", individual=float(rate)))
    assert_certified(solution)
    assert solution.bound <= distortion + ROUNDING  # dit's point can be attained
    # dit stops when its distortion moves by less than a relative 1e-5 a step.
    assert solution.value == pytest.approx(distortion, abs=1e-4)
    assert solution.multipliers[()] == pytest.approx(1 / beta, rel=1e-2)


@settings(max_examples=40)
@given(own.limited_releases())
def test_cvxpy_agrees(release: Release) -> None:
    solution = solve(problem_of(release))
    assert_certified(solution)
    try:
        oracle = oracles.solve_robustly_by_cvxpy(
            release.joint, release.distortion, release.limits, release.views
        )
    except (cp.SolverError, RuntimeError, ValueError):  # Clarabel gave up, and the dual form too
        assume(False)
    assert solution.bound <= oracle.value + ORACLE_TOL
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)


@settings(max_examples=40)
@given(own.limited_releases(rooms=(0.0, 1e-4, 0.02, inf)))
def test_no_random_release_beats_the_bound(release: Release) -> None:
    """Random channels, mixed with a constant until they meet every limit (leakage is convex)."""
    solution = solve(problem_of(release))
    assert_honest(solution)
    rng = np.random.default_rng(0)
    n_rhat = len(release.distortion)
    budgets = {
        **release.limits,
        **{name: bits for name, (_, bits) in release.views.items()},
    }
    constant = np.zeros((*release.joint.shape[:-1], n_rhat))
    letter = (
        release.distortion @ release.joint.reshape(-1, release.joint.shape[-1]).sum(0)
    ).argmin()
    constant[..., letter] = 1.0
    held = oracles.every_leakage_bits(release.joint, constant, release.limits, release.views)
    for concentration in (0.05, 0.3, 1.0):
        channel = rng.dirichlet(np.full(n_rhat, concentration), size=release.joint.shape[:-1])
        leaks = oracles.every_leakage_bits(release.joint, channel, release.limits, release.views)
        shares = [
            max(0.0, budgets[key] - held[key] - ROUNDING) / (leaks[key] - held[key])
            for key in leaks
            if leaks[key] > budgets[key]
        ]
        mixed = constant + min(shares, default=1.0) * (channel - constant)
        value = expected_distortion(release.joint, release.distortion, mixed)
        assert solution.bound <= value + ROUNDING


@settings(max_examples=40)
@given(own.limited_releases(rooms=(0.0, 0.02)))
def test_nothing_left_for_some_views(release: Release) -> None:
    assert_certified(solve(problem_of(release)))


@settings(max_examples=25)
@given(own.limited_releases(rooms=(1e-5, 1e-6, 1e-8, 1e-9, 0.05)))
def test_hardly_any_bits_left(release: Release) -> None:
    assert_certified(solve(problem_of(release), gap_tol=NEARLY_SPENT_TOL), gap_tol=NEARLY_SPENT_TOL)


@pytest.mark.parametrize(
    ("seed", "rooms", "max_history"),
    [
        (757, (0.0, 1e-3, 1e-2, 0.05, 0.2, 1.0), 2),  # weights from 1e-9 to 1e7 in one system
        (103365, (0.0,), 2),  # exact views that overlap in full collusion's averages
        (1978, (0.0, 1e-3, 1e-2, 0.05, 0.2, 1.0), 2),  # letters of mass 1e-11 before exact views
        (210015, (1e-5, 1e-6, 1e-7, 0.1), 2),  # two tiny budgets, only one of which matters
        (200016, (0.0, 1e-9, 1e-8, 1e-7, 1e-6), 2),  # two that trade off against each other
    ],
)
def test_problems_that_were_once_left_open(
    seed: int, rooms: tuple[float, ...], max_history: int
) -> None:
    assert_certified(solve(problem_of(own.release(seed, rooms, max_history))))


# --- views that read x --------------------------------------------------------------------------


def returning_party(seed: int, visits: int, *, rarest: float = 0.0) -> tuple[Array, Array]:
    """p(z, x, r), and p(y | z, x) of a party that received some of the releases behind z.

    Each release has 3 letters; z forgets all but 12 states, so that y is no function of z.
    Some cells and letters are as rare as ``rarest``.
    """
    rng = np.random.default_rng(seed)
    n_x = 8
    p_x = rng.dirichlet(np.ones(n_x))
    law = p_x[None, None]  # p(y, z, x)
    for visit in range(visits):
        n_z = law.shape[1]
        channel = rng.dirichlet(np.full(3, 0.4), size=(n_z, n_x))
        channel = np.maximum(np.where(channel < 1e-3, rarest, channel), 0.0)
        channel /= channel.sum(axis=-1, keepdims=True)
        state = rng.integers(0, 12, size=(n_z, 3))
        told = law[:, :, :, None] * channel
        after = np.zeros((len(law), 3, 12, n_x))
        for z, letter in np.ndindex(n_z, 3):
            after[:, letter, state[z, letter]] += told[:, z, :, letter]
        law = after.reshape(-1, 12, n_x) if visit % 2 == 0 else after.sum(axis=1)
    law = law[law.sum(axis=(1, 2)) > 0][:, law.sum(axis=(0, 2)) > 0]
    mass = law.sum(axis=0)
    given = np.where(mass > 0, law / np.where(mass > 0, mass, 1.0), 1 / len(law))
    p_r_given_x = rng.dirichlet(np.full(3, 0.3), size=n_x)
    return mass[..., None] * p_r_given_x, np.moveaxis(given / given.sum(axis=0), 0, -1)


@pytest.mark.parametrize("rarest", [0.0, 1e-7, 1e-14])
@pytest.mark.parametrize("visits", [1, 3, 5, 7])
def test_a_party_that_comes_back(visits: int, rarest: float) -> None:
    """Up to 81 letters, some of probability 1e-20 and less; full collusion is slack or not."""
    for seed in range(3):
        joint, law = returning_party(seed, visits, rarest=rarest)
        held = oracles.view_leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), law)
        alone = Problem(joint, views={"party": (law, held + 0.05)})
        assert_certified(solve(alone))
        everyone = held_bits(joint, (0,)) + 0.02
        assert_certified(solve(replace(alone, individual=0.04, collusion=everyone)))


def test_cvxpy_agrees_on_a_party_that_comes_back() -> None:
    joint, law = returning_party(1, 4)
    held = oracles.view_leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), law)
    views = {"party": (law, held + 0.05)}
    solution = solve(Problem(joint, views=views))
    theirs = oracles.solve_robustly_by_cvxpy(joint, 1 - np.eye(3), {}, views)
    assert theirs.value == pytest.approx(solution.value, abs=ORACLE_TOL)


# --- frugality ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "eps"), [(0, 0.05), (1, 0.05), (2, 0.05), (3, 0.03), (4, 0.2)])
def test_no_optimal_release_leaks_much_less_to_everyone(seed: int, eps: float) -> None:
    """[M] fact 5. Of many optimal channels the one that tells everyone together least."""
    joint = markov_joint(seed, 3, 6, 2)
    solution = solve(Problem(joint, individual=eps))
    assert_certified(solution)
    sharp = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    least = oracles.least_collusion_by_cvxpy(joint, HAMMING, solution.value, {(): eps}, **sharp)
    # Asked for so many digits, Clarabel ends inaccurate; its answer counts where it is feasible.
    assert least.leakage[()] <= eps + 1e-8
    assert solution.leakage[0,] <= least.value + 1e-5


def test_the_least_leakage_is_proved_to_five_digits() -> None:
    """The second stage's own certificate, where full collusion is slack."""
    for seed in range(40):
        problem = Problem(markov_joint(seed, 4, 6, 3), individual=0.05 + 0.01 * (seed % 10))
        statement = Statement.of(problem)
        limits, cost = statement.limits(problem.limits), statement.cost_of(problem.distortion)
        answers = solve_batch(statement, cost[None], limits[None], GAP_TOL)
        assert answers.is_closed.all()
        assert answers.waste[0] <= 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_a_letter_that_dies_out_excludes_nobody(seed: int) -> None:
    """An answer of probability 1e-6 must not tell who it cannot be about: rounding chose them."""
    rng = np.random.default_rng(seed)
    n_z, n_x, n_r = rng.integers(2, 6), rng.integers(3, 9), rng.integers(2, 5)
    p_zx = rng.dirichlet(np.ones(n_z * n_x)).reshape(n_z, n_x)
    joint = p_zx[:, :, None] * np.eye(n_r)[rng.integers(0, n_r, n_x)]
    room = rng.uniform(0.3, 1.0)
    problem = Problem(joint, individual=0.2, collusion=mutual_information(p_zx) + room)
    solution = solve(problem)
    assert_certified(solution)
    channel = solution.channel
    is_rare = (channel.max(axis=1) > 0) & (channel.max(axis=1) < 1e-4)
    assert (channel.min(axis=1)[is_rare] > 0).all()


def test_whoever_wants_the_value_only_gets_any_optimum() -> None:
    problem = Problem(markov_joint(3, 3, 6, 2), individual=0.05)
    frugal, plain = solve(problem), solve(problem, frugal=False)
    assert_certified(plain)
    assert plain.value == pytest.approx(frugal.value, abs=2 * GAP_TOL)
    assert plain.leakage[0,] > frugal.leakage[0,] + 1e-3
    assert plain.steps < frugal.steps


def test_an_arbitrary_optimum_leaks_for_nothing() -> None:
    """What frugality is worth: the oracle's own optimum tells everyone 0.02 bit more."""
    joint = markov_joint(3, 3, 6, 2)
    solution = solve(Problem(joint, individual=0.05))
    arbitrary = oracles.solve_by_cvxpy(joint, HAMMING, {(): 0.05, (0,): inf})
    assert arbitrary.value == pytest.approx(solution.value, abs=ORACLE_TOL)
    assert solution.leakage[0,] < arbitrary.leakage[0,] - 0.02


def test_where_everything_may_be_told_it_is_told_in_the_frugal_way() -> None:
    """R alone suffices: with R a function of X, only I(R; X) need leak, not H(X)."""
    joint_xr = np.array([[0.3, 0], [0.2, 0], [0, 0.4], [0, 0.1]])
    solution = solve(Problem(joint_xr))
    assert solution.value == pytest.approx(0.0, abs=GAP_TOL)
    assert solution.leakage[()] == pytest.approx(1.0, abs=1e-3)


# --- corners ------------------------------------------------------------------------------------


def test_full_collusion_at_exactly_what_has_leaked() -> None:
    joint = random_joint(0, 3, 4, 2)
    delta = mutual_information(joint.sum(axis=-1))
    solution = solve(Problem(joint, collusion=delta))
    assert_certified(solution)
    # The best guess of r from z alone.
    p_zr = joint.sum(axis=1)
    assert solution.value == pytest.approx(1 - p_zr.max(axis=1).sum(), abs=GAP_TOL)
    np.testing.assert_allclose(solution.channel, solution.channel[:, :1].repeat(4, axis=1))


def test_a_limit_below_what_has_leaked_is_refused_with_the_shortfall() -> None:
    joint = random_joint(0, 2, 2, 4, 2)
    held = held_bits(joint, (0, 1))
    with pytest.raises(
        InfeasibleError, match=r"coalition \(0, 1\) already holds .* bits"
    ) as caught:
        solve(Problem(joint, collusion=held - 0.01))
    assert caught.value.coalition == (0, 1)
    assert caught.value.bits_short == pytest.approx(0.01, abs=ROUNDING)
    assert caught.value.held_bits == pytest.approx(held, abs=ROUNDING)


def test_the_limit_that_is_furthest_below_is_named() -> None:
    joint = random_joint(1, 2, 3, 4, 2)
    sees_x = np.broadcast_to(np.eye(4), (2, 3, 4, 4))
    limits = {(0,): held_bits(joint, (0,)) - 1e-3, (1,): held_bits(joint, (1,)) - 2e-3}
    with pytest.raises(InfeasibleError) as caught:
        solve(Problem(joint, coalitions=limits))
    assert caught.value.coalition == (1,)
    with pytest.raises(InfeasibleError, match="coalition 'insider'") as caught:
        solve(Problem(joint, coalitions=limits, views={"insider": (sees_x, 0.5)}))
    assert caught.value.coalition == "insider"


@pytest.mark.parametrize("short", [1e-9, 2e-12])
def test_limits_just_below_what_has_leaked_are_refused(short: float) -> None:
    joint = random_joint(0, 3, 4, 2)
    with pytest.raises(InfeasibleError):
        solve(Problem(joint, collusion=held_bits(joint, (0,)) - short))


@pytest.mark.parametrize("extra", [0.0, 1e-15, 1e-13, 5e-13, 1e-12, 1e-11, 1e-10])
def test_limits_within_rounding_of_what_has_leaked(extra: float) -> None:
    joint = random_joint(2, 3, 4, 2)
    limits = {axes: held_bits(joint, axes) + extra for axes in [(), (0,)]}
    solution = solve(Problem(joint, coalitions=limits))
    for key, bits in brute_force(solution).items():
        assert bits <= solution.leakage[key] + ROUNDING
        assert solution.leakage[key] <= limits[key] + LIMIT_SLACK


def test_without_limits_the_best_guess_of_each_cell_is_released() -> None:
    joint = random_joint(3, 2, 3, 3)
    solution = solve(Problem(joint))
    assert_certified(solution)
    assert solution.value == pytest.approx(1 - joint.max(axis=-1).sum(), abs=GAP_TOL)
    assert solution.leakage.keys() == {(), (0,)}
    assert set(solution.multipliers.values()) == {0.0}


@pytest.mark.parametrize(
    "shape", [(1, 3, 3), (3, 1, 3), (3, 3, 1), (1, 1, 1), (1, 1, 3), (3, 1, 1), (1, 3, 1)]
)
@pytest.mark.parametrize("eps", [None, 0.0, 0.05])
def test_alphabets_of_one_letter(shape: tuple[int, ...], eps: float | None) -> None:
    joint = random_joint(4, *shape)
    delta = None if eps is None else held_bits(joint, (0,)) + eps
    solution = solve(Problem(joint, individual=eps, collusion=delta))
    assert_certified(solution)
    if shape[2] == 1:
        assert solution.value == pytest.approx(0.0, abs=GAP_TOL)
    if shape[1] == 1:  # nothing about x can leak: the history may be used to the full
        expected = 1 - joint.sum(axis=1).max(axis=-1).sum()
        assert solution.value == pytest.approx(expected, abs=GAP_TOL)


def test_one_letter_to_release() -> None:
    solution = solve(Problem(TABLE_1, np.array([[0.25, 1.0]]), individual=0.1))
    assert_certified(solution)
    np.testing.assert_array_equal(solution.channel, np.ones((2, 2, 1)))
    assert solution.value == pytest.approx(TABLE_1.sum(axis=(0, 1)) @ [0.25, 1.0], abs=ROUNDING)
    assert solution.leakage[()] <= LIMIT_SLACK


@pytest.mark.parametrize("limits", [{}, {"individual": 0.1}, {"individual": 0.0}])
def test_a_request_that_has_nothing_to_do_with_the_record(limits: dict[str, float]) -> None:
    """R independent of X and Z: no release is worth a single bit."""
    p_zx, p_r = random_joint(5, 3, 4), np.array([0.2, 0.5, 0.3])
    solution = solve(Problem(p_zx[..., None] * p_r, **limits))
    assert_certified(solution)
    assert solution.value == pytest.approx(0.5, abs=GAP_TOL)
    assert solution.leakage[()] <= 1e-4  # nats to spare by frugality
    assert solution.leakage[0,] <= mutual_information(p_zx) + 1e-4


@pytest.mark.parametrize("n_rhat", [1, 2, 6])
def test_more_or_fewer_letters_than_the_request(n_rhat: int) -> None:
    joint = random_joint(6, 2, 3, 4)
    distortion = np.random.default_rng(6).random((n_rhat, 4))
    limits = {(): 0.03, (0,): held_bits(joint, (0,)) + 0.05}
    solution = solve(Problem(joint, distortion, coalitions=limits))
    assert_certified(solution)
    oracle = oracles.solve_by_cvxpy(joint, distortion, limits)
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)


def test_an_individual_limit_above_the_collusion_limit_is_idle() -> None:
    joint = random_joint(7, 3, 4, 2)
    delta = held_bits(joint, (0,)) + 0.02
    tight = solve(Problem(joint, individual=delta + 0.5, collusion=delta))
    assert_certified(tight)
    assert tight.multipliers[()] <= 1e-9
    alone = solve(Problem(joint, collusion=delta))
    assert tight.value == pytest.approx(alone.value, abs=2 * GAP_TOL)


@pytest.mark.parametrize("room", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(3))
def test_tiny_leftover_budgets_of_a_coalition(room: float, seed: int) -> None:
    joint = random_joint(seed, 2, 2, 3, 3)
    limits = {axes: held_bits(joint, axes) + room for axes in [(), (0,), (0, 1)]}
    solution = solve(Problem(joint, coalitions=limits), gap_tol=NEARLY_SPENT_TOL)
    assert_certified(solution, gap_tol=NEARLY_SPENT_TOL)


@pytest.mark.parametrize("spent", [[()], [(0,)], [(), (0,)], [(0,), (1,)], [(), (0,), (1,)]])
@pytest.mark.parametrize("seed", [0, 1, 2, 51, 210])
def test_several_budgets_spent_to_the_last_bit(spent: list[tuple[int, ...]], seed: int) -> None:
    """Rhat independent of X given each of several overlapping views: only z1 + z2 may help."""
    joint = random_joint(seed, 2, 2, 2, 2)
    limits = {axes: held_bits(joint, axes) for axes in spent}
    solution = solve(Problem(joint, coalitions=limits))
    assert_certified(solution)
    oracle = oracles.solve_by_cvxpy(joint, HAMMING, limits)
    assert solution.value == pytest.approx(oracle.value, abs=ORACLE_TOL)


def test_cells_letters_and_histories_that_cannot_occur() -> None:
    joint = np.zeros((4, 5, 3))
    joint[np.ix_([0, 2], [1, 2, 4], [0, 2])] = random_joint(8, 2, 3, 2)
    joint[2, 1] = 0.0
    joint /= joint.sum()
    limits = {(): 0.05, (0,): held_bits(joint, (0,)) + 0.03}
    solution = solve(Problem(joint, coalitions=limits))
    assert_certified(solution)
    small = joint[np.ix_([0, 2], [1, 2, 4])]
    without = solve(Problem(small, coalitions=limits))
    assert solution.value == pytest.approx(without.value, abs=2 * GAP_TOL)


def test_cells_that_cannot_occur_tell_nothing() -> None:
    """A cell of mass 0 releases what its history does, so that a wrong law leaks as little."""
    joint = random_joint(9, 2, 3, 2)
    joint[0, 1] = 0.0
    solution = solve(Problem(joint, individual=0.05))
    p_zx = solution.problem.joint.sum(axis=-1)
    average = np.einsum("x,xa->a", p_zx[0] / p_zx[0].sum(), solution.channel[0])
    np.testing.assert_allclose(solution.channel[0, 1], average, atol=ROUNDING)


@pytest.mark.parametrize("mass", [1e-6, 1e-9, 1e-12, 1e-15, 1e-18])
def test_rare_cells(mass: float) -> None:
    joint = random_joint(10, 3, 3, 2)
    joint[0, 1] *= mass
    joint[2, :2] *= mass
    joint /= joint.sum()
    for room in (0.0, 0.03):
        limits = {axes: held_bits(joint, axes) + room for axes in [(), (0,)]}
        assert_certified(solve(Problem(joint, coalitions=limits)))


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e-3, 1e3, 1e9, 1e200])
def test_units_of_the_distortion_do_not_matter(scale: float) -> None:
    distortion = scale * np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    joint = random_joint(11, 2, 4, 3)
    limits = {(): 0.03, (0,): held_bits(joint, (0,)) + 0.05}
    plain = solve(Problem(joint, "squared", coalitions=limits))
    scaled = solve(Problem(joint, distortion, coalitions=limits))
    assert_certified(scaled)
    assert np.abs(scaled.channel - plain.channel).max() <= 1e-6


@pytest.mark.parametrize("penalty", [1e2, 1e4, 1e6, 1e9, 1e12, 1e15])
def test_a_letter_that_nobody_would_release_changes_nothing(penalty: float) -> None:
    """A matrix may forbid a letter by a huge entry, everywhere or for one value of R."""
    expected = oracles.uniform_hamming_distortion(2, 0.1)
    for never in ([penalty, penalty], [0.9, penalty], [penalty, 0.0]):
        distortion = np.array([[0.0, 1.0], [1.0, 0.0], never])
        solution = solve(Problem(np.eye(2), distortion, individual=0.1))
        assert_certified(solution)
        assert solution.bound <= expected + CLOSED_FORM


def test_views_that_see_the_same_take_the_smaller_limit() -> None:
    joint = random_joint(12, 2, 3, 2)
    law = np.random.default_rng(12).dirichlet(np.ones(3), size=(2, 3))
    held = oracles.view_leakage_bits(joint, np.ones((2, 3, 1)), law)
    one = solve(Problem(joint, views={"a": (law, held + 0.02)}))
    both = solve(Problem(joint, views={"a": (law, held + 0.5), "b": (law, held + 0.02)}))
    assert_certified(both)
    assert both.value == pytest.approx(one.value, abs=2 * GAP_TOL)
    assert both.multipliers["a"] == 0.0
    assert both.multipliers["b"] > 0.0


def test_a_view_that_sees_all_earlier_releases_is_full_collusion() -> None:
    joint = random_joint(13, 3, 3, 2)
    law = np.broadcast_to(np.eye(3)[:, None], (3, 3, 3))
    delta = held_bits(joint, (0,)) + 0.02
    by_axes = solve(Problem(joint, collusion=delta))
    by_law = solve(Problem(joint, views={"all": (law, delta)}))
    assert_certified(by_law)
    assert by_law.value == pytest.approx(by_axes.value, abs=2 * GAP_TOL)
    assert by_law.leakage["all"] == pytest.approx(by_law.leakage[0,], abs=1e-9)


@pytest.mark.parametrize("extra", [0.0, 0.1])
def test_a_view_that_sees_the_record_itself_can_learn_no_more(extra: float) -> None:
    joint = random_joint(14, 2, 3, 2)
    sees_x = np.broadcast_to(np.eye(3), (2, 3, 3))
    held = oracles.view_leakage_bits(joint, np.ones((2, 3, 1)), sees_x)
    solution = solve(Problem(joint, individual=0.05, views={"insider": (sees_x, held + extra)}))
    assert_certified(solution)
    without = solve(Problem(joint, individual=0.05))
    assert solution.value == pytest.approx(without.value, abs=2 * GAP_TOL)


def test_two_solves_are_equal_to_the_last_bit() -> None:
    release = Release(
        random_joint(15, 2, 2, 4, 3),
        np.random.default_rng(15).random((4, 3)),
        {(): 0.05, (0,): 0.3, (0, 1): 1.0},
        {},
    )
    first, second = (solve(problem_of(release)) for _ in range(2))
    np.testing.assert_array_equal(first.channel, second.channel)
    assert (first.value, first.bound, first.steps) == (second.value, second.bound, second.steps)
    assert first.leakage == second.leakage
    assert first.multipliers == second.multipliers


def test_hundreds_of_coalitions() -> None:
    """Eight earlier releases, every coalition of up to four of them limited: 162 limits."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(4, 3.0))[:, None] * rng.dirichlet(np.full(2, 0.5), size=4)
    for _ in range(8):
        joint = np.einsum("...xr,xz->...zxr", joint, rng.dirichlet(np.full(2, 2.0), size=4))
    coalitions = {
        axes: held_bits(joint, axes) + 0.01 * size * (1 + 0.3 * rng.random())
        for size in range(1, 5)
        for axes in combinations(range(8), size)
    }
    assert len(coalitions) == 162
    everyone = held_bits(joint, tuple(range(8))) + 0.05
    problem = Problem(joint, individual=0.02, collusion=everyone, coalitions=coalitions)
    solution = solve(problem)
    assert_certified(solution)
    # Dropping the coalitions is worth something: some of the 162 limits bind.
    loose = solve(Problem(joint, individual=0.02, collusion=everyone))
    assert loose.value < solution.value - 10 * GAP_TOL
    binding = [axes for axes in coalitions if solution.multipliers[axes] > 1e-3]
    assert binding
    for axes in binding:
        assert solution.leakage[axes] == pytest.approx(coalitions[axes], abs=1e-4)


# --- status and options -------------------------------------------------------------------------


@pytest.mark.parametrize("gap_tol", [1e-9, 1e-5, 1e-2, 10.0])
def test_the_asked_gap_is_met(gap_tol: float) -> None:
    problem = Problem(random_joint(16, 2, 4, 3), "squared", individual=0.03)
    solution = solve(problem, gap_tol=gap_tol)
    assert_certified(solution, gap_tol=gap_tol)


def test_a_gap_that_floats_cannot_close_is_a_status() -> None:
    solution = solve(Problem(random_joint(16, 2, 4, 3), individual=0.03), gap_tol=1e-18)
    assert solution.status is Status.INACCURATE
    assert solution.gap is not None
    assert 1e-18 < solution.gap < 1e-9
    assert "gap" in solution.status.value


@pytest.mark.parametrize("gap_tol", [0.0, -1e-7, nan])
def test_an_impossible_gap_is_refused(gap_tol: float) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"gap_tol is {gap_tol}: give a positive, finite number"
    ):
        solve(Problem(TABLE_1), gap_tol=gap_tol)


# --- the assertion can fail ---------------------------------------------------------------------


def test_assert_certified_can_fail() -> None:
    good = solve(Problem(TABLE_1, individual=0.1))
    fields = {name: getattr(good, name) for name in Solution.__slots__}
    sharper = np.broadcast_to(np.eye(2), (2, 2, 2))
    wrong = [
        ("misses 1", {"channel": 1.01 * good.channel}),
        ("comparison failed", {"value": good.value + 1e-6}),
        ("learns more than reported", {"leakage": {**good.leakage, (): 0.09}}),
        ("overspent", {"leakage": {**good.leakage, (): 0.11}}),
        ("assert", {"multipliers": {(): -1.0, (0,): 0.0}}),
        ("assert", {"bound": good.value + 1e-3}),
        ("assert", {"bound": good.value - 1e-3}),
        ("assert", {"status": Status.INACCURATE}),
        ("comparison failed", {"channel": sharper}),
    ]
    assert_certified(good)
    for message, change in wrong:
        with pytest.raises(AssertionError, match=message):
            assert_certified(Solution(**{**fields, **change}))


NEARLY_SPENT_TOL = 1e-6
"""What is asked where several views have next to nothing left at once: 1e-7 is missed by a few
such problems in a thousand."""


def test_an_array_is_no_problem() -> None:
    with pytest.raises(InvalidInputError, match=r"ndarray: wrap .* in a Problem"):
        solve(np.full((2, 2, 2), 1 / 8))  # type: ignore[arg-type]


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
    assert high.bound <= middle.value + LONG_SUMS
    assert middle.bound <= low.value + LONG_SUMS
    assert middle.bound <= (1 - t) * low.value + t * high.value + LONG_SUMS


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
        assert bits <= solution.leakage[key] + LONG_SUMS


def test_some_letter_is_left_in_a_cell_without_mass() -> None:
    """There, what is settled and what dies out need not agree."""
    settled = np.array([[1e-6, 1e-6], [1 - 1e-6, 1 - 1e-6]]).reshape(1, 2, 1, 2)
    is_zero = np.array([[False, True], [True, False]]).reshape(1, 2, 1, 2)
    assert not _zeros(settled, is_zero).all(axis=1).any()
