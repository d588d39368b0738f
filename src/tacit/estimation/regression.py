"""Linear and logistic regression with noisy columns, as outcome or as covariates.

Each row counts once for every combination of true levels, with the weight that undoes the noise on
average (``NoisyColumn.weights``). The weighted estimating equations then have the mean that the
equations of the true data have, whatever the law of the true values is: the estimate is consistent
for what the same regression would find in the true data, no model of the noisy column is needed,
and nothing is assumed about the outcome beyond what the regression itself assumes. The equations
and their sources are in ``corrected_scores``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.arrays import Array
from tacit.errors import InvalidInputError, UnconvergedError
from tacit.estimation.column import NoisyColumn, join
from tacit.estimation.corrected_scores import CorrectedScores, Link
from tacit.estimation.own_columns import as_columns, own_numbers
from tacit.estimation.recipient import check_confidence
from tacit.markup import html_table
from tacit.remark import Remark

if TYPE_CHECKING:
    import pyarrow as pa


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

    def to_arrow(self) -> pa.Table:
        """A row for each coefficient, with its standard error and its interval."""
        import pyarrow as pa

        low, high = self.intervals.T
        return pa.table(
            {
                "name": self.names,
                "coefficient": self.coefficients,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
            }
        )

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
    covariates: Mapping[str, ArrayLike | NoisyColumn] | Any,
    *,
    confidence: float = 0.95,
) -> Regression:
    """Least squares on the true values.

    Args:
        outcome: numbers, or a noisy column with ``numbers`` (of two levels, 0 and 1 by default).
        covariates: name -> values of the same rows, or a pandas, polars or pyarrow table of them.
            Texts, and noisy columns without ``numbers``, are levels against the first one; an
            intercept is added.
        confidence: of each interval.
    """
    return _fit("linear", outcome, covariates, confidence)


def fit_logistic(
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn] | Any,
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
    covariates: Mapping[str, ArrayLike | NoisyColumn] | Any,
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
    found = equations.fit(counts[None], -ndtri((1 - confidence) / 2))
    if not found.is_solved[0]:
        raise UnconvergedError(
            "the regression has no solution in these rows: they are too few for the noise of the "
            "release, or the covariates do not tell the coefficients apart, or a level has rows of "
            "one outcome only"
        )
    covariance, n_open = found.covariance[0], int(np.isinf(found.intervals[0]).any(axis=1).sum())
    remark = Remark("unbounded_intervals", {"figures": n_open, "of": len(names)})
    return Regression(
        link,
        names,
        found.coefficients[0] + shift,
        np.sqrt(np.diag(covariance)),
        found.intervals[0] + shift[:, None],
        covariance,
        len(row_of),
        confidence,
        (remark,) if n_open > 0 else (),
    )


def corrected_scores(
    link: Link,
    outcome: ArrayLike | NoisyColumn,
    covariates: Mapping[str, ArrayLike | NoisyColumn] | Any,
) -> tuple[tuple[str, ...], CorrectedScores, NDArray[np.intp]]:
    """Names of the coefficients, the equations of rows that differ, and which of them each row is.

    Rows that are equal in all that is known are one.
    """
    columns = as_columns(covariates, "covariates")
    noisy = {name: each for name, each in columns.items() if isinstance(each, NoisyColumn)}
    is_noisy = isinstance(outcome, NoisyColumn)
    every = [*([outcome] if isinstance(outcome, NoisyColumn) else []), *noisy.values()]
    if not every:
        raise InvalidInputError(
            "no column is noisy, so any package for regressions fits these rows: give the noisy "
            "one beside the others, as in {'education': column, 'age': table['age']}"
        )
    joined, n = join(every), len(every[0])
    y = _check_outcome(link, outcome, n)
    own = {
        name: own_numbers(name, column, n, joined.records)
        for name, column in columns.items()
        if name not in noisy
    }
    known = [values for each in own.values() for values in each.values()]
    places, row_of = _distinct_rows([joined.letters, *([] if is_noisy else [y]), *known])
    kept = {name: {key: of[places] for key, of in each.items()} for name, each in own.items()}
    weights = np.ones((len(places), 1))
    for column in every:
        each = column.weights[places]
        weights = (weights[:, :, None] * each[:, None, :]).reshape(len(places), -1)
    combinations = np.array([*product(*(range(len(column.levels)) for column in every))]).T
    level_of = dict(zip(noisy, combinations[int(is_noisy) :], strict=True))
    y = y[combinations[0]] if is_noisy else y[places, None]
    names, design = _design(columns, kept, level_of, weights.shape)
    y = np.broadcast_to(y, weights.shape)
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


def _check_outcome(link: Link, outcome: ArrayLike | NoisyColumn, n: int) -> Array:
    """The outcome as numbers: of each row, or of each level of a noisy one."""
    if isinstance(outcome, NoisyColumn):
        numbers = outcome.numbers
        if numbers is None and len(outcome.levels) == 2:
            numbers = np.array([0.0, 1.0])
        if numbers is None:
            raise InvalidInputError(
                f"the outcome has the levels {', '.join(outcome.levels)}: give it numbers, as in "
                "column.scored([0, 0, 1])"
            )
    else:
        [*found] = own_numbers("outcome", outcome, n).items()
        if [name for name, _ in found] != ["outcome"]:
            raise InvalidInputError("the outcome holds texts: give numbers, or 0 and 1")
        numbers = found[0][1]
    wrong = np.flatnonzero(~np.isin(numbers, (0, 1)))
    if link == "logistic" and wrong.size > 0:
        place = "level" if isinstance(outcome, NoisyColumn) else "row"
        raise InvalidInputError(
            "the outcome of a logistic regression holds other values than 0, 1: "
            f"{numbers[wrong[0]]:g} in {place} {wrong[0]}, counted from 0"
        )
    return numbers


def _design(
    columns: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Array]],
    level_of: Mapping[str, NDArray[np.intp]],
    shape: tuple[int, int],
) -> tuple[tuple[str, ...], Array]:
    """Names and values of the covariates, an intercept first, [row, k, coefficient].

    Args:
        columns: the covariates by their names.
        own: those of your own, as numbers of the rows.
        level_of: level of each noisy covariate in each combination k.
        shape: rows and combinations.
    """
    named = [("intercept", np.ones(shape))]
    for name, column in columns.items():
        if name in own:
            named += [(key, of[:, None]) for key, of in own[name].items()]
        elif column.numbers is not None:
            named.append((name, column.numbers[level_of[name]]))
        else:
            indicators = np.eye(len(column.levels))[level_of[name]].T
            named += [
                (f"{name}={level}", of)
                for level, of in zip(column.levels[1:], indicators[1:], strict=True)
            ]
    names = tuple(name for name, _ in named)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInputError(
            f"two coefficients would be called {twice[0]!r}: give the covariates other names"
        )
    return names, np.stack([np.broadcast_to(values, shape) for _, values in named], axis=-1)
