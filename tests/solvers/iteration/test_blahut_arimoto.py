"""The paper's iterations against closed forms, an independent solver, their own lemma and proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.problem import Problem
from tacit.solvers import solve
from tacit.solvers.convex.program import Statement
from tacit.solvers.iteration.alternation import Alternation, Auxiliaries, log2, log_start
from tacit.solvers.iteration.blahut_arimoto import Run, blahut_arimoto
from tests.oracles import (
    assert_is_channel,
    binary_entropy_bits,
    expected_distortion,
    leakage_bits,
    mutual_information_bits,
)
from tests.strategies import Array, arrays_of_laws, distortions, joints_zxr

TABLE_1 = np.array(
    [[[0.024, 0.203], [0.228, 0.013]], [[0.063, 0.228], [0.203, 0.038]]]
)  # [TVC] Table I
ROUNDING = 1e-11
"""Sums of some tens of terms of size up to mu log2(1/p) ~ 100, each right to 2**-53."""

multipliers = st.tuples(st.floats(0.0, 6.0), st.floats(0.0, 6.0)).filter(lambda mu: sum(mu) > 1e-3)


def objective_of(joint: Array, distortion: Array, channel: Array, mu: tuple[float, float]) -> float:
    """E d + mu1 I(Rhat; X) + mu2 I(Rhat, Z; X), by brute force."""
    everyone = tuple(range(joint.ndim - 2))
    return (
        expected_distortion(joint, distortion, channel)
        + mu[0] * leakage_bits(joint, channel, ())
        + mu[1] * leakage_bits(joint, channel, everyone)
    )


def random_start(joint: Array, n_rhat: int, seed: int) -> Array:
    return np.random.default_rng(seed).dirichlet(np.ones(n_rhat), size=joint.shape[:-1])


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("mu", [0.05, 0.3, 0.9])
def test_without_history_it_is_blahuts_rate_distortion(p: float, mu: float) -> None:
    # D + mu R(D) with R(D) = h(p) - h(D): the best D has log2((1-D)/D) = 1/mu, if below p.
    distortion = min(p, 1 / (1 + 2 ** (1 / mu)))
    expected = distortion + mu * (binary_entropy_bits(p) - binary_entropy_bits(distortion))
    run = blahut_arimoto(np.diag([1 - p, p]), mu=(mu, 0.0), tol=1e-13)
    assert run.gap is not None
    assert abs(run.objective - expected) <= run.gap + ROUNDING
    assert run.gap < 1e-6
    both = blahut_arimoto(np.diag([1 - p, p]), mu=(mu / 4, 3 * mu / 4), tol=1e-13)
    assert np.allclose(both.channel, run.channel, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_remarks_1_to_3_and_lemma_1(data: st.DataObject) -> None:
    joint = data.draw(joints_zxr())
    distortion = data.draw(distortions(joint.shape[-1]))
    mu = data.draw(multipliers)
    run = blahut_arimoto(joint, distortion, mu, max_steps=40)
    assert_is_channel(run.channel)
    assert (np.diff(run.trace) <= ROUNDING).all()  # Remark 1: f_q never rises
    assert run.trace[-1] + run.theta >= -ROUNDING  # Remark 2: bounded below, by 0 here
    exact = objective_of(joint, distortion, run.channel, mu)  # Lemma 1 and Remark 3: f_q = g
    assert run.trace[-1] + run.theta == pytest.approx(exact, abs=ROUNDING)
    assert run.objective == pytest.approx(exact, abs=ROUNDING)
    assert run.bound is not None
    assert run.bound <= exact + ROUNDING


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_information_never_rises_and_lemma_1_holds(data: st.DataObject) -> None:
    joint = data.draw(joints_zxr())
    mu = data.draw(multipliers)
    n_rhat = data.draw(st.integers(1, 3))
    start = random_start(joint, n_rhat, data.draw(st.integers(0, 99)))
    run = blahut_arimoto(joint, "information", mu, start=start, max_steps=40)
    assert_is_channel(run.channel)
    assert (np.diff(run.trace) <= ROUNDING).all()
    p_rhat_r = run.channel.reshape(-1, n_rhat).T @ joint.reshape(-1, joint.shape[-1])
    information = mutual_information_bits(p_rhat_r)
    exact = (
        mu[0] * leakage_bits(joint, run.channel, ())
        + mu[1] * leakage_bits(joint, run.channel, (0,))
        - information
    )
    assert run.value == pytest.approx(information, abs=ROUNDING)
    assert run.trace[-1] + run.theta == pytest.approx(exact, abs=ROUNDING)
    assert run.gap is None
    assert run.steps_to(1.0) is None


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_bound_holds_for_every_channel(data: st.DataObject) -> None:
    joint = data.draw(joints_zxr())
    distortion = data.draw(distortions(joint.shape[-1]))
    mu = data.draw(multipliers)
    run = blahut_arimoto(joint, distortion, mu, max_steps=data.draw(st.sampled_from([1, 5, 200])))
    assert run.bound is not None
    for seed in range(5):
        other = random_start(joint, len(distortion), seed)
        assert run.bound <= objective_of(joint, distortion, other, mu) + ROUNDING
    for letter in np.eye(len(distortion)):
        constant = np.broadcast_to(letter, (*joint.shape[:-1], len(distortion)))
        assert run.bound <= objective_of(joint, distortion, constant, mu) + ROUNDING


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_other_auxiliaries_never_do_better(data: st.DataObject) -> None:
    """[TVC] Theorem 1: for any channel the consistent q's minimise f."""
    joint = data.draw(arrays_of_laws((2, 3, 2)).filter(lambda p: (p.sum(axis=-1) > 0).all()))
    mu = data.draw(multipliers)
    statement = Statement.of(Problem(joint))
    updates = Alternation.of(statement, mu)
    log_c = log_start(statement, random_start(joint, 2, 1))
    q = updates.update_auxiliaries(log_c)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    other = Auxiliaries(
        log2(rng.dirichlet(np.ones(2)).reshape(2, 1, 1)),
        log2(rng.dirichlet(np.ones(2), size=(2, 3)).transpose(0, 2, 1)),
        log2(rng.dirichlet(np.ones(2), size=2).T[..., None]),
        q.exponent,
    )
    assert updates.f_at(log_c, q) <= updates.f_at(log_c, other) + ROUNDING


