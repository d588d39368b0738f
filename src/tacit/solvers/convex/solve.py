"""The certified solver for expected distortion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.laws import gamma
from tacit.problem import Problem, ViewKey
from tacit.solution import Frugality, Solution, Status
from tacit.solvers.convex.barrier import is_small, minimise_by_barrier
from tacit.solvers.convex.caps import cap_worths
from tacit.solvers.convex.certificate import (
    best_bound,
    feasible_channel,
    leakage_upper_nats,
    settled_channel,
)
from tacit.solvers.convex.prices import minimise_by_prices
from tacit.solvers.convex.program import (
    LIMIT_TOL,
    PRICED_BELOW,
    Program,
    Statement,
    full_channel,
    raise_if_infeasible,
)
from tacit.solvers.convex.reduction import Reduction
from tacit.solvers.kernel import (
    A_SECOND,
    Outcome,
    Pace,
    deadline,
    one_thread,
    raise_if_late,
    work_done,
)

Members = NDArray[np.intp]
"""Indices of members of a batch."""

_NEXT_TO_NOTHING = 1e-3
"""Bits added for everyone below which a release that adds none is tried."""

_WASTE_TOL = 1e-4
"""Bits leaked to everyone beyond the least from which the least is sought by bisection."""

_WASTE_BISECTIONS = 10

_FRUGAL_SHARE = 3.0
"""Operations for frugality at most, as a multiple of those of the solve ..."""

_FRUGAL_WORK = A_SECOND
"""... or so many for each member where that is more."""

_FEW_CELLS = 2**12
"""Of the channel, up to which frugality costs less than that."""

_ROWS_AT_ONCE = 128
"""Where the partial views have more letters than this together, they enter as they bind."""

_VIEWS_PER_ROUND = 3

_ROUGH_TOL = 1e-4
"""Gap, relative to a blind draw, that is enough to tell which views bind."""

_COARSEST_TOL = 1e-3
"""The coarsest gap, relative to a blind draw, that is ever asked of the method."""

_BATCH_BYTES = 2**27

_MOST_WORK = 4e11
"""Operations, some ten seconds, after which no other way is tried: such ones hardly ever
close a gap that the first left open."""


class _Method(Enum):
    """How a program is solved."""

    KERNEL = "the interior point within all limits"
    BARRIER = "a barrier in coordinates that keep exact views exact"
    PRICES = "prices instead of the limits of views with hardly any bits left"

    def suits(self, program: Program) -> bool:
        """Whether it is of use for some member of a batch."""
        if self is _Method.BARRIER:
            return is_small(program) and not program.is_capped
        return self is _Method.KERNEL or bool(program.is_priced.any())


@dataclass(frozen=True, slots=True)
class _Way:
    """How a method goes about it, to which share of the asked gap; other fields as in ``Pace``."""

    frugal_tol: float
    row_stiffness: float
    rarest: float
    share: float = 1.0
    is_multiplicative: bool = False
    method: _Method = _Method.KERNEL


_WITHIN_LIMITS = (
    _Way(6e-6, 1e7, 1e-5),
    # A second opinion where matrices are small; it mostly settles the matter.
    _Way(np.inf, 1e7, 1e-5, method=_Method.BARRIER),
    # The most frugal channel may lie so close to the boundary that it cannot be repaired.
    _Way(np.inf, 1e7, 1.0, share=0.25),
    # Exact views that nearly depend on each other must be held harder, those with many letters even
    # more: some combinations of their constraints weigh a millionth of the others.
    _Way(np.inf, 1e9, 1e-5),
    _Way(np.inf, 1e11, 1e-5),
    _Way(np.inf, 1e9, 1.0, is_multiplicative=True),
)
"""Tried in turn while the gap stays open."""

_ALL_WAYS = (
    *_WITHIN_LIMITS,
    # Slow.
    _Way(6e-6, 1e7, 1e-5, method=_Method.PRICES),
    _Way(np.inf, 1e9, 1e-5, method=_Method.PRICES),
)

_ANY_OPTIMUM = (replace(_ALL_WAYS[0], frugal_tol=np.inf), *_ALL_WAYS[1:])
"""Without the second stage, which minimises the leakage to everyone."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Certified answers of a batch on the statement's letters, [batch, ...].

    Attributes:
        channel: channels, [batch, rhat, z, x].
        value: expected cost.
        bound: no channel within the limits costs less.
        added: upper bound on I(Rhat; X | Y) in bits, [batch, view + 1].
        multipliers: of the bound, per bit, [batch, view + 1].
        cap_multipliers: what one more bit of a cap is worth, at most, [batch, view + 1].
        is_closed: whether value and bound are within the asked gap.
        waste: bits by which the leakage to everyone may exceed the least, as far as was sought.
        steps: steps of the interior point.
    """

    channel: Array
    value: Array
    bound: Array
    added: Array
    multipliers: Array
    cap_multipliers: Array
    is_closed: NDArray[np.bool_]
    waste: Array
    steps: NDArray[np.intp]

    def take(self, members: Members) -> Answers:
        """Some members of the batch, in the order given."""
        return Answers(*(getattr(self, name)[members] for name in Answers.__slots__))

    def better_of(self, other: Answers, gap_tol: float) -> Answers:
        """The better release and the better bound of two runs on the same problems."""
        is_better = other.value < self.value
        is_tighter = other.bound > self.bound
        value, bound = np.minimum(self.value, other.value), np.maximum(self.bound, other.bound)
        return Answers(
            np.where(is_better[:, None, None, None], other.channel, self.channel),
            value,
            np.minimum(bound, value),
            np.where(is_better[:, None], other.added, self.added),
            np.where(is_tighter[:, None], other.multipliers, self.multipliers),
            np.where(is_tighter[:, None], other.cap_multipliers, self.cap_multipliers),
            value - bound <= gap_tol,
            np.where(is_better, other.waste, self.waste),
            np.where(is_better, other.steps, self.steps),
        )

    def frugal_of(self, other: Answers) -> Answers:
        """The frugal channels of another run where it closed the gap; else these."""
        own, others = np.flatnonzero(~other.is_closed), np.flatnonzero(other.is_closed)
        return _joined([(own, self.take(own)), (others, other.take(others))], len(self.value))


def solve_distortion(problem: Problem, gap_tol: float, *, frugal: bool) -> Solution:
    """The least expected distortion under the problem's limits, with a certificate."""
    distortion, given = problem.distortion, problem.limits
    statement = Statement.of(problem)
    limits = statement.limits(given)
    raise_if_infeasible(statement, limits)
    cost = statement.cost_of(distortion)[None]
    answers = solve_batch(statement, cost, limits[None], gap_tol, frugal=frugal)
    return _solution(problem, statement, answers, 0, frugal=frugal)


