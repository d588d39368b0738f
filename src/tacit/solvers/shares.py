"""Analysable releases whose estimated shares vary least ([M] fact 14).

With A = p(rhat | r) and q = p(rhat), the inverse of A estimates the share of level r among n
records with variance V_r / n, V_r = (A^-1 diag(q) A^-T)_rr - p(r). The largest V_r is not convex in
A: the mean of two permutations can be singular. So it is descended from the release with the least
worst level by sequential quadratic programming, and there is no bound.

In the law of the posteriors p(r | rhat) the problem is convex, for any number of letters: M and
leakages are linear in that law, caps restrict where it lies, and V_r is convex in M. So there is a
dual. Its bound needs the concave envelope, at p(r), of a difference of two convex functions on the
simplex, which takes a global search: not done here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

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

_BLUR = 0.02
"""The start is mixed with so much of a uniform release: the slope of an information is infinite
at 0."""


def solve_shares(problem: Problem, gap_tol: float) -> Solution:
    """A release of R itself, a problem of the least worst level, with the variance descended.

    Its value is infinite where the limits allow no invertible matrix to be found.
    """
    start = solve_levels(problem, gap_tol)
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    search = _Search.of(statement, limits)
    best = start.channel[statement.seen_x].T
    least, status, steps = largest_variance(search.p_r, best), Status.STATIONARY, 0
    if (search.budgets > 0).all():
        # Without caps first: from the best within them a descent may find no way around a corner.
        for stage in (replace(search, caps=search.caps[:0]), search)[: 1 + (search.caps.size > 0)]:
            found, status, taken = stage.descend((1 - _BLUR) * best + _BLUR / len(best))
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


def largest_variance(p_r: Array, matrix: Array) -> float:
    """n times the largest variance of an estimated share, for p(rhat | r), [rhat, r]."""
    return float(_variances(p_r, matrix)[0].max())


def _variances(p_r: Array, matrix: Array) -> tuple[Array, Array]:
    """V_r, and the solutions u_r of M u_r = e_r in columns, with M = A^T diag(1 / q) A.

    For a square A, M^-1 = A^-1 diag(q) A^-T; with more letters it is the best unbiased estimate's.
    """
    q = matrix @ p_r
    used = q > 0
    scaled = matrix[used] / np.sqrt(q[used])[:, None]
    if np.linalg.matrix_rank(scaled, tol=1e-12) < len(p_r):
        return np.full(len(p_r), inf), np.zeros((len(p_r), len(p_r)))
    inverse = np.linalg.inv(scaled.T @ scaled)
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
        from scipy.optimize import minimize

        shape, n = start.shape, start.size
        sums = np.column_stack([np.tile(np.eye(shape[1]), shape[0]), np.zeros(shape[1])])
        conditions: list[Any] = [
            {"type": "eq", "fun": lambda point: sums @ point - 1.0, "jac": lambda _: sums},
            _inequality(self._room, shape),
            _inequality(self._below, shape),
        ]
        if self.caps.size > 0:
            caps = np.column_stack([self.caps, np.zeros(len(self.caps))])
            conditions.append(
                {"type": "ineq", "fun": lambda point: caps @ point, "jac": lambda _: caps}
            )
        begin = np.append(start.ravel(), np.log(largest_variance(self.p_r, start)))
        with warnings.catch_warnings():
            # SciPy before 1.15 warns where it moves a step back into its bounds.
            warnings.filterwarnings("ignore", "Values in x were outside bounds", RuntimeWarning)
            descent = minimize(
                _last,
                begin,
                jac=_slope_of_last,
                bounds=[(_SMALLEST_ENTRY, 1.0)] * n + [(None, None)],
                constraints=conditions,
                method="SLSQP",
                options={"maxiter": _MOST_STEPS, "ftol": _TOLERANCE},
            )
        found = np.clip(descent.x[:-1].reshape(shape), 0.0, 1.0)
        status = Status.STATIONARY if descent.success else Status.OUT_OF_TIME
        return found / found.sum(axis=0), status, int(descent.nit)

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
        variances = np.maximum(variances, 1e-12)
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
    return np.kron(np.eye(n_letters), np.array(rows)) if rows else np.zeros((0, 0))


def _last(point: Array) -> float:
    return float(point[-1])


def _slope_of_last(point: Array) -> Array:
    return np.asarray(np.eye(len(point))[-1])


def _inequality(
    condition: Callable[[Array, float], tuple[Array, Array]], shape: tuple[int, int]
) -> dict[str, Any]:
    """Values that must stay >= 0, and their slopes, as SciPy reads them."""

    def at(point: Array) -> tuple[Array, Array]:
        return condition(point[:-1].reshape(shape), float(point[-1]))

    return {"type": "ineq", "fun": lambda p: at(p)[0], "jac": lambda p: at(p)[1]}
