"""Least squares with unknowns that are not negative.

Source: [LH74] Lawson, Hanson, "Solving least squares problems", 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array


def nonnegative_least_squares(matrix: Array, target: Array) -> Array | None:
    """The x >= 0 with the least |matrix x - target|; ``None`` where too many steps were taken.

    Unknowns become free one at a time, that of the steepest descent first; those that would become
    negative are held at 0 again ([LH74] algorithm NNLS).
    """
    n = matrix.shape[1]
    x, is_useless = np.zeros(n), np.zeros(n, dtype=bool)
    free = _FreeColumns(matrix)
    rounding = 10 * max(matrix.shape) * np.finfo(float).eps * abs(matrix).sum(axis=0).max(initial=0)
    for _ in range(10 * n + 30):
        descent = matrix.T @ (target - matrix @ x)
        descent[free.places] = descent[is_useless] = -np.inf
        if descent.max(initial=-np.inf) <= rounding:
            return x
        entering = int(descent.argmax())
        kept = free
        free = kept.with_column(entering)
        goal = free.solve(target)
        if goal[entering] <= 0:  # its descent was rounding
            free, is_useless[entering] = kept, True
            continue
        is_useless[:] = False
        while (goal[free.places] <= 0).any():
            x, free = _step_towards(goal, x, free)
            goal = free.solve(target)
        x = goal
    return None


def _step_towards(goal: Array, x: Array, free: _FreeColumns) -> tuple[Array, _FreeColumns]:
    """As far towards ``goal`` as no unknown becomes negative; those that are 0 then are held."""
    falling = free.places[goal[free.places] <= 0]
    shares = x[falling] / (x[falling] - goal[falling])
    moved = x + shares.min() * (goal - x)
    held = falling[(shares == shares.min()) | (moved[falling] <= 0)]
    moved[held] = 0.0
    return moved, free.without(held)


class _FreeColumns:
    """Columns of a matrix as Q R, with the inverse of R.

    Attributes:
        places: which columns, in the order of R.
    """

    def __init__(self, matrix: Array, places: NDArray[np.intp] | None = None) -> None:
        self._matrix = matrix
        self.places = np.empty(0, dtype=np.intp) if places is None else places
        self._q, r = np.linalg.qr(matrix[:, self.places])
        self._inverse = np.linalg.inv(r)

    def solve(self, target: Array) -> Array:
        """Least squares with the other unknowns at 0."""
        solved = np.zeros(self._matrix.shape[1])
        solved[self.places] = self._inverse @ (self._q.T @ target)
        return solved

    def with_column(self, place: int) -> _FreeColumns:
        """The same and one more, made orthogonal to them twice, as rounding asks for."""
        new = _FreeColumns.__new__(_FreeColumns)
        column = self._matrix[:, place]
        once = self._q.T @ column
        rest = column - self._q @ once
        twice = self._q.T @ rest
        rest = rest - self._q @ twice
        length = np.linalg.norm(rest)
        new._matrix, new.places = self._matrix, np.append(self.places, place)
        new._q = np.column_stack([self._q, rest / length])
        last = np.append(-self._inverse @ (once + twice), 1.0) / length
        new._inverse = np.column_stack([np.vstack([self._inverse, np.zeros(len(once))]), last])
        return new

    def without(self, places: NDArray[np.intp]) -> _FreeColumns:
        """The same but for some."""
        return _FreeColumns(self._matrix, self.places[~np.isin(self.places, places)])
