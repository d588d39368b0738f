"""The Lagrangian of the convex release problem: iterates, their forces, residuals and curvature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array
from tacit.solvers.newton import Curvature
from tacit.solvers.task import Leakages, Task

_FULL_STIFFNESS = 1e5
_ROW_STIFFNESS = 1e7
"""Curvatures that hold the exact views' linear constraints; their multipliers take up the rest."""

_SMALLEST_WEIGHT = 1e-14


def column(values: Array) -> Array:
    """[batch] -> [batch, 1, 1, 1]."""
    return values[:, None, None, None]


@dataclass(slots=True, eq=False)
class Iterate:
    """Everything that moves. Limits run over the partial views, then full collusion.

    Attributes:
        c: channels, strictly positive, [batch, rhat, z, x].
        s: dual slacks of c >= 0.
        multiplier: of each limit, [batch, view + 1]; 0 where there is none.
        slack: what each limit leaves, [batch, view + 1]; 1 where there is none.
        row_force: multipliers of the exact views' constraints, [batch, rhat, row, x].
        full_force: those of exact full collusion, [batch, rhat, z, x]; empty otherwise.
        at: leakages at ``c``.
        price: gradient of the Lagrangian per unit of mass, without the rows' sums and ``s``.
        residual: what is left of the dual equation, [batch, rhat, z, x].
    """

    c: Array
    s: Array
    multiplier: Array
    slack: Array
    row_force: Array
    full_force: Array
    at: Leakages
    price: Array
    residual: Array

    def take(self, keep: NDArray[np.intp]) -> Iterate:
        """Some members of the batch."""
        return Iterate(
            self.c[keep],
            self.s[keep],
            self.multiplier[keep],
            self.slack[keep],
            self.row_force[keep],
            self.full_force[keep],
            Leakages(*(getattr(self.at, name)[keep] for name in Leakages.__slots__)),
            self.price[keep],
            self.residual[keep],
        )


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """E cost + sum (multiplier + price) * I + frugality * I(Rhat; X | Z), and its limits.

    Attributes:
        task: the problem.
        price: fixed price of a nat to each view, [batch, view + 1]; a positive one replaces the
            view's limit.
        frugality: weight on the leakage to everyone, [batch], positive.
    """

    task: Task
    price: Array
    frugality: Array

    @cached_property
    def is_limited(self) -> NDArray[np.bool_]:
        """Which views have a limit of their own, [batch, view + 1]."""
        budgets = self.task.all_budgets
        return np.asarray(np.isfinite(budgets) & ~self.task.all_exact & (self.price == 0))

    @cached_property
    def budgets(self) -> Array:
        """Nats left to each limited view, [batch, view + 1]; 1 where there is no limit."""
        return np.where(self.is_limited, self.task.all_budgets, 1.0)

    @cached_property
    def n_pairs(self) -> Array:
        """Complementary pairs, cells counted by mass, [batch]."""
        return np.asarray(self.task.cost.shape[1] + self.is_limited.sum(axis=1))

    @cached_property
    def _is_exact_row(self) -> NDArray[np.bool_]:
        return self.task.is_exact[self.task.rows.view_of_row]

    @cached_property
    def _row_stiffness(self) -> float:
        # A stiff history answers forces on the rows that much less.
        return (1e2 if self.task.is_full_exact else 1.0) * _ROW_STIFFNESS

    def subset(self, keep: NDArray[np.intp]) -> Lagrangian:
        """Some members of the batch."""
        return Lagrangian(self.task.subset(keep), self.price[keep], self.frugality[keep])

    def with_frugality(self, frugality: Array) -> Lagrangian:
        """The same with another weight on the leakage to everyone."""
        return Lagrangian(self.task, self.price, frugality)

    # -- gradient ---------------------------------------------------------------------------

    def weights(self, multiplier: Array) -> Array:
        """Weight of every leakage, [batch, view + 1]."""
        weights = multiplier + self.price
        weights[:, -1] += self.frugality
        return weights

    def settle(self, it: Iterate) -> Iterate:
        """Fill in what follows: price ([TVC] section IV-A derivatives) and residual."""
        weights = self.weights(it.multiplier)
        by_row = weights[:, self.task.rows.view_of_row][:, None, :, None] * it.at.row_log_ratio
        price = self.task.cost + self.task.rows.spread(by_row + it.row_force)
        if self.task.is_full_exact:
            it.price = price + it.full_force
        else:
            it.price = price + column(weights[:, -1]) * it.at.full_log_ratio
        return self.settle_residual(it)

    @staticmethod
    def settle_residual(it: Iterate) -> Iterate:
        """The dual residual, with the multipliers of sum c = 1 that make it least."""
        raw = it.price - it.s
        it.residual = raw - (it.c * raw).sum(axis=1, keepdims=True)
        return it

    def residual_norm(self, it: Iterate) -> Array:
        """Norm of dual and primal residuals, cells weighted by mass, [batch]."""
        primal = np.where(self.is_limited, it.at.all_views + it.slack - self.budgets, 0.0)
        dual_square = (self.task.mass * it.c * it.residual**2).sum(axis=(1, 2, 3))
        norm: Array = np.sqrt(dual_square + (primal**2).sum(axis=1))
        return norm

    def complementarity(self, c: Array, s: Array, multiplier: Array, slack: Array) -> Array:
        """Sum of all products of complementary pairs, [batch]."""
        cells = (self.task.mass * s * c).sum(axis=(1, 2, 3))
        total: Array = cells + (multiplier * slack).sum(axis=1, where=self.is_limited)
        return total

    # -- curvature --------------------------------------------------------------------------

    def full_curvature(self, it: Iterate) -> Curvature:
        """Of full collusion's term."""
        if self.task.is_full_exact:
            return Curvature(np.full(len(it.c), _FULL_STIFFNESS), np.ones((1, 1, 1, 1)))
        return Curvature(self.weights(it.multiplier)[:, -1], it.c)

    def row_curvature(self, it: Iterate) -> Curvature:
        """Of the partial views' terms; an exact view's is a fixed, stiff one, alike for all rhat.

        Were it relative to p(rhat, y, x), the multipliers of dying letters would blow up.
        """
        weights = self.weights(it.multiplier)[:, self.task.rows.view_of_row]
        weights = np.maximum(weights, _SMALLEST_WEIGHT)
        if not self.task.is_exact.any():
            return Curvature(weights, it.at.row_joint)
        return Curvature(
            np.where(self._is_exact_row, self._row_stiffness, weights),
            np.where(self._is_exact_row[:, None], self.task.row_mass, it.at.row_joint),
        )

    # -- exact views ------------------------------------------------------------------------

    def exact_pull(self, it: Iterate) -> Array | float:
        """Force that pulls the channels back onto the exact views' constraints."""
        pull: Array | float = 0.0
        if self.task.is_exact.any():
            pull = self.task.rows.spread(self._row_pull(it.at.row_joint))
        if self.task.is_full_exact:
            pull = pull + self._full_pull(it.c)
        return pull

    def exact_error(self, it: Iterate) -> Array | float:
        """What leaving the exact views' constraints may have gained: sum |force * deviation|."""
        error: Array | float = 0.0
        if self.task.is_exact.any():
            off = self.task.row_mass * self._row_pull(it.at.row_joint) / self._row_stiffness
            error = np.abs(it.row_force * off).sum(axis=(1, 2, 3))
        if self.task.is_full_exact:
            off = self.task.mass * self._full_pull(it.c) / _FULL_STIFFNESS
            error = error + np.abs(it.full_force * off).sum(axis=(1, 2, 3))
        return error

    def moved_forces(self, it: Iterate, change: Array, step: Array) -> tuple[Array, Array]:
        """The exact views' multipliers after a step: the pull that the linear model predicts."""
        row_force, full_force = it.row_force, it.full_force
        if self.task.is_exact.any():
            moved = self.task.rows.collect(self.task.mass * change)
            pull = self._row_pull(it.at.row_joint) + self._row_pull(moved)
            row_force = row_force + column(step) * pull
        if self.task.is_full_exact:
            pull = self._full_pull(it.c) + self._full_pull(change)
            full_force = full_force + column(step) * pull
        return row_force, full_force

    def _row_pull(self, row_joint: Array) -> Array:
        """stiffness * (p(rhat | y, x) - p(rhat | y)) on the rows of exact views."""
        task = self.task
        given_yx = row_joint / np.where(task.row_support, task.row_mass, 1.0)
        total = task.row_mass.sum(axis=-1, keepdims=True)
        given_y = row_joint.sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
        is_held = self._is_exact_row[:, None] & task.row_support
        return np.where(is_held, self._row_stiffness * (given_yx - given_y), 0.0)

    def _full_pull(self, c: Array) -> Array:
        """stiffness * (p(rhat | z, x) - p(rhat | z))."""
        average = (self.task.mass * c).sum(axis=-1, keepdims=True) / self.task.mass_z[:, None]
        pull: Array = _FULL_STIFFNESS * (c - average)
        return pull
