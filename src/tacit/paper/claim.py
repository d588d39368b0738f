"""A claim of the paper, and the runs that several claims are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tacit.paper.fig4 import fig4
from tacit.solvers.blahut_arimoto import Run

ROUNDING = 1e-11
"""Sums of some tens of terms of size up to 100, each right to 2**-53."""

GAP_TOL = 1e-7
"""The certified gap asked of every optimum that a claim is compared with."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the paper says, whether it holds as stated, and the numbers that show it."""

    section: str
    text: str
    holds: bool
    evidence: str


@cache
def table2_runs() -> dict[tuple[float, float], Run]:
    """Converged runs at the three pairs of multipliers of Table II."""
    return fig4()
