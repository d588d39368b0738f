"""[TVC] Fig. 6: four requests about Adult, with and without regard to earlier releases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tacit.arrays import Array
from tacit.datasets import adult
from tacit.plots import bars_and_lines_figure
from tacit.scheme import NonAdaptiveScheme, Scheme
from tacit.solution import GAP_TOL

REQUESTS = ("education", "income", "age", "education")
"""(E, J, A, E), each by another party."""

BUDGETS = (0.1, 0.3, 0.5)
"""The three values of eps, bits."""

TITLE = "Adult: four requests, adaptive and not"
ADAPTIVE, NON_ADAPTIVE = "adaptive", "non-adaptive"


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Four releases by one mechanism; arrays are [release].

    Attributes:
        distortion: expected Hamming distortion.
        leakage: I(Rhat_1, ..., Rhat_k; X), bits.
        limit: the collusion limit delta_k, bits.
        gap: certified distance of the distortion from the best for its problem.
    """

    distortion: Array
    leakage: Array
    limit: Array
    gap: Array


@dataclass(frozen=True, slots=True, eq=False)
class Fig6:
    """Both mechanisms, eps -> course."""

    adaptive: dict[float, Course]
    non_adaptive: dict[float, Course]


def collusion_limits(budget: float) -> Array:
    """delta_k = 0.2 (k - 1) + eps ([TVC] section VII-B)."""
    return np.asarray(0.2 * np.arange(len(REQUESTS)) + budget, dtype=np.float64)


@cache
def fig6() -> Fig6:
    """Both mechanisms at every eps."""
    return Fig6(
        {budget: _course(Scheme, budget) for budget in BUDGETS},
        {budget: _course(NonAdaptiveScheme, budget) for budget in BUDGETS},
    )


def _course(mechanism: type[Scheme], budget: float) -> Course:
    table = adult()
    scheme = mechanism.from_counts(table.counts, table.attributes)
    limits = collusion_limits(budget)
    for k, (asked, limit) in enumerate(zip(REQUESTS, limits.tolist(), strict=True), start=1):
        scheme.release(
            asked, party=f"party {k}", individual=budget, collusion=limit, gap_tol=GAP_TOL
        )
    releases = scheme.history
    return Course(
        np.array([release.value for release in releases]),
        np.array([release.everyone_bits for release in releases]),
        limits,
        np.array([release.solution.gap for release in releases]),
    )


def draw_fig6(out: Path, figure: Fig6) -> list[Path]:
    """Write fig6.png: distortion as bars, cumulative leakage as lines."""
    panels = {
        f"ε = {budget:g}, δₖ = 0.2(k−1) + {budget:g}": {
            ADAPTIVE: _columns(figure.adaptive[budget]),
            NON_ADAPTIVE: _columns(figure.non_adaptive[budget]),
        }
        for budget in figure.adaptive
    }
    ticks = [f"{k}: {asked}" for k, asked in enumerate(REQUESTS, start=1)]
    labels = ("expected Hamming distortion (bars)", "I(R̂₁…R̂ₖ; X), bits (lines)")
    picture = out / "fig6.png"
    bars_and_lines_figure(panels, ticks, labels, TITLE, path=picture)
    return [picture]


def _columns(course: Course) -> Array:
    return np.stack([course.distortion, course.leakage], axis=-1)


def fig6_text(figure: Fig6) -> str:
    """The numbers behind the figure, for people."""
    lines = ["eps  k request    delta_k  adaptive D, bits     non-adaptive D, bits"]
    for budget, ours in figure.adaptive.items():
        theirs = figure.non_adaptive[budget]
        lines += [
            f"{budget:<4g} {k + 1} {asked:10} {ours.limit[k]:6.2f}   "
            f"{ours.distortion[k]:.5f}, {ours.leakage[k]:.5f}     "
            f"{theirs.distortion[k]:.5f}, {theirs.leakage[k]:.5f}"
            for k, asked in enumerate(REQUESTS)
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(fig6_text(fig6()))
