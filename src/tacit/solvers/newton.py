"""The Newton system of the release problem, solved through its structure.

One interior-point step asks for the channel change dc and the multipliers nu of the rows' sums in

    (s/c + l_f/c) dc  -  l_f dq/q  +  spread(l (da/a - db/b))  +  nu  =  -force,
    sum_rhat dc = 0,

with q = p(rhat | z), a = p(rhat, y, x) and b = p(rhat, y) of every partial view. Three kinds of
coupling, each eliminated where it is block diagonal:

* within a cell (z, x), over rhat, by the row sums: a rank-one correction of a diagonal;
* within a history z, over x, by full collusion: ``y[rhat, z] = -l_f dq/q``;
* within a record x, over z, by the partial views: ``u[rhat, row, x] = l (da/a - db/b)``.

Eliminating y first leaves a system of size |Rhat||rows||X|; eliminating u first leaves one of size
|Rhat|(|Z| + |rows|). Both are sums of positive terms, so nothing cancels; the cheaper is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.linalg

from tacit.problem import Array
from tacit.solvers.task import Task, ViewRows


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
        self._cells = _Cells(task, s / c, full)
        self._coupling: _Coupling
        if task.rows.n_rows == 0:
            self._coupling = _HistoryOnly(self._cells)
        elif _by_history_is_cheaper(task, c.shape[1]):
            self._coupling = _EliminateHistoryFirst(self._cells, rows)
        else:
            self._coupling = _EliminateRecordFirst(self._cells, rows, task)

    def solve(self, force: Array) -> Array:
        """Channel change for each force, [batch, side, rhat, z, x]."""
        moved = self._cells.moved_mass(force)
        y, u = self._coupling.solve(moved.sum(axis=-1), self._cells.rows.collect(moved))
        total = force + y[..., None]
        total += self._cells.rows.spread(u)
        change = self._cells.answer(total)
        return np.negative(change, out=change)


class _Cells:
    """The cells with their row sums: h = softness, and the response diag(h) - h h'/sum h."""

    def __init__(self, task: Task, stiffness: Array, full: Curvature) -> None:
        self.rows = task.rows
        own = full.weight[:, None, None, None] / full.joint
        self.softness = 1.0 / (stiffness + own)
        self.share = self.softness / self.softness.sum(axis=1, keepdims=True)
        self.massive = task.mass * self.softness
        self._rest = self.massive * stiffness / own

    def answer(self, force: Array) -> Array:
        """Response to a force [batch, side, rhat, z, x], sign left out."""
        return self._balanced(self.softness, force)

    def moved_mass(self, force: Array) -> Array:
        """The response times p(z, x)."""
        return self._balanced(self.massive, force)

    def _balanced(self, softness: Array, force: Array) -> Array:
        """softness * force, less what keeps the sum over rhat at 0."""
        moved = softness[:, None] * force
        moved -= self.share[:, None] * moved.sum(axis=2, keepdims=True)
        return moved

    def rows_from_history(self, y: Array) -> Array:
        """V' y: how a force y[batch, side, rhat, z] moves the rows, [batch, side, rhat, row, x]."""
        if self.rows.n_rows == 1:
            flat = y.transpose(0, 1, 3, 2).reshape(*y.shape[:2], -1) @ self.coupling
            return flat.reshape(*y.shape[:3], 1, -1)
        return self.rows.collect(self.moved_mass(y[..., None]))

    def history_from_rows(self, u: Array) -> Array:
        """V u: how a force on the rows moves the histories."""
        if self.rows.n_rows == 1:
            flat = u.reshape(*u.shape[:2], -1) @ self.coupling.transpose(0, 2, 1)
            return flat.reshape(*u.shape[:2], -1, u.shape[2]).transpose(0, 1, 3, 2)
        return np.asarray(self.moved_mass(self.rows.spread(u)).sum(axis=-1))

    @cached_property
    def coupling(self) -> Array:
        """V of the individual view alone, as a matrix: [batch, (z, rhat), (rhat', x)]."""
        n_batch, n_rhat, n_z, n_x = self.share.shape
        weighted: Array = self.response * self.rows.weights[0]
        return weighted.transpose(0, 3, 1, 2, 4).reshape(n_batch, n_z * n_rhat, n_rhat * n_x)

    @cached_property
    def response(self) -> Array:
        """mass * (diag(h) - h h'/sum h), [batch, rhat, rhat', z, x]."""
        response = self.massive[:, :, None] * -self.share[:, None]
        diagonal = np.arange(self.share.shape[1])
        response[:, diagonal, diagonal] += self.massive
        return np.asarray(response)

    def history_blocks(self) -> Array:
        """M = p(rhat, z)/l_f minus the response summed over x, [batch, z, rhat, rhat'].

        c/l - h = h (s/c) c/l, so the difference is written as a sum of positive terms.
        """
        blocks = np.einsum("brzx,bqzx->bzrq", self.massive, self.share)
        diagonal = np.arange(self.share.shape[1])
        blocks[:, :, diagonal, diagonal] += self._rest.sum(axis=-1).transpose(0, 2, 1)
        return np.asarray(blocks)


