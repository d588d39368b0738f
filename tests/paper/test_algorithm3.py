"""[TVC] Algorithm 3: the limits are met, and how near it comes to the certified optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import InvalidInputError
from tacit.paper.algorithm3 import Found, algorithm3
from tacit.paper.table1 import JOINT, table1_problem
from tacit.problem import Problem
from tacit.solvers import solve
from tests.oracles import leakage_bits

GAP_TOL = 1e-7
"""What tacit.solve is asked for."""


@pytest.mark.parametrize(
    ("individual", "collusion"),
    [(0.3, 0.3), (0.3, None), (None, 0.3), pytest.param(0.3, 0.5, marks=pytest.mark.slow)],
)
def test_algorithm_3_agrees_with_the_certified_optimum(
    individual: float | None, collusion: float | None
) -> None:
    """Within its tolerance: at most one bits_tol short of each limit, each bit worth <= 0.4."""
    problem = table1_problem(individual, collusion)
    bits_tol = 1e-3
    release = algorithm3(problem, n_grid=6, bits_tol=bits_tol, max_steps=5000)
    best = solve(problem)
    assert release.found is Found.BISECTION
    assert release.individual_bits <= problem.limits[()]
    assert release.collusion_bits <= problem.limits[(0,)]
    assert best.bound is not None
    assert best.bound <= release.value <= best.value + 2 * 0.4 * bits_tol
    assert leakage_bits(JOINT, release.channel, ()) == pytest.approx(release.individual_bits)
    assert leakage_bits(JOINT, release.channel, (0,)) == pytest.approx(release.collusion_bits)
    assert len(release.curve) == 36
    assert release.runs > 36


def test_algorithm_3_without_binding_limits() -> None:
    release = algorithm3(table1_problem(), n_grid=3, max_steps=500)
    assert release.found is Found.SLACK
    assert release.value == pytest.approx(0.138, abs=1e-6)


def test_algorithm_3_where_the_curve_is_straight() -> None:
    """Erasures: D = 1 - eps, and every point of it has the multiplier 1."""
    problem = Problem(np.eye(2) / 2, [[0, 40], [40, 0], [1, 1]], individual=0.4)
    release = algorithm3(problem, n_grid=5, bits_tol=1e-3, max_steps=1000)
    assert release.value == pytest.approx(0.6, abs=2e-3)
    assert release.individual_bits <= 0.4


def test_algorithm_3_shares_time_where_no_pair_is_exact() -> None:
    """No tolerance at all: multipliers are bracketed, and their two channels mixed."""
    problem = table1_problem(individual=0.3)
    release = algorithm3(problem, n_grid=4, bits_tol=0.0, max_steps=2000)
    assert release.found is Found.TIME_SHARING
    assert 0.3 - 1e-5 <= release.individual_bits <= 0.3
    assert release.value == pytest.approx(solve(problem).value, abs=1e-5)


def test_algorithm_3_beyond_its_grid_mixes_with_a_constant() -> None:
    release = algorithm3(table1_problem(1e-3, 4e-3), n_grid=3, largest=0.5, max_steps=2000)
    assert release.found is Found.TIME_SHARING
    assert release.individual_bits <= 1e-3
    assert release.collusion_bits <= 4e-3
    assert release.value > solve(table1_problem(1e-3, 4e-3)).value


def test_algorithm_3_for_information() -> None:
    problem = table1_problem(0.4, 0.6, "information")
    release = algorithm3(problem, n_grid=4, bits_tol=0.03, n_starts=2, max_steps=150, tol=1e-4)
    assert release.individual_bits <= 0.4
    assert release.collusion_bits <= 0.6
    assert 0.2 < release.value < 0.3


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("coalitions", {(0,): 0.15}),
        ("views", {"lab": (np.eye(2)[:, None].repeat(2, axis=1), 0.15)}),
        ("caps", {(): 0.15}),
        ("ceilings", {0: 0.15}),
        ("objective", "worst-level"),
        ("analysable", True),
    ],
)
def test_algorithm_3_refuses_what_it_would_ignore(name: str, given: object) -> None:
    joint = np.array([[[0.2, 0.0], [0.0, 0.3]], [[0.3, 0.0], [0.0, 0.2]]])
    problem = replace(Problem(joint, individual=0.15), **{name: given})
    with pytest.raises(InvalidInputError, match=f"ignore {name}: use tacit.solve"):
        algorithm3(problem, n_grid=3, max_steps=500)
