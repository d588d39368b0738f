"""Analysable releases whose estimated shares vary least ([M] fact 14).

With A = p(rhat | r) and q = p(rhat), the inverse of A estimates the share of level r among n
records with variance V_r / n, V_r = (A^-1 diag(q) A^-T)_rr - p(r). The largest V_r is not convex in
A: the mean of two permutations can be singular. So it is descended from the release with the least
worst level by an interior-point method, and there is no bound.

In the law of the posteriors p(r | rhat) the problem is convex, for any number of letters: M and
leakages are linear in that law, caps restrict where it lies, and V_r is convex in M. So there is a
dual. Its bound needs the concave envelope, at p(r), of a difference of two convex functions on the
simplex, which takes a global search: not done here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tacit.arrays import LN2, Array
from tacit.problem import Problem
from tacit.solution import Solution, Status
from tacit.solvers.convex.certificate import make_feasible
from tacit.solvers.convex.program import Statement
from tacit.solvers.levels import solve_levels

_SMALLEST_ENTRY = 1e-9
_MOST_STEPS = 500
_TOLERANCE = 1e-8
"""Relative change of the variance at which the descent stops."""

_FIRST_BARRIER = 1e-2
_SHRINK = 0.2
"""Of the barrier's weight, once the point is near the barrier's minimum."""

_NEAR_CENTRE = 10.0
_FAR_FROM_CENTRE = 1e6
"""How much multipliers may differ from what the barrier's weight makes of them."""

_KEPT = 0.99
"""Share of the way to where a slack or a multiplier is 0 that one step goes at most."""

_LEAST_VARIANCE = 1e-12
_SINGULAR = 1e9
"""A larger variance is that of a matrix that rounding keeps from being singular."""

_LEAST_CURVATURE = 1e-14
"""Relative to the largest one."""

_FIRST_SLACK = 0.1
_BLUR = 0.02
"""The start is mixed with so much of a uniform release: the slope of an information is infinite
at 0."""


def solve_shares(problem: Problem, gap_tol: float, *, frugal: bool) -> Solution:
    """A release of R itself, a problem of the least worst level, with the variance descended.

    Its value is infinite where the limits allow no invertible matrix to be found.
    """
    start = solve_levels(problem, gap_tol, lambda *_: None, frugal=frugal)
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    search = _Search.of(statement, limits)
    best = start.channel[statement.seen_x].T
    least, status, steps = largest_variance(search.p_r, best), Status.STATIONARY, 0
    if least > _LEAST_VARIANCE and (search.budgets > 0).all():
        # Without caps first: from the best within them a descent may find no way around a corner.
        for stage in (replace(search, caps=search.caps[:0]), search)[: 1 + (search.caps.size > 0)]:
            found, status, taken = stage.descend(blurred(search.p_r, best))
            kept = make_feasible(statement, found[None, :, None], limits[None])[0][0, :, 0]
            steps += taken
            if (value := largest_variance(search.p_r, kept)) < least:
                best, least = kept, value
    channel = start.channel.copy()
    channel[statement.seen_x] = best.T
    return replace(
        start,
        channel=channel,
        value=least,
        bound=None,
        multipliers={},
        level_multipliers={},
        status=status,
        steps=steps,
    )


def blurred(p_r: Array, matrix: Array) -> Array:
    """A matrix p(rhat | r) that a descent can start from: no entry is 0, and it is invertible."""
    mixed = (1 - _BLUR) * matrix + _BLUR / len(matrix)
    if largest_variance(p_r, mixed) < _SINGULAR:
        return np.asarray(mixed)
    return np.asarray((1 - _BLUR) * mixed + _BLUR * np.eye(*matrix.shape))


def share_variances(p_r: Array, matrix: Array) -> Array:
    """n times the variance of each estimated share, for p(rhat | r), [rhat, r]."""
    return _variances(p_r, matrix)[0]


def largest_variance(p_r: Array, matrix: Array) -> float:
    """n times the largest variance of an estimated share, for p(rhat | r), [rhat, r]."""
    return float(share_variances(p_r, matrix).max())


