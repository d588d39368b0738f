"""[TVC] taken literally: Algorithm 1 for every pair of multipliers, nested bisection on the pair.

The outer bisection is on mu_1 to meet the individual limit, the inner one on mu_2 to meet the
collusion limit ([TVC] Algorithm 3, line 10). Every run of Algorithm 1 starts from scratch, as it is
printed: restarting from a peaked channel looks converged at once while it is not.

Three kindnesses: every channel on the way is repaired to feasibility and the best one counts; the
algorithm runs vectorised in the log domain, where small multipliers do not underflow; and it
is stopped where it crawls, at 200,000 steps a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import tacit

Array = NDArray[np.float64]

CHANGE_TOL = 1e-8
"""Algorithm 1 has converged when no p(rhat | z, x) moves by more than this."""

MAX_STEPS = 200_000
"""Algorithm 1 is also stopped after so many steps, where it would crawl on."""

LEAKAGE_TOL_BITS = 1e-6
"""A bisection has found its limit when the leakage is this close to it."""

BRACKET_TOL = 1e-9
"""A bisection also ends when its bracket is this narrow, relatively."""

FIRST_MULTIPLIER = 0.17
"""Where a bracket starts; doubled until the limit holds. Of three tried, the one that ended."""

SMALLEST_MULTIPLIER = 1e-5
"""A bracket that shrinks below this has met a slack limit."""

LOG_FLOOR = -1000.0
"""Smallest log2 of a probability kept: far below what a sum of doubles can notice."""

STEPS_PER_CLOCK_CHECK = 64


class OutOfTimeError(Exception):
    """The time cap was reached."""


@dataclass(slots=True)
class Progress:
    """What the procedure has reached so far.

    Attributes:
        best_value: lowest expected distortion of a repaired channel.
        trace: (seconds, best value) whenever it fell.
        runs: how many times Algorithm 1 ran.
        steps: its iterations in total.
        is_capped: whether the clock stopped the procedure.
    """

    best_value: float = np.inf
    trace: list[tuple[float, float]] = field(default_factory=list)
    runs: int = 0
    steps: int = 0
    seconds: float = 0.0
    is_capped: bool = False

    def seconds_to(self, value: float) -> float | None:
        """When the best value first fell to ``value``; ``None`` if it never did."""
        return next((seconds for seconds, best in self.trace if best <= value), None)


@dataclass(frozen=True, slots=True)
class Point:
    """Expected distortion and both leakages of a channel; bits."""

    distortion: float
    individual: float  # I(Rhat; X)
    collusion: float  # I(Rhat; X | Z), the part of I(Rhat, Z; X) that this release adds


class PaperProcedure:
    """One problem with an individual and a full-collusion limit, solved as the paper says."""

    def __init__(self, problem: tacit.Problem, cap_seconds: float) -> None:
        joint = problem.joint_zxr
        p_zx = joint.sum(axis=-1)
        self.p_zx = p_zx[:, :, None]
        self.p_x = p_zx.sum(axis=0)
        self.p_z = p_zx.sum(axis=1)
        p_r_given_zx = joint / np.where(p_zx > 0, p_zx, 1.0)[:, :, None]
        self.mean_distortion = p_r_given_zx @ problem.distortion.T  # [z, x, rhat]
        self.constant_distortion = float((self.p_zx * self.mean_distortion).sum((0, 1)).min())
        independent = self.p_z[:, None] * self.p_x
        seen = p_zx > 0
        held = float(np.sum(p_zx[seen] * np.log2(p_zx[seen] / independent[seen])))  # I(Z; X)
        self.individual_limit = float(problem.individual)
        self.collusion_limit = float(problem.collusion) - held
        self.progress = Progress()
        self._start = time.perf_counter()
        self._deadline = self._start + cap_seconds

    def run(self) -> Progress:
        """Bisect until both limits are met or time is up."""
        try:
            self._bisect_individual()
        except OutOfTimeError:
            self.progress.is_capped = True
        self.progress.seconds = time.perf_counter() - self._start
        return self.progress

    def _bisect_individual(self) -> None:
        """Outer search: the mu_1 at which the individual limit holds with equality."""

        def excess(mu_1: float) -> float:
            return self._meet_collusion(mu_1).individual - self.individual_limit

        _bisect(excess)

    def _meet_collusion(self, mu_1: float) -> Point:
        """Inner search: the point at which the collusion limit holds, for this mu_1."""
        without_price = self._algorithm_1(mu_1, 0.0)
        if without_price.collusion <= self.collusion_limit:
            return without_price
        points: dict[float, Point] = {}

        def excess(mu_2: float) -> float:
            points[mu_2] = self._algorithm_1(mu_1, mu_2)
            return points[mu_2].collusion - self.collusion_limit

        return points[_bisect(excess)]

    def _algorithm_1(self, mu_1: float, mu_2: float) -> Point:
        """[TVC] Algorithm 1 from its uniform start until the channel stops moving."""
        channel = np.full(self.mean_distortion.shape, 1 / self.mean_distortion.shape[-1])
        log_channel = np.log2(channel)
        change, steps = np.inf, 0
        while change > CHANGE_TOL and steps < MAX_STEPS:
            log_channel, updated = self._update(log_channel, channel, mu_1, mu_2)
            change, channel, steps = np.abs(updated - channel).max(), updated, steps + 1
            if steps % STEPS_PER_CLOCK_CHECK == 0 and time.perf_counter() > self._deadline:
                self._record(channel, steps)
                raise OutOfTimeError
        return self._record(channel, steps)

    def _update(
        self, log_channel: Array, channel: Array, mu_1: float, mu_2: float
    ) -> tuple[Array, Array]:
        """Lines 5 to 9 of Algorithm 1: the auxiliaries of this channel, then the next channel."""
        p_rhat_given_x, p_rhat_given_z = self._averages(channel)
        log_q_rhat = _floored_log2(self.p_x @ p_rhat_given_x)  # line 7
        # Line 8 without p(z | x), which does not depend on rhat and cancels in line 5.
        log_q_z = log_channel - _floored_log2(p_rhat_given_x)
        log_q_rhat_given_z = _floored_log2(p_rhat_given_z)[:, None, :]  # line 9
        exponent = (
            mu_1 * (log_q_rhat + log_q_z) + mu_2 * log_q_rhat_given_z - self.mean_distortion
        ) / (mu_1 + mu_2)  # line 6
        exponent = np.maximum(exponent - exponent.max(axis=-1, keepdims=True), LOG_FLOOR)
        weights = np.exp2(exponent)
        total = weights.sum(axis=-1, keepdims=True)  # line 5
        return exponent - np.log2(total), weights / total

    def _averages(self, channel: Array) -> tuple[Array, Array]:
        """p(rhat | x), [x, rhat], and p(rhat | z), [z, rhat]."""
        mass = self.p_zx * channel
        p_z = np.where(self.p_z > 0, self.p_z, 1.0)
        return mass.sum(axis=0) / self.p_x[:, None], mass.sum(axis=1) / p_z[:, None]

    def _record(self, channel: Array, steps: int) -> Point:
        """Measure a channel and keep its value, repaired, if it is the best so far."""
        point = self._measure(channel)
        progress = self.progress
        progress.runs += 1
        progress.steps += steps
        share = max(
            0.0,
            1 - self.individual_limit / max(point.individual, 1e-300),
            1 - self.collusion_limit / max(point.collusion, 1e-300),
        )
        value = (1 - share) * point.distortion + share * self.constant_distortion
        if value < progress.best_value:
            progress.best_value = value
            progress.trace.append((time.perf_counter() - self._start, value))
        return point

    def _measure(self, channel: Array) -> Point:
        p_rhat_given_x, p_rhat_given_z = self._averages(channel)
        p_rhat = self.p_x @ p_rhat_given_x
        log_ratio_x = _floored_log2(p_rhat_given_x) - _floored_log2(p_rhat)
        log_ratio_zx = _floored_log2(channel) - _floored_log2(p_rhat_given_z)[:, None, :]
        return Point(
            distortion=float(np.sum(self.p_zx * channel * self.mean_distortion)),
            individual=float(np.sum(self.p_x[:, None] * p_rhat_given_x * log_ratio_x)),
            collusion=float(np.sum(self.p_zx * channel * log_ratio_zx)),
        )


def _bisect(excess: Callable[[float], float]) -> float:
    """The multiplier at which a decreasing excess of leakage over its limit vanishes.

    Where the limit is slack the search ends at ``SMALLEST_MULTIPLIER``.
    """
    low, high = 0.0, FIRST_MULTIPLIER
    while excess(high) > 0:
        low, high = high, 2 * high
    while high - low > BRACKET_TOL * high and high > SMALLEST_MULTIPLIER:
        middle = (low + high) / 2
        found = excess(middle)
        if abs(found) <= LEAKAGE_TOL_BITS:
            return middle
        low, high = (middle, high) if found > 0 else (low, middle)
    return high


def _floored_log2(p: Array) -> Array:
    return np.log2(np.maximum(p, 2.0**LOG_FLOOR))
