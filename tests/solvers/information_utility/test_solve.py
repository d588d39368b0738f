"""I(Rhat; R) as utility: the paper's point, a global bound, fixed points and time-sharing."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import log2

import numpy as np
import pytest

from tacit import InfeasibleError, Problem, Solution, Status, TimeSharing, mutual_information, solve
from tacit.solvers.information_utility.mixtures import (
    best_mixture,
    disclosed_channel,
    undisclosed_channel,
)
from tacit.solvers.iteration.blahut_arimoto import blahut_arimoto
from tests import oracles
from tests.strategies import Array

TABLE_1 = np.array(
    [[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]]
)  # [TVC] Table I
HELD = mutual_information(TABLE_1.sum(axis=-1))

ROUNDING = 1e-13
"""Sums of some tens of terms of size up to 1, each right to 2**-53."""

LIMIT_SLACK = 1e-12
"""Bits: solvers.convex.program.LIMIT_TOL."""

TARGET = 1e-4
"""Bits: twice what solvers.information_utility asks of letters, cells and mixtures."""

POINTS = [
    (0.25, 0.27, 2),
    (0.25, 0.27, None),
    (0.1, 0.12, 2),
    (0.3, 0.35, 2),
    (0.05, None, 3),
    (None, 0.2, 2),
    (0.0, None, 2),
    (0.0, HELD, 2),
]


@cache
def solved(eps: float | None, delta: float | None, rhat_size: int | None) -> Solution:
    return solve(Problem(TABLE_1, "information", eps, delta, rhat_size=rhat_size))


def utility(joint: Array, channel: Array) -> float:
    """I(Rhat; R) in bits from the full joint law."""
    p_rhat_r = channel.reshape(-1, channel.shape[-1]).T @ joint.reshape(-1, joint.shape[-1])
    return oracles.mutual_information_bits(p_rhat_r)


# --- the paper's point --------------------------------------------------------------------------


def test_two_letters_at_the_papers_point() -> None:
    """[TVC] Table II(d) has 0.14519; disclosed time-sharing adds a little."""
    assert 0.14519 - 1e-5 <= solved(0.25, 0.27, 2).value <= 0.14519 + 2e-4


def test_a_third_letter_helps_at_the_papers_point() -> None:
    best = solved(0.25, 0.27, None)
    assert best.value == pytest.approx(0.17045, abs=1e-4)
    assert best.channel.shape[-1] >= 3
    assert best.bound is not None
    assert best.bound - best.value <= TARGET


# --- what a solution says about itself ----------------------------------------------------------


@pytest.mark.parametrize(("eps", "delta", "rhat_size"), POINTS)
def test_a_solution_says_the_truth_about_itself(
    eps: float | None, delta: float | None, rhat_size: int | None
) -> None:
    solution = solved(eps, delta, rhat_size)
    oracles.assert_is_channel(solution.channel)
    p_rhat_r = np.einsum("zxa,zxr->ar", solution.channel, TABLE_1)
    assert solution.value == pytest.approx(mutual_information(p_rhat_r), abs=ROUNDING)
    for key, limit in solution.problem.limits.items():
        bits = oracles.leakage_bits(TABLE_1, solution.channel, key)  # type: ignore[arg-type]
        assert bits <= solution.leakage[key] + ROUNDING
        assert solution.leakage[key] <= limit + LIMIT_SLACK
        assert solution.multipliers[key] >= 0
    assert solution.bound is not None
    assert solution.gap == solution.bound - solution.value >= 0
    assert solution.status is (Status.OPTIMAL if solution.gap <= 1e-7 else Status.STATIONARY)


@pytest.mark.parametrize(("eps", "delta", "rhat_size"), POINTS)
def test_weights_are_those_of_the_letters(
    eps: float | None, delta: float | None, rhat_size: int | None
) -> None:
    """Disclosed: rows w_t c_t, so each block of letters has mass w_t in every cell."""
    solution = solved(eps, delta, rhat_size)
    weights = np.array(solution.weights)
    assert weights.sum() == pytest.approx(1.0, abs=ROUNDING)
    assert (weights > 0).all()
    n_letters = solution.channel.shape[-1]
    if solution.time_sharing is TimeSharing.NONE:
        assert solution.weights == (1.0,)
    if solution.time_sharing is not TimeSharing.DISCLOSED:
        assert rhat_size is None or n_letters == rhat_size
        return
    assert n_letters % len(weights) == 0
    assert rhat_size is None or n_letters == len(weights) * rhat_size
    blocks = solution.channel.reshape(2, 2, len(weights), -1).sum(axis=-1)
    # Meeting the limits to the last bit moves a little mass to one letter.
    np.testing.assert_allclose(blocks, np.broadcast_to(weights, blocks.shape), atol=1e-6)


def test_a_generous_gap_is_met() -> None:
    solution = solve(Problem(TABLE_1, "information", 0.25, 0.27), gap_tol=1e-3)
    assert solution.status is Status.OPTIMAL
    assert solution.gap is not None
    assert solution.gap <= 1e-3


# --- the bound ----------------------------------------------------------------------------------


def attacks(joint: Array, rng: np.random.Generator) -> list[Array]:
    """Channels with many letters: random ones, and where the paper's iteration takes them."""
    channels = []
    for _ in range(12):
        n_letters = int(rng.integers(2, 7))
        start = rng.dirichlet(np.full(n_letters, rng.choice([0.1, 1.0])), size=joint.shape[:-1])
        mu = tuple(10.0 ** rng.uniform(-2, 0, size=2))
        inner = 0.99 * start + 0.01 / n_letters
        run = blahut_arimoto(joint, "information", mu, start=inner, tol=1e-6, max_steps=300)
        channels += [start, run.channel]
    return channels


