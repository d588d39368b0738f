"""The Newton system of the release problem, solved through its structure.

One interior-point step asks for the channel change dc and the multipliers nu of the rows' sums in

    (s + l_f)/c * dc  -  l_f * dq/q  +  spread(l * (da/a - db/b))  +  nu  =  -force,
    sum_rhat dc = 0,

with q = p(rhat | z), a = p(rhat, y, x) and b = p(rhat, y) of every partial view. Three kinds of
coupling, each eliminated where it is block diagonal:

* within a cell (z, x), over rhat, by the row sums: a rank-one correction of a diagonal;
* within a history z, over x, by full collusion: ``y[rhat, z] = -l_f * dq/q``;
* within a record x, over z, by the partial views: ``u[rhat, row, x]``.

Eliminating y first leaves a system of size |Rhat||rows||X|; eliminating u first leaves one of size
|Rhat|(|Z| + |rows|). Both are sums of positive terms, so nothing cancels; the cheaper is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg

from tacit.problem import Array
from tacit.solvers.task import Task


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """The quadratic weight/2 * sum_x (da - a db/b)^2 / a, with b = sum_x a, of one kind of term.

    Attributes:
        weight: [batch], or [batch, row] for rows; positive.
        joint: a, [batch, rhat, z or row, x]; cells are counted per unit of mass.
    """

    weight: Array
    joint: Array


class NewtonSystem:
    """Factorised Newton system at one iterate; ``solve`` takes many right-hand sides."""

    def __init__(self, task: Task, c: Array, s: Array, full: Curvature, rows: Curvature) -> None:
        """Factorise.

        Args:
            task: the convex problem.
            c: channels, [batch, rhat, z, x].
            s: their dual slacks.
            full: curvature of full collusion's term, on the cells.
            rows: curvature of the partial views' terms, on their rows.
        """
        self._mass, self._rows = task.mass, task.rows
        stiffness = s / c
        self._softness = 1.0 / (stiffness + full.weight[:, None, None, None] / full.joint)
        self._share = self._softness / self._softness.sum(axis=1, keepdims=True)
        massive = task.mass * self._softness
        # mass * (diag(h) - h h' / sum h): how a cell answers a force, [batch, rhat, rhat', z, x].
        response = massive[:, :, None] * -self._share[:, None]
        diagonal = np.arange(c.shape[1])
        response[:, diagonal, diagonal] += massive
        history = _history_blocks(massive, self._share, stiffness, full)
        self._coupling: Coupling
        if task.rows.n_rows == 0:
            self._coupling = _HistoryOnly(history)
        elif _by_history_is_cheaper(task, c.shape[1]):
            self._coupling = _EliminateHistoryFirst(task, history, response, rows)
        else:
            self._coupling = _EliminateRecordFirst(task, history, response, rows)

    def solve(self, force: Array) -> Array:
        """Channel change for each force, [batch, side, rhat, z, x]."""
        moved = self._mass * self._answer(force)
        y, u = self._coupling.solve(moved.sum(axis=-1), self._rows.collect(moved))
        return -self._answer(force + y[..., None] + self._rows.spread(u))

    def _answer(self, force: Array) -> Array:
        """The cells' response to a force with sum_rhat dc = 0, sign left out."""
        weighted = self._softness[:, None] * force
        return np.asarray(weighted - self._share[:, None] * weighted.sum(axis=2, keepdims=True))


class Coupling(Protocol):
    """Solves for (y, u), given the cells' response to the force summed over x and over rows."""

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        """[batch, side, rhat, z] and [batch, side, rhat, row, x] -> y, u of those shapes."""
        ...


def _history_blocks(
    massive_softness: Array, share: Array, stiffness: Array, full: Curvature
) -> Array:
    """l_f^-1 diag p(rhat, z) minus the cells' response summed over x, [batch, z, rhat, rhat'].

    c/l - h = h (s/c) c/l, so the difference is written as a sum of positive terms.
    """
    rest = massive_softness * stiffness * full.joint / full.weight[:, None, None, None]
    stiff = rest.sum(axis=-1)
    blocks = np.einsum("brzx,bqzx->bzrq", massive_softness, share, optimize=False)
    diagonal = np.arange(share.shape[1])
    blocks[:, :, diagonal, diagonal] += stiff.transpose(0, 2, 1)
    return np.asarray(blocks)


def _by_history_is_cheaper(task: Task, n_rhat: int) -> bool:
    n_z, n_x = task.mass.shape
    by_record = n_rhat * task.rows.n_rows
    left_after_history, left_after_record = by_record * n_x, n_rhat * n_z + by_record
    cost_history = n_z * n_rhat * left_after_history**2 + left_after_history**3 / 3
    cost_record = n_x * by_record * left_after_record**2 + left_after_record**3 / 3
    return bool(cost_history < cost_record)


class _HistoryOnly:
    """Only full collusion is limited: the histories separate."""

    def __init__(self, history: Array) -> None:
        self._inverse_factor = _inverse_cholesky(history)

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        inner = np.einsum("bzrq,bkqz->bkrz", self._inverse_factor, by_history)
        return np.einsum("bzqr,bkqz->bkrz", self._inverse_factor, inner), by_row


