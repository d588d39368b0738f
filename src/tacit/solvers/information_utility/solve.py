"""The solver for I(Rhat; R): ascent, a global bound that names better letters, time-sharing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np

from tacit.arrays import Array
from tacit.problem import Problem
from tacit.solution import GAP_TOL, Solution, Status, TimeSharing
from tacit.solvers.convex.certificate import make_feasible
from tacit.solvers.convex.program import Statement, full_channel, raise_if_infeasible
from tacit.solvers.information_utility.ascent import (
    Ascent,
    ascend,
    information_bits,
    joint_rhat_r,
    posteriors,
)
from tacit.solvers.information_utility.global_bound import Bound, refine_bound
from tacit.solvers.information_utility.letters import (
    fewer_letters,
    merge_alike,
    merge_rows,
    new_letters,
)
from tacit.solvers.information_utility.mixtures import (
    best_mixture,
    disclosed_channel,
    undisclosed_channel,
)
from tacit.solvers.information_utility.plain_bound import plain_bound
from tacit.solvers.kernel import one_thread

Progress = Callable[[float, float, float], None]
"""Called with the best value and bound so far, in bits, and the seconds since the start."""

_STARTS, _FIRST_ROUNDS = 6, 4

_FIXED_STARTS, _SURVIVORS = 12, 4
"""The same where the number of letters is given: then local optima matter more."""

_ROUNDS = 80
_TARGET = 5e-5
"""Bits by which better letters, finer cells or another kind of mixture must be able to help."""

_TARGET_SHARE = 0.01
"""The same as a share of the bound, where that is less."""

_GAIN_SHARE = 5e-4
"""Of the gap: an ascent ends at a round that closes less of it."""

_HELP_OF_GAP, _HELP_OF_VALUE = 0.02, 0.005
"""More letters help if they gain at least such a share of the gap, or of the value."""

_LARGE = 512
"""Cells (z, x): these shares are smaller in proportion where there are fewer."""

_MOST_LETTERS = 24
_MOST_EXCHANGES = 30

_COARSE = 0.1
"""Share of the cells that a search for better letters may use."""

_UNUSED = 1e-9
"""Probability below which a letter is left out."""

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


def solve_information(
    problem: Problem, gap_tol: float, progress: Progress, *, frugal: bool
) -> Solution:
    """The most I(Rhat; R) found under the limits, and a proof of how good it is."""
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    raise_if_infeasible(statement, limits)
    search = _Search(statement, limits, gap_tol, progress, frugal=frugal)
    is_late = False
    try:
        with one_thread():
            search.run()
    except TimeoutError:
        is_late = True
        search.offer_truth()
    return _solution(statement, limits, search.best, search.bound, gap_tol, is_late)


class _Search:
    """The best release and the best bound met so far."""

    def __init__(
        self,
        statement: Statement,
        limits: Array,
        gap_tol: float,
        progress: Progress,
        *,
        frugal: bool,
    ) -> None:
        self.statement, self.limits = statement, limits
        self.gap_tol, self.inner_tol = gap_tol, max(0.1 * _TARGET * _TARGET_SHARE, GAP_TOL)
        self.n_r = statement.problem.joint.shape[-1]
        self.asked = statement.problem.rhat_size
        self.random = np.random.default_rng(0)
        self.bound = plain_bound(statement, limits)
        self.best = self._silence()
        self._haste = min(1.0, statement.mass.size / _LARGE)
        self._progress, self._start, self._frugal = progress, monotonic(), frugal

    def run(self) -> None:
        """Search until the gap is closed or nothing more is tried; keeps the best of each."""
        free = self._exchange_letters(self._first_ascent())
        if self.asked is None:
            return
        self._ascend_with(self.asked, free)
        if self.bound - self.best.value > self._target:
            self._mix()

    @property
    def _target(self) -> float:
        return max(self.gap_tol, min(_TARGET, _TARGET_SHARE * self.bound))

    @property
    def _rough(self) -> float:
        """Bits that a round must gain while letters are still exchanged."""
        return 0.05 * self._target

    def _tolerance(self, least_gain: float = 0.0) -> float:
        """Bits that a round must gain to go on, and to which it is solved."""
        share = self._haste * _GAIN_SHARE * (self.bound - self.best.value)
        return max(least_gain, self.inner_tol, share)

    def _silence(self) -> _Candidate:
        """A constant release."""
        channel = np.zeros((self.asked or 1, *self.statement.mass.shape))
        channel[0] = 1.0
        nothing = np.zeros(len(self.limits))
        return _Candidate(channel, 0.0, nothing, TimeSharing.NONE, (1.0,), 0)

    def offer_truth(self) -> None:
        """Where no time was left to find anything: the asked value for a share of the records.

        The others get letter 0, which nobody else has if there are letters enough. Where R is a
        function of X, and only the recipient is limited, no release is better; others are milder to
        those who are answered.
        """
        if self.best.value > 0:
            return
        joint, mass = self.statement.joint_zxr, self.statement.mass
        n_letters = self.asked or self.n_r + 1
        channel = np.zeros((n_letters, *mass.shape))
        share = joint / np.where(mass > 0, mass, 1.0)[..., None]
        share[mass <= 0, 0] = 1.0
        for r in range(self.n_r):
            channel[(r + 1) % n_letters] += share[..., r]
        feasible, _ = make_feasible(self.statement, channel[None], self.limits[None])
        value = float(information_bits(joint_rhat_r(self.statement, feasible))[0])
        nothing = np.zeros(len(self.limits))
        self._offer(_Candidate(feasible[0], value, nothing, TimeSharing.NONE, (1.0,), 0), 0.0)

    def _offer(self, candidate: _Candidate, tolerance: float) -> None:
        """Keep a candidate that is at least as good; of equals, the one that was refined longer."""
        if candidate.value > self.best.value - tolerance:
            self.best = candidate
            self._report()

    def _lower(self, bound: float) -> None:
        if bound < self.bound:
            self.bound = bound
            self._report()

    def _report(self) -> None:
        self._progress(self.best.value, self.bound, monotonic() - self._start)

    # -- any number of letters ---------------------------------------------------------------------

    def _first_ascent(self) -> Ascent:
        n_letters = min(self.n_r + 1, _MOST_LETTERS)
        starts = self._starts(_STARTS, n_letters, [])
        self._climb(starts[:1], rounds=1, is_free=True)  # something to return, soon
        first = self._climb(starts, rounds=_FIRST_ROUNDS, is_free=True)
        return self._climb(first.posterior[:1], least_gain=self._rough, is_free=True)

    def _exchange_letters(self, found: Ascent) -> Ascent:
        """Bound the optimum; ascend again with the letters that are worth more than their price.

        Coarse cells find letters quickly. Where they find none that help, fine ones bound.
        """
        is_fine = False
        for _ in range(_MOST_EXCHANGES):
            bound = self._bound_at(found, 1.0 if is_fine else _COARSE)
            is_closed = self.bound - found.value[0] <= self._target
            letters = new_letters(bound.posterior, bound.excess, 0.1 * self._target)
            again = found if is_closed else self._ascend_from(found, letters)
            gain = again.value[0] - found.value[0]
            found = again if gain > 0 else found
            is_helped = gain > self._least_help(bound)
            if is_closed or (is_fine and not is_helped):
                break
            is_fine = not is_helped
            if is_fine and self._tolerance() < self._tolerance(self._rough):
                # Prices are no better than the release that they are read off.
                found = self._climb(found.posterior[:1], is_free=True)
        return found

    def _least_help(self, bound: Bound) -> float:
        """Bits that more letters must gain to count as a help."""
        left, value = self.bound - self.best.value, self.best.value
        share = self._haste * min(_HELP_OF_GAP * left, _HELP_OF_VALUE * value)
        return max(0.01 * max(self._target, bound.looseness), share)

    def _ascend_from(self, found: Ascent, letters: Array) -> Ascent:
        """Ascend from the letters of a release and some more."""
        if not len(letters):
            return found
        own = merge_rows(self._used_letters(found), 0.01 * self._target)
        own = fewer_letters(own, _MOST_LETTERS - len(letters))
        start = np.concatenate([own, letters])
        return self._climb(start[None], least_gain=self._rough, is_free=True)

    def _bound_at(self, found: Ascent, effort: float) -> Bound:
        """Refine the bound at the prices of a release."""
        bounds = refine_bound(
            self.statement,
            self.limits,
            found.answers.channel[0],
            found.answers.multipliers[0],
            tolerance=0.25 * self._target,
            effort=effort,
        )
        for bound in bounds:
            self._lower(max(bound.bits, self.best.value))
            if self.bound - found.value[0] <= self._target:
                break
        return bound

    def _used_letters(self, found: Ascent) -> Array:
        """p(rhat, r) of the letters that occur."""
        joint = joint_rhat_r(self.statement, found.answers.channel[:1])[0]
        return np.asarray(joint[joint.sum(axis=1) > _UNUSED])

    def _starts(self, n_starts: int, n_letters: int, known: list[Array]) -> Array:
        """Posteriors [start, rhat, r]: what letters, histories or records tell, merged; random."""
        starts = self.random.dirichlet(np.full(self.n_r, 0.7), size=(n_starts, n_letters))
        joint = self.statement.joint_zxr
        for index, letters in enumerate([*known, joint.sum(axis=1), joint.sum(axis=0)]):
            merged = fewer_letters(letters, n_letters)
            starts[index, : len(merged)] = merged
        return starts

    def _climb(
        self,
        starts: Array,
        *,
        rounds: int = _ROUNDS,
        least_gain: float = 0.0,
        is_free: bool = False,
    ) -> Ascent:
        """Ascend, keeping the best; with ``is_free``, only where letters need not be counted."""
        limits = np.tile(self.limits, (len(starts), 1))
        tolerance = self._tolerance(least_gain)
        ascents = ascend(
            self.statement,
            starts,
            limits,
            gap_tol=tolerance,
            max_rounds=rounds,
            frugal=self._frugal,
        )
        for ascent in ascents:
            if self.asked is None or not is_free:
                self._offer(_candidate(ascent), self.inner_tol)
            if self.bound - ascent.value[0] <= self.gap_tol:
                break
        return ascent

    # -- a given number of letters -----------------------------------------------------------------

    def _ascend_with(self, n_letters: int, free: Ascent) -> None:
        starts = self._starts(_FIXED_STARTS, n_letters, [self._used_letters(free)])
        first = self._climb(starts, rounds=_FIRST_ROUNDS)
        self._climb(first.posterior[:_SURVIVORS])

    def _mix(self) -> None:
        """Time-sharing over channels designed for other limits, disclosed and undisclosed."""
        pool = self._pool()
        budgets = self.statement.budgets(self.limits)
        mixture = best_mixture(pool.value, pool.answers.added, budgets)
        if mixture is None or len(mixture.members) < 2:
            return
        channels = pool.answers.channel[mixture.members]
        weights = tuple(mixture.weights.tolist())
        for channel, kind in (
            (disclosed_channel(channels, mixture.weights), TimeSharing.DISCLOSED),
            (undisclosed_channel(channels, mixture.weights), TimeSharing.UNDISCLOSED),
        ):
            feasible, _ = make_feasible(self.statement, channel[None], self.limits[None])
            value = float(information_bits(joint_rhat_r(self.statement, feasible))[0])
            mixed = _Candidate(feasible[0], value, mixture.multipliers, kind, weights, 0)
            self._offer(mixed, -0.1 * self._target)  # enough to be worth its letters

    def _pool(self) -> Ascent:
        """Channels for several limits around the ones asked."""
        budgets = self.statement.budgets(self.limits)
        joint = joint_rhat_r(self.statement, self.best.channel[None])
        own = posteriors(joint, np.full_like(joint, 1.0 / self.n_r))[0]
        limits, starts = [], []
        for partial in _POOL_SCALES:
            for full in _POOL_SCALES:
                scaled = np.append(partial * budgets[:-1], full * budgets[-1])
                limits.append(self.statement.leaked_upper + scaled)
                starts.append(0.9 * own + 0.1 * self.random.dirichlet(np.ones(self.n_r), len(own)))
        ascents = ascend(
            self.statement,
            np.array(starts),
            np.array(limits),
            gap_tol=10 * self.inner_tol,
            max_rounds=_ROUNDS // 4,
            frugal=self._frugal,
        )
        *_, last = ascents
        return last


def _candidate(ascent: Ascent) -> _Candidate:
    return _Candidate(
        ascent.answers.channel[0],
        float(ascent.value[0]),
        ascent.answers.multipliers[0],
        TimeSharing.NONE,
        (1.0,),
        ascent.rounds,
    )


def _solution(
    statement: Statement,
    limits: Array,
    best: _Candidate,
    bound: float,
    gap_tol: float,
    is_late: bool,
) -> Solution:
    channel = best.channel
    if statement.problem.rhat_size is None:
        channel = merge_alike(channel, joint_rhat_r(statement, channel[None])[0], _UNUSED)
    feasible, leakage = make_feasible(statement, channel[None], limits[None])
    value = float(information_bits(joint_rhat_r(statement, feasible))[0])
    bound = max(bound, value)
    unfinished = Status.OUT_OF_TIME if is_late else Status.STATIONARY
    return Solution(
        problem=statement.problem,
        channel=full_channel(statement, feasible[0]),
        value=value,
        bound=bound,
        leakage=dict(zip(statement.keys, leakage[0].tolist(), strict=True)),
        multipliers=dict(zip(statement.keys, best.multipliers.tolist(), strict=True)),
        status=Status.OPTIMAL if bound - value <= gap_tol else unfinished,
        steps=best.steps,
        time_sharing=best.time_sharing,
        weights=best.weights,
    )
