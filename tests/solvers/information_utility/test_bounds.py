"""Upper bounds on I(Rhat; R): plain ones, and by prices, against the best release on a grid."""

from __future__ import annotations

from math import inf, log2

import numpy as np
import pytest

from tacit import Problem, conditional_mutual_information, mutual_information, solve
from tacit.solvers.convex.program import Statement
from tacit.solvers.information_utility.global_bound import refine_bound
from tacit.solvers.information_utility.plain_bound import plain_bound
from tests import oracles
from tests.solvers.information_utility.grid import best_on_grid, letters_on_grid
from tests.strategies import Array

ROUNDING = 3e-12
"""Bits: brute-force sums of some tens of terms, and solvers.convex.program.LIMIT_TOL."""

LP_TOL = 1e-8
"""HiGHS meets its constraints to 1e-9, and a bit is worth less than 10 bits here."""

N_PARTS = 16
GRID_LOSS = 0.02
"""Bits that a grid of sixteenths may lose on these problems, seen: 0.015."""


def random_joint(seed: int, *, is_markov: bool, shape: tuple[int, int, int] = (2, 2, 2)) -> Array:
    rng = np.random.default_rng(seed)
    n_z, n_x, n_r = shape
    if not is_markov:
        return rng.dirichlet(np.full(n_z * n_x * n_r, 0.7)).reshape(shape)
    joint_xr = rng.dirichlet(np.full(n_x * n_r, 0.7)).reshape(n_x, n_r)
    return rng.dirichlet(np.ones(n_z), size=n_x).T[:, :, None] * joint_xr


def stated(
    joint: Array, individual: float | None, collusion: float | None
) -> tuple[Statement, Array]:
    problem = Problem(joint, "information", individual, collusion)
    statement = Statement.of(problem)
    return statement, statement.limits(problem.limits)


def held_bits(joint: Array) -> float:
    return oracles.mutual_information_bits(joint.sum(axis=-1))


# --- plain bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_individual_limit_bounds_where_the_history_knows_r_through_x(seed: int) -> None:
    joint = random_joint(seed, is_markov=True, shape=(3, 4, 3))
    bits = 0.3 * mutual_information(joint.sum(axis=0))
    assert plain_bound(*stated(joint, bits, None)) == pytest.approx(bits, abs=ROUNDING)
    assert solve(Problem(joint, "information", bits)).bound <= bits + ROUNDING  # type: ignore[operator]


def test_it_does_not_where_the_history_knows_more() -> None:
    """R is Z, and X knows nothing of either: everything can be told at 0 bits."""
    joint = np.full((2, 2, 2), 0.0)
    joint[0, :, 0] = joint[1, :, 1] = 0.25
    bound = plain_bound(*stated(joint, 0.0, None))
    assert bound == pytest.approx(1.0, abs=ROUNDING)
    assert solve(Problem(joint, "information", 0.0)).value == pytest.approx(1.0, abs=1e-4)


