"""Analysable releases whose estimated shares vary least."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import tacit
from tacit.errors import InvalidInputError
from tacit.problem import WORST_LEVEL, Problem
from tacit.solvers.shares import blurred, largest_variance
from tests import oracles
from tests.solvers.solutions import assert_within_limits, held_bits
from tests.strategies import Array

DESCENT_TOL = 1e-4
"""Relative. The descent stops when the variance changes by less than 1e-8 in a step."""

P_R = np.array([0.15, 0.25, 0.6])


def variance_by_hand(p_r: Array, matrix: Array) -> float:
    """Largest variance of the shares that the inverse of p(rhat | r), [r, rhat], estimates.

    Given the levels, the letters are independent: n Var = sum_s p(s) Var(B[r, Rhat] | s).
    """
    scores = np.linalg.inv(matrix.T)  # [r, rhat]
    second = np.einsum("s,sa,ra->r", p_r, matrix, scores**2)
    first = np.einsum("s,sr->r", p_r, np.einsum("sa,ra->sr", matrix, scores) ** 2)
    return float((second - first).max())


@pytest.mark.parametrize("bits", [0.05, 0.3, 0.8])
def test_its_variance_is_what_its_matrix_says_and_below_the_worst_level_s(bits: float) -> None:
    joint = np.diag(P_R)
    solution = tacit.solve(Problem(joint, "shares", bits, analysable=True))
    assert_within_limits_of_shares(solution)
    by_hand = variance_by_hand(P_R, solution.p_rhat_given_r)
    assert solution.value == pytest.approx(by_hand, rel=1e-9)
    worst = tacit.solve(Problem(joint, individual=bits, objective=WORST_LEVEL, analysable=True))
    assert solution.value < variance_by_hand(P_R, worst.p_rhat_given_r) * (1 - 1e-3)


def assert_within_limits_of_shares(solution: tacit.Solution) -> None:
    assert_within_limits(solution)
    assert solution.bound is None
    assert solution.gap is None
    assert solution.status is tacit.Status.STATIONARY


def test_two_equal_levels_have_a_closed_form() -> None:
    """A symmetric channel with error e has n Var = e (1 - e) / (1 - 2 e)^2."""
    solution = tacit.solve(Problem(np.eye(2), "shares", 0.3, analysable=True))
    error = oracles.uniform_hamming_distortion(2, 0.3)
    closed = error * (1 - error) / (1 - 2 * error) ** 2
    assert solution.value == pytest.approx(closed, rel=DESCENT_TOL)


def test_random_matrices_within_the_limit_do_no_better() -> None:
    """No proof: a search for counterexamples around and away from the design."""
    bits, rng = 0.3, np.random.default_rng(0)
    solution = tacit.solve(Problem(np.diag(P_R), "shares", bits, analysable=True))
    compared = 0
    for draw in range(2000):
        noise = rng.dirichlet(np.full(3, rng.choice([0.2, 1.0, 5.0])), size=3)
        base = [np.eye(3), solution.p_rhat_given_r][draw % 2]
        matrix = (1 - (share := rng.random())) * base + share * noise
        blind = np.broadcast_to(P_R @ matrix, (3, 3))
        low, high = 0.0, 1.0
        for _ in range(30):  # the largest share of the matrix within the limit
            middle = (low + high) / 2
            mixed = middle * matrix + (1 - middle) * blind
            told = oracles.mutual_information_bits((P_R[:, None] * mixed).T)
            low, high = (middle, high) if told <= bits else (low, middle)
        if np.linalg.cond(mixed := low * matrix + (1 - low) * blind) < 1e6:
            assert variance_by_hand(P_R, mixed) > solution.value * (1 - DESCENT_TOL)
            compared += 1
    assert compared > 1000


def test_a_simulated_release_varies_as_it_says() -> None:
    solution = tacit.solve(Problem(np.diag(P_R), "shares", 0.3, analysable=True))
    matrix, counts, rng = (
        solution.p_rhat_given_r,
        np.array([150, 250, 600]),
        np.random.default_rng(1),
    )
    runs = 4000
    letters = sum(rng.multinomial(n, row, size=runs) for n, row in zip(counts, matrix, strict=True))
    shares = letters / 1000 @ np.linalg.inv(matrix)
    observed = 1000 * shares.var(axis=0).max()
    assert observed == pytest.approx(solution.value, rel=4 * np.sqrt(2 / runs))  # four deviations
    np.testing.assert_allclose(shares.mean(axis=0), P_R, atol=4 * np.sqrt(observed / 1000 / runs))


def test_limits_on_coalitions_hold() -> None:
    rng = np.random.default_rng(2)
    p_z_given_x = rng.dirichlet(np.ones(3), size=6)
    joint = np.einsum("x,xz,xr->zxr", np.full(6, 1 / 6), p_z_given_x, np.eye(3)[np.arange(6) // 2])
    limit = held_bits(joint, (0,)) + 0.15
    solution = tacit.solve(Problem(joint, "shares", 0.3, limit, analysable=True))
    assert_within_limits_of_shares(solution)
    assert solution.leakage[(0,)] == pytest.approx(limit, abs=1e-5)  # it binds
    loose = tacit.solve(Problem(joint, "shares", 0.3, analysable=True))
    assert loose.value < solution.value


def test_a_cap_is_searched_not_only_kept() -> None:
    """It varies less than the best worst level within the cap, and than what is best without the
    cap, mixed with blind answers until it keeps it."""
    bits, cap = 0.3, 0.7
    capped = tacit.solve(Problem(np.diag(P_R), "shares", bits, caps={(): cap}, analysable=True))
    assert_within_limits_of_shares(capped)
    matrix = capped.p_rhat_given_r
    assert (matrix / (P_R @ matrix)).max() <= 2**cap * (1 + 1e-9)
    free = tacit.solve(Problem(np.diag(P_R), "shares", bits, analysable=True)).p_rhat_given_r
    blind = P_R @ free
    share = min(1.0, (2**cap - 1) / ((free / blind).max() - 1))
    assert share < 0.9
    assert capped.value < 0.7 * variance_by_hand(P_R, share * free + (1 - share) * blind)
    options = {"caps": {(): cap}, "objective": WORST_LEVEL, "analysable": True}
    fair = tacit.solve(Problem(np.diag(P_R), individual=bits, **options)).p_rhat_given_r
    assert capped.value < 0.95 * variance_by_hand(P_R, fair)


def test_random_matrices_within_a_cap_do_no_better() -> None:
    """No proof: a search for counterexamples around the design."""
    bits, cap, rng = 0.3, 0.7, np.random.default_rng(3)
    problem = Problem(np.diag(P_R), "shares", bits, caps={(): cap}, analysable=True)
    solution, compared = tacit.solve(problem), 0
    for _ in range(2000):
        noise = rng.dirichlet(np.ones(3), size=3)
        share = 10 ** rng.uniform(-4, 0)
        matrix = (1 - share) * solution.p_rhat_given_r + share * noise
        told = oracles.mutual_information_bits((P_R[:, None] * matrix).T)
        if told <= bits and (matrix / (P_R @ matrix)).max() <= 2**cap:
            assert variance_by_hand(P_R, matrix) > solution.value * (1 - DESCENT_TOL)
            compared += 1
    assert compared > 100


def test_without_limits_shares_are_exact_and_with_no_bits_they_are_lost() -> None:
    joint = np.diag(P_R)
    assert tacit.solve(Problem(joint, "shares", analysable=True)).value == pytest.approx(
        0, abs=1e-9
    )
    assert tacit.solve(Problem(joint, "shares", 0.0, analysable=True)).value == inf


def test_a_matrix_that_is_all_but_singular_estimates_nothing() -> None:
    """A design that was found: its rank is 3 up to 1e-12, and that of its square is 2."""
    matrix = np.array(
        [
            [0.36196411590085925, 0.24318381044270423, 0.3062204270428492],
            [0.3051548024911673, 0.36196411590085925, 0.3318154570562916],
            [0.3328810816079735, 0.39485207365643643, 0.36196411590085925],
        ]
    )
    p_r = np.array([0.30000000000000004, 0.30000000000000004, 0.4])
    assert largest_variance(p_r, matrix) > 1e9
    # Where the best worst level is such a matrix, the descent starts beside it.
    assert largest_variance(p_r, blurred(p_r, matrix)) < 1e6
    assert largest_variance(p_r, blurred(p_r, np.full((3, 3), 1 / 3))) < 1e6


def test_levels_without_records_are_left_out() -> None:
    with_gap = np.diag([0.15, 0.0, 0.25, 0.6])
    solution = tacit.solve(Problem(with_gap, "shares", 0.3, analysable=True))
    plain = tacit.solve(Problem(np.diag(P_R), "shares", 0.3, analysable=True))
    assert solution.value <= plain.value * (1 + DESCENT_TOL)  # it has one more letter


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "add analysable=True"),
        ({"analysable": True, "objective": WORST_LEVEL}, "has no error at each level"),
        ({"analysable": True, "ceilings": {0: 0.5}}, "has no error at each level"),
    ],
)
def test_what_shares_have_no_use_for_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Problem(np.diag(P_R), "shares", 0.3, **options)  # type: ignore[arg-type]
