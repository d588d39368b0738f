"""A barrier method for small programs in corners, in coordinates that keep exact views exact.

Views with no bits left are linear constraints; views with hardly any left are nearly so. Where such
views depend on each other, the kernel's multipliers converge slowly, and prices of millions a bit
magnify what is off. Here the constraints are eliminated by singular values. What a view learns is a
linear function of the unknowns, computed without cancellation. Newton's method on a logarithmic
barrier does not depend on the size of a budget (Nesterov and Nemirovskii, 1994). Matrices are
dense: this is for some hundred cells. As with the kernel, ``certificate`` proves what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.solvers.convex.program import Program
from tacit.solvers.kernel import Outcome, Pace, raise_if_late

Indices = NDArray[np.intp]

_MOST_UNKNOWNS = 1000
"""Cells times letters: with so many, a step takes some 50 ms."""

_RAREST = 1e-12
"""Mass below which cells are scaled alike: coordinates are orthogonal only up to rounding."""

_DEPENDENT = 1e-8
"""Combinations of exact constraints that weigh less are left out: what is then off is 1e-16 at most
in chi-square, far below ``LIMIT_TOL``."""

_FALL = 0.1
"""Factor of the barrier's weight from one centre to the next."""

_NEAR, _CENTRED = 1e-2, 1e-8
"""How far from its centre, in units of the barrier's weight, a search may end: on the way, and at
the last one, whose multipliers prove the bound."""

_MOST_STEPS = 40
"""For one centre; five to ten are usual."""

_SHORTEST = 1e-6
"""Share of a Newton step below which rounding is all that is left."""

_OWN_SHARE = 0.2
"""Share of the asked gap that the last barrier may leave open."""


def is_small(program: Program) -> bool:
    """Whether dense matrices of the program's unknowns are affordable."""
    return program.n_rhat * program.mass.size <= _MOST_UNKNOWNS


