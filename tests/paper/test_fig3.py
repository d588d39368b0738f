"""[TVC] Fig. 3: the surface is convex and monotone, and it is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.paper.fig3 import fig3, largest_convexity_violation, largest_rise
from tacit.paper.table1 import table1_problem
from tacit.solvers import solve
from tacit.tradeoff import Surface

GAP_TOL = 1e-7
"""What tacit.solve is asked for."""


@pytest.fixture(scope="module")
def surface() -> Surface:
    return fig3(n=9)


def test_the_surface_is_convex_and_monotone(surface: Surface) -> None:
    gap = float(surface.gap.max())
    assert gap <= 1e-6
    assert largest_rise(surface) <= gap
    assert largest_convexity_violation(surface) <= gap
    assert surface.value[0, 0] == pytest.approx(0.482, abs=1e-9)
    assert surface.value[-1, -1] == pytest.approx(0.138, abs=1e-6)


def test_the_surface_is_convex_along_diagonals() -> None:
    rng = np.random.default_rng(0)
    for one, other in 0.01 + 0.9 * rng.random((5, 2, 2)):
        ends = [solve(table1_problem(*limits)).value for limits in (one, other)]
        middle = solve(table1_problem(*((one + other) / 2)))
        assert middle.value <= sum(ends) / 2 + GAP_TOL
