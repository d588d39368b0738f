"""The barrier method by itself: what it finds is certified, in corners above all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.solution import GAP_TOL
from tacit.solvers.convex.barrier import is_small, minimise_by_barrier
from tacit.solvers.convex.program import Statement
from tests import strategies as own
from tests.solvers.solutions import problem_of, proved_gap
from tests.strategies import Release

NEARLY_SPENT = (0.0, 1e-10, 1e-8, 1e-6, 1e-3, 0.1)
"""Bits left beside what is held."""


def gap_of(release: Release, gap_tol: float = GAP_TOL) -> float:
    return proved_gap(problem_of(release), minimise_by_barrier, gap_tol)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_proves_its_gap_alone(seed: int) -> None:
    assert -1e-15 <= gap_of(own.release(seed, NEARLY_SPENT, 2)) <= GAP_TOL


@pytest.mark.parametrize("seed", range(20))
def test_it_proves_ugly_problems_alone(seed: int) -> None:
    assert gap_of(own.ugly_release(seed)) <= GAP_TOL


def test_a_wider_gap_takes_what_was_asked() -> None:
    """The barrier stops at the asked gap, not at the smallest that it can reach."""
    release = own.release(0, (0.05,), 2)
    assert 1e-6 < gap_of(release, 1e-3) <= 1e-3


def test_it_is_for_small_programs() -> None:
    rng = np.random.default_rng(0)
    for n_z, is_affordable in ((10, True), (100, False)):
        joint = rng.dirichlet(np.ones(n_z * 8 * 3)).reshape(n_z, 8, 3)
        statement = Statement.of(problem_of(Release(joint, 1.0 - np.eye(3), {(): 0.1}, {})))
        program = statement.program(statement.cost_of(1.0 - np.eye(3))[None], np.full((1, 2), 1.0))
        assert is_small(program) == is_affordable
