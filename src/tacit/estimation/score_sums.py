"""Sums over rows that corrected estimating equations need: of scores, of products, of derivatives.

A linear regression has scores that are linear in β: their sums follow from moments of the rows,
which are taken once (``Moments``). For other links every β needs the rows again (``Rows``). Both
answer the same questions. The first axis of most arrays counts searches, see ``corrected_scores``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array

if TYPE_CHECKING:
    from tacit.estimation.corrected_scores import CorrectedScores

Flags = NDArray[np.bool_]

_ROWS_AT_ONCE = 16_384
"""Rows whose moments are taken together: few enough for the cache of a processor."""

_MOST_ENTRIES = 4_000_000
"""Moments whose products are summed together: threads of BLAS wait for each other every time."""

_RESIDUAL_TOL = 1e-14
"""Relative. A residual below this is rounding: rows without spread must not seem to have some."""

_WORST_BASIS = 1e6
"""Condition of a basis of the covariates above which each of them is only scaled."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Samples whose rows are read again for every β.

    Attributes:
        equations: of the rows.
        counts: [search, row].
        sizes: of what the scores are made of, in the mean square, [search, coefficient].
    """

    equations: CorrectedScores
    counts: Array
    sizes: Array

    @property
    def n(self) -> Array:
        """Rows, [search]."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def origin(self) -> Array:
        """Where the search for a root starts, [coefficient]."""
        return np.zeros(self.equations.design.shape[-1])

    @property
    def is_linear(self) -> bool:
        """Whether there is one root at most."""
        return self.equations.link == "linear"

    def take(self, which: NDArray[np.intp]) -> Rows:
        """The samples of other searches."""
        return Rows(self.equations, self.counts[which], self.sizes[which])

    def sums(self, beta: Array) -> tuple[Array, Array]:
        """Of the scores and of their squares, [search, coefficient]."""
        scores = self.equations.scores(beta)
        totals = np.einsum("sr,srp->sp", self.counts, scores)
        return totals, np.einsum("sr,srp->sp", self.counts, scores**2)

    def slope(self, beta: Array) -> Array:
        """Minus the derivative of the sums, [search, coefficient, coefficient]."""
        return self.equations.slope(self.counts, beta)

    def products(self, beta: Array) -> Array:
        """Σ score scoreᵀ, [search, coefficient, coefficient]."""
        scores = self.equations.scores(beta)
        return np.asarray(np.einsum("sr,srp,srq->spq", self.counts, scores, scores, optimize=True))

    def along(self, beta: Array, direction: Array) -> tuple[Array, Array]:
        """Sums of the scores and of their squares in a direction, [search]."""
        own = np.einsum("srp,sp->sr", self.equations.scores(beta), direction)
        return np.einsum("sr,sr->s", self.counts, own), np.einsum("sr,sr->s", self.counts, own**2)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Samples of a linear regression, by sums of products of what the score of a row follows from.

    With x = z B the score of a row is Bᵀ (u − M d), d = B (β − β₀), where u = Σ_k w (y − x β₀) z
    and M = Σ_k w z zᵀ. The basis B makes the z nearly uncorrelated and β₀ is nearly the root, so
    that nothing large is subtracted from what is almost as large.

    Attributes:
        n: rows, [search].
        sizes: as of ``Rows``.
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
    def of(equations: CorrectedScores, counts: Array, sizes: Array) -> Moments:
        """Read all rows once, as many at a time as fit."""
        n_p, n_moments = equations.design.shape[-1], equations.n_moments
        together = counts.sum(axis=0, keepdims=True)
        zero, free = np.zeros((1, n_p)), np.ones((1, n_p), dtype=bool)
        sums = np.einsum("sr,srp->sp", together, equations.scores(zero))
        root = solve_free(equations.slope(together, zero), sums, free)[0]
        origin = np.where(np.isfinite(root), root, 0.0)  # of many roots, none is nearer
        basis = _basis_of(equations, together[0])
        upper = np.triu_indices(n_p)
        totals = np.zeros((len(counts), n_moments))
        squares = np.zeros((len(counts), n_moments, n_moments))
        at_once = max(1, _MOST_ENTRIES // n_moments)
        for first in range(0, counts.shape[1], at_once):
            rows = slice(first, first + at_once)
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
        return Moments(n, sizes, slopes, totals, squares, origin, basis, of_step)

    @property
    def is_linear(self) -> bool:
        """Whether there is one root at most."""
        return True

    def take(self, which: NDArray[np.intp]) -> Moments:
        """The samples of other searches."""
        return replace(
            self,
            n=self.n[which],
            sizes=self.sizes[which],
            slopes=self.slopes[which],
            totals=self.totals[which],
            squares=self.squares[which],
        )

    def sums(self, beta: Array) -> tuple[Array, Array]:
        """Of the scores and of their squares, [search, coefficient]."""
        totals = (self._map(beta) @ self.totals[:, :, None])[:, :, 0]
        return totals @ self.basis, np.diagonal(self.products(beta), axis1=1, axis2=2)

    def slope(self, beta: Array) -> Array:
        """Minus the derivative of the sums, [search, coefficient, coefficient]."""
        return self.slopes

    def products(self, beta: Array) -> Array:
        """Σ score scoreᵀ, [search, coefficient, coefficient]."""
        to_scores = self.basis.T @ self._map(beta)
        return np.asarray(to_scores @ self.squares @ to_scores.swapaxes(1, 2))

    def along(self, beta: Array, direction: Array) -> tuple[Array, Array]:
        """Sums of the scores and of their squares in a direction, [search]."""
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


def sizes_of(equations: CorrectedScores, counts: Array) -> Array:
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
    found = np.empty((len(design), equations.n_moments))
    inverse = np.linalg.inv(basis)
    for first in range(0, len(design), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        x = np.ascontiguousarray(design[part].transpose(2, 1, 0))  # [coefficient, k, row]
        z = np.einsum("pq,pkr->qkr", inverse, x)
        outcome = equations.outcome[rows][part].T
        residual = outcome - np.einsum("p,pkr->kr", origin, x)
        size = abs(outcome).max() + abs(x).max(axis=(1, 2)) @ abs(origin)
        residual[abs(residual) <= _RESIDUAL_TOL * size] = 0.0
        weights = equations.weights[rows][part].T
        weighted = weights * z
        pairs = zip(*np.triu_indices(len(x)), strict=True)
        m = [np.einsum("kr,kr->r", weighted[p], z[q]) for p, q in pairs]
        found[part] = np.vstack([np.einsum("kr,pkr->pr", weights * residual, z), m]).T
    return found


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


Samples = Rows | Moments


def is_regular(matrix: Array) -> Flags:
    """Whether the determinant is not 0; of tiny numbers, it would be rounded to 0."""
    return np.asarray(np.linalg.slogdet(matrix)[0] != 0)


def solve_free(matrix: Array, right: Array, is_free: Flags) -> Array:
    """Solutions of systems in the free unknowns, 0 in the others; NaN where one is singular."""
    both = is_free[:, :, None] & is_free[:, None, :]
    systems = np.where(both, matrix, np.eye(matrix.shape[-1]))
    has_solution = is_regular(systems)
    systems[~has_solution] = np.eye(matrix.shape[-1])
    found = np.linalg.solve(systems, np.where(is_free, right, 0.0)[:, :, None])[:, :, 0]
    return np.where(has_solution[:, None], found, np.nan)
