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
import scipy
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.linear_program import minimise_linear
from tacit.study.proofs.witness import MOST_PIVOTS, View

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
    n_x, n_m, n_a = base.shape
    sparse, n_cells, letters = scipy.sparse, n_x * n_m, np.eye(n_a)
    lowest = sparse.kron(sparse.eye_array(n_cells), np.ones((n_a, 1)))
    pulls, commons, sums = [], [], []
    for view in views:
        by_cell = [sparse.csr_array(view.shares(mass, x)) for x in range(n_x)]
        pulls.append(sparse.kron(sparse.block_diag(by_cell), letters))
        commons.append(sparse.kron(sparse.vstack(by_cell), letters))
        sums.append(sparse.kron(sparse.hstack([*map(sparse.diags_array, view.most)]), letters))
    largest = np.where(np.concatenate([each.reshape(-1) for each in near]), np.inf, 0.0)
    n_prices = sum(pull.shape[1] for pull in pulls)
    n_commons = sum(common.shape[1] for common in commons)
    conditions = sparse.block_array(
        [
            [lowest, -sparse.hstack(pulls), sparse.hstack(commons)],
            [None, sparse.block_diag(sums), -sparse.eye_array(n_commons)],
        ]
    )
    solved = minimise_linear(
        np.concatenate([-mass.reshape(-1), np.zeros(n_prices + n_commons)]),
        conditions,
        np.concatenate([np.full(base.size, -np.inf), np.zeros(n_commons)]),
        np.concatenate([base.reshape(-1), np.zeros(n_commons)]),
        least=np.concatenate([np.full(n_cells, -np.inf), np.zeros(n_prices + n_commons)]),
        most=np.concatenate([np.full(n_cells, np.inf), largest, np.full(n_commons, np.inf)]),
        most_steps=MOST_PIVOTS,
    )
    return None if solved.point is None else solved.point[n_cells : n_cells + n_prices]
