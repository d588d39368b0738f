"""What caps on single answers cost: tacit with and without them, and beside cvxpy with the same.

Random problems of the engine's sizes under several seeds, some without a limit on everyone, and
Adult's third visit of a party that comes back, whose view reads x. Where everyone's limit does not
bind, tacit goes on to the release that leaks least to everyone: cvxpy solves both problems there,
and the optimum alone is timed for both, too. Each cap lies halfway between what the view's worst
answer has said before and what it would say in the best release without caps, so it binds. A party
that comes back has its own limit on all that it holds, with and without caps, as in every study;
what that view alone costs is shown beside.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import cvxpy as cp
import numpy as np

import tacit
from benchmarks.contenders import (
    GAP_TOL,
    Array,
    Score,
    constant_share,
    finite_limits,
    say,
    time_it,
)
from benchmarks.problems import SIZES, Size, random_problem
from benchmarks.returning import returning_problems
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text
from tacit.problem import ViewKey
from tests import oracles

TIMED = ((SIZES[0], 5), (SIZES[1], 5), (SIZES[2], 2), (SIZES[3], 3))
"""Sizes, and how many seeds of each."""

UNLIMITED = (
    SIZES[1],
    SIZES[3],
    Size(8, (4, 8, 8), 32, noise=0.6),
    Size(8, (8, 8, 8), 32, noise=0.6),
)
"""Sizes that are timed without a limit on everyone, too: many releases are optimal there."""

CVXPY_UP_TO_UNKNOWNS = 10_000
"""Beyond, cvxpy takes a minute and more for each problem."""

MOST, LEAST = 3.0, 10.0
"""Asked: at most so many times the time without caps; at least so many times faster than cvxpy."""


@dataclass(frozen=True, slots=True)
class CapsResult:
    """One kind of cap on problems of one size; seconds and ratios are medians over the seeds.

    Attributes:
        size, kind: of the problems, and whose answers are capped.
        seconds: of tacit with the caps.
        gap: the largest of tacit's.
        slowdown: seconds with the caps over seconds without.
        worst_slowdown: the largest of these.
        view_slowdown: seconds with the caps over seconds without them and without a limit on a
            party that comes back.
        cvxpy: what cvxpy achieved, seed by seed; empty where it was not run.
        cvxpy_ratio: its seconds over tacit's, where it found something; least leakage included.
        any_ratio: the same for the optimum alone.
    """

    size: str
    kind: str
    seconds: float
    gap: float
    slowdown: float
    worst_slowdown: float
    view_slowdown: float
    cvxpy: list[Score]
    cvxpy_ratio: float | None
    any_ratio: float | None


@dataclass(frozen=True, slots=True)
class _Timed:
    """One problem without caps: its solution and CPU seconds."""

    solution: tacit.Solution
    seconds: float


def run(*, quick: bool) -> list[CapsResult]:
    """Time the sizes (the first of them if ``quick``) and print the table."""
    results = []
    for name, problems in _families(quick=quick):
        say(f"{name}, without caps ...")
        plain = [_Timed(*_solve(problem)) for problem in problems]
        for kind, keys in _kinds(problems[0]).items():
            say(f"{name}, capped: {kind} ...")
            limited = [_Timed(*_solve(_limited(timed.solution, keys))) for timed in plain]
            results.append(_compare(name, kind, keys, limited, plain))
    print_table(
        f"Caps on single answers (CPU seconds, gap 1e-7; asked: at most {MOST:g} times the time "
        f"without caps, cvxpy at least {LEAST:g} times)",
        [
            "size",
            "capped",
            "tacit",
            "gap",
            "/ without",
            "worst",
            "/ without its view",
            "cvxpy",
            "gap",
            "cvxpy / tacit",
            "the optimum alone",
            "note",
        ],
        [_cells(result) for result in results],
    )
    return results


def _families(*, quick: bool) -> Iterator[tuple[str, list[tacit.Problem]]]:
    """Name -> problems of one kind under several seeds."""
    for size, n_seeds in TIMED[:1] if quick else TIMED:
        yield size.name, [random_problem(replace(size, seed=1 + seed)) for seed in range(n_seeds)]
    if quick:
        return
    for size in UNLIMITED:
        yield f"{size.name}, everyone free", [replace(random_problem(size), collusion=np.inf)]
    visits = [problem for _, _, problem in returning_problems((3,))]
    yield "4x64x32, by its law", visits[:1]
    yield "the same, and others limited", visits[1:]


def _kinds(problem: tacit.Problem) -> dict[str, list[ViewKey]]:
    """Whose single answers are capped, by name."""
    if problem.views:
        own: ViewKey = "own"
        return {"the party that returns": [own], "it and everyone": [own, problem.everyone]}
    kinds: dict[str, list[ViewKey]] = {
        "the recipient": [()],
        "everyone": [problem.everyone],
        "both": [(), problem.everyone],
    }
    if len(problem.everyone) > 1:
        kinds["a party that returns"] = [(0,)]
        kinds["it and everyone"] = [(0,), problem.everyone]
    return kinds


def _solve(problem: tacit.Problem) -> tuple[tacit.Solution, float]:
    return time_it(lambda: tacit.solve(problem, gap_tol=GAP_TOL), clock=time.process_time)


def _compare(
    size: str, kind: str, keys: list[ViewKey], limited: list[_Timed], plain: list[_Timed]
) -> CapsResult:
    """tacit and, where that does not take minutes, cvxpy on every problem."""
    problems = [_capped(timed.solution, keys) for timed in limited]
    capped = [_Timed(*_solve(problem)) for problem in problems]
    slowdowns, of_views = (
        [own.seconds / without.seconds for own, without in zip(capped, others, strict=True)]
        for others in (limited, plain)
    )
    is_small = np.prod(capped[0].solution.channel.shape) <= CVXPY_UP_TO_UNKNOWNS
    theirs = [_score_cvxpy(timed.solution) for timed in capped] if is_small else []
    found = [pair for pair in zip(capped, theirs, strict=False) if pair[1].gap is not None]
    ratios = [
        (score.seconds + _seconds_of_least(own.solution)) / own.seconds for own, score in found
    ]
    of_any = [score.seconds / _seconds_of_any(own.solution.problem) for own, score in found]
    return CapsResult(
        size,
        kind,
        statistics.median(timed.seconds for timed in capped),
        max(timed.solution.gap or 0.0 for timed in capped),
        statistics.median(slowdowns),
        max(slowdowns),
        statistics.median(of_views),
        theirs,
        statistics.median(ratios) if ratios else None,
        statistics.median(of_any) if of_any else None,
    )


def _seconds_of_any(problem: tacit.Problem) -> float:
    """tacit's, for any optimum."""
    work = partial(tacit.solve, problem, gap_tol=GAP_TOL, frugal=False)
    return time_it(work, clock=time.process_time)[1]


