"""Linear programs, solved by HiGHS: by its dual simplex, else by its primal one.

``scipy.optimize.linprog`` has the same solver behind it, but cannot ask for the primal method where
the dual one fails, and takes no rows with bounds on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tacit.arrays import Array

_BY_ROWS, _MINIMISE = 2, 1  # MatrixFormat.kRowwise and ObjSense.kMinimize of HiGHS

_ATTEMPTS: tuple[dict[str, bool | float | str], ...] = (
    # HiGHS keeps the number of threads of this thread's first program, which others may have
    # solved: 0 takes it as it is. Presolving fails on some programs with tiny coefficients.
    {"threads": 0, "presolve": "off"},
    # The dual simplex method itself fails on some of them; 4 is the primal one.
    {"simplex_strategy": 4},
)
"""What is changed, one after the other, where HiGHS gives up with an error."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearOptimum:
    """What came out of a linear program.

    Attributes:
        point: where the least cost is; ``None`` where none was found.
        prices: by how much the least cost rises with each row's bound that binds, [row].
        is_infeasible: whether no point meets the conditions.
    """

    point: Array | None
    prices: Array
    is_infeasible: bool


def minimise_linear(
    cost: ArrayLike,
    rows: Array | scipy.sparse.sparray,
    low: ArrayLike,
    high: ArrayLike,
    *,
    least: ArrayLike = 0.0,
    most: ArrayLike = inf,
    tolerance: float = 1e-7,
    most_steps: int = 2**31 - 1,
) -> LinearOptimum:
    """The point of least ``cost`` with ``low`` <= rows @ point <= ``high``.

    Args:
        cost: [unknown].
        rows: [row, unknown], dense or sparse.
        low: -inf where there is no bound, [row].
        high: inf where there is none, [row].
        least: of each unknown; -inf where there is no bound.
        most: of each unknown.
        tolerance: by how much rows and prices may miss their bounds.
        most_steps: of the simplex method, before it gives up.
    """
    import highspy  # late: seldom needed

    matrix = scipy.sparse.csr_array(rows)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "solver": "simplex",
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        "simplex_iteration_limit": most_steps,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    n_rows, n_unknowns = matrix.shape
    solver.passModel(
        n_unknowns,
        n_rows,
        matrix.nnz,
        _BY_ROWS,
        _MINIMISE,
        0.0,
        np.asarray(cost, dtype=np.float64),
        _filled(least, n_unknowns),
        _filled(most, n_unknowns),
        _filled(low, n_rows),
        _filled(high, n_rows),
        matrix.indptr[:-1].astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        np.zeros(n_unknowns, dtype=np.int32),
    )
    for more in ({}, *_ATTEMPTS):
        for name, value in more.items():
            solver.setOptionValue(name, value)
        if solver.run() != highspy.HighsStatus.kError:
            break
    status, found = solver.getModelStatus(), solver.getSolution()
    is_optimal = status == highspy.HighsModelStatus.kOptimal
    return LinearOptimum(
        np.array(found.col_value, dtype=np.float64) if is_optimal else None,
        np.array(found.row_dual, dtype=np.float64) if is_optimal else np.zeros(n_rows),
        status == highspy.HighsModelStatus.kInfeasible,
    )


def _filled(bound: ArrayLike, n: int) -> Array:
    return np.array(np.broadcast_to(bound, (n,)), dtype=np.float64)
