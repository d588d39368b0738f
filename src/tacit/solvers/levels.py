"""Errors at every level of R: the least worst one, and ceilings ([M] fact 13).

The error at a level, E[d(Rhat, R) | R = r], is linear in the channel. Once every level has a
weight, what is left is a mean distortion, whose certified bound is a bound here too. So the search
is for the weights, by the level bundle method (Lemarechal, Nemirovskii and Nesterov, 1995): weights
give a release and a lower bound; a linear program mixes the releases found so far, which convexity
allows; the next weights are the nearest ones at which the bound may still rise by much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

import numpy as np
import scipy
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.errors import CeilingError, UnconvergedError
from tacit.information.laws import gamma
from tacit.linear_program import minimise_linear
from tacit.problem import MEAN, Problem
from tacit.solution import Solution, Status
from tacit.solvers.convex.certificate import make_feasible
from tacit.solvers.convex.program import Statement, full_channel, raise_if_infeasible
from tacit.solvers.convex.solve import solve_batch, worth_of_caps

_MOST_RELEASES = 60
_MOST_PER_CONDITION = 20

_PATIENCE = 25
"""Releases that may pass without closing the gap any further."""

_AMBITION = 0.15
"""Where the next weights are sought: this share of the gap above the best bound. It doubles while
the bound rises as far, as it does where the releases hardly change with the weights."""

_OWN_SHARE = 0.1
"""Share of the asked gap that a release may leave open at its own weights."""

_ROUGH_SHARE = 0.003
"""The same of the gap that is still open, while that is larger."""

_SMALLEST_SCALE = 1e-3
"""Multipliers move in proportion to the square root of their size, or of this if they are less."""

_MET = 1e-12
"""A ceiling that is exceeded by less, relative to the largest distortion, counts as met."""

_TOLD_SHARE = 0.01
"""How precisely it is found out by how much ceilings are too low, relative to that."""

_NO_SHARE = 1e-12
"""Releases with a smaller share are left out of a mixture."""


def solve_levels(
    problem: Problem,
    gap_tol: float,
    progress: Callable[[float, float, float], None],
    *,
    frugal: bool,
) -> Solution:
    """The release with the least worst level, or the least mean, within ceilings; certified."""
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    raise_if_infeasible(statement, limits)
    releases, start = _Releases(statement, limits, frugal=frugal), monotonic()
    ceilings = {level: error for level, error in problem.ceilings.items() if releases.p_r[level]}

    def tell(found: _Found) -> None:
        if found.value < inf:
            progress(found.value, found.bound, monotonic() - start)

    if ceilings:
        ceilings = _reachable(releases, ceilings, gap_tol)
    conditions = _Conditions.of(problem, releases.p_r, ceilings)
    found = _search(releases, conditions, gap_tol, tell=tell)
    return _solution(releases, found, gap_tol)


@dataclass(frozen=True, slots=True, eq=False)
class _Conditions:
    """Minimise ``base @ errors + t`` with errors[level] <= ceiling, or <= ceiling + t.

    Attributes:
        base: fixed weights of the levels' errors, [r].
        level: the level of each condition, [condition].
        ceiling: [condition].
        is_eased: which of them have the + t; their multipliers sum to 1. Without any, t is 0.
    """

    base: Array
    level: NDArray[np.intp]
    ceiling: Array
    is_eased: NDArray[np.bool_]

    @staticmethod
    def of(problem: Problem, p_r: Array, ceilings: dict[int, float]) -> _Conditions:
        """What a problem asks."""
        if problem.objective == MEAN:
            return replace(
                _Conditions.easing(ceilings, p_r), is_eased=np.zeros(len(ceilings), bool)
            )
        levels = np.flatnonzero(p_r)
        return _Conditions(
            np.zeros(len(p_r)),
            np.append(levels, np.array(list(ceilings), dtype=np.intp)),
            np.append(np.zeros(len(levels)), list(ceilings.values())),
            np.arange(len(levels) + len(ceilings)) < len(levels),
        )

    @staticmethod
    def easing(ceilings: dict[int, float], base: Array) -> _Conditions:
        """Meet ceilings, raised by the same t."""
        levels = np.array(list(ceilings), dtype=np.intp)
        return _Conditions(
            base, levels, np.array(list(ceilings.values())), np.ones(len(levels), bool)
        )

    def start(self) -> Array:
        """Multipliers to begin with: equal ones."""
        return self.is_eased / max(1, int(self.is_eased.sum()))

    def normalised(self, multipliers: Array) -> Array:
        """Multipliers >= 0, those of eased conditions summing to 1, as a bound needs them."""
        positive = np.maximum(multipliers, 0.0)
        total = positive[self.is_eased].sum()
        if not total > 0:
            return np.where(self.is_eased, self.start(), positive)
        return np.where(self.is_eased, positive / total, positive)

    def weights(self, multipliers: Array) -> Array:
        """Weights of the levels' errors, [r]."""
        weights = self.base.copy()
        np.add.at(weights, self.level, multipliers)
        return weights

    def excess(self, errors: Array) -> Array:
        """Errors [..., r] above the ceilings, [..., condition]."""
        return errors[..., self.level] - self.ceiling

    def value(self, errors: Array) -> float:
        """What is minimised, at errors [r]; ceilings that are not eased do not count."""
        eased = self.excess(errors)[self.is_eased]
        return float(errors @ self.base + (eased.max() if len(eased) else 0.0))


