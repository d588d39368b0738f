"""The convex release problem in nats, arrays ``[batch, rhat, z, x]``.

rhat comes first because alphabets of rhat are short and NumPy is fast along long last axes. The
leading batch axis lets one call solve many limits over the same joint (a surface) or many
distortions (several starts of the information problem).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.errors import CapError, InfeasibleError
from tacit.information.laws import MOST_CAP_BITS, gamma, information_range_bits
from tacit.problem import Problem, View, ViewKey
from tacit.solvers.convex.interior_point import DenseProgram
from tacit.solvers.kernel import Outcome, Pace, minimise

LIMIT_TOL = 2e-13
"""Bits. A limit this close to what is already leaked counts as equal to it."""

PRICED_BELOW = 1e-5
"""Nats. Smaller budgets may be met by a price: see ``prices``."""

_MANY_ROWS = 24
"""Letters of the views beyond which a program without a history is left to ``interior_point``."""

CAP_TOL = 1e-6
"""Relative. A cap this close to the worst answer yet counts as reached, and leaves so much room: a
region without any has no interior."""

_NO_CAP = 1 - 1e-12
"""p(rhat, y, x) / p(rhat, y) is 1 at most: caps from here on forbid nothing but rounding."""

_LAST_DIGITS = 2e-15
"""Rounding of an information near 1 bit that was computed with care."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A problem on the letters that occur, its history flattened: what all its programs share.

    Lists of views hold the partial views, then full collusion.

    Attributes:
        problem: where it comes from.
        joint_zxr: p(z, x, r) on the letters that occur, [z, x, r].
        mass: p(z, x), [z, x]; no empty row or column.
        seen_z, seen_x: the original letters behind them.
        keys: the views' keys.
        rows: the partial views.
        leaked: estimate of I(Y; X) in bits, [view + 1]; at most as far above the truth as
            ``leaked_upper`` is above it.
        leaked_upper: upper bound on I(Y; X), rounding included.
    """

    problem: Problem
    joint_zxr: Array
    mass: Array
    seen_z: NDArray[np.intp]
    seen_x: NDArray[np.intp]
    keys: list[ViewKey]
    rows: ViewRows
    leaked: Array
    leaked_upper: Array

    @cached_property
    def cap_factors(self) -> tuple[Array, ...]:
        """How many times as likely an answer may make a record, for each view [y or 1, x or 1]."""
        return tuple(np.exp2(self._cap_bits(key)) for key in self.keys)

    def _cap_bits(self, key: ViewKey) -> Array:
        """The cap of a view on the letters that it shows, [y or 1, x or 1]."""
        bits = np.atleast_2d(self.problem.caps.get(key, inf))
        bits = np.where(bits < MOST_CAP_BITS, bits, inf)
        return bits if bits.size == 1 else bits[:, self.seen_x]

    @staticmethod
    def of(problem: Problem) -> Statement:
        """State a problem for the solvers."""
        joint_zxr, everyone, limits = problem.joint_zxr, problem.everyone, problem.limits
        p_zx = joint_zxr.sum(axis=-1)
        seen_z = np.flatnonzero(p_zx.sum(axis=1))
        seen_x = np.flatnonzero(p_zx.sum(axis=0))
        seen = np.ix_(seen_z, seen_x)
        if p_zx.shape != (len(seen_z), len(seen_x)):
            p_zx, joint_zxr = p_zx[seen], joint_zxr[seen]
        partial: list[ViewKey] = [key for key in limits if key != everyone]
        views = [_seen_view(problem, key, seen_z, seen_x) for key in partial]
        keys, rows = [*partial, everyone], ViewRows(views, len(seen_z))
        leaked = _leaked_bits(views, joint_zxr)
        return Statement(problem, joint_zxr, p_zx, seen_z, seen_x, keys, rows, *leaked)

    def limits(self, by_key: Mapping[ViewKey, float]) -> Array:
        """Limits in bits of a problem over this joint, in the order of ``keys``."""
        return np.array([by_key[key] for key in self.keys])

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

    @cached_property
    def cap_rooms(self) -> Array:
        """By how much caps exceed the answers given, relative, at most, [view + 1].

        Rounding is included; inf without a cap.
        """
        joints = [*(view.pool(self.mass) for view in self.rows.views), self.mass]
        rooms = []
        for joint, factors in zip(joints, self.cap_factors, strict=True):
            reached = _ratios(joint)
            room = factors / np.where(reached > 0, reached, 1.0) - 1
            rooms.append(np.where(joint > 0, room, 0.0).max() + 1e-14)
        return np.array(rooms)

    @property
    def is_spent_by_caps(self) -> NDArray[np.bool_]:
        """Views whose caps are reached for every letter and record, [view + 1]."""
        return np.asarray(self.cap_rooms <= CAP_TOL)

    def forgone(self, limits: Array) -> Array:
        """Bits that views may still learn but are not given, [batch, view + 1].

        A limit within a few units in the last place of what is leaked counts as equal to it: it
        was probably computed so, and the difference is rounding. Views that are not spent may have
        leaked less than the upper bound that their budgets are reckoned from.
        """
        left = limits - self.leaked
        is_some = left > _LAST_DIGITS * (1 + np.abs(self.leaked))
        is_spent = self.is_spent(limits)
        uncertain = 2 * (self.leaked_upper - self.leaked)
        forgone = np.where(is_spent, np.where(is_some, left, 0.0), uncertain)
        # Within such caps p(rhat, y, x) is off p(rhat, y) p(x | y) by twice the room in all.
        by_caps = 2 * np.where(self.is_spent_by_caps, np.maximum(self.cap_rooms, 0.0), 0.0) ** 2
        return np.where(self.is_spent_by_caps & ~is_spent, by_caps / LN2, forgone)

    def program(self, cost: Array, limits: Array) -> Program:
        """The convex programs for costs [batch or 1, rhat, z, x] and limits [batch, view + 1].

        A view is exact if it is spent in some member. Budgets that no channel could exceed become
        infinite: I(Rhat; X | Y) <= H(Rhat), H(X).
        """
        budgets = self.budgets(limits)
        is_exact = self.is_spent(limits).any(axis=0) | self.is_spent_by_caps
        p_x = self.mass.sum(axis=0)
        capacity = min(np.log2(cost.shape[1]), float(-(p_x * np.log2(p_x)).sum()))
        bits = np.where((budgets > capacity) & ~is_exact, inf, budgets)
        return Program(
            self.mass, cost, self.rows, bits * LN2, np.asarray(is_exact), self.cap_factors
        )


def _seen_view(
    problem: Problem, key: ViewKey, seen_z: NDArray[np.intp], seen_x: NDArray[np.intp]
) -> View:
    """A view on the letters that occur; by its letters where it is a function of the history.

    A law with a table of caps stays a law: the table has a row for each of its letters.
    """
    view = problem.view(key)
    if view.law is None:
        assert view.letter_of_z is not None
        return _numbered(view.letter_of_z[seen_z])
    law = view.law[np.ix_(seen_z, seen_x)]
    letter_of_z = law[:, 0].argmax(axis=-1)
    is_function = (law == np.eye(law.shape[-1])[letter_of_z][:, None]).all()
    has_table = np.ndim(problem.caps.get(key, inf)) > 0
    return _numbered(letter_of_z) if is_function and not has_table else View(law=law)


def _numbered(letter_of_z: NDArray[np.intp]) -> View:
    """A view that is a function of the history, its letters numbered without gaps."""
    _, letters = np.unique(letter_of_z, return_inverse=True)
    return View(letter_of_z=letters.astype(np.intp))


def _leaked_bits(views: list[View], joint_zxr: Array) -> Array:
    """Estimates of and upper bounds on I(Y; X) in bits of views and of full collusion, last.

    In long floats: where a bit costs millions, the last digits of what is leaked count. Both are
    [view + 1].
    """
    mass = joint_zxr.sum(axis=-1, dtype=np.longdouble)
    mass /= mass.sum()
    n_operations = 2 * sum(joint_zxr.shape) + 8
    ranges = [
        information_range_bits(_pooled(view, mass), n_operations + view.size) for view in views
    ]
    lowest, highest = np.array([*ranges, information_range_bits(mass, n_operations)]).T
    return np.stack([np.nextafter(0.5 * (lowest + highest), 0.0), highest])


def _pooled(view: View, mass: Array) -> Array:
    """p(y, x) in the floats of ``mass``; laws sum to 1 in doubles only."""
    return view.pool(mass if view.law is None else mass / view.law.sum(axis=-1, dtype=mass.dtype))


def raise_if_infeasible(statement: Statement, limits: Array) -> None:
    """Raise for the limit that is furthest below what has leaked already."""
    short = statement.leaked - limits
    worst = int(short.argmax())
    if short[worst] > LIMIT_TOL:
        raise InfeasibleError(statement.keys[worst], limits[worst], statement.leaked[worst])
    if not statement.problem.caps:
        return
    views = [*statement.rows.views, None]
    for key, factors, view in zip(statement.keys, statement.cap_factors, views, strict=True):
        reached = _ratios(statement.mass if view is None else view.pool(statement.mass))
        if (reached > factors * (1 + CAP_TOL)).any():
            at = int((reached / factors).argmax())
            cap, held = np.broadcast_to(factors, reached.shape).flat[at], reached.flat[at]
            raise CapError(key, float(np.log2(cap)), float(np.log2(held)))


def _ratios(joint: Array) -> Array:
    """p(y | x) / p(y) of p(y, x), [y, x]; 0 where p(y, x) is."""
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return np.asarray(joint / np.where(independent > 0, independent, 1.0))


def full_channel(statement: Statement, c: Array) -> Array:
    """[rhat, z, x] on letters that occur -> [z1, ..., zk, x, rhat] on all of them.

    Cells that cannot occur release what their history releases on average, so that they tell
    nothing about x. Histories that cannot occur release what everyone gets on average.
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


