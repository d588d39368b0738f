"""How often 95 % intervals of recipients hold the truth, over simulated releases of real tables.

The truth is what the same analysis finds in a whole real table. Each simulated release draws rows
of that table anew (but for shares of the rows themselves), and sends one or two columns through
channels that the engine designed to read only the asked value. What a recipient sees of a release
is how often each combination of letters and own levels occurs: these counts are drawn, no files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_tables import (
    Array,
    Counts,
    Table,
    adult_table,
    election_table,
    fair_table,
    health_table,
)
from benchmarks.tables import print_table
from tacit.estimation import NoisyColumn, impute, pool
from tacit.estimation.corrected_scores import CorrectedScores, Link
from tacit.estimation.functionals import Reading, Target
from tacit.estimation.likelihood import likeliest_frequencies
from tacit.estimation.odds import log_odds_ratio
from tacit.estimation.regression import corrected_scores

Intervals = dict[str, tuple[float, Array]]
"""Name of a figure -> its truth, and its intervals [release, low or high]; NaN: no answer."""

Z95 = NormalDist().inv_cdf(0.975)

SEED = 16
"""Of all random numbers, beside the name of a setting. Another one is another run."""

_N_QUICK = 100


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often the intervals of one figure held the truth.

    Attributes:
        analysis: what was estimated.
        release: what was released, and how many bits it tells.
        n: rows in each release.
        figure: which number.
        releases: how many there were.
        refused: share of releases that had no answer, and said so: no solution in these rows.
        unbounded: share of the intervals given that have an infinite end.
        held: share of intervals that held the truth, of those that were given.
        width: median width of the intervals; of odds ratios, of their logarithms.
        seconds: for each release, all figures together.
    """

    analysis: str
    release: str
    n: int
    figure: str
    releases: int
    refused: float
    unbounded: float
    held: float
    width: float
    seconds: float

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of ``held``, as so few releases give it if 95 % is true."""
        return float(np.sqrt(0.95 * 0.05 / (self.releases * (1 - self.refused))))


# --- analyses: many releases -> figures -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draw:
    """Which releases to simulate: rows and releases, bits of each column, random numbers."""

    n: int
    releases: int
    bits: float
    rng: np.random.Generator

    def counts(self, law: Array) -> Counts:
        """Of every combination in each release."""
        flat = self.rng.multinomial(self.n, law.ravel() / law.sum(), size=self.releases)
        return flat.reshape(self.releases, *law.shape)


def shares(column: str, table: Table, draw: Draw) -> Intervals:
    """Shares of the levels among the rows given: only the release is random."""
    channel, rows = table.channel(column, draw.bits), np.rint(draw.n * table.law(column))
    counts = sum(
        draw.rng.multinomial(int(row), law, size=draw.releases)
        for row, law in zip(rows, channel, strict=True)
    )
    found = np.array([_share_intervals(each, channel, "rows") for each in np.asarray(counts)])
    truths = zip(table.levels[column], rows / rows.sum(), strict=True)
    return {level: (truth, found[:, r]) for r, (level, truth) in enumerate(truths)}


def cross_table(column: str, by: str, table: Table, draw: Draw) -> Intervals:
    """Shares of levels in groups, and odds ratios, in the population."""
    channel, law = table.channel(column, draw.bits), table.law(by, column)
    counts = draw.counts(law @ channel)
    given = law / law.sum(axis=1, keepdims=True)
    found = np.array([[_share_intervals(g, channel, "population") for g in k] for k in counts])
    figures: Intervals = {
        f"share {table.levels[column][r]} in {table.levels[by][g]}": (given[g, r], found[:, g, r])
        for g, r in np.ndindex(law.shape)
    }
    ends = partial(_odds_intervals, counts, np.kron(np.eye(len(law)), channel), law)
    for g, r in np.ndindex(len(law) - 1, len(channel) - 1):
        name = f"odds ratio {table.levels[column][r + 1]}, {table.levels[by][g + 1]}"
        figures[name] = ends(g + 1, r + 1)
    return figures


def two_columns(first: str, second: str, table: Table, draw: Draw) -> Intervals:
    """Shares of combinations of two noisy columns, and their odds ratios."""
    channel = np.kron(table.channel(first, draw.bits), table.channel(second, draw.bits))
    law = table.law(first, second)
    counts = draw.counts(law.ravel() @ channel)
    found = np.array([_share_intervals(each, channel, "population") for each in counts])
    figures: Intervals = {
        f"share {g}, {r}": (law[g, r], found[:, g * law.shape[1] + r])
        for g, r in np.ndindex(law.shape)
    }
    for g, r in np.ndindex(law.shape[0] - 1, law.shape[1] - 1):
        ends = _odds_intervals(counts, channel, law, g + 1, r + 1)
        figures[f"odds ratio {g + 1}, {r + 1}"] = ends
    return figures


def _share_intervals(counts: Counts, channel: Array, target: Target) -> list[tuple[float, float]]:
    """Of every share, as ``crosstab`` gives them."""
    reading = Reading(channel, counts, likeliest_frequencies(counts, channel)[0], Z95, target)
    every = np.eye(len(channel))
    return [reading.contrast(weights, reading.rank).interval for weights in every]


def _odds_intervals(
    counts: Counts, channel: Array, law: Array, g: int, r: int
) -> tuple[float, Array]:
    """Of the odds of level r against the first, in row g against the first."""
    n = law.shape[1]
    cells = g * n + r, g * n, r, 0
    found = [log_odds_ratio(each.ravel(), channel, cells, Z95).interval for each in counts]
    return float(np.log(law[g, r] * law[0, 0] / (law[g, 0] * law[0, r]))), np.array(found)


@dataclass(frozen=True, slots=True)
class Regress:
    """A regression whose noisy columns are designed for ``draw.bits`` each.

    Attributes:
        link: linear or logistic.
        outcome: a column.
        covariates: columns.
        noisy: which of all these are released; the others are the recipient's own.
    """

    link: Link
    outcome: str
    covariates: tuple[str, ...]
    noisy: tuple[str, ...]

    def __call__(self, table: Table, draw: Draw) -> Intervals:
        """Coefficients beside those of the whole table without noise."""
        names = self.outcome, *self.covariates
        law, counts = table.law(*names), table.law(*names)[None] * table.counts.sum()
        exact = {name: np.eye(len(table.levels[name])) for name in self.noisy}
        _, equations, row_of = self._equations(table, exact)
        start = np.zeros((1, equations.design.shape[-1]))
        truth, _ = equations.solve(_in_rows(counts, row_of), start, start == 0)
        designed = {name: table.channel(name, draw.bits) for name in self.noisy}
        for name, channel in designed.items():
            axis = names.index(name)
            law = np.moveaxis(np.tensordot(law, channel, (axis, 0)), -1, axis)
        coefficients, equations, row_of = self._equations(table, designed)
        found = equations.fit(_in_rows(draw.counts(law), row_of), Z95).intervals
        return {name: (truth[0, j], found[:, j]) for j, name in enumerate(coefficients)}

    def _equations(
        self, table: Table, channels: dict[str, Array]
    ) -> tuple[tuple[str, ...], CorrectedScores, NDArray[np.intp]]:
        """The equations for a row of every combination that can be seen."""
        names = self.outcome, *self.covariates
        codes = np.indices([len(table.levels[name]) for name in names])
        columns: dict[str, Any] = {}
        for name, code in zip(names, codes.reshape(len(names), -1), strict=True):
            if name in channels:
                columns[name] = NoisyColumn(code, channels[name], table.levels[name])
            else:
                levels = np.array(table.levels[name])
                columns[name] = code.astype(float) if name in table.scales else levels[code]
        covariates = {name: columns[name] for name in self.covariates}
        return corrected_scores(self.link, columns[self.outcome], covariates)


def _in_rows(counts: NDArray[Any], row_of: NDArray[np.intp]) -> Array:
    """Counts of combinations in C order, in the order of the equations' rows, [release, row]."""
    rows = np.zeros((len(counts), len(row_of)))
    rows[:, row_of] = counts.reshape(len(counts), -1)
    return rows


