"""Linear and logistic regression with noisy columns, as outcome or as covariates.

Each row counts once for every combination of true levels, with the weight that undoes the noise on
average (``NoisyColumn.weights``). The weighted estimating equations then have the mean that the
equations of the true data have, whatever the law of the true values is: the estimate is consistent
for what the same regression would find in the true data, no model of the noisy column is needed,
and nothing is assumed about the outcome beyond what the regression itself assumes. The equations
and their sources are in ``corrected_scores``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError, UnconvergedError
from tacit.estimation.column import NoisyColumn, join
from tacit.estimation.corrected_scores import CorrectedScores, Link
from tacit.estimation.recipient import check_confidence
from tacit.markup import html_table
from tacit.numerics.special_functions import normal_quantile
from tacit.remark import Remark


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
        remarks: for the reader.
    """

    link: Link
    names: tuple[str, ...]
    coefficients: Array
    standard_errors: Array
    intervals: Array
    covariance: Array
    n: int
    confidence: float
    remarks: tuple[Remark, ...]

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
    names, equations, row_of = corrected_scores(link, outcome, covariates)
    # An outcome far from 0 would leave few figures for its spread; the intercept takes it back.
    shift = np.zeros(len(names))
    if link == "linear":
        shift[0] = np.round(equations.outcome.mean())
        equations = replace(equations, outcome=equations.outcome - shift[0])
    counts = np.bincount(row_of).astype(float)
    found = equations.fit(counts[None], normal_quantile((1 + confidence) / 2))
    if not found.is_solved[0]:
        raise UnconvergedError(
            "the regression has no solution in these rows: they are too few for the noise of the "
            "release, or the covariates do not tell the coefficients apart"
        )
    covariance = found.covariance[0]
    return Regression(
        link,
        names,
        found.coefficients[0] + shift,
        np.sqrt(np.diag(covariance)),
        found.intervals[0] + shift[:, None],
        covariance,
        len(row_of),
        confidence,
        tuple(_remarks(names, found.intervals[0])),
    )


def _remarks(names: Sequence[str], intervals: Array) -> Iterator[Remark]:
    is_open = np.isinf(intervals).any(axis=1)
    if is_open.any():
        yield Remark("unbounded_intervals", {"figures": int(is_open.sum()), "of": len(names)})


def corrected_scores(
    link: Link,
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn],
) -> tuple[tuple[str, ...], CorrectedScores, NDArray[np.intp]]:
    """Names of the coefficients, the equations of rows that differ, and which of them each row is.

    Rows that are equal in all that is known are one.
    """
    noisy = [each for each in (outcome, *covariates.values()) if isinstance(each, NoisyColumn)]
    if not noisy:
        raise InvalidInputError("no column is noisy: any package for regressions fits these rows")
    own = _own_columns(outcome, covariates, len(noisy[0]))
    places, row_of = _distinct_rows([join(noisy).letters, *own.values()])
    kept = {name: values[places] for name, values in own.items()}
    weights = np.ones((len(places), 1))
    for column in noisy:
        each = column.weights[places]
        weights = (weights[:, :, None] * each[:, None, :]).reshape(len(places), -1)
    combinations = [*product(*(range(len(column.levels)) for column in noisy))]
    y = _outcome_values(link, outcome, kept, combinations, len(places))
    names, design = _design(outcome, covariates, kept, combinations, len(places))
    return names, CorrectedScores(link, weights, y, design), row_of


def _distinct_rows(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each row that differs from the others occurs first, and which of them each row is."""
    row_of = np.zeros(len(columns[0]), dtype=np.intp)
    places = row_of[:1]
    for column in columns:  # one at a time: sorting whole rows takes ten times as long
        levels, level = np.unique(column, return_inverse=True)
        _, places, row_of = np.unique(
            row_of * len(levels) + level, return_index=True, return_inverse=True
        )
    return places, row_of


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
