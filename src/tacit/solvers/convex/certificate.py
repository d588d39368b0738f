"""From where the interior point stopped to a proven answer.

A channel is repaired until it meets every limit; then the optimum is bounded from below, and every
leakage from above, rounding included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.laws import gamma, information_upper_nats
from tacit.solvers.convex.caps import meet_caps, pull_of_caps
from tacit.solvers.convex.program import LIMIT_TOL, Program, Statement
from tacit.solvers.convex.reduction import Reduction
from tacit.solvers.kernel import Outcome

_FEW_ROUNDINGS = gamma(64)

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
        row_cap, full_cap: multipliers >= 0 of the caps on partial views, [batch, rhat, row, x], and
            on full collusion, [batch, rhat, z, x]; ``None`` where there are none.
    """

    row_log_ratio: Array
    log_p_rhat_given_z: Array
    multiplier: Array
    full_weight: Array
    row_force: Array | None = None
    row_cap: Array | None = None
    full_cap: Array | None = None

    @staticmethod
    def of(program: Program, c: Array, weights: Array, row_force: Array | None = None) -> Witness:
        """The posteriors of strictly positive channels ``c``, and weights as in ``weighed``."""
        joint = program.mass * c
        row_joint = program.rows.collect(joint)
        marginal = row_joint.sum(axis=-1, keepdims=True)
        posterior = row_joint / np.where(marginal > 0, marginal, 1.0)
        row_log_ratio = np.log(np.where(posterior > 0, posterior, 1.0)) - program.log_row_prior
        log_p_rhat_given_z = np.log(joint.sum(axis=-1) / program.mass_z)
        return Witness(
            row_log_ratio, log_p_rhat_given_z, weights[:, :-1], weights[:, -1], row_force
        )

    def weighed(self, weights: Array) -> Witness:
        """The same laws with other weights of all views, full collusion last, [batch, view + 1]."""
        return replace(self, multiplier=weights[:, :-1], full_weight=weights[:, -1])


def best_bound(
    whole: Program, reduction: Reduction, outcome: Outcome, forgone: Array
) -> tuple[Array, Array]:
    """The best lower bound that an outcome proves on the whole program, and its multipliers.

    Args:
        whole: the program as stated.
        reduction: the program that was solved instead.
        outcome: what came out.
        forgone: nats that a view may have been allowed beyond its budget, [batch, view + 1].

    Returns:
        bounds [batch] in units of the cost, and multipliers per nat, [batch, view + 1].
    """
    weights = reduction.lift_multipliers(outcome.all_weights, whole.budgets)
    forces = reduction.lift_forces(outcome, whole)
    laws = Witness.of(whole, reduction.lift(outcome.witness), weights, forces)
    row_cap, full_cap = reduction.lift_caps(outcome, whole)
    laws = replace(laws, row_cap=row_cap, full_cap=full_cap)
    bound, multipliers = _bound_at(whole, reduction, outcome, laws, forgone)
    as_full = reduction.columns[-1][:-1]
    if len(as_full):  # some view sees all that full collusion does
        program = reduction.program
        reduced = Witness.of(program, outcome.witness, outcome.all_weights, outcome.row_force)
        reduced = replace(reduced, row_cap=outcome.row_cap, full_cap=outcome.full_cap)
        updated = Witness.of(whole, reduction.lift(_updated_channel(program, reduced)), weights)
        is_full = np.isin(whole.rows.view_of_row, as_full)[:, None]
        row_log_ratio = np.where(is_full, updated.row_log_ratio, laws.row_log_ratio)
        both = replace(laws, row_log_ratio=row_log_ratio)
        again, others = _bound_at(whole, reduction, outcome, both, forgone)
        multipliers = np.where((again > bound)[:, None], others, multipliers)
        bound = np.maximum(bound, again)
    return bound, multipliers


