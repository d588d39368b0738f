"""A primal-dual interior point for programs of few unknowns whose views have many letters.

The kernel's systems grow with the letters of the views. Releases that read only a level of R have
some ten unknowns, beside coalitions with hundreds of letters: here the Newton matrix is formed on
the unknowns. As with the kernel, nothing is taken on trust: ``certificate`` proves what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.solvers.kernel import Outcome, Pace, raise_if_late

_MOST_STEPS = 80

_TO_BOUNDARY = 0.95
"""Share of the way to the boundary that a step may go."""

_OWN_SHARE = 0.1
"""Share of the asked gap that may be left open; the rest is for repair and rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseProgram:
    """Minimise E cost + sum weight * I(Rhat; X | Y) with I(Rhat; X | Y) <= budget, in nats.

    Attributes:
        p_x: p(x), [x].
        cost: E[d(rhat, R) | x], [rhat, x].
        row_mass: p(y, x) of the views' letters that occur, full collusion's one letter last.
        view_of_row: [row].
        budget: nats left to the limited views, [limited].
        limited: which views these are, [limited].
        weight: fixed price of a nat to each view, [view].
    """

    p_x: Array
    cost: Array
    row_mass: Array
    view_of_row: NDArray[np.integer]
    budget: Array
    limited: NDArray[np.intp]
    weight: Array

    @property
    def work(self) -> float:
        """Additions and multiplications of one step, about."""
        n_unknowns = self.cost.size
        return float(n_unknowns**3 + len(self.row_mass) * n_unknowns * len(self.p_x))

    def minimise(self, pace: Pace) -> Iterate:
        """Newton steps until the gap is closed."""
        point = Iterate.start(self)
        for _ in range(_MOST_STEPS):
            raise_if_late(self.work)
            value, bound = point.bounds(self)
            if value - bound <= _OWN_SHARE * pace.gap_tol:
                break
            try:
                point = point.stepped(self)
            except np.linalg.LinAlgError:  # rounding is all that is left
                break
        return point

    def informations(self, c: Array) -> tuple[Array, Array]:
        """I(Rhat; X | Y) of every view, [view], and its slopes, [view, rhat * x]."""
        p_y_rhat = self.row_mass @ c.T
        log_ratio = np.log(p_y_rhat / self.row_mass.sum(axis=1, keepdims=True))
        shared = self.p_x * np.log(c)
        slopes = np.empty((len(self.weight), c.size))
        for view in range(len(slopes)):
            rows = self.view_of_row == view
            slopes[view] = (shared - log_ratio[rows].T @ self.row_mass[rows]).ravel()
        return slopes @ c.ravel(), slopes

    def curvature(self, c: Array, weight: Array) -> Array:
        """Second derivatives of sum weight * I, [rhat * x, rhat * x]."""
        p_y_rhat, n_x = self.row_mass @ c.T, c.shape[1]
        matrix = np.diag((weight.sum() * self.p_x / c).ravel())
        for letter in range(len(c)):
            block = slice(letter * n_x, (letter + 1) * n_x)
            scaled = self.row_mass.T * (weight[self.view_of_row] / p_y_rhat[:, letter])
            matrix[block, block] -= scaled @ self.row_mass
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Where the interior point stands.

    Attributes:
        c: channel, [rhat, x]; positive, summing to 1 over rhat.
        reduced_cost: multipliers of c >= 0, [rhat, x].
        slack: nats that the limited views are taken to have left, [limited].
        multiplier: of their limits, [limited].
        steps: steps so far.
    """

    c: Array
    reduced_cost: Array
    slack: Array
    multiplier: Array
    steps: int

    @staticmethod
    def start(program: DenseProgram) -> Iterate:
        """All letters alike, which tells nothing."""
        c = np.full(program.cost.shape, 1.0 / len(program.cost))
        ones = np.ones(len(program.budget))
        reduced = np.broadcast_to(program.p_x, c.shape).copy()
        return Iterate(c, reduced, program.budget.copy(), ones, 0)

    @property
    def products(self) -> float:
        """Sum of all pairs that are 0 at the optimum."""
        return float((self.c * self.reduced_cost).sum() + self.slack @ self.multiplier)

    def weights(self, program: DenseProgram) -> Array:
        """What a nat to each view costs here, [view]."""
        weights = program.weight.copy()
        weights[program.limited] += self.multiplier
        return weights

    def bounds(self, program: DenseProgram) -> tuple[float, float]:
        """What c attains, and the lower bound of its own posteriors and multipliers ([M] fact 2).

        What c tells above its limits counts, at the price of the multipliers.
        """
        told, slopes = program.informations(self.c)
        cost = program.p_x * program.cost
        gradient = cost + (self.weights(program) @ slopes).reshape(cost.shape)
        excess = np.maximum(told[program.limited] - program.budget, 0.0)
        value = (cost * self.c).sum() + program.weight @ told + self.multiplier @ excess
        return float(value), float(gradient.min(axis=0).sum() - self.multiplier @ program.budget)

    def stepped(self, program: DenseProgram) -> Iterate:
        """One Newton step towards a tenth of the products."""
        c, (told, slopes) = self.c, program.informations(self.c)
        weights, limited = self.weights(program), program.limited
        target = 0.1 * self.products / (c.size + len(limited))
        gradient = (program.p_x * program.cost).ravel() + weights @ slopes
        matrix = program.curvature(c, weights) + np.diag((self.reduced_cost / c).ravel())
        room = program.budget - told[limited] - target / self.multiplier
        change, multiplier_change = _solve_newton(
            matrix,
            slopes[limited],
            self.slack / self.multiplier,
            target / c.ravel() - gradient,
            room,
            c,
        )
        d_c = change.reshape(c.shape)
        d_reduced = target / c - self.reduced_cost * (1 + d_c / c)
        d_slack = target / self.multiplier - self.slack * (1 + multiplier_change / self.multiplier)
        length = _longest((c, d_c), (self.slack, d_slack))
        dual_length = _longest((self.reduced_cost, d_reduced), (self.multiplier, multiplier_change))
        moved = c + length * d_c
        return Iterate(
            moved / moved.sum(axis=0),
            self.reduced_cost + dual_length * d_reduced,
            self.slack + length * d_slack,
            self.multiplier + dual_length * multiplier_change,
            self.steps + 1,
        )

    def outcome(self, program: DenseProgram, n_rows: int, frugality: float) -> Outcome:
        """A batch of one, with a history of one letter, for a program with ``n_rows`` rows."""
        n_rhat, n_x = self.c.shape
        cells = self.c.reshape(1, n_rhat, 1, n_x)
        weights = self.weights(program)
        weights[-1] -= frugality
        return Outcome(
            channel=cells,
            is_zero=cells < self.reduced_cost.reshape(cells.shape),
            witness=cells,
            multipliers=weights[None],
            row_force=np.zeros((1, n_rhat, n_rows, n_x)),
            full_force=np.zeros((1, n_rhat, 1, n_x)),
            row_cap=np.zeros((1, n_rhat, n_rows, n_x)),
            full_cap=np.zeros((1, n_rhat, 1, n_x)),
            frugality=np.array([frugality]),
            bound=np.array([self.bounds(program)[1]]),
            waste=np.zeros(1),
            steps=np.array([self.steps]),
            work=np.array([self.steps * program.work]),
        )


def _solve_newton(
    matrix: Array, slopes: Array, ease: Array, pull: Array, room: Array, c: Array
) -> tuple[Array, Array]:
    """Changes of c, [rhat * x], and of the multipliers.

    Limits stay rows of their own, so that a small slack does not swamp the matrix; unknowns are
    scaled by c.
    """
    (n_rhat, n_x), n_limits, scale = c.shape, len(room), c.ravel()
    sums = np.tile(np.eye(n_x), n_rhat) * scale
    rows = np.vstack([slopes * scale, sums])
    corner = np.zeros((n_limits + n_x, n_limits + n_x))
    corner[np.diag_indices(n_limits)] = -ease
    system = np.block([[matrix * np.outer(scale, scale), rows.T], [rows, corner]])
    solved = np.linalg.solve(system, np.concatenate([pull * scale, room, np.zeros(n_x)]))
    return solved[: c.size] * scale, solved[c.size : c.size + n_limits]


def _longest(*pairs: tuple[Array, Array]) -> float:
    """The longest step, 1 at most, that keeps positive values positive."""
    lengths = [1.0]
    for value, change in pairs:
        falls = change < 0
        lengths.append(float((-_TO_BOUNDARY * value[falls] / change[falls]).min(initial=1.0)))
    return min(lengths)
