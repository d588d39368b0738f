"""Least squares with unknowns that are not negative, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from tacit.numerics.least_squares import nonnegative_least_squares


def assert_best(matrix: np.ndarray, target: np.ndarray) -> None:
    """The conditions of Karush, Kuhn and Tucker, and a residual that is not above SciPy's."""
    found = nonnegative_least_squares(matrix, target)
    assert found is not None
    assert (found >= 0).all()
    residual = target - matrix @ found
    scale = np.abs(matrix).sum() * max(1.0, np.abs(target).max())
    assert (matrix.T @ residual <= 1e-12 * scale).all()
    assert np.abs(found * (matrix.T @ residual)).max(initial=0.0) <= 1e-12 * scale * (
        1 + found.max()
    )
    assert np.linalg.norm(residual) <= nnls(matrix, target, maxiter=10_000)[1] + 1e-12 * scale


@pytest.mark.parametrize("seed", range(60))
def test_random_systems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 12, size=2)
    assert_best(rng.normal(size=shape), rng.normal(size=shape[0]))


@pytest.mark.parametrize("seed", range(40))
def test_ties_and_columns_that_depend_on_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, rank = rng.integers(2, 10), rng.integers(2, 14), rng.integers(1, 4)
    matrix = rng.integers(-1, 3, size=(rows, rank)) @ rng.integers(0, 2, size=(rank, columns))
    assert_best(matrix.astype(float), rng.integers(-2, 3, size=rows).astype(float))


def test_nearly_equal_columns() -> None:
    rng = np.random.default_rng(0)
    base = rng.random((20, 5))
    matrix = np.hstack([base, base + 1e-9 * rng.random((20, 5)), base])
    assert_best(matrix, rng.random(20))


def test_shares_that_add_up_to_one() -> None:
    """As maximum likelihood asks for them: the last row pulls the sum to 1."""
    rng = np.random.default_rng(1)
    matrix = np.vstack([rng.normal(size=(30, 60)), np.ones(60)])
    assert_best(matrix, np.append(np.zeros(30), 1.0))


def test_nothing_to_solve_for() -> None:
    found = nonnegative_least_squares(np.zeros((3, 0)), np.ones(3))
    assert found is not None
    assert found.shape == (0,)
    np.testing.assert_array_equal(nonnegative_least_squares(np.zeros((3, 2)), np.ones(3)), [0, 0])
