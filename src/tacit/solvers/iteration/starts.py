"""Many runs of the paper's iterations side by side: many multipliers, many starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.problem import Problem
from tacit.solvers.convex.program import Statement
from tacit.solvers.information_utility.ascent import information_bits
from tacit.solvers.iteration.alternation import Alternation, log2


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """What many channels achieve and leak; arrays are [n], channels [n, rhat, z, x].

    ``value`` is E d(Rhat, R), or I(Rhat; R) in bits; ``individual`` is I(Rhat; X) and
    ``collusion`` I(Rhat, Z; X), in bits.
    """

    channel: Array
    value: Array
    individual: Array
    collusion: Array

    def __len__(self) -> int:
        return len(self.value)

    def subset(self, keep: NDArray[np.intp] | NDArray[np.bool_]) -> Points:
        """Some of the points."""
        return Points(
            self.channel[keep], self.value[keep], self.individual[keep], self.collusion[keep]
        )

    def joined(self, other: Points) -> Points:
        """These points and others."""
        return Points(
            np.concatenate([self.channel, other.channel]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.individual, other.individual]),
            np.concatenate([self.collusion, other.collusion]),
        )


def random_starts(problem: Problem, n: int, n_rhat: int, rng: np.random.Generator) -> Array:
    """Channels with rows drawn uniformly from the simplex, [n, rhat, z, x]."""
    cells = Statement.of(problem).mass.shape
    return np.moveaxis(rng.dirichlet(np.ones(n_rhat), size=(n, *cells)), -1, 1)


def iterate(
    problem: Problem, mu: Array, starts: Array, tol: float = 1e-7, max_steps: int = 3000
) -> tuple[Array, NDArray[np.intp]]:
    """Run Algorithm 1 or 2 for pairs ``mu[n, 2]`` from ``starts[n, rhat, z, x]``.

    Returns the channels and the steps that each took until no entry moved by more than ``tol``.
    """
    channel = np.array(starts, dtype=float)
    steps = np.full(len(mu), max_steps, dtype=np.intp)
    live = np.arange(len(mu))
    updates, log_c = _updates(problem, mu), log2(channel)
    for step in range(1, max_steps + 1):
        previous, log_c = log_c, updates.update_channel(updates.update_auxiliaries(log_c))
        is_still = updates.moved(previous, log_c) <= tol
        if not is_still.any():
            continue
        channel[live[is_still]] = np.exp2(log_c[is_still])
        steps[live[is_still]] = step
        live, log_c = live[~is_still], log_c[~is_still]
        updates = _updates(problem, mu[live])
        if not len(live):
            break
    channel[live] = np.exp2(log_c)
    return channel, steps


def _updates(problem: Problem, mu: Array) -> Alternation:
    mu1, mu2 = mu.T[..., None, None, None]
    return Alternation.of(Statement.of(problem), (mu1, mu2))


def measured(problem: Problem, channel: Array) -> Points:
    """What channels [n, rhat, z, x] achieve and leak."""
    statement = Statement.of(problem)
    p_rhat_zx = statement.mass * channel
    p_rhat_r = np.einsum("nazx,zxr->nar", channel, statement.joint_zxr)
    flat = p_rhat_zx.reshape(len(channel), -1, statement.mass.shape[1])
    if problem.is_information:
        value = information_bits(p_rhat_r)
    else:
        value = np.einsum("nar,ar->n", p_rhat_r, problem.distortion)
    return Points(channel, value, information_bits(p_rhat_zx.sum(axis=2)), information_bits(flat))