class _Releases:
    """Releases within the limits, and their errors at every level; those that tell nothing first.

    Attributes:
        statement: the problem.
        limits: bits, [view + 1].
        p_r: p(r), [r].
        distortion: d[rhat, r].
        errors: E[d | R = r] of each release, 0 at levels that never occur, [release, r].
        n_steps: steps of the interior point so far.
    """

    def __init__(self, statement: Statement, limits: Array, *, frugal: bool) -> None:
        self.statement, self.limits, self._frugal = statement, limits, frugal
        self.p_r = statement.joint_zxr.sum(axis=(0, 1))
        self.distortion = statement.problem.distortion
        self.errors = np.where(self.p_r > 0, self.distortion, 0.0)
        self.n_steps = 0
        constants = np.eye(len(self.distortion))[..., None, None]
        self._channels = [np.broadcast_to(c, (len(c), *statement.mass.shape)) for c in constants]

    def add(self, weights: Array, gap_tol: float) -> tuple[float, Array]:
        """The best release for weighted errors, its lower bound, and the views' multipliers.

        These are of limits and of caps, [2, view + 1].
        """
        scale = np.where(self.p_r > 0, weights / np.where(self.p_r > 0, self.p_r, 1.0), 0.0)
        cost = self.statement.cost_of(self.distortion * scale)[None]
        answers = solve_batch(self.statement, cost, self.limits[None], gap_tol, frugal=self._frugal)
        self._channels.append(answers.channel[0])
        self.errors = np.vstack([self.errors, self.errors_of(answers.channel[0])])
        self.n_steps += int(answers.steps[0])
        multipliers = np.stack([answers.multipliers[0], answers.cap_multipliers[0]])
        return float(answers.bound[0]), multipliers

    @property
    def constant_errors(self) -> Array:
        """Errors of always releasing rhat, [rhat, r]."""
        return self.errors[: len(self.distortion)]

    def errors_of(self, channel: Array) -> Array:
        """E[d | R = r] of a channel [rhat, z, x], [r]."""
        joint = self.statement.joint_zxr.reshape(-1, len(self.p_r))
        p_rhat_r = channel.reshape(len(channel), -1) @ joint
        weighted = (p_rhat_r * self.distortion).sum(axis=0)
        return np.where(self.p_r > 0, weighted / np.where(self.p_r > 0, self.p_r, 1.0), 0.0)

    def mix(self, shares: Array) -> Array:
        """The mixture of the first releases with given shares, [rhat, z, x]."""
        used = np.flatnonzero(shares > _NO_SHARE)
        total = shares[used].sum()
        parts = [shares[index] / total * self._channels[index] for index in used]
        return np.asarray(np.sum(parts, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The best mixture and the best bound.

    Attributes:
        conditions: what was asked.
        value: what the mixture attains.
        shares: of the releases in it, [release].
        bound: no release within the limits attains less.
        multipliers: of the conditions in that bound, [condition].
        view_multipliers: of the views' limits and caps in it, per bit, [2, view + 1].
        is_late: whether time ran out.
    """

    conditions: _Conditions
    value: float
    shares: Array
    bound: float
    multipliers: Array
    view_multipliers: Array
    is_late: bool = False


def _search(
    releases: _Releases,
    conditions: _Conditions,
    gap_tol: float,
    *,
    target: float | None = None,
    tell: Callable[[_Found], None] = lambda _: None,
) -> _Found:
    """Add releases until the gap is closed, or until it is known whether ``target`` is attained.

    ``tell`` is called with the best so far after each of them. Time may run out before.
    """
    multipliers, n_before, idle = conditions.start(), len(releases.errors), 0
    ambition = _AMBITION
    most = _MOST_RELEASES + _MOST_PER_CONDITION * len(multipliers)
    value, shares, _ = _best_mixture(releases.errors, conditions)
    found = _Found(
        conditions, value, shares, -inf, multipliers, np.zeros((2, len(releases.limits)))
    )
    while True:
        before = found.value - found.bound
        rough = _ROUGH_SHARE * before if before < inf else 0.0
        tolerance = max(_OWN_SHARE * gap_tol, rough)
        try:
            proved, view_multipliers = releases.add(conditions.weights(multipliers), tolerance)
        except TimeoutError:
            return replace(found, is_late=True)
        bound = _bound(conditions, multipliers, proved, releases.statement)
        is_attained = bound >= found.bound + 0.9 * ambition * before
        ambition = min(1.0, 2 * ambition) if is_attained else _AMBITION
        if bound > found.bound:
            found = replace(
                found, bound=bound, multipliers=multipliers, view_multipliers=view_multipliers
            )
        value, shares, towards = _best_mixture(releases.errors, conditions)
        found = replace(found, value=value, shares=shares)
        tell(found)
        gap = value - found.bound
        # Where the target cannot be attained, people are told what can.
        is_known = target is not None and (
            value <= target or gap <= _TOLD_SHARE * (found.bound - target)
        )
        idle = 0 if gap < 0.95 * before else idle + 1
        is_given_up = idle == _PATIENCE or len(releases.errors) - n_before == most
        if gap <= gap_tol or is_known or is_given_up:
            return found
        multipliers = conditions.normalised(
            _next_multipliers(releases.errors, found, ambition, towards)
        )


def _bound(
    conditions: _Conditions, multipliers: Array, proved: float, statement: Statement
) -> float:
    """From a bound on the weighted errors to one on what is minimised, less what rounding adds."""
    paid = multipliers * conditions.ceiling
    rounding = 4 * gamma(statement.joint_zxr.size + len(multipliers) + 64)
    return float(proved - paid.sum() - rounding * (proved + paid.sum()))


def _best_mixture(errors: Array, conditions: _Conditions) -> tuple[float, Array, Array]:
    """Least value of a mixture, its shares, and the multipliers of the conditions.

    Infinite, with the shares of the first release, where no mixture meets the ceilings.
    """
    n_releases, eased = len(errors), conditions.is_eased.astype(float)
    unit = float(errors.max()) or 1.0  # HiGHS has absolute tolerances
    total = np.append(np.ones(n_releases), 0.0)
    solved = minimise_linear(
        np.append(errors @ conditions.base / unit, float(conditions.is_eased.any())),
        np.vstack([np.column_stack([conditions.excess(errors).T / unit, -eased]), total]),
        np.append(np.full(len(eased), -inf), 1.0),
        np.append(np.zeros(len(eased)), 1.0),
        least=np.append(np.zeros(n_releases), -inf),
        tolerance=1e-10,
    )
    if solved.point is None:
        return inf, np.eye(n_releases)[0], conditions.start()
    shares = np.maximum(solved.point[:-1], 0.0)
    shares /= shares.sum()
    return conditions.value(shares @ errors), shares, -solved.prices[:-1]


def _next_multipliers(errors: Array, found: _Found, ambition: float, towards: Array) -> Array:
    """The multipliers nearest to the best ones where no release found yet proves too little.

    The bound at any multipliers is at most what each release attains there, a linear function. We
    ask all of these to be well above the best bound. Nearest in squares is a least-distance
    problem (Lawson and Hanson, 1974, chapter 23), solved by non-negative least squares. ``towards``
    are the linear program's multipliers, for want of better ones.
    """
    conditions, best = found.conditions, found.multipliers
    if ambition == 1.0 or found.value == inf:
        return towards
    scale = np.sqrt(np.maximum(best, _SMALLEST_SCALE))
    slopes = np.vstack([conditions.excess(errors), np.eye(len(best))])
    wanted = found.bound + ambition * (found.value - found.bound)
    heights = np.append(wanted - errors @ conditions.base, np.zeros(len(best)))
    short = heights - slopes @ best
    free = _free_directions(scale * conditions.is_eased)
    unit = float(np.abs(short).max())
    system = np.vstack([(slopes * scale @ free).T, short / unit])
    target = np.append(np.zeros(free.shape[1]), 1.0)
    try:
        weights, _ = scipy.optimize.nnls(system, target)
    except RuntimeError:  # too many steps
        return towards
    residual = system @ weights - target
    if not abs(residual[-1]) > 1e-14:
        return towards
    return np.asarray(best - unit * scale * (free @ residual[:-1]) / residual[-1])


def _free_directions(normal: Array) -> Array:
    """An orthonormal basis, in columns, of what is orthogonal to ``normal``; 0 excludes nothing."""
    if not normal.any():
        return np.eye(len(normal))
    return np.asarray(np.linalg.svd(normal[None])[2][1:].T)


# -- ceilings --------------------------------------------------------------------------------------


def _reachable(releases: _Releases, ceilings: dict[int, float], gap_tol: float) -> dict[int, float]:
    """The ceilings, once releases that meet them are found; raised by rounding where it takes that.

    Raises:
        CeilingError: there are none.
    """
    conditions = _Conditions.easing(ceilings, np.zeros(len(releases.p_r)))
    found = _search(releases, conditions, _OWN_SHARE * gap_tol, target=0.0)
    if found.value > _MET * float(releases.errors.max()):
        if found.is_late:
            raise UnconvergedError(
                "time ran out before a release was found that keeps the ceilings: allow more time "
                "or work, or higher ceilings"
            )
        level = int(conditions.level[found.multipliers.argmax()])
        raise CeilingError(level, ceilings[level], ceilings[level] + found.value)
    return {level: error + max(0.0, found.value) for level, error in ceilings.items()}


def _least_value(releases: _Releases, conditions: _Conditions) -> float:
    """What a release that knew R would attain: a bound where there was no time for another."""
    return conditions.value(releases.constant_errors.min(axis=0))


def _solution(releases: _Releases, found: _Found, gap_tol: float) -> Solution:
    """The mixture as a public solution."""
    statement, conditions = releases.statement, found.conditions
    letter = int((releases.constant_errors @ conditions.weights(found.multipliers)).argmin())
    mixed, leakage = make_feasible(
        statement, releases.mix(found.shares)[None], releases.limits[None], letter=letter
    )
    errors = releases.errors_of(mixed[0])
    value = conditions.value(errors)
    bound = min(max(found.bound, _least_value(releases, conditions)), value)
    unfinished = Status.OUT_OF_TIME if found.is_late else Status.INACCURATE
    weighed = list(zip(conditions.level.tolist(), found.multipliers.tolist(), strict=True))
    n_eased = int(conditions.is_eased.sum())
    return Solution(
        problem=statement.problem,
        channel=full_channel(statement, mixed[0]),
        value=value,
        bound=bound,
        leakage=dict(zip(statement.keys, leakage[0].tolist(), strict=True)),
        multipliers=dict(zip(statement.keys, found.view_multipliers[0].tolist(), strict=True)),
        cap_multipliers=worth_of_caps(statement, found.view_multipliers[1]),
        status=Status.OPTIMAL if value - bound <= gap_tol else unfinished,
        steps=releases.n_steps,
        level_multipliers=dict(weighed[:n_eased]),
        ceiling_multipliers=dict(weighed[n_eased:]),
    )
