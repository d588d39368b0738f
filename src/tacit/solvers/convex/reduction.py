"""A statement with some of its limits, reduced and scaled for the solver, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.problem import View
from tacit.solvers.convex.interior_point import Outcome
from tacit.solvers.convex.program import Statement, Task, ViewRows

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


Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ReducedTask:
    """What the interior point is asked.

    Attributes:
        statement: where it comes from.
        reduction: the merged letters.
        task: the reduced problem; views that see the same are one view.
        columns: for each of its views, full collusion last, the statement's views behind it.
        scale: units of the original cost in one unit of the task's, [batch or 1].
    """

    statement: Statement
    reduction: Reduction
    task: Task
    columns: list[Indices]
    scale: Array

    @staticmethod
    def of(
        statement: Statement, cost: Array, nats: Array, is_exact: NDArray[np.bool_], chosen: Indices
    ) -> ReducedTask:
        """Reduce a batch.

        Args:
            statement: the problem.
            cost: [batch or 1, rhat, z, x].
            nats: budgets of all views, full collusion last, [batch, view + 1].
            is_exact: which of them have no bits left, [view + 1].
            chosen: the partial views to keep; the others' limits are dropped.
        """
        reduction = reduce(statement.mass, cost, [statement.views[view] for view in chosen])
        groups = _distinct_views(reduction)
        columns = [np.append(chosen, len(statement.views))[group] for group in groups]
        regret = reduction.cost - reduction.cost.min(axis=1, keepdims=True)
        # What the best constant release loses: letters that nobody would use do not count.
        scale = np.einsum("zx,brzx->br", reduction.mass, regret).min(axis=1)
        budgets = np.stack([nats[:, column].min(axis=1) for column in columns], axis=1)
        exact = np.array([is_exact[column].any() for column in columns])
        task = Task(
            mass=reduction.mass,
            cost=regret / scale[:, None, None, None],
            rows=ViewRows(
                [reduction.views[group[0]] for group in groups[:-1]], len(reduction.mass)
            ),
            budgets=budgets[:, :-1],
            is_exact=exact[:-1],
            full_budget=budgets[:, -1],
            is_full_exact=bool(exact[-1]),
        )
        return ReducedTask(statement, reduction, task, columns, scale)

    def lift_multipliers(self, multipliers: Array, nats: Array) -> Array:
        """Multipliers of the statement's views, in units of the original cost per nat.

        Views that see the same pay through the one with the tightest limit.
        """
        lifted = np.zeros_like(nats)
        own = np.arange(len(nats))
        for view, column in enumerate(self.columns):
            # From the back: full collusion itself before others without a limit.
            tightest = column[::-1][nats[:, column[::-1]].argmin(axis=1)]
            lifted[own, tightest] = multipliers[:, view] * self.scale
        return lifted

    def lift_forces(self, outcome: Outcome, whole: Task) -> Array | None:
        """The exact views' multipliers on the rows and records of the whole problem."""
        if not whole.is_exact.any():
            return None
        n_batch, n_rhat = outcome.row_force.shape[:2]
        forces = np.zeros((n_batch, n_rhat, whole.rows.n_rows, whole.mass.shape[1]))
        start = 0
        for view, column in enumerate(self.columns):
            is_full = view == len(self.columns) - 1
            own = outcome.full_force if is_full else outcome.row_force
            for index in column[: -1 if is_full else None]:
                if whole.is_exact[index]:
                    row = self._row_of_letter(index, view)
                    lifted = self.reduction.lift_x(own[:, :, row if is_full else start + row])
                    forces[:, :, whole.rows.view_of_row == index] = lifted
                    break  # one of several equal constraints carries the force
            start += 0 if is_full else int((self.task.rows.view_of_row == view).sum())
        return forces * self.scale[:, None, None, None]

    def _row_of_letter(self, index: int, view: int) -> Indices:
        """Row (or history, for full collusion) that each letter of a statement's view became."""
        original = self.statement.views[index]
        row = np.arange(original.size)
        if original.letter_of_z is None:
            return row
        if view == len(self.columns) - 1:
            row[original.letter_of_z] = self.reduction.class_of_z
        else:
            letters = self.task.rows.weights[self.task.rows.view_of_row == view, :, 0].argmax(
                axis=0
            )
            row[original.letter_of_z] = letters[self.reduction.class_of_z]
        return row


def _distinct_views(reduction: Reduction) -> list[list[int]]:
    """Views that see the same after reduction, grouped; those that see all come last.

    The index ``len(reduction.views)`` stands for full collusion itself.
    """
    n_z = len(reduction.mass)
    groups: dict[bytes, list[int]] = {}
    full: list[int] = []
    for index, view in enumerate(reduction.views):
        if view.letter_of_z is not None and view.size == n_z:
            full.append(index)
        else:
            groups.setdefault(_fingerprint(view), []).append(index)
    return [*groups.values(), [*full, len(reduction.views)]]


def _fingerprint(view: View) -> bytes:
    if view.law is not None:
        return b"law" + view.law.tobytes()
    assert view.letter_of_z is not None
    return b"letters" + view.letter_of_z.tobytes()
