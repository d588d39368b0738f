"""How release problems are solved."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from tacit.errors import InfeasibleError, InvalidInputError
from tacit.problem import Problem
from tacit.solution import GAP_TOL, Solution
from tacit.solvers.convex.solve import solve_distortion, solve_distortions
from tacit.solvers.information_utility.solve import solve_information

__all__ = ["feasible_solutions", "solve"]


def solve(problem: Problem, *, gap_tol: float = GAP_TOL) -> Solution:
    """The best release for a problem, with a certificate of how good it is.

    Args:
        problem: what to solve.
        gap_tol: asked distance between value and certified bound, in units of the utility.

    Raises:
        InfeasibleError: a limit is below what has leaked already.
        InvalidInputError: this is no problem, or the tolerance is no positive number.
    """
    if not isinstance(problem, Problem):
        raise InvalidInputError(
            f"problem is a {type(problem).__name__}: wrap a joint law p(z, x, r) in a Problem, as "
            "tacit.solve(tacit.Problem(joint, individual=..., collusion=...))"
        )
    _check(gap_tol)
    if problem.is_information:
        return solve_information(problem, gap_tol)
    return solve_distortion(problem, gap_tol)


def feasible_solutions(problems: Sequence[Problem], gap_tol: float) -> list[Solution | None]:
    """Solve problems that differ only in their limits; ``None`` where one is infeasible."""
    _check(gap_tol)
    if not problems[0].is_information:
        return solve_distortions(problems, gap_tol)
    return [_solution_or_none(problem, gap_tol) for problem in problems]


def _solution_or_none(problem: Problem, gap_tol: float) -> Solution | None:
    try:
        return solve_information(problem, gap_tol)
    except InfeasibleError:
        return None


def _check(gap_tol: float) -> None:
    if not 0 < gap_tol < inf:
        raise InvalidInputError(f"gap_tol is {gap_tol}: give a positive, finite number")
