"""Local ascent of I(Rhat; R): the convex solver with d(rhat, r) = -log2 q(r | rhat), repeated.

For any law q, I(Rhat; R) >= H(R) + E log2 q(R | Rhat), with equality at the posterior. Maximising
the right-hand side over channels at fixed q is a distortion problem; setting q to the posterior of
its answer is the step q4 of [TVC] Algorithm 2. The two in turn never lose. A fixed point is a fixed
point of Algorithm 2 at the multipliers that meet the limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.solvers.convex.program import Statement
from tacit.solvers.convex.solve import Answers, solve_batch

_SMALLEST_POSTERIOR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Where the starts ended, best first.

    Attributes:
        answers: certified answers of the last distortion problems.
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
    statement: Statement, starts: Array, limits: Array, *, gap_tol: float, max_rounds: int
) -> Ascent:
    """Ascend from many posteriors at once.

    Args:
        statement: the problem.
        starts: laws q(r | rhat), [batch, rhat, r].
        limits: bits, [batch, view + 1].
        gap_tol: bits; gap of each distortion problem, and of what a round must gain to go on.
        max_rounds: cap on rounds, at least 1.
    """
    posterior = starts
    value = np.full(len(starts), -np.inf)
    rounds = 0
    while rounds < max_rounds:
        rounds += 1
        cost = posterior_cost(statement, posterior)
        answers = solve_batch(statement, cost, limits, gap_tol)
        joint = joint_rhat_r(statement, answers.channel)
        posterior = posteriors(joint, posterior)
        before, value = value, information_bits(joint)
        if (value - before).max() <= gap_tol:
            break
    order = np.argsort(-value, kind="stable")
    return Ascent(answers.take(order), value[order], posterior[order], rounds)


def posterior_cost(statement: Statement, posterior: Array) -> Array:
    """E[-log2 q(R | rhat) | z, x], [batch, rhat, z, x]."""
    distortion = -np.log2(np.maximum(posterior, _SMALLEST_POSTERIOR))
    return np.stack([statement.cost_of(matrix) for matrix in distortion])