def _variances(p_r: Array, matrix: Array) -> tuple[Array, Array]:
    """V_r, and the solutions u_r of M u_r = e_r in columns, with M = A^T diag(1 / q) A.

    For a square A, M^-1 = A^-1 diag(q) A^-T; with more letters it is the best unbiased estimate's.
    """
    q = matrix @ p_r
    used = q > 0
    scaled = matrix[used] / np.sqrt(q[used])[:, None]
    nothing_known = np.full(len(p_r), inf), np.zeros((len(p_r), len(p_r)))
    if np.linalg.matrix_rank(scaled, tol=1e-12) < len(p_r):
        return nothing_known
    try:
        inverse = np.linalg.inv(scaled.T @ scaled)
    except np.linalg.LinAlgError:  # the square is singular up to rounding before its root is
        return nothing_known
    return np.maximum(np.diag(inverse) - p_r, 0.0), np.asarray(inverse, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The limits on a matrix p(rhat | r).

    Attributes:
        p_r: p(r) on the levels that occur, [r].
        views: p(y, r) of every limited view, [y, r] each.
        budgets: nats left to them.
        caps: linear conditions ``caps @ p(rhat | r).ravel() >= 0``, [condition, rhat r].
    """

    p_r: Array
    views: list[Array]
    budgets: Array
    caps: Array

    @staticmethod
    def of(statement: Statement, limits: Array) -> _Search:
        """Read a problem without history, whose record is the level."""
        p_r = statement.mass[0]
        laws = [*statement.rows.weights[:, 0], np.ones(len(p_r))]
        view_of_row = np.append(statement.rows.view_of_row, statement.rows.n_views)
        limited = np.flatnonzero(np.isfinite(limits))
        views = [
            np.array([laws[row] for row in np.flatnonzero(view_of_row == view)]) * p_r
            for view in limited
        ]
        budgets = statement.budgets(limits)[limited] * LN2
        return _Search(p_r, views, budgets, _cap_conditions(statement))

    def descend(self, start: Array) -> tuple[Array, Status, int]:
        """A local minimum near ``start``, [rhat, r], whether it is one, and the steps taken."""
        point = _Point.at(self, start, np.log(largest_variance(self.p_r, start)) + _FIRST_SLACK)
        weight, steps = _FIRST_BARRIER, 0
        while weight * len(point.slack) > _TOLERANCE and steps < _MOST_STEPS:
            direction = point.direction(self.curvature(point), weight)
            moved = point.move(self, direction, weight)
            steps += 1
            if moved is None or moved.error(weight) < _NEAR_CENTRE * weight:
                weight *= _SHRINK
            point = moved or point
        status = Status.STATIONARY if steps < _MOST_STEPS else Status.OUT_OF_TIME
        found = np.clip(point.matrix, 0.0, 1.0)
        return found / found.sum(axis=0), status, steps

    def conditions(self, matrix: Array, log_largest: float) -> tuple[Array, Array]:
        """Values that stay > 0, and their slopes in the entries and ``log_largest``."""
        entries = np.eye(matrix.size, matrix.size + 1)
        caps = np.column_stack([self.caps, np.zeros(len(self.caps))])
        room, of_room = self._room(matrix, log_largest)
        below, of_below = self._below(matrix, log_largest)
        values = np.concatenate(
            [matrix.ravel() - _SMALLEST_ENTRY, self.caps @ matrix.ravel(), room, below]
        )
        return values, np.vstack([entries, caps, of_room, of_below])

    def curvature(self, point: _Point) -> Array:
        """Of leakages and variances, each times its multiplier, [entry, entry]."""
        n_views, n_levels = len(self.views), len(self.p_r)
        prices = point.multiplier[-n_views - n_levels : -n_levels or None]
        leakages = self._leakage_curvature(point.matrix, prices)
        return leakages + self._variance_curvature(point.matrix, point.multiplier[-n_levels:])

    def _leakage_curvature(self, matrix: Array, prices: Array) -> Array:
        n_rhat, n_r = matrix.shape
        blocks = np.zeros((n_rhat, n_r, n_r))
        for p_yr, budget, price in zip(self.views, self.budgets, prices, strict=True):
            alone = np.einsum("r,rs,hr->hrs", p_yr.sum(axis=0), np.eye(n_r), 1 / matrix)
            pooled = np.einsum("yr,ys,hy->hrs", p_yr, p_yr, 1 / (matrix @ p_yr.T))
            blocks += price / budget * (alone - pooled)
        whole = np.einsum("hrs,hk->hrks", blocks, np.eye(n_rhat))
        return np.asarray(whole.reshape(matrix.size, matrix.size))

    def _variance_curvature(self, matrix: Array, prices: Array) -> Array:
        """Second derivatives of sum price log V, from V'' = 2 G^T M^-1 G - 2 sum w w^T / q.

        G is the derivative of M u_r at a fixed u_r, and w[rhat, s] = u_r(s) - score p(s).
        """
        n_rhat, n_r = matrix.shape
        variances, inverse = _variances(self.p_r, matrix)
        variances = np.maximum(variances, _LEAST_VARIANCE)
        q = matrix @ self.p_r
        total = np.zeros((matrix.size, matrix.size))
        for price, variance, u in zip(prices, variances, inverse, strict=True):
            score = matrix @ u / q
            w = u - score[:, None] * self.p_r
            slope = np.einsum("h,st->sht", score, np.eye(n_r)) + np.einsum(
                "hs,ht->sht", matrix / q[:, None], w
            )
            slope = slope.reshape(n_r, -1)
            bend = slope.T @ (inverse @ slope)
            bend -= np.einsum("hs,ht,hk,h->hskt", w, w, np.eye(n_rhat), 1 / q).reshape(bend.shape)
            own = (-2 * score[:, None] * u + score[:, None] ** 2 * self.p_r).ravel()
            total += price / variance * (2 * bend - np.outer(own, own) / variance)
        return total

    def _room(self, matrix: Array, _: float) -> tuple[Array, Array]:
        """Nats left to each view, relative to its budget, and the slopes."""
        left, slopes = [], []
        for p_yr, budget in zip(self.views, self.budgets, strict=True):
            p_y = p_yr.sum(axis=1)
            by_y = matrix @ (p_yr / p_y[:, None]).T
            slope = np.log(matrix) * p_yr.sum(axis=0) - np.log(by_y) @ p_yr
            left.append(1.0 - (slope * matrix).sum() / budget)
            slopes.append(np.append(-slope.ravel() / budget, 0.0))
        return np.array(left), np.array(slopes).reshape(len(left), matrix.size + 1)

    def _below(self, matrix: Array, log_largest: float) -> tuple[Array, Array]:
        """How far the logarithm of each variance is below ``log_largest``, and the slopes."""
        variances, inverse = _variances(self.p_r, matrix)
        variances = np.maximum(variances, _LEAST_VARIANCE)
        q = matrix @ self.p_r
        scores = matrix @ inverse / q[:, None]  # [rhat, r]
        pull = -2 * np.einsum("hr,sr->rhs", scores, inverse)
        slopes = pull + np.einsum("hr,s->rhs", scores**2, self.p_r)
        flat = slopes.reshape(len(self.p_r), -1) / variances[:, None]
        return log_largest - np.log(variances), np.column_stack([-flat, np.ones(len(flat))])


def _cap_conditions(statement: Statement) -> Array:
    """2**cap sum_s p(y, s) p(rhat | s) - p(y | r) p(rhat | r), as rows, [condition, rhat r].

    One for every letter, and every y and r that a cap forbids something.
    """
    problem, seen = statement.problem, statement.seen_x
    p_r, rows = statement.mass[0], []
    for key in problem.caps:
        p_yr = problem.view(key).pool(problem.joint_zxr.sum(axis=-1))[:, seen]
        given_r = p_yr / p_r
        factors = statement.cap_factors[statement.keys.index(key)]
        allowed = np.where(p_yr > 0, np.broadcast_to(factors, p_yr.shape), 1.0)
        for y, r in zip(*np.nonzero(allowed * p_yr < given_r), strict=True):
            rows.append(allowed[y, r] * p_yr[y] / given_r[y, r] - np.eye(len(p_r))[r])
    n_letters = problem.distortion.shape[0]
    return np.asarray(
        np.kron(np.eye(n_letters), np.reshape(rows, (-1, len(p_r)))), dtype=np.float64
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """A matrix on its way to a minimum by a primal-dual interior-point method.

    Attributes:
        matrix: p(rhat | r), [rhat, r].
        log_largest: above the logarithm of every variance in the end; what is minimised.
        value: of the conditions, >= 0 in the end.
        slopes: of them, [condition, unknown].
        slack: stands for their values, > 0, and equals them in the end.
        multiplier: of them, > 0.
    """

    matrix: Array
    log_largest: float
    value: Array
    slopes: Array
    slack: Array
    multiplier: Array

    @staticmethod
    def at(search: _Search, matrix: Array, log_largest: float) -> _Point:
        """A first point."""
        value, slopes = search.conditions(matrix, log_largest)
        slack = np.maximum(value, _SMALLEST_ENTRY)
        return _Point(matrix, log_largest, value, slopes, slack, _FIRST_BARRIER / slack)

    def error(self, weight: float) -> float:
        """By how much the conditions of a minimum with a barrier of this weight are missed."""
        slope = -self.multiplier @ self.slopes
        entries = slope[:-1].reshape(self.matrix.shape)
        steepness = abs((entries - entries.mean(axis=0)) * self.matrix).max()
        products = abs(self.slack * self.multiplier - weight).max()
        missed = abs(self.value - self.slack).max()
        return float(max(steepness, abs(1.0 + slope[-1]), products, missed))

    def direction(self, curvature: Array, weight: float) -> Array:
        """Newton's, with the sums of the columns held; downhill where the curvature is negative."""
        n_r, n = self.matrix.shape[1], self.matrix.size
        largest = self.matrix.argmax(axis=0) * n_r + np.arange(n_r)
        held = np.eye(n + 1)
        held[largest, :n] = -np.tile(np.eye(n_r), len(self.matrix))
        held = np.delete(held, largest, axis=1)  # the largest entry of a column follows from others
        system = (self.slopes.T * (self.multiplier / self.slack)) @ self.slopes
        system[:n, :n] += curvature
        missed = self.value - self.slack
        slope = -((weight - self.multiplier * missed) / self.slack) @ self.slopes
        slope[-1] += 1.0
        reduced = held.T @ system @ held
        scale = 1 / np.sqrt(np.maximum(abs(np.diag(reduced)), _LEAST_VARIANCE))
        values, vectors = np.linalg.eigh(reduced * np.outer(scale, scale))
        sizes = np.maximum(abs(values), _LEAST_CURVATURE * abs(values).max())
        step = vectors @ (vectors.T @ (scale * (slope @ held)) / sizes)
        return np.asarray(-held @ (scale * step))

    def move(self, search: _Search, direction: Array, weight: float) -> _Point | None:
        """A point of less cost and barrier that way; ``None`` where rounding hides it."""
        missed = self.value - self.slack
        change = self.slopes @ direction + missed  # of the slacks
        pull = weight / self.slack - self.multiplier - self.multiplier * change / self.slack
        price = 2 * (self.multiplier + np.maximum(pull, 0.0)).max()
        own = self._merit(weight, price)
        falls = direction[-1] - weight * (change / self.slack).sum() - price * abs(missed).sum()
        longest = _longest_step(self.slack, change)
        multiplier = self.multiplier + _longest_step(self.multiplier, pull) * pull
        for step in longest * 0.5 ** np.arange(30):
            matrix = self.matrix + step * direction[:-1].reshape(self.matrix.shape)
            log_largest = self.log_largest + step * direction[-1]
            value, slopes = search.conditions(matrix, log_largest)
            if not np.isfinite(value).all():
                continue
            slack = np.maximum(self.slack + step * change, value)
            bounds = weight / slack / _FAR_FROM_CENTRE, weight / slack * _FAR_FROM_CENTRE
            moved = _Point(matrix, log_largest, value, slopes, slack, np.clip(multiplier, *bounds))
            if moved._merit(weight, price) <= own + 1e-4 * step * falls:
                return moved
        return None

    def _merit(self, weight: float, price: float) -> float:
        """What is minimised, a barrier, and a price on slacks that are not the values."""
        missed = abs(self.value - self.slack).sum()
        return float(self.log_largest - weight * np.log(self.slack).sum() + price * missed)


def _longest_step(values: Array, change: Array) -> float:
    """At most 1, and such that positive values stay positive."""
    falling = change < 0
    return float(min(1.0, _KEPT * (values[falling] / -change[falling]).min(initial=inf)))