def _bound_at(
    whole: Program, reduction: Reduction, outcome: Outcome, laws: Witness, forgone: Array
) -> tuple[Array, Array]:
    """The best bound on the whole program from a few readings of the multipliers."""
    multipliers = reduction.lift_multipliers(outcome.multipliers, whole.budgets)
    weights = np.column_stack([laws.multiplier, laws.full_weight])
    # Whatever the channel, I(Rhat; X | Y) is at most log |Rhat|.
    is_free = ~np.isfinite(whole.budgets) & ~whole.is_exact
    budgets = np.where(is_free, np.log(whole.n_rhat), whole.budgets + forgone)
    budgets = np.where(whole.is_exact, 0.0, budgets)
    never_told = np.where(whole.is_exact, forgone, 0.0)
    size = multipliers.max(axis=1, keepdims=True)
    readings = [weights, multipliers, np.where(multipliers > 1e-6 * size, multipliers, 0.0)]
    # No channel costs less than the best letter of every cell; costs carry their own rounding.
    best = (whole.mass * whole.cost.min(axis=1)).sum(axis=(1, 2))
    best = np.broadcast_to(best * (1 - 16 * gamma(whole.mass.size + 64)), len(weights))
    chosen = np.zeros_like(multipliers)
    for reading in readings:
        witness = laws.weighed(reading)
        paid = (reading * budgets).sum(axis=1)
        unpaid = dual_bound(whole, witness) - _worth_of_forgone(whole, witness, never_told)
        bound = unpaid - paid - _FEW_ROUNDINGS * (paid + np.abs(unpaid))
        chosen = np.where((bound > best)[:, None], reading, chosen)
        best = np.fmax(best, bound)  # a NaN proves nothing
    return best, np.where(is_free | whole.is_exact, 0.0, chosen)


def dual_bound(program: Program, witness: Witness) -> Array:
    """Lower bound on E cost + sum_S mu_S I(Rhat; X | Y_S) over all channels, in nats, [batch].

    [M] fact 2, rounding taken off. The law q_S(x | rhat, y) of a partial view is
    p(x | y) exp(row_log_ratio), for an exact view in the limit of an infinite multiplier. That of
    full collusion is the posterior after one Blahut-Arimoto update from q(rhat | z), which turns
    the bound into Blahut's (1972).

    Prices are lowered by what rounding may have added to each of them: a problem with lower prices
    has a lower optimum, and a letter that costs too much to be used costs the bound nothing.
    """
    price, error = _prices(program, witness)
    if program.is_full_exact:
        return _sum_below((program.mass * (price - error)).sum(axis=-1).min(axis=1), program)
    full_weight = witness.full_weight
    is_weighed = full_weight > _NO_WEIGHT * np.abs(price).max(axis=(1, 2, 3))
    plain = _sum_below((program.mass * (price - error).min(axis=1)).sum(axis=-1), program)
    if not is_weighed.any():
        return plain
    weight = np.where(is_weighed, full_weight, 1.0)[:, None, None, None]
    scaled = witness.log_p_rhat_given_z[..., None] - price / weight
    largest = scaled.max(axis=1, keepdims=True)
    # Any number would do here, so its own rounding does not count: it cancels in what follows.
    log_sum = largest + np.log(np.exp(scaled - largest).sum(axis=1, keepdims=True))
    error = error + 8 * program.rounding * weight * np.abs(log_sum)
    ratio = np.where(program.mass > 0, (error - price) / weight - log_sum, -np.inf)
    excess = _log_mean(program, ratio).max(axis=1)
    by_history = (program.mass * log_sum[:, 0]).sum(axis=-1) + program.mass_z * excess
    size = (program.mass * np.abs(log_sum[:, 0])).sum(axis=-1) + program.mass_z * np.abs(excess)
    inner = (by_history + 2 * program.rounding * size).sum(axis=-1)
    return np.asarray(np.where(is_weighed, -full_weight * inner, plain))


def _log_mean(program: Program, ratio: Array) -> Array:
    """At least log sum_x p(x | z) exp(ratio), [batch, rhat, z], for ratios [batch, rhat, z, x].

    The smaller of two bounds. Where everyone learns next to nothing the ratios are close to 0, and
    summing differences from 1 loses no digits; otherwise the largest is taken out first.
    """
    prior, rounding = program.mass / program.mass_z[:, None], 8 * program.rounding
    peak = ratio.max(axis=-1, keepdims=True)
    log_mean = peak[..., 0] + np.log((prior * np.exp(ratio - peak)).sum(axis=-1))
    plain = log_mean + rounding * (2 + np.abs(peak[..., 0]))
    off = prior * np.expm1(np.minimum(ratio, 1.0))
    near = np.log1p(off.sum(axis=-1) + rounding * np.abs(off).sum(axis=-1))
    return np.asarray(np.where(peak[..., 0] <= 1, np.minimum(near, plain), plain))


