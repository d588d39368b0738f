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
from tacit.solvers.certificate import Witness, dual_value
from tacit.solvers.lagrangian import Iterate, Lagrangian, column
from tacit.solvers.newton import NewtonSystem
from tacit.solvers.task import Task, measure

_BOUNDARY_FRACTION = 0.98
_MAX_STEPS = 120
_LOOK_EVERY = 8
"""Steps between two looks at the gap while it is far from closed."""

_PATIENCE = 30
"""Steps without a better gap after which a member of the batch is given up."""


@dataclass(slots=True, eq=False)
class Outcome:
    """The best channel and the best proof met, per member of the batch.

    Attributes:
        channel: strictly positive channels, [batch, rhat, z, x].
        is_zero: entries of them that are 0 in the limit, by strict complementarity.
        witness: the channels whose posteriors gave the best bound.
        multipliers: of that bound: the partial views', then full collusion's, [batch, view + 1];
            prices included, frugality not.
        row_force, full_force: of that bound: multipliers of the exact views, as in ``Iterate``.
        frugality: of that bound: weight on I(Rhat; X | Z), [batch].
        waste: nats by which the leakage to everyone may exceed the least, where that was sought and
            not found, [batch]; else 0.
        steps: Newton steps until the best channel, [batch].
    """

    channel: Array
    is_zero: NDArray[np.bool_]
    witness: Array
    multipliers: Array
    row_force: Array
    full_force: Array
    frugality: Array
    waste: Array
    steps: NDArray[np.intp]

    @property
    def all_weights(self) -> Array:
        """Multipliers with the frugality added to full collusion's, [batch, view + 1]."""
        weights = self.multipliers.copy()
        weights[:, -1] += self.frugality
        return weights

    def where(self, chosen: NDArray[np.bool_], other: Outcome) -> Outcome:
        """These members, the chosen ones taken from another outcome."""
        return Outcome(
            *(
                np.where(_like(chosen, mine), getattr(other, name), mine)
                for name, mine in ((name, getattr(self, name)) for name in Outcome.__slots__)
            )
        )

    def keep_channel(
        self, member: NDArray[np.intp], it: Iterate, chosen: NDArray[np.bool_], step: int
    ) -> None:
        """Keep the channels of some members."""
        self.channel[member[chosen]] = it.c[chosen]
        self.is_zero[member[chosen]] = ((it.c < 1e-6) & (it.c < 1e-3 * it.s))[chosen]
        self.steps[member[chosen]] = step

    def keep_proof(
        self,
        member: NDArray[np.intp],
        it: Iterate,
        lagrangian: Lagrangian,
        chosen: NDArray[np.bool_],
    ) -> None:
        """Keep what proves the bound of some members."""
        self.witness[member[chosen]] = it.c[chosen]
        self.multipliers[member[chosen]] = (it.multiplier + lagrangian.price)[chosen]
        self.row_force[member[chosen]] = it.row_force[chosen]
        self.full_force[member[chosen]] = it.full_force[chosen]
        self.frugality[member[chosen]] = lagrangian.frugality[chosen]


def _like(mask: NDArray[np.bool_], array: NDArray[np.generic]) -> NDArray[np.bool_]:
    """[batch] with as many axes as ``array``."""
    return mask.reshape(-1, *(1,) * (array.ndim - 1))


@dataclass(slots=True, eq=False)
class _Progress:
    """How far each member is that still runs.

    Attributes:
        member: its index in the batch.
        value, bound: the best so far.
        frugal: the least leakage gap so far, once frugal.
        idle: steps without any gain.
        is_frugal: whether the gap is closed and the leakage is being lowered.
    """

    member: NDArray[np.intp]
    value: Array
    bound: Array
    frugal: Array
    idle: NDArray[np.intp]
    is_frugal: NDArray[np.bool_]

    @staticmethod
    def start(n_batch: int) -> _Progress:
        """Nothing known yet."""
        return _Progress(
            np.arange(n_batch),
            np.full(n_batch, np.inf),
            np.full(n_batch, -np.inf),
            np.full(n_batch, np.inf),
            np.zeros(n_batch, dtype=np.intp),
            np.zeros(n_batch, dtype=bool),
        )

    def take(self, keep: NDArray[np.intp]) -> _Progress:
        """Some members."""
        return _Progress(*(getattr(self, name)[keep] for name in _Progress.__slots__))


