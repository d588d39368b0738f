"""A primal-dual interior-point method for the convex release problem.

    minimise    E cost + sum price * I(Rhat; X | Y) + frugality * I(Rhat; X | Z)
    subject to  I(Rhat; X | Y) <= budget  for every limited view, full collusion among them,
                Rhat independent of X given Y  for every exact view,
                sum_rhat c = 1, c > 0.

The method itself is compiled (``kernel/``): a step on a small problem costs microseconds there, a
millisecond in NumPy. Nothing that it returns is taken on trust: ``answers`` makes every limit hold
and proves the gap. The frugality weight is what makes the answer leak least to everyone among the
near-optimal ones ([M] fact 5). Prices stand in for the limits of views with hardly any bits
left, where a limit is too curved for Newton's model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.solvers.convex.program import Task
from tacit.solvers.kernel import KernelOutcome, KernelProblem, run_kernel

Entry = TypeVar("Entry", bound=np.generic)


@dataclass(slots=True, eq=False)
class Outcome:
    """The best channel and the best proof met, per member of the batch.

    Attributes:
        channel: channels, [batch, rhat, z, x]; strictly positive, unless mixed with a constant.
        is_zero: entries of them that are 0 in the limit, by strict complementarity.
        witness: the channels whose posteriors gave the best bound.
        multipliers: of that bound: the partial views', then full collusion's, [batch, view + 1];
            prices included, frugality not.
        row_force: of that bound: multipliers of the exact views, [batch, rhat, row, x].
        full_force: those of exact full collusion, [batch, rhat, z, x]; 0 otherwise.
        frugality: of that bound: weight on I(Rhat; X | Z), [batch].
        bound: the bound itself, on E cost plus what is priced, rounding left aside, [batch].
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
    bound: Array
    waste: Array
    steps: NDArray[np.intp]

    @property
    def all_weights(self) -> Array:
        """Multipliers with the frugality added to full collusion's, [batch, view + 1]."""
        weights = self.multipliers.copy()
        weights[:, -1] += self.frugality
        return weights

    @staticmethod
    def joined(outcomes: list[Outcome]) -> Outcome:
        """Batches, one after the other."""
        return Outcome(
            *(
                np.concatenate([getattr(outcome, name) for outcome in outcomes])
                for name in Outcome.__slots__
            )
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """When the interior point stops, and how it gets there; costs are of order 1.

    Attributes:
        gap_tol: stop when the gap of the objective is below this, ...
        frugal_tol: ... and the leakage to everyone within this many nats of the least (only where
            full collusion does not bind).
        frugality: weight on I(Rhat; X | Z) while the gap is being closed, positive.
        row_stiffness: curvature that holds the constraints of exact views, until their multipliers
            do. Rounding grows with it; too little of it, and views that nearly depend on each
            other take forever.
        is_multiplicative: whether steps scale the channel's entries instead of adding to them:
            better where the letters' frequencies hardly matter, worse where letters die out.
    """

    gap_tol: float
    frugal_tol: float
    frugality: float
    row_stiffness: float
    is_multiplicative: bool


def minimise(task: Task, price: Array, pace: Pace) -> Outcome:
    """Solve one problem.

    Args:
        task: the convex problem, a batch of one.
        price: fixed price of a nat to each view, [view + 1]; a positive one replaces the view's
            limit.
        pace: when to stop.
    """
    (n_z, n_x), n_rhat, rows = task.mass.shape, task.cost.shape[1], task.rows
    # The kernel keeps what belongs to one history, or to one row, together.
    given = {
        "mass": np.ascontiguousarray(task.mass),
        "cost": np.ascontiguousarray(task.cost[0].transpose(1, 0, 2)),
        "view_of_row": rows.view_of_row.astype(np.intc),
        "row_of_z": None if rows.row_of_z is None else rows.row_of_z.astype(np.intc),
        "law": None,
        "budget": task.all_budgets[0],
        "is_exact": task.all_exact,
        "price": price,
    }
    if rows.row_of_z is None and rows.n_rows:
        shape = (rows.n_rows, n_z, n_x)
        given["law"] = np.ascontiguousarray(np.broadcast_to(rows.weights, shape))
    channel, witness, full_force = np.zeros((3, n_z, n_rhat, n_x))
    is_zero = np.empty(channel.shape, dtype=bool)
    multipliers = np.empty(len(price))
    row_force = np.empty((rows.n_rows, n_rhat, n_x))
    found = {
        "channel": channel,
        "is_zero": is_zero,
        "witness": witness,
        "multiplier": multipliers,
        "row_force": row_force,
        "full_force": full_force,
    }
    outcome = KernelOutcome(**{name: array.ctypes.data for name, array in found.items()})
    problem = KernelProblem(
        n_rhat=n_rhat,
        n_z=n_z,
        n_x=n_x,
        n_views=rows.n_views,
        n_rows=rows.n_rows,
        **{name: array.ctypes.data for name, array in given.items() if array is not None},
        **asdict(pace),
    )
    run_kernel(problem, outcome)
    return Outcome(
        _by_letter(channel),
        _by_letter(is_zero),
        _by_letter(witness),
        multipliers[None],
        _by_letter(row_force),
        _by_letter(full_force),
        np.array([outcome.frugality]),
        np.array([outcome.bound]),
        np.array([outcome.waste]),
        np.array([outcome.steps]),
    )


def _by_letter(blocks: NDArray[Entry]) -> NDArray[Entry]:
    """[z or row, rhat, x] -> [1, rhat, z or row, x]."""
    return blocks.transpose(1, 0, 2)[None]
