"""The paper's Blahut-Arimoto iterations at fixed multipliers ([TVC] Algorithms 1 and 2), certified.

The iteration is taken literally; what is added is a proof of how far it still is from the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import LN2, Array
from tacit.errors import InvalidInputError
from tacit.information import mutual_information
from tacit.information.laws import as_numbers, as_rows, gamma
from tacit.problem import Problem, Utility, View, ViewKey
from tacit.solvers.convex.certificate import Witness, dual_bound, leakage_upper_nats
from tacit.solvers.convex.program import Program, Statement, ViewRows, full_channel
from tacit.solvers.iteration.alternation import (
    LEAST_LOG2,
    Alternation,
    as_multipliers,
    log2_sum,
    log_start,
    minus,
)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Where an iteration ended, and a proof of how good that is for its multipliers.

    Attributes:
        problem: the joint and the utility.
        mu: (mu1, mu2), per bit.
        channel: p(rhat | z1, ..., zk, x), rhat last.
        trace: f_q - theta after each step ([TVC] eq. 9), from step 1 on.
        theta: what Lemma 1 leaves out, so that ``trace + theta`` is the objective at each step:
            (mu1 + mu2) I(Z;X) - mu1 H(Z), and for information - I(Z,X;R) besides.
        is_converged: whether the channel moved by at most ``tol`` in the last step.
        value: E d(Rhat, R), or I(Rhat; R) in bits.
        leakage: view -> upper bound on I(Rhat, Y; X) in bits; ``()`` for the individual one.
        objective: [TVC] eq. (3) without its constants: E d, or - I(Rhat; R), plus
            mu1 I(Rhat; X) + mu2 I(Rhat, Z; X).
        bound: no channel has a smaller objective ([M] fact 2, rounding included); ``None`` for
            information, whose objective is not convex.
    """

    problem: Problem
    mu: tuple[float, float]
    channel: Array
    trace: Array
    theta: float
    is_converged: bool
    value: float
    leakage: Mapping[ViewKey, float]
    objective: float
    bound: float | None

    def __repr__(self) -> str:
        """Where the iteration ended, and how far from the minimum that is at most."""
        mu = f"mu=({self.mu[0]:g}, {self.mu[1]:g})"
        ended = f"{self.steps} steps, {'converged' if self.is_converged else 'NOT CONVERGED'}"
        gap = "no bound" if self.gap is None else f"gap {self.gap:.1e}"
        leaked = f"{self.individual_bits:.4f} bits alone, {self.collusion_bits:.4f} with Z"
        return f"Run({mu}: {ended}, objective {self.objective:.6f}, {gap}; {leaked})"

    @property
    def steps(self) -> int:
        """Alternations done; each updates p and every q once."""
        return len(self.trace)

    @property
    def gap(self) -> float | None:
        """Certified distance between ``objective`` and its minimum; ``None`` without a bound."""
        return None if self.bound is None else self.objective - self.bound

    @property
    def individual_bits(self) -> float:
        """I(Rhat; X)."""
        return self.leakage[()]

    @property
    def collusion_bits(self) -> float:
        """I(Rhat, Z; X)."""
        return self.leakage[self.problem.everyone]

    def steps_to(self, gap: float) -> int | None:
        """First step whose objective is proven within ``gap`` of the minimum; None if none is."""
        if self.bound is None:
            return None
        within = np.flatnonzero(self.trace + self.theta - self.bound <= gap)
        return int(within[0]) + 1 if len(within) else None


def blahut_arimoto(
    joint: ArrayLike,
    utility: Utility = "hamming",
    mu: tuple[float, float] = (0.1, 0.1),
    start: ArrayLike | None = None,
    tol: float = 1e-9,
    max_steps: int = 100_000,
) -> Run:
    """Minimise -U + mu1 I(Rhat; X) + mu2 I(Rhat, Z; X) as the paper does ([TVC] Algorithms 1, 2).

    The paper stops when the channel stops moving, and so does this: look at ``gap`` before
    trusting the answer. For information the objective is not convex: where the iteration ends
    depends on ``start``, and the uniform start, whose letters are all alike, never leaves itself.

    Args:
        joint: p(x, r) or p(z1, ..., zk, x, r), as for ``Problem``.
        utility: a distortion (Algorithm 1) or ``"information"`` (Algorithm 2, one start).
        mu: (mu1, mu2) per bit, >= 0 and not both 0.
        start: a channel [z1, ..., zk, x, rhat] from which the first q's are computed; uniform by
            default. For information its last axis sets the letters of Rhat (|R| by default).
        tol: stop when no entry of the channel moves by more than this in a step.
        max_steps: stop after this many steps.
    """
    problem = Problem(np.asarray(joint), utility)
    mu = as_multipliers(mu)
    _check_stopping(tol, max_steps)
    statement = Statement.of(problem)
    updates = Alternation.of(statement, mu)
    log_c = log_start(statement, _checked_start(start, problem))
    q = updates.update_auxiliaries(log_c)
    trace: list[float] = []
    is_converged = False
    while not is_converged and len(trace) < max_steps:
        previous, log_c = log_c, updates.update_channel(q)
        q = updates.update_auxiliaries(log_c)
        trace.append(float(updates.f_at(log_c, q)))
        is_converged = bool(updates.moved(previous, log_c) <= tol)
    return _run(statement, updates, log_c, np.array(trace), is_converged, mu)


