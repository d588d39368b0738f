"""Sparse matrices, as linear programs state their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """A matrix of zeros but for ``value[i]`` at ``row[i]``, ``column[i]``; no place occurs twice.

    Attributes:
        shape: (rows, columns).
        row: [entry].
        column: [entry].
        value: [entry].
    """

    shape: tuple[int, int]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    value: Array

    @staticmethod
    def of(matrix: Array) -> SparseMatrix:
        """A dense matrix without its zeros."""
        row, column = np.nonzero(matrix)
        return SparseMatrix((len(matrix), matrix.shape[1]), row, column, matrix[row, column])

    @staticmethod
    def zeros(shape: tuple[int, int]) -> SparseMatrix:
        """A matrix without entries."""
        nowhere = np.empty(0, dtype=np.intp)
        return SparseMatrix(shape, nowhere, nowhere, np.empty(0))

    @staticmethod
    def diagonal(values: Array) -> SparseMatrix:
        """A square matrix with these values on its diagonal."""
        places = np.arange(len(values))
        return SparseMatrix((len(values), len(values)), places, places, values)

    def __neg__(self) -> SparseMatrix:
        return replace(self, value=-self.value)

    def dense(self) -> Array:
        """The same with its zeros."""
        matrix = np.zeros(self.shape)
        matrix[self.row, self.column] = self.value
        return matrix

    def kron(self, other: Array) -> SparseMatrix:
        """The Kronecker product: every entry becomes its product with ``other``."""
        right, n_entries = SparseMatrix.of(other), len(self.value)
        n_rows, n_columns = right.shape
        return SparseMatrix(
            (self.shape[0] * n_rows, self.shape[1] * n_columns),
            (self.row[:, None] * n_rows + right.row).reshape(-1),
            (self.column[:, None] * n_columns + right.column).reshape(-1),
            (self.value[:, None] * right.value).reshape(n_entries * len(right.value)),
        )


def stack_columns(parts: Sequence[SparseMatrix]) -> SparseMatrix:
    """Matrices of as many rows, side by side."""
    joined = stack_diagonally(parts)
    return replace(
        joined,
        shape=(parts[0].shape[0], joined.shape[1]),
        row=np.concatenate([part.row for part in parts]),
    )


def stack_rows(parts: Sequence[SparseMatrix]) -> SparseMatrix:
    """Matrices of as many columns, one below the other."""
    joined = stack_diagonally(parts)
    return replace(
        joined,
        shape=(joined.shape[0], parts[0].shape[1]),
        column=np.concatenate([part.column for part in parts]),
    )


def stack_diagonally(parts: Sequence[SparseMatrix]) -> SparseMatrix:
    """Matrices along the diagonal of a larger one."""
    ends = np.cumsum([part.shape for part in parts], axis=0)
    begins = ends - [part.shape for part in parts]
    return SparseMatrix(
        (int(ends[-1][0]), int(ends[-1][1])),
        np.concatenate([part.row + begin[0] for part, begin in zip(parts, begins, strict=True)]),
        np.concatenate([part.column + begin[1] for part, begin in zip(parts, begins, strict=True)]),
        np.concatenate([part.value for part in parts]),
    )
