"""The leakage measures that an audit reports: one row each, which drives figures, text and plots.

To add a measure, put a ``LeakageMeasure`` into ``MEASURES``. Each row has two functions: one for a
joint law, and a bound for a coalition whose law is not carried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import log2

import numpy as np

from tacit.arrays import Array
from tacit.information.laws import entropy, mutual_information
from tacit.information.leakage import (
    bayes_vulnerability,
    local_dp_epsilon,
    maximal_leakage,
    min_entropy_leakage,
    pointwise_maximal_leakage,
)

QUANTILES = (0.5, 0.95, 0.99)
"""Quantiles reported of the pointwise maximal leakage."""


class Unit(StrEnum):
    """What a figure counts."""

    BITS = "bits"
    CHANCE = "chance"
    """A probability."""


class AuditTable(StrEnum):
    """The table of an audit's text that has a measure as a column."""

    AVERAGE = "average"
    WORST = "worst"
    ATTACK = "attack"


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Upper bounds on what a coalition learns, where its law is not carried, in bits.

    Attributes:
        p_x: law of X.
        information_bits: bound on I(Y; X).
        maximal_leakage: bound on it, by the paths that the memory can take.
        pointwise_max: bound on the largest pointwise maximal leakage, by the same paths.
        local_dp_epsilon: bound on it, by the same paths.
    """

    p_x: Array
    information_bits: float
    maximal_leakage: float
    pointwise_max: float
    local_dp_epsilon: float


@dataclass(frozen=True, slots=True, eq=False)
class LeakageMeasure:
    """One figure about what Y tells about X.

    Attributes:
        name: of the figure, in Python and in JSON.
        unit: bits, or a probability.
        of_joint: the figure for ``joint_xy[x, y]``.
        bound: an upper bound on the figure for all laws within ``Bounds``.
        words: its name for people, in a plot's legend.
        heading: of its column in a text, in two lines.
        table: the table of a text that shows it.
        path: where it stands in JSON; under its name by default.
        is_drawn: whether plots show it; they show bits only.
    """

    name: str
    unit: Unit
    of_joint: Callable[[Array], float]
    bound: Callable[[Bounds], float]
    words: str
    heading: tuple[str, str]
    table: AuditTable
    path: tuple[str, ...] = ()
    is_drawn: bool = True

    @property
    def json_path(self) -> tuple[str, ...]:
        """Keys from the outermost on."""
        return self.path or (self.name,)


def guess_bound(before: float, information_bits: float) -> float:
    """The best chance of a right guess that I(Y; X) <= ``information_bits`` leaves possible.

    Fano's inequality by data processing: let G be the guess, s = P(G = X), and s0 = P(G = X) were
    G drawn apart from X, so that s0 <= before. The event G = X is a function of (G, X), hence
    I(Y; X) >= I(G; X) >= d(s, s0) >= d(s, before) for s >= before, d being the binary divergence.
    """
    if before >= 1 or information_bits >= -log2(before):
        return 1.0
    low, high = before, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _divergence(middle, before) > information_bits else (middle, high)
        )
    return high


def _divergence(s: float, t: float) -> float:
    """Bits of relative entropy between coins of bias s and t, both in (0, 1)."""
    return s * log2(s / t) + (1 - s) * log2((1 - s) / (1 - t))


def weighted_quantile(values: Array, weights: Array, quantile: float) -> float:
    """The smallest value v such that values <= v have at least this share of the weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    # Rounding must not skip a value whose share is exactly the quantile.
    index = int(np.searchsorted(share, quantile - 1e-12))
    return float(values[order[min(index, len(order) - 1)]])


def _maximal_bound(bounds: Bounds) -> float:
    # Σ_y max_x p(y|x) <= Σ_y Σ_x p(y|x) = number of letters x; and the measures are ordered.
    n_letters = int((bounds.p_x > 0).sum())
    return min(bounds.maximal_leakage, bounds.pointwise_max, log2(n_letters))


def _information_bound(bounds: Bounds) -> float:
    return min(bounds.information_bits, _maximal_bound(bounds), entropy(bounds.p_x))


def _guess_bound(bounds: Bounds) -> float:
    before = bayes_vulnerability(bounds.p_x)
    by_information = guess_bound(before, _information_bound(bounds))
    return min(before * 2 ** _maximal_bound(bounds), by_information)


def _min_entropy_bound(bounds: Bounds) -> float:
    return log2(_guess_bound(bounds) / bayes_vulnerability(bounds.p_x))


def _pointwise_quantile(quantile: float) -> LeakageMeasure:
    """A quantile over the outcomes y, by p(y)."""

    def of_joint(joint_xy: Array) -> float:
        return weighted_quantile(
            pointwise_maximal_leakage(joint_xy), joint_xy.sum(axis=0), quantile
        )

    def bound(bounds: Bounds) -> float:
        # Markov's inequality: the mean of 2**pml(Y) is 2**(maximal leakage).
        return min(_maximal_bound(bounds) + log2(1 / (1 - quantile)), bounds.pointwise_max)

    per_cent = f"{100 * quantile:g}"
    return LeakageMeasure(
        f"pointwise_{per_cent}",
        Unit.BITS,
        of_joint,
        bound,
        f"pointwise, {per_cent} %",
        ("", f"{per_cent} %"),
        AuditTable.WORST,
        ("pointwise_maximal_leakage", f"{quantile:g}"),
        is_drawn=False,
    )


_ROWS = (
    LeakageMeasure(
        "mutual_information",
        Unit.BITS,
        mutual_information,
        _information_bound,
        "mutual information",
        ("mutual", "inform."),
        AuditTable.AVERAGE,
    ),
    LeakageMeasure(
        "guess_before",
        Unit.CHANCE,
        lambda joint_xy: bayes_vulnerability(joint_xy.sum(axis=1)),
        lambda bounds: bayes_vulnerability(bounds.p_x),
        "chance of a right guess, before",
        ("", "before"),
        AuditTable.ATTACK,
        ("chance_of_right_guess", "before"),
        is_drawn=False,
    ),
    LeakageMeasure(
        "guess_after",
        Unit.CHANCE,
        bayes_vulnerability,
        _guess_bound,
        "chance of a right guess, after",
        ("", "after"),
        AuditTable.ATTACK,
        ("chance_of_right_guess", "after"),
        is_drawn=False,
    ),
    LeakageMeasure(
        "min_entropy_leakage",
        Unit.BITS,
        min_entropy_leakage,
        _min_entropy_bound,
        "min-entropy leakage",
        ("min-", "entropy"),
        AuditTable.AVERAGE,
    ),
    LeakageMeasure(
        "maximal_leakage",
        Unit.BITS,
        maximal_leakage,
        _maximal_bound,
        "maximal leakage",
        ("", "maximal"),
        AuditTable.AVERAGE,
    ),
    *map(_pointwise_quantile, QUANTILES),
    LeakageMeasure(
        "pointwise_max",
        Unit.BITS,
        lambda joint_xy: float(pointwise_maximal_leakage(joint_xy).max()),
        lambda bounds: bounds.pointwise_max,
        "pointwise, max",
        ("", "max"),
        AuditTable.WORST,
        ("pointwise_maximal_leakage", "max"),
    ),
    LeakageMeasure(
        "local_dp_epsilon",
        Unit.BITS,
        local_dp_epsilon,
        lambda bounds: bounds.local_dp_epsilon,
        "local-DP ε",
        ("local-", "DP ε"),
        AuditTable.WORST,
    ),
)

MEASURES: dict[str, LeakageMeasure] = {row.name: row for row in _ROWS}
"""Name -> measure, in the order in which they are reported."""
