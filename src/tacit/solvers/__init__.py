"""How release problems are solved."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.problem import Problem
from tacit.solution import Solution
from tacit.solvers.distortion import solve_distortion, solve_distortions

__all__ = ["feasible_solutions", "solve"]


def solve(problem: Problem, *, gap_tol: float = 1e-7) -> Solution:
    """The best release for a problem, with a certificate of how good it is."""
    return solve_distortion(problem, gap_tol)


def feasible_solutions(problems: Sequence[Problem], gap_tol: float) -> list[Solution | None]:
    """Solve problems that differ only in their limits; ``None`` where one is infeasible."""
    return solve_distortions(problems, gap_tol)
