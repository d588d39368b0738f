"""Linear and logistic regression with noisy columns, as outcome or as covariates.

Each row counts once for every combination of true levels, with the weight that undoes the noise on
average (``NoisyColumn.weights``). The weighted estimating equations then have the mean that the
equations of the true data have, whatever the law of the true values is: the estimate is consistent
for what the same regression would find in the true data, no model of the noisy column is needed,
and nothing is assumed about the outcome beyond what the regression itself assumes.

Sources:
    [N90] Nakamura, "Corrected score function for errors-in-variables models", Biometrika 77, 1990.
    [AKN98] Akazawa, Kinukawa, Nakamura, "A note on the corrected score function adjusting for
        misclassification", J. Japan Statist. Soc. 28, 1998.
    [B92] Boos, "On generalized score tests", Amer. Statist. 46, 1992: the intervals. For one
        covariate of a linear regression they are Fieller's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError, UnconvergedError
from tacit.estimation.column import NoisyColumn, join
from tacit.estimation.recipient import check_confidence
from tacit.markup import html_table
from tacit.numerics.root import find_root
from tacit.numerics.special_functions import logistic, normal_quantile

Link = Literal["linear", "logistic"]

_PLACE_TOL = 1e-4
"""Of an interval's end, in standard errors."""

_MAX_STEPS = 60
_SCORE_TOL = 1e-9
"""Of the mean score, in units of its standard deviation."""

_FARTHEST = 60.0
"""Standard errors from the estimate beyond which an end of an interval counts as infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Coefficients of a regression on the true values, of the population of the rows.

    Attributes:
        link: ``"linear"`` or ``"logistic"``.
        names: of the coefficients; ``name=level`` for a level against the first one.
        coefficients: estimates; log odds ratios where the link is logistic.
        standard_errors: sandwich; right for n large, so use ``intervals``.
        intervals: ``[coefficient, 2]``, from score tests; an end is infinite where the letters do
            not bound it.
        covariance: of the coefficients, sandwich.
        n: rows.
        confidence: of each interval.
    """

    link: Link
    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    intervals: Array
    covariance: Array
    n: int
    confidence: float

    def __repr__(self) -> str:
        """Every coefficient and its interval."""
        told = ", ".join(" ".join(row) for row in self._rows())
        return f"Regression({self.link}, {self.n:,} rows: {told})"

    def _repr_html_(self) -> str:
        """Every coefficient and its interval, as a table for notebooks."""
        caption = f"{self.link}, {self.n:,} rows; intervals at {100 * self.confidence:g} % each"
        return html_table(caption, ("", "coefficient", "interval"), self._rows())

    def _rows(self) -> list[tuple[str, str, str]]:
        figures = zip(self.names, self.coefficients, self.intervals, strict=True)
        return [
            (name, f"{b:.4f}", f"({low:.4f} to {high:.4f})") for name, b, (low, high) in figures
        ]


def fit_linear(
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
    *,
    confidence: float = 0.95,
) -> Regression:
    """Least squares on the true values.

    Args:
        outcome: numbers, or a noisy column with ``numbers`` (of two levels, 0 and 1 by default).
        covariates: name -> values of the same rows. Texts, and noisy columns without ``numbers``,
            are levels against the first one; an intercept is added.
        confidence: of each interval.
    """
    return _fit("linear", outcome, covariates, confidence)


def fit_logistic(
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
    *,
    confidence: float = 0.95,
) -> Regression:
    """Logistic regression on the true values, as maximum likelihood would fit it to them.

    Args:
        outcome: 0 and 1, or a noisy column whose ``numbers`` are (of two levels by default).
        covariates: as for ``fit_linear``.
        confidence: of each interval.
    """
    return _fit("logistic", outcome, covariates, confidence)


