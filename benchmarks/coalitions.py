"""tacit.solve beside cvxpy with three coalitions limited besides individual and full collusion."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.contenders import Score, fastest, say, score_cvxpy, score_tacit
from benchmarks.problems import COALITION_SIZE, coalition_problem
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text, verdict_text


@dataclass(frozen=True, slots=True)
class CoalitionResult:
    """All contenders on the coalition problem."""

    multipliers: dict[str, float]
    tacit: Score
    cvxpy: list[Score]

    @property
    def cvxpy_ratio(self) -> float | None:
        """Seconds of the fastest formulation over tacit's."""
        best = fastest(self.cvxpy)
        return None if best is None else best.seconds / self.tacit.seconds


def run(*, quick: bool) -> CoalitionResult:
    """Time the coalition problem (the same size if ``quick``) and print the table."""
    del quick
    size = COALITION_SIZE
    sizes = f"{size.n_rhat}x{size.release_sizes}x{size.n_x}"
    say(f"coalitions, {sizes}: tacit ...")
    problem = coalition_problem()
    solution, ours = score_tacit(problem)
    bound = solution.bound
    assert bound is not None, "a distortion problem always has a bound"
    result = CoalitionResult(
        multipliers={str(key): value for key, value in solution.multipliers.items()},
        tacit=ours,
        cvxpy=[score_cvxpy(name, problem, bound) for name in ("cvxpy primal", "cvxpy dual")],
    )
    print_table(
        f"Coalitions: {sizes}, five limits",
        ["contender", "time", "gap", "time / tacit's", "note"],
        [_cells(result, score) for score in (result.tacit, *result.cvxpy)],
    )
    multipliers = ", ".join(f"{key}: {value:.4f}" for key, value in result.multipliers.items())
    print(f"Multipliers, distortion per bit: {multipliers}")
    verdict = verdict_text(result.cvxpy_ratio, size.target_cvxpy)
    print(f"Against the fastest cvxpy: {ratio_text(result.cvxpy_ratio)} (target {verdict})")
    return result


def _cells(result: CoalitionResult, score: Score) -> list[str]:
    ratio = ratio_text(score.seconds / result.tacit.seconds)
    return [
        score.contender,
        seconds_text(score.seconds),
        gap_text(score.gap),
        ratio,
        score.note,
    ]
