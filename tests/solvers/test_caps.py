"""Caps on single answers: closed forms, independent solvers, corners and refusals."""

from __future__ import annotations

from math import inf, log2
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tacit
from tacit import Problem, Status
from tacit.errors import CapError, InvalidInputError
from tacit.information.leakage import maximal_leakage
from tacit.problem import WORST_LEVEL, ViewKey
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.reduction import Reduction
from tacit.solvers.kernel import Pace, one_thread
from tests import oracles
from tests import strategies as own
from tests.solvers.solutions import ORACLE_TOL, assert_certified, assert_honest, problem_of
from tests.strategies import Array, Release

MET = 1e-11
"""Bits. Caps are met up to rounding where they leave any room, ..."""

MET_SPENT = 1.5e-6
"""... and up to this where an earlier answer has reached them (convex.program.CAP_TOL)."""

FRUGAL_TOL = 6e-6
"""Nats within which the least leakage to everyone is asked for."""

ROOMS = (0.0, 1e-9, 1e-3, 0.1, 0.7, 2.0, inf)


def worst_ratio_bits(p_yx: Array) -> float:
    """log2 of the largest p(y | x) / p(y), by brute force."""
    p_x, p_y = p_yx.sum(axis=0), p_yx.sum(axis=1)
    return max(
        (log2(p_yx[y, x] / (p_y[y] * p_x[x])) for y, x in zip(*np.nonzero(p_yx), strict=True)),
        default=0.0,
    )


def seen(problem: Problem, key: object, channel: Array | None = None) -> Array:
    """p(y, x) of a view, or p(y, rhat; x) of a view and a channel, letters first."""
    mass = problem.joint_zxr.sum(axis=-1)
    joint = mass[..., None] * (1.0 if channel is None else channel.reshape(*mass.shape, -1))
    pooled = problem.view(key).pool(joint)
    return np.moveaxis(pooled, 1, -1).reshape(-1, mass.shape[1])


def assert_caps_met(solution: tacit.Solution, rooms: dict[Any, float] | None = None) -> None:
    """Every cap holds by brute force, and every worst answer is reported, never too small."""
    for key, told in solution.worst_answers.items():
        worst = worst_ratio_bits(seen(solution.problem, key, solution.channel))
        assert worst - 1e-13 <= told <= worst + 1e-11
        is_spent = rooms is not None and rooms.get(key, inf) < 1e-5
        cap = float(np.min(solution.problem.caps.get(key, inf)))
        assert worst <= cap + (MET_SPENT if is_spent else MET)


def binary_error(p: float, factor: float) -> float:
    """Least error of a bit with p(0) = p <= 1/2 under a cap on the recipient alone.

    Both caps bind at p(0 | 0) = K (1 - p), p(1 | 1) = K p while these are below 1. From there on
    the rarer letter is always told, and the other as often as its cap allows.
    """
    if factor * (1 - p) <= 1:
        return min(p, 1 - 2 * factor * p * (1 - p))
    return min(p, max(0.0, 1 / factor - p))


@pytest.mark.parametrize("p", [0.5, 0.4, 0.25, 0.1])
@pytest.mark.parametrize("bits", [0.0, 0.05, 0.3, 0.9, 1.0, 1.5, 4.0])
def test_a_capped_bit_has_a_closed_form(p: float, bits: float) -> None:
    solution = tacit.solve(Problem(np.diag([p, 1 - p]), caps={(): bits}))
    assert_certified(solution)
    assert_caps_met(solution)
    assert solution.value == pytest.approx(binary_error(p, 2.0**bits), abs=2e-7)


def test_a_cap_of_zero_gives_a_constant_release() -> None:
    joint = np.array([[0.1, 0.2], [0.3, 0.05], [0.05, 0.3]])
    solution = tacit.solve(Problem(joint, caps={(): 0.0}))
    assert solution.value == pytest.approx(min(joint.sum(axis=0)), abs=1e-7)
    assert solution.worst_answers[()] <= MET_SPENT


def test_a_cap_that_no_answer_can_exceed_changes_nothing() -> None:
    joint = np.random.default_rng(3).dirichlet(np.ones(24)).reshape(2, 4, 3)
    p_x = joint.sum(axis=(0, 2))
    plain = tacit.solve(Problem(joint, individual=0.2, collusion=0.4))
    caps = {(): -log2(p_x.min()), (0,): -log2(p_x.min())}
    capped = tacit.solve(Problem(joint, individual=0.2, collusion=0.4, caps=caps))
    np.testing.assert_array_equal(capped.channel, plain.channel)
    assert capped.bound == plain.bound