class _Coupling(Protocol):
    """Solves for (y, u), given the cells' response to the force summed over x and over rows."""

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        """[batch, side, rhat, z] and [batch, side, rhat, row, x] -> y, u of those shapes."""
        ...


def _by_history_is_cheaper(task: Task, n_rhat: int) -> bool:
    n_z, n_x = task.mass.shape
    by_record = n_rhat * task.rows.n_rows
    left_after_history, left_after_record = by_record * n_x, n_rhat * n_z + by_record
    touched = n_rhat * n_x * (task.rows.n_views if task.rows.row_of_z is not None else by_record)
    cost_history = n_z * n_rhat * touched**2 + left_after_history**3 / 3
    cost_record = n_x * by_record * left_after_record**2 + left_after_record**3 / 3
    return bool(cost_history < cost_record)


class _HistoryOnly:
    """Only full collusion is limited: the histories separate."""

    def __init__(self, cells: _Cells) -> None:
        self._inverse_factor = _inverse_cholesky(cells.history_blocks())

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        return _solve_blocks(self._inverse_factor, by_history), by_row


class _EliminateHistoryFirst:
    """y = M^-1 (g + V u) out, then (1 + P D S D P) w = -P D t for u = D w, where P drops db.

    S = V' M^-1 V + (rows' own response); the unknowns are ordered (row, rhat, x).
    """

    def __init__(self, cells: _Cells, rows: Curvature) -> None:
        self._cells = cells
        self._inverse_factor = _inverse_cholesky(cells.history_blocks())
        response = cells.response
        system = _history_gram(self._inverse_factor, cells)
        n_batch, n_rows, n_rhat, n_x = system.shape[:4]
        x = np.arange(n_x)
        # Indexing x twice brings it to the front: [x, batch, row, rhat, row', rhat'].
        by_record = _record_blocks(cells.rows, response)
        system[:, :, :, x, :, :, x] += by_record.transpose(1, 0, 3, 2, 5, 4)
        size = n_rows * n_rhat * n_x
        system = system.reshape(n_batch, size, size)
        self._scale, self._unit = _projection(rows)
        scale = self._scale.transpose(0, 2, 1, 3).reshape(n_batch, size)
        system *= scale[:, :, None]
        system *= scale[:, None]
        _project_both_sides(system, self._unit.transpose(0, 2, 1, 3))
        np.einsum("bii->bi", system)[...] += 1.0
        self._system = _Cholesky(system)

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        y = _solve_blocks(self._inverse_factor, by_history)
        pushed = self._scale[:, None] * (by_row + self._cells.rows_from_history(y))
        side = -self._project(pushed).transpose(0, 1, 3, 2, 4)
        solved = self._system.solve(side.reshape(*side.shape[:2], -1)).reshape(side.shape)
        u = self._scale[:, None] * self._project(solved.transpose(0, 1, 3, 2, 4))
        return y + _solve_blocks(self._inverse_factor, self._cells.history_from_rows(u)), u

    def _project(self, rows: Array) -> Array:
        unit = self._unit[:, None]
        return np.asarray(rows - unit * (unit * rows).sum(axis=-1, keepdims=True))