def minimise_by_barrier(program: Program, pace: Pace) -> Outcome:
    """Solve a batch of one; of ``pace``, the gap and the frugality count."""
    barrier = _Barrier(program, _Coordinates.of(program), pace.frugality)
    point, weight, steps = barrier.blind_point(), 1.0, 0
    last = _OWN_SHARE * pace.gap_tol / barrier.size
    while True:
        is_last = weight <= last
        point, taken = barrier.centre(point, weight, _CENTRED if is_last else _NEAR)
        steps += taken
        if is_last:
            return barrier.outcome(point, weight, steps)
        weight = max(_FALL * weight, last)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The pairs (y, x) that occur of some views' letters y, and what they see of the cells.

    Attributes:
        row, x: where each pair is in the program; full collusion's histories after all rows.
        view: of each pair.
        mass: p(y), [pair].
        prior: p(x | y), [pair].
        collect: from c(rhat | cell) to p(rhat, y), [pair, cell].
        deviate: from c(rhat | cell) to p(rhat, y, x) - p(rhat, y) p(x | y), [pair, cell].
    """

    row: Indices
    x: Indices
    view: Indices
    mass: Array
    prior: Array
    collect: Array
    deviate: Array

    @staticmethod
    def of(program: Program, views: NDArray[np.bool_]) -> _Pairs:
        """Those of the marked views, [view + 1]."""
        rows, (n_z, n_x) = program.rows, program.mass.shape
        partial = np.broadcast_to(rows.weights, (rows.n_rows, n_z, n_x))
        full = np.broadcast_to(np.eye(n_z)[:, :, None], (n_z, n_z, n_x))
        joint = np.concatenate([partial, full]) * program.mass
        view_of_row = np.append(rows.view_of_row, np.full(n_z, rows.n_views))
        p_yx = joint.sum(axis=1)
        row, x = np.nonzero((p_yx > 0) & views[view_of_row][:, None])
        mass = p_yx.sum(axis=1)[row]
        prior = p_yx[row, x] / mass
        cells = np.flatnonzero(program.mass)
        collect = joint.reshape(len(joint), -1)[row][:, cells]
        own = np.where(cells % n_x == x[:, None], collect, 0.0)
        deviate = own - prior[:, None] * collect
        return _Pairs(row, x, view_of_row[row], mass, prior, collect, deviate)


@dataclass(frozen=True, slots=True, eq=False)
class _Coordinates:
    """The functions of cells that no exact view can tell from constants.

    Attributes:
        basis: [cell, coordinate].
        ones: coordinates of the constant 1.
        contrasts: orthonormal directions in which letters sum to 0, [rhat, rhat - 1].
        exact: the pairs of the exact views.
        force: from slopes by c, [cell], to the multipliers of the exact pairs, [pair, cell].
    """

    basis: Array
    ones: Array
    contrasts: Array
    exact: _Pairs
    force: Array

    @staticmethod
    def of(program: Program) -> _Coordinates:
        """Scaled by mass; what nearly spent views see is apart from what they do not see."""
        scale = np.sqrt(np.maximum(program.mass[program.mass > 0], _RAREST))
        exact = _Pairs.of(program, program.is_exact)
        units = np.outer(np.sqrt(exact.mass * exact.prior), scale)
        left, sizes, right = np.linalg.svd(exact.deviate / units)
        rank = int((sizes > _DEPENDENT).sum())
        force = -(left[:, :rank] / sizes[:rank]) @ right[:rank] / units
        basis = right[rank:].T / scale[:, None]
        tight = _Pairs.of(program, program.is_priced[0])
        spread = np.sqrt(tight.mass * tight.prior * program.budgets[0, tight.view])
        basis = basis @ np.linalg.svd(tight.deviate @ basis / spread[:, None])[2].T
        n_rhat = program.n_rhat
        contrasts = np.linalg.qr(np.eye(n_rhat) - 1 / n_rhat)[0][:, : n_rhat - 1]
        return _Coordinates(basis, scale**2 @ basis, contrasts, exact, force)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """A channel: c = p_rhat + v @ basis.T.

    The larger part of a rare letter must not be in ``v``: differences between letters' sums would
    drown its own.

    Attributes:
        p_rhat: what it is off from, [rhat].
        v: [rhat, coordinate]; sums to 0 over rhat.
    """

    p_rhat: Array
    v: Array


class _Barrier:
    """E cost + frugality * I(Rhat; X | Z) - weight * (sum log slack + sum share * log c).

    Attributes:
        size: of the gap that a centre leaves open, in units of the barrier's weight.
    """

    def __init__(self, program: Program, coordinates: _Coordinates, frugality: float) -> None:
        self._program, self._at, self._frugality = program, coordinates, frugality
        self._budgets = np.where(program.is_exact, np.inf, program.budgets[0])
        self._limited = np.flatnonzero(np.isfinite(self._budgets))
        seen = np.isfinite(self._budgets)
        seen[-1] = not program.is_full_exact
        self._pairs = _Pairs.of(program, seen)
        self._collect = self._pairs.collect @ coordinates.basis
        self._deviate = self._pairs.deviate @ coordinates.basis
        is_cell = program.mass > 0
        self._mass = program.mass[is_cell]
        self._cost = self._mass * program.cost[0][:, is_cell]
        # Rare cells count like others: a weak barrier would let them shorten every step.
        self._share = np.maximum(self._mass, 1 / len(self._mass))
        self.size = float(len(self._limited) + program.n_rhat * self._share.sum())

    def blind_point(self) -> _Point:
        """All letters alike, which tells nothing."""
        n_rhat = self._program.n_rhat
        p_rhat = np.full(n_rhat, 1 / n_rhat)
        return _Point(p_rhat, np.zeros((n_rhat, self._at.basis.shape[1])))

    def centre(self, point: _Point, weight: float, tolerance: float) -> tuple[_Point, int]:
        """The minimum for one weight of the barrier, and the steps that it took."""
        steps, is_centred = 0, False
        while steps < _MOST_STEPS and not is_centred:
            raise_if_late(float(point.v.size) ** 3)
            change, fall, _ = self._newton(point, weight)
            length = self._length(point, change, fall, weight)
            point = self._moved(point, length * change)
            is_centred = length == 0 or fall < tolerance * weight
            steps += 1
        shift = point.v @ (self._mass @ self._at.basis)
        return _Point(point.p_rhat + shift, point.v - np.outer(shift, self._at.ones)), steps

    def _moved(self, point: _Point, change: Array) -> _Point:
        return _Point(point.p_rhat, point.v + self._at.contrasts @ change)

    def _length(self, point: _Point, change: Array, fall: float, weight: float) -> float:
        """Share of a Newton step that stays inside and does not go far beyond the minimum."""
        length = 1.0
        while length > _SHORTEST and fall > 0:
            tried = self._moved(point, length * change)
            if self._is_inside(tried):
                slope = (self._slopes(tried, weight) * change).sum()
                if slope <= 0.5 * fall:
                    return length
            length *= 0.7
        return 0.0

    def _channel(self, point: _Point) -> Array:
        """c(rhat | cell)."""
        return np.asarray(point.p_rhat[:, None] + point.v @ self._at.basis.T)

    def _posteriors(self, point: _Point) -> tuple[Array, Array]:
        """p(rhat, y), and p(x | rhat, y) / p(x | y) - 1, [rhat, pair]."""
        p_rhat_y = np.outer(point.p_rhat, self._pairs.mass) + point.v @ self._collect.T
        return p_rhat_y, point.v @ self._deviate.T / (p_rhat_y * self._pairs.prior)

    def _is_inside(self, point: _Point) -> bool:
        p_rhat_y, off = self._posteriors(point)
        if not ((self._channel(point) > 0).all() and (p_rhat_y > 0).all() and (off > -1).all()):
            return False
        return bool((self._told(p_rhat_y, off) < self._budgets).all())

    def _told(self, p_rhat_y: Array, off: Array) -> Array:
        """I(Rhat; X | Y), [view + 1]."""
        by_pair = (p_rhat_y * self._pairs.prior * _divergence(off)).sum(axis=0)
        told = np.bincount(self._pairs.view, by_pair, minlength=len(self._budgets))
        return told.astype(np.float64)

    def _prices(self, told: Array, weight: float) -> Array:
        """What a nat to each view costs, [view + 1]."""
        prices = weight / (self._budgets - told)
        prices[-1] += self._frugality
        return np.asarray(prices)

    def _slopes(self, point: _Point, weight: float) -> Array:
        """Of the barrier by the contrasts' coordinates."""
        p_rhat_y, off = self._posteriors(point)
        by_pair = self._prices(self._told(p_rhat_y, off), weight)[self._pairs.view] * np.log1p(off)
        by_cell = self._cost - weight * self._share / self._channel(point)
        return np.asarray(self._at.contrasts.T @ (by_cell @ self._at.basis + self._pull(by_pair)))

    def _pull(self, by_pair: Array) -> Array:
        """From slopes by p(rhat, y, x) to slopes by coordinates."""
        return by_pair @ self._deviate + (by_pair * self._pairs.prior) @ self._collect

    def _newton(self, point: _Point, weight: float) -> tuple[Array, float, Array]:
        """The Newton step, minus the slope along it, and the prices after it.

        Limits are rows of their own, so that a small slack does not swamp the matrix.
        """
        p_rhat_y, off = self._posteriors(point)
        told = self._told(p_rhat_y, off)
        prices, slopes = self._prices(told, weight), self._slopes(point, weight)
        matrix = self._curvature(point, prices, weight)
        scale = 1 / np.sqrt(np.diag(matrix))
        by_pair = np.log1p(off) * (self._pairs.view == self._limited[:, None, None])
        limits = (self._at.contrasts.T @ self._pull(by_pair)).reshape(-1, slopes.size) * scale
        ease = (self._budgets - told)[self._limited] ** 2 / weight
        unit = 1 / np.sqrt((limits**2).sum(axis=1) + ease)
        limits = limits * unit[:, None]
        corner = -np.diag(ease * unit**2)
        system = np.block([[matrix * np.outer(scale, scale), limits.T], [limits, corner]])
        pull = np.append(-slopes.ravel() * scale, np.zeros(len(unit)))
        try:
            solved = np.linalg.solve(system, pull)
        except np.linalg.LinAlgError:  # rounding is all that is left
            solved = np.zeros_like(pull)
        change = (solved[: slopes.size] * scale).reshape(slopes.shape)
        prices[self._limited] += unit * solved[slopes.size :]
        return change, float(-(slopes * change).sum()), prices

    def _curvature(self, point: _Point, prices: Array, weight: float) -> Array:
        """Second derivatives at fixed prices, by the contrasts' coordinates."""
        basis, contrasts, prior = self._at.basis, self._at.contrasts, self._pairs.prior
        p_rhat_y, off = self._posteriors(point)
        bend = prices[self._pairs.view] * prior / (p_rhat_y * (1 + off))
        barrier = weight * self._share / self._channel(point) ** 2
        n_coordinates = contrasts.shape[1] * basis.shape[1]
        matrix = np.zeros((n_coordinates, n_coordinates))
        for letter, direction in enumerate(contrasts):
            # Of log p(x | rhat, y), without the difference of two large terms.
            change = self._deviate / prior[:, None] - off[letter][:, None] * self._collect
            own = (change.T * bend[letter]) @ change + (basis.T * barrier[letter]) @ basis
            matrix += np.kron(np.outer(direction, direction), own)
        return matrix

    def outcome(self, point: _Point, weight: float, steps: int) -> Outcome:
        """A batch of one, with the multipliers of one more Newton step."""
        program = self._program
        change, _, prices = self._newton(point, weight)
        moved = self._moved(point, change)
        point = moved if self._is_inside(moved) else point
        prices = np.maximum(prices, 0.0)
        channel = self._on_all_cells(self._channel(point), point)
        reduced = weight * self._on_all_cells(self._share / self._channel(point), point)
        force = self._forces(point, prices, weight)
        prices[-1] -= self._frugality
        n_rows = program.rows.n_rows
        return Outcome(
            channel=channel,
            is_zero=(channel < 1e-6) & (channel < 1e-3 * reduced),
            witness=channel,
            multipliers=prices[None],
            row_force=force[None, :, :n_rows],
            full_force=force[None, :, n_rows:],
            row_cap=np.zeros((1, *force[:, :n_rows].shape)),
            full_cap=np.zeros((1, *force[:, n_rows:].shape)),
            frugality=np.array([self._frugality]),
            bound=np.array([-np.inf]),
            waste=np.zeros(1),
            steps=np.array([steps]),
            work=np.zeros(1),
        )

    def _on_all_cells(self, values: Array, point: _Point) -> Array:
        """[rhat, cell] -> [1, rhat, z, x]; cells that cannot occur get the letters' frequencies."""
        n_rhat, (n_z, n_x) = len(values), self._program.mass.shape
        spread = np.broadcast_to(point.p_rhat[:, None], (n_rhat, n_z * n_x)).copy()
        spread[:, np.flatnonzero(self._program.mass)] = values
        return spread.reshape(1, n_rhat, n_z, n_x)

    def _forces(self, point: _Point, prices: Array, weight: float) -> Array:
        """Multipliers of the exact views: of all rows, then of all histories, [rhat, row, x]."""
        pairs, exact, (n_z, n_x) = self._pairs, self._at.exact, self._program.mass.shape
        by_pair = prices[pairs.view] * np.log1p(self._posteriors(point)[1])
        slopes = by_pair @ pairs.deviate + (by_pair * pairs.prior) @ pairs.collect
        slopes += self._cost - weight * self._share / self._channel(point)
        force = np.zeros((len(slopes), self._program.rows.n_rows + n_z, n_x))
        force[:, exact.row, exact.x] = (slopes - slopes.mean(axis=0)) @ self._at.force.T
        return force


def _divergence(off: Array) -> Array:
    """(1 + t) log(1 + t) - t; near 0 by its series, where rounding would take most digits."""
    series = off**2 * (1 / 2 - off * (1 / 6 - off * (1 / 12 - off * (1 / 20 - off / 30))))
    return np.where(np.abs(off) < 1e-3, series, (1 + off) * np.log1p(off) - off)