def test_an_average_limit_lets_an_answer_tell_everything_and_a_cap_forbids_it() -> None:
    joint = np.diag([0.017, 0.983])
    average = tacit.solve(Problem(joint, individual=0.13))
    capped = tacit.solve(Problem(joint, individual=0.13, caps={(): 2.0}))
    assert average.worst_answers[()] == pytest.approx(log2(1 / 0.017), abs=1e-9)
    assert capped.worst_answers[()] <= 2.0 + MET


@st.composite
def capped_releases(draw: st.DrawFn) -> tuple[Release, dict[Any, float], dict[Any, float]]:
    """A release problem, caps for some of its views, and the room that each leaves."""
    release = draw(own.limited_releases())
    problem = problem_of(release)
    rooms = {key: draw(st.sampled_from(ROOMS)) for key in [(), *release.limits, *release.views]}
    caps = {key: worst_ratio_bits(seen(problem, key)) + room for key, room in rooms.items()}
    return release, {key: bits for key, bits in caps.items() if bits < inf}, rooms


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(capped_releases())
def test_caps_beside_limits_agree_with_cvxpy(
    case: tuple[Release, dict[Any, float], dict[Any, float]],
) -> None:
    release, caps, rooms = case
    solution = tacit.solve(problem_of(release, caps=caps))
    assert_honest(solution)
    assert_caps_met(solution, rooms)
    assume(min(rooms.values()) > 1e-5)  # Clarabel has no interior there
    limits = {(): inf, **release.limits}
    try:
        answer = oracles.solve_by_cvxpy(
            release.joint, release.distortion, limits, release.views, caps=caps
        )
    except cp.SolverError:
        return  # honest in any case, as asserted above
    assert solution.bound is not None
    assert solution.bound <= answer.value + ORACLE_TOL
    assert solution.value >= answer.value - ORACLE_TOL


@st.composite
def capped_alone(draw: st.DrawFn) -> tuple[Array, Array, dict[str, tuple[Array, float]]]:
    """A joint law p(z, x, r) with r a function of x, a distortion, and capped views by law."""
    n_z, n_x, n_r = draw(own.sizes(3)), draw(own.sizes(4)), draw(own.sizes(3))
    p_zx = draw(own.arrays_of_laws((n_z, n_x)))
    level = np.array(draw(st.lists(st.integers(0, n_r - 1), min_size=n_x, max_size=n_x)))
    joint = p_zx[..., None] * np.eye(n_r)[level]
    views = {}
    for name in ("a", "b"):
        law = draw(own.channels((n_z, n_x), draw(own.sizes(3))))
        p_yx = np.einsum("zx,zxy->yx", p_zx, law)
        room = draw(st.sampled_from([1e-3, 0.1, 0.7, 2.0]))
        views[name] = (law, worst_ratio_bits(p_yx) + room)
    return joint, 1 - np.eye(n_r), views


@pytest.mark.parametrize("is_analysable", [False, True])
@pytest.mark.parametrize("is_worst", [False, True])
@settings(max_examples=30, deadline=None)
@given(case=capped_alone())
def test_caps_alone_agree_with_a_linear_program(
    case: tuple[Array, Array, dict[str, tuple[Array, float]]], is_analysable: bool, is_worst: bool
) -> None:
    joint, distortion, views = case
    problem = Problem(
        joint,
        views={name: (law, inf) for name, (law, _) in views.items()},
        caps={name: bits for name, (_, bits) in views.items()},
        objective=WORST_LEVEL if is_worst else "mean",
        analysable=is_analysable,
    )
    solution = tacit.solve(problem)
    assert_caps_met(solution)
    least = oracles.solve_caps_by_linprog(
        joint, distortion, views, is_analysable=is_analysable, is_worst=is_worst
    )
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(least, abs=3e-7)