class _EliminateHistoryFirst:
    """y = M^-1 (g + V u) out, then (I + P D S D P) w = -P D t for u = D w (P drops db)."""

    def __init__(self, task: Task, history: Array, response: Array, rows: Curvature) -> None:
        n_batch, n_rhat, _, n_z, n_x = response.shape
        n_rows = task.rows.n_rows
        self._shape = (n_rhat, n_rows, n_x)
        self._inverse_factor = _inverse_cholesky(history)
        # V: [batch, z, rhat, (rhat', row, x)].
        coupling = np.einsum("brqzx,mzx->bzrqmx", response, task.rows.weights, optimize=False)
        coupling = coupling.reshape(n_batch, n_z, n_rhat, -1)
        self._coupling = (self._inverse_factor @ coupling).reshape(n_batch, n_z * n_rhat, -1)
        system = self._coupling.transpose(0, 2, 1) @ self._coupling
        by_record = _record_blocks(task, response)
        six = system.reshape(n_batch, n_rhat, n_rows, n_x, n_rhat, n_rows, n_x)
        x = np.arange(n_x)
        # Indexing x twice brings it to the front: [x, batch, rhat, row, rhat', row'].
        six[:, :, :, x, :, :, x] += by_record.transpose(1, 0, 2, 3, 4, 5)
        self._scale, self._unit = _projection(rows)
        scale = self._scale.reshape(n_batch, -1)
        system *= scale[:, :, None] * scale[:, None]
        _project_both_sides(system, self._unit)
        size = np.arange(system.shape[-1])
        system[:, size, size] += 1.0
        self._system = _Cholesky(system)

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        n_batch, n_sides, n_rhat, n_z = by_history.shape
        inner = np.einsum("bzrq,bkqz->bkzr", self._inverse_factor, by_history)
        flat = inner.reshape(n_batch, n_sides, -1)
        pushed = by_row + (flat @ self._coupling).reshape(n_batch, n_sides, *self._shape)
        side = -self._project(self._scale[:, None] * pushed)
        solved = self._system.solve(side.reshape(n_batch, n_sides, -1)).reshape(side.shape)
        u = self._scale[:, None] * self._project(solved)
        flat = flat + u.reshape(n_batch, n_sides, -1) @ self._coupling.transpose(0, 2, 1)
        inner = flat.reshape(n_batch, n_sides, n_z, n_rhat)
        return np.einsum("bzqr,bkzq->bkrz", self._inverse_factor, inner), u

    def _project(self, rows: Array) -> Array:
        unit = self._unit[:, None]
        return np.asarray(rows - unit * (unit * rows).sum(axis=-1, keepdims=True))


class _EliminateRecordFirst:
    """u out, block by block of x; what is left couples y and beta = l * db/b."""

    def __init__(self, task: Task, history: Array, response: Array, rows: Curvature) -> None:
        n_batch, n_rhat, _, n_z, n_x = response.shape
        n_rows = task.rows.n_rows
        n_by_record = n_rhat * n_rows
        # alpha = a / l; a row and x of no mass is cut off by a unit on the diagonal.
        alpha = (rows.joint / rows.weight[:, None, :, None]).transpose(0, 3, 1, 2)
        alpha = alpha.reshape(n_batch, n_x, n_by_record)
        blocks = _record_blocks(task, response).reshape(n_batch, n_x, n_by_record, n_by_record)
        diagonal = np.arange(n_by_record)
        support = np.broadcast_to(task.row_support.T[:, None], (n_x, n_rhat, n_rows))
        blocks[:, :, diagonal, diagonal] += np.where(
            support.reshape(n_x, n_by_record), alpha, alpha + 1.0
        )
        self._inverse_factor = _inverse_cholesky(blocks)
        # E = [V' | diag alpha]: [batch, x, (rhat', row), (rhat, z) + (rhat, row)].
        n_history = n_rhat * n_z
        coupling = np.zeros((n_batch, n_x, n_by_record, n_history + n_by_record))
        coupling[..., :n_history] = np.einsum(
            "brqzx,mzx->bxqmrz", response, task.rows.weights, optimize=False
        ).reshape(n_batch, n_x, n_by_record, n_history)
        coupling[:, :, diagonal, n_history + diagonal] = alpha
        self._coupling = (self._inverse_factor @ coupling).reshape(
            n_batch, n_x * n_by_record, n_history + n_by_record
        )
        system = self._coupling.transpose(0, 2, 1) @ self._coupling
        five = system[:, :n_history, :n_history].reshape(n_batch, n_rhat, n_z, n_rhat, n_z)
        z = np.arange(n_z)
        # Indexing z twice brings it to the front: [z, batch, rhat, rhat'].
        five[:, :, z, :, z] += history.transpose(1, 0, 2, 3)
        system[:, :n_history, :n_history] = five.reshape(n_batch, n_history, n_history)
        self._system = _Cholesky(system)
        self._shape = (n_rhat, n_rows, n_x)

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        n_batch, n_sides, n_rhat, n_z = by_history.shape
        _, n_rows, n_x = self._shape
        by_record = by_row.transpose(0, 4, 2, 3, 1).reshape(n_batch, n_x, n_rhat * n_rows, -1)
        inner = (self._inverse_factor @ by_record).reshape(n_batch, -1, n_sides)
        side = -(self._coupling.transpose(0, 2, 1) @ inner).transpose(0, 2, 1)
        side[:, :, : n_rhat * n_z] += by_history.reshape(n_batch, n_sides, -1)
        solved = self._system.solve(side)
        inner = inner + self._coupling @ solved.transpose(0, 2, 1)
        by_record = inner.reshape(n_batch, n_x, n_rhat * n_rows, n_sides)
        u = -(self._inverse_factor.transpose(0, 1, 3, 2) @ by_record)
        u = u.reshape(n_batch, n_x, n_rhat, n_rows, n_sides).transpose(0, 4, 2, 3, 1)
        return solved[:, :, : n_rhat * n_z].reshape(by_history.shape), u