@cache
def attacks_on_table_1() -> list[Array]:
    return attacks(TABLE_1, np.random.default_rng(0))


def made_feasible(joint: Array, channel: Array, limits: dict[tuple[int, ...], float]) -> Array:
    """Disclosed mixture with silence: leakages and utility shrink in proportion."""
    silence = np.ones((*joint.shape[:-1], 1))
    shares = [1.0]
    for axes, limit in limits.items():
        held = oracles.leakage_bits(joint, silence, axes)
        added = oracles.leakage_bits(joint, channel, axes) - held
        if added > limit - held:
            shares.append(max(0.0, limit - held - ROUNDING) / added)
    share = min(shares)
    return np.concatenate([share * channel, (1 - share) * silence], axis=-1)


@pytest.mark.parametrize(("eps", "delta"), [(0.25, 0.27), (0.05, 0.4), (0.4, 0.05), (0.02, 0.03)])
def test_no_release_beats_the_bound_whatever_its_letters(eps: float, delta: float) -> None:
    solution = solved(eps, delta, 2)
    limits = {(): eps, (0,): delta}
    best = 0.0
    for channel in attacks_on_table_1():
        feasible = made_feasible(TABLE_1, channel, limits)
        oracles.assert_within_limits(TABLE_1, feasible, limits)
        best = max(best, utility(TABLE_1, feasible))
    assert solution.bound is not None
    assert best <= solution.bound
    assert best >= 0.7 * solution.bound  # an attack that comes nowhere near proves nothing


def test_the_bound_holds_for_three_letters_of_r_and_a_coalition() -> None:
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.full(24, 0.5)).reshape(2, 4, 3)
    held = oracles.leakage_bits(joint, np.ones((2, 4, 1)), (0,))
    limits = {(): 0.1, (0,): held + 0.1}
    solution = solve(Problem(joint, "information", coalitions=limits))
    oracles.assert_within_limits(joint, solution.channel, limits)
    assert solution.bound is not None
    for channel in attacks(joint, rng):
        assert utility(joint, made_feasible(joint, channel, limits)) <= solution.bound
    assert solution.value >= 0.9 * solution.bound


# --- known optima -------------------------------------------------------------------------------


def test_without_limits_everything_about_r_is_told() -> None:
    """I(Z,X;R) is attained when each cell may have its letter: four letters for four cells."""
    everything = mutual_information(TABLE_1.reshape(4, 2))
    for rhat_size in (4, None):
        solution = solved(None, None, rhat_size)
        assert solution.value == pytest.approx(everything, abs=TARGET)
        assert solution.value <= everything + ROUNDING


def test_by_default_there_are_as_many_letters_as_still_help() -> None:
    """Ten records, each with its own law of R, and no limit: ten letters, not a few per r."""
    joint = np.random.default_rng(0).dirichlet(np.full(20, 0.5)).reshape(10, 2)
    everything = mutual_information(joint)
    for rhat_size in (10, None):
        solution = solve(Problem(joint, "information", rhat_size=rhat_size))
        assert solution.value == pytest.approx(everything, abs=TARGET)


