"""Surfaces: the same answers as one problem at a time, NaN where nothing is feasible."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from tacit import InvalidInputError, Problem, Status, mutual_information, solve, trace_surface
from tacit.solution import GAP_TOL
from tacit.tradeoff import find_bits
from tests import oracles
from tests.strategies import Array

ROUNDING = 1e-12

TABLE_1 = np.array(
    [[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]]
)  # [TVC] Table I
HELD = mutual_information(TABLE_1.sum(axis=-1))
"""I(Z; X) of Table I: no collusion limit below it can be met."""

INDIVIDUAL = [0.0, 1e-3, 0.05, 0.2, inf]
COLLUSION = [0.0, HELD - 1e-6, HELD, HELD + 1e-3, 0.05, 0.3, inf]


@pytest.fixture(scope="module")
def joint() -> Array:
    """p(z1, z2, x, r) with some cells that cannot occur."""
    law = np.random.default_rng(3).dirichlet(np.ones(36)).reshape(2, 2, 3, 3)
    law[0, 1, 2] = 0.0
    return np.asarray(law / law.sum())


def test_every_point_is_the_pointwise_optimum() -> None:
    surface = trace_surface(Problem(TABLE_1), individual=INDIVIDUAL, collusion=COLLUSION)
    assert surface.value.shape == surface.gap.shape == (5, 7)
    for i, j in np.ndindex(5, 7):
        if COLLUSION[j] < HELD - ROUNDING:
            assert np.isnan(surface.value[i, j])
            assert np.isnan(surface.gap[i, j])
            continue
        alone = solve(Problem(TABLE_1, "hamming", INDIVIDUAL[i], COLLUSION[j]))
        point = surface.solution(i, j)
        assert point.value == surface.value[i, j]
        assert point.gap == surface.gap[i, j] <= GAP_TOL
        assert point.status is Status.OPTIMAL
        assert point.bound <= alone.value + ROUNDING
        assert alone.bound <= point.value + ROUNDING
        assert (point.problem.individual, point.problem.collusion) == (INDIVIDUAL[i], COLLUSION[j])
        oracles.assert_is_channel(point.channel)
        limits = {(): INDIVIDUAL[i], (0,): COLLUSION[j]}
        oracles.assert_within_limits(TABLE_1, point.channel, limits)


def test_the_surface_falls_and_is_convex_along_both_limits() -> None:
    eps, delta = np.linspace(0.0, 0.3, 7), HELD + np.linspace(0.0, 0.3, 7)
    value = trace_surface(Problem(TABLE_1), individual=eps, collusion=delta).value
    for along in (value, value.T):
        assert (np.diff(along, axis=0) <= GAP_TOL).all()
        assert (np.diff(along, 2, axis=0) >= -4 * GAP_TOL).all()  # three values, weights 1, 2, 1


def test_limits_of_coalitions_and_views_hold_everywhere(joint: Array) -> None:
    nothing_new = np.ones((*joint.shape[:-1], 1))
    law = np.random.default_rng(4).dirichlet(np.ones(2), size=joint.shape[:-1])
    coalitions = {(0,): oracles.leakage_bits(joint, nothing_new, (0,)) + 0.01}
    views = {"auditor": (law, oracles.view_leakage_bits(joint, nothing_new, law) + 0.02)}
    problem = Problem(joint, "absolute", individual=1e-9, coalitions=coalitions, views=views)
    held = oracles.leakage_bits(joint, nothing_new, (0, 1))
    surface = trace_surface(problem, individual=[0.01, inf], collusion=[held + 0.02, inf])
    for i, j in np.ndindex(2, 2):
        point = surface.solution(i, j)
        limits = {**coalitions, (): surface.individual[i], (0, 1): surface.collusion[j]}
        oracles.assert_within_limits(joint, point.channel, limits, views)
        oracle = oracles.solve_by_cvxpy(joint, problem.distortion, limits, views)
        # Clarabel's error (test_solve) on top of the surface's own gap.
        assert point.value == pytest.approx(oracle.value, abs=2e-5)
    assert surface.problem is problem


def test_a_coalition_that_knows_too_much_leaves_nothing_feasible(joint: Array) -> None:
    problem = Problem(joint, coalitions={(0,): 0.0})
    surface = trace_surface(problem, individual=[0.1, inf], collusion=[inf])
    assert surface.solutions == (None, None)
    assert np.isnan(surface.value).all()


def test_an_infeasible_point_has_no_solution() -> None:
    surface = trace_surface(Problem(TABLE_1), individual=[0.1], collusion=[0.001, 0.1])
    with pytest.raises(
        InvalidInputError,
        match=r"grid point \[0, 0\] is infeasible: .* individual=0.1, collusion=0.001 allow",
    ):
        surface.solution(0, 0)
    assert surface.solution(0, 1).status is Status.OPTIMAL


@pytest.mark.parametrize(("i", "j"), [(0, 2), (0, 3), (2, 0), (7, 7), (0, -3), (-3, 0)])
def test_points_outside_the_grid_are_refused(i: int, j: int) -> None:
    """[0, 2] of a grid with two columns is not [1, 0]."""
    surface = trace_surface(Problem(TABLE_1), individual=[0.05, 0.1], collusion=[0.1, 0.2])
    with pytest.raises((IndexError, InvalidInputError)):
        surface.solution(i, j)


@pytest.mark.parametrize(("i", "j"), [(0, -1), (-1, 0), (-2, -2)])
def test_points_counted_from_the_end_are_those_of_the_grids(i: int, j: int) -> None:
    """As ``value[i, j]`` and ``individual[i]`` count them."""
    surface = trace_surface(Problem(TABLE_1), individual=[0.05, 0.1], collusion=[0.1, 0.2])
    problem = surface.solution(i, j).problem
    assert (problem.individual, problem.collusion) == (surface.individual[i], surface.collusion[j])


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        ({"individual": [], "collusion": [0.1]}, r"individual has shape \(0,\): give a list of li"),
        ({"individual": [0.1], "collusion": []}, r"collusion has shape \(0,\): give a list of lim"),
        (
            {"individual": [[0.1]], "collusion": [0.1]},
            r"individual has shape \(1, 1\): give a list",
        ),
        ({"individual": [-0.1], "collusion": [0.1]}, r"individual is -0.1: a limit is a number of"),
        ({"individual": [0.1], "collusion": [nan]}, r"collusion is nan: a limit is a number of bi"),
    ],
)
def test_unusable_grids_are_refused(grids: dict[str, list[float]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        trace_surface(Problem(TABLE_1), **grids)


@pytest.mark.parametrize("gap_tol", [0.0, -1.0, nan])
def test_an_impossible_gap_is_refused(gap_tol: float) -> None:
    with pytest.raises(InvalidInputError, match=r"gap_tol is .*: give a positive, finite number"):
        trace_surface(Problem(TABLE_1), individual=[0.1], collusion=[0.1], gap_tol=gap_tol)


def test_a_number_is_a_grid_of_one() -> None:
    surface = trace_surface(Problem(TABLE_1), individual=0.1, collusion=0.2)
    assert surface.value.shape == (1, 1)
    alone = solve(Problem(TABLE_1, individual=0.1, collusion=0.2))
    assert surface.value[0, 0] == pytest.approx(alone.value, abs=GAP_TOL)


def test_without_history_the_smaller_of_both_limits_holds() -> None:
    surface = trace_surface(Problem(np.eye(2)), individual=[0.1, 0.5], collusion=[0.3])
    expected = [oracles.uniform_hamming_distortion(2, rate) for rate in (0.1, 0.3)]
    np.testing.assert_allclose(surface.value[:, 0], expected, atol=GAP_TOL)


def test_information_has_surfaces_too() -> None:
    surface = trace_surface(
        Problem(TABLE_1, "information", rhat_size=2), individual=[0.1], collusion=[0.0, 0.12]
    )
    alone = solve(Problem(TABLE_1, "information", 0.1, 0.12, rhat_size=2), gap_tol=GAP_TOL)
    assert np.isnan(surface.value[0, 0])
    assert surface.value[0, 1] == alone.value
    assert surface.gap[0, 1] == alone.gap


def test_a_surface_says_what_it_holds() -> None:
    joint = np.array([[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]])
    surface = trace_surface(Problem(joint), individual=[0.1, 0.5], collusion=[0.0, 0.2, 0.6])
    value = surface.value[:, 1:]
    told = f"distortion {value.min():.4f} to {value.max():.4f}"
    assert repr(surface).startswith(f"Surface(2 x 3 limits: {told}, gap at most ")
    assert repr(surface).endswith(", 2 infeasible)")
    table = surface._repr_html_()
    assert table.count("<tr>") == 3
    assert table.count("infeasible</td>") == 2


# --- the inverse --------------------------------------------------------------------------------


def entropy_of(p: float) -> float:
    return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p))


@pytest.mark.parametrize("p", [0.5, 0.2])
@pytest.mark.parametrize("wrong", [0.19, 0.1, 0.01])
def test_bits_for_a_distortion_of_a_coin(p: float, wrong: float) -> None:
    found = find_bits(Problem(np.diag([p, 1 - p])), wrong)
    truth = entropy_of(p) - entropy_of(wrong)  # its rate-distortion function
    slack = GAP_TOL * np.log2((1 - wrong) / wrong)  # a distortion GAP_TOL above counts as reached
    assert found.at_least <= truth + ROUNDING
    assert truth - 2 * slack <= found.at_most
    assert found.at_most - found.at_least <= 1e-5
    assert found.best == pytest.approx(0, abs=GAP_TOL)


@pytest.mark.parametrize("seed", range(5))
def test_bits_for_a_distortion_invert_the_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = (1 - np.eye(4)) * rng.uniform(0.5, 1, size=(4, 4))
    problem = Problem(rng.dirichlet(np.full(20, 0.3)).reshape(5, 4), costs)
    target = solve(problem.with_limits(0.1, inf)).value
    assert solve(problem).value + 0.01 < target < (costs @ problem.p_r).min() - 0.01
    found = find_bits(problem, target)
    assert found.at_least <= 0.1 + 1e-5
    assert found.at_most >= 0.1 - 1e-4
    assert solve(problem.with_limits(found.at_most, inf)).value <= target + 2 * GAP_TOL
    assert solve(problem.with_limits(found.at_least - 1e-4, inf)).bound > target


def test_bits_for_what_is_free_exact_or_out_of_reach() -> None:
    noisy = np.array([[0.4, 0.1], [0.1, 0.4]])
    free = find_bits(Problem(noisy), 0.5)
    assert (free.at_least, free.at_most) == (0.0, 0.0)
    never = find_bits(Problem(noisy), 0.1)
    assert never.at_least == never.at_most == inf
    assert never.best == pytest.approx(0.2, abs=GAP_TOL)
    exact = find_bits(Problem(np.eye(4) / 4), 0.0)
    assert exact.at_least <= exact.at_most <= 2 + ROUNDING
    assert exact.at_most == pytest.approx(2, abs=1e-4)


@pytest.mark.parametrize("problem", [Problem(TABLE_1), Problem(np.eye(2) / 2, "information")])
def test_bits_are_searched_for_distortions_without_a_history(problem: Problem) -> None:
    with pytest.raises(InvalidInputError, match="without a history: give p"):
        find_bits(problem, 0.1)