def minimise(
    task: Task, price: Array, frugality: Array, gap_tol: Array, frugal_tol: float
) -> Outcome:
    """Solve a batch.

    Args:
        task: the convex problem, costs scaled to order 1.
        price: fixed price of a nat to each view, [batch, view + 1]; a positive one replaces the
            view's limit.
        frugality: weight on I(Rhat; X | Z) while the gap is being closed, [batch], positive.
        gap_tol: a member stops when the gap of its objective is below this, [batch], ...
        frugal_tol: ... and its leakage to everyone is within this many nats of the least (only
            where full collusion does not bind).
    """
    lagrangian = Lagrangian(task, price, frugality)
    it = _start(lagrangian)
    outcome = Outcome(
        it.c.copy(),
        np.zeros(it.c.shape, dtype=bool),
        it.c.copy(),
        it.multiplier + price,
        it.row_force.copy(),
        it.full_force.copy(),
        frugality.copy(),
        np.zeros(len(it.c)),
        np.zeros(len(it.c), dtype=np.intp),
    )
    now = _Progress.start(len(it.c))
    for step in range(_MAX_STEPS + 1):
        if step % _LOOK_EVERY == 0 or _is_near(lagrangian, it, gap_tol):
            _note(outcome, now, lagrangian, it, gap_tol, step)
        is_closed = now.value - now.bound <= gap_tol
        turns_frugal = ~now.is_frugal & is_closed & _leaks_for_nothing(lagrangian, it, frugal_tol)
        is_done = is_closed & ~turns_frugal & (~now.is_frugal | (now.frugal <= frugal_tol))
        is_done |= now.idle > _PATIENCE
        if turns_frugal.any():
            lagrangian = _more_frugal(lagrangian, it, turns_frugal, gap_tol)
            it = lagrangian.settle(it)
            now.is_frugal |= turns_frugal
        if step == _MAX_STEPS or is_done.all():
            break
        if is_done.any():
            keep = np.flatnonzero(~is_done)
            it, lagrangian, now = it.take(keep), lagrangian.subset(keep), now.take(keep)
            gap_tol = gap_tol[keep]
        try:
            it = _advance(lagrangian, it)
        except np.linalg.LinAlgError:  # no digits are left: what was kept stands
            break
    return outcome


def _is_near(lagrangian: Lagrangian, it: Iterate, gap_tol: Array) -> bool:
    """Whether the gap of some member may be about to close."""
    comp = lagrangian.complementarity(it.c, it.s, it.multiplier, it.slack)
    return bool((comp <= 1e4 * gap_tol * lagrangian.n_pairs).any())


def _note(
    outcome: Outcome,
    now: _Progress,
    lagrangian: Lagrangian,
    it: Iterate,
    gap_tol: Array,
    step: int,
) -> None:
    """Keep the iterate's channel and its proof where they are the best so far.

    Before the gap is closed the best channel has the least value; after, the least leakage to
    everyone among those whose value stays within the gap.
    """
    value, bound, frugal = _assess(lagrangian, it)
    is_tighter = bound > now.bound
    outcome.keep_proof(now.member, it, lagrangian, is_tighter)
    now.bound = np.maximum(now.bound, bound)
    is_frugal_gain = (frugal < now.frugal) & (value - now.bound <= gap_tol)
    is_better = np.where(now.is_frugal, is_frugal_gain, value < now.value)
    outcome.keep_channel(now.member, it, is_better, step)
    now.frugal = np.where(now.is_frugal & is_better, frugal, now.frugal)
    now.value = np.where(is_better, value, now.value)
    now.idle = np.where(is_better | (is_tighter & ~now.is_frugal), 0, now.idle + 1)
    outcome.waste[now.member] = np.where(now.is_frugal, now.frugal, 0.0)


# -- start and stop --------------------------------------------------------------------------


