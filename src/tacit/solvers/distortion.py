"""The certified solver for expected distortion: reduce, solve, undo, repair, prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError
from tacit.information.rounding import gamma, information_upper_nats
from tacit.problem import Array, Problem, View, ViewKey
from tacit.solution import Solution, Status
from tacit.solvers.certificate import dual_rounding, dual_value, leakage_upper_nats
from tacit.solvers.interior_point import InteriorPoint, Outcome, feasible_share
from tacit.solvers.reductions import Reduction, reduce
from tacit.solvers.task import Task, ViewRows, measure
from tacit.solvers.threads import one_thread

_LN2 = float(np.log(2.0))

LIMIT_TOL = 1e-12
"""Bits. A limit this close to what is already leaked counts as equal to it."""

_FRUGAL_TOL = 2e-5
"""Nats by which the leakage to everyone may exceed the least possible."""

_PRICED_BELOW = 3e-6
"""Nats. Smaller budgets are met by a price."""

_PRICE_CORRECTIONS = 8

_BATCH_BYTES = 2**27


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A problem with its history flattened and its letters of probability 0 left out.

    Attributes:
        problem: where it comes from.
        mass: p(z, x), [z, x]; no empty row or column.
        seen_z, seen_x: the original letters behind them.
        keys: the views' keys, partial views first and full collusion last.
        views: the partial views, read on ``seen_z`` and ``seen_x``.
        leaked: estimate of I(Y; X) in bits, [view + 1].
        leaked_upper: upper bound on it, rounding included.
    """

    problem: Problem
    mass: Array
    seen_z: NDArray[np.intp]
    seen_x: NDArray[np.intp]
    keys: list[ViewKey]
    views: list[View]
    leaked: Array
    leaked_upper: Array

    @staticmethod
    def of(problem: Problem) -> Statement:
        """State a problem for the kernels."""
        p_zx = problem.joint_zxr.sum(axis=-1)
        seen_z = np.flatnonzero(p_zx.sum(axis=1))
        seen_x = np.flatnonzero(p_zx.sum(axis=0))
        mass = p_zx[np.ix_(seen_z, seen_x)]
        partial: list[ViewKey] = [key for key in problem.limits if key != problem.everyone]
        views = [_seen_view(problem.view(key), seen_z, seen_x) for key in partial]
        full = View(letter_of_z=np.arange(len(seen_z)))
        leaked = [_leaked_bits(view, mass) for view in [*views, full]]
        return Statement(
            problem,
            mass,
            seen_z,
            seen_x,
            [*partial, problem.everyone],
            views,
            np.array([estimate for estimate, _ in leaked]),
            np.array([upper for _, upper in leaked]),
        )

    def limits(self, problem: Problem) -> Array:
        """Limits in bits of a problem over this joint, in the order of ``keys``."""
        limits = problem.limits
        return np.array([limits[key] for key in self.keys])

    def cost_of(self, distortion: Array) -> Array:
        """E[d(rhat, R) | z, x], [rhat, z, x]; 0 on cells of no mass."""
        joint = self.problem.joint_zxr[np.ix_(self.seen_z, self.seen_x)]
        weighted = np.einsum("ar,zxr->azx", distortion, joint)
        return np.where(self.mass > 0, weighted / np.where(self.mass > 0, self.mass, 1.0), 0.0)

    def budgets(self, limits: Array) -> Array:
        """Bits that each view may still learn, [batch, view + 1]; 0 where a limit is met already."""
        left = limits - self.leaked_upper
        return np.where(np.abs(limits - self.leaked) <= LIMIT_TOL, 0.0, left)


def _seen_view(view: View, seen_z: NDArray[np.intp], seen_x: NDArray[np.intp]) -> View:
    if view.law is not None:
        return View(law=view.law[np.ix_(seen_z, seen_x)])
    assert view.letter_of_z is not None
    _, letters = np.unique(view.letter_of_z[seen_z], return_inverse=True)
    return View(letter_of_z=letters.astype(np.intp))


def _leaked_bits(view: View, mass: Array) -> tuple[float, float]:
    """I(Y; X) in bits and an upper bound on it."""
    joint = view.pool(mass)
    p_x = mass.sum(axis=0)
    n_operations = sum(mass.shape) + view.size + 8
    estimate, upper = information_upper_nats(joint[:, None], p_x[None], n_operations)
    return float(estimate.sum()) / _LN2, float(upper.sum()) / _LN2


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Certified answers of a batch on the statement's letters, [batch, ...], in bits."""

    channel: Array
    value: Array
    bound: Array
    leakage: Array
    multipliers: Array
    is_closed: NDArray[np.bool_]
    steps: NDArray[np.intp]


