"""How often 95 % intervals of recipients hold the truth, over simulated releases.

The truth is what the same analysis finds in a whole real table. Each simulated release draws rows
of that table anew (but for shares of the rows themselves), and sends one or two columns through
channels that the engine designed to read only the asked value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import tacit
from benchmarks.tables import print_table
from tacit.datasets import adult
from tacit.errors import UnconvergedError
from tacit.estimation import (
    NoisyColumn,
    crosstab,
    fit_linear,
    fit_logistic,
    impute,
    pool,
)

Codes = NDArray[np.intp]
Hits = dict[str, tuple[bool, float]]
"""Name of a figure -> whether its interval held the truth, and how wide it was."""

_N_QUICK = 20


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
    held: float
    width: float
    seconds: float

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of ``held``, as so few releases give it if 95 % is true."""
        return float(np.sqrt(0.95 * 0.05 / (self.releases * (1 - self.refused))))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A real table: codes of its columns, one for each record."""

    columns: dict[str, Codes]
    levels: dict[str, tuple[str, ...]]

    def rows(self, n: int, rng: np.random.Generator) -> Table:
        """Rows drawn with replacement."""
        drawn = rng.integers(len(next(iter(self.columns.values()))), size=n)
        return Table({name: codes[drawn] for name, codes in self.columns.items()}, self.levels)


@cache
def adult_table() -> Table:
    """Adult: education, income, age."""
    found = adult()
    cells = np.repeat(np.arange(found.counts.size), found.counts.ravel())
    codes = np.unravel_index(cells, found.counts.shape)
    return Table(
        dict(zip(found.attributes, codes, strict=True)),
        dict(zip(found.attributes, found.levels, strict=True)),
    )


@cache
def fair_table() -> Table:
    """Fair's survey of affairs (statsmodels): children or not, a happy marriage or not, affairs."""
    import statsmodels.datasets.fair as fair

    data = fair.load_pandas().data
    columns = {
        "children": (data["children"] > 0).to_numpy().astype(np.intp),
        "happy": (data["rate_marriage"] >= 4).to_numpy().astype(np.intp),
        "affairs": (data["affairs"] > 0).to_numpy().astype(np.intp),
        "years": (data["yrs_married"] > 6).to_numpy().astype(np.intp),
    }
    return Table(columns, dict.fromkeys(columns, ("no", "yes")))


@cache
def channel_of(codes: tuple[int, ...], bits: float) -> NDArray[np.float64]:
    """The best release of a value at a limit that reads nothing else, p(rhat | r).

    The design is square and judged by its worst level, as near as a weighted Hamming cost comes:
    costs are inverse to the shares of levels, so that no level is given up.
    """
    shares = np.array(codes) / sum(codes)
    costs = (1 - np.eye(len(codes))) / (len(codes) * shares)
    joint = np.diag(shares)
    found = tacit.solve(tacit.Problem(joint, utility=costs, individual=bits)).channel
    return found / found.sum(axis=1, keepdims=True)


def release(
    table: Table, rows: Table, name: str, bits: float, rng: np.random.Generator
) -> NoisyColumn:
    """A noisy column of some rows, designed for the whole table."""
    counts = np.bincount(table.columns[name], minlength=len(table.levels[name]))
    channel = channel_of(tuple(counts.tolist()), bits)
    r = rows.columns[name]
    letters = (rng.random(len(r))[:, None] > np.cumsum(channel, axis=1)[r, :-1]).sum(axis=1)
    return NoisyColumn(letters, channel, table.levels[name])


def held(truth: float, low: float, high: float) -> tuple[bool, float]:
    """Whether an interval holds the truth, and its width."""
    return bool(low <= truth <= high), float(high - low)


# --- analyses: one release -> figures -----------------------------------------------------------

Analysis = Callable[[Table, Table, float, np.random.Generator], Hits]