class ViewRows:
    """All partial views stacked: one row per pair (view, letter y).

    ``collect`` adds cells (z, x) up to rows (y, x) with weights p(y | z, x); ``spread`` is its
    transpose. Full collusion is not among them: its rows would be the cells themselves.

    Attributes:
        views: the views.
        sizes: letters of each.
        view_of_row: [row].
        weights: p(y | z, x): [row, z, 1] where no view reads x, else [row, z, x].
        is_blind: whether there is one view, and it has seen nothing.
        row_of_z: the row that each view shows on each history, [view, z]; ``None`` if some view is
            not a function of the history.
    """

    def __init__(self, views: list[View], n_z: int) -> None:
        self.views, self.n_views = views, len(views)
        self.sizes = [view.size for view in views]
        self.view_of_row = np.repeat(np.arange(self.n_views), self.sizes)
        self.n_rows = len(self.view_of_row)
        blocks = [_weights(view, size, n_z) for view, size in zip(views, self.sizes, strict=True)]
        width = max((block.shape[-1] for block in blocks), default=1)
        self.weights = np.concatenate(
            [np.broadcast_to(block, (*block.shape[:2], width)) for block in blocks]
            or [np.empty((0, n_z, 1))]
        )
        self._matrix = np.ascontiguousarray(self.weights[:, :, 0]) if width == 1 else None
        self.is_blind = self._matrix is not None and self.n_rows == 1
        self.row_of_z = self._rows_of_histories(views)

    def _rows_of_histories(self, views: list[View]) -> NDArray[np.intp] | None:
        letters = [view.letter_of_z for view in views]
        if any(letter is None for letter in letters) or not views:
            return None
        starts = np.searchsorted(self.view_of_row, np.arange(self.n_views))
        return np.array(letters) + starts[:, None]

    def collect(self, cells: Array) -> Array:
        """[..., z, x] -> [..., row, x]."""
        if self._matrix is not None:
            return self._matrix @ cells
        return np.asarray(np.einsum("mzx,...zx->...mx", self.weights, cells))

    def spread(self, rows: Array) -> Array:
        """[..., row, x] -> [..., z, x]; [..., 1, x] where one view sees nothing: it broadcasts."""
        if self.is_blind:
            return rows
        if self._matrix is not None:
            return self._matrix.T @ rows
        return np.asarray(np.einsum("mzx,...mx->...zx", self.weights, rows))

    def per_view(self, per_row: Array) -> Array:
        """Sum values [..., row] over the letters of each view: [..., view]."""
        if self.n_rows == self.n_views:
            return per_row
        starts = np.searchsorted(self.view_of_row, np.arange(self.n_views))
        return np.add.reduceat(per_row, starts, axis=-1)


