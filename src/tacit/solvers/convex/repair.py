"""From where the interior point stopped to a proven answer: undo, repair, certify."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.rounding import gamma
from tacit.solvers.convex.certificate import (
    Witness,
    dual_bound,
    leakage_upper_nats,
    updated_channel,
    worth_of_forgone,
)
from tacit.solvers.convex.interior_point import Outcome
from tacit.solvers.convex.program import LIMIT_TOL, Statement, Task, ViewRows
from tacit.solvers.convex.reduction import ReducedTask

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


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Certified answers of a batch on the statement's letters, [batch, ...], in bits."""

    channel: Array
    value: Array
    bound: Array
    leakage: Array
    multipliers: Array
    is_closed: NDArray[np.bool_]
    waste: Array
    steps: NDArray[np.intp]

    def take(self, members: NDArray[np.intp]) -> Answers:
        """Some members of the batch, in the order given."""
        return Answers(*(getattr(self, name)[members] for name in Answers.__slots__))

    def joined_with(self, other: Answers, gap_tol: float) -> Answers:
        """The better release and the better bound of two ways to solve the same problems."""
        is_better = other.value < self.value
        is_tighter = other.bound > self.bound
        value, bound = np.minimum(self.value, other.value), np.maximum(self.bound, other.bound)
        return Answers(
            np.where(is_better[:, None, None, None], other.channel, self.channel),
            value,
            np.minimum(bound, value),
            np.where(is_better[:, None], other.leakage, self.leakage),
            np.where(is_tighter[:, None], other.multipliers, self.multipliers),
            value - bound <= gap_tol,
            np.where(is_better, other.waste, self.waste),
            np.where(is_better, other.steps, self.steps),
        )


def whole_task(statement: Statement, cost: Array, nats: Array, is_exact: NDArray[np.bool_]) -> Task:
    """The unreduced problem with all its limits, on which everything is proved."""
    return Task(
        statement.mass,
        cost,
        ViewRows(statement.views, len(statement.mass)),
        nats[:, :-1],
        is_exact[:-1],
        nats[:, -1],
        bool(is_exact[-1]),
    )


def certified(
    whole: Task,
    reduced: ReducedTask,
    outcome: Outcome,
    nats: Array,
    forgone: Array,
    gap_tol: float,
) -> Answers:
    """Meet every limit to the last bit and prove the gap on the whole problem.

    ``forgone`` are the nats that a view counted as exact would still have been allowed.
    """
    lift = reduced.reduction.lift
    bound, multipliers = _best_bound(whole, reduced, outcome, outcome.witness, nats, forgone)
    if len(reduced.columns[-1]) > 1:  # some view sees all that full collusion does
        updated = _updated(reduced.task, outcome)
        again, others = _best_bound(whole, reduced, outcome, updated, nats, forgone)
        multipliers = np.where((again > bound)[:, None], others, multipliers)
        bound = np.maximum(bound, again)
    settled = settled_channel(reduced.task, outcome.channel)
    settled = settled / settled.sum(axis=1, keepdims=True)
    c, value = _feasible(whole, lift(settled))
    snapped = np.where(outcome.is_zero, 0.0, settled)
    clean, clean_value = _feasible(whole, lift(snapped / snapped.sum(axis=1, keepdims=True)))
    # Exact zeros are worth having wherever they do not cost the asked gap.
    is_clean = (clean_value - bound <= gap_tol) | (clean_value <= value)
    c = np.where(is_clean[:, None, None, None], clean, c)
    value = np.where(is_clean, clean_value, value)
    _, upper = leakage_upper_nats(whole, c)
    # A limit that is far from reached, and worth no more than the gap, does not bind.
    left = np.where(np.isfinite(nats), nats - upper, 0.0)
    is_slack = (left > 0.1 * nats) & (multipliers * left <= gap_tol)
    multipliers = np.where(is_slack, 0.0, multipliers)
    return Answers(
        c,
        value,
        np.minimum(bound, value),
        reduced.statement.leaked_upper + upper / LN2,
        multipliers * LN2,
        value - bound <= gap_tol,
        outcome.waste / LN2,
        outcome.steps,
    )


def _updated(task: Task, outcome: Outcome) -> Array:
    """The witness after one more Blahut-Arimoto update."""
    witness = Witness.of(task, outcome.witness, outcome.all_weights, outcome.row_force)
    return updated_channel(task, witness)