def solve_distortions(
    problems: Sequence[Problem], gap_tol: float, *, frugal: bool
) -> list[Solution | None]:
    """Problems that differ only in their limits, together; ``None`` where one is infeasible."""
    statement = Statement.of(problems[0])
    limits = np.array([statement.limits(problem.limits) for problem in problems])
    feasible = np.flatnonzero((statement.leaked - limits <= LIMIT_TOL).all(axis=1))
    solutions: list[Solution | None] = [None] * len(problems)
    if len(feasible):
        cost = statement.cost_of(problems[0].distortion)[None]
        answers = solve_batch(statement, cost, limits[feasible], gap_tol, frugal=frugal)
        for index, member in enumerate(feasible.tolist()):
            own = _solution(problems[member], statement, answers, index, frugal=frugal)
            solutions[member] = own
    return solutions


def _solution(
    problem: Problem, statement: Statement, answers: Answers, index: int, *, frugal: bool
) -> Solution:
    """One member of a batch as a public solution."""
    sought = Frugality.LEAST if answers.waste[index] <= _WASTE_TOL else Frugality.CURTAILED
    leakage = statement.leaked_upper + answers.added[index]
    return Solution(
        problem=problem,
        channel=full_channel(statement, answers.channel[index]),
        value=float(answers.value[index]),
        bound=float(answers.bound[index]),
        leakage=dict(zip(statement.keys, leakage.tolist(), strict=True)),
        multipliers=dict(zip(statement.keys, answers.multipliers[index].tolist(), strict=True)),
        cap_multipliers=worth_of_caps(statement, answers.cap_multipliers[index]),
        status=Status.OPTIMAL if answers.is_closed[index] else Status.INACCURATE,
        steps=int(answers.steps[index]),
        frugality=sought if frugal else Frugality.NONE,
    )


