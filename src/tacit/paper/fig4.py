"""[TVC] Fig. 4: how Algorithm 1 converges at three pairs of multipliers, and what is left to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.arrays import Array
from tacit.paper.table2 import table2
from tacit.plots import curves_figure
from tacit.solvers.iteration.blahut_arimoto import Run

TITLE = "Convergence of Algorithm 1, Table I"
_LEAST_EXCESS = 1e-13  # rounding


def fig4() -> dict[tuple[float, float], Run]:
    """Algorithm 1 from the uniform start at the paper's three pairs, until nothing moves."""
    return {comparison.mu: comparison.run for comparison in table2()}


def draw_fig4(out: Path, runs: dict[tuple[float, float], Run]) -> list[Path]:
    """Write fig4.png: f_q - theta as printed, and the excess over the optimum."""
    panels = {
        "f_q − θ, as in the paper": {_name(mu): _curve(run.trace) for mu, run in runs.items()},
        "objective − certified lower bound": {_name(mu): _excess(run) for mu, run in runs.items()},
    }
    picture = out / "fig4.png"
    curves_figure(panels, "iteration", TITLE, path=picture)
    return [picture]


def _name(mu: tuple[float, float]) -> str:
    return f"(μ₁, μ₂) = ({mu[0]:g}, {mu[1]:g})"


def _curve(values: Array) -> Array:
    steps = np.arange(1, len(values) + 1)
    # A logarithmic axis shows no more than some hundred points anyway.
    shown = np.unique(np.geomspace(1, len(values), 400).astype(int)) - 1
    return np.stack([steps[shown], values[shown]], axis=-1)


def _excess(run: Run) -> Array:
    assert run.bound is not None
    return _curve(np.maximum(run.trace + run.theta - run.bound, _LEAST_EXCESS))
