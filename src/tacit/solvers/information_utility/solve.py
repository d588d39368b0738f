"""The solver for I(Rhat; R): local ascent from many starts, a global bound, time-sharing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array
from tacit.problem import Problem
from tacit.solution import GAP_TOL, Solution, Status, TimeSharing
from tacit.solvers.convex.certificate import make_feasible
from tacit.solvers.convex.program import Statement, full_channel, raise_if_infeasible
from tacit.solvers.convex.reduction import Reduction
from tacit.solvers.information_utility.ascent import (
    Ascent,
    ascend,
    information_bits,
    joint_rhat_r,
)
from tacit.solvers.information_utility.global_bound import CellBound, bound_by_cells, entropy_bits
from tacit.solvers.information_utility.mixtures import (
    best_mixture,
    disclosed_channel,
    undisclosed_channel,
)

_STARTS = 12
_SURVIVORS = 4
_ROUNDS = 80
_TARGET = 1e-4
"""Bits by which more letters, more cells or another kind of mixture must be able to help."""

_MOST_LETTERS = 24

_SYSTEM_SIZE = 400
"""Letters times the smaller alphabet: how large the relaxation over cells may become."""

_POOL_SCALES = (0.3, 0.6, 1.0, 1.6, 2.5)


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A feasible channel [rhat, z, x] and what it is worth."""

    channel: Array
    value: float
    multipliers: Array
    time_sharing: TimeSharing
    weights: tuple[float, ...]
    steps: int


def solve_information(problem: Problem, gap_tol: float) -> Solution:
    """The most I(Rhat; R) found under the limits, and where possible a proof of how good it is."""
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    raise_if_infeasible(statement, limits)
    search = _Search(statement, limits, max(gap_tol, GAP_TOL))
    cells = search.bound()
    best = search.best_ascent(cells)
    if cells is None or cells.bound - best.value > _TARGET:
        best = search.better_of(best, search.mixtures(best))
    return _solution(statement, limits, best, cells, gap_tol)


