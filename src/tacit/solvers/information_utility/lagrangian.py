"""I(Rhat; R) less the prices of what views are told, for fixed multipliers.

    L(c) = I(Rhat; R) - sum_S mu_S I(Rhat; X | Y_S).

I(Rhat; R) is convex in the channel, so its tangent lies below it. I(Rhat; X | Y_S) is smooth beside
the divergence of channels. Hence a step of mirror ascent of length 1 / sum_S mu_S never loses, as
[TVC] Algorithm 2. It costs next to nothing beside a distortion problem.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Array
from tacit.solvers.convex.program import Statement

_LEAST_PRICE = 1e-7
"""Multiplier that full collusion has at least: its term smooths the maximum over records."""

_SPENT_PRICE = 30.0
"""Multiplier of a view that may learn nothing more."""

_FLOOR = 1e-9
"""Weight of p(x | y) in the laws q_S(x | y), which must be positive."""

_LEAST_LAW = 1e-12
"""Probabilities below this count as this in logarithms."""

LEAST_ENTRY = 1e-30
LEAST_LOG = float(np.log(LEAST_ENTRY))
"""Of a channel: no letter is lost to rounding."""

_LEAST_TOTAL = 1e-300
"""The same of letters that a history does not have: their logarithms are numbers."""

_LONGER, _STEPS_BACK = 1.2, 3
"""A step is so many times as long as the one before; shorter by so many of these after a loss."""


class Lagrangian:
    """Multipliers of the views of a problem, and what they charge for letters; in nats.

    Letters are laws or weights of cells, [..., z, x].

    Attributes:
        mass: p(z, x), [z, x].
        multiplier: of the partial views, then of full collusion, [view + 1].
    """

    def __init__(self, statement: Statement, limits: Array, multipliers: Array) -> None:
        self.mass, self._rows = statement.mass, statement.rows
        self.multiplier = np.where(statement.is_spent(limits), _SPENT_PRICE, multipliers)
        self.multiplier[-1] = max(self.multiplier[-1], _LEAST_PRICE)
        cell = np.where(self.mass > 0, self.mass, 1.0)
        n_r = statement.joint_zxr.shape[-1]
        self._p_r_given_cell = (statement.joint_zxr / cell[..., None]).reshape(-1, n_r)
        by_history = self.mass.sum(axis=1)
        self._prior, self._log_history = self.mass / by_history[:, None], np.log(by_history)
        row_mass = self._rows.collect(self.mass)
        total = row_mass.sum(axis=-1, keepdims=True)
        self._row_prior = row_mass / np.where(total > 0, total, 1.0)
        self._row_price = self.multiplier[self._rows.view_of_row][:, None]

    @property
    def size(self) -> float:
        """What rounding of the charges is relative to."""
        return float(self.multiplier.sum() * (2 - np.log(_FLOOR)))

    @property
    def least_posterior(self) -> Array:
        """Posteriors of R are means of p(r | z, x): the least of each probability, [r]."""
        laws = self._p_r_given_cell[self.mass.reshape(-1) > 0]
        return np.asarray((1 - 1e-12) * laws.min(axis=0))

    def expect(self, values: Array) -> Array:
        """E[value(R) | z, x] of values [letter, r]: [letter, z, x]."""
        return np.asarray(values @ self._p_r_given_cell.T).reshape(-1, *self.mass.shape)

    def posterior(self, w: Array) -> Array:
        """The law of R that letters [letter, z, x] imply, [letter, r]."""
        return np.asarray(w.reshape(len(w), -1) @ self._p_r_given_cell)

    def told_partial(self, w: Array) -> Array:
        """sum_S mu_S sum_y p(y | z, x) log q_S(x | y) / p(x | y) of the partial views; [..., z, x].

        ``q_S`` is the posterior of letters w, [..., z, x], made positive.
        """
        rows = self._rows.collect(w)
        total = rows.sum(axis=-1, keepdims=True)
        law = rows / np.where(total > 0, total, 1.0)
        law = (1 - _FLOOR) * law + _FLOOR * self._row_prior
        is_possible = self._row_prior > 0
        ratio = np.where(is_possible, law, 1.0) / np.where(is_possible, self._row_prior, 1.0)
        return np.asarray(self._rows.spread(self._row_price * np.log(ratio)))

    def told_everyone(self, log_odds: Array, total: Array) -> Array:
        """The term of full collusion: with the partial views', <told, w> = sum_S mu_S D_S(w).

        Logarithms are slow: those of w / p(x | z) are kept from step to step.

        Args:
            log_odds: log w / p(x | z) of letters w, [..., z, x]; any number where p(z, x) is 0.
            total: their sums over x, [..., z].
        """
        log_total = np.log(np.maximum(total, _LEAST_TOTAL))
        return np.asarray(self.multiplier[-1] * (log_odds - log_total[..., None]))

    def cost(self, log_channel: Array, w: Array) -> Array:
        """What letters cost in each cell, [letter, z, x]: what they leave open about R, and tell.

        The mean cost is H(R) - L.

        Args:
            log_channel: log p(rhat | z, x), [rhat, z, x]; any number where p(rhat, z, x) is 0.
            w: p(rhat, z, x).
        """
        q = self.posterior(w)
        q = q / np.maximum(q.sum(axis=1, keepdims=True), _LEAST_LAW)
        unknown = self.expect(-np.log(np.maximum(q, _LEAST_LAW)))
        told = self.told_everyone(log_channel + self._log_history[:, None], w.sum(axis=-1))
        return unknown + self.told_partial(w) + told

    def ascend(self, channel: Array, n_steps: int) -> Array:
        """A channel [rhat, z, x] after some steps of mirror ascent; longer ones while they gain."""
        best, lowest, length = channel, np.inf, 1.0
        logs = best_logs = np.log(np.maximum(channel, LEAST_ENTRY))
        for _ in range(n_steps):
            w = self.mass * channel
            cost = self.cost(logs, w)
            mean = float(np.vdot(w, cost))
            if mean <= lowest:
                best, best_logs, best_cost = channel, logs, cost
                lowest, length = mean, _LONGER * length
            elif length == 1:  # only rounding loses
                break
            else:
                length = max(1.0, length / _LONGER**_STEPS_BACK)
            logs = best_logs - length / self.multiplier.sum() * best_cost
            logs -= logs.max(axis=0)
            grown = np.exp(logs)
            total = grown.sum(axis=0)
            logs = np.maximum(logs - np.log(total), LEAST_LOG)
            channel = np.maximum(grown / total, LEAST_ENTRY)
        return best
