"""The best release whose letters lie on a grid: an independent answer from below.

A letter is the law w(z, x) of the cell given that letter; a release is a way of writing p(z, x) as
a mean of letters. Utility and leakages are linear in the weights, so the best release on a grid of
letters is a linear programme, solved here by SciPy from sums that use nothing of tacit.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from tests import oracles
from tests.strategies import Array


def letters_on_grid(n_cells: int, n_parts: int) -> Array:
    """All laws on ``n_cells`` cells with whole multiples of 1 / n_parts, [letter, cell]."""
    bars = combinations(range(n_parts + n_cells - 1), n_cells - 1)
    ends = np.array([(-1, *bar, n_parts + n_cells - 1) for bar in bars])
    return (np.diff(ends, axis=1) - 1) / n_parts


def best_on_grid(joint: Array, individual: float, collusion: float, n_parts: int) -> float:
    """The most I(Rhat; R) in bits with letters on a grid; ``joint`` is [z, x, r]."""
    n_z, n_x, n_r = joint.shape
    p_zx = joint.sum(axis=-1)
    cells = p_zx.reshape(-1)
    # The prior and the pure histories keep the programme feasible.
    histories = np.eye(n_z)[:, :, None] * (p_zx / p_zx.sum(axis=1, keepdims=True))
    letters = np.concatenate(
        [letters_on_grid(len(cells), n_parts), cells[None], histories.reshape(n_z, -1)]
    )
    w = letters.reshape(-1, n_z, n_x)
    q = letters @ (joint.reshape(-1, n_r) / cells[:, None])
    told_of_r = entropies(joint.sum(axis=(0, 1))[None])[0] - entropies(q)
    p_x = p_zx.sum(axis=0)
    told_of_x = entropies(p_x[None])[0] - entropies(w.sum(axis=1))
    left_to_all = entropies(cells[None])[0] - entropies(p_zx.sum(axis=1)[None])[0]
    told_to_all = left_to_all - (entropies(letters) - entropies(w.sum(axis=2)))
    held = oracles.mutual_information_bits(p_zx)
    solved = linprog(
        -told_of_r,
        A_ub=np.stack([told_of_x, told_to_all]),
        b_ub=[individual, collusion - held],
        A_eq=letters.T,
        b_eq=cells,
        method="highs",
    )
    assert solved.status == 0
    return -float(solved.fun)


def entropies(laws: Array) -> Array:
    """H in bits of each row."""
    logs = np.log2(np.where(laws > 0, laws, 1.0))
    return -(laws * logs).sum(axis=-1)