def _seconds_of_least(solution: tacit.Solution) -> float:
    """cvxpy's, to find the least leakage to everyone among the releases that are as good."""
    problem = solution.problem
    if solution.leakage[problem.everyone] > problem.limits[problem.everyone] - 1e-3:
        return 0.0
    unlimited = {key: np.inf for key in problem.caps if isinstance(key, tuple)}
    work = partial(
        oracles.least_collusion_by_cvxpy,
        problem.joint,
        problem.distortion,
        solution.value + GAP_TOL,
        unlimited | finite_limits(problem),
        problem.views,
        caps=problem.caps,
        max_threads=1,
    )
    try:
        return time_it(work, clock=time.process_time)[1]
    except cp.SolverError:
        return 0.0  # counted as nothing


def _limited(solution: tacit.Solution, keys: list[ViewKey]) -> tacit.Problem:
    """The solved problem with the own limit of a party that comes back, which binds."""
    problem, nothing = solution.problem, np.ones((*solution.problem.joint.shape[:-1], 1))
    coalitions = [key for key in keys if isinstance(key, tuple) and key != problem.everyone and key]
    limits = {
        key: 0.5 * (held_bits(problem, key, nothing) + held_bits(problem, key, solution.channel))
        for key in coalitions
    }
    return replace(problem, coalitions={**problem.coalitions, **limits})