def solve_distortion(problem: Problem, gap_tol: float) -> Solution:
    """The least expected distortion under the problem's limits, with a certificate."""
    statement = Statement.of(problem)
    limits = statement.limits(problem)
    raise_if_infeasible(statement, limits)
    cost = statement.cost_of(problem.distortion)[None]
    return solution_of(problem, statement, solve_batch(statement, cost, limits[None], gap_tol), 0)


def solve_distortions(problems: Sequence[Problem], gap_tol: float) -> list[Solution | None]:
    """Problems that differ only in their limits, together; ``None`` where one is infeasible."""
    statement = Statement.of(problems[0])
    limits = np.array([statement.limits(problem) for problem in problems])
    feasible = np.flatnonzero((statement.leaked - limits <= LIMIT_TOL).all(axis=1))
    solutions: list[Solution | None] = [None] * len(problems)
    if len(feasible):
        cost = statement.cost_of(problems[0].distortion)[None]
        answers = solve_batch(statement, cost, limits[feasible], gap_tol)
        for index, member in enumerate(feasible):
            solutions[member] = solution_of(problems[member], statement, answers, index)
    return solutions


def raise_if_infeasible(statement: Statement, limits: Array) -> None:
    """Raise for the limit that is furthest below what has leaked already."""
    short = statement.leaked - limits
    worst = int(short.argmax())
    if short[worst] > LIMIT_TOL:
        raise InfeasibleError(statement.keys[worst], limits[worst], statement.leaked[worst])


def solution_of(problem: Problem, statement: Statement, answers: Answers, index: int) -> Solution:
    """One member of a batch as a public solution."""
    value, bound = float(answers.value[index]), float(answers.bound[index])
    return Solution(
        problem=problem,
        channel=full_channel(statement, answers.channel[index]),
        value=value,
        bound=bound,
        leakage=dict(zip(statement.keys, answers.leakage[index].tolist(), strict=True)),
        multipliers=dict(zip(statement.keys, answers.multipliers[index].tolist(), strict=True)),
        status=Status.OPTIMAL if answers.is_closed[index] else Status.INACCURATE,
        steps=int(answers.steps[index]),
    )


def full_channel(statement: Statement, c: Array) -> Array:
    """[rhat, z, x] on seen letters -> [z1, ..., zk, x, rhat] on all of them.

    Cells that cannot occur release what their history releases on average, so that they tell
    nothing about x; histories that cannot occur, what everyone gets on average.
    """
    problem = statement.problem
    p_rhat_z = (statement.mass * c).sum(axis=-1)
    by_history = p_rhat_z / statement.mass.sum(axis=1)
    overall = p_rhat_z.sum(axis=-1)
    n_z, n_x, _ = problem.joint_zxr.shape
    channel = np.empty((n_z, n_x, len(c)))
    channel[:] = overall
    channel[statement.seen_z] = by_history.T[:, None]
    cells = np.where(statement.mass > 0, c, by_history[..., None])
    channel[np.ix_(statement.seen_z, statement.seen_x)] = cells.transpose(1, 2, 0)
    channel /= channel.sum(axis=-1, keepdims=True)
    return channel.reshape(*problem.history_shape, n_x, len(c))


def solve_batch(statement: Statement, cost: Array, limits: Array, gap_tol: float) -> Answers:
    """Solve for many limits or many costs over one joint.

    Args:
        statement: the joint and its views.
        cost: [batch or 1, rhat, z, x].
        limits: bits, [batch, view + 1]; feasible.
        gap_tol: asked gap, in units of the cost.
    """
    budgets = statement.budgets(limits)
    is_exact = budgets <= LIMIT_TOL
    is_blind = np.broadcast_to(_spread(statement.mass, cost) <= 0, len(limits))
    patterns, group_of = np.unique(is_exact, axis=0, return_inverse=True)
    group_of = np.where(is_blind, -1, group_of.reshape(-1))
    parts: list[tuple[NDArray[np.intp], Answers]] = []
    if is_blind.any():
        blind = np.flatnonzero(is_blind)
        parts.append((blind, _blind_answers(statement, cost, blind)))
    with one_thread():
        for group in range(len(patterns)):
            members = np.flatnonzero(group_of == group)
            for chunk in _chunks(members, statement, cost.shape[1]):
                own_cost = cost if len(cost) == 1 else cost[chunk]
                solved = _solve_alike(
                    statement, own_cost, budgets[chunk], patterns[group], limits[chunk], gap_tol
                )
                parts.append((chunk, solved))
    return _joined(parts, len(limits))