def _start(lagrangian: Lagrangian) -> Iterate:
    """A strictly feasible start: the uniform release leaks nothing, a bit of greed is added."""
    task, limited, budgets = lagrangian.task, lagrangian.is_limited, lagrangian.budgets
    n_batch, n_rhat = len(budgets), task.cost.shape[1]
    uniform = np.full((n_batch, n_rhat, *task.mass.shape), 1.0 / n_rhat)
    greedy = np.exp(-3.0 * (task.cost - task.cost.min(axis=1, keepdims=True)))
    greedy = greedy / greedy.sum(axis=1, keepdims=True)
    greed = np.full(n_batch, 0.0 if task.all_exact.any() else 0.3)
    for _ in range(60):
        c = uniform + column(greed) * (greedy - uniform)
        at = measure(task, c)
        is_inside = (at.all_views <= 0.7 * budgets).all(axis=1, where=limited)
        if is_inside.all():
            break
        greed = np.where(is_inside, greed, 0.5 * greed)
    left = np.maximum(budgets - at.all_views, 0.1 * budgets)
    it = Iterate(
        c=c,
        s=0.3 / n_rhat / c,
        multiplier=np.where(limited, np.maximum(0.3 / budgets, 0.1), 0.0),
        slack=np.where(limited, left, 1.0),
        row_force=np.zeros_like(at.row_log_ratio),
        full_force=_levelling_force(task, n_batch),
        at=at,
        price=c,
        residual=c,
    )
    return lagrangian.settle(it)


def _levelling_force(task: Task, n_batch: int) -> Array:
    """Start of the multipliers of exact full collusion: they make the cost constant in x."""
    if not task.is_full_exact:
        return np.zeros((n_batch, 0, 0, 0))
    level = (task.mass * task.cost).sum(axis=-1, keepdims=True) / task.mass_z[:, None]
    return np.broadcast_to(level - task.cost, (n_batch, *task.cost.shape[1:])).copy()


def _assess(lagrangian: Lagrangian, it: Iterate) -> tuple[Array, Array, Array]:
    """Value and bound of E cost plus what is priced, and the gap of the leakage to everyone."""
    task, limited, budgets = lagrangian.task, lagrangian.is_limited, lagrangian.budgets
    share = feasible_share(it.at.all_views, budgets, limited)
    spent = (task.mass * task.cost * it.c).sum(axis=(1, 2, 3))
    spent = spent + (lagrangian.price * it.at.all_views).sum(axis=1)
    # Ten times, because the forces are still growing while the constraints are off.
    spent = spent + 10.0 * lagrangian.exact_error(it)
    value = share * spent + (1 - share) * task.constant_costs.min(axis=1)
    weights = lagrangian.weights(it.multiplier)
    dual = dual_value(task, Witness.of(task, it.at, weights, it.row_force))
    paid = (it.multiplier * budgets).sum(axis=1, where=limited)
    frugal = (value - (dual - paid)) / lagrangian.frugality + share * it.at.full
    # Whatever the channel, I(Rhat; X | Z) is at most log |Rhat|.
    at_most = np.where(limited[:, -1], budgets[:, -1], np.log(it.c.shape[1]))
    spared = np.zeros(1) if task.is_full_exact else lagrangian.frugality * at_most
    return value, dual - paid - spared, frugal


def _leaks_for_nothing(lagrangian: Lagrangian, it: Iterate, frugal_tol: float) -> NDArray[np.bool_]:
    """Where full collusion does not bind, so that the answer may leak more than it need."""
    if lagrangian.task.is_full_exact:
        return np.zeros(len(it.c), dtype=bool)
    weight = it.multiplier[:, -1] + lagrangian.price[:, -1]
    return (weight <= 1e3 * lagrangian.frugality) & (it.at.full > frugal_tol)


def _more_frugal(
    lagrangian: Lagrangian, it: Iterate, chosen: NDArray[np.bool_], gap_tol: Array
) -> Lagrangian:
    """Spend what is left of gap_tol on leaking less: at most weight * I can be lost."""
    now = lagrangian.frugality
    affordable = gap_tol / (4.0 * np.maximum(it.at.full, 1e-6))
    return lagrangian.with_frugality(np.where(chosen, np.clip(affordable, now, 1e2 * now), now))


def feasible_share(leakages: Array, budgets: Array, is_limited: NDArray[np.bool_]) -> Array:
    """Weight of a channel in a feasible mixture with a constant release (convexity; no search)."""
    ratio = np.where(is_limited & (leakages > budgets), budgets / np.maximum(leakages, 1e-300), 1.0)
    share: Array = ratio.min(axis=1)
    return share


# -- one step --------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Direction:
    c: Array
    s: Array
    multiplier: Array
    slack: Array


