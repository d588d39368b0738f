"""Corrected estimating equations of regressions, for many samples and many searches at once.

Each row counts once for every combination k of true levels, with the weight that undoes the noise
on average: Σ_rows Σ_k w (y − μ(x β)) x = 0 ([N90], [AKN98]). A *search* is a sample and a start,
with all coefficients free or one held; the first axis of most arrays here counts searches.

All that is asked of the rows are sums: of scores, of their products, of their derivatives. Where
the link is linear, a score is linear in β, so that these sums follow from moments of the rows,
which are taken once (``_Moments``); else every β needs the rows again (``_Rows``).

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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array

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

_ROWS_AT_ONCE = 16_384
"""Rows whose moments are taken together: few enough for the cache of a processor."""

_RESIDUAL_TOL = 1e-14
"""Relative. A residual below this is rounding: rows without spread must not seem to have some."""

_WORST_BASIS = 1e6
"""Condition of a basis of the covariates above which each of them is only scaled."""


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
        return Fits(
            np.concatenate([part.coefficients for part in parts]),
            np.concatenate([part.covariance for part in parts]),
            np.concatenate([part.intervals for part in parts]),
            np.concatenate([part.is_solved for part in parts]),
        )

    def _split(self, searches: NDArray[Any]) -> list[NDArray[Any]]:
        """Searches in parts that are small enough to run together."""
        at_once = max(1, _MOST_ENTRIES // max(self.design.size, self._n_moments**2))
        return np.array_split(searches, range(at_once, len(searches), at_once))

    @property
    def _n_moments(self) -> int:
        """Figures of a row that its score follows from; 0 where rows are asked instead."""
        n_p = self.design.shape[-1]
        n_moments = n_p + n_p * (n_p + 1) // 2
        return n_moments if self.link == "linear" and n_moments <= _MOST_MOMENTS else 0

    def _samples(self, counts: Array) -> _Samples:
        sizes = _sizes_of(self, counts)
        if self._n_moments:
            return _Moments.of(self, counts, sizes)
        return _Rows(self, counts, sizes)

    def _fit_together(self, counts: Array, quantile: float) -> Fits:
        n_samples, n_p = len(counts), self.design.shape[-1]
        samples = self._samples(counts)
        everything = np.ones((n_samples, n_p), dtype=bool)
        start = np.broadcast_to(samples.origin, (n_samples, n_p))
        found, is_solved = _solve(samples, start, everything)
        is_solved &= _is_regular(samples.slope(found))  # else other roots are as good
        coefficients = np.full((n_samples, n_p), np.nan)
        covariance = np.full((n_samples, n_p, n_p), np.nan)
        intervals = np.full((n_samples, n_p, 2), np.nan)
        coefficients[is_solved] = found[is_solved]
        solved = samples.take(np.flatnonzero(is_solved))
        covariance[is_solved] = _covariance(solved, found[is_solved])
        errors = np.sqrt(np.diagonal(covariance[is_solved], axis1=1, axis2=2))
        intervals[is_solved] = self._intervals(solved, found[is_solved], errors, quantile)
        return Fits(coefficients, covariance, intervals, is_solved)

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

    def _intervals(self, samples: _Samples, found: Array, errors: Array, quantile: float) -> Array:
        """The last values that score tests accept, going down and up ([B92])."""
        n_samples, n_p = found.shape
        sample, held, side = (each.ravel() for each in np.indices((n_samples, n_p, 2)))
        sign, error = 2.0 * side - 1, errors[sample, held]
        last, is_free = found[sample], np.arange(n_p) != held[:, None]

        def excess(which: NDArray[np.intp], distance: Array) -> Array:
            """Room that the tests leave; NaN where the other equations have no root."""
            start, at = last[which], held[which]
            at_each = np.arange(len(which)), at
            start[at_each] = found[sample[which], at] + sign[which] * distance * error[which]
            mine = samples.take(sample[which])
            beta, is_solved = _solve(mine, start, is_free[which])
            last[which[is_solved]] = beta[is_solved]
            room = sign[which] * _standard_scores(mine, beta, at) + quantile
            return np.where(is_solved, room, np.nan)

        def excess_in_parts(which: NDArray[np.intp], distance: Array) -> Array:
            parts = self._split(np.arange(len(which)))
            return np.concatenate([excess(which[part], distance[part]) for part in parts])

        distance = _last_accepted(excess_in_parts, len(sample), quantile)
        # Without any spread in these rows, they do not say how far a coefficient may be.
        reach = np.where(error > 0, distance, np.inf) * np.where(error > 0, error, 1.0)
        ends = found[sample, held] + sign * reach
        return np.asarray(ends.reshape(n_samples, n_p, 2))


class _Samples(Protocol):
    """Sums over the rows of each search at its β [search, coefficient]."""

    @property
    def n(self) -> Array:
        """Rows, [search]."""

    @property
    def origin(self) -> Array:
        """Where the search for a root starts, [coefficient]."""

    @property
    def is_linear(self) -> bool:
        """Whether there is one root at most."""

    @property
    def sizes(self) -> Array:
        """Of what the scores are made of, in the mean square, [search, coefficient]."""

    def take(self, which: NDArray[np.intp]) -> Self:
        """The samples of other searches."""

    def sums(self, beta: Array) -> tuple[Array, Array]:
        """Of the scores and of their squares, [search, coefficient]."""

    def slope(self, beta: Array) -> Array:
        """Minus the derivative of the sums, [search, coefficient, coefficient]."""

    def products(self, beta: Array) -> Array:
        """Σ score scoreᵀ, [search, coefficient, coefficient]."""

    def along(self, beta: Array, direction: Array) -> tuple[Array, Array]:
        """Sums of the scores and of their squares in a direction, [search]."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Samples whose rows are read again for every β.

    Attributes:
        equations: of the rows.
        counts: [search, row].
        sizes: see ``_Samples``.
    """

    equations: CorrectedScores
    counts: Array
    sizes: Array

    @property
    def n(self) -> Array:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def origin(self) -> Array:
        return np.zeros(self.equations.design.shape[-1])

    @property
    def is_linear(self) -> bool:
        return self.equations.link == "linear"

    def take(self, which: NDArray[np.intp]) -> _Rows:
        return _Rows(self.equations, self.counts[which], self.sizes[which])

    def sums(self, beta: Array) -> tuple[Array, Array]:
        scores = self.equations.scores(beta)
        totals = np.einsum("sr,srp->sp", self.counts, scores)
        return totals, np.einsum("sr,srp->sp", self.counts, scores**2)

    def slope(self, beta: Array) -> Array:
        return self.equations.slope(self.counts, beta)

    def products(self, beta: Array) -> Array:
        scores = self.equations.scores(beta)
        return np.asarray(np.einsum("sr,srp,srq->spq", self.counts, scores, scores, optimize=True))

    def along(self, beta: Array, direction: Array) -> tuple[Array, Array]:
        own = np.einsum("srp,sp->sr", self.equations.scores(beta), direction)
        return np.einsum("sr,sr->s", self.counts, own), np.einsum("sr,sr->s", self.counts, own**2)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Samples of a linear regression, by sums of products of what the score of a row follows from.

    With x = z B the score of a row is Bᵀ (u − M d), d = B (β − β₀), where u = Σ_k w (y − x β₀) z
    and M = Σ_k w z zᵀ. The basis B makes the z nearly uncorrelated and β₀ is nearly the root, so
    that nothing large is subtracted from what is almost as large.

    Attributes:
        n: rows, [search].
        sizes: see ``_Samples``.
        slopes: minus the derivatives of the sums in β, [search, coefficient, coefficient].
        totals: of (u, M above and on its diagonal), [search, moment].
        squares: of their products, [search, moment, moment].
        origin: β₀.
        basis: B.
        of_step: what M d is made of, [coefficient, coefficient of d, moment of M].
    """

    n: Array
    sizes: Array
    slopes: Array
    totals: Array
    squares: Array
    origin: Array
    basis: Array
    of_step: Array

    @staticmethod
    def of(equations: CorrectedScores, counts: Array, sizes: Array) -> _Moments:
        """Read all rows once, as many at a time as fit."""
        n_p, n_moments = equations.design.shape[-1], equations._n_moments
        together = counts.sum(axis=0, keepdims=True)
        origin = _near_root(equations, together)
        basis = _basis_of(equations, together[0])
        upper = np.triu_indices(n_p)
        totals = np.zeros((len(counts), n_moments))
        squares = np.zeros((len(counts), n_moments, n_moments))
        for first in range(0, counts.shape[1], _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            each = _moments_of(equations, rows, origin, basis)
            totals += counts[:, rows] @ each
            for k, root in enumerate(np.sqrt(counts[:, rows])):
                scaled = each * root[:, None]
                squares[k] += scaled.T @ scaled  # one array twice: half the work, and symmetric
        unit = np.eye(n_p)
        one, other = unit[upper[0]], unit[upper[1]]
        of_step = np.einsum("mp,mq->pqm", one, other) + np.einsum("mp,mq->pqm", other, one)
        of_step[:, :, upper[0] == upper[1]] /= 2
        slopes = equations.slope(counts, np.zeros((len(counts), n_p)))
        n = counts.sum(axis=1)
        return _Moments(n, sizes, slopes, totals, squares, origin, basis, of_step)

    @property
    def is_linear(self) -> bool:
        return True

    def take(self, which: NDArray[np.intp]) -> _Moments:
        return replace(
            self,
            n=self.n[which],
            sizes=self.sizes[which],
            slopes=self.slopes[which],
            totals=self.totals[which],
            squares=self.squares[which],
        )

    def sums(self, beta: Array) -> tuple[Array, Array]:
        totals = (self._map(beta) @ self.totals[:, :, None])[:, :, 0]
        return totals @ self.basis, np.diagonal(self.products(beta), axis1=1, axis2=2)

    def slope(self, beta: Array) -> Array:
        return self.slopes

    def products(self, beta: Array) -> Array:
        to_scores = self.basis.T @ self._map(beta)
        return np.asarray(to_scores @ self.squares @ to_scores.swapaxes(1, 2))

    def along(self, beta: Array, direction: Array) -> tuple[Array, Array]:
        to_score = ((direction @ self.basis.T)[:, None, :] @ self._map(beta))[:, 0]
        total = np.einsum("sm,sm->s", to_score, self.totals)
        square = np.einsum("sm,smn,sn->s", to_score, self.squares, to_score, optimize=True)
        return total, np.maximum(square, 0.0)

    def _map(self, beta: Array) -> Array:
        """From moments to scores in the basis, [search, coefficient, moment]."""
        step = (beta - self.origin) @ self.basis.T
        of_m = np.einsum("pqm,sq->spm", self.of_step, step)
        unit = np.broadcast_to(np.eye(len(self.origin)), (len(beta), *self.basis.shape))
        return np.concatenate([unit, -of_m], axis=2)


def _sizes_of(equations: CorrectedScores, counts: Array) -> Array:
    """√(Σ (Σ_k |w x|)²) times the size of the outcome, [search, coefficient]."""
    squares = np.zeros((len(counts), equations.design.shape[-1]))
    outcome = np.zeros(len(counts))
    for first in range(0, counts.shape[1], _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        terms = abs(equations.weights[rows, :, None] * equations.design[rows]).sum(axis=1)
        squares += counts[:, rows] @ terms**2
        outcome += counts[:, rows] @ (equations.outcome[rows] ** 2).max(axis=1)
    size = np.sqrt(outcome / counts.sum(axis=1)) if equations.link == "linear" else 1 + 0 * outcome
    return np.asarray(np.sqrt(squares) * size[:, None])


def _moments_of(equations: CorrectedScores, rows: slice, origin: Array, basis: Array) -> Array:
    """u, and M above and on its diagonal, of some rows, [row, moment]."""
    design = equations.design[rows]
    n_rows, n_k, n_p = design.shape
    x = np.ascontiguousarray(design.transpose(2, 1, 0)).reshape(n_p, -1)
    z = np.linalg.solve(basis.T, x).reshape(n_p, n_k, n_rows)
    weights = equations.weights[rows].T
    outcome = equations.outcome[rows].T
    residual = outcome - (origin @ x).reshape(n_k, n_rows)
    size = abs(outcome).max() + abs(x).max(axis=1) @ abs(origin)
    residual[abs(residual) <= _RESIDUAL_TOL * size] = 0.0
    u = np.einsum("kr,pkr->pr", weights * residual, z)
    weighted = weights * z
    upper = zip(*np.triu_indices(n_p), strict=True)
    m = [np.einsum("kr,kr->r", weighted[p], z[q]) for p, q in upper]
    return np.ascontiguousarray(np.vstack([u, m]).T)


def _near_root(equations: CorrectedScores, counts: Array) -> Array:
    """A root of the linear equations of one sample, but for rounding; 0 where there are many."""
    zero = np.zeros((1, equations.design.shape[-1]))
    totals = np.einsum("sr,srp->sp", counts, equations.scores(zero))
    free = np.ones(zero.shape, dtype=bool)
    found = _solve_free(equations.slope(counts, zero), totals, free)[0]
    return np.where(np.isfinite(found), found, 0.0)


def _basis_of(equations: CorrectedScores, counts: Array) -> Array:
    """B such that x = z B and Σ z zᵀ is the unit matrix; or a scale for each covariate."""
    weights = np.broadcast_to(counts[:, None], equations.weights.shape).reshape(-1)
    products = (equations.flat.T * weights) @ equations.flat / weights.sum()
    scales = np.sqrt(np.diag(products))
    scales[scales == 0] = 1.0
    try:
        factor = np.linalg.cholesky(products / np.outer(scales, scales)).T
    except np.linalg.LinAlgError:
        return np.diag(scales)
    return factor * scales if np.linalg.cond(factor) < _WORST_BASIS else np.diag(scales)


def _inflation(samples: _Samples, n_coefficients: int) -> Array:
    return np.asarray(samples.n / np.maximum(1.0, samples.n - n_coefficients))


def _covariance(samples: _Samples, beta: Array) -> Array:
    """Sandwich: slope⁻¹ (Σ score scoreᵀ) slope⁻ᵀ, with n − p in the place of n."""
    bread = np.linalg.inv(samples.slope(beta))
    inflation = _inflation(samples, beta.shape[1])[:, None, None]
    return np.asarray(bread @ samples.products(beta) @ bread.swapaxes(1, 2) * inflation)


def _solve(samples: _Samples, start: Array, is_free: Flags) -> tuple[Array, Flags]:
    """Roots of the equations of free coefficients by Newton's method, and which were found."""
    beta, is_solved = start.copy(), np.zeros(len(start), dtype=bool)
    left, mine = np.arange(len(start)), samples
    for _ in range(_MAX_STEPS):
        at, free = beta[left], is_free[left]
        sums, spread, least = _free_sums(mine, at, free)
        is_root = abs(sums / np.where(spread > 0, spread, 1.0)).max(axis=1) <= _SCORE_TOL
        spread = np.maximum(spread, least)
        step = _solve_free(mine.slope(at), sums, free)
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
    samples: _Samples, beta: Array, step: Array, is_free: Flags, before: tuple[Array, Array]
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


def _free_sums(samples: _Samples, beta: Array, is_free: Flags) -> tuple[Array, Array, Array]:
    """Sums of the scores of free coefficients, their spread if rows were independent, the least."""
    sums, squares = samples.sums(beta)
    spread = np.sqrt(np.maximum(squares, 0.0))
    least = _LEAST_SPREAD * samples.sizes
    return np.where(is_free, sums, 0.0), spread, np.where(least > 0, least, 1.0)


def _standard_scores(samples: _Samples, beta: Array, held: NDArray[np.intp]) -> Array:
    """Scores of the held coefficients, the others being at their roots, in standard errors."""
    slope, each = samples.slope(beta), np.arange(len(beta))
    is_free = np.arange(beta.shape[1]) != held[:, None]
    direction = -_solve_free(slope.swapaxes(1, 2), slope[each, held], is_free)
    direction[each, held] = 1.0
    total, square = samples.along(beta, direction)
    spread = np.sqrt(square * _inflation(samples, beta.shape[1]))
    return np.asarray(np.divide(total, spread, out=np.zeros(len(beta)), where=spread > 0))


def _is_regular(matrix: Array) -> Flags:
    """Whether the determinant is not 0; of tiny numbers, it would be rounded to 0."""
    return np.asarray(np.linalg.slogdet(matrix)[0] != 0)


def _solve_free(matrix: Array, right: Array, is_free: Flags) -> Array:
    """Solutions of systems in the free unknowns, 0 in the others; NaN where one is singular."""
    both = is_free[:, :, None] & is_free[:, None, :]
    systems = np.where(both, matrix, np.eye(matrix.shape[-1]))
    is_regular = _is_regular(systems)
    systems[~is_regular] = np.eye(matrix.shape[-1])
    found = np.linalg.solve(systems, np.where(is_free, right, 0.0)[:, :, None])[:, :, 0]
    return np.where(is_regular[:, None], found, np.nan)


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
