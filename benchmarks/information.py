"""Information as utility: how fast, how near its bound, how near the best of many starts.

Three tables. Small random problems: percentiles of gap / bound. Problems after several releases,
and dense ones where R depends on the history beyond X: seconds, value, bound and gap. A fixed set
of problems: value beside the best of many long independent starts, with several numbers of letters.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import tacit
from benchmarks.contenders import say
from benchmarks.problems import (
    Array,
    Size,
    dense_information_problem,
    information_problem,
    small_information_problem,
)
from benchmarks.tables import print_table, seconds_text
from tacit.solvers.convex.program import Statement
from tacit.solvers.information_utility.ascent import ascend

N_SMALL, N_SMALL_QUICK = 400, 40
PERCENTILES = (50, 75, 90, 95, 100)
TARGET_PERCENTILE, TARGET_SHARE = 90, 0.1

LARGE = (
    (5.0, "after releases", information_problem(Size(4, (4, 4), 32, noise=0.5))),
    (30.0, "after releases", information_problem(Size(4, (4, 4, 4), 32, noise=0.5))),
    (5.0, "dense, 0.1", dense_information_problem(16, evenness=0.1)),
    (5.0, "dense, 1.0", dense_information_problem(16, evenness=1.0)),
    (30.0, "dense, 0.1", dense_information_problem(64, evenness=0.1)),
    (30.0, "dense, 1.0", dense_information_problem(64, evenness=1.0)),
)
"""Most seconds, kind, problem."""

COMPARED = tuple(
    Size(n_r, releases, n_x, noise=0.5, seed=seed)
    for n_r, releases, n_x in (
        (2, (4,), 8),
        (3, (4,), 8),
        (4, (4,), 8),
        (3, (2, 4), 16),
        (4, (4, 4), 16),
    )
    for seed in range(6)
)
N_STARTS, N_STARTS_QUICK = 200, 20
STARTS_AT_ONCE = 20
ROUND_BITS, MOST_ROUNDS = 1e-5, 200
"""A start ends when a round gains less, or after so many rounds."""

TARGET_OF_BEST = 0.98


@dataclass(frozen=True, slots=True)
class InformationResult:
    """One problem: value and bound in bits, seconds, and what many starts found, where asked."""

    name: str
    value: float
    bound: float
    seconds: float
    is_time_shared: bool
    best_of_starts: float | None = None

    @property
    def gap_share(self) -> float:
        """Gap over bound; 0 where the bound is 0."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0


def run(*, quick: bool) -> list[InformationResult]:
    """Run all three tables."""
    small = [
        _solve(f"small {seed}", small_information_problem(seed))
        for seed in range(N_SMALL_QUICK if quick else N_SMALL)
    ]
    _print_small(small)
    large = [_solve(f"{kind}, {_shape(problem)}", problem) for _, kind, problem in LARGE]
    _print_large(large)
    compared = [
        _compare(size, N_STARTS_QUICK if quick else N_STARTS)
        for size in (COMPARED[::6] if quick else COMPARED)
    ]
    _print_compared(compared)
    return [*small, *large, *compared]


def _solve(name: str, problem: tacit.Problem) -> InformationResult:
    start = time.perf_counter()
    solution = tacit.solve(problem)
    seconds = time.perf_counter() - start
    assert solution.bound is not None
    is_shared = solution.time_sharing is not tacit.TimeSharing.NONE
    return InformationResult(name, solution.value, solution.bound, seconds, is_shared)


def _shape(problem: tacit.Problem) -> str:
    """|R| x |Z| x |X|."""
    n_z, n_x, n_r = problem.joint_zxr.shape
    return f"{n_r}x{n_z}x{n_x}"


def _compare(size: Size, n_starts: int) -> InformationResult:
    problem = information_problem(size)
    ours = _solve(f"{size.name}, {size.seed}", problem)
    best = _best_of_starts(problem, n_starts)
    say(f"{ours.name}: {ours.value:.5f}, best of {n_starts} starts {best:.5f}")
    return InformationResult(
        ours.name, ours.value, ours.bound, ours.seconds, ours.is_time_shared, best
    )


def _best_of_starts(problem: tacit.Problem, n_starts: int) -> float:
    """The most I(Rhat; R) of long ascents from random letters, from n_r to 2 n_r of them."""
    statement = Statement.of(problem)
    limits = statement.limits(problem.limits)
    rng, n_r, best = np.random.default_rng(0), problem.joint.shape[-1], 0.0
    for start in range(0, n_starts, STARTS_AT_ONCE):
        n_letters = n_r + start // STARTS_AT_ONCE % (n_r + 1)
        starts = rng.dirichlet(np.full(n_r, 0.7), size=(STARTS_AT_ONCE, n_letters))
        best = max(best, _ascended(statement, starts, limits))
    return best


def _ascended(statement: Statement, starts: Array, limits: Array) -> float:
    rows = np.tile(limits, (len(starts), 1))
    *_, last = ascend(statement, starts, rows, gap_tol=ROUND_BITS, max_rounds=MOST_ROUNDS)
    return float(last.value[0])


def _print_small(results: list[InformationResult]) -> None:
    shares = np.array([result.gap_share for result in results])
    seconds = np.array([result.seconds for result in results])
    rows = [
        [f"{percent}", f"{np.percentile(shares, percent):.4f}", seconds_text(at)]
        for percent, at in zip(PERCENTILES, np.percentile(seconds, PERCENTILES), strict=True)
    ]
    print_table(
        f"{len(results)} small random problems", ["percentile", "gap / bound", "time"], rows
    )
    seen = np.percentile(shares, TARGET_PERCENTILE)
    n_shared = sum(result.is_time_shared for result in results)
    print(
        f"gap / bound at the {TARGET_PERCENTILE}th percentile: {seen:.4f} "
        f"(target at most {TARGET_SHARE}); time-shared: {n_shared}"
    )


def _print_large(results: list[InformationResult]) -> None:
    rows = [
        [
            result.name,
            f"{result.value:.5f}",
            f"{result.bound:.5f}",
            f"{result.bound - result.value:.5f}",
            seconds_text(result.seconds),
            f"< {most:g} s: {'met' if result.seconds < most else 'missed'}",
        ]
        for result, (most, *_) in zip(results, LARGE, strict=True)
    ]
    header = ["problem, |R| x |Z| x |X|", "value", "bound", "gap", "time", "target"]
    print_table("Large problems, bits of information", header, rows)


def _print_compared(results: list[InformationResult]) -> None:
    rows = []
    for result in results:
        assert result.best_of_starts is not None
        rows.append(
            [
                result.name,
                f"{result.value:.5f}",
                f"{result.best_of_starts:.5f}",
                f"{result.value / result.best_of_starts:.4f}",
                f"{result.bound:.5f}",
                f"{result.bound - result.value:.5f}",
                seconds_text(result.seconds),
            ]
        )
    header = ["problem", "value", "best of starts", "ratio", "bound", "gap", "time"]
    print_table("Beside the best of many independent starts", header, rows)
    worst = min(float(row[3]) for row in rows)
    print(f"least ratio: {worst:.4f} (target at least {TARGET_OF_BEST})")