@st.composite
def tables_of_caps(draw: st.DrawFn) -> tuple[Array, dict[str, tuple[Array, Array]]]:
    """A joint law p(z, x, r), and two views, each with caps of its own for each letter and record.

    The views may see the same, or be a function of the history: letters may merge.
    """
    n_z, n_x, n_y = draw(own.sizes(3)), draw(own.sizes(4)), draw(own.sizes(3))
    p_zx = draw(own.arrays_of_laws((n_z, n_x)))
    joint = p_zx[..., None] * np.eye(2)[np.arange(n_x) % 2]
    is_function = draw(st.booleans())
    shown = np.array(draw(st.lists(st.integers(0, n_y - 1), min_size=n_z, max_size=n_z)))
    function = np.broadcast_to(np.eye(n_y)[shown][:, None], (n_z, n_x, n_y))
    law = function if is_function else draw(own.channels((n_z, n_x), n_y))
    other = law if draw(st.booleans()) else draw(own.channels((n_z, n_x), n_y))
    views = {}
    for name, each in (("a", law), ("b", other)):
        held = worst_ratio_bits(np.einsum("zx,zxy->yx", p_zx, each))
        rooms = st.sampled_from([1e-3, 0.1, 0.7, 2.0])
        room = draw(st.lists(rooms, min_size=n_y * n_x, max_size=n_y * n_x))
        views[name] = (each, held + np.array(room).reshape(n_y, n_x))
    return joint, views


@settings(max_examples=80, deadline=None)
@given(tables_of_caps())
def test_tables_of_caps_agree_with_a_linear_program(
    case: tuple[Array, dict[str, tuple[Array, Array]]],
) -> None:
    joint, views = case
    problem = Problem(
        joint,
        views={name: (law, inf) for name, (law, _) in views.items()},
        caps={name: bits for name, (_, bits) in views.items()},
    )
    solution = tacit.solve(problem)
    least = oracles.solve_caps_by_linprog(joint, 1 - np.eye(2), views)
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(least, abs=3e-7)


@settings(max_examples=60, deadline=None)
@given(own.joints_xr(), st.floats(0, 3))
def test_a_cap_bounds_maximal_leakage(joint: Array, bits: float) -> None:
    solution = tacit.solve(Problem(joint, caps={(): bits}))
    p_x = joint.sum(axis=1) / joint.sum()
    assert maximal_leakage(p_x, solution.channel) <= bits + MET_SPENT


def test_information_is_told_within_caps() -> None:
    joint = np.random.default_rng(5).dirichlet(np.ones(30)).reshape(2, 5, 3)
    held = worst_ratio_bits(joint.sum(axis=-1))
    problem = Problem(joint, "information", individual=0.3, caps={(): 0.4, (0,): held + 0.1})
    solution = tacit.solve(problem)
    assert_caps_met(solution)
    assert solution.bound is not None
    assert 0.001 < solution.value <= solution.bound


def test_a_party_that_comes_back_is_held_to_its_cap_by_all_its_answers_together() -> None:
    p_x = np.random.default_rng(1).dirichlet(np.ones(8))
    level = np.arange(8) // 2
    joint_xr = p_x[:, None] * np.eye(4)[level]
    law, bits = np.ones((8, 1)), 1.2
    for _ in range(6):
        room = bits - worst_ratio_bits(p_x * law.T)
        problem = Problem(
            joint_xr,
            individual=0.05,
            views={"lab": (law, inf)},
            caps={"lab": bits - 0.2 * min(room, 1e-3)},
        )
        solution = tacit.solve(problem)
        assert_certified(solution)
        assert_caps_met(solution)
        law = (law[:, :, None] * solution.channel[:, None, :]).reshape(8, -1)
        law = law[:, law.max(axis=0) > 0]
    assert 0 <= bits - worst_ratio_bits(p_x * law.T) < 1e-3


