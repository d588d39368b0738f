"""Classes of cells x that nothing released or asked so far has told apart ([M] fact 10).

Laws, channels and states live on classes, with one map from cell to class; only the probability of
a class is a sum over cells. A request that tells cells of a class apart refines the classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError

ClassOfX = NDArray[np.intp]
"""Class of each cell, [x]; classes are numbered from 0 without gaps."""


def class_sums(class_of_x: ClassOfX, weights: Array) -> Array:
    """Sum of the weights [x] of every class."""
    return np.asarray(np.bincount(class_of_x, weights=weights), dtype=np.float64)


def class_rows(class_of_x: ClassOfX, rows: Array) -> Array:
    """The row that all cells of a class share, [class, ...], from rows [x, ...]."""
    return np.asarray(rows[_some_x(class_of_x)])


def _some_x(class_of_x: ClassOfX) -> NDArray[np.intp]:
    """A cell of every class."""
    return np.unique(class_of_x, return_index=True)[1]


def refine_classes(class_of_x: ClassOfX, rows: Array) -> ClassOfX:
    """Classes whose cells also agree in ``rows``, [x, ...]."""
    keys = np.column_stack([class_of_x, rows.reshape(len(rows), -1) + 0.0])  # -0.0 is 0.0
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.intp)


def parent_classes(class_of_x: ClassOfX, finer: ClassOfX) -> ClassOfX:
    """The class that every one of the finer classes is part of, [finer class].

    Raises:
        InvalidInputError: one of the finer classes lies in two.
    """
    is_same_size = len(finer) == len(class_of_x)
    parents = class_of_x[_some_x(finer)] if is_same_size else finer
    if not is_same_size or (parents[finer] != class_of_x).any():
        raise InvalidInputError(
            f"{int(finer.max()) + 1} classes of {len(finer)} cells do not refine the "
            f"{int(class_of_x.max()) + 1} of {len(class_of_x)} that were told apart before"
        )
    return parents


def class_shares(class_of_x: ClassOfX, finer: ClassOfX, p_x: Array) -> tuple[ClassOfX, Array]:
    """For each finer class, the class it is part of, and its share of that."""
    parents = parent_classes(class_of_x, finer)
    whole = class_sums(class_of_x, p_x)[parents]
    return parents, np.asarray(class_sums(finer, p_x) / np.where(whole > 0, whole, 1.0))
