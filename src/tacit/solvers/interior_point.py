"""A primal-dual interior-point method for the convex release problem, in batches.

Mehrotra's predictor-corrector on

    minimise    E cost + sum price * I(Rhat; X | Y) + frugality * I(Rhat; X | Z)
    subject to  I(Rhat; X | Y) <= budget  for every limited view, full collusion among them,
                Rhat independent of X given Y  for every exact view,
                sum_rhat c = 1, c > 0,

with the barrier of each cell weighted by its mass, so that rare cells do not set the pace. It stops
on a certified gap (DESIGN fact 2), never on a small step. The frugality weight is what makes the
answer leak least to everyone among the near-optimal ones (DESIGN fact 5). Prices stand in for the
limits of views with hardly any bits left, where a limit is too curved for Newton's model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array
from tacit.solvers.certificate import dual_value
from tacit.solvers.newton import Curvature, NewtonSystem
from tacit.solvers.task import Leakages, Task, measure

_FULL_STIFFNESS = 1e5
_ROW_STIFFNESS = 1e7
"""Curvatures that hold the exact views' linear constraints; their multipliers take up the rest."""

_BOUNDARY_FRACTION = 0.98
_SMALLEST_WEIGHT = 1e-14


@dataclass(slots=True, eq=False)
class Outcome:
    """Where the method stopped, per member of the batch.

    Attributes:
        channel: strictly positive channels, [batch, rhat, z, x].
        multipliers: of the partial views' budgets, then of full collusion, [batch, view + 1];
            prices included, frugality not.
        row_force: multipliers of the exact views, [batch, rhat, row, x]; 0 on other rows.
        full_force: those of exact full collusion, [batch, rhat, z, x]; unused otherwise.
        is_zero: entries that are 0 in the limit, by strict complementarity.
        frugality: weight on I(Rhat; X | Z) at the end, [batch].
        gap: last uncertified estimate of the gap, [batch].
        steps: Newton steps, [batch].
    """

    channel: Array
    multipliers: Array
    row_force: Array
    full_force: Array
    is_zero: NDArray[np.bool_]
    frugality: Array
    gap: Array
    steps: NDArray[np.intp]


@dataclass(slots=True, eq=False)
class _Iterate:
    """Everything that moves. ``limit`` runs over the partial views, then full collusion."""

    c: Array
    s: Array
    nu: Array
    multiplier: Array
    slack: Array
    row_force: Array
    full_force: Array
    at: Leakages

    def take(self, keep: NDArray[np.intp]) -> _Iterate:
        """Some members of the batch."""
        at = Leakages(*(getattr(self.at, name)[keep] for name in Leakages.__slots__))
        own = (self.c, self.s, self.nu, self.multiplier, self.slack)
        return _Iterate(
            *(part[keep] for part in own), self.row_force[keep], self.full_force[keep], at
        )


@dataclass(slots=True, eq=False)
class _Direction:
    c: Array
    s: Array
    multiplier: Array
    slack: Array


def _column(values: Array) -> Array:
    """[batch] -> [batch, 1, 1, 1]."""
    return values[:, None, None, None]


