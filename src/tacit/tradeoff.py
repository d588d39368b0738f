"""Trade-off surfaces: the best utility as a function of both limits, D or I(eps, delta).

And the inverse for one limit: the bits that a distortion needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.markup import html_table
from tacit.problem import Problem
from tacit.solution import GAP_TOL, Solution
from tacit.solvers import feasible_solutions, solve

if TYPE_CHECKING:
    import pyarrow as pa

_SEARCH_STEPS = 40
"""Solutions of a search for bits, at most; where the curve is smooth, a few are enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Certified optima over a grid of limits.

    Attributes:
        problem: the problem; its own individual and collusion limits play no part.
        individual: limits on I(Rhat; X) in bits, one per row.
        collusion: limits on I(Rhat, Z; X) in bits, one per column.
        solutions: the answer at every grid point, row by row; ``None`` where infeasible.
    """

    problem: Problem
    individual: Array
    collusion: Array
    solutions: tuple[Solution | None, ...]

    @property
    def value(self) -> Array:
        """Best utility at [i, j]; NaN where more has leaked already than the limits allow."""
        return self._grid([None if s is None else s.value for s in self.solutions])

    @property
    def gap(self) -> Array:
        """Certified distance to the optimum at [i, j]; NaN where infeasible or unproven."""
        return self._grid([None if s is None else s.gap for s in self.solutions])

    def to_arrow(self) -> pa.Table:
        """A row for each pair of limits: in bits, the value, its gap; null if infeasible."""
        import pyarrow as pa

        individual, collusion = np.meshgrid(self.individual, self.collusion, indexing="ij")
        columns = {
            "individual": individual,
            "collusion": collusion,
            "value": self.value,
            "gap": self.gap,
        }
        return pa.table({k: pa.array(v.ravel(), from_pandas=True) for k, v in columns.items()})

    def __repr__(self) -> str:
        """The size of the grid, the range of the utility, and the largest certified gap."""
        found = [each for each in self.solutions if each is not None]
        unit = "bits of information" if self.problem.is_information else "distortion"
        values = [each.value for each in found]
        told = f"{unit} {min(values):.4f} to {max(values):.4f}" if found else "all infeasible"
        gaps = [each.gap for each in found if each.gap is not None]
        proved = f", gap at most {max(gaps):.1e}" if gaps else ""
        missing = len(self.solutions) - len(found)
        left = f", {missing} infeasible" if missing and found else ""
        return (
            f"Surface({len(self.individual)} x {len(self.collusion)} limits: {told}{proved}{left})"
        )

    def _repr_html_(self) -> str:
        """The best utility by limits in bits, as a table for notebooks."""
        head = ("individual \\ collusion", *(f"{delta:.4g}" for delta in self.collusion))
        rows = [
            (f"{eps:.4g}", *("infeasible" if np.isnan(value) else f"{value:.4f}" for value in row))
            for eps, row in zip(self.individual, self.value, strict=True)
        ]
        return html_table(repr(self), head, rows)

    def solution(self, i: int, j: int) -> Solution:
        """A best release at limits ``individual[i]``, ``collusion[j]``, counted as in ``value``.

        Others that are as good may leak less to everyone: ``tacit.solve`` of its problem finds
        the one that leaks least.
        """
        index = np.arange(len(self.solutions)).reshape(len(self.individual), -1)[i, j]
        found = self.solutions[int(index)]
        if found is None:
            raise InvalidInputError(
                f"grid point [{i}, {j}] is infeasible: more has leaked already than "
                f"individual={self.individual[i]:.6g}, collusion={self.collusion[j]:.6g} allow"
            )
        return found

    def _grid(self, entries: list[float | None]) -> Array:
        flat = np.array([np.nan if entry is None else entry for entry in entries], dtype=float)
        return flat.reshape(len(self.individual), len(self.collusion))


def trace_surface(
    problem: Problem,
    *,
    individual: ArrayLike,
    collusion: ArrayLike,
    gap_tol: float = GAP_TOL,
    frugal: bool = False,
) -> Surface:
    """Solve a problem for every pair of limits from two grids.

    Args:
        problem: joint, utility, coalitions and views; its coalitions' limits hold everywhere.
        individual: grid of limits on I(Rhat; X) in bits; ``inf`` allowed.
        collusion: grid of limits on I(Rhat, Z; X) in bits; ``inf`` allowed.
        gap_tol: certified gap asked of every point, relative to ``problem.scale``.
        frugal: as for ``solve``; a surface of values needs none.
    """
    rows, columns = _grid("individual", individual), _grid("collusion", collusion)
    pairs = [problem.with_limits(eps, delta) for eps in rows for delta in columns]
    return Surface(problem, rows, columns, tuple(feasible_solutions(pairs, gap_tol, frugal=frugal)))


def _grid(name: str, values: ArrayLike) -> NDArray[np.float64]:
    grid = np.atleast_1d(np.asarray(values, dtype=float))
    if grid.ndim != 1 or not len(grid):
        raise InvalidInputError(f"{name} has shape {grid.shape}: give a list of limits in bits")
    return grid


@dataclass(frozen=True, slots=True)
class BitsNeeded:
    """How many bits about X an answer of a certain quality needs, certified on both sides.

    Attributes:
        distortion: that the answers may have.
        at_least: with fewer bits no release reaches it, nor comes as near as the gap.
        at_most: with so many bits a release comes as near; infinite where no number is enough.
        best: the least distortion of all, without a limit.
    """

    distortion: float
    at_least: float
    at_most: float
    best: float


def find_bits(
    problem: Problem, distortion: float, *, bits_tol: float = 1e-5, gap_tol: float = GAP_TOL
) -> BitsNeeded:
    """The least limit on I(Rhat; X) under which a distortion is reached: the inverse of D(eps).

    D is convex. So the price of a bit at any point gives a tangent below the curve ([M] fact 2),
    and two points give a chord above it. Where these cross the distortion is a bracket.

    Args:
        problem: without a history; its own limits play no part.
        distortion: to reach.
        bits_tol: width of the bracket to stop at, in bits.
        gap_tol: certified gap asked of every point, relative to ``problem.scale``; a distortion so
            little above counts as reached.
    """
    if problem.is_information or problem.history_shape:
        raise InvalidInputError(
            "bits are searched for a mean distortion and without a history: give p(x, r)"
        )
    blind = float((problem.distortion @ problem.p_r).min())
    free = solve(problem.with_limits(inf, inf), gap_tol=gap_tol)
    if blind <= distortion:
        return BitsNeeded(distortion, 0.0, 0.0, free.value)
    reached = distortion + gap_tol * problem.scale
    if free.value > reached:
        return BitsNeeded(distortion, inf, inf, free.value)
    low, high = 0.0, free.leakage[()]
    left, right = (0.0, blind), (high, free.value)
    for _ in range(_SEARCH_STEPS):
        high = min(high, _chord(left, right, reached))
        if high - low <= bits_tol:
            break
        bits = (low + high) / 2
        found = solve(problem.with_limits(bits, inf), gap_tol=gap_tol, frugal=False)
        low = max(low, _tangent(found, bits, reached))
        if found.value <= reached:
            right = bits, found.value
        else:
            left = bits, found.value
    return BitsNeeded(distortion, low, high, free.value)


def _chord(left: tuple[float, float], right: tuple[float, float], distortion: float) -> float:
    """Where the line through two points (bits, distortion) has fallen to a distortion."""
    (bits, above), (more, below) = left, right
    return more if above <= below else bits + (more - bits) * (above - distortion) / (above - below)


def _tangent(found: Solution, bits: float, distortion: float) -> float:
    """Fewer bits than this do not reach a distortion, by the prices of a solution."""
    price = found.multipliers.get((), 0.0)
    assert found.bound is not None  # a mean distortion has one
    return bits + (found.bound - distortion) / price if price > 0 else 0.0
