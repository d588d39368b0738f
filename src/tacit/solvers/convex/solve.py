"""The certified solver for expected distortion."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.rounding import gamma
from tacit.problem import Problem
from tacit.solution import Solution, Status
from tacit.solvers.convex.certificate import leakage_upper_nats
from tacit.solvers.convex.interior_point import Outcome
from tacit.solvers.convex.prices import PRICED_BELOW, is_priced, solve_task
from tacit.solvers.convex.program import (
    LIMIT_TOL,
    Statement,
    Task,
    full_channel,
    raise_if_infeasible,
)
from tacit.solvers.convex.reduction import ReducedTask
from tacit.solvers.convex.repair import (
    Answers,
    certified,
    settled_channel,
    whole_task,
)
from tacit.solvers.threads import one_thread

_NEXT_TO_NOTHING = 1e-3
"""Bits added for everyone below which a release that adds none is tried."""

_WASTE_TOL = 1e-3
"""Bits leaked to everyone beyond the least from which the least is sought by bisection."""

_WASTE_BISECTIONS = 10

_ROWS_AT_ONCE = 48
"""Where the partial views have more letters than this together, they enter as they bind."""

_VIEWS_PER_ROUND = 3

_ROUGH_TOL = 1e-4
"""Gap, relative to a blind draw, that is enough to tell which views bind."""

_COARSEST_TOL = 1e-3
"""The coarsest gap, relative to a blind draw, that is ever asked of the method."""

_BATCH_BYTES = 2**27


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
        for index, member in enumerate(feasible.tolist()):
            solutions[member] = solution_of(problems[member], statement, answers, index)
    return solutions


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


def solve_batch(statement: Statement, cost: Array, limits: Array, gap_tol: float) -> Answers:
    """Solve for many limits or many costs over one joint.

    Args:
        statement: the joint and its views.
        cost: [batch or 1, rhat, z, x].
        limits: bits, [batch, view + 1]; feasible.
        gap_tol: asked gap, in units of the cost.
    """
    answers = _solve_within(statement, cost, limits, gap_tol)
    _spare(statement, cost, limits, answers, gap_tol)
    return answers


def _solve_within(statement: Statement, cost: Array, limits: Array, gap_tol: float) -> Answers:
    """Solve a batch, frugally as far as the interior point gets."""
    budgets = statement.budgets(limits)
    is_exact = statement.is_spent(limits)
    is_blind = np.broadcast_to(_spread(statement.mass, cost) <= 0, len(limits))
    patterns, group_of = np.unique(is_exact, axis=0, return_inverse=True)
    group_of = np.where(is_blind, -1, group_of.reshape(-1))
    parts: list[tuple[NDArray[np.intp], Answers]] = []
    if is_blind.any():
        blind = np.flatnonzero(is_blind)
        parts.append((blind, _blind_answers(statement, cost, blind, gap_tol)))
    with one_thread():
        for group in range(len(patterns)):
            members = np.flatnonzero(group_of == group)
            for chunk in _chunks(members, statement, cost.shape[1]):
                own_cost = cost if len(cost) == 1 else cost[chunk]
                solved = _solve_alike(
                    statement, own_cost, limits[chunk], budgets[chunk], patterns[group], gap_tol
                )
                parts.append((chunk, solved))
    return _joined(parts, len(limits))


def _spare(
    statement: Statement, cost: Array, limits: Array, answers: Answers, gap_tol: float
) -> None:
    """Lower the leakage to everyone where the interior point stopped short of the least.

    Where an answer tells next to nothing, one that tells exactly nothing may be as good within
    ``gap_tol`` ([M] facts 4 and 5). Where the least was not found, the limit on everyone is
    lowered by bisection until the value would suffer: the same problem, well conditioned.
    """
    leaked = statement.leaked[-1]
    added = answers.leakage[:, -1] - statement.leaked_upper[-1]
    is_slack = answers.is_closed & (limits[:, -1] > answers.leakage[:, -1] + 1e-9) & (added > 0)
    nearly = np.flatnonzero(is_slack & (added < _NEXT_TO_NOTHING))
    _try_limit(statement, cost, limits, answers, nearly, np.full(len(nearly), leaked), gap_tol)
    # Where prices must be found each time, frugality is not worth ten more searches.
    is_priced_too = (statement.budgets(limits) * LN2 < PRICED_BELOW) & ~statement.is_spent(limits)
    is_wasteful = is_slack & (added >= _NEXT_TO_NOTHING) & (answers.waste > _WASTE_TOL)
    wasteful = np.flatnonzero(is_wasteful & ~is_priced_too.any(axis=1))
    low, high = np.full(len(wasteful), leaked), answers.leakage[wasteful, -1]
    for _ in range(_WASTE_BISECTIONS if len(wasteful) else 0):
        middle = 0.5 * (low + high)
        is_kept = _try_limit(statement, cost, limits, answers, wasteful, middle, gap_tol)
        low, high = np.where(is_kept, low, middle), np.where(is_kept, middle, high)


def _try_limit(
    statement: Statement,
    cost: Array,
    limits: Array,
    answers: Answers,
    members: NDArray[np.intp],
    everyone: Array,
    gap_tol: float,
) -> NDArray[np.bool_]:
    """Solve members under lower limits on everyone; keep what is as good within ``gap_tol``."""
    if not len(members):
        return np.zeros(0, dtype=bool)
    lower = limits[members].copy()
    lower[:, -1] = everyone
    own_cost = cost if len(cost) == 1 else cost[members]
    tried = _solve_within(statement, own_cost, lower, gap_tol)
    is_as_good = tried.value - answers.bound[members] <= gap_tol
    for name in ("channel", "value", "leakage"):
        getattr(answers, name)[members[is_as_good]] = getattr(tried, name)[is_as_good]
    return np.asarray(is_as_good)


def _spread(mass: Array, cost: Array) -> Array:
    """How much the best constant release costs above the unlimited optimum, [batch or 1].

    Differences within rounding count as none: no release can then be worth its leakage.
    """
    constant = np.einsum("zx,brzx->br", mass, cost).min(axis=1)
    regret = np.einsum("zx,brzx->br", mass, cost - cost.min(axis=1, keepdims=True)).min(axis=1)
    return np.where(regret > 1e-14 * np.abs(constant), regret, 0.0)


def _blind_answers(
    statement: Statement, cost: Array, members: NDArray[np.intp], gap_tol: float
) -> Answers:
    """The best constant release, where nothing that depends on the record does better."""
    n_members = len(members)
    own = np.broadcast_to(cost, (n_members, *cost.shape[1:])) if len(cost) == 1 else cost[members]
    constant = np.einsum("zx,brzx->br", statement.mass, own)
    channel = np.zeros((n_members, *cost.shape[1:]))
    channel[np.arange(n_members), constant.argmin(axis=1)] = 1.0
    least = np.einsum("zx,bzx->b", statement.mass, own.min(axis=1))
    value = constant.min(axis=1)
    bound = np.minimum(least, value)
    bound = bound - gamma(sum(statement.mass.shape) + 64) * np.abs(bound)
    zeros = np.zeros((n_members, len(statement.keys)))
    return Answers(
        channel,
        value,
        bound,
        statement.leaked_upper + zeros,
        zeros,
        value - bound <= gap_tol,
        np.zeros(n_members),
        np.zeros(n_members, dtype=np.intp),
    )


def _chunks(
    members: NDArray[np.intp], statement: Statement, n_rhat: int
) -> Sequence[NDArray[np.intp]]:
    n_z, n_x = statement.mass.shape
    each = 8 * n_rhat * n_z * n_x * (8 + sum(view.size for view in statement.views))
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
    limits: Array,
    budgets: Array,
    is_exact: NDArray[np.bool_],
    gap_tol: float,
) -> Answers:
    """Solve a batch whose members have the same exact views."""
    nats = _binding_budgets(statement, budgets, is_exact, cost.shape[1]) * LN2
    whole = whole_task(statement, cost, nats, is_exact)
    forgone = statement.forgone(limits) * LN2
    reduced, tolerance, outcome = _solve_binding(statement, whole, nats, is_exact, gap_tol)
    answers = certified(whole, reduced, outcome, nats, forgone, gap_tol)
    if not answers.is_closed.all() and (is_exact.any() or is_priced(reduced.task).any()):
        # What either try proves, holds.
        again = solve_task(reduced.task, tolerance, is_second_try=True)
        answers = answers.joined_with(
            certified(whole, reduced, again, nats, forgone, gap_tol), gap_tol
        )
    return answers


def _solve_binding(
    statement: Statement, whole: Task, nats: Array, is_exact: NDArray[np.bool_], gap_tol: float
) -> tuple[ReducedTask, Array, Outcome]:
    """Solve with the limits that bind: all of them where they are few, else added as they do.

    Returns the problem that was solved, to which gap it was, and what came out.
    """
    limited = np.flatnonzero(np.isfinite(nats[:, :-1]).any(axis=0) | is_exact[:-1])
    chosen = limited
    if sum(statement.views[view].size for view in limited) > _ROWS_AT_ONCE:
        is_individual = np.array([statement.keys[view] == () for view in limited])
        chosen = limited[is_individual | is_exact[limited]]
    is_rough = len(chosen) < len(limited)
    # Half for the method, half for undoing and repairing; exact views take more repair.
    share = 0.2 if is_exact.any() else 0.5
    while True:
        reduced = ReducedTask.of(statement, whole.cost, nats, is_exact, chosen)
        tolerance = np.minimum(share * gap_tol / reduced.scale, _COARSEST_TOL)
        tolerance = np.maximum(tolerance, _ROUGH_TOL * is_rough)
        tolerance = np.broadcast_to(tolerance, len(nats))
        outcome = solve_task(reduced.task, tolerance)
        missing = np.setdiff1d(limited, chosen)
        channel = reduced.reduction.lift(settled_channel(reduced.task, outcome.channel))
        excess = (leakage_upper_nats(whole, channel)[1] - nats).max(axis=0)[missing]
        if (excess > 0).any():
            # The worst offenders first: the others often fall into line.
            worst = np.argsort(-excess)[:_VIEWS_PER_ROUND]
            chosen = np.union1d(chosen, missing[worst[excess[worst] > 0]])
        elif is_rough:
            is_rough = False
        else:
            return reduced, tolerance, outcome


def _binding_budgets(
    statement: Statement, budgets: Array, is_exact: NDArray[np.bool_], n_rhat: int
) -> Array:
    """Budgets in bits, inf where no channel could exceed them: I(Rhat; X | Y) <= H(Rhat), H(X)."""
    p_x = statement.mass.sum(axis=0)
    capacity = min(np.log2(n_rhat), float(-(p_x * np.log2(p_x)).sum()))
    return np.where((budgets > capacity) & ~is_exact, inf, budgets)