def test_agrees_with_the_certified_solver() -> None:
    """The limits at which the run ends have the run's distortion as their optimum."""
    run = blahut_arimoto(TABLE_1, mu=(0.1, 0.1), tol=1e-12)
    limits = Problem(TABLE_1, individual=run.individual_bits, collusion=run.collusion_bits)
    solution = solve(limits, gap_tol=1e-9)
    assert solution.value == pytest.approx(run.value, abs=1e-8)
    assert solution.multipliers[()] == pytest.approx(0.1, abs=1e-4)
    assert solution.multipliers[(0,)] == pytest.approx(0.1, abs=1e-4)


def test_a_dying_letter_still_gets_its_proof() -> None:
    """At (5, 5) on Table I the optimum is the constant release rhat = 0."""
    run = blahut_arimoto(TABLE_1, mu=(5.0, 5.0))
    assert run.is_converged
    assert run.gap is not None
    assert run.gap < 1e-8
    assert run.objective == pytest.approx(0.495809, abs=1e-6)
    assert run.channel[..., 0].min() > 1 - 1e-5
    # The channel stands still long before the objective is right: stopping there is too early.
    early = blahut_arimoto(TABLE_1, mu=(5.0, 5.0), tol=1e-3)
    assert early.is_converged
    assert early.gap is not None
    assert early.gap > 0.01


def test_tiny_multipliers_do_not_underflow() -> None:
    for mu in [1e-3, 1e-8, 1e-300]:
        run = blahut_arimoto(TABLE_1, mu=(mu, mu))
        assert run.value == pytest.approx(0.138, abs=1e-12)
        assert run.gap == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("utility", ["hamming", "information"])
@pytest.mark.parametrize("mu", [(0.2, 0.1), (0.2, 0.0), (0.0, 0.2)])
def test_letters_and_cells_that_cannot_occur(utility: str, mu: tuple[float, float]) -> None:
    joint = np.zeros((3, 3, 2))
    joint[:2, :2] = TABLE_1
    joint[0, 0] = 0.0  # a cell that cannot occur between letters that can
    start = random_start(joint, 2, 0)
    run = blahut_arimoto(joint, utility, mu, start=start)
    assert_is_channel(run.channel)
    smaller = blahut_arimoto(joint[:2, :2], utility, mu, start=start[:2, :2])
    assert run.objective == pytest.approx(smaller.objective, abs=ROUNDING)
    assert run.trace == pytest.approx(smaller.trace, abs=ROUNDING)


