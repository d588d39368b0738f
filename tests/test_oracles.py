"""The oracles agree with each other, and their assertions can fail."""

from __future__ import annotations

from itertools import product
from math import inf, log2

import numpy as np
import pytest

from tests import oracles

# Clarabel stops at relative gaps of 1e-8; leakages and values of order 1 keep about six digits.
SOLVER_TOL = 3e-6

HAMMING_2 = 1.0 - np.eye(2)
HAMMING_3 = 1.0 - np.eye(3)
EVERYONE = (0, 1)


@pytest.fixture(scope="module")
def joint() -> np.ndarray:
    """p(z1, z2, x, r) with 2, 2, 4 and 3 letters and some cells of probability zero."""
    rng = np.random.default_rng(7)
    law = rng.dirichlet(np.ones(48)).reshape(2, 2, 4, 3)
    law[0, 1, 2] = 0.0
    law[1, 0, :2, 1] = 0.0
    return law / law.sum()


@pytest.fixture(scope="module")
def limits(joint: np.ndarray) -> dict[tuple[int, ...], float]:
    """Limits with 0.03 to 0.1 bits of room beyond what each view holds already."""
    nothing_new = np.ones((*joint.shape[:-1], 1))
    held = {axes: oracles.leakage_bits(joint, nothing_new, axes) for axes in ((0,), EVERYONE)}
    return {(): 0.08, (0,): held[0,] + 0.05, EVERYONE: held[EVERYONE] + 0.1}


@pytest.fixture(scope="module")
def joint_of_three() -> np.ndarray:
    """p(z1, z2, z3, x, r), two letters each but three for x: coalitions nest two deep."""
    return np.random.default_rng(10).dirichlet(np.ones(48)).reshape(2, 2, 2, 3, 2)


@pytest.fixture(scope="module")
def noisy_view(joint: np.ndarray) -> np.ndarray:
    """p(y | z1, z2, x): a noisy copy of z1 that also depends on x."""
    rng = np.random.default_rng(8)
    return rng.dirichlet(np.ones(3), size=joint.shape[:-1])


def random_channel(joint: np.ndarray, n_rhat: int) -> np.ndarray:
    return np.random.default_rng(9).dirichlet(np.ones(n_rhat), size=joint.shape[:-1])


def leakage_by_loops(joint: np.ndarray, channel: np.ndarray, law: np.ndarray) -> float:
    """I(Rhat, Y; X) in bits from a dictionary of all events: slow, and hard to get wrong."""
    p: dict[tuple[int, int, int], float] = {}
    p_zx = joint.sum(axis=-1)
    for cell in np.ndindex(p_zx.shape):
        for y, rhat in product(range(law.shape[-1]), range(channel.shape[-1])):
            event = (y, rhat, cell[-1])
            p[event] = p.get(event, 0.0) + p_zx[cell] * law[(*cell, y)] * channel[(*cell, rhat)]

    def total(kept: tuple[int, ...], event: tuple[int, int, int]) -> float:
        return sum(q for other, q in p.items() if all(other[i] == event[i] for i in kept))

    return sum(q * log2(q / total((0, 1), e) / total((2,), e)) for e, q in p.items() if q > 0)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_oracle_meets_the_bernoulli_rate_distortion_function(rate: float) -> None:
    answer = oracles.solve_by_cvxpy(np.diag([0.3, 0.7]), HAMMING_2, {(): rate})
    expected = oracles.bernoulli_hamming_distortion(0.3, rate)
    oracles.assert_same_value(answer.value, expected, tolerance=SOLVER_TOL)


@pytest.mark.parametrize("rate", [0.1, 0.6, 1.2])
def test_oracle_meets_the_uniform_rate_distortion_function(rate: float) -> None:
    answer = oracles.solve_by_cvxpy(np.eye(3) / 3, HAMMING_3, {(): rate})
    expected = oracles.uniform_hamming_distortion(3, rate)
    oracles.assert_same_value(answer.value, expected, tolerance=SOLVER_TOL)


