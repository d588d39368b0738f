"""Linear programs, beside SciPy's."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import inf

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tacit.linear_program import minimise_linear

TOL = 1e-9
"""Both are the same simplex method, so vertices agree but for rounding."""


def random_program(seed: int) -> tuple[np.ndarray, ...]:
    """Costs, rows and their bounds, with equalities, ties and zeros among them."""
    rng = np.random.default_rng(seed)
    n_rows, n = rng.integers(1, 8), rng.integers(2, 12)
    rows = rng.integers(-2, 4, size=(n_rows, n)).astype(float)
    inside = rows @ rng.random(n)
    low = np.where(rng.random(n_rows) < 0.3, inside, inside - rng.random(n_rows))
    high = np.where(rng.random(n_rows) < 0.3, inf, low + rng.integers(0, 2, n_rows))
    return rng.integers(0, 3, size=n).astype(float), rows, low, np.maximum(high, low)


@pytest.mark.parametrize("seed", range(40))
def test_the_least_cost_and_the_prices_are_scipys(seed: int) -> None:
    cost, rows, low, high = random_program(seed)
    found = minimise_linear(cost, rows, low, high, most=2.0)
    upper = np.isfinite(high)
    wanted = linprog(
        cost,
        A_ub=np.vstack([-rows, rows[upper]]),
        b_ub=np.append(-low, high[upper]),
        bounds=(0, 2),
        method="highs-ds",
    )
    assert found.is_infeasible == (wanted.status == 2)
    if wanted.status == 2:
        assert found.point is None
        return
    assert found.point is not None
    assert cost @ found.point == pytest.approx(wanted.fun, abs=TOL)
    assert (rows @ found.point >= low - 1e-7).all()
    assert (rows @ found.point <= high + 1e-7).all()
    # Prices prove the same least cost, whichever of several they are (weak duality).
    held = np.where(found.prices > 0, low, np.where(np.isfinite(high), high, 0.0)) @ found.prices
    rest = cost - found.prices @ rows
    assert held + 2.0 * np.minimum(rest, 0.0).sum() == pytest.approx(wanted.fun, abs=1e-6)


def test_sparse_rows_and_free_unknowns() -> None:
    rows = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]])
    arguments = ([1.0, 1.0, 0.5], [-1.0, 4.0], [inf, 4.0])
    bounds = {"least": [-inf, 0.0, -3.0], "most": [inf, inf, 3.0]}
    dense, sparse = (
        minimise_linear(arguments[0], each, *arguments[1:], **bounds)
        for each in (rows, csr_array(rows))
    )
    np.testing.assert_array_equal(dense.point, sparse.point)
    np.testing.assert_allclose(dense.point, [-4.0, 3.5, -3.0])


def test_an_unbounded_program_has_no_point() -> None:
    found = minimise_linear([-1.0], np.ones((1, 1)), [0.0], [inf])
    assert found.point is None
    assert not found.is_infeasible


def test_a_program_that_takes_too_long_has_no_point() -> None:
    rng = np.random.default_rng(0)
    rows, cost = rng.random((40, 60)), rng.random(60)
    assert minimise_linear(cost, rows, np.ones(40), inf).point is not None
    found = minimise_linear(cost, rows, np.ones(40), inf, most_steps=3)
    assert found.point is None
    assert not found.is_infeasible


def test_programs_in_several_threads() -> None:
    programs = [random_program(seed) for seed in range(40)] * 3

    def value(program: tuple[np.ndarray, ...]) -> float | None:
        point = minimise_linear(*program, most=2.0).point
        return None if point is None else float(program[0] @ point)

    alone = [value(each) for each in programs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(value, programs)) == alone


def test_nothing_is_printed_and_others_may_use_highs_with_more_threads() -> None:
    script = """
import highspy
import numpy as np
from tacit.linear_program import minimise_linear
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 2)
other.addVar(0.0, 1.0)
assert other.run() == highspy.HighsStatus.kOk
found = minimise_linear([1.0, 2.0], np.ones((1, 2)), [1.0], [1.0])
assert found.point.tolist() == [1.0, 0.0]
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == (b"", b"")
