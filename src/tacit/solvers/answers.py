"""From where the interior point stopped to a proven answer: undo, repair, certify."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.information.rounding import gamma
from tacit.problem import Array
from tacit.solvers.certificate import (
    Witness,
    dual_bound,
    leakage_upper_nats,
    updated_channel,
    worth_of_forgone,
)
from tacit.solvers.exact_views import settled_channel
from tacit.solvers.interior_point import Outcome
from tacit.solvers.reduced_task import ReducedTask
from tacit.solvers.statement import LIMIT_TOL, Statement
from tacit.solvers.task import Task, ViewRows

_LN2 = float(np.log(2.0))


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
        reduced.statement.leaked_upper + upper / _LN2,
        multipliers * _LN2,
        value - bound <= gap_tol,
        outcome.waste / _LN2,
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
    task = whole_task(statement, np.zeros((1, *c.shape[1:])), budgets * _LN2, is_exact)
    mixed = _mixed_with(task, c, np.zeros(len(c), dtype=np.intp))
    _, upper = leakage_upper_nats(task, mixed)
    return mixed, statement.leaked_upper + upper / _LN2


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
    budgets = np.where(task.all_exact, 0.5 * LIMIT_TOL * _LN2, task.all_budgets)
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