def test_closed_forms_agree_where_both_apply() -> None:
    for rate in (0.0, 0.2, 0.9, 1.0, 2.0):
        uniform = oracles.uniform_hamming_distortion(2, rate)
        assert uniform == pytest.approx(oracles.bernoulli_hamming_distortion(0.5, rate), abs=1e-12)


def test_leakages_agree_with_loops(joint: np.ndarray, noisy_view: np.ndarray) -> None:
    channel = random_channel(joint, 3)
    assert oracles.view_leakage_bits(joint, channel, noisy_view) == pytest.approx(
        leakage_by_loops(joint, channel, noisy_view), abs=1e-13
    )
    first_release = np.zeros((*joint.shape[:-1], 2))
    for z1 in range(2):
        first_release[z1, ..., z1] = 1.0
    expected = leakage_by_loops(joint, channel, first_release)
    assert oracles.leakage_bits(joint, channel, (0,)) == pytest.approx(expected, abs=1e-13)


def test_axes_of_the_history_are_views(joint: np.ndarray) -> None:
    channel = random_channel(joint, 2)
    whole_history = np.zeros((*joint.shape[:-1], 4))
    for z1, z2 in product(range(2), range(2)):
        whole_history[z1, z2, :, 2 * z1 + z2] = 1.0
    nothing = np.ones((*joint.shape[:-1], 1))
    for axes, law in ((EVERYONE, whole_history), ((), nothing)):
        assert oracles.leakage_bits(joint, channel, axes) == pytest.approx(
            oracles.view_leakage_bits(joint, channel, law), abs=1e-13
        )


def test_expected_distortion_by_loops(joint: np.ndarray) -> None:
    channel = random_channel(joint, 3)
    by_loops = sum(
        joint[(*cell, r)] * channel[(*cell, rhat)] * HAMMING_3[rhat, r]
        for cell in np.ndindex(joint.shape[:-1])
        for r, rhat in product(range(3), range(3))
    )
    assert oracles.expected_distortion(joint, HAMMING_3, channel) == pytest.approx(by_loops)


def test_formulations_agree(
    joint: np.ndarray, limits: dict[tuple[int, ...], float], noisy_view: np.ndarray
) -> None:
    held = oracles.view_leakage_bits(joint, np.ones((*joint.shape[:-1], 1)), noisy_view)
    views = {"noisy": (noisy_view, held + 0.03)}
    answers = [
        solve(joint, HAMMING_3, limits, views)
        for solve in (
            oracles.solve_by_cvxpy,
            oracles.solve_by_cvxpy_naively,
            oracles.solve_by_cvxpy_dual,
        )
    ]
    for answer in answers:
        oracles.assert_is_channel(answer.channel)
        oracles.assert_within_limits(joint, answer.channel, limits, views, slack_bits=SOLVER_TOL)
        oracles.assert_same_value(answer.value, answers[0].value, tolerance=SOLVER_TOL)
        assert answer.leakage.keys() == {*limits, "noisy"}


def test_nested_coalitions_agree(joint_of_three: np.ndarray) -> None:
    """Averages of averages: each coalition's limit holds by brute force, in every formulation."""
    nothing_new = np.ones((*joint_of_three.shape[:-1], 1))
    rooms = {(): 0.05, (0,): 0.05, (1,): 0.06, (0, 1): 0.06, (0, 1, 2): 0.08}
    limits = {
        axes: oracles.leakage_bits(joint_of_three, nothing_new, axes) + room
        for axes, room in rooms.items()
    }
    naive = oracles.solve_by_cvxpy_naively(joint_of_three, HAMMING_2, limits)
    for solve in (oracles.solve_by_cvxpy, oracles.solve_by_cvxpy_dual):
        answer = solve(joint_of_three, HAMMING_2, limits)
        oracles.assert_within_limits(joint_of_three, answer.channel, limits, slack_bits=SOLVER_TOL)
        oracles.assert_same_value(answer.value, naive.value, tolerance=SOLVER_TOL)


