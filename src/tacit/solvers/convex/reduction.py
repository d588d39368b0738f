"""A convex program with its alike letters merged and its cost scaled, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.problem import View
from tacit.solvers.convex.program import Program, ViewRows
from tacit.solvers.kernel import Outcome

Indices = NDArray[np.intp]
"""Letters, classes of letters, or views."""

_DIGITS = 12
"""Laws that agree to this many digits are merged. The certificate is taken on the unreduced
program, so a merge that is off by rounding costs gap, never correctness."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller program with the same optimum, and the map back ([M] fact 3).

    Attributes:
        program: the reduced program; views that see the same are one view.
        class_of_z: merged letter of every original history.
        class_of_x: merged letter of every original record.
        columns: for each of its views, full collusion last, the original views behind it.
        scale: units of the original cost in one unit of the program's, [batch or 1].
    """

    program: Program
    class_of_z: Indices
    class_of_x: Indices
    columns: list[Indices]
    scale: Array

    @staticmethod
    def of(whole: Program, chosen: Indices, *, is_everyone_free: bool = False) -> Reduction:
        """Merge what no limit and no cost can tell apart.

        Args:
            whole: the program.
            chosen: the partial views to keep; the others' limits are dropped.
            is_everyone_free: whether any optimum will do, and no limit or cap is on full collusion.
                Else it counts as limited, because the frugal answer depends on it ([M] fact 5).
        """
        mass, cost = whole.mass, whole.cost
        views = [whole.rows.views[view] for view in chosen]
        features = np.concatenate([_comparable_costs(mass, cost), *_cap_features(whole)])
        class_of_x = _merge_records(mass, features, views)
        merge_histories = _merge_seen_alike if is_everyone_free else _merge_histories
        class_of_z = merge_histories(mass, features, views)
        merged = [_merged_view(view, mass, class_of_z, class_of_x) for view in views]
        n_z = int(class_of_z.max()) + 1
        groups = _distinct_views(merged, n_z)
        columns = [np.append(chosen, whole.rows.n_views)[group] for group in groups]
        pooled = _pool(mass, class_of_z, class_of_x)
        regret, scale = _scaled_regret(
            pooled, _representative_cost(mass, cost, class_of_z, class_of_x)
        )
        program = Program(
            pooled,
            regret,
            ViewRows([merged[group[0]] for group in groups[:-1]], n_z),
            np.stack([whole.budgets[:, column].min(axis=1) for column in columns], axis=1),
            np.array([whole.is_exact[column].any() for column in columns]),
            tuple(_smallest_factors(whole, column, class_of_x) for column in columns),
        )
        return Reduction(program, class_of_z, class_of_x, columns, scale)

    def members(self, own: Indices) -> Reduction:
        """Some members of the batch, in the order given."""
        scale = self.scale if len(self.scale) == 1 else self.scale[own]
        return replace(self, program=self.program.members(own), scale=scale)

    def lift(self, cells: Array) -> Array:
        """[..., z, x] of the reduced program read on the original letters."""
        return cells[..., self.class_of_z[:, None], self.class_of_x]

    def lift_multipliers(self, multipliers: Array, budgets: Array) -> Array:
        """Multipliers of the original views, in units of the original cost per nat.

        Views that see the same pay through the one with the tightest budget, [batch, view + 1].
        """
        lifted = np.zeros_like(budgets)
        own = np.arange(len(budgets))
        for view, column in enumerate(self.columns):
            # From the back: full collusion itself before others without a limit.
            tightest = column[::-1][budgets[:, column[::-1]].argmin(axis=1)]
            lifted[own, tightest] = multipliers[:, view] * self.scale
        return lifted

    def lift_forces(self, outcome: Outcome, whole: Program) -> Array | None:
        """The exact views' multipliers on the rows and records of the whole program."""
        if not whole.is_any_row_exact:
            return None
        n_batch, n_rhat = outcome.row_force.shape[:2]
        forces = np.zeros((n_batch, n_rhat, whole.rows.n_rows, whole.mass.shape[1]))
        start = 0
        for view, column in enumerate(self.columns):
            is_full = view == len(self.columns) - 1
            own = outcome.full_force if is_full else outcome.row_force
            for index in column[: -1 if is_full else None]:
                if whole.is_exact[index]:
                    row = self._row_of_letter(whole.rows.views[index], view)
                    lifted = own[:, :, row if is_full else start + row][..., self.class_of_x]
                    forces[:, :, whole.rows.view_of_row == index] = lifted
                    break  # one of several equal constraints carries the force
            start += 0 if is_full else self.program.rows.sizes[view]
        return forces * self.scale[:, None, None, None]

    def lift_caps(self, outcome: Outcome, whole: Program) -> tuple[Array | None, Array | None]:
        """Multipliers of the caps on partial views and on full collusion, on the whole program.

        Of several views that see the same, that with the smallest cap carries the multiplier.
        """
        n_batch, n_rhat = outcome.row_cap.shape[:2]
        rows = full = None
        if whole.row_caps is not None:
            rows = np.zeros((n_batch, n_rhat, *whole.row_caps.shape))
        start = 0
        for view, column in enumerate(self.columns):
            is_full = view == len(self.columns) - 1
            size = self.program.rows.sizes[view] if not is_full else 0
            own = outcome.full_cap if is_full else outcome.row_cap[:, :, start : start + size]
            own = own * self.scale[:, None, None, None]
            for index, is_carried in self._carried_caps(whole, view, column):
                carried = np.where(is_carried, own, 0.0)
                if index < whole.rows.n_views and rows is not None:
                    row = self._row_of_letter(whole.rows.views[index], view)
                    lifted = carried[:, :, row][..., self.class_of_x]
                    rows[:, :, whole.rows.view_of_row == index] = lifted
                elif index == whole.rows.n_views and whole.full_caps is not None:
                    full = carried[:, :, self.class_of_z][..., self.class_of_x]
            start += size
        return rows, full

    def _carried_caps(
        self, whole: Program, view: int, column: Indices
    ) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Which caps of a reduced view are those of each original view behind it, [y or 1, x or 1].

        Each cap is carried by one of them: from the back, so full collusion before its like.
        """
        left = np.ones((1, 1), dtype=bool)
        for index in column[::-1]:
            own = _merged_factors(whole.cap_factors[index], self.class_of_x)
            is_carried = left & (own <= self.program.cap_factors[view])
            yield int(index), is_carried
            left = left & ~is_carried

    def _row_of_letter(self, original: View, view: int) -> Indices:
        """Row (or history, for full collusion) that each letter of an original view became."""
        row = np.arange(original.size)
        if original.letter_of_z is None:
            return row
        letters: Indices | None = None
        if view < len(self.columns) - 1:
            letters = self.program.rows.views[view].letter_of_z
        row[original.letter_of_z] = self.class_of_z if letters is None else letters[self.class_of_z]
        return row


def _cap_features(whole: Program) -> list[Array]:
    """Caps that differ between records, by which cells are compared, too, [y, z, x] each."""
    tables = [each for each in whole.cap_factors if each.shape[1] > 1]
    return [np.broadcast_to(1 / each[:, None], (len(each), *whole.mass.shape)) for each in tables]


def _merged_factors(factors: Array, class_of_x: Indices) -> Array:
    """The caps of one view on the merged records, [y or 1, x or 1]."""
    if factors.shape[1] == 1:
        return factors
    merged = np.empty((len(factors), class_of_x.max() + 1))
    merged[:, class_of_x] = factors
    return merged


def _smallest_factors(whole: Program, column: Indices, class_of_x: Indices) -> Array:
    """The caps of views that see the same: the smallest of each letter and record."""
    smallest = np.full((1, 1), np.inf)
    for index in column:
        smallest = np.minimum(smallest, _merged_factors(whole.cap_factors[index], class_of_x))
    return smallest


def _comparable_costs(mass: Array, cost: Array) -> Array:
    """Costs by which cells are compared, [batch * rhat, z, x].

    Each letter is scaled by itself: beside a huge cost of one letter, the costs of the others
    would look alike.
    """
    scale = cost.max(axis=(2, 3), keepdims=True)
    features = np.where(mass > 0, cost / np.where(scale > 0, scale, 1.0), 0.0)
    return features.reshape(-1, *mass.shape)


def _scaled_regret(mass: Array, cost: Array) -> tuple[Array, Array]:
    """What a letter costs above the best one of its cell, in units of a blind draw's regret.

    The unit, [batch or 1], is what the best constant release loses: letters that nobody would use
    do not count. It is 1 where that is nothing.
    """
    regret = cost - cost.min(axis=1, keepdims=True)
    scale = np.einsum("zx,brzx->br", mass, regret).min(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    return regret / scale[:, None, None, None], scale


def _merge_records(mass: Array, features: Array, views: list[View]) -> Indices:
    """Classes of x with equal p(z | x), p(y, z | x) and costs."""
    n_x = mass.shape[1]
    signature = [_rounded(mass / mass.sum(axis=0)), _rounded(features).reshape(-1, n_x)]
    for view in views:
        if view.law is not None:
            law = np.where(mass[..., None] > 0, view.law, 0.0)
            signature.append(_rounded(law).transpose(0, 2, 1).reshape(-1, n_x))
    return _classes(np.concatenate(signature).T)


def _merge_histories(mass: Array, features: Array, views: list[View]) -> Indices:
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


def _merge_seen_alike(mass: Array, features: Array, views: list[View]) -> Indices:
    """Classes of z with equal costs that every view sees alike, whatever p(x | z) is.

    Nobody who sees more is limited: averaging the channel over such histories, weighted by
    p(z | x), changes neither the cost nor what a view is told.
    """
    n_z = mass.shape[0]
    first = (mass > 0).argmax(axis=0)  # what a cell without mass costs does not matter
    alike = np.where(mass > 0, features, features[:, first, np.arange(mass.shape[1])][:, None])
    signature = [_rounded(alike).transpose(1, 0, 2).reshape(n_z, -1)]
    for view in views:
        if view.law is not None:
            law = np.where(mass[..., None] > 0, view.law, 0.0)
            signature.append(_rounded(law).reshape(n_z, -1))
        if view.letter_of_z is not None:
            signature.append(view.letter_of_z[:, None].astype(float))
    return _classes(np.concatenate(signature, axis=1))


def _split_by_views(classes: Indices, letters: list[Indices]) -> Indices:
    """Split classes until each view sees one letter on a class, or letters that it owns whole.

    Two histories stay together if each view shows the same letter on both, or only letters all of
    whose histories lie in the class: a merge must not split a letter that other histories share.
    """
    while True:
        signature = [classes]
        for letter in letters:
            first = np.full(letter.max() + 1, -1, dtype=np.intp)
            first[letter] = classes
            is_split = np.zeros(len(first), dtype=bool)
            is_split[letter[first[letter] != classes]] = True
            signature.append(np.where(is_split[letter], letter, -1))
        finer = _classes(np.stack(signature, axis=1))
        if finer.max() == classes.max():
            return classes
        classes = finer


def _merged_view(view: View, mass: Array, class_of_z: Indices, class_of_x: Indices) -> View:
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


def _pool(mass: Array, class_of_z: Indices, class_of_x: Indices) -> Array:
    pooled = np.zeros((class_of_z.max() + 1, class_of_x.max() + 1))
    z, x = np.nonzero(mass)
    np.add.at(pooled, (class_of_z[z], class_of_x[x]), mass[z, x])
    return pooled


def _representative_cost(
    mass: Array, cost: Array, class_of_z: Indices, class_of_x: Indices
) -> Array:
    """Costs of merged cells; all cells of a class agree where they have mass."""
    shape = (*cost.shape[:2], class_of_z.max() + 1, class_of_x.max() + 1)
    merged = np.zeros(shape)
    z, x = np.nonzero(mass)
    merged[:, :, class_of_z[z], class_of_x[x]] = cost[:, :, z, x]
    return merged


def _rounded(values: Array) -> Array:
    return np.round(values, _DIGITS) + 0.0  # + 0.0 turns -0.0 into 0.0


def _classes(signature: NDArray[np.generic]) -> Indices:
    """Numbers equal rows alike, 0, 1, ... in the order of first appearance."""
    number: dict[bytes, int] = {}
    rows = np.ascontiguousarray(signature)
    return np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], dtype=np.intp)


def _distinct_views(views: list[View], n_z: int) -> list[list[int]]:
    """Merged views that see the same, grouped; those that see the whole history come last.

    The index ``len(views)`` stands for full collusion itself.
    """
    groups: dict[bytes, list[int]] = {}
    full: list[int] = []
    for index, view in enumerate(views):
        if view.letter_of_z is not None and view.letter_of_z.max() == n_z - 1:
            full.append(index)
        else:
            groups.setdefault(_fingerprint(view), []).append(index)
    # The finest first: the kernel finds most zeros so.
    finest_first = sorted(groups.values(), key=lambda group: -views[group[0]].size)
    return [*finest_first, [*full, len(views)]]


def _fingerprint(view: View) -> bytes:
    if view.law is not None:
        return b"law" + view.law.tobytes()
    assert view.letter_of_z is not None
    return b"letters" + view.letter_of_z.tobytes()