class InteriorPoint:
    """The method on one batch: ``InteriorPoint(task, frugality, gap_tol).run()``."""

    def __init__(
        self,
        task: Task,
        price: Array,
        frugality: Array,
        gap_tol: Array,
        frugal_tol: float,
        max_steps: int = 120,
    ) -> None:
        """Prepare.

        Args:
            task: the convex problem, costs scaled to order 1.
            price: fixed price of a nat to each view, [batch, view + 1]; a positive one replaces
                the view's limit.
            frugality: weight on I(Rhat; X | Z) while the gap is being closed, [batch], positive.
            gap_tol: stop when the gap of E cost is below this, [batch], ...
            frugal_tol: ... and the leakage to everyone is within this many nats of the least
                (only where full collusion does not bind).
            max_steps: cap on Newton steps.
        """
        self.task = task
        self.price = price
        self.frugality = frugality
        self.gap_tol = gap_tol
        self.frugal_tol = frugal_tol
        self.max_steps = max_steps
        self._prepare(task)

    def _prepare(self, task: Task) -> None:
        budgets = np.concatenate([task.budgets, task.full_budget[:, None]], axis=1)
        is_exact = np.append(task.is_exact, task.is_full_exact)
        self.is_limited = np.isfinite(budgets) & ~is_exact & (self.price == 0)
        self.budgets = np.where(self.is_limited, budgets, 1.0)
        self.exact_rows = task.is_exact[task.rows.view_of_row]
        total = task.row_mass.sum(axis=-1, keepdims=True)
        self.row_total = np.where(total > 0, total, 1.0)
        # A stiff history answers forces on the rows that much less.
        self.row_stiffness = (1e2 if task.is_full_exact else 1.0) * _ROW_STIFFNESS
        self.n_rhat = task.cost.shape[1]
        self.n_pairs = self.n_rhat + self.is_limited.sum(axis=1)

    # -- the loop ---------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Iterate until every member of the batch has stopped."""
        it = self._start()
        n_batch = len(it.c)
        members = np.arange(n_batch)
        outcome = Outcome(
            it.c.copy(),
            it.multiplier + self.price,
            it.row_force.copy(),
            it.full_force.copy(),
            np.zeros(it.c.shape, dtype=bool),
            self.frugality.copy(),
            np.full(n_batch, np.inf),
            np.zeros(n_batch, dtype=np.intp),
        )
        best_frugal = np.full(n_batch, np.inf)
        patience = np.zeros(n_batch, dtype=np.intp)
        is_frugal = np.zeros(n_batch, dtype=bool)
        for step in range(self.max_steps + 1):
            gap, frugal_gap = self._gaps(it)
            better = np.where(
                is_frugal,
                (frugal_gap < best_frugal) & (gap <= self.gap_tol),
                gap < outcome.gap[members],
            )
            self._record(outcome, members[better], it, better, gap, step)
            best_frugal = np.where(is_frugal & better, frugal_gap, best_frugal)
            patience = np.where(better, 0, patience + 1)
            is_closed = ~is_frugal & (gap <= self.gap_tol)
            needs_frugality = is_closed & self._is_full_slack(it)
            self._raise_frugality(needs_frugality, it)
            is_frugal |= needs_frugality
            is_done = (
                (is_closed & ~needs_frugality)
                | (is_frugal & (frugal_gap <= self.frugal_tol) & (gap <= self.gap_tol))
                | (patience > 12)
            )
            if step == self.max_steps or is_done.all():
                break
            if is_done.any():
                keep = np.flatnonzero(~is_done)
                it, members = it.take(keep), members[keep]
                best_frugal, patience, is_frugal = (
                    best_frugal[keep],
                    patience[keep],
                    is_frugal[keep],
                )
                self.task, self.frugality = self.task.subset(keep), self.frugality[keep]
                self.gap_tol, self.price = self.gap_tol[keep], self.price[keep]
                self._prepare(self.task)
            try:
                it = self._advance(it)
            except np.linalg.LinAlgError:  # no digits are left: what was recorded stands
                break
        return outcome

    def _record(
        self,
        outcome: Outcome,
        members: NDArray[np.intp],
        it: _Iterate,
        better: NDArray[np.bool_],
        gap: Array,
        step: int,
    ) -> None:
        outcome.channel[members] = it.c[better]
        outcome.multipliers[members] = (it.multiplier + self.price)[better]
        outcome.row_force[members] = it.row_force[better]
        outcome.full_force[members] = it.full_force[better]
        outcome.is_zero[members] = ((it.c < 1e-6) & (it.c < 1e-3 * it.s))[better]
        outcome.frugality[members] = self.frugality[better]
        outcome.gap[members] = gap[better]
        outcome.steps[members] = step

    def _start(self) -> _Iterate:
        """A strictly feasible start: the uniform release leaks nothing, a bit of greed is added."""
        task = self.task
        n_batch = len(task.budgets)
        shape = (n_batch, self.n_rhat, *task.mass.shape)
        uniform = np.full(shape, 1.0 / self.n_rhat)
        greedy = np.exp(-3.0 * (task.cost - task.cost.min(axis=1, keepdims=True)))
        greedy = greedy / greedy.sum(axis=1, keepdims=True)
        has_exact = bool(task.is_exact.any() or task.is_full_exact)
        greed = np.full(n_batch, 0.0 if has_exact else 0.3)
        for _ in range(60):
            c = uniform + _column(greed) * (greedy - uniform)
            at = measure(task, c)
            room = 0.7 * self.budgets - self._leakages(at)
            is_inside = (room >= 0).all(axis=1, where=self.is_limited)
            if is_inside.all():
                break
            greed = np.where(is_inside, greed, 0.5 * greed)
        multiplier = np.where(self.is_limited, np.maximum(0.3 / self.budgets, 0.1), 0.0)
        slack = np.where(
            self.is_limited,
            np.maximum(self.budgets - self._leakages(at), 0.1 * self.budgets),
            1.0,
        )
        it = _Iterate(
            c,
            0.3 / self.n_rhat / c,
            np.zeros((n_batch, *task.mass.shape)),
            multiplier,
            slack,
            np.zeros_like(at.row_log_ratio),
            self._levelling_force(n_batch),
            at,
        )
        it.nu = self._best_nu(it)
        return it

    def _levelling_force(self, n_batch: int) -> Array:
        """Start of the multipliers of exact full collusion: they make the cost constant in x."""
        task = self.task
        if not task.is_full_exact:
            return np.zeros((n_batch, 0, 0, 0))
        level = (task.mass * task.cost).sum(axis=-1, keepdims=True) / task.mass_z[:, None]
        return np.broadcast_to(level - task.cost, (n_batch, *task.cost.shape[1:])).copy()

    # -- forces and residuals ---------------------------------------------------------------

    @staticmethod
    def _leakages(at: Leakages) -> Array:
        return np.concatenate([at.by_view, at.full[:, None]], axis=1)

    def _full_weight(self, it: _Iterate) -> Array:
        if self.task.is_full_exact:
            return np.full(len(it.c), _FULL_STIFFNESS)
        return it.multiplier[:, -1] + self.price[:, -1] + self.frugality

    def _row_weight(self, it: _Iterate) -> Array:
        return (it.multiplier + self.price)[:, self.task.rows.view_of_row]

    def _full_curvature(self, it: _Iterate) -> Curvature:
        joint = np.ones((1, 1, 1, 1)) if self.task.is_full_exact else it.c
        return Curvature(self._full_weight(it), joint)

    def _row_curvature(self, it: _Iterate) -> Curvature:
        """The leakages' own curvature; an exact view's is a fixed, stiff one, alike for all rhat.

        Were it relative to p(rhat, y, x), the multipliers of dying letters would blow up.
        """
        weight = np.maximum(self._row_weight(it), _SMALLEST_WEIGHT)
        if not self.task.is_exact.any():
            return Curvature(weight, it.at.row_joint)
        return Curvature(
            np.where(self.exact_rows, self.row_stiffness, weight),
            np.where(self.exact_rows[:, None], self.task.row_mass, it.at.row_joint),
        )

    def _price(self, it: _Iterate) -> Array:
        """Gradient of the Lagrangian per unit of mass, without nu and s ([TVC] section IV-A)."""
        by_row = self._row_weight(it)[:, None, :, None] * it.at.row_log_ratio
        price = self.task.cost + self.task.rows.spread(by_row + it.row_force)
        if self.task.is_full_exact:
            return price + it.full_force
        return price + _column(self._full_weight(it)) * it.at.full_log_ratio

    def _best_nu(self, it: _Iterate) -> Array:
        """The nu that leaves the least dual residual, in the norm of the cells' masses."""
        return -(it.c * (self._price(it) - it.s)).sum(axis=1)

    def _dual_residual(self, it: _Iterate) -> Array:
        return self._price(it) + it.nu[:, None] - it.s

    def _residual_norm(self, it: _Iterate, dual: Array) -> Array:
        primal = np.where(self.is_limited, self._leakages(it.at) + it.slack - self.budgets, 0.0)
        dual_square = (self.task.mass * it.c * dual**2).sum(axis=(1, 2, 3))
        return np.sqrt(dual_square + (primal**2).sum(axis=1))

    def _complementarity(self, c: Array, s: Array, multiplier: Array, slack: Array) -> Array:
        cells = (self.task.mass * s * c).sum(axis=(1, 2, 3))
        return cells + (multiplier * slack).sum(axis=1, where=self.is_limited)

    # -- one step ---------------------------------------------------------------------------

    def _advance(self, it: _Iterate) -> _Iterate:
        comp = self._complementarity(it.c, it.s, it.multiplier, it.slack)
        tau = comp / self.n_pairs
        dual = self._dual_residual(it)
        norm = self._residual_norm(it, dual)
        newton = _NewtonStep(self, it, dual)
        affine = newton.direction(np.zeros(1), np.zeros(1))
        step = self._longest_step(it, affine)
        after = self._complementarity(
            it.c + _column(step) * affine.c,
            it.s + _column(step) * affine.s,
            it.multiplier + step[:, None] * affine.multiplier,
            it.slack + step[:, None] * affine.slack,
        )
        cap = np.where(norm < comp, 0.5, 1.0)
        centring = np.minimum(cap, np.maximum((after / comp) ** 3, 1e-3))
        # Never let complementarity run ahead of feasibility.
        target = np.maximum(
            centring * tau, np.minimum(0.1 * norm / (self.n_rhat + 2), 2.0 * tau)
        )
        direction = newton.direction(
            _column(target) - _column(step**2) * affine.s * affine.c,
            target[:, None] - step[:, None] ** 2 * affine.multiplier * affine.slack,
        )
        step = self._longest_step(it, direction)
        if (step < 0.2).any():
            centred = np.maximum(target, 0.5 * tau)
            plain = newton.direction(_column(centred), centred[:, None])
            plain_step = self._longest_step(it, plain)
            is_short = step < 0.2
            direction = _choose(is_short, plain, direction)
            step = np.where(is_short, plain_step, step)
        return self._move(it, direction, np.minimum(1.0, _BOUNDARY_FRACTION * step), norm)

    def _longest_step(self, it: _Iterate, direction: _Direction) -> Array:
        """Largest step in [0, 1] that keeps everything positive."""
        shrink = np.maximum(
            (-direction.c / it.c).max(axis=(1, 2, 3)), (-direction.s / it.s).max(axis=(1, 2, 3))
        )
        for change, value in (
            (direction.multiplier, it.multiplier),
            (direction.slack, it.slack),
        ):
            ratio = np.where(self.is_limited, -change / np.where(self.is_limited, value, 1.0), 0.0)
            shrink = np.maximum(shrink, ratio.max(axis=1))
        return 1.0 / np.maximum(shrink, 1.0)

    def _move(self, it: _Iterate, direction: _Direction, step: Array, norm: Array) -> _Iterate:
        """Backtrack until the residual falls (or complementarity dominates it)."""
        for _ in range(2):
            new = self._moved(it, direction, step)
            new_norm = self._residual_norm(new, self._dual_residual(new))
            comp = self._complementarity(new.c, new.s, new.multiplier, new.slack)
            allowed = np.maximum(np.maximum((1 - 0.01 * step) * norm, 2.0 * comp), 1e-13)
            is_good = new_norm <= allowed
            if is_good.all():
                break
            step = np.where(is_good, step, 0.5 * step)
        return self._recentred(new)

    def _moved(self, it: _Iterate, direction: _Direction, step: Array) -> _Iterate:
        c = it.c + _column(step) * direction.c
        at = measure(self.task, c)
        slack = it.slack + step[:, None] * direction.slack
        # Reset the slack to what is really left: it keeps I + slack = budget exact.
        left = self.budgets - self._leakages(at)
        slack = np.where(
            self.is_limited & (left > 0.2 * slack), np.minimum(left, 5.0 * slack), slack
        )
        new = _Iterate(
            c,
            it.s + _column(step) * direction.s,
            it.nu,
            it.multiplier + step[:, None] * direction.multiplier,
            slack,
            it.row_force,
            it.full_force,
            at,
        )
        self._move_exact_forces(it, new, direction, step)
        new.nu = self._best_nu(new)
        return new

    def _move_exact_forces(
        self, it: _Iterate, new: _Iterate, direction: _Direction, step: Array
    ) -> None:
        """Multipliers of the exact views: stiffness times the deviation that the model predicts."""
        if self.task.is_exact.any():
            predicted = self._row_deviation(it.at.row_joint) + self._row_deviation(
                self.task.rows.collect(self.task.mass * direction.c)
            )
            new.row_force = it.row_force + _column(step) * predicted
        if self.task.is_full_exact:
            predicted = self._full_deviation(it.c) + self._full_deviation(direction.c)
            new.full_force = it.full_force + _column(step) * predicted

    def _row_deviation(self, row_joint: Array) -> Array:
        """Force that pulls exact views back: stiffness * (p(rhat | y, x) - p(rhat | y))."""
        mass = np.where(self.task.row_support, self.task.row_mass, 1.0)
        marginal = row_joint.sum(axis=-1, keepdims=True) / self.row_total
        deviation = self.row_stiffness * (row_joint / mass - marginal)
        return np.where(self.exact_rows[:, None] & self.task.row_support, deviation, 0.0)

    def _full_deviation(self, c: Array) -> Array:
        average = (self.task.mass * c).sum(axis=-1, keepdims=True) / self.task.mass_z[:, None]
        return _FULL_STIFFNESS * (c - average)

    def _recentred(self, it: _Iterate) -> _Iterate:
        """Reset the dual slacks of nearly unused letters, whose curvature outruns Newton's model."""
        price = self._price(it) + it.nu[:, None]
        tau = self._complementarity(it.c, it.s, it.multiplier, it.slack) / self.n_pairs
        is_off = (np.abs(price - it.s) > 0.5 * it.s) & (it.c < 1e-2)
        if is_off.any():
            centre = _column(tau) / it.c
            it.s = np.where(is_off, np.clip(price, 0.1 * centre, 10.0 * centre), it.s)
            it.nu = self._best_nu(it)
        return it

    # -- gaps -------------------------------------------------------------------------------

    def _gaps(self, it: _Iterate) -> tuple[Array, Array]:
        """Gap of E cost plus what is priced, and of the leakage to everyone, in nats."""
        task = self.task
        leakages = self._leakages(it.at)
        share = feasible_share(leakages, self.budgets, self.is_limited)
        spent = (task.mass * task.cost * it.c).sum(axis=(1, 2, 3))
        spent = spent + (self.price * leakages).sum(axis=1)
        constant = task.constant_costs.min(axis=1)
        value = share * spent + (1 - share) * constant
        dual = dual_value(
            task,
            it.at.row_log_ratio,
            np.log(it.at.history_joint / task.mass_z),
            (it.multiplier + self.price)[:, :-1],
            self._full_weight(it),
            it.row_force,
        )
        paid = (it.multiplier * self.budgets).sum(axis=1, where=self.is_limited)
        frugal_gap = (value - (dual - paid)) / self.frugality + share * it.at.full
        # Whatever the channel, I(Rhat; X | Z) is at most log |Rhat|.
        at_most = np.where(self.is_limited[:, -1], self.budgets[:, -1], np.log(self.n_rhat))
        at_most = 0.0 if task.is_full_exact else at_most
        return value - (dual - paid - self.frugality * at_most), frugal_gap

    def _is_full_slack(self, it: _Iterate) -> NDArray[np.bool_]:
        if self.task.is_full_exact:
            return np.zeros(len(it.c), dtype=bool)
        weight = it.multiplier[:, -1] + self.price[:, -1]
        binds = weight > 1e3 * self.frugality
        return ~binds & (it.at.full > self.frugal_tol)

    def _raise_frugality(self, chosen: NDArray[np.bool_], it: _Iterate) -> None:
        """Spend what is left of gap_tol on leaking less: at most weight * I can be lost."""
        affordable = self.gap_tol / (2.0 * np.maximum(it.at.full, 1e-6))
        self.frugality = np.where(
            chosen, np.clip(affordable, self.frugality, 1e2 * self.frugality), self.frugality
        )


