"""Channels that nearly meet their limits, moved until they do, to the last bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.solvers.convex.certificate import leakage_upper_nats
from tacit.solvers.convex.program import LIMIT_TOL, Program, Statement

_NEWTON_STEPS = 6
_LARGEST_CHANGE = 0.5
_RESIDUALS = 200
_EXACT = 1e-15
"""Chi-square of what is off, close to twice the information in nats: far below ``LIMIT_TOL``."""


def settled_channel(program: Program, c: Array) -> Array:
    """Channels, [batch, rhat, z, x], moved onto the exact views' constraints; zeros stay."""
    if program.is_full_exact:
        c = np.broadcast_to(_averaged(program, c), c.shape)
    if not program.is_any_row_exact:
        return c
    best, least = c, np.full(len(c), np.inf)
    for _ in range(_NEWTON_STEPS):
        rows = _ExactRows(program, c)
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

    def __init__(self, program: Program, c: Array) -> None:
        self._program, self._c = program, c
        total = program.row_mass.sum(axis=-1, keepdims=True)
        self._prior = program.row_mass / np.where(total > 0, total, 1.0)
        joint = program.rows.collect(program.mass * c)
        expected = joint.sum(axis=-1, keepdims=True) * self._prior
        is_held = program.is_exact[program.rows.view_of_row][:, None] & (expected > 0)
        self._scale = np.where(is_held, 1.0 / np.sqrt(np.where(is_held, expected, 1.0)), 0.0)

    def deviation(self, cells: Array) -> Array:
        """p(rhat, y, x) - p(rhat, y) p(x | y), scaled, [batch, rhat, row, x]."""
        joint = self._program.rows.collect(self._program.mass * cells)
        off = joint - joint.sum(axis=-1, keepdims=True) * self._prior
        return np.asarray(self._scale * off)

    def spread(self, force: Array) -> Array:
        """The transpose, per unit of mass, less its mean over rhat: sums stay 1 to first order."""
        scaled = self._scale * force
        cells = self._program.rows.spread(
            scaled - (self._prior * scaled).sum(axis=-1, keepdims=True)
        )
        cells = np.broadcast_to(cells, self._c.shape)
        if self._program.is_full_exact:
            cells = _averaged(self._program, cells)
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


def _averaged(program: Program, cells: Array) -> Array:
    """Averages over x given z, [batch, rhat, z, 1]."""
    weights = program.mass / program.mass_z[:, None]
    return np.asarray((weights * cells).sum(axis=-1, keepdims=True))


# -- budgets ---------------------------------------------------------------------------------------


def feasible_channel(program: Program, c: Array) -> tuple[Array, Array, Array]:
    """Channels within every budget, their values, and upper bounds on their leakages.

    A constant release that costs no more is the better answer: it tells nothing.

    Args:
        program: the whole program.
        c: channels that meet the limits up to rounding, [batch, rhat, z, x].

    Returns:
        channels, values [batch], and nats [batch, view + 1].
    """
    letter = np.broadcast_to(program.constant_costs.argmin(axis=1), len(c))
    mixed, upper = _mix_with(program, c, letter)
    value = (program.mass * program.cost * mixed).sum(axis=(1, 2, 3))
    blind = np.broadcast_to(program.constant_costs.min(axis=1), len(c))
    is_blind = ~(value < blind)  # a NaN is no better than a constant either
    mixed = np.where(_column(is_blind), _constant(letter, c.shape), mixed)
    upper = np.where(is_blind[:, None], 0.0, upper)  # a constant tells exactly nothing
    return mixed, np.where(is_blind, blind, value), upper


def make_feasible(statement: Statement, c: Array, limits: Array) -> tuple[Array, Array]:
    """Channels within their limits to the last bit, and upper bounds on their leakages in bits.

    Args:
        statement: the problem.
        c: channels that meet the limits up to rounding, [batch, rhat, z, x].
        limits: bits, [batch, view + 1].
    """
    is_exact = np.asarray(statement.is_spent(limits).any(axis=0))
    budgets, no_cost = statement.budgets(limits) * LN2, np.zeros((1, *c.shape[1:]))
    program = Program(statement.mass, no_cost, statement.rows, budgets, is_exact)
    mixed, upper = _mix_with(program, c, np.zeros(len(c), dtype=np.intp))
    return mixed, statement.leaked_upper + upper / LN2


def _mix_with(program: Program, c: Array, letter: NDArray[np.intp]) -> tuple[Array, Array]:
    """Mix with a constant release until every proven leakage is within its budget (convexity).

    Returns the mixtures and upper bounds on their leakages in nats.
    """
    budgets = np.where(program.is_exact, 0.5 * LIMIT_TOL * LN2, program.budgets)
    constant = _constant(letter, c.shape)
    mixed, share = c, np.ones(len(c))
    _, upper = leakage_upper_nats(program, mixed)
    for _ in range(3):
        fitting = _feasible_share(upper, budgets)
        if (fitting == 1.0).all():
            break
        share = np.where(fitting < 1.0, share * fitting * (1 - 1e-13), share)
        mixed = constant + _column(share) * (c - constant)
        _, upper = leakage_upper_nats(program, mixed)
    return mixed, upper


def _feasible_share(leakages: Array, budgets: Array) -> Array:
    """Weight of a channel in a feasible mixture with a constant release (convexity; no search)."""
    is_above = np.isfinite(budgets) & (leakages > budgets)
    ratio = np.where(is_above, budgets / np.maximum(leakages, 1e-300), 1.0)
    return np.asarray(ratio.min(axis=1))


def _constant(letter: NDArray[np.intp], shape: tuple[int, ...]) -> Array:
    constant = np.zeros(shape)
    constant[np.arange(shape[0]), letter] = 1.0
    return constant
