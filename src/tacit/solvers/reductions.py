"""Exact reductions that change no optimum ([M] fact 3), and how to undo them.

Records x with the same history law and the same costs are one record; histories z with the same
posterior and the same costs are one history, as far as no view tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array, View

Labels = NDArray[np.intp]

_DIGITS = 12
"""Laws that agree to this many digits are merged. The certificate is taken on the unreduced
problem, so a merge that is off by rounding costs gap, never correctness."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller problem and the map back.

    Attributes:
        mass: p(z, x) of the merged letters, [z, x].
        cost: E[d | z, x] of the merged cells, [batch, rhat, z, x].
        views: the views, read on merged histories.
        class_of_z: merged letter of every original history.
        class_of_x: merged letter of every original record.
    """

    mass: Array
    cost: Array
    views: list[View]
    class_of_z: Labels
    class_of_x: Labels

    def lift(self, cells: Array) -> Array:
        """[..., z, x] of the merged problem read on the original letters."""
        return cells[..., self.class_of_z[:, None], self.class_of_x]

    def lift_x(self, rows: Array) -> Array:
        """[..., x] of the merged problem read on the original records."""
        return rows[..., self.class_of_x]


def reduce(mass: Array, cost: Array, views: list[View]) -> Reduction:
    """Merge what no limit and no cost can tell apart.

    Args:
        mass: p(z, x), [z, x]; no row or column is empty.
        cost: E[d | z, x], [batch, rhat, z, x].
        views: every limited partial view. Full collusion counts as limited always, because the
            frugal answer depends on it ([M] fact 5).
    """
    # Letter by letter: beside a huge penalty for one, what the others cost would look alike.
    scale = cost.max(axis=(2, 3), keepdims=True)
    features = np.where(mass > 0, cost / np.where(scale > 0, scale, 1.0), 0.0)
    features = features.reshape(-1, *mass.shape)
    class_of_x = _merge_records(mass, features, views)
    class_of_z = _merge_histories(mass, features, views)
    return Reduction(
        _pool(mass, class_of_z, class_of_x),
        _representative_cost(mass, cost, class_of_z, class_of_x),
        [_reduced_view(view, mass, class_of_z, class_of_x) for view in views],
        class_of_z,
        class_of_x,
    )


def _merge_records(mass: Array, features: Array, views: list[View]) -> Labels:
    """Classes of x with equal p(z | x), p(y, z | x) and costs."""
    n_x = mass.shape[1]
    signature = [_rounded(mass / mass.sum(axis=0)), _rounded(features).reshape(-1, n_x)]
    for view in views:
        if view.law is not None:
            law = np.where(mass[..., None] > 0, view.law, 0.0)
            signature.append(_rounded(law).transpose(0, 2, 1).reshape(-1, n_x))
    return _classes(np.concatenate(signature).T)


def _merge_histories(mass: Array, features: Array, views: list[View]) -> Labels:
    """Classes of z with equal p(x | z) and costs that the views allow to merge."""
    n_z = mass.shape[0]
    signature = [
        _rounded(mass / mass.sum(axis=1, keepdims=True)),
        _rounded(features).transpose(1, 0, 2).reshape(n_z, -1),
    ]
    for view in views:
        if view.law is not None:
            law = np.where(mass[..., None] > 0, view.law, 0.0)
            signature.append(_rounded(law).reshape(n_z, -1))
    classes = _classes(np.concatenate(signature, axis=1))
    letters = [view.letter_of_z for view in views if view.letter_of_z is not None]
    return _split_by_views(classes, letters)


def _split_by_views(classes: Labels, letters: list[Labels]) -> Labels:
    """Split classes until each view sees one letter on a class, or letters that it owns whole.

    Two histories stay together if each view shows the same letter on both, or only letters all of
    whose histories lie in the class: a letter shared with outsiders would be torn apart.
    """
    while True:
        signature = [classes]
        for letter in letters:
            first = np.full(letter.max() + 1, -1, dtype=np.intp)
            first[letter] = classes
            is_torn = np.zeros(len(first), dtype=bool)
            is_torn[letter[first[letter] != classes]] = True
            signature.append(np.where(is_torn[letter], letter, -1))
        finer = _classes(np.stack(signature, axis=1))
        if finer.max() == classes.max():
            return classes
        classes = finer


def _reduced_view(view: View, mass: Array, class_of_z: Labels, class_of_x: Labels) -> View:
    if view.letter_of_z is not None:
        letter = np.zeros(class_of_z.max() + 1, dtype=np.intp)
        letter[class_of_z] = view.letter_of_z
        return View(letter_of_z=_classes(letter[:, None]))
    assert view.law is not None
    pooled = np.stack(
        [
            _pool(mass * view.law[:, :, y], class_of_z, class_of_x)
            for y in range(view.law.shape[-1])
        ],
        axis=-1,
    )
    total = pooled.sum(axis=-1, keepdims=True)
    uniform = 1.0 / view.law.shape[-1]
    return View(law=np.where(total > 0, pooled / np.where(total > 0, total, 1.0), uniform))


def _pool(mass: Array, class_of_z: Labels, class_of_x: Labels) -> Array:
    pooled = np.zeros((class_of_z.max() + 1, class_of_x.max() + 1))
    z, x = np.nonzero(mass)
    np.add.at(pooled, (class_of_z[z], class_of_x[x]), mass[z, x])
    return pooled


def _representative_cost(mass: Array, cost: Array, class_of_z: Labels, class_of_x: Labels) -> Array:
    """Costs of merged cells; all cells of a class agree where they have mass."""
    shape = (*cost.shape[:2], class_of_z.max() + 1, class_of_x.max() + 1)
    merged = np.zeros(shape)
    z, x = np.nonzero(mass)
    merged[:, :, class_of_z[z], class_of_x[x]] = cost[:, :, z, x]
    return merged


def _rounded(values: Array) -> Array:
    return np.round(values, _DIGITS) + 0.0  # + 0.0 turns -0.0 into 0.0


def _classes(signature: NDArray[np.generic]) -> Labels:
    """Numbers equal rows alike, 0, 1, ... in the order of first appearance."""
    number: dict[bytes, int] = {}
    rows = np.ascontiguousarray(signature)
    return np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], dtype=np.intp)
