"""tacit.trace_surface on [TVC] Table I beside one cvxpy solve per point."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tacit
from benchmarks.contenders import finite_limits, say, time_it
from benchmarks.problems import table_one_joint
from benchmarks.tables import print_table, ratio_text, seconds_text, verdict_text
from tests import oracles

SIDE = 40
QUICK_SIDE = 10
SAMPLE = 48
SURFACE_GAP_TOL = 1e-6
TARGET = 20.0


@dataclass(frozen=True, slots=True)
class SurfaceResult:
    """Seconds for the whole surface; cvxpy's are measured on a sample of points and scaled.

    Attributes:
        cold_seconds: a cvxpy problem built, compiled and solved per point.
        compiled_seconds: one cvxpy problem, compiled once, its limits as parameters.
        largest_difference: between the values of tacit and cvxpy, over the sample.
    """

    n_points: int
    n_sampled: int
    tacit_seconds: float
    cold_seconds: float
    compiled_seconds: float
    largest_difference: float

    @property
    def cold_ratio(self) -> float:
        """Cold cvxpy solves over tacit."""
        return self.cold_seconds / self.tacit_seconds

    @property
    def compiled_ratio(self) -> float:
        """cvxpy compiled once over tacit."""
        return self.compiled_seconds / self.tacit_seconds


def run(*, quick: bool) -> SurfaceResult:
    """Trace a square grid of both limits and print the table."""
    side = QUICK_SIDE if quick else SIDE
    limits_bits = np.arange(1, side + 1) / side
    problem = tacit.Problem(table_one_joint())
    say(f"surface of {side}x{side} points: tacit ...")
    surface, tacit_seconds = time_it(
        lambda: tacit.trace_surface(
            problem, individual=limits_bits, collusion=limits_bits, gap_tol=SURFACE_GAP_TOL
        )
    )
    sample = _sample_points(side)
    points = [
        problem.with_limits(limits_bits[i], limits_bits[j]) for i, j in zip(*sample, strict=True)
    ]
    say(f"cvxpy, {len(points)} points ...")
    cold_values, cold_seconds = _solve_cold(points)
    say("cvxpy compiled once ...")
    _, compiled_seconds = _solve_compiled(points)
    scale = side**2 / len(points)
    result = SurfaceResult(
        n_points=side**2,
        n_sampled=len(points),
        tacit_seconds=tacit_seconds,
        cold_seconds=scale * cold_seconds,
        compiled_seconds=scale * compiled_seconds,
        largest_difference=float(np.abs(np.asarray(surface.value)[sample] - cold_values).max()),
    )
    _print_result(result)
    return result


def _sample_points(side: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices (i, j) of ``SAMPLE`` points, spread at random over the grid."""
    flat = np.random.default_rng(1).choice(side**2, size=min(SAMPLE, side**2), replace=False)
    rows, columns = np.unravel_index(np.sort(flat), (side, side))
    return rows, columns


def _solve_cold(points: list[tacit.Problem]) -> tuple[NDArray[np.float64], float]:
    start = time.perf_counter()
    values = [
        oracles.solve_robustly_by_cvxpy(
            point.joint, point.distortion, finite_limits(point), max_threads=1
        ).value
        for point in points
    ]
    return np.array(values), time.perf_counter() - start


def _solve_compiled(points: list[tacit.Problem]) -> tuple[list[float], float]:
    start = time.perf_counter()
    many_limits = [finite_limits(point) for point in points]
    values = oracles.sweep_by_cvxpy(points[0].joint, points[0].distortion, many_limits)
    return values, time.perf_counter() - start


def _print_result(result: SurfaceResult) -> None:
    print_table(
        f"Surface: {result.n_points} points of Table I "
        f"(cvxpy measured on {result.n_sampled} and scaled)",
        ["contender", "time", "time / tacit's", "target"],
        [
            ["tacit", seconds_text(result.tacit_seconds), "1x", "-"],
            [
                "cvxpy, cold",
                seconds_text(result.cold_seconds),
                ratio_text(result.cold_ratio),
                verdict_text(result.cold_ratio, TARGET),
            ],
            [
                "cvxpy, compiled once",
                seconds_text(result.compiled_seconds),
                ratio_text(result.compiled_ratio),
                "-",
            ],
        ],
    )
    print(
        f"Largest difference between tacit and cvxpy on the sample: "
        f"{result.largest_difference:.1e} (tacit's gap_tol {SURFACE_GAP_TOL:g})",
        flush=True,
    )