@pytest.mark.parametrize("rhat_size", [1, 2, 3])
def test_without_limits_the_best_quantiser_is_found(rhat_size: int) -> None:
    """I is convex in the channel: some map of the four cells to letters is optimal."""
    maps = product(range(rhat_size), repeat=4)
    best = max(utility(TABLE_1, np.eye(rhat_size)[list(f)].reshape(2, 2, -1)) for f in maps)
    assert solved(None, None, rhat_size).value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.7])
def test_where_r_is_x_the_limit_itself_is_attained(rate: float) -> None:
    """I(Rhat; R) = I(Rhat; X) <= eps: an erasure channel attains it with one letter more."""
    solution = solve(Problem(np.diag([0.3, 0.7]), "information", individual=rate))
    assert solution.value <= rate + LIMIT_SLACK
    assert solution.value == pytest.approx(rate, abs=TARGET)


def test_one_letter_of_r_tells_nothing() -> None:
    joint = TABLE_1.sum(axis=-1, keepdims=True)
    for eps in (None, 0.0, 0.1):
        solution = solve(Problem(joint, "information", individual=eps))
        assert solution.value == 0.0
        assert solution.bound == pytest.approx(0.0, abs=ROUNDING)
        assert solution.status is Status.OPTIMAL
        assert solution.leakage[()] <= 1e-4  # nothing to say: nothing need leak


def test_one_letter_of_x_leaves_the_history() -> None:
    """Nothing about a record that is the same for all can leak: R is told as far as Z knows it."""
    joint = np.array([[[0.4, 0.1]], [[0.1, 0.4]]])
    solution = solve(Problem(joint, "information", individual=0.0, collusion=0.0))
    assert solution.value == pytest.approx(mutual_information(joint[:, 0]), abs=TARGET)
    assert solution.value == pytest.approx(1 - oracles.binary_entropy_bits(0.2), abs=TARGET)


def test_request_independent_of_the_record() -> None:
    joint = TABLE_1.sum(axis=-1)[..., None] * np.array([0.3, 0.7])
    solution = solve(Problem(joint, "information", individual=0.1))
    assert solution.value == pytest.approx(0.0, abs=1e-9)


def test_no_bits_for_anyone_leaves_what_the_history_tells() -> None:
    """eps unlimited, delta = I(Z;X): the best release is a channel of z alone, Z itself."""
    solution = solved(None, HELD, 2)
    expected = mutual_information(TABLE_1.sum(axis=1))  # I(Z;R), two letters suffice
    assert solution.value == pytest.approx(expected, abs=1e-6)


def test_a_limit_below_what_has_leaked_is_refused() -> None:
    with pytest.raises(InfeasibleError) as caught:
        solve(Problem(TABLE_1, "information", 0.1, HELD / 2))
    assert caught.value.coalition == (0,)
    assert caught.value.bits_short == pytest.approx(HELD / 2, abs=ROUNDING)


def test_two_solves_are_equal_to_the_last_bit() -> None:
    first, second = (
        solve(Problem(TABLE_1, "information", 0.2, 0.22, rhat_size=2)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.channel, second.channel)
    assert (first.value, first.bound) == (second.value, second.bound)


# --- fixed points of Algorithm 2 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("eps", "delta", "rhat_size"),
    [(0.1, 0.12, 2), (0.3, 0.35, 2), (0.02, 0.05, 2), (0.25, 0.27, None)],
)
def test_one_step_of_algorithm_2_hardly_moves_the_channel(
    eps: float, delta: float, rhat_size: int | None
) -> None:
    """A stationary point, at the multipliers that meet the limits, is one of the iteration's."""
    solution = solved(eps, delta, rhat_size)
    assert solution.time_sharing is TimeSharing.NONE
    mu = (solution.multipliers[()], solution.multipliers[0,])
    assert min(mu) > 0.01
    step = blahut_arimoto(
        TABLE_1, "information", mu, start=solution.channel, tol=1e-15, max_steps=1
    )
    # Rounds stop when they gain less than 1e-7 bits, which is quadratic in the distance left.
    np.testing.assert_allclose(step.channel, solution.channel, atol=1e-3)
    # Other multipliers do move it: the test can fail.
    other = blahut_arimoto(
        TABLE_1, "information", (2 * mu[0], mu[1]), start=solution.channel, tol=1e-15, max_steps=1
    )
    assert np.abs(other.channel - solution.channel).max() > 1e-2