def worth_of_caps(statement: Statement, worths: Array) -> dict[ViewKey, float]:
    """Capped view -> what one more bit of its cap is worth, at most.

    inf where the cap is reached everywhere: such views are held exact, and have no multipliers.
    """
    if not statement.problem.caps:
        return {}
    at_most = np.where(statement.is_spent_by_caps, inf, worths)
    of_view = zip(statement.keys, at_most.tolist(), strict=True)
    return {key: worth for key, worth in of_view if key in statement.problem.caps}


def solve_batch(
    statement: Statement, cost: Array, limits: Array, gap_tol: float, *, frugal: bool = True
) -> Answers:
    """Solve for many limits or many costs over one joint.

    Args:
        statement: the joint and its views.
        cost: [batch or 1, rhat, z, x].
        limits: bits, [batch, view + 1]; feasible.
        gap_tol: asked gap, in units of the cost.
        frugal: whether to find the least leakage to everyone among the optimal channels.
    """
    with one_thread():
        if not frugal:
            return _solve_within(statement, cost, limits, gap_tol, _ANY_OPTIMUM)
        is_larger = _is_larger_where_frugal(statement, cost, limits)
        began, ways = work_done(), _ANY_OPTIMUM if is_larger else _ALL_WAYS
        answers = _solve_within(statement, cost, limits, gap_tol, ways)
        # In steps and never in seconds: the same problem has the same answer on every machine.
        budget = max(_FRUGAL_SHARE * (work_done() - began), _FRUGAL_WORK * len(limits))
        try:
            with deadline(work=budget):
                if is_larger:
                    answers.waste[:] = inf
                    again = _solve_within(statement, cost, limits, gap_tol, _WITHIN_LIMITS)
                    answers = answers.frugal_of(again)
                _spare(statement, cost, limits, answers, gap_tol)
        except TimeoutError:
            raise_if_late()  # what ended was the caller's, not the budget
    return answers


# -- frugality -------------------------------------------------------------------------------------


def _is_larger_where_frugal(statement: Statement, cost: Array, limits: Array) -> bool:
    """Whether everyone's leakage tells many histories apart that nothing else does.

    Then any optimum is found with far less work than a frugal one.
    """
    if cost.shape[1] * statement.mass.size <= _FEW_CELLS or np.isfinite(limits[:, -1]).any():
        return False
    whole = statement.program(cost, limits)
    if whole.is_view_capped[-1] or whole.is_exact[-1]:
        return False
    reduction = Reduction.of(whole, np.arange(whole.rows.n_views), is_everyone_free=True)
    return 2 * reduction.program.mass.size <= whole.mass.size