def test_a_cap_below_what_an_answer_has_said_is_refused_and_named() -> None:
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0], joint[1, 1, 1], joint[1, 0, 0] = 0.3, 0.5, 0.2
    with pytest.raises(
        CapError, match=r"\(0,\).* 2 times as likely .*1 bits.* cap of 0.5"
    ) as caught:
        tacit.solve(Problem(joint, caps={(0,): 0.5}))
    assert caught.value.coalition == (0,)
    assert caught.value.held_bits == pytest.approx(1.0)
    assert caught.value.limit_bits == pytest.approx(0.5)
    assert tacit.solve(Problem(joint, caps={(0,): caught.value.held_bits})).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({"lab": 1.0}, "'lab', which is not among views"),
        ({(0,): 1.0}, "outside"),
        ({(): -1.0}, r"caps\[\(\)\]"),
        ({(): float("nan")}, r"caps\[\(\)\]"),
        ({(): np.ones((2, 2))}, r"shape \(2, 2\).*shape \(1, 2\)"),
        ({(): np.full((1, 2), np.nan)}, "give bits"),
    ],
)
def test_caps_that_make_no_sense_are_refused(caps: dict[object, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        Problem(np.diag([0.5, 0.5]), caps=caps)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_rhat", "n_z", "seed"), [(4, 32, 0), (8, 256, 2)])
def test_large_problems_with_caps_are_certified(n_rhat: int, n_z: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p_x = rng.dirichlet(np.full(32, 2.0))
    p_zx = rng.dirichlet(np.full(n_z, 3.0), size=32).T * p_x
    joint = p_zx[..., None] * np.eye(n_rhat)[rng.integers(0, n_rhat, 32)]
    held = worst_ratio_bits(p_zx)
    mi = oracles.mutual_information_bits(p_zx)
    caps = {(): 1.2, (0,): held + 0.5}
    solution = tacit.solve(Problem(joint, individual=0.3, collusion=mi + 0.2, caps=caps))
    assert_certified(solution)
    assert_caps_met(solution)
    assert solution.worst_answers[()] == pytest.approx(1.2, abs=1e-5)


@pytest.mark.parametrize("seed", [9, 23, 59, 80, 96])
def test_a_capped_view_by_its_law_without_a_limit_is_certified(seed: int) -> None:
    """Nearly a linear program: hardly any curvature holds the letters of the view."""
    rng = np.random.default_rng(seed)
    p_zx = rng.dirichlet(np.full(36, 0.5)).reshape(3, 12)
    law = rng.dirichlet(np.ones(6), size=(3, 12))
    joint = p_zx[..., None] * np.eye(4)[rng.integers(0, 4, 12)]
    held = worst_ratio_bits(np.einsum("zx,zxy->yx", p_zx, law))
    problem = Problem(joint, individual=0.3, views={"v": (law, inf)}, caps={"v": held + 0.05})
    solution = tacit.solve(problem, frugal=False)
    assert_certified(solution)
    assert_caps_met(solution)


@pytest.mark.parametrize("seed", [7, 34])
def test_a_channel_far_above_caps_that_are_not_held_yet_closes_no_gap(seed: int) -> None:
    """What it costs to meet them is then an estimate, which may lie below the bound."""
    rng = np.random.default_rng(seed)
    p_zx = rng.dirichlet(np.full(77, 0.1)).reshape(7, 11)
    p_zx = np.where(p_zx < 1e-9, 0.0, p_zx) / p_zx[p_zx >= 1e-9].sum()
    joint = p_zx[..., None] * np.eye(3)[rng.integers(0, 3, 11)]
    law = rng.dirichlet(np.full(20, 0.1), (7, 11))
    held = worst_ratio_bits(np.einsum("zx,zxy->yx", p_zx, law))
    caps = {(): 0.02, (0,): worst_ratio_bits(p_zx) + 1, "v": held + 1}
    solution = tacit.solve(Problem(joint, individual=0.4, views={"v": (law, inf)}, caps=caps))
    assert_certified(solution)
    assert_caps_met(solution)


@pytest.mark.parametrize("capped", [("v",), ((0,),), ("v", (0,))])
@pytest.mark.parametrize("is_limited", [True, False])
def test_caps_beside_a_view_of_many_letters_take_few_steps(
    capped: tuple[ViewKey, ...], is_limited: bool
) -> None:
    """The kernel goes letter by letter, and few caps are ever near."""
    rng = np.random.default_rng(2)
    p_zx = rng.dirichlet(np.full(24, 2.0), size=8).T * rng.dirichlet(np.full(8, 3.0))
    joint = p_zx[..., None] * (0.8 * np.eye(4)[np.arange(8) // 2] + 0.05)
    law = rng.dirichlet(np.ones(40), size=(24, 8))
    own = np.einsum("zx,zxy->yx", p_zx, law)
    told, everyone = map(oracles.mutual_information_bits, (own, p_zx))
    worst = {"v": worst_ratio_bits(own), (0,): worst_ratio_bits(p_zx)}
    problem = Problem(
        joint,
        collusion=everyone + (0.3 if is_limited else inf),
        views={"v": (law, told + 0.3)},
        caps={key: worst[key] + 0.05 for key in capped},
    )
    solution = tacit.solve(problem)
    assert_certified(solution)
    assert_caps_met(solution)
    assert solution.steps <= 50
    assert any(solution.worst_answers[key] > cap - 1e-5 for key, cap in problem.caps.items())


def problem_without_a_limit_on_everyone(
    rooms: dict[tuple[int, ...], float], limited: tuple[tuple[int, ...], ...]
) -> Problem:
    """Two earlier releases of 8 letters each; views with caps ``rooms`` above what they hold."""
    rng = np.random.default_rng(1)
    asked = np.eye(8)[np.arange(32) // 4]
    other = np.eye(8)[rng.integers(0, 8, 32)]
    earlier = [0.4 * each + 0.6 * rng.dirichlet(np.ones(8), 32) for each in (asked, other)]
    p_yzx = np.einsum("x,xy,xz->yzx", rng.dirichlet(np.full(32, 3.0)), *earlier)
    joint = p_yzx[..., None] * (0.9 * asked + 0.1 / 8)
    held = {key: view_of(p_yzx, key) for key in [*rooms, *limited]}
    return Problem(
        joint,
        individual=0.9,
        coalitions={key: oracles.mutual_information_bits(held[key]) + 0.3 for key in limited},
        caps={key: worst_ratio_bits(held[key]) + room for key, room in rooms.items()},
    )


def view_of(p_yzx: Array, key: tuple[int, ...]) -> Array:
    """p(y_S, x)."""
    unseen = tuple(axis for axis in (0, 1) if axis not in key)
    return p_yzx.sum(axis=unseen).reshape(-1, p_yzx.shape[-1])


@pytest.mark.parametrize(
    ("rooms", "limited"),
    [
        ({(): 0.9}, ()),
        ({(): 0.9, (0, 1): 0.2}, ()),
        ({(0,): 0.2}, ()),
        ({(0,): 0.2, (0, 1): 0.2}, ()),
        ({(0,): 0.2}, ((0,),)),
    ],
)
def test_the_least_leakage_to_everyone_beside_caps_takes_few_steps(
    rooms: dict[tuple[int, ...], float], limited: tuple[tuple[int, ...], ...]
) -> None:
    """Caps leave optima that are flat in many directions; wrong Newton steps would be many."""
    problem = problem_without_a_limit_on_everyone(rooms, limited)
    statement = Statement.of(problem)
    limits, cost = statement.limits(problem.limits)[None], statement.cost_of(problem.distortion)
    whole = statement.program(cost[None], limits)
    program = Reduction.of(whole, np.arange(whole.rows.n_views)).program
    pace = Pace(1e-7, FRUGAL_TOL, 1e-9, 1e7, 1e-5, is_multiplicative=False)
    with one_thread():
        outcome = program.minimise(np.zeros(len(program.is_exact)), pace)
    assert outcome.waste[0] <= FRUGAL_TOL
    assert outcome.steps[0] <= 60
    solution = tacit.solve(problem)
    assert_certified(solution)
    assert_caps_met(solution)
    assert any(solution.worst_answers[key] > cap - 1e-5 for key, cap in problem.caps.items())


def test_one_more_bit_of_a_cap_is_worth_what_is_told_at_most() -> None:
    joint = np.random.default_rng(4).dirichlet(np.ones(40)).reshape(2, 5, 4)
    held = worst_ratio_bits(joint.sum(axis=-1))
    caps = {(): 0.4, (0,): held + 0.2}
    solution = tacit.solve(Problem(joint, individual=0.3, caps=caps))
    assert set(solution.cap_multipliers) == set(caps)
    assert sum(solution.cap_multipliers.values()) > 0
    for key, worth in solution.cap_multipliers.items():
        for bits in (1e-3, 0.1, 1.0):
            raised = {**caps, key: caps[key] + bits}
            more = tacit.solve(Problem(joint, individual=0.3, caps=raised))
            assert more.value >= solution.value - bits * worth - 3e-7


def test_nothing_is_said_about_the_worth_of_a_cap_that_is_reached_everywhere() -> None:
    joint = np.array([[0.1, 0.2], [0.3, 0.05], [0.05, 0.3]])
    solution = tacit.solve(Problem(joint, caps={(): 0.0}))
    assert solution.cap_multipliers == {(): inf}
    assert tacit.solve(Problem(joint, caps={(): 1.0})).value < solution.value - 1e-3