def _spread(mass: Array, cost: Array) -> Array:
    """How much the best constant release costs above the unlimited optimum, [batch or 1].

    Differences within rounding count as none: no release can then be worth its leakage.
    """
    regret = np.einsum("zx,brzx->br", mass, cost - cost.min(axis=1, keepdims=True)).min(axis=1)
    return np.where(regret > 1e-14 * cost.max(axis=(1, 2, 3)), regret, 0.0)


def _blind_answers(
    statement: Statement, cost: Array, members: NDArray[np.intp]
) -> Answers:
    """The best constant release, where nothing that depends on the record does better."""
    n_members = len(members)
    cost = np.broadcast_to(cost, (max(len(cost), n_members), *cost.shape[1:]))
    cost = cost[:n_members] if len(cost) == n_members else cost[members]
    constant = np.einsum("zx,brzx->br", statement.mass, cost)
    channel = np.zeros((n_members, *cost.shape[1:]))
    channel[np.arange(n_members), constant.argmin(axis=1)] = 1.0
    least = np.einsum("zx,bzx->b", statement.mass, cost.min(axis=1))
    zeros = np.zeros((n_members, len(statement.keys)))
    value = constant.min(axis=1)
    return Answers(
        channel,
        value,
        np.minimum(least, value) * (1 - gamma(sum(statement.mass.shape) + 64)),
        statement.leaked_upper + zeros,
        zeros,
        np.ones(n_members, dtype=bool),
        np.zeros(n_members, dtype=np.intp),
    )


