"""Sequential bottleneck: agrees with other solvers, reuses what is stored, and is empty in time."""

from __future__ import annotations

import dit
import numpy as np
import pytest
from dit.rate_distortion import InformationBottleneck
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

import tacit
from tacit.bottleneck import SequentialBottleneck
from tacit.paper.bottleneck_curves import (
    adult_case,
)
from tacit.problem import Problem
from tacit.solvers.iteration.starts import iterate, measured, random_starts

SOLVER_TOL = 2e-6
"""Bits of objective: two iterations that both move less than some 1e-7 a step at the end."""

ROUNDING = 1e-9

MERGED = 1e-9
"""Bits that merging letters, and then states, may lose."""


def random_task(seed: int, n_x: int = 6, n_y: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_x)), rng.dirichlet(np.full(n_y, 0.5), size=n_x)


def binary_entropy(p: np.ndarray) -> np.ndarray:
    return -(xlogy(p, p) + xlogy(1 - p, 1 - p)) / np.log(2)


def tishby(p_x: np.ndarray, task: np.ndarray, beta: float, n_starts: int = 5) -> float:
    """Least I(T;X)/beta - I(T;Y) in bits, by the equations of Tishby, Pereira and Bialek (1999).

    T has as many letters as X, which is always enough.
    """
    rng = np.random.default_rng(7)
    best = 0.0  # the empty T
    minus_entropy = xlogy(task, task).sum(axis=1, keepdims=True)
    for _ in range(n_starts):
        q = rng.dirichlet(np.ones(len(p_x)), size=len(p_x))  # q(t | x)
        for _ in range(1500):
            q_t = p_x @ q  # their eq. (30)
            q_y = (q * p_x[:, None]).T @ task / np.maximum(q_t, 1e-300)[:, None]  # eq. (17)
            divergence = minus_entropy - task @ np.log(np.maximum(q_y, 1e-300)).T
            log_q = np.log(np.maximum(q_t, 1e-300)) - beta * divergence  # eq. (16)
            q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
            q /= q.sum(axis=1, keepdims=True)
        p_tx = (q * p_x[:, None]).T
        best = min(
            best, tacit.mutual_information(p_tx) / beta - tacit.mutual_information(p_tx @ task)
        )
    return best


# --- one task, mu2 = 0: the information bottleneck ----------------------------------------------


@pytest.mark.parametrize("error_rate", [0.05, 0.2])
@pytest.mark.parametrize("mu1", [0.05, 0.2, 0.35, 0.7])
def test_one_task_agrees_with_the_closed_form_of_a_binary_symmetric_one(error_rate, mu1):
    # Mrs. Gerber's lemma: the best T is X through another binary symmetric channel.
    a = np.linspace(0.0, 0.5, 200_001)
    crossed = a * (1 - error_rate) + (1 - a) * error_rate
    closed_form = (mu1 * (1 - binary_entropy(a)) - (1 - binary_entropy(crossed))).min()
    task = [[1 - error_rate, error_rate], [error_rate, 1 - error_rate]]
    ours = SequentialBottleneck([0.5, 0.5]).represent(task, mu=(mu1, 0.0))
    assert ours.objective == pytest.approx(closed_form, abs=SOLVER_TOL)


@pytest.mark.slow
def test_one_task_is_never_worse_than_dit():
    """How near dit comes depends on its random starts; the tight witness is Tishby's iteration."""
    beta = 5.0
    joint = np.random.default_rng(1).dirichlet(np.full(12, 0.5)).reshape(4, 3)
    outcomes = [(str(x), str(y)) for x in range(4) for y in range(3)]
    other = InformationBottleneck(
        dit.Distribution(outcomes, joint.ravel()), beta=beta, rvs=[[0], [1]], bound=4
    )
    np.random.seed(0)  # noqa: NPY002  (dit draws its starts from the global generator)
    other.optimize(niter=5)
    pmf = other.construct_joint(other._optima)
    theirs = other.complexity(pmf) / beta - other.relevance(pmf)
    bottleneck = SequentialBottleneck(joint.sum(axis=1))
    task = joint / joint.sum(axis=1, keepdims=True)
    ours = bottleneck.represent(task, mu=(1 / beta, 0.0))
    assert ours.objective <= theirs + ROUNDING
    expected = tishby(joint.sum(axis=1), task, beta, n_starts=20)
    assert ours.objective == pytest.approx(expected, abs=SOLVER_TOL)


