"""The convex release problem in nats, arrays ``[batch, rhat, z, x]``.

rhat comes first because alphabets of rhat are short and NumPy is fast along long last axes. The
leading batch axis lets one call solve many limits over the same joint (a surface) or many
distortions (several starts of the information problem).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array, View


class ViewRows:
    """All partial views stacked: one row per pair (view, letter y).

    ``collect`` adds cells (z, x) up to rows (y, x) with weights p(y | z, x); ``spread`` is its
    transpose. Full collusion is not among them: its rows would be the cells themselves.

    Attributes:
        view_of_row: [row].
        weights: p(y | z, x): [row, z, 1] where no view reads x, else [row, z, x].
        is_blind: whether there is one view, and it has seen nothing.
        row_of_z: the row that each view shows on each history, [view, z]; ``None`` if some view is
            not a function of the history.
    """

    def __init__(self, views: list[View], n_z: int) -> None:
        self.view_of_row = np.repeat(np.arange(len(views)), [view.size for view in views])
        self.n_views = len(views)
        self.n_rows = len(self.view_of_row)
        blocks = [_weights(view, n_z) for view in views]
        width = max((block.shape[-1] for block in blocks), default=1)
        self.weights = np.concatenate(
            [np.broadcast_to(block, (*block.shape[:2], width)) for block in blocks]
            or [np.empty((0, n_z, 1))]
        )
        self._matrix = np.ascontiguousarray(self.weights[:, :, 0]) if width == 1 else None
        self.is_blind = self._matrix is not None and self.n_rows == 1
        self.row_of_z = self._rows_of_histories(views)

    def _rows_of_histories(self, views: list[View]) -> NDArray[np.intp] | None:
        letters = [view.letter_of_z for view in views]
        if any(letter is None for letter in letters) or not views:
            return None
        starts = np.searchsorted(self.view_of_row, np.arange(self.n_views))
        return np.array(letters) + starts[:, None]

    def collect(self, cells: Array) -> Array:
        """[..., z, x] -> [..., row, x]."""
        if self._matrix is not None:
            return self._matrix @ cells
        return np.asarray(np.einsum("mzx,...zx->...mx", self.weights, cells))

    def spread(self, rows: Array) -> Array:
        """[..., row, x] -> [..., z, x]; [..., 1, x] where one view sees nothing: it broadcasts."""
        if self.is_blind:
            return rows
        if self._matrix is not None:
            return self._matrix.T @ rows
        return np.asarray(np.einsum("mzx,...mx->...zx", self.weights, rows))

    def per_view(self, per_row: Array) -> Array:
        """Sum values [..., row] over the letters of each view: [..., view]."""
        if self.n_rows == self.n_views:
            return per_row
        starts = np.searchsorted(self.view_of_row, np.arange(self.n_views))
        return np.add.reduceat(per_row, starts, axis=-1)


def _weights(view: View, n_z: int) -> Array:
    if view.law is not None:
        return np.ascontiguousarray(view.law.transpose(2, 0, 1))
    indicator = np.zeros((view.size, n_z, 1))
    indicator[view.letter_of_z, np.arange(n_z), 0] = 1.0
    return indicator


@dataclass(frozen=True, eq=False)
class Task:
    """Minimise sum(mass * cost * c) with I(Rhat; X | Y) <= budget for every view.

    Attributes:
        mass: p(z, x), shape [z, x]; every z and every x has positive mass.
        cost: E[d(rhat, R) | z, x], shape [batch or 1, rhat, z, x].
        rows: the limited partial views.
        budgets: nats left to each of them, [batch, view]; meaningless where ``is_exact``.
        is_exact: [view] marks the views with no bits left: Rhat must be independent of X given Y.
        full_budget: nats left to full collusion, [batch]; inf where unlimited.
        is_full_exact: whether full collusion has no bits left.
    """

    mass: Array
    cost: Array
    rows: ViewRows
    budgets: Array
    is_exact: NDArray[np.bool_]
    full_budget: Array
    is_full_exact: bool

    @cached_property
    def mass_z(self) -> Array:
        """p(z)."""
        return np.asarray(self.mass.sum(axis=1))

    @cached_property
    def row_mass(self) -> Array:
        """p(y, x) of every row, [row, x]."""
        return self.rows.collect(self.mass)

    @cached_property
    def log_row_prior(self) -> Array:
        """log p(x | y) of every row, [row, x]; 0 where p(y, x) = 0, where it is never used."""
        total = self.row_mass.sum(axis=-1, keepdims=True)
        prior = self.row_mass / np.where(total > 0, total, 1.0)
        return np.log(np.where(prior > 0, prior, 1.0))

    @cached_property
    def row_support(self) -> NDArray[np.bool_]:
        """Where p(y, x) > 0, [row, x]."""
        return np.asarray(self.row_mass > 0)

    @cached_property
    def all_budgets(self) -> Array:
        """Nats left to the partial views, then to full collusion, [batch, view + 1]."""
        return np.concatenate([self.budgets, self.full_budget[:, None]], axis=1)

    @cached_property
    def all_exact(self) -> NDArray[np.bool_]:
        """Which views are exact, full collusion last, [view + 1]."""
        return np.append(self.is_exact, self.is_full_exact)

    @cached_property
    def constant_costs(self) -> Array:
        """Expected cost of always releasing rhat, [batch or 1, rhat]."""
        return np.asarray(np.einsum("zx,brzx->br", self.mass, self.cost))

    def member(self, index: int) -> Task:
        """One member of the batch, as a batch of one."""
        own = slice(index, index + 1)
        return replace(
            self,
            cost=self.cost if len(self.cost) == 1 else self.cost[own],
            budgets=self.budgets[own],
            full_budget=self.full_budget[own],
        )
