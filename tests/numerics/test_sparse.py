"""Sparse matrices, beside NumPy's dense ones."""

from __future__ import annotations

import numpy as np

from tacit.numerics.sparse import SparseMatrix, stack_columns, stack_diagonally, stack_rows

RNG = np.random.default_rng(0)
A = RNG.integers(0, 3, size=(2, 3)).astype(float)
B = RNG.integers(0, 3, size=(2, 4)).astype(float)
C = RNG.integers(0, 3, size=(5, 3)).astype(float)


def test_there_and_back() -> None:
    assert np.array_equal(SparseMatrix.of(A).dense(), A)
    assert np.array_equal((-SparseMatrix.of(A)).dense(), -A)
    assert len(SparseMatrix.of(A).value) == np.count_nonzero(A)
    assert np.array_equal(SparseMatrix.zeros((2, 3)).dense(), np.zeros((2, 3)))
    assert np.array_equal(SparseMatrix.diagonal(A[0]).dense(), np.diag(A[0]))


def test_products() -> None:
    for right in (B, np.ones((3, 1)), np.eye(2)):
        assert np.array_equal(SparseMatrix.of(A).kron(right).dense(), np.kron(A, right))


def test_stacks() -> None:
    a, b, c = map(SparseMatrix.of, (A, B, C))
    assert np.array_equal(stack_columns([a, b]).dense(), np.hstack([A, B]))
    assert np.array_equal(stack_rows([a, c]).dense(), np.vstack([A, C]))
    corner = np.block([[A, np.zeros((2, 4))], [np.zeros((2, 3)), B]])
    assert np.array_equal(stack_diagonally([a, b]).dense(), corner)
