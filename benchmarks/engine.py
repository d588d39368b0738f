"""tacit.solve beside cvxpy with Clarabel and the paper's bisection, over problem sizes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import tacit
from benchmarks.contenders import GAP_TOL, Score, fastest, say, score_cvxpy, score_tacit
from benchmarks.memory import measure_in_subprocess
from benchmarks.paper_bisection import PaperProcedure
from benchmarks.problems import SIZES, Size, random_problem
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text, verdict_text

PAPER_CAP_SECONDS = 120.0
QUICK_PAPER_CAP_SECONDS = 10.0
PAPER_MILESTONES = (1e-3, 1e-5)

DUAL_UP_TO_UNKNOWNS = 100_000
"""At 262,144 unknowns the dual formulation took 352 s, the primal one 155 s in the same setting."""

NAIVE_SIZE = "4x32x32"

ALL_CORES_FROM_UNKNOWNS = 30_000
"""From here on Clarabel also runs with all cores, and the faster run counts. Threads change its
rounding, and at 262,144 unknowns that alone moved it between 56 and 107 steps."""

MEMORY_TARGET_GB = 3.0


@dataclass(frozen=True, slots=True)
class EngineResult:
    """All contenders on one size; ratios are their seconds over tacit's."""

    size: Size
    multipliers: dict[str, float]
    tacit: Score
    cvxpy: list[Score]
    paper: Score | None
    extras: list[Score]
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def cvxpy_ratio(self) -> float | None:
        """Against the fastest formulation."""
        best = fastest(self.cvxpy)
        return None if best is None else best.seconds / self.tacit.seconds

    @property
    def paper_ratio(self) -> float | None:
        """Against the paper's procedure; a lower bound where that was capped."""
        return None if self.paper is None else self.paper.seconds / self.tacit.seconds


def run(*, quick: bool) -> list[EngineResult]:
    """Time every size (the two smallest if ``quick``) and print the tables."""
    sizes = SIZES[:2] if quick else SIZES
    cap = QUICK_PAPER_CAP_SECONDS if quick else PAPER_CAP_SECONDS
    results = [_run_size(size, cap, quick=quick) for size in sizes]
    _print_results(results)
    return results


def _run_size(size: Size, paper_cap: float, *, quick: bool) -> EngineResult:
    say(f"{size.name}: tacit ...")
    problem = random_problem(size)
    solution, ours = score_tacit(problem)
    bound = solution.bound
    assert bound is not None, "a distortion problem always has a bound"
    unknowns = problem.distortion.shape[0] * size.n_z * size.n_x
    cvxpy = _score_formulations(problem, bound, unknowns)
    paper = None if size.target_paper is None else _score_paper(problem, bound, paper_cap)
    is_largest = size is SIZES[-1]
    return EngineResult(
        size=size,
        multipliers={str(key): value for key, value in solution.multipliers.items()},
        tacit=ours,
        cvxpy=cvxpy,
        paper=paper,
        extras=_score_naive(size, problem, bound, quick=quick),
        memory=measure_in_subprocess(size.name, GAP_TOL) if is_largest else {},
    )


def _score_formulations(problem: tacit.Problem, bound: float, unknowns: int) -> list[Score]:
    """Every way to use cvxpy that could be the fastest at this size."""
    scores = [score_cvxpy("cvxpy primal", problem, bound)]
    if unknowns <= DUAL_UP_TO_UNKNOWNS:
        scores.append(score_cvxpy("cvxpy dual", problem, bound))
    cores = os.cpu_count() or 1
    if unknowns >= ALL_CORES_FROM_UNKNOWNS and cores > 1:
        scores.append(score_cvxpy("cvxpy primal", problem, bound, max_threads=cores))
    return scores


def _score_naive(size: Size, problem: tacit.Problem, bound: float, *, quick: bool) -> list[Score]:
    """The naive formulation, at one size: it informs but decides nothing."""
    if size.name != NAIVE_SIZE or quick:
        return []
    return [score_cvxpy("cvxpy naive", problem, bound)]


def _score_paper(problem: tacit.Problem, bound: float, cap_seconds: float) -> Score:
    say(f"the paper's bisection, at most {cap_seconds:g} s ...")
    progress = PaperProcedure(problem, cap_seconds).run()
    milestones = []
    for gap in PAPER_MILESTONES:
        seconds = progress.seconds_to(bound + gap)
        milestones.append(f"gap {gap:g} {'never' if seconds is None else f'at {seconds:.3g} s'}")
    return Score(
        "paper's bisection",
        progress.seconds,
        progress.best_value - bound,
        is_capped=progress.is_capped,
        note=f"{progress.runs} runs, {progress.steps} steps; {', '.join(milestones)}",
    )


def _print_results(results: list[EngineResult]) -> None:
    print_table(
        f"Engine: every contender (gap: feasible value minus certified bound; asked {GAP_TOL:g})",
        ["size", "contender", "time", "gap", "time / tacit's", "note"],
        [_score_cells(result, score) for result in results for score in _scores(result)],
    )
    print_table(
        "Engine: multipliers at the optimum (all positive: all limits bind)",
        ["size", "multipliers, distortion per bit"],
        [[result.size.name, _multipliers_text(result.multipliers)] for result in results],
    )
    print_table(
        "Engine: targets",
        ["size", "against fastest cvxpy", "target", "against the paper", "target"],
        [_target_cells(result) for result in results],
    )
    for result in results:
        if result.memory:
            peak = result.memory["peak_gb"]
            verdict = "met" if peak < MEMORY_TARGET_GB else "missed"
            print(
                f"Peak memory of tacit at {result.size.name}, own process: {peak:.2f} GB, of which "
                f"{result.memory['before_gb']:.2f} GB before solving "
                f"(target < {MEMORY_TARGET_GB:g} GB: {verdict})",
                flush=True,
            )


def _scores(result: EngineResult) -> list[Score]:
    paper = [] if result.paper is None else [result.paper]
    return [result.tacit, *result.cvxpy, *result.extras, *paper]


def _score_cells(result: EngineResult, score: Score) -> list[str]:
    return [
        result.size.name,
        score.contender,
        seconds_text(score.seconds, score.is_capped),
        gap_text(score.gap),
        ratio_text(score.seconds / result.tacit.seconds, score.is_capped),
        score.note,
    ]


def _target_cells(result: EngineResult) -> list[str]:
    is_capped = result.paper is not None and result.paper.is_capped
    return [
        result.size.name,
        ratio_text(result.cvxpy_ratio),
        verdict_text(result.cvxpy_ratio, result.size.target_cvxpy),
        ratio_text(result.paper_ratio, is_capped),
        verdict_text(result.paper_ratio, result.size.target_paper, is_capped),
    ]


def _multipliers_text(multipliers: dict[str, float]) -> str:
    return ", ".join(f"{key}: {value:.4f}" for key, value in multipliers.items())
