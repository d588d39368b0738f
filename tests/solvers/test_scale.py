"""The unit of a distortion is nobody's business: dollars, cents or squared dollars, one channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tacit.errors import CeilingError
from tacit.problem import Problem
from tacit.scheme import Scheme
from tacit.solution import GAP_TOL, Solution, Status
from tacit.solvers import solve
from tacit.tradeoff import find_bits, trace_surface

SCALES = (1e-9, 1e-6, 3.0, 4.7e5, 1e11)
"""Units per unit: no power of two but for rounding, so that costs are rounded anew each time."""

SAME = 1e-6
"""Entries of the channel: division by the unit moves costs by a rounding, and optima with them."""

COSTS = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]) / 4
"""Squared distances; the range is 1."""


def own_problem(**kind: Any) -> Problem:
    """A history of two letters, six records, three levels; R is a function of X."""
    random = np.random.default_rng(3)
    joint = np.zeros((2, 6, 3))
    joint[:, np.arange(6), np.arange(6) % 3] = random.dirichlet(np.ones(12)).reshape(2, 6)
    return Problem(joint, COSTS, individual=0.3, collusion=0.6, **kind)


KINDS: dict[str, dict[str, Any]] = {
    "mean": {},
    "coalition and cap": {"coalitions": {(0,): 0.5}, "caps": {(): 0.7}},
    "worst level": {"objective": "worst-level"},
    "ceilings": {"ceilings": {2: 0.2}},
    "worst level within ceilings": {"objective": "worst-level", "ceilings": {2: 0.2}},
    "analysable": {"analysable": True},
    "analysable, worst level": {"analysable": True, "objective": "worst-level"},
}


def scaled(problem: Problem, unit: float) -> Problem:
    ceilings = {level: unit * error for level, error in problem.ceilings.items()}
    return replace(problem, utility=unit * problem.distortion, ceilings=ceilings)


def assert_same(found: Solution, known: Solution, unit: float) -> None:
    """The channel, and all figures in another unit."""
    assert found.status is known.status is Status.OPTIMAL
    assert np.abs(found.channel - known.channel).max() <= SAME
    assert found.gap is not None
    assert found.gap <= GAP_TOL * unit
    assert found.value == pytest.approx(unit * known.value, rel=SAME)
    assert found.bound == pytest.approx(unit * known.bound, rel=SAME)
    for prices, others in (
        (found.multipliers, known.multipliers),
        (found.cap_multipliers, known.cap_multipliers),
    ):
        assert prices == pytest.approx({k: unit * price for k, price in others.items()}, rel=1e-3)
    assert found.level_multipliers == pytest.approx(known.level_multipliers, abs=1e-3)
    assert found.ceiling_multipliers == pytest.approx(known.ceiling_multipliers, abs=1e-3)
    errors = found.channel.reshape(-1, found.channel.shape[-1]) @ found.problem.distortion
    weights = found.problem.joint_zxr.reshape(-1, errors.shape[1])
    if found.problem.objective == "mean":
        assert found.value == pytest.approx((weights * errors).sum(), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", SCALES)
def test_another_unit_gives_the_same_channel(kind: str, unit: float) -> None:
    problem = own_problem(**KINDS[kind])
    assert_same(solve(scaled(problem, unit)), solve(problem), unit)


@pytest.mark.parametrize("unit", SCALES)
def test_surfaces_and_the_bits_needed_do_not_know_the_unit(unit: float) -> None:
    problem = own_problem()
    limits = {"individual": [0.1, 0.3], "collusion": [0.5, np.inf]}
    known, found = (trace_surface(each, **limits) for each in (problem, scaled(problem, unit)))
    for one, other in zip(found.solutions, known.solutions, strict=True):
        assert one is not None
        assert other is not None
        assert_same(one, other, unit)
    plain = Problem(problem.joint.sum(axis=0), COSTS)
    needed, again = find_bits(plain, 0.1), find_bits(scaled(plain, unit), 0.1 * unit)
    assert again.at_least == pytest.approx(needed.at_least, abs=1e-5)
    assert again.at_most == pytest.approx(needed.at_most, abs=1e-5)


@pytest.mark.parametrize("unit", SCALES)
@pytest.mark.parametrize("objective", ["mean", "worst-level"])
def test_a_scheme_does_not_know_the_unit(unit: float, objective: str) -> None:
    """Twice, so that the second request meets a history, and a copy at last."""
    tables = []
    for costs in (COSTS, unit * COSTS):
        scheme = Scheme(np.arange(1, 7.0))
        ask = np.eye(3)[[0, 1, 2, 0, 1, 2]]
        kind = {"utility": costs, "objective": objective}
        first = scheme.release(ask, party="lab", individual=0.3, **kind)
        other = scheme.release(np.roll(ask, 1, axis=1), party="ward", individual=0.2, **kind)
        copy = scheme.release(ask, party="office", individual=0.3, **kind)
        assert copy.source == 0
        tables.append((first.table, other.table))
    for one, other_one in zip(*tables, strict=True):
        assert np.abs(one - other_one).max() <= SAME


@pytest.mark.parametrize("unit", SCALES)
def test_ceilings_that_cannot_be_kept_are_refused_in_their_own_unit(unit: float) -> None:
    with pytest.raises(CeilingError) as refused:
        solve(scaled(own_problem(ceilings={0: 0.01, 1: 0.01, 2: 0.01}), unit))
    assert refused.value.ceiling == 0.01 * unit
    assert 0.01 * unit < refused.value.reachable < unit


def test_a_gap_in_the_distortions_own_unit() -> None:
    """10 dollars of a range of 4e6, not 10 ranges."""
    problem = scaled(own_problem(), 4e6)
    solution = solve(problem, gap_tol=10 / problem.scale)
    assert solution.gap is not None
    assert solution.gap <= 10


def test_a_cost_that_forbids_an_answer_does_not_count() -> None:
    """Beside a cost of 1e9 the others are not noise."""
    forbidden = np.array([[0.0, 1.0, 1e9], [1.0, 0.0, 1.0], [1e9, 1.0, 0.0]])
    problem = replace(own_problem(), utility=forbidden)
    assert problem.scale == 1.0
    assert solve(problem).value < 0.99 * float((forbidden @ problem.p_r).min())
