"""How a contender is timed and scored: seconds, and a gap that means the same for everybody."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.problem import WORST_LEVEL
from tests import oracles

Array = NDArray[np.float64]
Result = TypeVar("Result")

REPEATS = 3
SLOW_SECONDS = 5.0
"""What takes longer than this is run once; the rest ``REPEATS`` times, and the median counts."""

GAP_TOL = 1e-7


@dataclass(frozen=True, slots=True)
class Score:
    """What one contender achieved on one problem.

    Attributes:
        contender: its name.
        seconds: median wall-clock time, problem construction and compilation included.
        gap: feasible value minus tacit's certified lower bound; ``None`` if it found nothing.
        is_capped: whether it was stopped by the clock, so that ``seconds`` is a lower bound.
        note: status, steps, whatever helps to read the line.
    """

    contender: str
    seconds: float
    gap: float | None
    is_capped: bool = False
    note: str = ""


def say(message: str) -> None:
    """Show progress, without mixing it with the tables on standard output."""
    print(f"  .. {message}", file=sys.stderr, flush=True)


def time_it(
    work: Callable[[], Result], *, clock: Callable[[], float] = time.perf_counter
) -> tuple[Result, float]:
    """Result and median seconds of ``work``, by that clock."""
    seconds = []
    while len(seconds) < REPEATS:
        start = clock()
        result = work()
        seconds.append(clock() - start)
        if seconds[-1] > SLOW_SECONDS:
            break
    return result, statistics.median(seconds)


def finite_limits(problem: tacit.Problem) -> dict[tuple[int, ...], float]:
    """Axes -> bits of every limit on earlier releases that is set; views are apart."""
    named = problem.views
    return {key: bits for key, bits in problem.limits.items() if bits < inf and key not in named}


def repaired_value(problem: tacit.Problem, channel: Array) -> float:
    """Expected distortion of ``channel`` after mixing it with the best constant release.

    For the worst level the constant release draws a letter blindly.
    """
    share = constant_share(problem, channel)
    if problem.objective == WORST_LEVEL:
        errors = oracles.level_errors(problem.joint, problem.distortion, channel)
        blind = problem.distortion.mean(axis=0)[problem.p_r > 0]
        return float(((1 - share) * errors + share * blind).max())
    value = oracles.expected_distortion(problem.joint, problem.distortion, channel)
    return (1 - share) * value + share * float((problem.distortion @ problem.p_r).min())


def constant_share(problem: tacit.Problem, channel: Array) -> float:
    """How much of a constant release makes every limit hold.

    I(Rhat; X | Y) is convex in the channel and zero for a constant, so the share
    1 - budget / I(Rhat; X | Y) of the constant makes a view's limit hold exactly.
    """
    share = 0.0
    limits, views = finite_limits(problem), problem.views
    constant = np.ones((*channel.shape[:-1], 1))
    held = oracles.every_leakage_bits(problem.joint, constant, limits, views)
    leaked = oracles.every_leakage_bits(problem.joint, channel, limits, views)
    for key in leaked:
        left, learned = problem.limits[key] - held[key], leaked[key] - held[key]
        if learned > left:
            share = max(share, 1 - left / learned)
    return share


def score_tacit(problem: tacit.Problem, *, frugal: bool = True) -> tuple[tacit.Solution, Score]:
    """Solve with tacit to ``GAP_TOL``."""
    solution, seconds = time_it(lambda: tacit.solve(problem, gap_tol=GAP_TOL, frugal=frugal))
    note = f"{solution.steps} steps, {solution.status.name.lower()}"
    name = "tacit" if frugal else "tacit, any optimum"
    return solution, Score(name, seconds, solution.gap, note=note)


CVXPY_FORMULATIONS: dict[str, Callable[..., oracles.OracleAnswer]] = {
    "cvxpy primal": oracles.solve_by_cvxpy,
    "cvxpy dual": oracles.solve_by_cvxpy_dual,
    "cvxpy naive": oracles.solve_by_cvxpy_naively,
}


def score_cvxpy(
    formulation: str, problem: tacit.Problem, bound: float, *, max_threads: int = 1
) -> Score:
    """Solve with cvxpy and Clarabel at their default tolerances."""
    name = formulation if max_threads == 1 else f"{formulation}, {max_threads} threads"
    say(f"{name} ...")
    solve = CVXPY_FORMULATIONS[formulation]
    limits = finite_limits(problem)

    def work() -> oracles.OracleAnswer | None:
        try:
            return solve(
                problem.joint, problem.distortion, limits, problem.views, max_threads=max_threads
            )
        except cp.SolverError:
            return None

    answer, seconds = time_it(work)
    if answer is None:
        return Score(name, seconds, None, note="Clarabel gave up")
    gap = repaired_value(problem, answer.channel) - bound
    return Score(name, seconds, gap, note=f"{answer.iterations} steps, {answer.status}")


def fastest(scores: Iterable[Score]) -> Score | None:
    """The quickest contender that found a solution at all."""
    return min((s for s in scores if s.gap is not None), key=lambda s: s.seconds, default=None)
