"""A statement with some of its limits, reduced and scaled for the solver, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array, View
from tacit.solvers.interior_point import Outcome
from tacit.solvers.reductions import Reduction, reduce
from tacit.solvers.statement import Statement
from tacit.solvers.task import Task, ViewRows

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