def _fit(
    link: Link,
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
    confidence: float,
) -> Regression:
    check_confidence(confidence)
    names, equations = _equations(link, outcome, covariates)
    found = equations.solve(np.zeros(len(names)))
    covariance = equations.covariance(found)
    errors = np.sqrt(np.diag(covariance))
    quantile = normal_quantile((1 + confidence) / 2)
    ends = [
        [equations.interval_end(found, errors[j], j, sign, quantile) for sign in (-1, 1)]
        for j in range(len(names))
    ]
    n = int(equations.counts.sum())
    return Regression(link, names, found, errors, np.array(ends), covariance, n, confidence)


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Corrected estimating equations Σ_rows Σ_k w (y − μ(x β)) x = 0 ([N90], [AKN98]).

    Rows that are equal in all that is known are one, with how many they are.

    Attributes:
        link: how the mean depends on x β.
        counts: rows, [row].
        weights: of every combination of true levels, [row, k].
        outcome: [row, k].
        design: [row, k, coefficient].
    """

    link: Link
    counts: Array
    weights: Array
    outcome: Array
    design: Array

    def scores(self, beta: Array) -> Array:
        """What each row adds to the equations, [row, coefficient]."""
        residual = self.weights * (self.outcome - self._mean(beta))
        return np.asarray(np.einsum("ik,ikp->ip", residual, self.design))

    def slope(self, beta: Array) -> Array:
        """Minus the derivative of the equations."""
        mean = self._mean(beta)
        spread = mean * (1 - mean) if self.link == "logistic" else np.ones_like(mean)
        weights = self.counts[:, None] * self.weights * spread
        flat = self.design.reshape(-1, self.design.shape[-1])
        return np.asarray((weights.reshape(-1, 1) * flat).T @ flat)

    def _mean(self, beta: Array) -> Array:
        linear = self.design @ beta
        return np.asarray(logistic(linear) if self.link == "logistic" else linear)

    def solve(self, start: Array, held: int | None = None) -> Array:
        """The root; with one coefficient held where it is, the root of the other equations.

        Raises:
            UnconvergedError: none was found.
        """
        free = np.arange(len(start)) != (-1 if held is None else held)
        beta, (mean, spread) = start, self._score_at(start, free)
        for _ in range(_MAX_STEPS):
            if free.sum() == 0 or abs(mean / spread).max() <= _SCORE_TOL:
                return beta
            step = np.zeros(len(beta))
            try:
                step[free] = np.linalg.solve(self.slope(beta)[np.ix_(free, free)], mean)
            except np.linalg.LinAlgError:
                break
            size = abs(mean / spread).max()
            for shrink in 0.5 ** np.arange(12):
                trial = beta + shrink * step
                mean, new_spread = self._score_at(trial, free)
                if abs(mean / spread).max() < size:
                    break
            else:
                break
            beta, spread = trial, new_spread
        raise UnconvergedError(
            "the regression has no solution in these rows: they are too few for the noise of the "
            "release, or the covariates do not tell the coefficients apart"
        )

    def _score_at(self, beta: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Sums of the scores of free coefficients, and their spread if rows were independent."""
        scores = self.scores(beta)[:, free]
        spread = np.sqrt(self.counts @ scores**2)
        return self.counts @ scores, np.where(spread > 0, spread, 1.0)

    def covariance(self, beta: Array) -> Array:
        """Sandwich: slope⁻¹ (Σ score scoreᵀ) slope⁻ᵀ, with n − p in the place of n."""
        scores = self.scores(beta)
        meat = (self.counts[:, None] * scores).T @ scores * self._inflation
        bread = np.linalg.inv(self.slope(beta))
        return np.asarray(bread @ meat @ bread.T)

    @property
    def _inflation(self) -> float:
        n = self.counts.sum()
        return float(n / max(1.0, n - self.design.shape[-1]))

    def interval_end(self, found: Array, error: float, j: int, sign: int, quantile: float) -> float:
        """The last value of coefficient j that a score test accepts, going down or up ([B92])."""
        last = found

        def excess(distance: float) -> float:
            nonlocal last
            start = last.copy()
            start[j] = found[j] + sign * distance * error
            last = self.solve(start, held=j)
            return sign * self._standard_score(last, j) + quantile  # it falls as j grows

        inside, outside = 0.0, quantile
        try:
            while excess(outside) > 0:
                inside, outside = outside, 1.5 * outside
                if outside > _FARTHEST:
                    return sign * math.inf
            return float(found[j] + sign * error * find_root(excess, inside, outside, _PLACE_TOL))
        except UnconvergedError:
            return sign * math.inf

    def _standard_score(self, beta: Array, j: int) -> float:
        """Score of coefficient j, the others being at their root, in its standard errors."""
        scores, slope = self.scores(beta), self.slope(beta)
        rest = np.arange(len(beta)) != j
        others = np.linalg.solve(slope[np.ix_(rest, rest)].T, slope[j, rest])
        own = scores[:, j] - scores[:, rest] @ others
        spread = math.sqrt(float(self.counts @ own**2) * self._inflation)
        return float(self.counts @ own) / spread if spread > 0 else 0.0


