"""Corrected estimating equations of regressions, for many samples and many searches at once.

Each row counts once for every combination k of true levels, with the weight that undoes the noise
on average: Σ_rows Σ_k w (y − μ(x β)) x = 0 ([N90], [AKN98]). A *search* is a sample and a start,
with all coefficients free or one held; the first axis of most arrays here counts searches.

All that is asked of the rows are sums: of scores, of their products, of their derivatives. Where
the link is linear, a score is linear in β, so that these sums follow from moments of the rows,
which are taken once; else every β needs the rows again (``score_sums``).

Sources:
    [N90] Nakamura, "Corrected score function for errors-in-variables models", Biometrika 77, 1990.
    [AKN98] Akazawa, Kinukawa, Nakamura, "A note on the corrected score function adjusting for
        misclassification", J. Japan Statist. Soc. 28, 1998.
    [B92] Boos, "On generalized score tests", Amer. Statist. 46, 1992: the intervals. For one
        covariate of a linear regression they are Fieller's.
    [DJ71] Dowell, Jarratt, "A modified regula falsi method for computing the root of an equation",
        BIT 11, 1971: the Illinois rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.estimation.score_sums import Moments, Rows, Samples, is_regular, sizes_of, solve_free

Link = Literal["linear", "logistic"]
Flags = NDArray[np.bool_]

_MAX_STEPS = 60
_SCORE_TOL = 1e-9
"""Of the mean score, in units of its standard deviation."""

_LEAST_SPREAD = 1e-2
"""Of what scores are made of. A level of one row has a score that is 0 at the root, and so no
standard deviation there: rounding must not count as one."""

_STEP_TOL = 1e-6
"""Of a log odds. Where a coefficient is infinite, all scores vanish far away, but steps do not."""

_FARTHEST = 60.0
"""Standard errors from the estimate beyond which an end of an interval counts as infinite."""

_END_TOL = 1e-4
"""Of an end of an interval, in standard errors."""

_TEST_TOL = 1e-6
"""Of the statistic of a test at an end of an interval."""

_MOST_ENTRIES = 4_000_000
"""Of the largest array: searches run together as far as that allows."""

_MOST_MOMENTS = 300
"""Figures of a row whose products are summed: 22 coefficients. More cost more than they save."""


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The same regression fitted to several samples; NaN where there is no solution.

    Attributes:
        coefficients: [sample, coefficient].
        covariance: sandwich, [sample, coefficient, coefficient].
        intervals: from score tests, [sample, coefficient, low or high].
        is_solved: [sample].
    """

    coefficients: Array
    covariance: Array
    intervals: Array
    is_solved: Flags


