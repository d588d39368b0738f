"""A release problem stated for the kernels: history flattened, impossible letters left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError
from tacit.information.rounding import information_upper_nats
from tacit.problem import Array, Problem, View, ViewKey

_LN2 = float(np.log(2.0))

LIMIT_TOL = 1e-12
"""Bits. A limit this close to what is already leaked counts as equal to it."""

_LAST_DIGITS = 2e-15
"""Rounding of an information near 1 bit that was computed with care."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A problem with its history flattened and its letters of probability 0 left out.

    Attributes:
        problem: where it comes from.
        mass: p(z, x), [z, x]; no empty row or column.
        seen_z, seen_x: the original letters behind them.
        keys: the views' keys, partial views first and full collusion last.
        views: the partial views, read on ``seen_z`` and ``seen_x``.
        leaked: estimate of I(Y; X) in bits, [view + 1].
        leaked_upper: upper bound on it, rounding included.
    """

    problem: Problem
    mass: Array
    seen_z: NDArray[np.intp]
    seen_x: NDArray[np.intp]
    keys: list[ViewKey]
    views: list[View]
    leaked: Array
    leaked_upper: Array

    @staticmethod
    def of(problem: Problem) -> Statement:
        """State a problem for the kernels."""
        p_zx = problem.joint_zxr.sum(axis=-1)
        seen_z = np.flatnonzero(p_zx.sum(axis=1))
        seen_x = np.flatnonzero(p_zx.sum(axis=0))
        mass = p_zx[np.ix_(seen_z, seen_x)]
        partial: list[ViewKey] = [key for key in problem.limits if key != problem.everyone]
        views = [_seen_view(problem.view(key), seen_z, seen_x) for key in partial]
        full = View(letter_of_z=np.arange(len(seen_z)))
        leaked = [_leaked_bits(view, mass) for view in [*views, full]]
        return Statement(
            problem,
            mass,
            seen_z,
            seen_x,
            [*partial, problem.everyone],
            views,
            np.array([estimate for estimate, _ in leaked]),
            np.array([upper for _, upper in leaked]),
        )

    @property
    def joint_zxr(self) -> Array:
        """p(z, x, r) on the letters that occur."""
        whole = self.problem.joint_zxr
        if self.mass.shape == whole.shape[:2]:
            return whole
        return whole[np.ix_(self.seen_z, self.seen_x)]

    def limits(self, problem: Problem) -> Array:
        """Limits in bits of a problem over this joint, in the order of ``keys``."""
        limits = problem.limits
        return np.array([limits[key] for key in self.keys])

    def cost_of(self, distortion: Array) -> Array:
        """E[d(rhat, R) | z, x], [rhat, z, x]; 0 on cells of no mass."""
        weighted = np.moveaxis(self.joint_zxr @ distortion.T, -1, 0)
        return np.where(self.mass > 0, weighted / np.where(self.mass > 0, self.mass, 1.0), 0.0)

    def budgets(self, limits: Array) -> Array:
        """Bits that each view may still learn, [batch, view + 1]; 0 where it is at its limit."""
        left = limits - self.leaked_upper
        return np.where(np.abs(limits - self.leaked) <= LIMIT_TOL, 0.0, left)

    def is_spent(self, limits: Array) -> NDArray[np.bool_]:
        """Which views count as having no bits left, [batch, view + 1]."""
        return np.asarray(self.budgets(limits) <= LIMIT_TOL)

    def forgone(self, limits: Array) -> Array:
        """Bits that spent views may still learn but are not given, [batch, view + 1].

        Within a few units in the last place of what is leaked, a limit *is* what is leaked: it was
        computed so, and nobody can tell whether rounding left something.
        """
        left = limits - self.leaked
        is_some = left > _LAST_DIGITS * (1 + np.abs(self.leaked))
        return np.where(self.is_spent(limits) & is_some, left, 0.0)


def _seen_view(view: View, seen_z: NDArray[np.intp], seen_x: NDArray[np.intp]) -> View:
    if view.law is not None:
        return _function_of_z(view.law[np.ix_(seen_z, seen_x)])
    assert view.letter_of_z is not None
    _, letters = np.unique(view.letter_of_z[seen_z], return_inverse=True)
    return View(letter_of_z=letters.astype(np.intp))


def _function_of_z(law: Array) -> View:
    """A view by its law; by its letters where it is a function of the history (cheaper)."""
    letter_of_z = law[:, 0].argmax(axis=-1)
    if (law == np.eye(law.shape[-1])[letter_of_z][:, None]).all():
        _, letters = np.unique(letter_of_z, return_inverse=True)
        return View(letter_of_z=letters.astype(np.intp))
    return View(law=law)


def _leaked_bits(view: View, mass: Array) -> tuple[float, float]:
    """I(Y; X) in bits and an upper bound on it."""
    joint = view.pool(mass)
    p_x = mass.sum(axis=0)
    n_operations = sum(mass.shape) + view.size + 8
    estimate, upper = information_upper_nats(joint[:, None], p_x[None], n_operations)
    return float(estimate.sum()) / _LN2, float(upper.sum()) / _LN2


def raise_if_infeasible(statement: Statement, limits: Array) -> None:
    """Raise for the limit that is furthest below what has leaked already."""
    short = statement.leaked - limits
    worst = int(short.argmax())
    if short[worst] > LIMIT_TOL:
        raise InfeasibleError(statement.keys[worst], limits[worst], statement.leaked[worst])


def full_channel(statement: Statement, c: Array) -> Array:
    """[rhat, z, x] on seen letters -> [z1, ..., zk, x, rhat] on all of them.

    Cells that cannot occur release what their history releases on average, so that they tell
    nothing about x; histories that cannot occur, what everyone gets on average.
    """
    problem = statement.problem
    p_rhat_z = (statement.mass * c).sum(axis=-1)
    by_history = p_rhat_z / statement.mass.sum(axis=1)
    overall = p_rhat_z.sum(axis=-1)
    n_z, n_x, _ = problem.joint_zxr.shape
    cells = np.where(statement.mass > 0, c, by_history[..., None]).transpose(1, 2, 0)
    channel = cells
    if cells.shape[:2] != (n_z, n_x):
        channel = np.empty((n_z, n_x, len(c)))
        channel[:] = overall
        channel[statement.seen_z] = by_history.T[:, None]
        channel[np.ix_(statement.seen_z, statement.seen_x)] = cells
    channel = np.asarray(channel / channel.sum(axis=-1, keepdims=True))
    return channel.reshape(*problem.history_shape, n_x, len(c))