def _equations(
    link: Link,
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
) -> tuple[tuple[str, ...], _Equations]:
    """Names of the coefficients, and the corrected equations."""
    noisy = [each for each in (outcome, *covariates.values()) if isinstance(each, NoisyColumn)]
    if not noisy:
        raise InvalidInputError("no column is noisy: any package for regressions fits these rows")
    own = _own_columns(outcome, covariates, len(noisy[0]))
    letters = join(noisy).letters
    rows, places, counts = np.unique(
        np.column_stack([letters, *own.values()]), axis=0, return_index=True, return_counts=True
    )
    kept = {name: rows[:, 1 + k] for k, name in enumerate(own)}
    weights = np.ones((len(rows), 1))
    for column in noisy:
        each = column.weights[places]
        weights = (weights[:, :, None] * each[:, None, :]).reshape(len(rows), -1)
    combinations = [*product(*(range(len(column.levels)) for column in noisy))]
    y = _outcome_values(link, outcome, kept, combinations, len(rows))
    names, design = _design(outcome, covariates, kept, combinations, len(rows))
    return names, _Equations(link, counts.astype(float), weights, y, design)


def _own_columns(
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
    n: int,
) -> dict[str, Array]:
    """Your own columns as numbers, by the names of their coefficients; the outcome as ``""``."""
    own: dict[str, Array] = {}
    for name, column in {"": outcome, **covariates}.items():
        if not isinstance(column, NoisyColumn):
            own |= own_numbers(name, column, n)
    return own


def own_numbers(name: str, column: ArrayLike, n: int) -> dict[str, Array]:
    """A column of your own as numbers; texts as indicators of each level but the first."""
    values = np.asarray(column)
    if values.shape != (n,):
        raise InvalidInputError(
            f"{name or 'outcome'} has shape {values.shape} and there are {n:,} rows: "
            "give one value each"
        )
    if values.dtype.kind in "biuf":
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"{name or 'outcome'} holds {values.min()}: leave such rows out"
            )
        return {name: values.astype(float)}
    if name == "":
        raise InvalidInputError("the outcome holds texts: give numbers, or 0 and 1")
    texts = values.astype(str)
    levels = np.unique(texts)
    return {f"{name}={level}": (texts == level).astype(float) for level in levels[1:]}


def _outcome_values(
    link: Link,
    outcome: ArrayLike | NoisyColumn,
    own: Mapping[str, Array],
    combinations: Sequence[tuple[int, ...]],
    n_rows: int,
) -> Array:
    """The outcome of each row under each combination of true levels, [row, k]."""
    if isinstance(outcome, NoisyColumn):
        numbers = outcome.numbers
        if numbers is None and len(outcome.levels) == 2:
            numbers = np.array([0.0, 1.0])
        if numbers is None:
            raise InvalidInputError(
                f"the outcome has the levels {', '.join(outcome.levels)}: give it numbers, as in "
                "column.scored([0, 0, 1])"
            )
        values = np.array([numbers[levels[0]] for levels in combinations])
        y = np.broadcast_to(values, (n_rows, len(combinations)))
    else:
        y = np.broadcast_to(own[""][:, None], (n_rows, len(combinations)))
    if link == "logistic" and not np.isin(y, (0, 1)).all():
        raise InvalidInputError("the outcome of a logistic regression holds other values than 0, 1")
    return y


def _design(
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
    own: Mapping[str, Array],
    combinations: Sequence[tuple[int, ...]],
    n_rows: int,
) -> tuple[tuple[str, ...], Array]:
    """Names and values of the covariates, an intercept first, [row, k, coefficient]."""
    shape = n_rows, len(combinations)
    named = {"intercept": np.ones(shape)}
    place = int(isinstance(outcome, NoisyColumn))
    for name, column in covariates.items():
        if isinstance(column, NoisyColumn):
            level = np.array([levels[place] for levels in combinations])
            values = {key: np.broadcast_to(of[level], shape) for key, of in _coded(name, column)}
            place += 1
        else:
            mine = [key for key in own if key == name or key.startswith(f"{name}=")]
            values = {key: np.broadcast_to(own[key][:, None], shape) for key in mine}
        named |= values
    return tuple(named), np.stack([*named.values()], axis=-1)


def _coded(name: str, column: NoisyColumn) -> list[tuple[str, Array]]:
    """Values of each level: its number, or an indicator for each level but the first."""
    if column.numbers is not None:
        return [(name, column.numbers)]
    indicators = np.eye(len(column.levels))[1:]
    return [
        (f"{name}={level}", of) for level, of in zip(column.levels[1:], indicators, strict=True)
    ]
