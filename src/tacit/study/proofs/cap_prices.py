"""What caps are worth in a proof: a price for every answer that a cap may hold back.

For prices l(x, y, a) >= 0, every release that keeps p(a, y, x) <= most(x, y) p(a, y) has
sum l (p(a, y, x) - most p(a, y)) <= 0 ([M] fact 15). So the bound of
``tacit.study.proofs.optimality`` holds with l(x, y, a) - sum_x' most(x', y) l(x', y, a) added to
what letter a costs at (x, y). With all else given, the best prices are a linear program. Whatever
comes out gives a valid bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.study.proofs.witness import MOST_PIVOTS, MOST_SECONDS, View

_MOST_CELLS = 20_000
"""Cells (m, x, a) of the largest linear program that is tried: it takes some seconds."""

_NEAR_CAP = 0.95
"""Of what a cap allows: designs stay a little below it."""

_USED = 1e-6
"""Of all answers to those who see a letter y: others have prices of rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class CappedView(View):
    """What a coalition with a cap sees before the release.

    Attributes:
        most: p(a, y, x) / p(a, y) at most, for every answer a, [x, y].
    """

    most: Array

    def pull(self, prices: Array) -> Array:
        """What prices [x, y, a] add to what a letter costs at (x, y), [x, y, a]."""
        return np.asarray(prices - self.common(prices))

    def common(self, prices: Array) -> Array:
        """sum_x most(x, y) l(x, y, a), [1, y, a]."""
        return np.asarray((self.most[..., None] * prices).sum(axis=0, keepdims=True))

    def is_near(self, channel: Array) -> NDArray[np.bool_]:
        """Where a channel [x, m, a] is near to the cap, or a letter is hardly used, [x, y, a]."""
        told = self.collect(channel)
        total = told.sum(axis=0, keepdims=True)
        is_used = total > _USED * total.sum(axis=-1, keepdims=True)
        is_near = told >= _NEAR_CAP * self.most[..., None] * total
        can_bind = (self.most < 1) & (self.p_yx > 0)
        return np.asarray((is_near | ~is_used) & can_bind[..., None])


def find_cap_prices(
    base: Array, mass: Array, channel: Array, views: Sequence[CappedView]
) -> list[Array]:
    """Prices of every view, [x, y, a], that prove most; 0 where none are found.

    Args:
        base: what letter a costs at (x, m) without them, [x, m, a].
        mass: p(m, x), [x, m]; every x occurs.
        channel: p(a | m, x), [x, m, a]: nearly the best, so only caps near to it have a price.
        views: those with a cap.
    """
    near = [view.is_near(channel) for view in views]
    solved = _solve(base, mass, views, near) if base.size <= _MOST_CELLS else None
    if solved is None:
        return [np.zeros(each.shape) for each in near]
    parts = np.split(solved, np.cumsum([each.size for each in near])[:-1])
    return [np.maximum(p.reshape(each.shape), 0.0) for p, each in zip(parts, near, strict=True)]


def _solve(
    base: Array, mass: Array, views: Sequence[CappedView], near: Sequence[NDArray[np.bool_]]
) -> Array | None:
    """Prices of all views, one after the other, each flat [x, y, a]; ``None`` if none was found.

    They maximise sum p(m, x) t(m, x) such that no letter costs less than t(m, x) at (m, x). The
    common part of each pull is an unknown of its own, which keeps the program sparse.
    """
    from scipy import sparse  # slow to load, and rarely needed
    from scipy.optimize import linprog

    n_x, n_m, n_a = base.shape
    letters = sparse.identity(n_a, format="csr")
    lowest = sparse.kron(sparse.identity(n_x * n_m), np.ones((n_a, 1)))
    pulls, commons, sums = [], [], []
    for view in views:
        by_cell = [view.shares(mass, x) for x in range(n_x)]
        pulls.append(sparse.kron(sparse.block_diag(by_cell), letters))
        commons.append(sparse.kron(np.concatenate(by_cell), letters))
        sums.append(sparse.kron(sparse.hstack(list(map(sparse.diags, view.most))), letters))
    largest = np.where(np.concatenate([each.reshape(-1) for each in near]), np.inf, 0.0)
    n_prices = sum(pull.shape[1] for pull in pulls)
    n_commons = sum(common.shape[1] for common in commons)
    solved = linprog(
        np.concatenate([-mass.reshape(-1), np.zeros(n_prices + n_commons)]),
        A_ub=sparse.hstack([lowest, -sparse.hstack(pulls), sparse.hstack(commons)], format="csc"),
        b_ub=base.reshape(-1),
        A_eq=sparse.hstack(
            [
                sparse.csr_matrix((n_commons, n_x * n_m)),
                sparse.block_diag(sums),
                -sparse.identity(n_commons),
            ],
            format="csc",
        ),
        b_eq=np.zeros(n_commons),
        bounds=[(None, None)] * (n_x * n_m)
        + [(0.0, most) for most in largest]
        + [(0.0, None)] * n_commons,
        method="highs",
        options={"maxiter": MOST_PIVOTS, "time_limit": MOST_SECONDS},
    )
    if solved.x is None:
        return None
    return np.asarray(solved.x[n_x * n_m : n_x * n_m + n_prices])
