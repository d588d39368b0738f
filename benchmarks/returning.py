"""tacit.solve beside cvxpy where a party comes back: its view p(y | z, x) reads x.

Adult in 32 cells, three parties in turn, each asking for its own attribute at 0.08 bit a visit, and
64 states of memory. Nothing of what a party holds is merged here, so its letters multiply. The
problem is the party's next visit: its own limit, and no other. Full collusion is slack, so the
optimum is flat in how the channel reads z.

Like is compared with like: any optimum (``frugal=False``) with cvxpy's, and the release that leaks
least to everyone among the optimal ones with cvxpy and a second stage of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

import tacit
from benchmarks.contenders import (
    Score,
    fastest,
    finite_limits,
    say,
    score_cvxpy,
    score_tacit,
)
from benchmarks.tables import gap_text, print_table, ratio_text, seconds_text, verdict_text
from tacit.datasets import adult
from tacit.scheme.views import merge_laws
from tests import oracles

Array = NDArray[np.float64]

BITS_A_VISIT, STATES, N_PARTIES = 0.08, 64, 3
VISITS = (3, 4, 5)
"""Visits of the first party that are timed; there are more letters at each."""

LIMITED_BESIDE = 0.05
"""Bits by which the other party's and everyone's limits exceed what they hold, in one problem."""

TARGET = 20.0


@dataclass(frozen=True, slots=True)
class ReturningResult:
    """All contenders on one visit."""

    visit: int
    letters: int
    n_limits: int
    any_optimum: Score
    tacit: Score
    cvxpy: list[Score]
    cvxpy_second_stage: float

    @property
    def cvxpy_ratio(self) -> float | None:
        """Seconds of the fastest formulation over tacit's, any optimum."""
        best = fastest(self.cvxpy)
        return None if best is None else best.seconds / self.any_optimum.seconds

    @property
    def frugal_ratio(self) -> float | None:
        """Seconds of the fastest formulation and its second stage over tacit's, both frugal."""
        best = fastest(self.cvxpy)
        if best is None:
            return None
        return (best.seconds + self.cvxpy_second_stage) / self.tacit.seconds


def run(*, quick: bool) -> list[ReturningResult]:
    """Time the visits (the first of them if ``quick``) and print the table."""
    visits = VISITS[:1] if quick else VISITS
    results = []
    for visit, letters, problem in returning_problems(visits):
        say(f"returning party, visit {visit}, {letters} letters: tacit ...")
        any_optimum = score_tacit(problem, frugal=False)[1]
        solution, ours = score_tacit(problem)
        bound = solution.bound
        assert bound is not None, "a distortion problem always has a bound"
        forms = ("cvxpy primal", "cvxpy dual")
        theirs = [score_cvxpy(name, problem, bound) for name in forms]
        n_limits = sum(bits < np.inf for bits in problem.limits.values())
        again = _second_stage_seconds(problem, solution.value)
        results.append(ReturningResult(visit, letters, n_limits, any_optimum, ours, theirs, again))
    print_table(
        f"A party that comes back: 4x{STATES}x32 (target {TARGET:g}x, gap 1e-7)",
        ["visit", "letters", "limits", "contender", "time", "gap", "time / tacit's", "note"],
        [
            _cells(result, score)
            for result in results
            for score in (result.any_optimum, result.tacit, *result.cvxpy)
        ],
    )
    for result in results:
        verdict = verdict_text(result.cvxpy_ratio, TARGET)
        print(
            f"Visit {result.visit}, {result.letters} letters, {result.n_limits} limits: "
            f"{ratio_text(result.cvxpy_ratio)} (target {verdict}); "
            f"{ratio_text(result.frugal_ratio)} where both look for the least leakage to everyone"
        )
    return results


