"""[TVC] Fig. 3: the least expected distortion D(eps, delta) of Table I's problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.paper.table1 import JOINT, table1_problem
from tacit.plots import surface_figure
from tacit.tradeoff import Surface, trace_surface

TITLE = "Least expected distortion D(ε, δ), Table I"


def leaked_bits() -> float:
    """I(Z; X): what has leaked before this release, and so the least possible delta."""
    return mutual_information(JOINT.sum(axis=-1))


def fig3(n: int = 17, largest: float = 1.0) -> Surface:
    """D over n x n limits, denser where they are small: eps from 0, delta from I(Z; X)."""
    ladder = np.linspace(0.0, 1.0, n) ** 2
    least = leaked_bits()
    return trace_surface(
        table1_problem(),
        individual=largest * ladder,
        collusion=least + (largest - least) * ladder,
    )


def draw_fig3(out: Path, surface: Surface) -> list[Path]:
    """Write the figure as fig3.png."""
    picture = out / "fig3.png"
    surface_figure(surface, TITLE, path=picture)
    return [picture]


def largest_rise(surface: Surface) -> float:
    """By how much D grows, at most, when one limit grows: 0 up to the gap if D is monotone."""
    along = [np.diff(surface.value, axis=axis).max() for axis in (0, 1)]
    return float(max(along))


def largest_convexity_violation(surface: Surface) -> float:
    """By how much D exceeds a chord between neighbours in eps or in delta, at most."""
    return max(
        _violation(surface.individual, surface.value),
        _violation(surface.collusion, surface.value.T),
    )


def _violation(limits: Array, value: Array) -> float:
    """By how much the middle one of three neighbours lies above the chord, at most."""
    share = (limits[1:-1] - limits[:-2]) / (limits[2:] - limits[:-2])
    chord = value[:-2] + share[:, None] * (value[2:] - value[:-2])
    return float((value[1:-1] - chord).max())
