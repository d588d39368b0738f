"""Real tables as counts, and the channels that the engine designs for their columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.datasets import adult

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A real table: how many records have each combination of levels.

    Attributes:
        name: where it is from.
        counts: an axis for each column.
        levels: of each column; its place is its number where a column is a scale.
        scales: columns that regressions take as numbers.
    """

    name: str
    counts: Counts
    levels: dict[str, tuple[str, ...]]
    scales: frozenset[str]

    def law(self, *columns: str) -> Array:
        """Shares of combinations of these columns."""
        places = [[*self.levels].index(name) for name in columns]
        others = tuple(set(range(self.counts.ndim)) - set(places))
        order = np.argsort(np.argsort(places))
        return self.counts.sum(axis=others).transpose(order) / self.counts.sum()

    def channel(self, name: str, bits: float) -> Array:
        """The design for one column, p(rhat | r)."""
        return _design(tuple(self.law(name).tolist()), bits)


@cache
def _design(shares: tuple[float, ...], bits: float) -> Array:
    """The best release of a value at a limit that reads nothing else, p(rhat | r).

    The design is square and judged by its worst level, as near as a weighted Hamming cost comes:
    costs are inverse to the shares of levels, so that no level is given up.
    """
    costs = (1 - np.eye(len(shares))) / (len(shares) * np.array(shares))
    problem = tacit.Problem(np.diag(shares), utility=costs, individual=bits)
    found = tacit.solve(problem).channel
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@cache
def adult_table() -> Table:
    """Adult: education, income, age."""
    found = adult()
    levels = dict(zip(found.attributes, found.levels, strict=True))
    return Table("Adult", found.counts, levels, frozenset({"income", "age"}))


@cache
def fair_table() -> Table:
    """Fair's survey of affairs: children or not, a happy marriage or not, affairs, years."""
    import statsmodels.datasets.fair as fair

    data = fair.load_pandas().data
    binary = {
        "children": data["children"] > 0,
        "happy": data["rate_marriage"] >= 4,
        "affairs": data["affairs"] > 0,
        "years": data["yrs_married"] > 6,
    }
    return _tabulated("Fair", binary)


@cache
def health_table() -> Table:
    """The RAND health insurance experiment: visits to doctors, deductible, health, limits."""
    import statsmodels.datasets.randhie as randhie

    data = randhie.load_pandas().data
    columns = {
        "visits": np.digitize(data["mdvis"], [1, 3, 6]),
        "deductible": data["idp"],
        "poor": data["hlthf"] + data["hlthp"] > 0,
        "limited": data["physlm"] > 0.5,
    }
    return _tabulated("RAND", columns)


@cache
def election_table() -> Table:
    """The American election study of 1996: vote, party, education, age."""
    import statsmodels.datasets.anes96 as anes96

    data = anes96.load_pandas().data
    columns = {
        "vote": data["vote"],
        "party": np.digitize(data["PID"], [2, 5]),
        "college": data["educ"] >= 5,
        "old": data["age"] >= 45,
    }
    return _tabulated("ANES", columns)


def _tabulated(name: str, columns: dict[str, Any]) -> Table:
    """Codes from 0 of records, counted; every column is a scale where it is your own."""
    codes = {key: np.asarray(values).astype(np.intp) for key, values in columns.items()}
    shape = [each.max() + 1 for each in codes.values()]
    cells = np.ravel_multi_index(tuple(codes.values()), shape)
    levels = {key: tuple(map(str, range(n))) for key, n in zip(codes, shape, strict=True)}
    counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
    return Table(name, counts, levels, frozenset(codes))
