"""Multiple imputation: draws of the true values, so that any tool can analyse them.

The law of r given your own columns is a multinomial logistic regression, fitted through the known
noise. A draw weights the rows anew (the Bayesian bootstrap), fits, and draws each true value from
its law given the letter and your own columns.

Sources:
    [R81] Rubin, "The Bayesian bootstrap", Ann. Statist. 9, 1981.
    [R87] Rubin, "Multiple imputation for nonresponse in surveys", Wiley, 1987: how to combine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import softmax, stdtrit

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.column import NoisyColumn
from tacit.estimation.recipient import check_confidence
from tacit.estimation.regression import own_numbers

_PRIOR_SPREAD = 5.0
"""Standard deviation of the normal prior of each coefficient, for columns of unit variance."""


def impute(
    column: NoisyColumn, given: Mapping[str, ArrayLike], *, draws: int = 50, seed: int
) -> NDArray[np.str_]:
    """True values drawn from their law given the letters and your own columns, ``[draw, row]``.

    ``given`` has to hold every column of the later analysis, its outcome included, and products of
    columns where the analysis has interactions with the noisy one. What is missing there counts as
    having nothing to do with the true value given the rest, and the analysis would find that.

    Args:
        column: what was released.
        given: name -> values of the same rows: numbers enter linearly, texts as levels.
        draws: how many; the more noise, the more are needed (see ``Pooled.missing_share``).
        seed: the same seed gives the same draws.
    """
    if draws < 2:
        raise InvalidInputError(f"draws is {draws}: give at least 2, to see how they differ")
    rng, n = np.random.default_rng(seed), len(column)
    own: dict[str, Array] = {}
    for name, values in given.items():
        own |= own_numbers(name, values, n)
    design = _standardised(np.column_stack([np.ones(n), *own.values()]))
    rows, row_of, counts = np.unique(
        np.column_stack([column.letters, design]), axis=0, return_inverse=True, return_counts=True
    )
    told = column.p_rhat_given_r[:, rows[:, 0].astype(np.intp)].T  # p(rhat | r), [row, r]
    start = np.zeros((rows.shape[1] - 1, len(column.levels) - 1))
    start = _fit(told, rows[:, 1:], counts.astype(float), start)
    places = np.empty((draws, n), dtype=np.intp)
    for draw in range(draws):
        weights = rng.standard_gamma(counts)  # sums of the weights of equal rows ([R81])
        law = _posterior(told, rows[:, 1:], _fit(told, rows[:, 1:], weights, start))
        uniform = rng.random(n)
        places[draw] = (np.cumsum(law, axis=1)[row_of.reshape(-1), :-1] < uniform[:, None]).sum(1)
    return np.array(column.levels)[places]


def _standardised(design: Array) -> Array:
    """Columns but the first with mean 0 and variance 1; constant ones are left out."""
    spread = design.std(axis=0)
    kept = spread > 0
    varying = (design[:, kept] - design[:, kept].mean(axis=0)) / spread[kept]
    return np.column_stack([design[:, 0], varying])


def _posterior(told: Array, design: Array, gamma: Array) -> Array:
    """p(r | rhat, own columns), [row, r]."""
    law = told * _prior(design, gamma)
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _prior(design: Array, gamma: Array) -> Array:
    """p(r | own columns), [row, r]; the first level is the reference."""
    return np.asarray(softmax(np.column_stack([np.zeros(len(design)), design @ gamma]), axis=1))


def _fit(told: Array, design: Array, weights: Array, start: Array) -> Array:
    """Coefficients [column, r − 1] of largest posterior density, with weights of rows."""
    total = weights.sum()

    def loss(flat: Array) -> tuple[float, Array]:
        gamma = flat.reshape(start.shape)
        prior = _prior(design, gamma)
        likelihood = (told * prior).sum(axis=1)
        posterior = told * prior / likelihood[:, None]
        slope = design.T @ (weights[:, None] * (prior - posterior))[:, 1:]
        penalty = (gamma[1:] ** 2).sum() / (2 * _PRIOR_SPREAD**2)
        slope[1:] += gamma[1:] / _PRIOR_SPREAD**2
        return (penalty - weights @ np.log(likelihood)) / total, slope.ravel() / total

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(found.x.reshape(start.shape))


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


def pool(estimates: ArrayLike, standard_errors: ArrayLike, *, confidence: float = 0.95) -> Pooled:
    """Combine estimates from multiple imputations by Rubin's rules ([R87] section 3.1).

    Args:
        estimates: ``[draw, value]``, from the same analysis of every draw.
        standard_errors: of them, as that analysis gives them.
        confidence: of each interval.
    """
    check_confidence(confidence)
    q, u = np.asarray(estimates, dtype=float), np.asarray(standard_errors, dtype=float) ** 2
    if q.ndim != 2 or q.shape != u.shape or len(q) < 2:
        raise InvalidInputError(
            f"estimates and standard_errors have shapes {q.shape} and {u.shape}: give both as "
            "[draw, value], with at least 2 draws"
        )
    within, between = u.mean(axis=0), (1 + 1 / len(q)) * q.var(axis=0, ddof=1)
    total = within + between
    with np.errstate(divide="ignore"):
        degrees = (len(q) - 1) * (total / between) ** 2
    half = -stdtrit(degrees, (1 - confidence) / 2) * np.sqrt(total)
    mean = q.mean(axis=0)
    return Pooled(
        mean,
        np.sqrt(total),
        np.stack([mean - half, mean + half], axis=1),
        degrees,
        between / total,
    )
