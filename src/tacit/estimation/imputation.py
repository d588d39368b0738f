"""Multiple imputation: draws of the true values, so that any tool can analyse them.

The law of r given your own columns is a multinomial logistic regression, seen through the known
noise. Each draw takes its own coefficients from their posterior law, then each true value from its
law given these, the letter and your own columns: draws are proper ([R87]).

Coefficients are drawn by elliptical slice sampling around the normal law that fits the posterior at
its mode. Fits of reweighted rows (a bootstrap) follow another law where a fitted share is near 0.

Sources:
    [MAM10] Murray, Adams, MacKay, "Elliptical slice sampling", AISTATS 2010; around a normal law
        that is not the prior: Nishihara, Murray, Adams, J. Mach. Learn. Res. 15, 2014.
    [R87] Rubin, "Multiple imputation for nonresponse in surveys", Wiley, 1987: how to combine.
    [BR99] Barnard, Rubin, "Small-sample degrees of freedom with multiple imputation", Biometrika
        86, 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, pi
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax, stdtrit

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.column import NoisyColumn, inverse_of, refuse_other_columns
from tacit.estimation.own_columns import LARGEST, as_columns, own_numbers
from tacit.estimation.recipient import check_confidence
from tacit.information.laws import as_numbers

_PRIOR_SPREAD = 5.0
"""Standard deviation of the normal prior of each coefficient, for columns of unit variance."""

_MOST_STEPS = 100
_SLOPE_TOL = 1e-10
"""Of the log density of each row, at which the search for the mode stops."""

_STEPS = 25
"""Of every chain before its draw; it starts from the normal law at the mode."""

_MOST_ENTRIES = 4_000_000
"""Of the largest array: chains run together as far as that allows."""


def impute(
    column: NoisyColumn, given: Mapping[str, ArrayLike] | Any, *, draws: int = 50, seed: int
) -> NDArray[np.str_]:
    """True values drawn from their law given the letters and your own columns, ``[draw, row]``.

    ``given`` has to hold every column of the later analysis, its outcome included, and products of
    columns where the analysis has interactions with the noisy one. What is missing there counts as
    having nothing to do with the true value given the rest, and the analysis would find that.

    Args:
        column: what was released.
        given: name -> values of the same rows, or a pandas, polars or pyarrow table of them:
            numbers enter linearly, texts as levels.
        draws: how many; the more noise, the more are needed (see ``Pooled.missing_share``).
        seed: the same seed gives the same draws.

    Raises:
        InvalidInputError: the release does not tell all levels apart.
    """
    refuse_other_columns(column)
    if not _is_whole(draws) or draws < 2:
        raise InvalidInputError(f"draws is {draws!r}: give at least 2, to see how they differ")
    if not _is_whole(seed) or seed < 0:
        raise InvalidInputError(f"seed is {seed!r}: give a whole number, 0 or more")
    inverse_of(column.p_rhat_given_r, column.levels)  # else the prior alone would tell some levels
    rng, n = np.random.default_rng(int(seed)), len(column)
    own = [
        numbers
        for name, values in as_columns(given, "given").items()
        for numbers in own_numbers(name, values, n, column.records).values()
    ]
    design = _standardised(np.column_stack([np.ones(n), *own]))
    rows, row_of, counts = np.unique(
        np.column_stack([column.letters, design]), axis=0, return_inverse=True, return_counts=True
    )
    told = column.p_rhat_given_r[:, rows[:, 0].astype(np.intp)].T  # p(rhat | r), [row, r]
    model = _Model(told, rows[:, 1:], counts.astype(float))
    places = np.empty((draws, n), dtype=np.intp)
    for draw, gamma in enumerate(model.draw_coefficients(draws, rng)):
        law = np.cumsum(model.posterior(gamma), axis=-1)[row_of.reshape(-1), :-1]
        places[draw] = (law < rng.random((n, 1))).sum(axis=1)
    return np.array(column.levels)[places]


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral)


def _standardised(design: Array) -> Array:
    """Columns but the first with mean 0 and variance 1; constant ones are left out."""
    spread = design.std(axis=0)
    kept = spread > 0
    varying = (design[:, kept] - design[:, kept].mean(axis=0)) / spread[kept]
    return np.column_stack([design[:, 0], varying])


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """A multinomial logistic regression of r, whose first level is the reference.

    Coefficients gamma are [..., column, r - 1].

    Attributes:
        told: p(rhat | r) of the letter of each row, [row, r].
        design: your own columns, [row, column].
        counts: how many rows are equal, [row].
    """

    told: Array
    design: Array
    counts: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients."""
        return self.design.shape[1], self.told.shape[1] - 1

    def law(self, gamma: Array) -> Array:
        """p(r | own columns), [..., row, r]."""
        odds = self.design @ gamma
        zeros = np.zeros((*odds.shape[:-1], 1))
        return np.asarray(softmax(np.concatenate([zeros, odds], axis=-1), axis=-1))

    def posterior(self, gamma: Array) -> Array:
        """p(r | rhat, own columns), [..., row, r]."""
        law = self.told * self.law(gamma)
        return np.asarray(law / law.sum(axis=-1, keepdims=True))

    def log_density(self, gamma: Array) -> Array:
        """Of the coefficients given the letters, up to a constant, [...]."""
        likelihood = (self.told * self.law(gamma)).sum(axis=-1)
        penalty = (gamma**2).sum(axis=(-2, -1)) / (2 * _PRIOR_SPREAD**2)
        with np.errstate(divide="ignore"):  # far away a letter that was seen may be impossible
            return np.asarray(np.log(likelihood) @ self.counts - penalty)

    def mode(self) -> Array:
        """The coefficients of largest density, by Newton's method."""
        gamma = np.zeros(self.shape)
        density = self.log_density(gamma)
        for _ in range(_MOST_STEPS):
            slope = self.slope(gamma)
            if abs(slope).max(initial=0.0) <= _SLOPE_TOL * self.counts.sum():
                break
            values, vectors = self.curvature(gamma)
            step = (vectors @ (vectors.T @ slope.ravel() / values)).reshape(self.shape)
            for shrink in 0.5 ** np.arange(30):
                trial = gamma + shrink * step
                if (at_trial := self.log_density(trial)) > density:
                    break
            else:
                break
            gamma, density = trial, at_trial
        return gamma

    def slope(self, gamma: Array) -> Array:
        """The first derivative of the log density, [column, r - 1]."""
        residual = self.counts[:, None] * (self.posterior(gamma) - self.law(gamma))
        return np.asarray(self.design.T @ residual[:, 1:] - gamma / _PRIOR_SPREAD**2)

    def curvature(self, gamma: Array) -> tuple[Array, Array]:
        """Eigenvalues and vectors of minus the second derivative of the log density."""
        before, after = self.law(gamma)[:, 1:], self.posterior(gamma)[:, 1:]
        spread = _multinomial_covariance(before) - _multinomial_covariance(after)
        each = np.einsum(
            "i,ia,ib,irs->arbs", self.counts, self.design, self.design, spread, optimize=True
        )
        prior = np.eye(gamma.size) / _PRIOR_SPREAD**2
        values, vectors = np.linalg.eigh(each.reshape(prior.shape) + prior)
        # Away from the mode the noise may make it less than the prior's.
        return np.maximum(values, _PRIOR_SPREAD**-2), vectors

    def draw_coefficients(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws from the posterior law, one for each chain, [draw, column, r - 1]."""
        mode = self.mode()
        values, vectors = self.curvature(mode)
        root = vectors / np.sqrt(values)
        at_once = max(1, _MOST_ENTRIES // self.told.size)
        sizes = [min(at_once, draws - first) for first in range(0, draws, at_once)]
        return np.concatenate([self._run_chains(mode, root, size, rng) for size in sizes])

    def _run_chains(
        self, mode: Array, root: Array, n_chains: int, rng: np.random.Generator
    ) -> Array:
        """Elliptical slice sampling ([MAM10] figure 2), in coordinates of the normal law."""

        def gamma_at(points: Array) -> Array:
            return np.asarray(mode + (points @ root.T).reshape(len(points), *self.shape))

        def log_ratio(points: Array) -> Array:
            normal = -(points**2).sum(axis=1) / 2
            return np.asarray(self.log_density(gamma_at(points)) - normal)

        points = rng.standard_normal((n_chains, mode.size))
        points[~np.isfinite(log_ratio(points))] = 0.0  # the mode
        for _ in range(_STEPS):
            points = _step_on_ellipses(points, log_ratio, rng)
        return gamma_at(points)


def _step_on_ellipses(
    points: Array, log_ratio: Callable[[Array], Array], rng: np.random.Generator
) -> Array:
    """One step of every chain ([MAM10] figure 2): shrink the arc until a point is in the slice."""
    n_chains = len(points)
    others = rng.standard_normal(points.shape)
    level = log_ratio(points) - rng.standard_exponential(n_chains)
    angle = rng.uniform(0, 2 * pi, n_chains)
    low, high = angle - 2 * pi, angle.copy()
    moved, left = points.copy(), np.arange(n_chains)
    while left.size:
        turn = angle[left, None]
        trial = np.cos(turn) * points[left] + np.sin(turn) * others[left]
        is_in = log_ratio(trial) > level[left]
        moved[left[is_in]] = trial[is_in]
        left = left[~is_in]
        low[left] = np.where(angle[left] < 0, angle[left], low[left])
        high[left] = np.where(angle[left] >= 0, angle[left], high[left])
        angle[left] = rng.uniform(low[left], high[left])
    return moved


def _multinomial_covariance(law: Array) -> Array:
    """diag(p) - p p^T for each row, [row, r, r]."""
    return np.asarray(law[:, :, None] * (np.eye(law.shape[1]) - law[:, None, :]))


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """What an analysis of every draw says together ([R87]).

    Attributes:
        values: means of the estimates.
        standard_errors: from within draws and between them.
        intervals: ``[value, 2]``, by Student's law.
        degrees_of_freedom: of these laws.
        missing_share: of the information, lost to the noise. Above 0.5, take at least 100 draws.
    """

    values: Array
    standard_errors: Array
    intervals: Array
    degrees_of_freedom: Array
    missing_share: Array


def pool(
    estimates: ArrayLike,
    standard_errors: ArrayLike,
    *,
    confidence: float = 0.95,
    degrees_of_freedom: float = inf,
) -> Pooled:
    """Combine estimates from multiple imputations by Rubin's rules ([R87] section 3.1).

    Args:
        estimates: ``[draw, value]``, from the same analysis of every draw.
        standard_errors: of them, as that analysis gives them.
        confidence: of each interval.
        degrees_of_freedom: of the analysis if nothing were noisy: rows less coefficients. Give it
            where rows are few ([BR99]).
    """
    check_confidence(confidence)
    try:
        is_positive = bool(degrees_of_freedom > 0)
    except (TypeError, ValueError):
        is_positive = False
    if not is_positive:
        raise InvalidInputError(
            f"degrees_of_freedom is {degrees_of_freedom!r}: give rows less coefficients, above 0"
        )
    q = as_numbers(estimates, name="estimates")
    errors = as_numbers(standard_errors, name="standard_errors")
    if q.ndim != 2 or q.shape != errors.shape or len(q) < 2:
        raise InvalidInputError(
            f"estimates and standard_errors have shapes {q.shape} and {errors.shape}: give both as "
            "[draw, value], with at least 2 draws"
        )
    for name, array, least in (("estimates", q, -LARGEST), ("standard_errors", errors, 0.0)):
        wrong = np.argwhere(~((least <= array) & (array <= LARGEST)))
        if wrong.size > 0:
            draw, value = wrong[0]
            raise InvalidInputError(
                f"{name} holds {array[draw, value]:g} of draw {draw} in value {value}, counted "
                "from 0: an analysis without an answer cannot be combined"
            )
    u = errors**2
    within, between = u.mean(axis=0), (1 + 1 / len(q)) * q.var(axis=0, ddof=1)
    total = within + between
    missing = between / np.where(total > 0, total, 1.0)
    degrees = np.where(missing > 0, (len(q) - 1) / np.where(missing > 0, missing, 1.0) ** 2, inf)
    if degrees_of_freedom < inf:
        complete = degrees_of_freedom
        seen = (complete + 1) / (complete + 3) * complete * (1 - missing)
        with np.errstate(divide="ignore"):
            degrees = 1 / (1 / degrees + 1 / seen)  # [BR99] equation (3)
    half = -stdtrit(degrees, (1 - confidence) / 2) * np.sqrt(total)
    mean = q.mean(axis=0)
    intervals = np.stack([mean - half, mean + half], axis=1)
    return Pooled(mean, np.sqrt(total), intervals, degrees, missing)
