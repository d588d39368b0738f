"""How release problems are solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tacit.errors import CeilingError, InfeasibleError, InvalidInputError
from tacit.information.laws import gamma
from tacit.problem import MEAN, Problem
from tacit.solution import GAP_TOL, Solution
from tacit.solvers.analysable import lift, restate
from tacit.solvers.convex.solve import solve_distortion, solve_distortions
from tacit.solvers.information_utility.solve import Progress, solve_information
from tacit.solvers.kernel import A_SECOND, deadline, work_done
from tacit.solvers.levels import solve_levels
from tacit.solvers.shares import solve_shares

__all__ = ["A_SECOND", "Progress", "feasible_solutions", "solve", "work_done"]


def solve(
    problem: Problem,
    *,
    gap_tol: float = GAP_TOL,
    frugal: bool = True,
    time_limit: float | None = None,
    work_limit: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The best release for a problem, with a certificate of how good it is.

    Args:
        problem: what to solve.
        gap_tol: asked distance between value and certified bound, relative to ``problem.scale``,
            the range of the distortion; ``gap / problem.scale`` asks for a gap in its own unit.
        frugal: among releases that are equally good within ``gap_tol``, take the one that leaks
            least to everyone, within some three times the work of the solve; ``frugality`` of the
            solution says what came of it. For information, the worst level, ceilings and shares
            only the releases that they are made of are frugal.
        time_limit: seconds after which the search for a release of utility ``"information"``, for
            the worst level or within ceilings ends with the best one found and its bound; ``None``
            for no limit. The mean of a distortion needs none.
        work_limit: the same in additions and multiplications, some 1e10 a second: what comes out
            is the same on every machine.
        progress: called whenever that search finds a better release or bound, with value, bound
            and seconds since the start.

    Raises:
        InfeasibleError: a limit is below what has leaked already.
        InvalidInputError: this is no problem, or an option is no positive number or does not fit
            the utility.
        UnconvergedError: the time ran out before a release was found that keeps the ceilings.
    """
    if not isinstance(problem, Problem):
        raise InvalidInputError(
            f"problem is a {type(problem).__name__}: wrap a joint law p(z, x, r) in a Problem, as "
            "tacit.solve(tacit.Problem(joint, individual=..., collusion=...))"
        )
    _check(gap_tol)
    if problem.is_searched:
        _check_limit("time_limit", time_limit, "seconds")
        _check_limit("work_limit", work_limit, "operations")
    elif any(each is not None for each in (time_limit, work_limit, progress)):
        raise InvalidInputError(
            "time_limit, work_limit and progress are for utility='information', the worst level "
            "and ceilings: leave them out for the mean of a distortion"
        )
    own, unit = _of_range_1(problem), problem.scale

    def tell(value: float, bound: float, seconds: float) -> None:
        if progress is not None:
            progress(unit * value, unit * bound, seconds)

    try:
        with deadline(time_limit, work=work_limit):
            found = _solve(own, gap_tol, tell, frugal=frugal)
    except CeilingError as error:
        ceiling = problem.ceilings[error.level]
        raise CeilingError(error.level, ceiling, unit * error.reachable) from None
    return _in_own_unit(problem, found)


def _of_range_1(problem: Problem) -> Problem:
    """The same problem with a distortion of range 1: solvers know no other unit."""
    unit = problem.scale
    if unit == 1.0:
        return problem
    ceilings = {level: error / unit for level, error in problem.ceilings.items()}
    return replace(problem, utility=problem.distortion / unit, ceilings=ceilings)


def _in_own_unit(problem: Problem, found: Solution) -> Solution:
    """A solution of the problem of range 1 as one of the problem; weights of levels stay."""
    unit = problem.scale
    if unit == 1.0:
        return found
    value, bound = unit * found.value, found.bound
    if bound is not None:  # costs were rounded when they were divided
        bound = min(unit * (bound - gamma(4) * abs(bound)), value)
    return replace(
        found,
        problem=problem,
        value=value,
        bound=bound,
        multipliers={key: unit * price for key, price in found.multipliers.items()},
        cap_multipliers={key: unit * price for key, price in found.cap_multipliers.items()},
    )


def _solve(problem: Problem, gap_tol: float, progress: Progress, *, frugal: bool) -> Solution:
    """The best release for a utility, whatever it reads."""
    if problem.analysable:
        own = restate(problem)
        if problem.is_shares:
            return lift(problem, solve_shares(own, gap_tol, frugal=frugal))
        return lift(problem, _solve(own, gap_tol, progress, frugal=frugal))
    if problem.is_information:
        return solve_information(problem, gap_tol, progress, frugal=frugal)
    if problem.is_searched:
        return solve_levels(problem, gap_tol, progress, frugal=frugal)
    return solve_distortion(problem, gap_tol, frugal=frugal)


def feasible_solutions(
    problems: Sequence[Problem], gap_tol: float, *, frugal: bool
) -> list[Solution | None]:
    """Solve problems that differ only in their limits; ``None`` where one is infeasible."""
    _check(gap_tol)
    first = problems[0]
    is_plain = first.objective == MEAN and not first.ceilings and not first.analysable
    if is_plain and not first.is_information:
        found = solve_distortions([_of_range_1(each) for each in problems], gap_tol, frugal=frugal)
        return [
            None if solution is None else _in_own_unit(problem, solution)
            for problem, solution in zip(problems, found, strict=True)
        ]
    return [_solution_or_none(problem, gap_tol, frugal=frugal) for problem in problems]


def _solution_or_none(problem: Problem, gap_tol: float, *, frugal: bool) -> Solution | None:
    try:
        return solve(problem, gap_tol=gap_tol, frugal=frugal)
    except InfeasibleError:
        return None


def _check(gap_tol: float) -> None:
    if not 0 < gap_tol < inf:
        raise InvalidInputError(f"gap_tol is {gap_tol}: give a positive, finite number")


def _check_limit(name: str, limit: float | None, unit: str) -> None:
    if limit is not None and not limit > 0:
        raise InvalidInputError(f"{name} is {limit}: give a positive number of {unit}, or None")
