"""The four-release Adult scheme ([TVC] Fig. 6, eps = 0.3) against cvxpy and Clarabel.

tacit makes the whole scheme: histories, designs certified to 1e-6, leakages. cvxpy solves the same
four problems as they stand, 32 letters of X and every reachable history. One process, one BLAS
thread. Three counts, from the kindest to cvxpy: the fastest primal formulation found; the same, and
where a limit is slack a second solve for the answer that leaks least, which is what tacit returns;
the formulation that one would write first.
"""

from __future__ import annotations

from dataclasses import dataclass

import tacit
from benchmarks.contenders import Score, finite_limits, say, score_cvxpy, time_it
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text, verdict_text
from tacit.datasets import adult
from tests import oracles

REQUESTS = ("education", "income", "age", "education")
BUDGET = 0.3
GAP_TOL = 1e-6
TARGET = 10.0


@dataclass(frozen=True, slots=True)
class AdultResult:
    """What the scheme took, and what its four problems take with cvxpy.

    Attributes:
        tacit_seconds: the whole scheme.
        tacit_gaps: certified gap of each release.
        primal: fastest primal formulation, one score per release; gaps are to tacit's bound.
        frugal_seconds: second solve of the releases whose collusion limit is slack.
        naive: first formulation, one score per release; empty if quick.
    """

    tacit_seconds: float
    tacit_gaps: list[float | None]
    primal: list[Score]
    frugal_seconds: float
    naive: list[Score]

    def counts(self) -> dict[str, float]:
        """Contender -> seconds."""
        primal = sum(score.seconds for score in self.primal)
        counts = {
            "cvxpy primal": primal,
            "cvxpy primal, and least leakage": primal + self.frugal_seconds,
        }
        if self.naive:
            counts["cvxpy naive"] = sum(score.seconds for score in self.naive)
        return counts


def adult_scheme() -> tacit.Scheme:
    """(E, J, A, E) at eps = 0.3, delta_k = 0.2 (k - 1) + 0.3."""
    table = adult()
    scheme = tacit.Scheme.from_counts(table.counts, table.attributes)
    for k, asked in enumerate(REQUESTS):
        scheme.release(
            asked,
            party=f"party {k + 1}",
            individual=BUDGET,
            collusion=BUDGET + 0.2 * k,
            gap_tol=GAP_TOL,
        )
    return scheme


def run(*, quick: bool) -> AdultResult:
    """Time everybody (without the naive formulation if ``quick``) and print the tables."""
    say("Adult: tacit ...")
    adult_scheme()  # imports and the data file are not what is compared
    scheme, seconds = time_it(adult_scheme)
    solutions = [release.solution for release in scheme.history]
    result = AdultResult(
        seconds,
        [solution.gap for solution in solutions],
        [_score("cvxpy primal", solution) for solution in solutions],
        sum(_frugal_seconds(solution) for solution in solutions),
        [] if quick else [_score("cvxpy naive", solution) for solution in solutions],
    )
    _print(result, solutions)
    return result


def _score(formulation: str, solution: tacit.Solution) -> Score:
    assert solution.bound is not None, "a distortion problem always has a bound"
    return score_cvxpy(formulation, solution.problem, solution.bound)


def _frugal_seconds(solution: tacit.Solution) -> float:
    """Seconds that cvxpy needs to find the least leakage among equally good releases."""
    problem = solution.problem
    is_slack = solution.leakage[problem.everyone] < problem.limits[problem.everyone] - 1e-3
    if not is_slack:
        return 0.0
    say("cvxpy, least leakage ...")
    value, limits = solution.value + GAP_TOL, finite_limits(problem)
    work = oracles.least_collusion_by_cvxpy
    _, seconds = time_it(
        lambda: work(problem.joint, problem.distortion, value, limits, max_threads=1)
    )
    return seconds


def _print(result: AdultResult, solutions: list[tacit.Solution]) -> None:
    print_table(
        f"Adult: four releases, eps = {BUDGET:g}",
        ["release", "Z x X x R", "distortion", "tacit gap", "cvxpy primal", "cvxpy gap"],
        [
            [
                f"{k}: {asked}",
                " x ".join(map(str, solution.problem.joint.shape)),
                f"{solution.value:.4f}",
                gap_text(solution.gap),
                seconds_text(score.seconds),
                gap_text(score.gap),
            ]
            for k, (asked, solution, score) in enumerate(
                zip(REQUESTS, solutions, result.primal, strict=True), start=1
            )
        ],
    )
    rows = [["tacit, whole scheme", seconds_text(result.tacit_seconds), "1x", "-"]]
    for name, seconds in result.counts().items():
        ratio = seconds / result.tacit_seconds
        rows.append([name, seconds_text(seconds), ratio_text(ratio), verdict_text(ratio, TARGET)])
    print_table("Adult: all four", ["contender", "time", "time / tacit's", "target"], rows)


if __name__ == "__main__":
    run(quick=False)
