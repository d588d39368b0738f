"""[TVC] Fig. 5: a lower bound on I(eps, delta) from Algorithm 2, then time-sharing.

The points of Algorithm 2 leave gaps, because the dual of a problem that is not convex is not
tight. The paper fills them with random convex combinations of three channels, drawn away from
dense regions, and keeps those on the upper envelope of what it has so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.paper.algorithm3 import multiplier_grid
from tacit.paper.table1 import table1_problem
from tacit.plots import points_figure
from tacit.problem import Problem
from tacit.solvers.iteration.starts import Points, iterate, measured, random_starts

TITLE = "Information I(ε, δ) from below, Table I"

NEIGHBOURHOOD_BITS = 0.05
"""Points within this distance in (eps, delta) count as one dense region."""


@dataclass(frozen=True, slots=True, eq=False)
class Fig5:
    """Points of the information surface before and after time-sharing.

    Attributes:
        problem: what was solved.
        dual: one point per pair of multipliers, the best of several starts.
        shared: the upper envelope after time-sharing, the surviving dual points included.
        n_tried: convex combinations tried.
        n_kept: how many of them were on the envelope when tried.
    """

    problem: Problem
    dual: Points
    shared: Points
    n_tried: int
    n_kept: int


def fig5(
    n_grid: int = 14,
    n_starts: int = 6,
    n_rounds: int = 10,
    n_tries: int = 300,
    seed: int = 0,
) -> Fig5:
    """The points of Fig. 5.

    Args:
        n_grid: multipliers per axis of the grid.
        n_starts: random starts of Algorithm 2 at each pair, N_j.
        n_rounds, n_tries: rounds of time-sharing and combinations tried in each.
        seed: of every random choice.
    """
    problem = table1_problem(utility="information")
    rng = np.random.default_rng(seed)
    dual = _dual_points(problem, multiplier_grid(0.02, 1.0, n_grid), n_starts, rng)
    envelope = dual.subset(on_envelope(dual))
    n_kept = 0
    for _ in range(n_rounds):
        tried = measured(problem, _combinations(envelope, n_tries, rng))
        kept = tried.subset(~is_dominated(tried, envelope))
        n_kept += len(kept)
        everything = envelope.joined(kept)
        envelope = everything.subset(on_envelope(everything))
    return Fig5(problem, dual, envelope, n_rounds * n_tries, n_kept)


def _dual_points(problem: Problem, mu: Array, n_starts: int, rng: np.random.Generator) -> Points:
    """Algorithm 2 at every pair: the best of several starts ([TVC] Algorithm 2, last line)."""
    every = np.repeat(mu, n_starts, axis=0)
    starts = random_starts(problem, len(every), problem.joint.shape[-1], rng)
    channel, _ = iterate(problem, every, starts, tol=1e-6, max_steps=1000)
    points = measured(problem, channel)
    leaked = every[:, 0] * points.individual + every[:, 1] * points.collusion
    best = (leaked - points.value).reshape(-1, n_starts).argmin(axis=1)
    return points.subset(np.arange(len(mu)) * n_starts + best)


def _combinations(points: Points, n: int, rng: np.random.Generator) -> Array:
    """Random convex combinations of triples of channels, drawn where points are sparse."""
    crowd = 1.0 / _neighbours(points)
    triples = rng.choice(len(points), size=(n, 3), p=crowd / crowd.sum())
    weights = rng.dirichlet(np.ones(3), size=n)  # [TVC] section V-B, footnote
    return np.asarray(np.einsum("nt,nt...->n...", weights, points.channel[triples]))


def _neighbours(points: Points) -> Array:
    """How many points lie in each one's neighbourhood, itself included."""
    at = np.stack([points.individual, points.collusion], axis=-1)
    distance = np.linalg.norm(at[:, None] - at, axis=-1)
    return np.asarray((distance <= NEIGHBOURHOOD_BITS).sum(axis=1), dtype=float)


def draw_fig5(out: Path, figure: Fig5) -> list[Path]:
    """Write fig5.png: the points of Algorithm 2, and after time-sharing."""
    clouds = {
        "Algorithm 2": _cloud(figure.dual),
        "after time-sharing": _cloud(figure.shared),
    }
    label = "I(R̂; R), bits"
    picture = out / "fig5.png"
    points_figure(clouds, label, TITLE, path=picture)
    return [picture]


def _cloud(points: Points) -> Array:
    return np.stack([points.individual, points.collusion, points.value], axis=-1)


def is_dominated(points: Points, others: Points) -> NDArray[np.bool_]:
    """Which points leak no less than another one that is worth as much or more."""
    no_cheaper = (others.individual <= points.individual[:, None]) & (
        others.collusion <= points.collusion[:, None]
    )
    return np.asarray((no_cheaper & (others.value >= points.value[:, None])).any(axis=1))


def on_envelope(points: Points) -> NDArray[np.bool_]:
    """Which points no other one dominates; of equal points, the first."""
    order = np.lexsort((-points.value, points.collusion, points.individual))
    first = np.empty(len(points), dtype=np.intp)
    first[order] = np.arange(len(points))
    leaks_more = (points.individual <= points.individual[:, None]) & (
        points.collusion <= points.collusion[:, None]
    )
    beats = leaks_more & (points.value >= points.value[:, None]) & (first < first[:, None])
    return np.asarray(~beats.any(axis=1))


def surface_of(points: Points, individual: Array, collusion: Array) -> Array:
    """Best value among points within both limits, [i, j]; NaN where there is none."""
    fits = (points.individual <= individual[:, None, None] + 1e-9) & (
        points.collusion <= collusion[:, None] + 1e-9
    )
    best = np.where(fits, points.value, -np.inf).max(axis=-1)
    return np.where(np.isneginf(best), np.nan, best)


def largest_gap_bits(points: Points) -> float:
    """The widest interval of I(Rhat; X) that no point visits, in bits."""
    return float(np.diff(np.sort(points.individual)).max())