def _sum_below(terms: Array, program: Program) -> Array:
    """Sums over the last axis, less what rounding may have added."""
    return np.asarray((terms - 2 * program.rounding * np.abs(terms)).sum(axis=-1))


def _worth_of_forgone(program: Program, witness: Witness, forgone: Array) -> Array | float:
    """At most how much ``forgone`` nats, not given to exact views, could have bought, [batch].

    With I(Rhat; X | Y) <= b nats, p(rhat, y, x) is off p(rhat, y) p(x | y) by at most sqrt(2 b),
    summed over everything (Pinsker, Jensen). The deviations sum to 0 over x, so each is worth at
    most half the range over x of what multiplies it: the force on a partial view's rows, the price
    of a cell for full collusion.
    """
    if not forgone.any():
        return 0.0
    size = np.zeros_like(forgone)
    if witness.row_force is not None:
        by_row = _half_range(witness.row_force, program.row_support).max(axis=1)
        for view in range(program.rows.n_views):
            own = by_row[:, program.rows.view_of_row == view]
            size[:, view] = own.max(axis=1, initial=0.0)
    price = np.broadcast_to(_prices(program, witness)[0], (len(forgone), *program.cost.shape[1:]))
    size[:, -1] = _half_range(price, program.mass > 0).max(axis=(1, 2))
    return np.asarray((np.sqrt(2.0 * forgone) * size * (1 + 1e-9)).sum(axis=1))


def _half_range(values: Array, support: NDArray[np.bool_]) -> Array:
    """Half of largest minus smallest value over x where there is support, [..., row or z]."""
    largest = np.where(support, values, -np.inf).max(axis=-1)
    smallest = np.where(support, values, np.inf).min(axis=-1)
    return np.where(largest > smallest, 0.5 * (largest - smallest), 0.0)


def _updated_channel(program: Program, witness: Witness) -> Array:
    """The channels after one Blahut-Arimoto update, whose posteriors ``dual_bound`` stands on.

    Where a partial view became full collusion in the reduced problem, its posteriors under them
    prove on the whole problem what Blahut's bound proves on the reduced one.
    """
    weight = witness.full_weight[:, None, None, None]
    scaled = witness.log_p_rhat_given_z[..., None] - _prices(program, witness)[0] / weight
    grown = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    # Strictly positive, as posteriors must be.
    return np.asarray(np.maximum(grown / grown.sum(axis=1, keepdims=True), 1e-250))


def _prices(program: Program, witness: Witness) -> tuple[Array, Array]:
    """G of [M] fact 2 without the term of full collusion, and how far off it may be.

    Every price is a sum of terms with relative error gamma(n). Constants are generous. Both are
    [batch, rhat, z, x].
    """
    multiplier = witness.multiplier[:, program.rows.view_of_row][:, None, :, None]
    support, force = program.row_support, witness.row_force
    excess = _log_total(program, witness.row_log_ratio)
    by_row = multiplier * (witness.row_log_ratio - excess)
    log_ratio_size = np.where(support, np.abs(witness.row_log_ratio), 0.0)
    size = multiplier * (log_ratio_size + np.abs(excess))
    if force is not None and program.is_any_row_exact:
        size = size + 2 * np.abs(force)
        # sum_x p(y, x) force = 0 makes the force worth nothing to every exact channel.
        prior = np.exp(program.log_row_prior) * support
        by_row = by_row + force - (force * prior).sum(axis=-1, keepdims=True)
    if witness.row_cap is not None and program.row_caps is not None:
        pull, pull_size = pull_of_caps(program.row_caps, witness.row_cap)
        by_row, size = by_row + pull, size + pull_size
    price, terms = program.rows.spread(by_row), program.rows.spread(size)
    if witness.full_cap is not None and program.full_caps is not None:
        pull, pull_size = pull_of_caps(program.full_caps, witness.full_cap)
        price, terms = price + pull, terms + pull_size
    error = 16.0 * program.rounding * (np.abs(program.cost) + terms)
    return np.asarray(program.cost + price), np.asarray(error)