def _spare(
    statement: Statement, cost: Array, limits: Array, answers: Answers, gap_tol: float
) -> None:
    """Lower the leakage to everyone where the interior point stopped above the least.

    Where an answer tells next to nothing, one that tells exactly nothing may be as good within
    ``gap_tol`` ([M] facts 4 and 5). Where the least was not found, the limit on everyone is
    lowered by bisection until the value would suffer: the same problem, well conditioned.
    """
    leaked, added = statement.leaked[-1], answers.added[:, -1].copy()
    has_room = limits[:, -1] > statement.leaked_upper[-1] + added + 1e-9
    is_slack = answers.is_closed & has_room & (added > 0)
    answers.waste[~is_slack] = np.where(answers.is_closed, 0.0, inf)[~is_slack]
    if not is_slack.any():
        return
    nearly = np.flatnonzero(is_slack & (added < _NEXT_TO_NOTHING))
    is_blind = _try_limit(
        statement, cost, limits, answers, nearly, np.full(len(nearly), leaked), gap_tol
    )
    answers.waste[nearly[is_blind]] = 0.0
    # Where prices may be needed each time, frugality is not worth ten more searches.
    is_priced_too = (statement.budgets(limits) * LN2 < PRICED_BELOW) & ~statement.is_spent(limits)
    is_wasteful = is_slack & (added >= _NEXT_TO_NOTHING) & (answers.waste > _WASTE_TOL)
    wasteful = np.flatnonzero(is_wasteful & ~is_priced_too.any(axis=1))
    low = np.full(len(wasteful), leaked)
    high = statement.leaked_upper[-1] + added[wasteful]
    for _ in range(_WASTE_BISECTIONS if len(wasteful) else 0):
        middle = 0.5 * (low + high)
        is_kept = _try_limit(statement, cost, limits, answers, wasteful, middle, gap_tol)
        low, high = np.where(is_kept, low, middle), np.where(is_kept, middle, high)
        answers.waste[wasteful] = np.minimum(answers.waste[wasteful], high - low)


def _try_limit(
    statement: Statement,
    cost: Array,
    limits: Array,
    answers: Answers,
    members: Members,
    everyone: Array,
    gap_tol: float,
) -> NDArray[np.bool_]:
    """Solve members under lower limits on everyone; keep what is as good within ``gap_tol``.

    Without prices: frugality is not worth a search for them.
    """
    if not len(members):
        return np.zeros(0, dtype=bool)
    lower = limits[members].copy()
    lower[:, -1] = everyone
    own_cost = cost if len(cost) == 1 else cost[members]
    tried = _solve_within(statement, own_cost, lower, gap_tol, _WITHIN_LIMITS)
    is_as_good = tried.value - answers.bound[members] <= gap_tol
    for name in ("channel", "value", "added"):
        getattr(answers, name)[members[is_as_good]] = getattr(tried, name)[is_as_good]
    return np.asarray(is_as_good)


# -- batches ---------------------------------------------------------------------------------------


def _solve_within(
    statement: Statement, cost: Array, limits: Array, gap_tol: float, ways: Sequence[_Way]
) -> Answers:
    """Solve a batch, as frugally as the interior point gets: alike members together."""
    is_blind = np.broadcast_to(_blind_regret(statement.mass, cost) <= 0, len(limits))
    patterns, group_of = np.unique(statement.is_spent(limits), axis=0, return_inverse=True)
    group_of = np.where(is_blind, -1, group_of.reshape(-1))
    parts: list[tuple[Members, Answers]] = []
    if is_blind.any():
        blind = np.flatnonzero(is_blind)
        parts.append((blind, _blind_answers(statement, cost, blind, gap_tol)))
    for group in range(len(patterns)):
        for chunk in _chunks(np.flatnonzero(group_of == group), statement, cost.shape[1]):
            whole = statement.program(cost if len(cost) == 1 else cost[chunk], limits[chunk])
            forgone = statement.forgone(limits[chunk]) * LN2
            parts.append((chunk, _solve_alike(whole, forgone, gap_tol, ways)))
    return _joined(parts, len(limits))


def _blind_regret(mass: Array, cost: Array) -> Array:
    """How much the best constant release costs above the unlimited optimum, [batch or 1].

    Differences within rounding count as none: no release can then be worth its leakage.
    """
    constant = np.einsum("zx,brzx->br", mass, cost).min(axis=1)
    regret = np.einsum("zx,brzx->br", mass, cost - cost.min(axis=1, keepdims=True)).min(axis=1)
    return np.where(regret > 1e-14 * np.abs(constant), regret, 0.0)


def _blind_answers(statement: Statement, cost: Array, members: Members, gap_tol: float) -> Answers:
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
    nothing = np.zeros((n_members, len(statement.keys)))
    return Answers(
        channel,
        value,
        bound,
        nothing,
        nothing,
        nothing,
        value - bound <= gap_tol,
        np.zeros(n_members),
        np.zeros(n_members, dtype=np.intp),
    )