class _EliminateRecordFirst:
    """u = -Q^-1 (g + V' y + alpha beta) out, x by x; then y and beta = l db/b are solved for.

    Q = alpha + (rows' own response), alpha = a/l, and what is left is M + E' Q^-1 E with
    E = [V' | diag alpha].
    """

    def __init__(self, cells: _Cells, rows: Curvature, task: Task) -> None:
        self._cells = cells
        n_batch, n_rhat, n_rows, n_x = rows.joint.shape
        n_z = len(task.mass)
        n_own, n_history = n_rhat * n_rows, n_rhat * n_z
        self._alpha = rows.joint / rows.weight[:, None, :, None]
        response = cells.response
        alpha = self._alpha.transpose(0, 3, 1, 2).reshape(n_batch, n_x, n_own)
        blocks = _record_blocks(cells.rows, response).reshape(n_batch, n_x, n_own, n_own)
        # A row and x of no mass is cut off by a unit on the diagonal.
        support = np.broadcast_to(task.row_support.T[:, None], (n_x, n_rhat, n_rows))
        own = np.arange(n_own)
        blocks[:, :, own, own] += np.where(support.reshape(n_x, n_own), alpha, alpha + 1.0)
        self._inverse_factor = _inverse_cholesky(blocks)
        coupling = np.zeros((n_batch, n_x, n_own, n_history + n_own))
        coupling[..., :n_history] = np.einsum(
            "brqzx,mzx->bxqmrz", response, cells.rows.weights
        ).reshape(n_batch, n_x, n_own, n_history)
        coupling[:, :, own, n_history + own] = alpha
        coupling = (self._inverse_factor @ coupling).reshape(n_batch, n_x * n_own, -1)
        system = coupling.transpose(0, 2, 1) @ coupling
        corner = system[:, :n_history, :n_history].reshape(n_batch, n_rhat, n_z, n_rhat, n_z)
        z = np.arange(n_z)
        # Indexing z twice brings it to the front: [z, batch, rhat, rhat'].
        corner[:, :, z, :, z] += cells.history_blocks().transpose(1, 0, 2, 3)
        system[:, :n_history, :n_history] = corner.reshape(n_batch, n_history, n_history)
        self._system = _Cholesky(system)

    def solve(self, by_history: Array, by_row: Array) -> tuple[Array, Array]:
        n_batch, n_sides, n_rhat, n_z = by_history.shape
        inner = self._divide(by_row)
        from_rows = by_history - self._cells.history_from_rows(inner)
        from_marginals = -(self._alpha[:, None] * inner).sum(axis=-1)
        side = np.concatenate(
            [from_rows.reshape(n_batch, n_sides, -1), from_marginals.reshape(n_batch, n_sides, -1)],
            axis=2,
        )
        solved = self._system.solve(side)
        y = solved[:, :, : n_rhat * n_z].reshape(by_history.shape)
        beta = solved[:, :, n_rhat * n_z :].reshape(from_marginals.shape)
        pushed = self._cells.rows_from_history(y) + self._alpha[:, None] * beta[..., None]
        return y, -(inner + self._divide(pushed))

    def _divide(self, rows: Array) -> Array:
        """Q^-1 rows, x by x."""
        n_batch, n_sides, n_rhat, n_rows, n_x = rows.shape
        flat = rows.transpose(0, 4, 2, 3, 1).reshape(n_batch, n_x, n_rhat * n_rows, n_sides)
        flat = self._inverse_factor @ flat
        flat = self._inverse_factor.transpose(0, 1, 3, 2) @ flat
        return flat.reshape(n_batch, n_x, n_rhat, n_rows, n_sides).transpose(0, 4, 2, 3, 1)


def _history_gram(inverse_factor: Array, cells: _Cells) -> Array:
    """V' M^-1 V, [batch, row, rhat, x, row', rhat', x'].

    Where every view is a function of the history, each z touches one row per view, with the same
    block for all of them: the sums run over the histories that two rows share.
    """
    rows, response = cells.rows, cells.response
    n_batch, n_rhat, _, n_z, n_x = response.shape
    if rows.n_rows == 1:  # one row shares all histories: no copies
        blocks = cells.coupling.reshape(n_batch, n_z, n_rhat, n_rhat * n_x)
        flat = (inverse_factor @ blocks).reshape(n_batch, n_z * n_rhat, n_rhat * n_x)
        whole: Array = flat.transpose(0, 2, 1) @ flat
        return whole.reshape(n_batch, 1, n_rhat, n_x, 1, n_rhat, n_x)
    by_history = response.transpose(0, 3, 1, 2, 4)
    if rows.row_of_z is None:
        coupling = np.einsum("bzrqx,mzx->bzrmqx", by_history, rows.weights)
        coupling = inverse_factor @ coupling.reshape(n_batch, n_z, n_rhat, -1)
        coupling = coupling.reshape(n_batch, n_z * n_rhat, -1)
        gram: Array = coupling.transpose(0, 2, 1) @ coupling
        return gram.reshape(n_batch, rows.n_rows, n_rhat, n_x, rows.n_rows, n_rhat, n_x)
    base = inverse_factor @ by_history.reshape(n_batch, n_z, n_rhat, n_rhat * n_x)
    gram = np.zeros((n_batch, rows.n_rows, n_rhat * n_x, rows.n_rows, n_rhat * n_x))
    for row, other, members in rows.shared_histories:
        shared = base[:, members].reshape(n_batch, -1, n_rhat * n_x)
        block = shared.transpose(0, 2, 1) @ shared
        gram[:, row, :, other] = block
        gram[:, other, :, row] = block
    return gram.reshape(n_batch, rows.n_rows, n_rhat, n_x, rows.n_rows, n_rhat, n_x)


