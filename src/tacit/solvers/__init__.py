"""How release problems are solved."""

from __future__ import annotations

from tacit.problem import Problem
from tacit.solution import Solution
from tacit.solvers.distortion import solve_distortion

__all__ = ["solve"]


def solve(problem: Problem, *, gap_tol: float = 1e-7) -> Solution:
    """The best release for a problem, with a certificate of how good it is."""
    return solve_distortion(problem, gap_tol)
