"""Channels brought from the interior point's accuracy onto the constraints of exact views.

A view with no bits left makes linear constraints: p(rhat, y, x) = p(rhat, y) p(x | y) on its rows,
and a channel that does not depend on x where that view is full collusion. The nearest channel that
meets them, in the divergence, is c * exp(-force) up to normalisation, for some force on the rows;
Newton's method finds the force, and conjugate residuals each of its steps.
"""

from __future__ import annotations

import numpy as np

from tacit.problem import Array
from tacit.solvers.task import Task

_NEWTON_STEPS = 6
_LARGEST_CHANGE = 0.5
_RESIDUALS = 200
_EXACT = 1e-15
"""Chi-square of what is off, close to twice the information in nats: far below ``LIMIT_TOL``."""


def settled_channel(task: Task, c: Array) -> Array:
    """Channels, [batch, rhat, z, x], moved onto the exact views' constraints; zeros stay."""
    if task.is_full_exact:
        c = np.broadcast_to(_averaged(task, c), c.shape)
    if not task.is_exact.any():
        return c
    best, least = c, np.full(len(c), np.inf)
    for _ in range(_NEWTON_STEPS):
        rows = _ExactRows(task, c)
        off = rows.deviation(c)
        error = _inner(off, off)
        best = np.where((error < least)[:, None, None, None], c, best)
        least = np.minimum(error, least)
        if (least < _EXACT).all():
            break
        change = rows.spread(_conjugate_residuals(rows, off))
        # Letters that hardly occur may be off by much: they must not grow out of that.
        c = c * np.exp(-np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE))
        c = c / c.sum(axis=1, keepdims=True)
    return best


class _ExactRows:
    """The linear constraints around channels ``c``, scaled so that squares sum to chi-square."""

    def __init__(self, task: Task, c: Array) -> None:
        self._task, self._c = task, c
        total = task.row_mass.sum(axis=-1, keepdims=True)
        self._prior = task.row_mass / np.where(total > 0, total, 1.0)
        joint = task.rows.collect(task.mass * c)
        expected = joint.sum(axis=-1, keepdims=True) * self._prior
        is_held = task.is_exact[task.rows.view_of_row][:, None] & (expected > 0)
        self._scale = np.where(is_held, 1.0 / np.sqrt(np.where(is_held, expected, 1.0)), 0.0)

    def deviation(self, cells: Array) -> Array:
        """p(rhat, y, x) - p(rhat, y) p(x | y), scaled, [batch, rhat, row, x]."""
        joint = self._task.rows.collect(self._task.mass * cells)
        off = joint - joint.sum(axis=-1, keepdims=True) * self._prior
        return np.asarray(self._scale * off)

    def spread(self, force: Array) -> Array:
        """The transpose, per unit of mass, less its mean over rhat: sums stay 1 to first order."""
        scaled = self._scale * force
        cells = self._task.rows.spread(scaled - (self._prior * scaled).sum(axis=-1, keepdims=True))
        cells = np.broadcast_to(cells, self._c.shape)
        if self._task.is_full_exact:
            cells = _averaged(self._task, cells)
        return np.asarray(cells - (self._c * cells).sum(axis=1, keepdims=True))

    def moved(self, force: Array) -> Array:
        """How the channels move under a force on the rows, to first order, sign turned."""
        return self._c * self.spread(force)


def _conjugate_residuals(rows: _ExactRows, off: Array) -> Array:
    """The force whose first-order effect comes closest to ``off``.

    Rounding leaves parts of ``off`` that no force explains: unlike conjugate gradients, this
    method never moves away again.
    """
    force, left, first = np.zeros_like(off), off, _inner(off, off)
    effect = rows.deviation(rows.moved(left))
    direction, effect_of_direction, curvature = left, effect, _inner(left, effect)
    for _ in range(_RESIDUALS):
        is_open = (_inner(left, left) > 1e-6 * first) & (curvature > 0)
        if not is_open.any():
            break
        length = np.where(is_open, _inner(effect_of_direction, effect_of_direction), 1.0)
        step = _column(np.where(is_open, curvature / length, 0.0))
        force = force + step * direction
        left = left - step * effect_of_direction
        effect = rows.deviation(rows.moved(left))
        before, curvature = curvature, _inner(left, effect)
        ratio = _column(np.where(is_open, curvature / np.where(is_open, before, 1.0), 0.0))
        direction = left + ratio * direction
        effect_of_direction = effect + ratio * effect_of_direction
    return force


def _inner(rows: Array, others: Array) -> Array:
    return np.asarray((rows * others).sum(axis=(1, 2, 3)))


def _column(values: Array) -> Array:
    """[batch] -> [batch, 1, 1, 1]."""
    return values[:, None, None, None]


def _averaged(task: Task, cells: Array) -> Array:
    """Averages over x given z, [batch, rhat, z, 1]."""
    weights = task.mass / task.mass_z[:, None]
    return np.asarray((weights * cells).sum(axis=-1, keepdims=True))