@pytest.mark.parametrize("name", ["degree", "income"])
@pytest.mark.parametrize("mu1", [0.01, 0.03, 0.1, 0.2, 0.4])
def test_one_task_on_adult_agrees_with_tishbys_iteration(name: str, mu1: float):
    case = adult_case()
    p_x, task = case.counts / case.counts.sum(), case.tasks[name]
    ours = SequentialBottleneck(case.counts).represent(task, mu=(mu1, 0.0))
    assert ours.is_converged
    assert ours.objective == pytest.approx(tishby(p_x, task, 1 / mu1), abs=SOLVER_TOL)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_small_multiplier_takes_more_letters_than_the_task_has(seed: int):
    p_x, task = random_task(seed, n_y=2)
    by_default = SequentialBottleneck(p_x).represent(task, mu=(0.01, 0.0))
    few = SequentialBottleneck(p_x).represent(task, mu=(0.01, 0.0), letters=3)
    many = SequentialBottleneck(p_x).represent(task, mu=(0.01, 0.0), letters=12)
    assert by_default.objective < few.objective - 1e-4
    assert by_default.objective == pytest.approx(many.objective, abs=SOLVER_TOL)


def test_letters_by_default_are_fewer_where_records_are_many():
    task = np.random.default_rng(0).dirichlet(np.ones(2), size=300)
    told = SequentialBottleneck(np.ones(300)).represent(task, mu=(0.01, 0.0), max_steps=5)
    assert 3 < told.channel.shape[2] <= 30


def test_a_noiseless_task_is_kept_whole_below_one():
    p_x = np.array([0.1, 0.2, 0.3, 0.4])
    task = np.eye(2)[[0, 0, 1, 1]]
    kept = SequentialBottleneck(p_x).represent(task, mu=(0.9, 0.0))
    assert kept.relevance_bits == pytest.approx(tacit.entropy([0.3, 0.7]), abs=1e-6)
    assert kept.compression_bits == pytest.approx(kept.relevance_bits, abs=1e-6)


# --- what is reported is what the channels do ----------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), mu1=st.floats(0.05, 0.6), mu2=st.sampled_from([0.0, 0.05, 0.3]))
def test_reported_bits_are_those_of_the_letters_and_obey_data_processing(seed, mu1, mu2):
    p_x, task = random_task(seed)
    p_x[0] = 0.0  # a record that never occurs
    p_x /= p_x.sum()
    _, other = random_task(seed + 1, n_y=2)
    bottleneck = SequentialBottleneck(p_x)
    first = bottleneck.represent(task, mu=(mu1, mu2), starts=4, tol=1e-5, max_steps=300)
    p_tx = (p_x[:, None] * first.channel[0]).T
    assert first.relevance_bits == pytest.approx(tacit.mutual_information(p_tx @ task))
    assert first.compression_bits == pytest.approx(tacit.mutual_information(p_tx))
    assert first.memory_bits == pytest.approx(first.compression_bits)
    second = bottleneck.represent(other, mu=(mu1, mu2), starts=4, tol=1e-5, max_steps=300)
    assert second.channel.sum(axis=2) == pytest.approx(1.0)
    for t in (first, second):
        assert 0 <= t.relevance_bits <= t.compression_bits + ROUNDING
        assert t.compression_bits <= t.memory_bits + ROUNDING
    assert second.memory_bits >= first.memory_bits - ROUNDING
    assert bottleneck.memory_bits == pytest.approx(second.memory_bits, abs=2 * MERGED)