def returning_problems(visits: tuple[int, ...]) -> Iterator[tuple[int, int, tacit.Problem]]:
    """(visit, letters of the first party's view, its problem), alone and once beside others."""
    table = adult()
    cells = table.counts.reshape(-1)
    p_x = cells / cells.sum()
    levels = np.unravel_index(np.arange(len(p_x)), table.counts.shape)
    asked = [np.eye(size)[level] for size, level in zip(table.counts.shape, levels, strict=True)]
    # p(y, m, x) of every party
    laws = [p_x[None, None] for _ in range(N_PARTIES)]
    for visit in range(1, max(visits) + 1):
        for party in range(N_PARTIES):
            problem = _problem(laws, party, asked[party], visit)
            if party == 0 and visit in visits:
                yield visit, len(laws[0]), problem
                if visit == min(visits):
                    yield visit, len(laws[0]), _beside_others(laws, problem)
            channel = tacit.solve(problem, gap_tol=1e-5).channel
            laws = _followed(laws, party, channel)


def _second_stage_seconds(problem: tacit.Problem, value: float) -> float:
    """Seconds that cvxpy takes for the least leakage to everyone at no more than ``value``."""
    say("cvxpy, second stage ...")
    start = time.perf_counter()
    with suppress(cp.SolverError):
        oracles.least_collusion_by_cvxpy(
            problem.joint, problem.distortion, value, finite_limits(problem), problem.views
        )
    return time.perf_counter() - start


def _problem(laws: list[Array], party: int, p_r_given_x: Array, visit: int) -> tacit.Problem:
    mass = laws[party].sum(axis=0)
    views = {"own": (_given(laws[party], mass), BITS_A_VISIT * visit)}
    return tacit.Problem(mass[..., None] * p_r_given_x, views=views)


def _beside_others(laws: list[Array], alone: tacit.Problem) -> tacit.Problem:
    """The same visit with limits on a pair's other party, on a newcomer and on everyone."""
    mass = laws[0].sum(axis=0)
    other = tacit.mutual_information(laws[1].sum(axis=1)) + LIMITED_BESIDE
    views = {**alone.views, "other": (_given(laws[1], mass), other)}
    collusion = tacit.mutual_information(mass) + LIMITED_BESIDE
    return tacit.Problem(alone.joint, "hamming", BITS_A_VISIT, collusion, views=views)


def _followed(laws: list[Array], party: int, channel: Array) -> list[Array]:
    """The laws after a release [m, x, rhat] to one party, states merged."""
    mass = laws[party].sum(axis=0)
    n_m, n_x, n_rhat = channel.shape
    grown = (mass[..., None] * channel).transpose(0, 2, 1).reshape(-1, n_x)
    state = merge_laws(grown, STATES).reshape(n_m, n_rhat)
    moves = np.zeros((n_rhat, n_m, n_x, int(state.max()) + 1))
    for m, rhat in zip(*np.nonzero(state >= 0), strict=True):
        moves[rhat, m, :, state[m, rhat]] = channel[m, :, rhat]
    after = []
    for holder, law in enumerate(laws):
        told = np.einsum("ymx,amxn->yanx", law, moves, optimize=True)
        own = told.reshape(-1, *told.shape[2:]) if holder == party else told.sum(axis=1)
        after.append(own[own.sum(axis=(1, 2)) > 0])
    return after


def _given(law: Array, mass: Array) -> Array:
    """p(y | m, x) as a view wants it, [m, x, y]; the first letter on cells of no mass."""
    given = np.where(mass > 0, law / np.where(mass > 0, mass, 1.0), 0.0)
    given[0] = np.where(mass > 0, given[0], 1.0)
    return np.moveaxis(given / given.sum(axis=0), 0, -1)


def _cells(result: ReturningResult, score: Score) -> list[str]:
    return [
        str(result.visit),
        str(result.letters),
        str(result.n_limits),
        score.contender,
        seconds_text(score.seconds),
        gap_text(score.gap),
        ratio_text(score.seconds / result.any_optimum.seconds),
        score.note,
    ]
