"""[TVC] Algorithm 3 taken literally, for one release: grid, coarse curve, bisection, time-sharing.

``tacit.solve`` is compared with it. Leakages fall as multipliers grow, so a bisection on mu1
around a bisection on mu2 finds the pair that gives the target (eps, delta), if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.problem import MEAN, Problem
from tacit.solvers.convex.program import Statement, full_channel
from tacit.solvers.iteration.starts import Points, iterate, measured, random_starts


class Found(Enum):
    """How the target was met; the value is the message for people."""

    SLACK = "no limit binds at the smallest multipliers"
    BISECTION = "a pair of multipliers gives the target"
    TIME_SHARING = "no pair gives the target; a mixture of two channels does"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A channel [rhat, z, x] with what it achieves and leaks (bits), and where it came from."""

    channel: Array
    value: float
    individual: float
    collusion: float
    mu: tuple[float, float]
    found: Found


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Algorithm 3's answer to one request.

    Attributes:
        channel: p(rhat | z1, ..., zk, x), rhat last.
        value: E d(Rhat, R), or I(Rhat; R) in bits.
        individual_bits, collusion_bits: I(Rhat; X) and I(Rhat, Z; X).
        mu: the multipliers where the search ended.
        found: how the target was met.
        curve: the coarse curve of steps 4-9, one point per pair of multipliers.
        runs, steps: Blahut-Arimoto runs and iterations spent, grid included.
    """

    channel: Array
    value: float
    individual_bits: float
    collusion_bits: float
    mu: tuple[float, float]
    found: Found
    curve: Points
    runs: int
    steps: int


def multiplier_grid(least: float, largest: float, n: int) -> Array:
    """All pairs (mu1, mu2) from one geometric ladder, [n * n, 2] ([TVC] Algorithm 3, step 4)."""
    ladder = np.geomspace(least, largest, n)
    return np.stack(np.meshgrid(ladder, ladder, indexing="ij"), axis=-1).reshape(-1, 2)


def algorithm3(
    problem: Problem,
    *,
    least: float = 1e-3,
    largest: float = 2.0,
    n_grid: int = 10,
    bits_tol: float = 1e-4,
    tol: float = 1e-8,
    max_steps: int = 20_000,
    n_starts: int = 10,
    seed: int = 0,
) -> Release:
    """One pass through [TVC] Algorithm 3, up to the draw of Rhat.

    Args:
        problem: joint, utility, and the limits ``individual`` (eps) and ``collusion`` (delta).
        least, largest, n_grid: the ladder of multipliers; the grid holds every pair of it.
        bits_tol: how close below the target the leakages have to come.
        tol, max_steps: when a Blahut-Arimoto run stops.
        n_starts: random starts per run, for information; a distortion needs one, the uniform one.
        seed: of the random starts.

    Raises:
        InvalidInputError: the problem has something that Algorithm 3 does not know.
    """
    _refuse_unknown(problem)
    ladder = np.concatenate([[0.0], np.geomspace(least, largest, n_grid)])
    search = Search(
        problem,
        ladder,
        bits_tol,
        tol,
        max_steps,
        n_starts if problem.is_information else 1,
        np.random.default_rng(seed),
    )
    curve = search.curve(multiplier_grid(least, largest, n_grid))
    best = search.within_both()
    return Release(
        full_channel(Statement.of(problem), best.channel),
        best.value,
        best.individual,
        best.collusion,
        best.mu,
        best.found,
        curve,
        search.runs,
        search.steps,
    )


def _refuse_unknown(problem: Problem) -> None:
    """Algorithm 3 reads two limits and a mean: anything else would be broken in silence."""
    unknown = {
        "coalitions": problem.coalitions,
        "views": problem.views,
        "caps": problem.caps,
        "ceilings": problem.ceilings,
        "objective": problem.objective != MEAN,
        "analysable": problem.analysable,
    }
    given = [name for name, is_given in unknown.items() if is_given]
    if given:
        raise InvalidInputError(
            f"Algorithm 3 knows the limits individual and collusion only, and would ignore "
            f"{', '.join(given)}: use tacit.solve, or leave {'them' if given[1:] else 'it'} out"
        )


MULTIPLIER_TOL = 1e-6
"""Bisection stops where the interval of multipliers, or of shares, is narrower than this."""


@dataclass(slots=True, eq=False)
class Search:
    """The bisections of step 10, and what they cost."""

    problem: Problem
    ladder: Array
    bits_tol: float
    tol: float
    max_steps: int
    n_starts: int
    rng: np.random.Generator
    runs: int = 0
    steps: int = 0
    n_rhat: int = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        letters = problem.rhat_size or problem.joint.shape[-1]
        self.n_rhat = letters if problem.is_information else len(problem.distortion)

    def curve(self, mu: Array) -> Points:
        """The best channel of each pair ``mu[n, 2]`` (steps 5-9)."""
        n = len(mu)
        every = np.repeat(mu, self.n_starts, axis=0)
        channel, steps = iterate(
            self.problem, every, self._starts(len(every)), self.tol, self.max_steps
        )
        self.runs += len(every)
        self.steps += int(steps.sum())
        points = measured(self.problem, channel)
        sign = -1.0 if self.problem.is_information else 1.0
        leaked = every[:, 0] * points.individual + every[:, 1] * points.collusion
        objective = (sign * points.value + leaked).reshape(n, self.n_starts)
        return points.subset(np.arange(n) * self.n_starts + objective.argmin(axis=1))

    def _starts(self, n: int) -> Array:
        if self.problem.is_information:
            return random_starts(self.problem, n, self.n_rhat, self.rng)
        cells = Statement.of(self.problem).mass.shape
        return np.full((n, self.n_rhat, *cells), 1.0 / self.n_rhat)

    def at(self, mu1: float, mu2: float) -> Candidate:
        """Run the Blahut-Arimoto algorithm at one pair."""
        points = self.curve(np.array([[mu1, mu2]]))
        return _candidate(points, (mu1, mu2), Found.BISECTION)

    def within_collusion(self, mu1: float) -> Candidate:
        """For this mu1, the smallest mu2 that keeps the collusion limit."""
        limit = self.problem.limits[self.problem.everyone]
        ladder = self.ladder if mu1 > 0 else self.ladder[1:]
        return self._bisect(lambda mu2: self.at(mu1, mu2), _collusion, limit, ladder)

    def within_both(self) -> Candidate:
        """The smallest mu1 that keeps the individual limit, with the best mu2 for each."""
        limit = self.problem.limits[()]
        best = self._bisect(self.within_collusion, _individual, limit, self.ladder)
        is_slack = best.mu == (0.0, self.ladder[1]) and best.found is Found.BISECTION
        return replace(best, found=Found.SLACK) if is_slack else best

    def _bisect(
        self,
        evaluate: Callable[[float], Candidate],
        leakage: Callable[[Candidate], float],
        limit: float,
        ladder: Array,
    ) -> Candidate:
        """Bisect on one multiplier: among the grid's values first, then between two of them."""
        low, high = float(ladder[0]), float(ladder[-1])
        over = evaluate(low)
        if leakage(over) <= limit:
            return over
        within = evaluate(high)
        if leakage(within) > limit:
            return self._shared(within, self._constant(high), leakage, limit)
        while leakage(within) < limit - self.bits_tol and high - low > MULTIPLIER_TOL * high:
            middle = _middle(low, high, ladder)
            tried = evaluate(middle)
            if leakage(tried) <= limit:
                high, within = middle, tried
            else:
                low, over = middle, tried
        if leakage(within) >= limit - self.bits_tol:
            return within
        return self._shared(over, within, leakage, limit)

    def _shared(
        self,
        over: Candidate,
        within: Candidate,
        leakage: Callable[[Candidate], float],
        limit: float,
    ) -> Candidate:
        """Adjust a convex combination of two nearby channels until it meets the limit (step 10)."""
        low, high = 0.0, 1.0  # share of the channel that leaks too much
        best = within
        while leakage(best) < limit - self.bits_tol and high - low > MULTIPLIER_TOL:
            share = (low + high) / 2
            mixed = within.channel + share * (over.channel - within.channel)
            points = measured(self.problem, mixed[None])
            tried = _candidate(points, within.mu, Found.TIME_SHARING)
            if leakage(tried) <= limit:
                low, best = share, tried
            else:
                high = share
        return best

    def _constant(self, mu: float) -> Candidate:
        """The best release that tells nothing: the limit for large multipliers."""
        cells = Statement.of(self.problem).mass.shape
        letters = np.eye(self.n_rhat)[:, :, None, None] * np.ones(cells)
        points = measured(self.problem, letters)
        best = 0 if self.problem.is_information else int(points.value.argmin())
        return _candidate(points.subset(np.array([best])), (mu, mu), Found.TIME_SHARING)


def _individual(candidate: Candidate) -> float:
    return candidate.individual


def _collusion(candidate: Candidate) -> float:
    return candidate.collusion


def _middle(low: float, high: float, ladder: Array) -> float:
    """The middle one of the grid's values between two, or their mean if there is none."""
    between = ladder[(ladder > low) & (ladder < high)]
    return float(between[len(between) // 2]) if len(between) else (low + high) / 2


def _candidate(points: Points, mu: tuple[float, float], found: Found) -> Candidate:
    return Candidate(
        points.channel[0],
        float(points.value[0]),
        float(points.individual[0]),
        float(points.collusion[0]),
        mu,
        found,
    )
