"""A primal-dual interior-point method for the convex release problem.

    minimise    E cost + sum price * I(Rhat; X | Y) + frugality * I(Rhat; X | Z)
    subject to  I(Rhat; X | Y) <= budget  for every limited view, full collusion among them,
                Rhat independent of X given Y  for every exact view,
                sum_rhat c = 1, c > 0.

The method itself is compiled (``kernel/``): a step on a small problem costs microseconds there, a
millisecond in NumPy. Nothing that it returns is taken on trust: ``answers`` makes every limit hold
and proves the gap. The frugality weight is what makes the answer leak least to everyone among the
near-optimal ones (DESIGN fact 5). Prices stand in for the limits of views with hardly any bits
left, where a limit is too curved for Newton's model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problem import Array
from tacit.solvers.kernel import KernelOutcome, KernelProblem, run_kernel
from tacit.solvers.task import Task


@dataclass(slots=True, eq=False)
class Outcome:
    """The best channel and the best proof met, per member of the batch.

    Attributes:
        channel: strictly positive channels, [batch, rhat, z, x].
        is_zero: entries of them that are 0 in the limit, by strict complementarity.
        witness: the channels whose posteriors gave the best bound.
        multipliers: of that bound: the partial views', then full collusion's, [batch, view + 1];
            prices included, frugality not.
        row_force: of that bound: multipliers of the exact views, [batch, rhat, row, x].
        full_force: those of exact full collusion, [batch, rhat, z, x]; 0 otherwise.
        frugality: of that bound: weight on I(Rhat; X | Z), [batch].
        waste: nats by which the leakage to everyone may exceed the least, where that was sought and
            not found, [batch]; else 0.
        steps: Newton steps until the best channel, [batch].
    """

    channel: Array
    is_zero: NDArray[np.bool_]
    witness: Array
    multipliers: Array
    row_force: Array
    full_force: Array
    frugality: Array
    waste: Array
    steps: NDArray[np.intp]

    @property
    def all_weights(self) -> Array:
        """Multipliers with the frugality added to full collusion's, [batch, view + 1]."""
        weights = self.multipliers.copy()
        weights[:, -1] += self.frugality
        return weights

    def where(self, chosen: NDArray[np.bool_], other: Outcome) -> Outcome:
        """These members, the chosen ones taken from another outcome."""
        return Outcome(
            *(
                np.where(_like(chosen, mine), getattr(other, name), mine)
                for name, mine in ((name, getattr(self, name)) for name in Outcome.__slots__)
            )
        )


def _like(mask: NDArray[np.bool_], array: NDArray[np.generic]) -> NDArray[np.bool_]:
    """[batch] with as many axes as ``array``."""
    return mask.reshape(-1, *(1,) * (array.ndim - 1))


def minimise(
    task: Task, price: Array, frugality: Array, gap_tol: Array, frugal_tol: float
) -> Outcome:
    """Solve a batch.

    Args:
        task: the convex problem, costs scaled to order 1.
        price: fixed price of a nat to each view, [batch, view + 1]; a positive one replaces the
            view's limit.
        frugality: weight on I(Rhat; X | Z) while the gap is being closed, [batch], positive.
        gap_tol: a member stops when the gap of its objective is below this, [batch], ...
        frugal_tol: ... and its leakage to everyone is within this many nats of the least (only
            where full collusion does not bind).
    """
    n_batch, n_rhat = len(price), task.cost.shape[1]
    (n_z, n_x), n_rows = task.mass.shape, task.rows.n_rows
    # The kernel keeps what belongs to one history, or to one row, together.
    cost = np.ascontiguousarray(task.cost.transpose(0, 2, 1, 3))
    fixed = _FixedArrays(task)
    channel, witness = np.empty((2, n_batch, n_z, n_rhat, n_x))
    is_zero = np.empty(channel.shape, dtype=bool)
    multipliers = np.empty_like(price)
    row_force = np.empty((n_batch, n_rows, n_rhat, n_x))
    full_force = np.zeros_like(channel if task.is_full_exact else channel[:, :0])
    waste, steps = np.empty(n_batch), np.empty(n_batch, dtype=np.intp)
    own_frugality = np.empty(n_batch)
    for member in range(n_batch):
        problem = fixed.problem(
            cost[member if len(cost) > 1 else 0],
            task.all_budgets[member],
            price[member],
            (float(frugality[member]), float(gap_tol[member]), frugal_tol),
        )
        outcome = KernelOutcome(
            *(
                array[member].ctypes.data
                for array in (channel, is_zero, witness, multipliers, row_force, full_force)
            )
        )
        run_kernel(problem, outcome)
        own_frugality[member] = outcome.frugality
        waste[member] = outcome.waste
        steps[member] = outcome.steps
    by_letter = (0, 2, 1, 3)
    return Outcome(
        channel.transpose(by_letter),
        is_zero.transpose(by_letter),
        witness.transpose(by_letter),
        multipliers,
        row_force.transpose(by_letter),
        full_force.transpose(by_letter),
        own_frugality,
        waste,
        steps,
    )


class _FixedArrays:
    """What the members of a batch share, as the kernel wants it; kept alive while it runs."""

    def __init__(self, task: Task) -> None:
        rows = task.rows
        self._sizes = (task.cost.shape[1], *task.mass.shape, rows.n_views, rows.n_rows)
        self._mass = np.ascontiguousarray(task.mass)
        self._view_of_row = rows.view_of_row.astype(np.intc)
        self._is_exact = np.ascontiguousarray(task.all_exact)
        self._row_of_z: NDArray[np.intc] | None = None
        self._law: Array | None = None
        if rows.row_of_z is not None:
            self._row_of_z = rows.row_of_z.astype(np.intc)
        elif rows.n_rows:
            self._law = np.ascontiguousarray(
                np.broadcast_to(rows.weights, (rows.n_rows, *task.mass.shape))
            )

    def problem(
        self, cost: Array, budgets: Array, price: Array, tolerances: tuple[float, float, float]
    ) -> KernelProblem:
        """One member: frugality, gap_tol and frugal_tol come last."""
        arrays = (
            self._mass,
            cost,
            self._view_of_row,
            self._row_of_z,
            self._law,
            np.ascontiguousarray(budgets),
            self._is_exact,
            np.ascontiguousarray(price),
        )
        pointers = (None if array is None else array.ctypes.data for array in arrays)
        return KernelProblem(*self._sizes, *pointers, *tolerances)