def _advance(lagrangian: Lagrangian, it: Iterate) -> Iterate:
    """One predictor-corrector step."""
    comp = lagrangian.complementarity(it.c, it.s, it.multiplier, it.slack)
    tau = comp / lagrangian.n_pairs
    norm = lagrangian.residual_norm(it)
    newton = _NewtonStep(lagrangian, it)
    affine = newton.affine()
    step = _longest_step(lagrangian, it, affine)
    after = lagrangian.complementarity(
        it.c + column(step) * affine.c,
        it.s + column(step) * affine.s,
        it.multiplier + step[:, None] * affine.multiplier,
        it.slack + step[:, None] * affine.slack,
    )
    cap = np.where(norm < comp, 0.5, 1.0)
    centring = np.minimum(cap, np.maximum((after / comp) ** 3, 1e-3))
    # Never let complementarity run ahead of feasibility.
    behind = np.minimum(0.1 * norm / (it.c.shape[1] + 2), 2.0 * tau)
    target = np.maximum(centring * tau, behind)
    direction = newton.towards(
        column(target) - column(step**2) * affine.s * affine.c,
        target[:, None] - step[:, None] ** 2 * affine.multiplier * affine.slack,
    )
    step = _longest_step(lagrangian, it, direction)
    if (step < 0.2).any():
        # The second-order correction misled: centre instead.
        centred = np.maximum(target, 0.5 * tau)
        plain = newton.towards(column(centred), centred[:, None])
        direction = _choose(step < 0.2, plain, direction)
        step = _longest_step(lagrangian, it, direction)
    return _move(lagrangian, it, direction, np.minimum(1.0, _BOUNDARY_FRACTION * step), norm)


class _NewtonStep:
    """The factorised system at one iterate, with the limits' multipliers eliminated."""

    def __init__(self, lagrangian: Lagrangian, it: Iterate) -> None:
        self._it, self._limited = it, lagrangian.is_limited
        self._system = NewtonSystem(
            lagrangian.task,
            it.c,
            it.s,
            lagrangian.full_curvature(it),
            lagrangian.row_curvature(it),
        )
        force = it.residual + it.s + lagrangian.exact_pull(it)
        gradients = _limit_gradients(lagrangian.task, it)
        answers = self._system.solve(np.concatenate([gradients, force[:, None]], axis=1))
        self._answers, self._affine = answers[:, :-1], answers[:, -1:]
        self._massive = lagrangian.task.mass * gradients
        # Views without a limit keep their multiplier: an identity row.
        self._multiplier = np.where(self._limited, it.multiplier, 1.0)
        both = self._limited[:, :, None] & self._limited[:, None]
        self._schur = np.where(both, _inner(self._massive, self._answers), 0.0)
        size = np.arange(self._limited.shape[1])
        ratio = np.where(self._limited, it.slack / self._multiplier, 1.0)
        self._schur[:, size, size] -= ratio
        self._primal = it.at.all_views + it.slack - lagrangian.budgets

    def affine(self) -> _Direction:
        """Newton direction towards complementarity 0."""
        return self._direction(self._affine, np.zeros(1), np.zeros(1))

    def towards(self, cell_target: Array, limit_target: Array) -> _Direction:
        """Newton direction towards s*c = cell_target and multiplier*slack = limit_target."""
        free = self._affine - self._system.solve((cell_target / self._it.c)[:, None])
        return self._direction(free, cell_target, limit_target)

    def _direction(self, free: Array, cell_target: Array, limit_target: Array) -> _Direction:
        """``free`` is the change of the channel at fixed multipliers of the limits."""
        it = self._it
        offset = limit_target / self._multiplier - it.slack
        side = -(self._primal + _inner(self._massive, free)[..., 0] + offset)
        side = np.where(self._limited, side, 0.0)
        multiplier = np.asarray(np.linalg.solve(self._schur, side[..., None])[..., 0], float)
        c = free[:, 0] + np.einsum("bl,blrzx->brzx", multiplier, self._answers)
        multiplier = np.where(self._limited, multiplier, 0.0)
        slack = offset - it.slack * multiplier / self._multiplier
        return _Direction(
            c,
            cell_target / it.c - it.s - it.s / it.c * c,
            multiplier,
            np.where(self._limited, slack, 0.0),
        )