class _NewtonStep:
    """The factorised system at one iterate, with the limits' multipliers eliminated."""

    def __init__(self, method: InteriorPoint, it: _Iterate, dual: Array) -> None:
        task = method.task
        self._method, self._it = method, it
        system = NewtonSystem(
            task,
            it.c,
            it.s,
            method._full_curvature(it),
            method._row_curvature(it),
        )
        self._system = system
        self._force = dual + it.s
        if task.is_exact.any():
            self._force = self._force + task.rows.spread(
                method._row_deviation(it.at.row_joint)
            )
        if task.is_full_exact:
            self._force = self._force + method._full_deviation(it.c)
        self._gradients = self._limit_gradients()
        self._answers = system.solve(self._gradients)
        self._massive = task.mass * self._gradients
        curvature = _inner(self._massive, self._answers)
        # Views without a limit keep their multiplier: an identity row.
        limited = method.is_limited
        both = limited[:, :, None] & limited[:, None]
        size = np.arange(limited.shape[1])
        self._schur = np.where(both, curvature, 0.0)
        multiplier = np.where(limited, it.multiplier, 1.0)
        self._schur[:, size, size] -= np.where(limited, it.slack / multiplier, 1.0)
        self._multiplier = multiplier
        self._primal = method._leakages(it.at) + it.slack - method.budgets

    def _limit_gradients(self) -> Array:
        """Gradients of every leakage per unit of mass, [batch, view + 1, rhat, z, x]."""
        task, at = self._method.task, self._it.at
        n_batch, n_rhat = at.row_marginal.shape[:2]
        gradients = np.empty((n_batch, task.rows.n_views + 1, n_rhat, *task.mass.shape))
        for view in range(task.rows.n_views):
            is_own = (task.rows.view_of_row == view)[:, None]
            gradients[:, view] = task.rows.spread(np.where(is_own, at.row_log_ratio, 0.0))
        gradients[:, -1] = at.full_log_ratio
        return gradients

    def direction(self, cell_target: Array, limit_target: Array) -> _Direction:
        """Newton direction towards s*c = cell_target and multiplier*slack = limit_target."""
        it, limited = self._it, self._method.is_limited
        free = self._system.solve((self._force - cell_target / it.c)[:, None])
        offset = limit_target / self._multiplier - it.slack
        side = -(self._primal + _inner(self._massive, free)[..., 0] + offset)
        side = np.where(limited, side, 0.0)
        multiplier = np.linalg.solve(self._schur, side[..., None])
        c = free[:, 0] + np.einsum("bl,blrzx->brzx", multiplier[..., 0], self._answers)
        change = np.where(limited, multiplier[..., 0], 0.0)
        slack = np.where(limited, offset - it.slack * change / self._multiplier, 0.0)
        return _Direction(c, cell_target / it.c - it.s - it.s / it.c * c, change, slack)


def _inner(left: Array, right: Array) -> Array:
    """Inner products over (rhat, z, x): [batch, i, ...] x [batch, j, ...] -> [batch, i, j]."""
    n_batch = len(left)
    flat = right.reshape(n_batch, right.shape[1], -1)
    return left.reshape(n_batch, left.shape[1], -1) @ flat.transpose(0, 2, 1)


def _choose(mask: NDArray[np.bool_], first: _Direction, second: _Direction) -> _Direction:
    cells, limits = mask[:, None, None, None], mask[:, None]
    return _Direction(
        np.where(cells, first.c, second.c),
        np.where(cells, first.s, second.s),
        np.where(limits, first.multiplier, second.multiplier),
        np.where(limits, first.slack, second.slack),
    )


def feasible_share(leakages: Array, budgets: Array, is_limited: NDArray[np.bool_]) -> Array:
    """Weight of a channel in a feasible mixture with a constant release (convexity; no search)."""
    ratio = np.where(is_limited & (leakages > budgets), budgets / np.maximum(leakages, 1e-300), 1.0)
    return ratio.min(axis=1)