def _weights(view: View, size: int, n_z: int) -> Array:
    """p(y | z, x) of one view, [y, z, x or 1]."""
    if view.law is not None:
        return np.ascontiguousarray(view.law.transpose(2, 0, 1))
    indicator = np.zeros((size, n_z, 1))
    indicator[view.letter_of_z, np.arange(n_z), 0] = 1.0
    return indicator


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise sum(mass * cost * c) with I(Rhat; X | Y) <= budget for every view, a batch of them.

    Lists of views hold the partial views, then full collusion.

    Attributes:
        mass: p(z, x), shape [z, x]; every z and every x has positive mass.
        cost: E[d(rhat, R) | z, x], shape [batch or 1, rhat, z, x].
        rows: the partial views.
        budgets: nats left to each view, [batch, view + 1]; inf where unlimited, meaningless where
            ``is_exact``.
        is_exact: [view + 1] marks the views with no bits left: Rhat must be independent of X
            given Y.
        cap_factors: p(rhat, y | x) / p(rhat, y) at most, for each view [y or 1, x or 1]; inf
            without a cap.
    """

    mass: Array
    cost: Array
    rows: ViewRows
    budgets: Array
    is_exact: NDArray[np.bool_]
    cap_factors: tuple[Array, ...]

    @cached_property
    def n_rhat(self) -> int:
        """Letters of Rhat."""
        return int(self.cost.shape[1])

    @cached_property
    def is_full_exact(self) -> bool:
        """Whether full collusion has no bits left."""
        return bool(self.is_exact[-1])

    @cached_property
    def is_any_row_exact(self) -> bool:
        """Whether some partial view has no bits left."""
        return bool(self.is_exact[:-1].any())

    @cached_property
    def is_priced(self) -> NDArray[np.bool_]:
        """Views with hardly any bits left, [batch, view + 1]: a price may replace their limit."""
        return np.asarray((self.budgets < PRICED_BELOW) & ~self.is_exact)

    @cached_property
    def row_caps(self) -> Array | None:
        """p(rhat, y, x) / p(rhat, y) at most, [row, x]; inf where nothing can exceed it.

        ``None`` where no partial view is capped.
        """
        factors = [
            np.broadcast_to(each, (size, self.mass.shape[1]))
            for each, size in zip(self.cap_factors[:-1], self.rows.sizes, strict=True)
        ]
        return self._caps(self.row_mass, np.concatenate(factors)) if factors else None

    @cached_property
    def full_caps(self) -> Array | None:
        """The same for full collusion, [z, x]."""
        return self._caps(self.mass, self.cap_factors[-1])

    def _caps(self, mass: Array, factors: Array) -> Array | None:
        """Caps of letters with masses p(y, x); what is reached already leaves a little room."""
        if not np.isfinite(factors).any():
            return None
        total, p_x = mass.sum(axis=1, keepdims=True), self.mass.sum(axis=0)
        reached = mass / np.where(total > 0, total, 1.0)
        caps = np.maximum(factors * p_x, reached * (1 + CAP_TOL))
        caps = np.where((caps < _NO_CAP) & (mass > 0), caps, inf)
        return caps if np.isfinite(caps).any() else None

    @cached_property
    def is_view_capped(self) -> NDArray[np.bool_]:
        """Which views have a cap, [view + 1]."""
        return np.array([bool(np.isfinite(each).any()) for each in self.cap_factors])

    @cached_property
    def is_capped(self) -> bool:
        """Whether some cap can be exceeded."""
        return self.row_caps is not None or self.full_caps is not None

    @cached_property
    def mass_z(self) -> Array:
        """p(z)."""
        return np.asarray(self.mass.sum(axis=1))

    @cached_property
    def row_mass(self) -> Array:
        """p(y, x) of every row, [row, x]."""
        return self.rows.collect(self.mass)

    @cached_property
    def row_support(self) -> NDArray[np.bool_]:
        """Where p(y, x) > 0, [row, x]."""
        return np.asarray(self.row_mass > 0)

    @cached_property
    def log_row_prior(self) -> Array:
        """log p(x | y) of every row, [row, x]; 0 where p(y, x) = 0, where it is never used."""
        total = self.row_mass.sum(axis=-1, keepdims=True)
        prior = self.row_mass / np.where(total > 0, total, 1.0)
        return np.log(np.where(prior > 0, prior, 1.0))

    @cached_property
    def constant_costs(self) -> Array:
        """Expected cost of always releasing rhat, [batch or 1, rhat]."""
        return np.asarray(np.einsum("zx,brzx->br", self.mass, self.cost))

    @cached_property
    def rounding(self) -> float:
        """Relative error of the longest sums behind a bound."""
        return gamma(sum(self.mass.shape) + self.n_rhat + self.rows.n_rows + 64)

    def members(self, own: NDArray[np.intp]) -> Program:
        """Some members of the batch, in the order given."""
        cost = self.cost if len(self.cost) == 1 else self.cost[own]
        return replace(self, cost=cost, budgets=self.budgets[own])

    def minimise(self, price: Array, pace: Pace) -> Outcome:
        """Solve a batch of one by the interior point.

        Args:
            price: fixed price of a nat to each view, [view + 1]; a positive one replaces the
                view's limit.
            pace: when to stop.
        """
        rows = self.rows
        law = None
        if rows.row_of_z is None:
            law = np.broadcast_to(rows.weights, (rows.n_rows, *self.mass.shape))
        is_plain = not self.is_exact.any() and not self.is_capped
        if len(self.mass) == 1 and rows.n_rows > _MANY_ROWS and is_plain:
            found = self._minimise_densely(price, pace)
            if found is not None:
                return found
        return minimise(
            mass=self.mass,
            cost=self.cost[0],
            view_of_row=rows.view_of_row,
            row_of_z=rows.row_of_z,
            law=law,
            budget=self.budgets[0],
            is_exact=self.is_exact,
            price=price,
            row_cap=self._caps_to_hold(self.row_caps),
            full_cap=None if self.is_full_exact else self.full_caps,
            pace=pace,
        )

    def _caps_to_hold(self, row_caps: Array | None) -> Array | None:
        """Without the exact views': these meet their caps by themselves."""
        if row_caps is None:
            return None
        held = np.where(self.is_exact[self.rows.view_of_row][:, None], inf, row_caps)
        return held if np.isfinite(held).any() else None

    def _minimise_densely(self, price: Array, pace: Pace) -> Outcome | None:
        """Solve a batch of one without a history on its few unknowns; ``None`` if a gap stays."""
        seen = self.row_mass.sum(axis=1) > 0
        limited = np.flatnonzero(np.isfinite(self.budgets[0]) & (price == 0))
        weight = price.copy()
        weight[-1] += pace.frugality
        dense = DenseProgram(
            self.mass[0],
            self.cost[0, :, 0],
            np.vstack([self.row_mass[seen], self.mass]),
            np.append(self.rows.view_of_row[seen], self.rows.n_views),
            self.budgets[0, limited],
            limited,
            weight,
        )
        point = dense.minimise(pace)
        value, bound = point.bounds(dense)
        if not value - bound <= pace.gap_tol:
            return None
        return point.outcome(dense, self.rows.n_rows, pace.frugality)