# --- time-sharing -------------------------------------------------------------------------------


def pool_of_channels() -> tuple[Array, Array, Array]:
    """Some two-letter channels [t, rhat, z, x], their utilities, and bits they add to each view."""
    channels, values, added = [], [], []
    for eps, delta in [(0.1, 0.12), (0.3, 0.35), (0.02, 0.05)]:
        solution = solved(eps, delta, 2)
        channels.append(solution.channel.transpose(2, 0, 1))
        values.append(solution.value)
        added.append([solution.leakage[()], solution.leakage[0,] - HELD])
    return np.array(channels), np.array(values), np.array(added)


def test_disclosed_mixtures_attain_the_means_and_undisclosed_ones_less() -> None:
    """[M] fact 7; hiding t is data processing: it tells less and leaks less."""
    channels, values, added = pool_of_channels()
    weights = np.array([0.5, 0.2, 0.3])
    disclosed = disclosed_channel(channels, weights).transpose(1, 2, 0)
    undisclosed = undisclosed_channel(channels, weights).transpose(1, 2, 0)
    assert disclosed.shape == (2, 2, 6)
    assert undisclosed.shape == (2, 2, 2)
    for channel in (disclosed, undisclosed):
        oracles.assert_is_channel(channel)
    assert utility(TABLE_1, disclosed) == pytest.approx(weights @ values, abs=1e-9)
    assert utility(TABLE_1, undisclosed) < utility(TABLE_1, disclosed)
    for axes, mean in [((), weights @ added[:, 0]), ((0,), weights @ added[:, 1] + HELD)]:
        assert oracles.leakage_bits(TABLE_1, disclosed, axes) == pytest.approx(mean, abs=1e-9)
        assert oracles.leakage_bits(TABLE_1, undisclosed, axes) < mean


def test_the_best_mixture_uses_at_most_one_channel_more_than_limits() -> None:
    _, values, added = pool_of_channels()
    budgets = np.array([0.2, 0.22])
    mixture = best_mixture(values, added, budgets)
    assert mixture is not None
    assert len(mixture.members) <= 3
    assert mixture.weights.sum() == pytest.approx(1.0)
    spent = mixture.weights @ added[mixture.members]
    assert (spent <= budgets + LIMIT_SLACK).all()
    assert mixture.value == pytest.approx(mixture.weights @ values[mixture.members])
    # Every pair of channels, mixed as far as the budgets go, does no better.
    for i, j in product(range(3), repeat=2):
        for share in np.linspace(0, 1, 101):
            mixed = share * added[i] + (1 - share) * added[j]
            if (mixed <= budgets).all():
                assert share * values[i] + (1 - share) * values[j] <= mixture.value + ROUNDING


def test_no_mixture_meets_budgets_that_no_channel_meets() -> None:
    _, values, added = pool_of_channels()
    assert best_mixture(values, added, np.array([0.001, 0.001])) is None


def test_two_letters_never_do_worse_than_sharing_time_between_them_and_silence() -> None:
    """Disclosed sharing of the designs for other limits is a candidate: no answer is below it.

    The undisclosed mixture of the same channels is another one.
    """
    channels, values, added = pool_of_channels()
    eps, delta = 0.2, 0.22
    mixture = best_mixture(values, added, np.array([eps, delta - HELD]))
    assert mixture is not None
    assert len(mixture.members) >= 2
    solution = solved(eps, delta, 2)
    assert solution.value >= mixture.value - TARGET
    hidden = undisclosed_channel(channels[mixture.members], mixture.weights).transpose(1, 2, 0)
    oracles.assert_within_limits(TABLE_1, hidden, {(): eps, (0,): delta}, slack_bits=1e-9)
    assert solution.value >= utility(TABLE_1, hidden)


def test_letters_asked_for_beyond_need_do_no_harm() -> None:
    assert solved(0.05, None, 3).value >= solved(0.05, None, 2).value - TARGET
    assert solved(0.05, None, 3).value <= log2(3)