def _run(
    statement: Statement,
    updates: Alternation,
    log_c: Array,
    trace: Array,
    is_converged: bool,
    mu: tuple[float, float],
) -> Run:
    """Measure the last channel and prove how good it is."""
    problem = statement.problem
    c = np.exp2(log_c)
    c /= c.sum(axis=0)
    program = _program(statement, updates)
    _, upper = leakage_upper_nats(program, c[None])
    individual, further = upper[0] / LN2
    collusion = float(statement.leaked_upper[-1] + further)
    value = _value(updates, c)
    sign = -1.0 if problem.is_information else 1.0
    objective = sign * value + mu[0] * float(individual) + mu[1] * collusion
    # The individual view last: without earlier releases, everyone is that view.
    leakage: dict[ViewKey, float] = {problem.everyone: collusion, (): float(individual)}
    return Run(
        problem,
        mu,
        full_channel(statement, c),
        trace,
        float(updates.theta()),
        is_converged,
        value,
        leakage,
        objective,
        None if problem.is_information else _bound(statement, updates, program, log_c, mu),
    )


def _program(statement: Statement, updates: Alternation) -> Program:
    """The convex program without limits: one partial view, that of somebody with nothing."""
    n_z = len(statement.mass)
    n_rhat = 1 if updates.distortion is None else len(updates.distortion)
    cost = np.zeros((n_rhat, *statement.mass.shape))
    if updates.distortion is not None:
        cost = statement.cost_of(updates.distortion)
    nothing = View(letter_of_z=np.zeros(n_z, dtype=np.intp))
    return Program(
        statement.mass,
        cost[None],
        ViewRows([nothing], n_z),
        np.full((1, 2), inf),
        np.zeros(2, dtype=bool),
        (np.full((1, 1), inf),) * 2,
    )


def _value(updates: Alternation, c: Array) -> float:
    p_rhat_r = np.einsum("azx,zxr->ar", c, updates.p_zxr)
    if updates.distortion is not None:
        return float((p_rhat_r * updates.distortion).sum())
    return mutual_information(p_rhat_r)


def _bound(
    statement: Statement,
    updates: Alternation,
    program: Program,
    log_c: Array,
    mu: tuple[float, float],
) -> float:
    """Lower bound on the objective over all channels ([M] fact 2), rounding included.

    The posteriors come from the logarithms: they do not depend on a letter's scale, so a letter
    that dies out gets a price that proves it useless.
    """
    q = updates.update_auxiliaries(log_c)
    log_p_x = np.log2(statement.mass.sum(axis=0))
    log_p_rhat_x = log2_sum(log_c + updates.log_mass, axis=-2)
    log_ratio = minus(log_p_rhat_x - log_p_x, q.log_q_rhat)
    # A letter that was never there gets the prior: any law will do.
    log_ratio = np.where(np.isneginf(q.log_q_rhat), 0.0, np.maximum(log_ratio, LEAST_LOG2))
    witness = Witness(
        log_ratio[None] * LN2,
        q.log_q_rhat_given_z[None, ..., 0] * LN2,
        np.array([[mu[0] / LN2]]),
        np.array([mu[1] / LN2]),
    )
    leaked = 2 * statement.leaked[-1] - statement.leaked_upper[-1]  # I(Z;X) from below
    paid = mu[1] * float(leaked)
    bound = float(dual_bound(program, witness)[0])
    return bound + paid - gamma(64) * (abs(paid) + abs(bound))


def _check_stopping(tol: float, max_steps: int) -> None:
    if not tol >= 0:
        raise InvalidInputError(f"tol is {tol}: give a number >= 0")
    if max_steps < 1:
        raise InvalidInputError(f"max_steps is {max_steps}: give a whole number >= 1")


def _checked_start(start: ArrayLike | None, problem: Problem) -> Array:
    """The start as a channel [z, x, rhat]; uniform by default."""
    cells = problem.joint.shape[:-1]
    n_rhat = problem.joint.shape[-1] if problem.is_information else len(problem.distortion)
    if start is None:
        return np.full((*problem.joint_zxr.shape[:2], n_rhat), 1.0 / n_rhat)
    channel = as_numbers(start, name="start")
    n_rhat = channel.shape[-1] if problem.is_information and channel.ndim else n_rhat
    if channel.shape != (*cells, n_rhat) or n_rhat == 0:
        raise InvalidInputError(
            f"start has shape {channel.shape}: give p(rhat | z.., x) with shape {cells} + "
            "(letters of rhat,)"
        )
    rows = as_rows(channel, name="start")
    return rows.reshape(*problem.joint_zxr.shape[:2], n_rhat)