def _chunks(
    members: NDArray[np.intp], statement: Statement, n_rhat: int
) -> Sequence[NDArray[np.intp]]:
    n_z, n_x = statement.mass.shape
    each = 8 * n_rhat**2 * n_z * n_x * (2 + sum(view.size for view in statement.views))
    size = max(1, _BATCH_BYTES // each)
    return [members[start : start + size] for start in range(0, len(members), size)]


def _joined(parts: list[tuple[NDArray[np.intp], Answers]], n_batch: int) -> Answers:
    columns = []
    for name in Answers.__slots__:
        first = getattr(parts[0][1], name)
        column = np.empty((n_batch, *first.shape[1:]), dtype=first.dtype)
        for members, answers in parts:
            column[members] = getattr(answers, name)
        columns.append(column)
    return Answers(*columns)


def _solve_alike(
    statement: Statement,
    cost: Array,
    budgets: Array,
    is_exact: NDArray[np.bool_],
    limits: Array,
    gap_tol: float,
) -> Answers:
    """Solve a batch whose members have the same exact views, adding limits as they bind."""
    nats = _binding_budgets(statement, budgets, is_exact, cost.shape[1]) * _LN2
    limited = np.flatnonzero(np.isfinite(nats[:, :-1]).any(axis=0) | is_exact[:-1])
    chosen = limited if len(limited) <= 12 else limited[_is_first(statement, limited, is_exact)]
    while True:
        answers = _solve_chosen(statement, cost, nats, is_exact, chosen, gap_tol)
        over = (answers.leakage > limits + LIMIT_TOL).any(axis=0)[:-1]
        missing = np.setdiff1d(limited[over[limited]], chosen)
        if not len(missing):
            return answers
        # The worst offenders first: the others often fall into line.
        excess = (answers.leakage - limits).max(axis=0)[missing]
        chosen = np.union1d(chosen, missing[np.argsort(-excess)[:12]])


def _is_first(
    statement: Statement, limited: NDArray[np.intp], is_exact: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which of hundreds of limits to start with: the individual one and the exact ones."""
    is_individual = np.array([statement.keys[view] == () for view in limited], dtype=bool)
    return is_individual | is_exact[limited]


def _binding_budgets(
    statement: Statement, budgets: Array, is_exact: NDArray[np.bool_], n_rhat: int
) -> Array:
    """Budgets in bits, inf where no channel could exceed them: I(Rhat; X | Y) <= H(Rhat), H(X)."""
    p_x = statement.mass.sum(axis=0)
    capacity = min(np.log2(n_rhat), float(-(p_x * np.log2(p_x)).sum()))
    return np.where((budgets > capacity) & ~is_exact, inf, budgets)


def _solve_chosen(
    statement: Statement,
    cost: Array,
    nats: Array,
    is_exact: NDArray[np.bool_],
    chosen: NDArray[np.intp],
    gap_tol: float,
) -> Answers:
    reduced = reduce(statement.mass, cost, [statement.views[view] for view in chosen])
    groups = _distinct_views(reduced)
    offset = reduced.cost - reduced.cost.min(axis=1, keepdims=True)
    scale = np.einsum("zx,brzx->b", reduced.mass, offset) / offset.shape[1]  # of a blind draw
    columns = [np.append(chosen, len(statement.views))[group] for group in groups]
    task = Task(
        mass=reduced.mass,
        cost=offset / scale[:, None, None, None],
        rows=ViewRows([reduced.views[group[0]] for group in groups[:-1]], len(reduced.mass)),
        budgets=_tightest(nats, columns[:-1]),
        is_exact=np.array([is_exact[column].any() for column in columns[:-1]], dtype=bool),
        full_budget=nats[:, columns[-1]].min(axis=1),
        is_full_exact=bool(is_exact[columns[-1]].any()),
    )
    tolerance = np.broadcast_to(0.5 * gap_tol / scale, (len(nats),))
    frugality = 0.125 * tolerance / np.log(max(2, cost.shape[1]))
    outcome = _run(task, frugality, tolerance)
    representatives = [_most_exact(group, chosen, is_exact) for group in groups[:-1]]
    merged_views = [(int(chosen[index]), reduced.views[index]) for index in representatives]
    if groups[-1][:-1]:
        whole = View(letter_of_z=np.arange(len(reduced.mass)))
        merged_views.append((int(chosen[_most_exact(groups[-1][:-1], chosen, is_exact)]), whole))
    return _certified(
        statement,
        cost,
        nats,
        is_exact,
        reduced,
        columns,
        merged_views,
        task,
        outcome,
        scale,
        gap_tol,
    )


def _run(task: Task, frugality: Array, tolerance: Array) -> Outcome:
    """The interior point; views with hardly any bits left are priced instead of limited.

    Near no leakage at all the cost falls as the square root of the leakage, so the leakage falls
    as the inverse square of its price: a few corrections find the price that meets the budget.
    """
    budgets = np.concatenate([task.budgets, task.full_budget[:, None]], axis=1)
    is_exact = np.append(task.is_exact, task.is_full_exact)
    is_priced = (budgets < _PRICED_BELOW) & ~is_exact
    budgets = np.where(is_priced, budgets, 1.0)
    price = np.where(is_priced, 0.3 / np.sqrt(budgets), 0.0)
    for _ in range(_PRICE_CORRECTIONS):
        outcome = InteriorPoint(task, price, frugality, tolerance, _FRUGAL_TOL).run()
        if not is_priced.any():
            break
        _, upper = leakage_upper_nats(task, outcome.channel)
        unused = np.where(is_priced, price * (budgets - upper), 0.0)
        if ((unused >= 0) & (unused < 0.1 * tolerance[:, None])).all():
            break
        # Aim a little inside, by less than the tolerance is worth.
        margin = 0.05 * tolerance[:, None] / np.where(is_priced, price, 1.0)
        aim = np.maximum(budgets - margin, 0.5 * budgets)
        price = np.where(is_priced, price * np.clip(np.sqrt(upper / aim), 1e-3, 1e3), 0.0)
    return outcome


def _most_exact(
    group: list[int], chosen: NDArray[np.intp], is_exact: NDArray[np.bool_]
) -> int:
    """The member of a group of equal views whose limit makes the group exact, if one does."""
    return max(group, key=lambda index: bool(is_exact[chosen[index]]))


def _tightest(nats: Array, columns: list[NDArray[np.intp]]) -> Array:
    if not columns:
        return np.empty((len(nats), 0))
    return np.stack([nats[:, column].min(axis=1) for column in columns], axis=1)


def _distinct_views(reduced: Reduction) -> list[list[int]]:
    """Views that see the same after reduction, grouped; those that see all come last.

    The index ``len(reduced.views)`` stands for full collusion itself.
    """
    n_z = len(reduced.mass)
    groups: dict[bytes, list[int]] = {}
    full: list[int] = []
    for index, view in enumerate(reduced.views):
        if view.letter_of_z is not None and view.size == n_z:
            full.append(index)
            continue
        law = view.letter_of_z if view.letter_of_z is not None else view.law
        assert law is not None
        groups.setdefault(law.tobytes() + str(law.dtype).encode(), []).append(index)
    return [*groups.values(), [*full, len(reduced.views)]]


def _certified(
    statement: Statement,
    cost: Array,
    nats: Array,
    is_exact: NDArray[np.bool_],
    reduced: Reduction,
    columns: list[NDArray[np.intp]],
    merged_views: list[tuple[int, View]],
    task: Task,
    outcome: Outcome,
    scale: Array,
    gap_tol: float,
) -> Answers:
    """Undo the reductions, meet every limit to the last bit, prove the gap on the whole problem."""
    everything = _whole_task(statement, cost, nats, is_exact)
    n_batch = len(nats)
    multipliers = np.zeros_like(nats)
    for group, column in enumerate(columns):
        # A group of equal views pays through its tightest member.
        tightest = column[nats[:, column].argmin(axis=1)]
        multipliers[np.arange(n_batch), tightest] = outcome.multipliers[:, group] * scale
    row_force = _lifted_forces(statement, everything, reduced, merged_views, outcome)
    row_force = None if row_force is None else row_force * scale[:, None, None, None]
    interior = reduced.lift(outcome.channel)
    settled = reduced.lift(_settled(task, outcome.channel))
    bound, multipliers = _best_bound(
        everything, interior, multipliers, outcome.frugality * scale, row_force
    )
    snapped = np.where(reduced.lift(outcome.is_zero), 0.0, settled)
    best: tuple[Array, Array, Array] | None = None
    for candidate in (settled, snapped / snapped.sum(axis=1, keepdims=True)):
        c, value = _feasible(everything, candidate)
        if best is None:
            best = c, value, np.ones(n_batch, dtype=bool)
        else:
            # Exact zeros are worth having wherever they do not cost the asked gap.
            use = (value - bound <= gap_tol) | (value <= best[1])
            best = np.where(use[:, None, None, None], c, best[0]), np.where(use, value, best[1]), use
    assert best is not None
    c, value = best[0], best[1]
    _, upper = leakage_upper_nats(everything, c)
    return Answers(
        c,
        value,
        np.minimum(bound, value),
        statement.leaked_upper + upper / _LN2,
        multipliers * _LN2,
        value - bound <= gap_tol,
        outcome.steps,
    )


def _settled(task: Task, c: Array) -> Array:
    """Bring the exact views' constraints from Newton's accuracy to the last digits.

    Full collusion by averaging over x; partial views by proportional fitting of p(rhat | y, x) to
    p(rhat | y) and of the rows to 1, in turn.
    """
    if task.is_full_exact:
        weights = task.mass / task.mass_z[:, None]
        c = np.broadcast_to((weights * c).sum(axis=-1, keepdims=True), c.shape)
    if not task.is_exact.any():
        return c
    is_exact_row = task.is_exact[task.rows.view_of_row]
    on_rows = is_exact_row[:, None] & task.row_support
    total = np.where(task.row_support.any(axis=-1), task.row_mass.sum(axis=-1), 1.0)
    prior = task.row_mass / total[:, None]
    for _ in range(200):
        joint = task.rows.collect(task.mass * c)
        wanted = joint.sum(axis=-1, keepdims=True) * prior
        is_used = on_rows & (joint > 0)
        off = np.where(is_used, np.log(np.where(is_used, wanted, 1.0) / np.where(is_used, joint, 1.0)), 0.0)
        if np.abs(off * joint).max() < 1e-15:
            break
        c = c * np.exp(task.rows.spread(off))
        if task.is_full_exact:
            c = np.broadcast_to((weights * c).sum(axis=-1, keepdims=True), c.shape)
        c = c / c.sum(axis=1, keepdims=True)
    return c


def _whole_task(
    statement: Statement, cost: Array, nats: Array, is_exact: NDArray[np.bool_]
) -> Task:
    return Task(
        statement.mass,
        cost,
        ViewRows(statement.views, len(statement.mass)),
        nats[:, :-1],
        is_exact[:-1],
        nats[:, -1],
        bool(is_exact[-1]),
    )


def _lifted_forces(
    statement: Statement,
    everything: Task,
    reduced: Reduction,
    merged_views: list[tuple[int, View]],
    outcome: Outcome,
) -> Array | None:
    """The exact views' multipliers on the rows and records of the whole problem.

    ``merged_views`` pairs each view that was solved for with what became of it: the rows of the
    reduced problem in order, then the views that merged into full collusion.
    """
    if not everything.is_exact.any():
        return None
    rows = everything.rows
    n_batch, n_rhat = outcome.row_force.shape[:2]
    forces = np.zeros((n_batch, n_rhat, rows.n_rows, everything.mass.shape[1]))
    own = outcome.row_force
    if outcome.full_force.size:
        own = np.concatenate([own, outcome.full_force], axis=2)
    own = reduced.lift_x(own)
    start = 0
    for index, merged in merged_views:
        view = statement.views[index]
        letter = np.arange(view.size)
        if view.letter_of_z is not None and merged.letter_of_z is not None:
            letter[view.letter_of_z] = merged.letter_of_z[reduced.class_of_z]
        if everything.is_exact[index]:
            forces[:, :, rows.view_of_row == index] = own[:, :, start + letter]
        start += merged.size
    return forces


def _best_bound(
    task: Task, interior: Array, multipliers: Array, frugality: Array, row_force: Array | None
) -> tuple[Array, Array]:
    """The best certified bound from a few readings of the interior point's multipliers."""
    at = measure(task, interior)
    log_q = np.log(at.history_joint / task.mass_z)
    budgets = np.concatenate([task.budgets, task.full_budget[:, None]], axis=1)
    budgets = np.where(np.append(task.is_exact, task.is_full_exact), 0.0, budgets)
    # Whatever the channel, I(Rhat; X | Z) is at most log |Rhat|.
    at_most = np.log(interior.shape[1])
    is_free = ~np.isfinite(budgets)
    budgets = np.where(is_free, at_most, budgets)
    frugal = multipliers.copy()
    frugal[:, -1] += frugality
    size = multipliers.max(axis=1, keepdims=True)
    readings = [frugal, multipliers, np.where(multipliers > 1e-6 * size, multipliers, 0.0)]
    best = np.full(len(interior), -np.inf)
    chosen = multipliers
    for reading in readings:
        parts = (at.row_log_ratio, log_q, reading[:, :-1], reading[:, -1], row_force)
        paid = (reading * budgets).sum(axis=1)
        rounding = dual_rounding(task, *parts) + gamma(64) * (paid + np.abs(task.cost).max())
        bound = dual_value(task, *parts) - paid - rounding
        chosen = np.where((bound > best)[:, None], reading, chosen)
        best = np.maximum(best, bound)
    is_priced = ~is_free & ~np.append(task.is_exact, task.is_full_exact)
    return best, np.where(is_priced, chosen, 0.0)


def _feasible(task: Task, c: Array) -> tuple[Array, Array]:
    """Mix with the best constant release until every proven leakage is within its budget."""
    budgets = np.concatenate([task.budgets, task.full_budget[:, None]], axis=1)
    is_exact = np.append(task.is_exact, task.is_full_exact)
    budgets = np.where(is_exact, 0.5 * LIMIT_TOL * _LN2, budgets)
    is_limited = np.isfinite(budgets)
    constant = np.zeros_like(c)
    letter = np.broadcast_to(task.constant_costs.argmin(axis=1), len(c))
    constant[np.arange(len(c)), letter] = 1.0
    mixed = c
    share = np.ones(len(c))
    for _ in range(3):
        _, upper = leakage_upper_nats(task, mixed)
        share = share * feasible_share(upper, budgets, is_limited)
        if (share == 1.0).all():
            break
        share = np.where(share < 1.0, share * (1 - 1e-13), 1.0)
        mixed = constant + share[:, None, None, None] * (c - constant)
    value = (task.mass * task.cost * mixed).sum(axis=(1, 2, 3))
    # A constant release that costs no more is the better answer: it tells nothing.
    blind = np.broadcast_to(task.constant_costs.min(axis=1), len(c))
    is_blind = blind <= value
    mixed = np.where(is_blind[:, None, None, None], constant, mixed)
    return mixed, np.where(is_blind, blind, value)