def _limit_gradients(task: Task, it: Iterate) -> Array:
    """Gradients of every leakage per unit of mass, [batch, view + 1, rhat, z, x]."""
    gradients = np.empty((len(it.c), task.rows.n_views + 1, *it.c.shape[1:]))
    for view in range(task.rows.n_views):
        is_own = (task.rows.view_of_row == view)[:, None]
        gradients[:, view] = task.rows.spread(np.where(is_own, it.at.row_log_ratio, 0.0))
    gradients[:, -1] = it.at.full_log_ratio
    return gradients


def _inner(left: Array, right: Array) -> Array:
    """Inner products over (rhat, z, x): [batch, i, ...] x [batch, j, ...] -> [batch, i, j]."""
    n_batch = len(left)
    flat = right.reshape(n_batch, right.shape[1], -1)
    products: Array = left.reshape(n_batch, left.shape[1], -1) @ flat.transpose(0, 2, 1)
    return products


def _choose(mask: NDArray[np.bool_], first: _Direction, second: _Direction) -> _Direction:
    cells, limits = mask[:, None, None, None], mask[:, None]
    return _Direction(
        np.where(cells, first.c, second.c),
        np.where(cells, first.s, second.s),
        np.where(limits, first.multiplier, second.multiplier),
        np.where(limits, first.slack, second.slack),
    )


def _longest_step(lagrangian: Lagrangian, it: Iterate, direction: _Direction) -> Array:
    """Largest step in [0, 1] that keeps everything positive."""
    limited = lagrangian.is_limited
    multiplier = np.where(limited, it.multiplier, 1.0)
    shrink = [
        (-direction.c / it.c).max(axis=(1, 2, 3)),
        (-direction.s / it.s).max(axis=(1, 2, 3)),
        (-direction.multiplier / multiplier).max(axis=1),
        (-direction.slack / it.slack).max(axis=1),
        np.ones(len(it.c)),
    ]
    longest: Array = 1.0 / np.max(shrink, axis=0)
    return longest


def _move(
    lagrangian: Lagrangian, it: Iterate, direction: _Direction, step: Array, norm: Array
) -> Iterate:
    """Step; halve once where the residual rises and complementarity does not explain it.

    Once only: letters that come alive from nearly nothing raise the residual on their way.
    """
    new = _moved(lagrangian, it, direction, step)
    comp = lagrangian.complementarity(new.c, new.s, new.multiplier, new.slack)
    allowed = np.maximum(np.maximum((1 - 0.01 * step) * norm, 2.0 * comp), 1e-13)
    is_good = lagrangian.residual_norm(new) <= allowed
    if not is_good.all():
        new = _moved(lagrangian, it, direction, np.where(is_good, step, 0.5 * step))
    return _recentred(lagrangian, new)


def _moved(lagrangian: Lagrangian, it: Iterate, direction: _Direction, step: Array) -> Iterate:
    c = it.c + column(step) * direction.c
    at = measure(lagrangian.task, c)
    slack = it.slack + step[:, None] * direction.slack
    # Reset the slack to what is really left: it keeps I + slack = budget exact.
    left = lagrangian.budgets - at.all_views
    is_reset = lagrangian.is_limited & (left > 0.2 * slack)
    row_force, full_force = lagrangian.moved_forces(it, direction.c, step)
    new = Iterate(
        c=c,
        s=it.s + column(step) * direction.s,
        multiplier=it.multiplier + step[:, None] * direction.multiplier,
        slack=np.where(is_reset, np.minimum(left, 5.0 * slack), slack),
        row_force=row_force,
        full_force=full_force,
        at=at,
        price=it.price,
        residual=it.residual,
    )
    return lagrangian.settle(new)


def _recentred(lagrangian: Lagrangian, it: Iterate) -> Iterate:
    """Reset the dual slacks of nearly unused letters, where curvature outruns Newton's model."""
    is_off = (np.abs(it.residual) > 0.5 * it.s) & (it.c < 1e-2)
    if not is_off.any():
        return it
    comp = lagrangian.complementarity(it.c, it.s, it.multiplier, it.slack)
    centre = column(comp / lagrangian.n_pairs) / it.c
    wanted = np.clip(it.residual + it.s, 0.1 * centre, 10.0 * centre)
    it.s = np.where(is_off, wanted, it.s)
    return lagrangian.settle_residual(it)