def _log_total(program: Program, row_log_ratio: Array) -> Array:
    """At least log sum_x q_S(x | rhat, y): laws that sum to 1 or less give a valid bound.

    Where a view learns next to nothing the ratios are close to 1. Summed as differences from 1
    they lose no digits, which counts where a nat costs a million. [batch, rhat, row, 1].
    """
    prior = np.exp(program.log_row_prior) * program.row_support
    off = prior * np.expm1(row_log_ratio)
    rounding = 16.0 * program.rounding * np.abs(off).sum(axis=-1, keepdims=True)
    return np.asarray(np.log1p(np.maximum(off.sum(axis=-1, keepdims=True) + rounding, -0.5)))


def leakage_upper_nats(program: Program, c: Array) -> tuple[Array, Array]:
    """Estimates of and upper bounds on I(Rhat; X | Y), partial views first, full collusion last.

    ``c`` may hold zeros. Both are [batch, view + 1].
    """
    rows, (n_z, n_x) = program.rows, program.mass.shape
    n_operations = n_z + n_x + c.shape[1] + 8
    joint = program.mass * c
    row_prior = np.exp(program.log_row_prior) * program.row_support
    prior = program.mass / program.mass_z[:, None]
    row_joint = rows.collect(joint)
    sums = 1 + gamma(n_z + rows.n_rows + 8)
    partial, partial_upper = information_upper_nats(row_joint, row_prior, n_operations)
    full, full_upper = information_upper_nats(joint, prior, n_operations)
    estimate = np.append(rows.per_view(partial), full.sum(axis=-1, keepdims=True), axis=1)
    upper = np.append(rows.per_view(partial_upper), full_upper.sum(axis=-1, keepdims=True), axis=1)
    return estimate, upper * sums


_NEWTON_STEPS = 6
_LARGEST_CHANGE = 0.5
_FLOORS = (0.0, 1e-8, 1e-7, 1e-6)
"""Smallest entries to begin with, tried in turn. Where only entries near 0 can meet an exact view,
they have to grow by more than steps that are factors allow."""

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
    for floor in _FLOORS:
        raised = np.where(c > 0, np.maximum(c, floor), 0.0)
        settled, error = _settled_from(program, raised / raised.sum(axis=1, keepdims=True))
        best = np.where((error < least)[:, None, None, None], settled, best)
        least = np.minimum(error, least)
        if (least < _EXACT).all():
            break
    return best


def _settled_from(program: Program, c: Array) -> tuple[Array, Array]:
    """The nearest of a few Newton steps to the exact views' constraints, and how far it is off."""
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
        # Letters that hardly occur may deviate much: limit the factor by which they change.
        c = c * np.exp(-np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE))
        c = c / c.sum(axis=1, keepdims=True)
    return best, least


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


def make_feasible(
    statement: Statement, c: Array, limits: Array, *, letter: int = 0
) -> tuple[Array, Array]:
    """Channels within their limits to the last bit, and upper bounds on their leakages in bits.

    Args:
        statement: the problem.
        c: channels that meet the limits up to rounding, [batch, rhat, z, x].
        limits: bits, [batch, view + 1].
        letter: what is released instead, where a channel tells too much.
    """
    is_exact = np.asarray(statement.is_spent(limits).any(axis=0))
    budgets, no_cost = statement.budgets(limits) * LN2, np.zeros((1, *c.shape[1:]))
    program = Program(
        statement.mass, no_cost, statement.rows, budgets, is_exact, statement.cap_factors
    )
    mixed, upper = _mix_with(program, c, np.full(len(c), letter))
    return mixed, statement.leaked_upper + upper / LN2


def _mix_with(program: Program, c: Array, letter: NDArray[np.intp]) -> tuple[Array, Array]:
    """Mix with a constant release until every proven leakage is within its budget (convexity).

    Returns the mixtures and upper bounds on their leakages in nats.
    """
    if program.is_capped:
        c = meet_caps(program, c)
    budgets = np.where(program.is_exact, 0.5 * LIMIT_TOL * LN2, program.budgets)
    constant = _constant(letter, c.shape)
    mixed, share = c, np.ones(len(c))
    _, upper = leakage_upper_nats(program, mixed)
    for _ in range(3):
        fitting = _feasible_share(upper, budgets)
        if (fitting == 1.0).all():
            break
        share = np.where(fitting < 1.0, share * fitting * (1 - 1e-13), share)
        mixed = _column(share) * c + _column(1 - share) * constant  # rare letters keep their digits
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