def _chunks(members: Members, statement: Statement, n_rhat: int) -> list[Members]:
    """Members in parts that fit into ``_BATCH_BYTES``."""
    each = 8 * n_rhat * statement.mass.size * (8 + statement.rows.n_rows)
    size = max(1, _BATCH_BYTES // each)
    return [members[start : start + size] for start in range(0, len(members), size)]


def _joined(parts: list[tuple[Members, Answers]], n_batch: int) -> Answers:
    columns = []
    for name in Answers.__slots__:
        first = getattr(parts[0][1], name)
        column = np.empty((n_batch, *first.shape[1:]), dtype=first.dtype)
        for members, answers in parts:
            column[members] = getattr(answers, name)
        columns.append(column)
    return Answers(*columns)


# -- one program -----------------------------------------------------------------------------------


def _solve_alike(whole: Program, forgone: Array, gap_tol: float, ways: Sequence[_Way]) -> Answers:
    """Solve a batch whose members have the same exact views.

    ``forgone`` are the nats that views may have been allowed beyond their budgets.
    """
    reduction, tolerance, outcome = _solve_binding(whole, gap_tol, ways[0])
    answers = _certify(whole, reduction, outcome, forgone, gap_tol)
    if answers.is_closed.all():
        return answers
    work = outcome.work.sum()
    for way in _different(ways, whole)[1:]:
        left, closed = np.flatnonzero(~answers.is_closed), np.flatnonzero(answers.is_closed)
        if not len(left) or work > _MOST_WORK * len(forgone):
            break
        own = reduction.members(left)
        if not way.method.suits(own.program):
            continue
        outcome = _minimise(own.program, way.share * tolerance[left], way)
        work += outcome.work.sum()
        again = _certify(whole.members(left), own, outcome, forgone[left], gap_tol)
        # All runs give valid bounds; keep the best of each.
        better = answers.take(left).better_of(again, gap_tol)
        answers = _joined([(closed, answers.take(closed)), (left, better)], len(forgone))
    return answers


def _different(ways: Sequence[_Way], program: Program) -> list[_Way]:
    """The ways that differ for a program: stiffness and rarity count beside exact views only."""
    if program.is_exact.any():
        return list(ways)
    first = ways[0]
    alike = (replace(way, row_stiffness=first.row_stiffness, rarest=first.rarest) for way in ways)
    return list(dict.fromkeys(alike))


def _solve_binding(whole: Program, gap_tol: float, way: _Way) -> tuple[Reduction, Array, Outcome]:
    """Solve with the limits that bind: all of them where they are few, else added as they do.

    Returns the problem that was solved, to which gap it was, and what came out.
    """
    is_limited = np.isfinite(whole.budgets).any(axis=0) | whole.is_exact
    if whole.is_capped:
        is_limited |= whole.is_view_capped
    limited = np.flatnonzero(is_limited[:-1])
    chosen, sizes = limited, np.array(whole.rows.sizes)
    if sizes[limited].sum() > _ROWS_AT_ONCE:
        is_kept = whole.is_exact[limited] | whole.is_view_capped[limited]
        chosen = limited[(sizes[limited] == 1) | is_kept]
    is_rough = len(chosen) < len(limited)
    is_everyone_free = way.frugal_tol == inf and not is_limited[-1]
    # The rest is for undoing and repairing; exact views take more of it.
    share = 0.2 if whole.is_exact.any() else 0.8
    while True:
        reduction = Reduction.of(whole, chosen, is_everyone_free=is_everyone_free)
        tolerance = np.minimum(share * gap_tol / reduction.scale, _COARSEST_TOL)
        tolerance = np.maximum(tolerance, _ROUGH_TOL * is_rough)
        tolerance = np.broadcast_to(tolerance, len(whole.budgets))
        outcome = _minimise(reduction.program, tolerance, way)
        missing = np.setdiff1d(limited, chosen)
        worst = _worst_excess(whole, reduction, outcome, missing)
        if len(worst):
            chosen = np.union1d(chosen, worst)
            is_rough = len(chosen) < len(limited)
        elif is_rough:
            is_rough = False
        else:
            return reduction, tolerance, outcome


def _worst_excess(
    whole: Program, reduction: Reduction, outcome: Outcome, missing: Members
) -> Members:
    """The views left out whose limits are exceeded most: the others' excess often goes with it."""
    if not len(missing):
        return missing
    channel = reduction.lift(settled_channel(reduction.program, outcome.channel))
    excess = (leakage_upper_nats(whole, channel)[1] - whole.budgets).max(axis=0)[missing]
    worst = np.argsort(-excess)[:_VIEWS_PER_ROUND]
    return np.asarray(missing[worst[excess[worst] > 0]])


def _minimise(program: Program, tolerance: Array, way: _Way) -> Outcome:
    """Solve a batch to a gap of ``tolerance``, [batch], in units of the program's cost."""
    outcomes = []
    for index in range(len(program.budgets)):
        # A weight that costs at most an eighth of the tolerance: I(Rhat; X | Z) <= log |Rhat|.
        frugality = 0.125 * tolerance[index] / np.log(max(2, program.n_rhat))
        pace = Pace(
            tolerance[index],
            way.frugal_tol,
            frugality,
            way.row_stiffness,
            way.rarest,
            way.is_multiplicative,
        )
        own = program.members(np.array([index]))
        if way.method is _Method.BARRIER:
            outcomes.append(minimise_by_barrier(own, pace))
        elif way.method is _Method.PRICES and own.is_priced.any():
            outcomes.append(minimise_by_prices(own, pace))
        else:
            outcomes.append(own.minimise(np.zeros(len(own.is_exact)), pace))
    return Outcome.joined(outcomes)


_DIES_OUT = 1e-4
"""Letters that are told less often after a history are 0 there for all records, or for none."""


def _zeros(c: Array, is_zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Entries of channels, [batch, rhat, z, x], that may be exactly 0.

    Were a letter that dies out 0 for some records alone, the few that get it would learn that they
    are not these, for a gain that rounding decides. In a cell without mass, all letters could be.
    """
    is_rare = c.max(axis=-1, keepdims=True) < _DIES_OUT
    zeros = np.where(is_rare, is_zero.any(axis=-1, keepdims=True), is_zero)
    return zeros & ~zeros.all(axis=1, keepdims=True)


def _certify(
    whole: Program, reduction: Reduction, outcome: Outcome, forgone: Array, gap_tol: float
) -> Answers:
    """Meet every limit to the last bit and prove the gap on the whole program."""
    bound, multipliers = best_bound(whole, reduction, outcome, forgone)
    settled = settled_channel(reduction.program, outcome.channel)
    settled = settled / settled.sum(axis=1, keepdims=True)
    snapped = np.where(_zeros(settled, outcome.is_zero), 0.0, settled)
    snapped = snapped / snapped.sum(axis=1, keepdims=True)
    c, value, upper = feasible_channel(whole, reduction.lift(snapped))
    # Exact zeros are worth having wherever they do not cost the asked gap.
    if not (value - bound <= gap_tol).all():
        plain, plain_value, plain_upper = feasible_channel(whole, reduction.lift(settled))
        is_plain = ~((value - bound <= gap_tol) | (value <= plain_value))
        c = np.where(is_plain[:, None, None, None], plain, c)
        value = np.where(is_plain, plain_value, value)
        upper = np.where(is_plain[:, None], plain_upper, upper)
    worths: Array | float = 0.0
    if whole.is_capped:
        worths = cap_worths(whole, *reduction.lift_caps(outcome, whole))
    # A limit that is far from reached, and worth no more than the gap, does not bind.
    left = np.where(np.isfinite(whole.budgets), whole.budgets - upper, 0.0)
    is_slack = (left > 0.1 * whole.budgets) & (multipliers * left <= gap_tol)
    return Answers(
        c,
        value,
        np.minimum(bound, value),
        upper / LN2,
        np.where(is_slack, 0.0, multipliers) * LN2,
        np.broadcast_to(worths, multipliers.shape),
        value - bound <= gap_tol,
        outcome.waste / LN2,
        outcome.steps,
    )