def _record_blocks(rows: ViewRows, response: Array) -> Array:
    """The rows' response to a force on the rows, [batch, x, rhat, row, rhat', row']."""
    n_batch, n_rhat, _, n_z, n_x = response.shape
    if rows.is_blind:
        return np.asarray(response.sum(axis=3).transpose(0, 3, 1, 2)[:, :, :, None, :, None])
    flat = response.reshape(n_batch, n_rhat * n_rhat, n_z, n_x).transpose(0, 3, 1, 2)
    # [1 or x, z, (row, row')]: one matrix for all x where no view reads x.
    pairs = rows.weights[:, None] * rows.weights
    pairs = pairs.reshape(rows.n_rows**2, n_z, -1).transpose(2, 1, 0)
    blocks = (flat @ pairs).reshape(n_batch, n_x, n_rhat, n_rhat, rows.n_rows, rows.n_rows)
    return np.ascontiguousarray(blocks.transpose(0, 1, 2, 4, 3, 5))


def _projection(rows: Curvature) -> tuple[Array, Array]:
    """D = sqrt(l/a) and the unit vector sqrt(a/b) along x: l(da/a - db/b) = D(1 - gg')D da."""
    mass = np.where(rows.joint > 0, rows.joint, np.inf)
    scale = np.sqrt(rows.weight[:, None, :, None] / mass)
    marginal = rows.joint.sum(axis=-1, keepdims=True)
    return scale, np.sqrt(rows.joint / np.where(marginal > 0, marginal, 1.0))


def _project_both_sides(system: Array, unit: Array) -> None:
    """system <- P system P in place, P = 1 - gg' along x for every (row, rhat)."""
    n_batch, n_rows, n_rhat, n_x = unit.shape
    size = n_rows * n_rhat
    direction = unit.reshape(n_batch, size, n_x)
    left = system.reshape(n_batch, size, n_x, size * n_x)
    left -= direction[..., None] * (direction[:, :, None] @ left)
    right = system.reshape(n_batch, size * n_x, size, n_x)
    right -= direction[:, None] * np.einsum("bikx,bkx->bik", right, direction)[..., None]


def _solve_blocks(inverse_factor: Array, sides: Array) -> Array:
    """M^-1 sides, z by z: [batch, side, rhat, z]."""
    columns = inverse_factor @ sides.transpose(0, 3, 2, 1)
    return (inverse_factor.transpose(0, 1, 3, 2) @ columns).transpose(0, 3, 2, 1)


def _inverse_cholesky(blocks: Array) -> Array:
    """L^-1 of every block = L L'."""
    return np.asarray(np.linalg.inv(_with_jitter(_lower_factors, blocks)))


class _Factorise(Protocol):
    def __call__(self, matrices: Array, /) -> Array: ...


def _with_jitter(factorise: _Factorise, matrices: Array) -> Array:
    """Factorise; matrices that rounding made indefinite get the least jitter that helps."""
    try:
        return factorise(matrices)
    except np.linalg.LinAlgError:
        diagonal = np.einsum("...ii->...i", matrices).copy()
        largest = diagonal.max(axis=-1, keepdims=True)
        for jitter in (1e-15, 1e-13, 1e-11, 1e-9):
            jittered = matrices.copy()
            np.einsum("...ii->...i", jittered)[...] += jitter * (diagonal + 1e-3 * largest)
            try:
                return factorise(jittered)
            except np.linalg.LinAlgError:
                continue
        raise


class _Cholesky:
    """Factor of a batch of symmetric positive definite systems."""

    def __init__(self, systems: Array) -> None:
        # One system, perhaps large: SciPy's LAPACK. Many, hence small: batched inverse factors.
        self._is_single = len(systems) == 1
        if self._is_single:
            self._factor = _with_jitter(_lower_factor, systems[0])
        else:
            self._factor = _inverse_cholesky(systems)

    def solve(self, sides: Array) -> Array:
        """[batch, side, n] -> [batch, side, n]."""
        if self._is_single:
            factor = (self._factor, True)
            return scipy.linalg.cho_solve(factor, sides[0].T, check_finite=False).T[None]
        inner = sides @ self._factor.transpose(0, 2, 1)
        return np.asarray(inner @ self._factor)


def _lower_factors(matrices: Array, /) -> Array:
    return np.asarray(np.linalg.cholesky(matrices))


def _lower_factor(matrix: Array, /) -> Array:
    # The transpose of a symmetric C array is the same matrix in the order that LAPACK likes.
    factor, _ = scipy.linalg.cho_factor(matrix.T, lower=True, check_finite=False)
    return np.asarray(factor)