def imputed(table: Table, draw: Draw) -> Intervals:
    """Age on imputed education and income by least squares, combined by Rubin's rules."""
    law = table.law("education", "income", "age")
    channel = table.channel("education", draw.bits)
    counts = draw.counts(np.tensordot(channel, law, (0, 0)))
    seeds = draw.rng.integers(2**31, size=draw.releases)
    found = [
        _pooled_intervals(each, channel, table, int(seed))
        for each, seed in zip(counts, seeds, strict=True)
    ]
    truth = _least_squares(law)[0]
    names = "intercept", *table.levels["education"][1:], "income"
    return {name: (truth[j], np.array(found)[:, j]) for j, name in enumerate(names)}


def _pooled_intervals(counts: Counts, channel: Array, table: Table, seed: int) -> Array:
    """Of the coefficients of one release, [coefficient, low or high]."""
    letters, income, age = np.indices(counts.shape).reshape(3, -1).repeat(counts.ravel(), axis=1)
    column = NoisyColumn(letters, channel, tuple(map(str, range(len(channel)))))
    own = {"age": age.astype(str), "income": income.astype(str)}
    drawn = impute(column, own, draws=30, seed=seed).astype(np.intp)
    cells = np.ravel_multi_index((drawn, income, age), counts.shape)
    fits = [
        _least_squares(np.bincount(each, minlength=counts.size).reshape(counts.shape))
        for each in cells
    ]
    degrees = len(column) - len(fits[0][0])
    found = pool([one[0] for one in fits], [one[1] for one in fits], degrees_of_freedom=degrees)
    return found.intervals