def _capped(solution: tacit.Solution, keys: list[ViewKey]) -> tacit.Problem:
    """The solved problem with caps halfway between what was said and what its best release says."""
    problem = solution.problem
    nothing = np.ones((*problem.joint.shape[:-1], 1))
    caps = {
        key: 0.5 * (worst_bits(problem, key, nothing) + worst_bits(problem, key, solution.channel))
        for key in keys
    }
    return replace(problem, caps=caps)


def worst_bits(problem: tacit.Problem, key: ViewKey, channel: Array) -> float:
    """log2 of the largest p(rhat, y | x) / p(rhat, y)."""
    joint = _seen(problem, key, channel)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=(0, 2), keepdims=True)
    return float(np.log2((joint / np.where(joint > 0, independent, 1.0)).max()))


def held_bits(problem: tacit.Problem, key: ViewKey, channel: Array) -> float:
    """I(Rhat, Y; X) of a view."""
    seen = _seen(problem, key, channel)
    return tacit.mutual_information(seen.transpose(0, 2, 1).reshape(-1, seen.shape[1]))


def _seen(problem: tacit.Problem, key: ViewKey, channel: Array) -> Array:
    """p(y, x, rhat) of a view."""
    mass = problem.joint_zxr.sum(axis=-1)
    return problem.view(key).pool(mass[..., None] * channel.reshape(*mass.shape, -1))


def _score_cvxpy(solution: tacit.Solution) -> Score:
    """cvxpy and Clarabel on the fastest formulation with the same caps, scored after repair."""
    problem, bound = solution.problem, solution.bound
    assert bound is not None, "a distortion problem always has a bound"
    unlimited = {key: np.inf for key in problem.caps if isinstance(key, tuple)}
    limits = unlimited | finite_limits(problem)

    def work() -> oracles.OracleAnswer | None:
        try:
            return oracles.solve_by_cvxpy(
                problem.joint,
                problem.distortion,
                limits,
                problem.views,
                caps=problem.caps,
                max_threads=1,
            )
        except cp.SolverError:
            return None

    answer, seconds = time_it(work, clock=time.process_time)
    if answer is None:
        return Score("cvxpy", seconds, None, note="Clarabel gave up")
    return Score("cvxpy", seconds, _repaired_value(problem, answer.channel) - bound)


def _repaired_value(problem: tacit.Problem, channel: Array) -> float:
    """Expected distortion after mixing ``channel`` with a blind draw until limits and caps hold."""
    share = constant_share(problem, channel)
    blind = np.full_like(channel, 1 / channel.shape[-1])
    for key, bits in problem.caps.items():
        over, left = (_over(problem, key, float(bits), each) for each in (channel, blind))
        is_over = over > 0
        share = max(share, *(over[is_over] / (over[is_over] - left[is_over])), 0.0)
    value = oracles.expected_distortion(problem.joint, problem.distortion, channel)
    return (1 - share) * value + share * float((problem.distortion @ problem.p_r).mean())


def _over(problem: tacit.Problem, key: ViewKey, bits: float, channel: Array) -> Array:
    """p(rhat, y, x) - 2^bits p(rhat, y) p(x), [y, x, rhat]."""
    joint = _seen(problem, key, channel)
    return joint - 2**bits * joint.sum(axis=1, keepdims=True) * joint.sum(
        axis=(0, 2), keepdims=True
    )


def _cells(result: CapsResult) -> list[str]:
    found = [score for score in result.cvxpy if score.gap is not None]
    gave_up = len(result.cvxpy) - len(found)
    return [
        result.size,
        result.kind,
        seconds_text(result.seconds),
        gap_text(result.gap),
        ratio_text(result.slowdown),
        ratio_text(result.worst_slowdown),
        ratio_text(result.view_slowdown),
        seconds_text(statistics.median(each.seconds for each in found)) if found else "-",
        gap_text(max((each.gap or 0.0 for each in found), default=None)),
        ratio_text(result.cvxpy_ratio),
        ratio_text(result.any_ratio),
        f"Clarabel gave up on {gave_up} of {len(result.cvxpy)}" if gave_up else "",
    ]
