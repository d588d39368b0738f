"""The worst level and analysable releases beside cvxpy, on the problems of the engine's benchmark.

For analysable releases R is the range of x itself, without noise: they need an R that x settles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

import tacit
from benchmarks.contenders import (
    Score,
    finite_limits,
    repaired_value,
    say,
    score_tacit,
    time_it,
)
from benchmarks.problems import SIZES, Size, random_problem
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text
from tacit.problem import WORST_LEVEL
from tests import oracles

TIMED = SIZES[:2]


@dataclass(frozen=True, slots=True)
class LevelsResult:
    """tacit and cvxpy on one problem."""

    name: str
    kind: str
    value: float
    tacit: Score
    cvxpy: Score

    @property
    def ratio(self) -> float:
        """Seconds of cvxpy over tacit's."""
        return self.cvxpy.seconds / self.tacit.seconds


def run(*, quick: bool) -> list[LevelsResult]:
    """Time the sizes (the first of them if ``quick``) and print the table."""
    results = [
        _compare(size, kind, problem)
        for size in (TIMED[:1] if quick else TIMED)
        for kind, problem in _problems(size).items()
    ]
    print_table(
        "The worst level and analysable releases (gap 1e-7)",
        ["size", "problem", "value", "contender", "time", "gap", "time / tacit's", "note"],
        [_cells(result, score) for result in results for score in (result.tacit, result.cvxpy)],
    )
    return results


def _problems(size: Size) -> dict[str, tacit.Problem]:
    """What is asked, by name."""
    noisy = random_problem(size)
    level = np.arange(size.n_x) * size.n_rhat // size.n_x
    settled = noisy.joint.sum(axis=-1)[..., None] * np.eye(size.n_rhat)[level]
    exact = replace(noisy, joint=settled)
    return {
        "mean": noisy,
        "worst level": replace(noisy, objective=WORST_LEVEL),
        "analysable": replace(exact, analysable=True),
        "analysable, worst level": replace(exact, analysable=True, objective=WORST_LEVEL),
    }


def _compare(size: Size, kind: str, problem: tacit.Problem) -> LevelsResult:
    say(f"levels {size.name}, {kind} ...")
    solution, ours = score_tacit(problem)
    assert solution.bound is not None, "only shares have no bound"
    theirs = _score_cvxpy(problem, solution.bound)
    return LevelsResult(size.name, kind, solution.value, ours, theirs)


def _score_cvxpy(problem: tacit.Problem, bound: float) -> Score:
    """cvxpy and Clarabel on the primal formulation, scored after repair."""

    def work() -> tuple[float, oracles.OracleAnswer] | None:
        try:
            return oracles.solve_levels_by_cvxpy(
                problem.joint,
                problem.distortion,
                finite_limits(problem),
                is_worst=problem.objective == WORST_LEVEL,
                is_analysable=problem.analysable,
                max_threads=1,
            )
        except cp.SolverError:
            return None

    found, seconds = time_it(work)
    if found is None:
        return Score("cvxpy", seconds, None, note="Clarabel gave up")
    answer = found[1]
    gap = repaired_value(problem, answer.channel) - bound
    return Score("cvxpy", seconds, gap, note=f"{answer.iterations} steps, {answer.status}")


def _cells(result: LevelsResult, score: Score) -> list[str]:
    is_ours = score is result.tacit
    return [
        result.name if is_ours else "",
        result.kind if is_ours else "",
        f"{result.value:.6f}" if is_ours else "",
        score.contender,
        seconds_text(score.seconds),
        gap_text(score.gap),
        "" if is_ours else ratio_text(result.ratio),
        score.note,
    ]