def _least_squares(counts: NDArray[Any]) -> tuple[Array, Array]:
    """Age on education and income: coefficients and robust standard errors."""
    education, income, age = np.indices(counts.shape).reshape(3, -1)
    indicators = [education == r for r in range(1, len(counts))]
    design = np.column_stack([np.ones(counts.size), *indicators, income]).astype(float)
    weighted = design * counts.reshape(-1, 1)
    bread = np.linalg.inv(weighted.T @ design)
    beta = bread @ weighted.T @ age
    scores = design * (age - design @ beta)[:, None]
    meat = (scores * counts.reshape(-1, 1)).T @ scores
    return beta, np.sqrt(np.diag(bread @ meat @ bread))


# --- running --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """An analysis of one table at several sizes.

    Attributes:
        analysis: its name.
        table: loads it.
        work: the analysis.
        released: columns.
        sizes: rows, bits and releases of each setting.
    """

    analysis: str
    table: Callable[[], Table]
    work: Callable[[Table, Draw], Intervals]
    released: str
    sizes: tuple[tuple[int, float, int], ...]


_EDUCATION = Regress("logistic", "income", ("education", "age"), ("education",))
_INCOME = Regress("logistic", "income", ("age", "education"), ("income",))
_AGE = Regress("linear", "age", ("education", "income"), ("education",))
_AFFAIRS = Regress("logistic", "affairs", ("happy", "years"), ("affairs", "happy"))
_LIMITED = Regress("logistic", "limited", ("visits", "poor"), ("visits",))
_POOR = Regress("logistic", "poor", ("visits", "limited"), ("poor",))
_VISITS = Regress("linear", "visits", ("deductible", "poor"), ("deductible",))
_VOTE = Regress("logistic", "vote", ("party", "college"), ("vote", "party"))

CASES = [
    Case(
        "shares of the rows",
        adult_table,
        partial(shares, "education"),
        "education",
        ((100, 1.2, 10_000), (1_000, 0.4, 10_000), (48_842, 0.1, 10_000), (48_842, 0.4, 10_000)),
    ),
    Case(
        "cross-table",
        adult_table,
        partial(cross_table, "education", "income"),
        "education",
        ((3_000, 0.4, 4_000), (20_000, 0.4, 4_000)),
    ),
    Case(
        "cross-table",
        health_table,
        partial(cross_table, "visits", "limited"),
        "visits",
        ((20_190, 0.4, 4_000),),
    ),
    Case(
        "two columns",
        fair_table,
        partial(two_columns, "happy", "affairs"),
        "happy, affairs",
        ((2_000, 0.4, 4_000), (6_366, 0.2, 4_000)),
    ),
    Case(
        "two columns",
        election_table,
        partial(two_columns, "vote", "party"),
        "vote, party",
        ((2_000, 0.4, 4_000),),
    ),
    Case(
        "logistic, covariate",
        adult_table,
        _EDUCATION,
        "education",
        ((300, 1.2, 4_000), (5_000, 0.6, 10_000), (20_000, 0.4, 10_000)),
    ),
    Case("logistic, covariate", health_table, _LIMITED, "visits", ((20_190, 0.4, 10_000),)),
    Case(
        "logistic, outcome",
        adult_table,
        _INCOME,
        "income",
        ((300, 0.5, 4_000), (3_000, 0.2, 10_000), (20_000, 0.2, 10_000)),
    ),
    Case("logistic, outcome", health_table, _POOR, "poor", ((20_190, 0.2, 10_000),)),
    Case(
        "linear, covariate",
        adult_table,
        _AGE,
        "education",
        ((100, 1.2, 10_000), (3_000, 0.4, 10_000), (20_000, 0.4, 10_000)),
    ),
    Case("linear, covariate", health_table, _VISITS, "deductible", ((2_000, 0.1, 10_000),)),
    Case(
        "logistic, both",
        fair_table,
        _AFFAIRS,
        "affairs, happy",
        ((3_000, 0.4, 10_000), (6_366, 0.4, 10_000)),
    ),
    Case("logistic, both", election_table, _VOTE, "vote, party", ((2_000, 0.6, 10_000),)),
    Case("imputed", adult_table, imputed, "education", ((2_000, 0.8, 2_000),)),
]


def run(*, quick: bool) -> list[Coverage]:
    """Coverage of every analysis, printed as a table."""
    results = []
    for case in CASES:
        for n, bits, releases in case.sizes:
            results += cover(case, n, bits, _N_QUICK if quick else releases)
    print_table("How often 95 % intervals hold the truth", _HEAD, [_cells(one) for one in results])
    return results


_HEAD = (
    "analysis",
    "release",
    "rows",
    "figure",
    "releases",
    "no answer",
    "infinite",
    "held",
    "Monte Carlo error",
    "median width",
)


def _cells(each: Coverage) -> tuple[str, ...]:
    shares = each.refused, each.unbounded, each.held, each.monte_carlo_error
    setting = each.analysis, each.release, f"{each.n:,}", each.figure, str(each.releases)
    return *setting, *(f"{share:.1%}" for share in shares), f"{each.width:.3g}"


def cover(case: Case, n: int, bits: float, releases: int, seed: int = SEED) -> list[Coverage]:
    """One setting. Every setting has random numbers of its own."""
    start, table = perf_counter(), case.table()
    setting = case.analysis, f"{table.name} {case.released}, {bits} bit", n
    rng = np.random.default_rng([crc32(repr(setting).encode()), seed])
    found = case.work(table, Draw(n, releases, bits, rng))
    seconds = (perf_counter() - start) / releases
    results = []
    for figure, (truth, intervals) in found.items():
        low, high = intervals[~np.isnan(intervals[:, 0])].T
        results.append(
            Coverage(
                *setting,
                figure,
                releases,
                refused=1 - len(low) / releases,
                unbounded=float(np.isinf(high - low).mean()),
                held=float(((low <= truth) & (truth <= high)).mean()),
                width=float(np.median(high - low)),
                seconds=seconds,
            )
        )
    return results