def test_dual_formulation_without_full_collusion(joint: np.ndarray) -> None:
    limits = {(): 0.1}
    primal = oracles.solve_by_cvxpy(joint, HAMMING_3, limits)
    dual = oracles.solve_by_cvxpy_dual(joint, HAMMING_3, limits)
    oracles.assert_same_value(dual.value, primal.value, tolerance=SOLVER_TOL)


def test_sweep_agrees_with_single_solves(
    joint: np.ndarray, limits: dict[tuple[int, ...], float]
) -> None:
    wider = {axes: bits + 0.02 for axes, bits in limits.items()}
    values = oracles.sweep_by_cvxpy(joint, HAMMING_3, [limits, wider])
    for value, each in zip(values, (limits, wider), strict=True):
        single = oracles.solve_robustly_by_cvxpy(joint, HAMMING_3, each)
        oracles.assert_same_value(value, single.value, tolerance=SOLVER_TOL)


def test_zero_budget_is_independence(joint: np.ndarray) -> None:
    answer = oracles.solve_by_cvxpy(joint, HAMMING_3, {(): 0.0})
    assert answer.leakage[()] == pytest.approx(0.0, abs=1e-9)
    barely = oracles.solve_by_cvxpy(joint, HAMMING_3, {(): 1e-5})
    assert barely.value <= answer.value + SOLVER_TOL
    oracles.assert_same_value(barely.value, answer.value, tolerance=5e-3)  # slope is unbounded
    with pytest.raises(ValueError, match="positive budgets"):
        oracles.solve_by_cvxpy_dual(joint, HAMMING_3, {(): 0.0})


def test_limit_below_what_is_held_is_refused(joint: np.ndarray) -> None:
    with pytest.raises(ValueError, match="already holds"):
        oracles.solve_by_cvxpy(joint, HAMMING_3, {EVERYONE: 0.0})


def test_unlimited_view_changes_nothing(joint: np.ndarray) -> None:
    limited = oracles.solve_by_cvxpy(joint, HAMMING_3, {(): 0.1})
    with_inf = oracles.solve_by_cvxpy(joint, HAMMING_3, {(): 0.1, EVERYONE: inf})
    oracles.assert_same_value(with_inf.value, limited.value, tolerance=SOLVER_TOL)


def test_exchanged_problem_returns_to_the_limit_it_came_from(
    joint: np.ndarray, limits: dict[tuple[int, ...], float]
) -> None:
    """Where the collusion limit binds, the least leakage at the optimal value is that limit."""
    tight = {axes: bits for axes, bits in limits.items() if axes != (0,)}
    tight[EVERYONE] -= 0.07
    best = oracles.solve_by_cvxpy(joint, HAMMING_3, tight)
    exchanged = oracles.least_collusion_by_cvxpy(joint, HAMMING_3, best.value, tight)
    # An error e in the value moves the leakage by about e / multiplier; multipliers are near 1.
    assert exchanged.value == pytest.approx(tight[EVERYONE], abs=30 * SOLVER_TOL)
    assert exchanged.leakage[EVERYONE] == exchanged.value


def test_assertions_can_fail(joint: np.ndarray) -> None:
    channel = random_channel(joint, 3)
    with pytest.raises(AssertionError, match="misses 1"):
        oracles.assert_is_channel(1.001 * channel)
    with pytest.raises(AssertionError, match="smallest entry"):
        oracles.assert_is_channel(channel - 0.5)
    with pytest.raises(AssertionError, match="NaN"):
        oracles.assert_is_channel(channel * np.nan)
    with pytest.raises(AssertionError, match="view \\(\\) learns"):
        oracles.assert_within_limits(joint, channel, {(): 0.0})
    copy_of_x = np.broadcast_to(np.eye(4), (2, 2, 4, 4))
    with pytest.raises(AssertionError, match="view 'x' learns"):
        oracles.assert_within_limits(joint, channel, {}, {"x": (copy_of_x, 0.1)})
    with pytest.raises(AssertionError, match="differs from"):
        oracles.assert_same_value(0.5, 0.5001, tolerance=1e-5)
