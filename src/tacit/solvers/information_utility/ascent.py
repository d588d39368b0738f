"""Local ascent of I(Rhat; R): the convex solver with d(rhat, r) = -log2 q(r | rhat), repeated.

For any law q, I(Rhat; R) >= H(R) + E log2 q(R | Rhat), with equality at the posterior. Maximising
the right-hand side over channels at fixed q is a distortion problem; setting q to the posterior of
its answer is the step q4 of [TVC] Algorithm 2. The two in turn never lose. A fixed point is a fixed
point of Algorithm 2 at the multipliers that meet the limits. Plain rounds converge slowly. So,
while that gains, q is the posterior after some more steps at the multipliers of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.solve import Answers, solve_batch
from tacit.solvers.information_utility.lagrangian import Lagrangian
from tacit.solvers.kernel import raise_if_late

_SMALLEST_POSTERIOR = 1e-12

_MORE_STEPS, _MOST_STEPS = 20, 200
"""Steps at fixed multipliers between rounds: twice as many and these more after each gain."""

_ENTRY_WORK = 100
"""Operations for each entry of a channel in one of these steps, next to the kernel's."""

_LEAST_ENTRY = 1e-9
"""Entries of channels from which these steps start: a letter that was given up may come back."""


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Where the starts are, best first.

    Attributes:
        answers: certified answers of the distortion problems behind them.
        value: I(Rhat; R) in bits, [batch].
        posterior: p(r | rhat), [batch, rhat, r].
        rounds: distortion problems solved in a row.
    """

    answers: Answers
    value: Array
    posterior: Array
    rounds: int


def joint_rhat_r(statement: Statement, channel: Array) -> Array:
    """p(rhat, r) of channels [batch, rhat, z, x]."""
    return np.asarray(np.einsum("bkzx,zxr->bkr", channel, statement.joint_zxr, optimize=True))


def information_bits(joint: Array) -> Array:
    """I(Rhat; R) in bits of joints [batch, rhat, r]."""
    product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.where(joint > 0, joint / np.where(product > 0, product, 1.0), 1.0)
    return np.asarray(np.maximum((joint * np.log2(ratio)).sum(axis=(1, 2)), 0.0))


def posteriors(joint: Array, fallback: Array) -> Array:
    """p(r | rhat) of joints [batch, rhat, r]; a letter that is never used keeps ``fallback``."""
    marginal = joint.sum(axis=2, keepdims=True)
    return np.where(marginal > 1e-12, joint / np.where(marginal > 1e-12, marginal, 1.0), fallback)


def ascend(
    statement: Statement,
    starts: Array,
    limits: Array,
    *,
    gap_tol: float,
    max_rounds: int,
    frugal: bool,
) -> Iterator[Ascent]:
    """Ascend from many posteriors at once: where they are after each round.

    Args:
        statement: the problem.
        starts: laws q(r | rhat), [batch, rhat, r].
        limits: bits, [batch, view + 1].
        gap_tol: bits; gap of each distortion problem, and of what a round must gain to go on.
        max_rounds: cap on rounds, at least 1.
        frugal: whether each answer leaks no more to everyone than it need.
    """
    best: Ascent | None = None
    q, n_steps = starts, np.zeros(len(starts), dtype=np.intp)
    for rounds in range(1, max_rounds + 1):
        cost = posterior_cost(statement, q)
        answers = solve_batch(statement, cost, limits, gap_tol, frugal=frugal)
        joint = joint_rhat_r(statement, answers.channel)
        new = Ascent(answers, information_bits(joint), posteriors(joint, q), rounds)
        gain = new.value if best is None else new.value - best.value
        # At a plain round the multipliers are those of the fixed point.
        best = new if best is None else _better(best, new, np.where(n_steps > 0, 0.0, -gap_tol))
        order = np.argsort(-best.value, kind="stable")
        yield Ascent(best.answers.take(order), best.value[order], best.posterior[order], rounds)
        if (gain <= gap_tol).all() and not n_steps.any():
            return
        # After a loss, or next to no gain, a plain round from the best: it never loses.
        n_steps = np.where(gain > gap_tol, np.minimum(2 * n_steps + _MORE_STEPS, _MOST_STEPS), 0)
        if rounds == max_rounds - 1:
            n_steps[:] = 0
        q = _stepped(statement, limits, best, n_steps)


def _stepped(statement: Statement, limits: Array, best: Ascent, n_steps: NDArray[np.intp]) -> Array:
    """Posteriors of each start after some steps at its multipliers."""
    q = best.posterior.copy()
    for start in np.flatnonzero(n_steps).tolist():
        raise_if_late(_ENTRY_WORK * n_steps[start] * best.answers.channel[start].size)
        lagrangian = Lagrangian(statement, limits[start], best.answers.multipliers[start])
        channel = np.maximum(best.answers.channel[start], _LEAST_ENTRY)
        channel = lagrangian.ascend(channel / channel.sum(axis=0), int(n_steps[start]))
        q[start] = posteriors(joint_rhat_r(statement, channel[None]), q[start : start + 1])[0]
    return q


def _better(best: Ascent, new: Ascent, least_gain: Array) -> Ascent:
    """The new round for each start where it gains enough, else the best one."""
    is_better = new.value > best.value + least_gain
    answers = Answers(
        *(
            np.where(
                is_better.reshape(-1, *[1] * (getattr(new.answers, name).ndim - 1)),
                getattr(new.answers, name),
                getattr(best.answers, name),
            )
            for name in Answers.__slots__
        )
    )
    value = np.where(is_better, new.value, best.value)
    posterior = np.where(is_better[:, None, None], new.posterior, best.posterior)
    return Ascent(answers, value, posterior, new.rounds)


def posterior_cost(statement: Statement, posterior: Array) -> Array:
    """E[-log2 q(R | rhat) | z, x], [batch, rhat, z, x]."""
    distortion = -np.log2(np.maximum(posterior, _SMALLEST_POSTERIOR))
    return np.stack([statement.cost_of(matrix) for matrix in distortion])
