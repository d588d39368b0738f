"""Problems in corners: how many are proved, how far the others are off, and how long they take.

*Ugly*: histories deterministic but for 1e-12, rare records, up to a dozen coalitions and views,
laws down to 1e-9, limits a hair above what is held. *Nearly spent*: several views with 1e-9 to 1e-6
bit left beside views with none. Nothing to compare with: general solvers meet limits to about 1e-8
bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import tacit
from benchmarks.contenders import say
from benchmarks.tables import gap_text, print_table, seconds_text
from tests import strategies
from tests.solvers.solutions import problem_of

N_UGLY, N_NEARLY_SPENT = 3000, 10_000
QUICK_SHARE = 100
MOST_OPEN, MOST_SECONDS = 1e-3, 10.0
NEARLY_SPENT = (0.0, 1e-9, 1e-8, 1e-7, 1e-6)


@dataclass(frozen=True, slots=True)
class CornersResult:
    """Counts and worst figures over one kind of problems.

    Attributes:
        open: seeds of the problems whose gap stayed open.
        worst_beyond: bits by which a reported leakage exceeds its limit, at most.
    """

    kind: str
    n_problems: int
    open: list[int]
    worst_gap: float
    worst_seconds: float
    worst_beyond: float

    @property
    def share_open(self) -> float:
        """Share of the problems whose gap stayed open."""
        return len(self.open) / self.n_problems


def run(*, quick: bool) -> list[CornersResult]:
    """Solve both kinds of problems and print the table."""
    share = QUICK_SHARE if quick else 1
    results = [
        _solve_all("ugly", N_UGLY // share, strategies.ugly_release),
        _solve_all("nearly spent", N_NEARLY_SPENT // share, _nearly_spent),
    ]
    _print(results)
    return results


def _nearly_spent(seed: int) -> strategies.Release:
    return strategies.release(seed, NEARLY_SPENT, 2)


def _solve_all(
    kind: str, n_problems: int, release: Callable[[int], strategies.Release]
) -> CornersResult:
    still_open, gaps, seconds, beyond = [], [0.0], [0.0], [0.0]
    for seed in range(n_problems):
        problem = problem_of(release(seed))
        start = time.perf_counter()
        solution = tacit.solve(problem)
        seconds.append(time.perf_counter() - start)
        gaps.append(solution.gap)
        beyond.extend(bits - problem.limits[key] for key, bits in solution.leakage.items())
        if solution.status is not tacit.Status.OPTIMAL:
            still_open.append(seed)
            say(f"{kind} {seed}: gap {solution.gap:.1e} after {seconds[-1]:.1f} s")
    return CornersResult(kind, n_problems, still_open, max(gaps), max(seconds), max(beyond))


def _print(results: list[CornersResult]) -> None:
    print_table(
        "Problems in corners",
        ["kind", "problems", "open", "worst gap", "worst time", "beyond a limit, at most"],
        [
            [
                result.kind,
                str(result.n_problems),
                str(len(result.open)),
                gap_text(result.worst_gap),
                seconds_text(result.worst_seconds),
                f"{result.worst_beyond:.1e} bits",
            ]
            for result in results
        ],
    )
    print(f"targets: open at most {MOST_OPEN:g} of them, each within {MOST_SECONDS:g} s")