def _best_bound(
    task: Task,
    reduced: ReducedTask,
    outcome: Outcome,
    interior: Array,
    nats: Array,
    forgone: Array,
) -> tuple[Array, Array]:
    """The best certified bound from a few readings of the interior point's multipliers.

    ``interior`` is the channel of the reduced problem whose posteriors the bound stands on.
    """
    multipliers = reduced.lift_multipliers(outcome.multipliers, nats)
    weights = reduced.lift_multipliers(outcome.all_weights, nats)
    forces = reduced.lift_forces(outcome, task)
    laws = Witness.of(task, reduced.reduction.lift(interior), weights, forces)
    # Whatever the channel, I(Rhat; X | Y) is at most log |Rhat|.
    is_free = ~np.isfinite(task.all_budgets) & ~task.all_exact
    budgets = np.where(is_free, np.log(interior.shape[1]), task.all_budgets)
    budgets = np.where(task.all_exact, 0.0, budgets)
    size = multipliers.max(axis=1, keepdims=True)
    readings = [weights, multipliers, np.where(multipliers > 1e-6 * size, multipliers, 0.0)]
    # No channel costs less than the best letter of every cell; costs carry their own rounding.
    best = (task.mass * task.cost.min(axis=1)).sum(axis=(1, 2))
    best = np.broadcast_to(best * (1 - 16 * gamma(task.mass.size + 64)), len(interior))
    chosen = np.zeros_like(multipliers)
    for reading in readings:
        witness = laws.weighed(reading)
        paid = (reading * budgets).sum(axis=1)
        unpaid = dual_bound(task, witness) - worth_of_forgone(task, witness, forgone)
        bound = unpaid - paid - gamma(64) * (paid + np.abs(unpaid))
        chosen = np.where((bound > best)[:, None], reading, chosen)
        best = np.fmax(best, bound)  # a NaN proves nothing
    return best, np.where(is_free | task.all_exact, 0.0, chosen)


def leakage_of(statement: Statement, c: Array, limits: Array) -> tuple[Array, Array]:
    """Channels made feasible to the last bit, and upper bounds on their leakages in bits.

    Args:
        statement: the problem.
        c: channels that meet the limits up to rounding, [batch, rhat, z, x].
        limits: bits, [batch, view + 1].
    """
    budgets = statement.budgets(limits)
    is_exact = np.asarray(statement.is_spent(limits).any(axis=0))
    task = whole_task(statement, np.zeros((1, *c.shape[1:])), budgets * LN2, is_exact)
    mixed = _mixed_with(task, c, np.zeros(len(c), dtype=np.intp))
    _, upper = leakage_upper_nats(task, mixed)
    return mixed, statement.leaked_upper + upper / LN2


def _feasible(task: Task, c: Array) -> tuple[Array, Array]:
    """Channels within every budget, with their values."""
    letter = np.broadcast_to(task.constant_costs.argmin(axis=1), len(c))
    mixed = _mixed_with(task, c, letter)
    value = (task.mass * task.cost * mixed).sum(axis=(1, 2, 3))
    # A constant release that costs no more is the better answer: it tells nothing.
    blind = np.broadcast_to(task.constant_costs.min(axis=1), len(c))
    is_blind = ~(value < blind)  # a NaN is no better than a constant either
    constant = _constant(letter, c.shape)
    mixed = np.where(is_blind[:, None, None, None], constant, mixed)
    return mixed, np.where(is_blind, blind, value)


def feasible_share(leakages: Array, budgets: Array, is_limited: NDArray[np.bool_]) -> Array:
    """Weight of a channel in a feasible mixture with a constant release (convexity; no search)."""
    ratio = np.where(is_limited & (leakages > budgets), budgets / np.maximum(leakages, 1e-300), 1.0)
    share: Array = ratio.min(axis=1)
    return share


def _mixed_with(task: Task, c: Array, letter: NDArray[np.intp]) -> Array:
    """Mix with a constant release until every proven leakage is within its budget (convexity)."""
    budgets = np.where(task.all_exact, 0.5 * LIMIT_TOL * LN2, task.all_budgets)
    is_limited = np.isfinite(budgets)
    constant = _constant(letter, c.shape)
    mixed = c
    share = np.ones(len(c))
    for _ in range(3):
        _, upper = leakage_upper_nats(task, mixed)
        share = share * feasible_share(upper, budgets, is_limited)
        if (share == 1.0).all():
            break
        share = np.where(share < 1.0, share * (1 - 1e-13), 1.0)
        mixed = constant + share[:, None, None, None] * (c - constant)
    return mixed


def _constant(letter: NDArray[np.intp], shape: tuple[int, ...]) -> Array:
    constant = np.zeros(shape)
    constant[np.arange(shape[0]), letter] = 1.0
    return constant