def test_memory_is_that_of_all_letters_together():
    p_x, task = random_task(3)
    _, other = random_task(4)
    bottleneck = SequentialBottleneck(p_x)
    first = bottleneck.represent(task, mu=(0.1, 0.05))
    p_zx = (p_x[:, None] * first.channel[0]).T  # states are the letters here, in their order
    assert bottleneck.n_states == len(p_zx)
    second = bottleneck.represent(other, mu=(0.1, 0.05))
    p_zxt = p_zx[..., None] * second.channel
    pairs = p_zxt.transpose(0, 2, 1).reshape(-1, len(p_x))
    assert second.memory_bits == pytest.approx(tacit.mutual_information(pairs), abs=ROUNDING)
    assert second.added_bits == pytest.approx(
        second.memory_bits - first.memory_bits, abs=2 * MERGED
    )
    relevance = tacit.mutual_information(p_zxt.sum(axis=0).T @ other)
    assert second.relevance_bits == pytest.approx(relevance, abs=ROUNDING)


def test_no_end_is_worse_than_nothing_and_a_repeat_adds_no_memory():
    p_x, task = random_task(5)
    bottleneck = SequentialBottleneck(p_x)
    first = bottleneck.represent(task, mu=(0.1, 0.0))
    states = bottleneck.n_states
    again = bottleneck.represent(task, mu=(0.1, 0.2))
    assert again.objective <= 0.2 * first.memory_bits + ROUNDING
    assert again.added_bits < 1e-6
    assert again.relevance_bits == pytest.approx(first.relevance_bits, abs=1e-5)
    assert bottleneck.n_states == states


@pytest.mark.parametrize("seed", [3, 11])
def test_a_copy_of_the_memory_is_never_beaten_by_what_is_found(seed: int):
    p_x, task = random_task(seed)
    _, other = random_task(seed + 100)
    bottleneck = SequentialBottleneck(p_x)
    first = bottleneck.represent(task, mu=(0.05, 0.0))
    second = bottleneck.represent(other, mu=(0.02, 5.0), starts=2)
    p_zx = (p_x[:, None] * first.channel[0]).T  # T = Z
    stored = tacit.mutual_information(p_zx)
    copied = -tacit.mutual_information(p_zx @ other) + (0.02 + 5.0) * stored
    assert second.objective <= copied + ROUNDING


def test_without_mu2_the_memory_is_not_read():
    p_x, task = random_task(6)
    _, other = random_task(7)
    bottleneck = SequentialBottleneck(p_x)
    bottleneck.represent(task, mu=(0.1, 0.0))
    second = bottleneck.represent(other, mu=(0.1, 0.0))
    alone = SequentialBottleneck(p_x).represent(other, mu=(0.1, 0.0))
    assert np.ptp(second.channel, axis=0).max() == 0
    assert second.objective == pytest.approx(alone.objective, abs=ROUNDING)


# --- the empty representation --------------------------------------------------------------------


@pytest.mark.parametrize("mu", [(1.0, 0.0), (1.0, 0.1), (3.0, 0.5)])
def test_from_mu1_one_on_nothing_is_represented(mu: tuple[float, float]):
    case = adult_case()
    bottleneck = SequentialBottleneck(case.counts)
    stored = bottleneck.represent(case.tasks["degree"], mu=(0.1, 0.0)).memory_bits
    for task in case.tasks.values():
        empty = bottleneck.represent(task, mu=mu, letters=5)
        assert empty.is_empty
        told = [empty.relevance_bits, empty.compression_bits, empty.added_bits]
        assert told == pytest.approx([0.0, 0.0, 0.0], abs=ROUNDING)
        assert empty.memory_bits == pytest.approx(stored, abs=ROUNDING)
    assert bottleneck.n_states == 2


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), mu1=st.floats(1.0, 3.0), mu2=st.floats(0.0, 1.0))
def test_from_mu1_one_on_no_end_of_the_iteration_beats_the_empty_one(seed, mu1, mu2):
    p_x, task = random_task(seed)
    p_z_given_x = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(p_x))
    p_zx = (p_x[:, None] * p_z_given_x).T
    problem = Problem(p_zx[..., None] * task, "information")
    first = random_starts(problem, 4, 4, np.random.default_rng(seed))
    channels, _ = iterate(problem, np.tile([[mu1, mu2]], (4, 1)), first, max_steps=200)
    ends = measured(problem, channels)
    objective = -ends.value + mu1 * ends.individual + mu2 * ends.collusion
    assert (objective >= mu2 * tacit.mutual_information(p_zx) - ROUNDING).all()