@pytest.mark.parametrize("mu", [(0.2, 0.1), (0.2, 0.0), (0.0, 0.2)])
def test_a_start_with_zeros_stays_a_channel(mu: tuple[float, float]) -> None:
    """Zeros of the start can stay, so the end need not be optimal: the gap says so."""
    start = np.zeros((2, 2, 2))
    start[..., 1] = 1.0
    run = blahut_arimoto(TABLE_1, mu=mu, start=start)
    assert_is_channel(run.channel)
    assert run.value == pytest.approx(0.518, abs=1e-12)
    assert run.gap is not None
    assert run.gap > 0.1
    mixed = start.copy()
    mixed[0, 0] = [0.5, 0.5]
    assert_is_channel(blahut_arimoto(TABLE_1, "information", mu, start=mixed).channel)


def test_several_earlier_releases_and_none() -> None:
    joint = TABLE_1.reshape(2, 1, 2, 2)
    run = blahut_arimoto(joint, mu=(0.1, 0.1))
    flat = blahut_arimoto(TABLE_1, mu=(0.1, 0.1))
    assert run.channel.shape == (2, 1, 2, 2)
    assert set(run.leakage) == {(), (0, 1)}
    assert run.collusion_bits == flat.collusion_bits
    alone = blahut_arimoto(TABLE_1.sum(axis=0), mu=(0.1, 0.1))
    assert set(alone.leakage) == {()}
    assert alone.collusion_bits == alone.individual_bits


def test_the_uniform_start_is_a_fixed_point_for_information() -> None:
    run = blahut_arimoto(TABLE_1, "information", mu=(0.1, 0.1))
    assert run.steps == 1
    assert run.is_converged
    assert run.value == 0.0
    helped = blahut_arimoto(TABLE_1, "information", (0.1, 0.1), start=random_start(TABLE_1, 3, 0))
    assert helped.channel.shape == (2, 2, 3)
    assert helped.objective < run.objective - 0.1


def test_stops_at_max_steps_and_counts_them() -> None:
    run = blahut_arimoto(TABLE_1, mu=(5.0, 5.0), max_steps=7)
    assert not run.is_converged
    assert run.steps == len(run.trace) == 7
    converged: Run = blahut_arimoto(TABLE_1, mu=(0.1, 0.1))
    needed = converged.steps_to(1e-6)
    assert needed is not None
    shorter = blahut_arimoto(TABLE_1, mu=(0.1, 0.1), max_steps=needed)
    assert shorter.objective - converged.objective <= 1e-6
    assert converged.steps_to(-1.0) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mu": (0, 0)}, r"mu is \(0, 0\)"),
        ({"mu": (-0.1, 1.0)}, "finite numbers >= 0"),
        ({"mu": (float("nan"), 1.0)}, "finite numbers >= 0"),
        ({"mu": (float("inf"), 1.0)}, "finite numbers >= 0"),
        ({"mu": (1.0,)}, "pair"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"start": np.ones((2, 2, 3)) / 3}, "start has shape"),
        ({"start": np.ones((2, 2, 2))}, r"row \(0, 0\) of start sums to 2, not to 1"),
        ({"start": 1.0, "utility": "information"}, "start has shape"),
        ({"utility": "hammer"}, "unknown"),
    ],
)
def test_refuses_what_it_cannot_use(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        blahut_arimoto(TABLE_1, **arguments)  # type: ignore[arg-type]


def test_a_run_says_where_it_ended() -> None:
    run = blahut_arimoto(np.eye(2) / 2, mu=(0.2, 0.1), max_steps=1, tol=0.0)
    assert repr(run).startswith("Run(mu=(0.2, 0.1): 1 steps, NOT CONVERGED, objective 0.")
    assert f"gap {run.gap:.1e}; {run.individual_bits:.4f} bits alone" in repr(run)
    information = blahut_arimoto(np.eye(2) / 2, "information", mu=(0.2, 0.1))
    assert "no bound" in repr(information)