class _Search:
    def __init__(self, statement: Statement, limits: Array, gap_tol: float) -> None:
        self.statement, self.limits, self.gap_tol = statement, limits, gap_tol
        self.n_r = statement.problem.joint.shape[-1]
        self.n_z, self.n_x = self._reduced_shape()
        self.random = np.random.default_rng(0)

    def bound(self) -> CellBound | None:
        """The global bound, where the relaxation is small enough to be worth its time."""
        n_rows = self.statement.rows.n_rows
        unknowns = min(self.n_x * n_rows, self.n_z + n_rows)
        max_cells = min(100, _SYSTEM_SIZE // max(1, unknowns))
        if max_cells < 4 * self.n_r:
            return None
        return bound_by_cells(
            self.statement,
            self.limits,
            gap_tol=1e-6,
            target=0.5 * _TARGET,
            max_cells=max_cells,
        )

    def _reduced_shape(self) -> tuple[int, int]:
        cost = self.statement.cost_of(np.eye(self.n_r))[None]
        program = self.statement.program(cost, self.limits[None])
        reduced = Reduction.of(program, np.arange(program.rows.n_views)).program
        return reduced.mass.shape[0], reduced.mass.shape[1]

    def best_ascent(self, cells: CellBound | None) -> _Candidate:
        """Ascend with the asked number of letters, or with more and more while that helps."""
        asked = self.statement.problem.rhat_size
        if asked is not None:
            return self._ascent(asked, cells)
        best = self._ascent(self.n_r, cells)
        n_idle = 0
        # Carathéodory: the law of (z, x), the utility and each leakage can be kept with this many.
        enough = min(self.n_z * self.n_x + len(self.limits), _MOST_LETTERS)
        for n_letters in range(self.n_r + 1, enough + 1):
            if n_idle == 2 or (cells is not None and cells.bound - best.value <= _TARGET):
                break
            more = self._ascent(n_letters, cells)
            n_idle = 0 if more.value > best.value + 0.1 * _TARGET else n_idle + 1
            best = more if more.value > best.value else best
        return best

    def _ascent(self, n_letters: int, cells: CellBound | None) -> _Candidate:
        starts = self.random.dirichlet(np.full(self.n_r, 0.7), size=(_STARTS, n_letters))
        if cells is not None:
            starts[0] = _fewer_letters(cells.posterior, n_letters, starts[0])
        limits = np.tile(self.limits, (len(starts), 1))
        first = ascend(self.statement, starts, limits, gap_tol=self.gap_tol, max_rounds=4)
        kept = first.posterior[:_SURVIVORS]
        final = ascend(
            self.statement,
            kept,
            limits[: len(kept)],
            gap_tol=self.gap_tol,
            max_rounds=_ROUNDS,
        )
        return _candidate(final, TimeSharing.NONE)

    def mixtures(self, best: _Candidate) -> list[_Candidate]:
        """Time-sharing over channels designed for other limits, disclosed and undisclosed."""
        pool = self._pool(best)
        budgets = self.statement.budgets(self.limits)
        mixture = best_mixture(pool.value, pool.answers.added, budgets)
        if mixture is None or len(mixture.members) < 2:
            return []
        channels = pool.answers.channel[mixture.members]
        disclosed = disclosed_channel(channels, mixture.weights)
        weights = tuple(mixture.weights.tolist())
        undisclosed = undisclosed_channel(channels, mixture.weights)
        return [
            self._mixed(disclosed, mixture.multipliers, TimeSharing.DISCLOSED, weights),
            self._mixed(undisclosed, mixture.multipliers, TimeSharing.UNDISCLOSED, weights),
        ]

    def better_of(self, single: _Candidate, mixtures: list[_Candidate]) -> _Candidate:
        """The best mixture, if it beats the single channel by enough to be worth its letters."""
        best = max(mixtures, key=lambda mixture: mixture.value, default=single)
        return best if best.value > single.value + 0.1 * _TARGET else single

    def _pool(self, best: _Candidate) -> Ascent:
        budgets = self.statement.budgets(self.limits)
        joint = joint_rhat_r(self.statement, best.channel[None])[0]
        own = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        own = np.where(joint.sum(axis=1, keepdims=True) > 1e-12, own, 1.0 / self.n_r)
        limits, starts = [], []
        for partial in _POOL_SCALES:
            for full in _POOL_SCALES:
                scaled = np.append(partial * budgets[:-1], full * budgets[-1])
                limits.append(self.statement.leaked_upper + scaled)
                starts.append(0.9 * own + 0.1 * self.random.dirichlet(np.ones(self.n_r), len(own)))
        return ascend(
            self.statement,
            np.array(starts),
            np.array(limits),
            gap_tol=10 * self.gap_tol,
            max_rounds=_ROUNDS // 4,
        )

    def _mixed(
        self,
        channel: Array,
        multipliers: Array,
        kind: TimeSharing,
        weights: tuple[float, ...],
    ) -> _Candidate:
        feasible, _ = make_feasible(self.statement, channel[None], self.limits[None])
        value = float(information_bits(joint_rhat_r(self.statement, feasible))[0])
        return _Candidate(feasible[0], value, multipliers, kind, weights, 0)


def _candidate(ascent: Ascent, kind: TimeSharing) -> _Candidate:
    return _Candidate(
        ascent.answers.channel[0],
        float(ascent.value[0]),
        ascent.answers.multipliers[0],
        kind,
        (1.0,),
        ascent.rounds,
    )


def _fewer_letters(posterior: Array, n_letters: int, spare: Array) -> Array:
    """Merge the closest posteriors (by Jensen-Shannon divergence) until ``n_letters`` are left."""
    laws = list(posterior)
    while len(laws) > n_letters:
        stack = np.array(laws)
        height = entropy_bits(stack)
        middle = entropy_bits(0.5 * (stack[:, None] + stack))
        distance = middle - 0.5 * (height[:, None] + height)
        np.fill_diagonal(distance, np.inf)
        first, second = np.unravel_index(distance.argmin(), distance.shape)
        merged = 0.5 * (stack[first] + stack[second])
        laws = [law for index, law in enumerate(laws) if index not in (first, second)]
        laws.append(merged)
    return np.array([*laws, *spare[len(laws) :]])


def _solution(
    statement: Statement,
    limits: Array,
    best: _Candidate,
    cells: CellBound | None,
    gap_tol: float,
) -> Solution:
    channel, leakage = make_feasible(statement, best.channel[None], limits[None])
    value = float(information_bits(joint_rhat_r(statement, channel))[0])
    bound = None if cells is None else max(cells.bound, value)
    is_closed = bound is not None and bound - value <= gap_tol
    return Solution(
        problem=statement.problem,
        channel=full_channel(statement, channel[0]),
        value=value,
        bound=bound,
        leakage=dict(zip(statement.keys, leakage[0].tolist(), strict=True)),
        multipliers=dict(zip(statement.keys, best.multipliers.tolist(), strict=True)),
        status=Status.OPTIMAL if is_closed else Status.STATIONARY,
        steps=best.steps,
        time_sharing=best.time_sharing,
        weights=best.weights,
    )