def test_mu1_plus_mu2_above_one_may_still_repeat_what_is_stored():
    case = adult_case()
    bottleneck = SequentialBottleneck(case.counts)
    first = bottleneck.represent(case.tasks["degree"], mu=(0.1, 0.0))
    second = bottleneck.represent(case.tasks["college"], mu=(0.1, 2.0))
    assert second.relevance_bits > 0.1
    assert second.added_bits < 1e-3  # a copy, blurred a little: some bits are worth even mu2 = 2
    assert second.objective < 2.0 * first.memory_bits - 0.05  # the empty T's objective


def test_a_first_task_is_empty_from_mu1_plus_mu2_one_on():
    p_x, task = random_task(8)
    assert SequentialBottleneck(p_x).represent(task, mu=(0.5, 0.5)).is_empty


@pytest.mark.parametrize("seed", range(4))
def test_an_iteration_cut_short_is_no_worse_than_nothing(seed: int):
    # Two steps leave a T that tells something, which mu1 + mu2 > 1 makes dearer than it is worth.
    p_x, task = random_task(seed)
    cut = SequentialBottleneck(p_x).represent(task, mu=(0.1, 0.95), max_steps=2)
    assert cut.is_empty
    assert cut.objective == pytest.approx(0.0, abs=ROUNDING)


def test_near_empty_ends_leave_one_letter_and_one_state():
    case = adult_case()
    bottleneck = SequentialBottleneck(case.counts)
    for task in case.tasks.values():  # 0.9 is above every critical multiplier of these tasks
        assert bottleneck.represent(task, mu=(0.8, 0.1), letters=5).is_empty
    assert bottleneck.n_states == 1
    assert bottleneck.memory_bits == pytest.approx(0.0, abs=ROUNDING)


# --- input errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mu",
    [(0.0, 0.0), (-0.1, 0.2), (0.1, -0.2), (np.nan, 0.1), (np.inf, 0.1), (0.1,), 0.1, ("a", 1)],
)
def test_bad_multipliers_are_refused(mu):
    with pytest.raises(tacit.InvalidInputError, match="mu is"):
        SequentialBottleneck([0.5, 0.5]).represent(np.eye(2), mu=mu)


@pytest.mark.parametrize(
    "task", [np.eye(3), np.ones(2), [[0.5, 0.4], [0, 1]], [[-1, 2], [0, 1]], [[np.nan, 1], [0, 1]]]
)
def test_bad_tasks_are_refused_and_nothing_is_stored(task):
    bottleneck = SequentialBottleneck([0.5, 0.5])
    with pytest.raises(tacit.InvalidInputError, match="p_y_given_x"):
        bottleneck.represent(task, mu=(0.1, 0.1))
    assert bottleneck.representations == []
    assert bottleneck.n_states == 1


@pytest.mark.parametrize("option", ["letters", "starts", "max_steps", "tol"])
def test_bad_options_are_refused(option: str):
    with pytest.raises(tacit.InvalidInputError, match=f"{option} is 0"):
        SequentialBottleneck([0.5, 0.5]).represent(np.eye(2), mu=(0.1, 0.1), **{option: 0})


def test_bad_laws_are_refused():
    with pytest.raises(tacit.InvalidInputError, match="p_x"):
        SequentialBottleneck([0.0, 0.0])


def test_an_iteration_cut_short_says_so():
    p_x, task = random_task(9)
    assert not SequentialBottleneck(p_x).represent(task, mu=(0.1, 0.0), max_steps=2).is_converged