def _record_blocks(task: Task, response: Array) -> Array:
    """The rows' response to a force on the rows, [batch, x, rhat, row, rhat', row']."""
    weights = task.rows.weights
    if len(weights) == 1 and weights.min() == 1.0:  # the individual view alone: a plain sum
        return np.asarray(response.sum(axis=3).transpose(0, 3, 1, 2)[:, :, :, None, :, None])
    n_batch, n_rhat, _, n_z, n_x = response.shape
    n_rows = len(weights)
    # [1 or x, z, (row, row')]: one matrix for all x where no view reads x.
    pairs = (weights[:, None] * weights).reshape(n_rows * n_rows, n_z, -1).transpose(2, 1, 0)
    flat = response.reshape(n_batch, n_rhat * n_rhat, n_z, n_x).transpose(0, 3, 1, 2)
    blocks = (flat @ pairs).reshape(n_batch, n_x, n_rhat, n_rhat, n_rows, n_rows)
    return np.ascontiguousarray(blocks.transpose(0, 1, 2, 4, 3, 5))


def _projection(rows: Curvature) -> tuple[Array, Array]:
    """D = sqrt(l/a) and the unit vector sqrt(a/b) along x: l(da/a - db/b) = D(1 - gg')D da."""
    mass = np.where(rows.joint > 0, rows.joint, np.inf)
    scale = np.sqrt(rows.weight[:, None, :, None] / mass)
    marginal = rows.joint.sum(axis=-1, keepdims=True)
    return scale, np.sqrt(rows.joint / np.where(marginal > 0, marginal, 1.0))


def _project_both_sides(system: Array, unit: Array) -> None:
    """system <- P system P in place, P = 1 - gg' along x for every (rhat, row)."""
    n_batch, n_rhat, n_rows, n_x = unit.shape
    size = n_rhat * n_rows
    direction = unit.reshape(n_batch, size, n_x)
    left = system.reshape(n_batch, size, n_x, size * n_x)
    left -= direction[..., None] * (direction[:, :, None] @ left)
    right = system.reshape(n_batch, size * n_x, size, n_x)
    right -= direction[:, None] * np.einsum("bikx,bkx->bik", right, direction)[..., None]


def _inverse_cholesky(blocks: Array) -> Array:
    """L^-1 of every block = L L'."""
    return np.asarray(np.linalg.inv(_cholesky(blocks)))


def _cholesky(blocks: Array) -> Array:
    """Cholesky factors; a block that rounding made indefinite gets the least jitter that helps."""
    try:
        return np.asarray(np.linalg.cholesky(blocks))
    except np.linalg.LinAlgError:
        diagonal = np.einsum("...ii->...i", blocks).copy()
        largest = diagonal.max(axis=-1, keepdims=True)
        for jitter in (1e-15, 1e-13, 1e-11, 1e-9):
            np.einsum("...ii->...i", blocks)[...] = diagonal + jitter * (diagonal + 1e-3 * largest)
            try:
                return np.asarray(np.linalg.cholesky(blocks))
            except np.linalg.LinAlgError:
                continue
        raise


class _Cholesky:
    """Factor of a batch of large symmetric positive definite systems."""

    def __init__(self, systems: Array) -> None:
        # One system: LAPACK's own triangular solves. Many small ones: batched inverse factors.
        self._is_single = len(systems) == 1
        self._factor = _cholesky(systems)
        if not self._is_single:
            self._factor = np.asarray(np.linalg.inv(self._factor))

    def solve(self, sides: Array) -> Array:
        """[batch, side, n] -> [batch, side, n]."""
        if self._is_single:
            factor = (self._factor[0], True)
            return scipy.linalg.cho_solve(factor, sides[0].T, check_finite=False).T[None]
        inner = sides @ self._factor.transpose(0, 2, 1)
        return np.asarray(inner @ self._factor)
