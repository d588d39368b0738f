"""Proofs: lower bounds on the optimum and upper bounds on leakages, rounding included."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.information.rounding import gamma, information_upper_nats
from tacit.problem import Array
from tacit.solvers.task import Task

_NO_WEIGHT = 1e-250
"""Relative to the prices, a smaller multiplier of full collusion is left out: dividing by it would
overflow, its term is >= 0, and the bound still holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """What a lower bound stands on: multipliers, and a law of x for every letter that a view sees.

    Any values give a valid bound; those of an optimal channel give the optimum.

    Attributes:
        row_log_ratio: log q_S(x | rhat, y) / p(x | y) of the partial views, [batch, rhat, row, x].
        log_p_rhat_given_z: log q(rhat | z), [batch, rhat, z]; -inf allowed.
        multiplier: of every partial view, per nat, [batch, view]; ignored for exact views.
        full_weight: multiplier of full collusion, [batch].
        row_force: multipliers of the exact views' constraints, [batch, rhat, row, x].
    """

    row_log_ratio: Array
    log_p_rhat_given_z: Array
    multiplier: Array
    full_weight: Array
    row_force: Array | None = None

    @staticmethod
    def of(task: Task, c: Array, weights: Array, row_force: Array | None = None) -> Witness:
        """The posteriors of strictly positive channels ``c``, and weights as in ``weighed``."""
        joint = task.mass * c
        row_joint = task.rows.collect(joint)
        marginal = row_joint.sum(axis=-1, keepdims=True)
        posterior = row_joint / np.where(marginal > 0, marginal, 1.0)
        row_log_ratio = np.log(np.where(posterior > 0, posterior, 1.0)) - task.log_row_prior
        log_p_rhat_given_z = np.log(joint.sum(axis=-1) / task.mass_z)
        return Witness(
            row_log_ratio, log_p_rhat_given_z, weights[:, :-1], weights[:, -1], row_force
        )

    def weighed(self, weights: Array) -> Witness:
        """The same laws with other weights of all views, full collusion last, [batch, view + 1]."""
        return replace(self, multiplier=weights[:, :-1], full_weight=weights[:, -1])


def dual_value(task: Task, witness: Witness) -> Array:
    """Lower bound on E cost + sum_S mu_S I(Rhat; X | Y_S) over all channels, in nats, [batch].

    DESIGN fact 2. The law q_S(x | rhat, y) of a partial view is p(x | y) exp(row_log_ratio), for
    an exact view in the limit of an infinite multiplier. That of full collusion is the posterior
    after one Blahut-Arimoto update from q(rhat | z), which turns the bound into Blahut's (1972).
    """
    full_weight = witness.full_weight
    price = _price(task, witness)
    if task.is_full_exact:
        return np.asarray((task.mass * price).sum(axis=-1).min(axis=1).sum(axis=-1))
    is_weighed = full_weight > _NO_WEIGHT * np.abs(price).max(axis=(1, 2, 3))
    if not is_weighed.any():
        return np.asarray((task.mass * price.min(axis=1)).sum(axis=(1, 2)))
    weight = np.where(is_weighed, full_weight, np.inf)[:, None, None, None]
    scaled = witness.log_p_rhat_given_z[..., None] - price / weight
    largest = scaled.max(axis=1, keepdims=True)
    log_sum = largest + np.log(np.exp(scaled - largest).sum(axis=1, keepdims=True))
    ratio = np.where(task.mass > 0, -price / weight - log_sum, -np.inf)
    peak = ratio.max(axis=-1, keepdims=True)
    mean = (task.mass * np.exp(ratio - peak)).sum(axis=-1) / task.mass_z
    excess = (peak[..., 0] + np.log(mean)).max(axis=1)
    inner = (task.mass * log_sum[:, 0]).sum(axis=(1, 2)) + (task.mass_z * excess).sum(axis=1)
    plain = (task.mass * price.min(axis=1)).sum(axis=(1, 2))
    return np.asarray(np.where(is_weighed, -full_weight * inner, plain))


def updated_channel(task: Task, witness: Witness) -> Array:
    """The channels after one Blahut-Arimoto update, whose posteriors ``dual_value`` stands on.

    Where a partial view became full collusion in the reduced problem, these posteriors prove on
    the whole problem what Blahut's bound proves on the reduced one.
    """
    weight = witness.full_weight[:, None, None, None]
    scaled = witness.log_p_rhat_given_z[..., None] - _price(task, witness) / weight
    grown = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    # Strictly positive, as posteriors must be.
    return np.asarray(np.maximum(grown / grown.sum(axis=1, keepdims=True), 1e-250))


def dual_rounding(task: Task, witness: Witness) -> Array:
    """How far rounding can have lifted ``dual_value``, a priori, [batch].

    Every price is a sum of terms with relative error gamma(n); the laws q_S sum to 1 only within
    gamma(n), which costs mu_S gamma(n); Blahut's bound adds a few roundings relative to the price
    and to the weight times the logarithms in it. Constants are generous.
    """
    n_z, n_x = task.mass.shape
    n_operations = n_z + n_x + task.cost.shape[1] + task.rows.n_rows + 64
    logs = np.where(task.row_support, np.abs(witness.row_log_ratio), 0.0) + 4.0
    rows = witness.multiplier[:, task.rows.view_of_row][:, None, :, None] * logs
    if witness.row_force is not None:
        rows = rows + 2 * np.abs(witness.row_force)
    magnitude = (np.abs(task.cost) + task.rows.spread(rows)).max(axis=(1, 2, 3))
    log_q = witness.log_p_rhat_given_z
    finite = np.where(np.isfinite(log_q), np.abs(log_q), 0.0)
    logarithms = witness.full_weight * (4.0 + finite.max(axis=(1, 2)))
    return np.asarray(gamma(n_operations) * (16.0 * magnitude + 32.0 * logarithms))


def _price(task: Task, witness: Witness) -> Array:
    """G of DESIGN fact 2 without the term of full collusion, [batch, rhat, z, x]."""
    by_row = witness.multiplier[:, task.rows.view_of_row][:, None, :, None] * witness.row_log_ratio
    force = witness.row_force
    if force is not None and task.is_exact.any():
        # sum_x p(y, x) force = 0 makes the force worth nothing to every exact channel.
        prior = np.exp(task.log_row_prior) * task.row_support
        by_row = by_row + force - (force * prior).sum(axis=-1, keepdims=True)
    return np.asarray(task.cost + task.rows.spread(by_row))


def leakage_upper_nats(task: Task, c: Array) -> tuple[Array, Array]:
    """Estimates of and upper bounds on I(Rhat; X | Y), partial views first, full collusion last.

    ``c`` may hold zeros. Both are [batch, view + 1].
    """
    n_z, n_x = task.mass.shape
    n_operations = n_z + n_x + c.shape[1] + 8
    joint = task.mass * c
    prior = np.exp(task.log_row_prior) * task.row_support
    rows, rows_upper = information_upper_nats(task.rows.collect(joint), prior, n_operations)
    full, full_upper = information_upper_nats(joint, task.mass / task.mass_z[:, None], n_operations)
    estimate = np.concatenate([task.rows.per_view(rows), full.sum(axis=-1, keepdims=True)], axis=1)
    upper = np.concatenate(
        [task.rows.per_view(rows_upper), full_upper.sum(axis=-1, keepdims=True)], axis=1
    )
    return estimate, upper * (1 + gamma(n_z + task.rows.n_rows + 8))