@dataclass(frozen=True, eq=False)
class CorrectedScores:
    """The equations for rows that differ in what is known; a sample says how many there are.

    Attributes:
        link: how the mean depends on x β.
        weights: of every combination of true levels, [row, k].
        outcome: [row, k].
        design: [row, k, coefficient].
    """

    link: Link
    weights: Array
    outcome: Array
    design: Array

    def fit(self, counts: Array, quantile: float) -> Fits:
        """Coefficients and intervals of samples.

        Args:
            counts: [sample, row].
            quantile: of intervals, such as 1.96.
        """
        parts = [self._fit_together(part, quantile) for part in self._split(counts)]
        return Fits(*map(np.concatenate, zip(*parts, strict=True)))

    def _split(self, searches: NDArray[Any]) -> list[NDArray[Any]]:
        """Searches in parts that are small enough to run together."""
        at_once = max(1, _MOST_ENTRIES // max(self.design.size, self.n_moments**2))
        return np.array_split(searches, range(at_once, len(searches), at_once))

    @property
    def n_moments(self) -> int:
        """Figures of a row that its score follows from; 0 where rows are asked instead."""
        n_p = self.design.shape[-1]
        n_moments = n_p + n_p * (n_p + 1) // 2
        return n_moments if self.link == "linear" and n_moments <= _MOST_MOMENTS else 0

    def _samples(self, counts: Array) -> Samples:
        sizes = sizes_of(self, counts)
        if self.n_moments:
            return Moments.of(self, counts, sizes)
        return Rows(self, counts, sizes)

    def _fit_together(self, counts: Array, quantile: float) -> tuple[Array, Array, Array, Flags]:
        """What ``Fits`` holds, of samples that fit into memory."""
        n_samples, n_p = len(counts), self.design.shape[-1]
        samples = self._samples(counts)
        everything = np.ones((n_samples, n_p), dtype=bool)
        start = np.broadcast_to(samples.origin, (n_samples, n_p))
        found, is_solved = _solve(samples, start, everything)
        is_solved &= is_regular(samples.slope(found))  # else other roots are as good
        coefficients = np.full((n_samples, n_p), np.nan)
        covariance = np.full((n_samples, n_p, n_p), np.nan)
        intervals = np.full((n_samples, n_p, 2), np.nan)
        coefficients[is_solved] = found[is_solved]
        solved = samples.take(np.flatnonzero(is_solved))
        # Sandwich: slope⁻¹ (Σ score scoreᵀ) slope⁻ᵀ, with n − p in the place of n.
        bread = np.linalg.inv(solved.slope(found[is_solved]))
        filling = solved.products(found[is_solved])
        inflation = _inflation(solved, n_p)[:, None, None]
        covariance[is_solved] = bread @ filling @ bread.swapaxes(1, 2) * inflation
        errors = np.sqrt(np.diagonal(covariance[is_solved], axis1=1, axis2=2))
        intervals[is_solved] = self._intervals(solved, found[is_solved], errors, quantile)
        return coefficients, covariance, intervals, is_solved

    def solve(self, counts: Array, start: Array, is_free: Flags) -> tuple[Array, Flags]:
        """Roots of the equations of free coefficients, and which were found.

        Args:
            counts: [search, row].
            start: [search, coefficient]; those that are not free stay where they are.
            is_free: [search, coefficient].
        """
        return _solve(self._samples(counts), start, is_free)

    @cached_property
    def flat(self) -> Array:
        """The design with a row for each combination of levels, [row and k, coefficient]."""
        return np.ascontiguousarray(self.design.reshape(-1, self.design.shape[-1]))

    def mean(self, beta: Array) -> Array:
        """Of the outcome, [search, row, k]."""
        linear = (beta @ self.flat.T).reshape(len(beta), *self.weights.shape)
        return (1 + np.tanh(linear / 2)) / 2 if self.link == "logistic" else linear

    def scores(self, beta: Array) -> Array:
        """What one row of each kind adds to the equations, [search, row, coefficient]."""
        residual = self.weights * (self.outcome - self.mean(beta))
        return np.asarray(np.einsum("srk,rkp->srp", residual, self.design))

    def slope(self, counts: Array, beta: Array) -> Array:
        """Minus the derivative of the equations, [search, coefficient, coefficient]."""
        weights = counts[:, :, None] * self.weights
        if self.link == "logistic":
            mean = self.mean(beta)
            weights = weights * (mean * (1 - mean))
        return np.asarray((weights.reshape(len(beta), 1, len(self.flat)) * self.flat.T) @ self.flat)

    def _intervals(self, samples: Samples, found: Array, errors: Array, quantile: float) -> Array:
        """The last values that score tests accept, going down and up ([B92])."""
        n_samples, n_p = found.shape
        sample, held, side = (each.ravel() for each in np.indices((n_samples, n_p, 2)))
        sign, error = 2.0 * side - 1, errors[sample, held]
        last, is_free = found[sample], np.arange(n_p) != held[:, None]

        def excess_together(which: NDArray[np.intp], distance: Array) -> Array:
            start, at = last[which], held[which]
            at_each = np.arange(len(which)), at
            start[at_each] = found[sample[which], at] + sign[which] * distance * error[which]
            mine = samples.take(sample[which])
            beta, is_solved = _solve(mine, start, is_free[which])
            # The next test of this end is near, so its search starts at these roots.
            last[which[is_solved]] = beta[is_solved]
            room = sign[which] * _standard_scores(mine, beta, at) + quantile
            return np.where(is_solved, room, np.nan)

        def excess(which: NDArray[np.intp], distance: Array) -> Array:
            """Room that the tests leave; NaN where the other equations have no root."""
            parts = self._split(np.arange(len(which)))
            return np.concatenate([excess_together(which[p], distance[p]) for p in parts])

        distance = _last_accepted(excess, len(sample), quantile)
        # Without any spread in these rows, they do not say how far a coefficient may be.
        reach = np.where(error > 0, distance, np.inf) * np.where(error > 0, error, 1.0)
        ends = found[sample, held] + sign * reach
        return np.asarray(ends.reshape(n_samples, n_p, 2))


def _inflation(samples: Samples, n_coefficients: int) -> Array:
    return np.asarray(samples.n / np.maximum(1.0, samples.n - n_coefficients))


def _solve(samples: Samples, start: Array, is_free: Flags) -> tuple[Array, Flags]:
    """Roots of the equations of free coefficients by Newton's method, and which were found."""
    beta, is_solved = start.copy(), np.zeros(len(start), dtype=bool)
    left, mine = np.arange(len(start)), samples
    for _ in range(_MAX_STEPS):
        at, free = beta[left], is_free[left]
        sums, spread, least = _free_sums(mine, at, free)
        is_root = abs(sums / np.where(spread > 0, spread, 1.0)).max(axis=1) <= _SCORE_TOL
        spread = np.maximum(spread, least)
        step = solve_free(mine.slope(at), sums, free)
        is_near = abs(sums / spread).max(axis=1) <= _SCORE_TOL
        is_small = mine.is_linear | ((abs(step) * mine.sizes).max(axis=1) <= _STEP_TOL)
        is_root |= is_near & is_small
        is_solved[left[is_root]] = True
        go_on = np.flatnonzero(~is_root)
        left, sums, spread, step = left[go_on], sums[go_on], spread[go_on], step[go_on]
        if left.size == 0:
            break
        mine = samples.take(left)
        beta[left], is_better = _step(mine, beta[left], step, is_free[left], (sums, spread))
        left = left[is_better]
        mine = samples.take(left)
    return beta, is_solved


def _step(
    samples: Samples, beta: Array, step: Array, is_free: Flags, before: tuple[Array, Array]
) -> tuple[Array, Flags]:
    """As far along ``step`` as the equations come nearer to 0; and where they do at all."""
    sums, spread = before
    size = abs(sums / spread).max(axis=1)
    moved, left = beta.copy(), np.flatnonzero(np.isfinite(step).all(axis=1))
    is_better = np.zeros(len(beta), dtype=bool)
    for shrink in 0.5 ** np.arange(12):
        trial = beta[left] + shrink * step[left]
        new, *_ = _free_sums(samples.take(left), trial, is_free[left])
        is_near = abs(new / spread[left]).max(axis=1) < size[left]
        moved[left[is_near]] = trial[is_near]
        is_better[left[is_near]] = True
        left = left[~is_near]
        if left.size == 0:
            break
    return moved, is_better


def _free_sums(samples: Samples, beta: Array, is_free: Flags) -> tuple[Array, Array, Array]:
    """Sums of the scores of free coefficients, their spread if rows were independent, the least."""
    sums, squares = samples.sums(beta)
    spread = np.sqrt(np.maximum(squares, 0.0))
    least = _LEAST_SPREAD * samples.sizes
    return np.where(is_free, sums, 0.0), spread, np.where(least > 0, least, 1.0)


def _standard_scores(samples: Samples, beta: Array, held: NDArray[np.intp]) -> Array:
    """Scores of the held coefficients, the others being at their roots, in standard errors."""
    slope, each = samples.slope(beta), np.arange(len(beta))
    is_free = np.arange(beta.shape[1]) != held[:, None]
    direction = -solve_free(slope.swapaxes(1, 2), slope[each, held], is_free)
    direction[each, held] = 1.0
    total, square = samples.along(beta, direction)
    spread = np.sqrt(square * _inflation(samples, beta.shape[1]))
    return np.asarray(np.divide(total, spread, out=np.zeros(len(beta)), where=spread > 0))


def _last_accepted(
    excess: Callable[[NDArray[np.intp], Array], Array], n: int, first: float
) -> Array:
    """Distances where ``excess`` falls to 0; infinite where it never does or is not known."""
    low, high = np.zeros(n), np.full(n, first)
    at_low, at_high = np.full(n, first), np.zeros(n)
    left = np.arange(n)
    while left.size > 0:
        at_high[left] = excess(left, high[left])
        is_far = at_high[left] > 0
        left = left[is_far]
        low[left], at_low[left] = high[left], at_high[left]
        high[left] *= 1.5
        at_high[left[high[left] > _FARTHEST]] = np.nan
        left = left[high[left] <= _FARTHEST]
    left = np.flatnonzero(np.isfinite(at_high))
    distance = np.full(n, np.inf)
    distance[left] = _roots(
        lambda which, at: excess(left[which], at),
        (low[left], high[left]),
        (at_low[left], at_high[left]),
    )
    return distance


def _roots(
    function: Callable[[NDArray[np.intp], Array], Array],
    bracket: tuple[Array, Array],
    values: tuple[Array, Array],
) -> Array:
    """Roots of falling functions by the Illinois rule ([DJ71]); infinite where one is not known."""
    (low, high), (at_low, at_high) = bracket, values
    roots, left = high.copy(), np.arange(len(low))
    was_inside = np.full(len(low), np.nan)
    for _ in range(_MAX_STEPS):
        roots[left] = low[left] + (high - low)[left] * (at_low / (at_low - at_high))[left]
        at = function(left, roots[left])
        roots[left[np.isnan(at)]] = np.inf
        is_open = (abs(at) > _TEST_TOL) & ((high - low)[left] > _END_TOL)
        left, at = left[is_open], at[is_open]
        if left.size == 0:
            break
        is_inside = at > 0
        again = left[was_inside[left] == is_inside]  # the other end stayed: halve its value
        at_high[again] /= np.where(was_inside[again] == 1, 2, 1)
        at_low[again] /= np.where(was_inside[again] == 0, 2, 1)
        was_inside[left] = is_inside
        inner, outer = left[is_inside], left[~is_inside]
        low[inner], at_low[inner] = roots[inner], at[is_inside]
        high[outer], at_high[outer] = roots[outer], at[~is_inside]
    return roots