def test_a_chain_that_is_broken_a_little_adds_that_little() -> None:
    joint = random_joint(0, is_markov=True)
    broken = joint * np.array([1.0, 1.1, 1.0, 1.0, 1.2, 1.0, 1.0, 1.0]).reshape(2, 2, 2)
    broken /= broken.sum()
    more = conditional_mutual_information(broken.swapaxes(1, 2))  # I(Z; R | X)
    assert more > 1e-6
    bound = plain_bound(*stated(broken, 0.01, None))
    assert bound == pytest.approx(0.01 + more, abs=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_everyone_s_limit_and_everything_known_bound(seed: int) -> None:
    joint = random_joint(seed, is_markov=False, shape=(3, 4, 3))
    held, told = held_bits(joint), oracles.mutual_information_bits(joint.sum(axis=1))
    bound = plain_bound(*stated(joint, None, held + 0.01))
    assert bound == pytest.approx(told + 0.01, abs=ROUNDING)
    everything = oracles.mutual_information_bits(joint.reshape(-1, 3))
    assert plain_bound(*stated(joint, None, None)) == pytest.approx(everything, abs=ROUNDING)
    assert plain_bound(*stated(joint, None, None)) >= everything


def test_a_view_bounds_as_everyone_does() -> None:
    """The view of the whole history, given by its law, is everyone's."""
    joint = random_joint(1, is_markov=False, shape=(3, 4, 3))
    limit = held_bits(joint) + 0.02
    law = np.broadcast_to(np.eye(3)[:, None], (3, 4, 3))
    problem = Problem(joint, "information", views={"broker": (law, limit)})
    statement = Statement.of(problem)
    bound = plain_bound(statement, statement.limits(problem.limits))
    assert bound == pytest.approx(plain_bound(*stated(joint, None, limit)), abs=ROUNDING)
    assert bound < plain_bound(*stated(joint, None, None)) - 0.01


def test_two_letters_tell_at_most_a_bit() -> None:
    joint = np.diag(np.full(4, 0.25))
    problem = Problem(joint, "information", rhat_size=2)
    statement = Statement.of(problem)
    assert plain_bound(statement, statement.limits(problem.limits)) == pytest.approx(log2(2))


# --- the bound by prices ------------------------------------------------------------------------


PROBLEMS = [
    (seed, is_markov, rooms)
    for seed in range(3)
    for is_markov in (True, False)
    for rooms in ((0.05, 0.1), (0.3, 0.05), (0.02, inf))
]


@pytest.mark.parametrize(("seed", "is_markov", "rooms"), PROBLEMS)
def test_between_the_best_on_a_grid_and_the_bound(
    seed: int, is_markov: bool, rooms: tuple[float, float]
) -> None:
    joint = random_joint(seed, is_markov=is_markov)
    individual, collusion = rooms[0], held_bits(joint) + min(rooms[1], 10.0)
    on_grid = best_on_grid(joint, individual, collusion, N_PARTS)
    solution = solve(Problem(joint, "information", individual, collusion))
    assert solution.bound is not None
    assert on_grid <= solution.bound + LP_TOL
    assert on_grid <= solution.value + 2e-4, "a release on a coarse grid beats the one found"
    assert on_grid >= solution.bound - GRID_LOSS, "a grid that comes nowhere near proves nothing"


@pytest.mark.parametrize("seed", range(6))
def test_any_release_and_any_multipliers_give_a_valid_bound(seed: int) -> None:
    joint = random_joint(seed, is_markov=seed % 2 == 0)
    individual, collusion = 0.1, held_bits(joint) + 0.1
    on_grid = best_on_grid(joint, individual, collusion, N_PARTS)
    statement, limits = stated(joint, individual, collusion)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        channel = rng.dirichlet(np.full(3, 0.5), size=statement.mass.shape).transpose(2, 0, 1)
        multipliers = rng.exponential(size=2)
        bounds = [
            each.bits
            for each in refine_bound(statement, limits, channel, multipliers, tolerance=1e-3)
        ]
        assert on_grid <= bounds[-1] + LP_TOL
        assert (np.diff(bounds) <= ROUNDING).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_excess_is_the_largest_of_any_letter(seed: int) -> None:
    """Prices of a bad release: letters of a grid are worth no more beyond them than is proved."""
    joint = random_joint(seed, is_markov=False)
    statement, limits = stated(joint, 0.1, held_bits(joint) + 0.1)
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(3), size=statement.mass.shape).transpose(2, 0, 1)
    *_, last = refine_bound(statement, limits, channel, np.array([0.3, 0.4]), tolerance=1e-4)
    assert last.excess[0] > 0
    assert (np.diff(last.excess) <= 0).all()
    assert last.looseness <= max(1e-4, 0.3 * last.excess[0]) + ROUNDING
    np.testing.assert_allclose(last.posterior.sum(axis=1), 1.0, atol=ROUNDING)


def test_the_grid_holds_every_law_once() -> None:
    letters = letters_on_grid(3, 4)
    assert letters.shape == (15, 3)
    assert len(np.unique(letters, axis=0)) == 15
    np.testing.assert_allclose(letters.sum(axis=1), 1.0, atol=ROUNDING)


def test_a_grid_finds_what_is_known() -> None:
    """R is X, no history: an erasure channel attains the limit, with letters on every grid."""
    joint = np.diag([0.25, 0.75])[None]
    assert best_on_grid(joint, 0.2, 1.0, 4) == pytest.approx(0.2, abs=LP_TOL)


# --- ever tighter -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_four_levels_of_r_are_bounded_within_a_hundredth(seed: int) -> None:
    """Cells of the simplex alone left gaps of half the bound here."""
    joint = random_joint(seed, is_markov=False, shape=(3, 3, 4))
    solution = solve(Problem(joint, "information", 0.2, held_bits(joint) + 0.2))
    assert solution.gap is not None
    assert solution.gap <= 0.01 * solution.value


def stated_with_empty_cells() -> tuple[Statement, Array, Array]:
    """Two earlier releases that some records never had, a coalition, and hardly any price."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(24, 0.5)).reshape(2, 2, 3, 2)
    joint[0, 0, 0] = joint[1, 0, 1] = joint[1, 1, 2] = 0.0
    joint /= joint.sum()
    problem = Problem(joint, "information", 0.1, coalitions={(0,): 2.0})
    statement = Statement.of(problem)
    channel = rng.dirichlet(np.ones(3), size=statement.mass.shape).transpose(2, 0, 1)
    return statement, statement.limits(problem.limits), channel


@pytest.mark.filterwarnings("error")
def test_cells_without_mass_leave_the_bound_a_number() -> None:
    """The best of a record's histories may be one that it never had: its share was 0 / 0."""
    statement, limits, channel = stated_with_empty_cells()
    assert (statement.mass == 0).any()
    multipliers = np.array([0.5, 1e-4, 0.0])[: len(limits)]
    bounds = [
        each.bits for each in refine_bound(statement, limits, channel, multipliers, tolerance=1e-3)
    ]
    assert np.isfinite(bounds).all()
    assert (np.diff(bounds) <= ROUNDING).all()