def shares(table: Table, _: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Of education in the rows given: only the release is random."""
    column = release(table, table, "education", bits, rng)
    found = crosstab({"education": column})
    truth = np.bincount(table.columns["education"]) / len(column)
    return {
        cell.levels[0]: held(truth[r], cell.low, cell.high) for r, cell in enumerate(found.cells)
    }


def cross_table(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Of education by income, and its odds ratios, in the population."""
    column = release(table, rows, "education", bits, rng)
    income = np.array(table.levels["income"])[rows.columns["income"]]
    found = crosstab({"education": column}, {"income": income}, target="population")
    counts = _counts(table, "income", "education")
    hits = {}
    for cell in found.cells:
        g = table.levels["income"].index(cell.group[0])
        r = table.levels["education"].index(cell.levels[0])
        truth = counts[g, r] / counts[g].sum()
        hits[f"share {cell.levels[0]} in {cell.group[0]}"] = held(truth, cell.low, cell.high)
    return hits | dict(_odds_hits(found.odds_ratios, counts, table.levels["education"], (0, 1)))


def two_columns(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Odds ratio of two noisy columns: a happy marriage and affairs."""
    columns = {name: release(table, rows, name, bits, rng) for name in ("happy", "affairs")}
    found = crosstab(columns, target="population")
    counts = _counts(table, "happy", "affairs")
    hits = dict(_odds_hits(found.odds_ratios, counts, table.levels["affairs"], (0, 1)))
    for cell, truth in zip(found.cells, counts.ravel() / counts.sum(), strict=True):
        hits[f"share {', '.join(cell.levels)}"] = held(truth, cell.low, cell.high)
    return hits


def logistic_covariate(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Income on noisy education and age."""

    def fit(of: Table, education: NoisyColumn) -> tacit.estimation.Regression:
        age = of.columns["age"].astype(float)
        return fit_logistic(of.columns["income"], {"education": education, "age": age})

    return _fit_hits(table, rows, "education", bits, rng, fit)


def logistic_outcome(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Noisy income on age and education."""

    def fit(of: Table, income: NoisyColumn) -> tacit.estimation.Regression:
        education = np.array(table.levels["education"])[of.columns["education"]]
        age = of.columns["age"].astype(float)
        return fit_logistic(income, {"age": age, "education": education})

    return _fit_hits(table, rows, "income", bits, rng, fit)


def linear_covariate(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Age on noisy education and income."""

    def fit(of: Table, education: NoisyColumn) -> tacit.estimation.Regression:
        age, income = of.columns["age"].astype(float), of.columns["income"].astype(float)
        return fit_linear(age, {"education": education, "income": income})

    return _fit_hits(table, rows, "education", bits, rng, fit)


def logistic_both(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Noisy affairs on a noisy happy marriage and years."""
    happy = release(table, rows, "happy", bits, rng)

    def fit(of: Table, affairs: NoisyColumn) -> tacit.estimation.Regression:
        exact = of.columns["happy"], np.eye(2), table.levels["happy"]
        covariate = happy if of is rows else NoisyColumn(*exact)
        years = of.columns["years"].astype(float)
        return fit_logistic(affairs, {"happy": covariate, "years": years})

    return _fit_hits(table, rows, "affairs", bits, rng, fit)


def imputed(table: Table, rows: Table, bits: float, rng: np.random.Generator) -> Hits:
    """Linear regression of imputed values by least squares, combined by Rubin's rules."""
    column = release(table, rows, "education", bits, rng)
    own = {"age": _names(rows, "age"), "income": _names(rows, "income")}
    drawn = impute(column, own, draws=30, seed=int(rng.integers(2**31)))
    truth = _least_squares(_names(table, "education"), table)[0]
    fits = [_least_squares(values, rows) for values in drawn]
    found = pool(
        [fit[0] for fit in fits],
        [fit[1] for fit in fits],
        degrees_of_freedom=len(column) - len(truth),
    )
    names = ("intercept", *table.levels["education"][1:], "income")
    ends = zip(names, truth, found.intervals, strict=True)
    return {name: held(value, *interval) for name, value, interval in ends}


def _names(table: Table, name: str) -> NDArray[np.str_]:
    return np.array(table.levels[name])[table.columns[name]]


def _least_squares(
    education: NDArray[np.str_], rows: Table
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Age on education and income: coefficients and robust standard errors."""
    indicators = [education == level for level in rows.levels["education"][1:]]
    design = np.column_stack([np.ones(len(education)), *indicators, rows.columns["income"]])
    design = design.astype(float)
    bread = np.linalg.inv(design.T @ design)
    beta = bread @ design.T @ rows.columns["age"]
    residual = rows.columns["age"] - design @ beta
    scores = design * residual[:, None]
    return beta, np.sqrt(np.diag(bread @ scores.T @ scores @ bread))


def _fit_hits(
    table: Table,
    rows: Table,
    name: str,
    bits: float,
    rng: np.random.Generator,
    fit: Callable[[Table, NoisyColumn], tacit.estimation.Regression],
) -> Hits:
    """Coefficients beside those of the whole table without noise."""
    n_levels = len(table.levels[name])
    key = fit.__qualname__
    if key not in _TRUTHS:
        exact = NoisyColumn(table.columns[name], np.eye(n_levels), table.levels[name])
        _TRUTHS[key] = fit(table, exact).coefficients
    try:
        found = fit(rows, release(table, rows, name, bits, rng))
    except UnconvergedError:
        return {}
    ends = zip(found.names, _TRUTHS[key], found.intervals, strict=True)
    return {figure: held(truth, *interval) for figure, truth, interval in ends}


_TRUTHS: dict[str, NDArray[np.float64]] = {}


def _counts(table: Table, first: str, second: str) -> NDArray[np.int64]:
    n = len(table.levels[first]), len(table.levels[second])
    both = table.columns[first] * n[1] + table.columns[second]
    return np.bincount(both, minlength=n[0] * n[1]).reshape(n)


def _odds_hits(
    found: tuple[tacit.estimation.OddsRatio, ...],
    counts: NDArray[np.int64],
    levels: tuple[str, ...],
    rows: tuple[int, int],
) -> Iterator[tuple[str, tuple[bool, float]]]:
    base, other = counts[rows[0]], counts[rows[1]]
    for each in found:
        r = levels.index(each.level)
        truth = np.log(other[r] * base[0] / (other[0] * base[r]))
        high = np.inf if each.high is None else each.high
        with np.errstate(divide="ignore"):
            ends = np.log([each.low, high])
        yield f"odds ratio {each.level}", held(truth, *ends)


# --- running --------------------------------------------------------------------------------------

CASES: list[tuple[str, Callable[[], Table], Analysis, str, tuple[tuple[int, float, int], ...]]] = [
    (
        "shares of the rows",
        adult_table,
        shares,
        "education",
        ((48_842, 0.1, 600), (48_842, 0.4, 600)),
    ),
    ("cross-table", adult_table, cross_table, "education", ((3_000, 0.4, 600), (20_000, 0.4, 600))),
    (
        "two columns",
        fair_table,
        two_columns,
        "happy, affairs",
        ((2_000, 0.4, 2_000), (6_366, 0.2, 600)),
    ),
    (
        "logistic, covariate",
        adult_table,
        logistic_covariate,
        "education",
        ((5_000, 0.6, 600), (20_000, 0.4, 600)),
    ),
    (
        "logistic, outcome",
        adult_table,
        logistic_outcome,
        "income",
        ((3_000, 0.2, 600), (20_000, 0.2, 600)),
    ),
    (
        "linear, covariate",
        adult_table,
        linear_covariate,
        "education",
        ((3_000, 0.4, 600), (20_000, 0.4, 600)),
    ),
    (
        "logistic, both",
        fair_table,
        logistic_both,
        "affairs, happy",
        ((3_000, 0.4, 600), (6_366, 0.4, 600)),
    ),
    ("imputed", adult_table, imputed, "education", ((2_000, 0.8, 2_000),)),
]
"""Analysis, table, work, what is released, and (rows, bits, releases) of each setting."""


def run(*, quick: bool) -> list[Coverage]:
    """Coverage of every analysis, printed as a table."""
    results = []
    for analysis, table, work, released, sizes in CASES:
        for n, bits, n_releases in sizes:
            setting = analysis, f"{released}, {bits} bit", n
            n_done = _N_QUICK if quick else n_releases
            results += cover(setting, table(), work, bits, n_done)
    print_table(
        "How often 95 % intervals hold the truth", _HEAD, [_cells(each) for each in results]
    )
    return results


_HEAD = (
    "analysis",
    "release",
    "rows",
    "figure",
    "releases",
    "no answer",
    "held",
    "Monte Carlo error",
    "median width",
)


def _cells(each: Coverage) -> tuple[str, ...]:
    shares = f"{each.refused:.1%}", f"{each.held:.1%}", f"{each.monte_carlo_error:.1%}"
    setting = each.analysis, each.release, f"{each.n:,}", each.figure, str(each.releases)
    return *setting, *shares, f"{each.width:.3g}"


def try_release(
    setting: tuple[str, str, int], table: Table, work: Analysis, bits: float, number: int
) -> Hits:
    """One release and its analysis. Settings have random numbers of their own."""
    rng = np.random.default_rng([crc32(repr(setting).encode()), number])
    return work(table, table.rows(setting[2], rng), bits, rng)


def cover(
    setting: tuple[str, str, int], table: Table, work: Analysis, bits: float, n_releases: int
) -> list[Coverage]:
    """One analysis of many releases."""
    start = perf_counter()
    hits = [try_release(setting, table, work, bits, number) for number in range(n_releases)]
    seconds = (perf_counter() - start) / n_releases
    answered = [each for each in hits if each]
    refused = 1 - len(answered) / n_releases
    results = []
    for figure in answered[0]:
        held, widths = zip(*(each[figure] for each in answered), strict=True)
        result = Coverage(
            *setting, figure, n_releases, refused, np.mean(held), np.median(widths), seconds
        )
        results.append(result)
    return results
