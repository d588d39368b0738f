"""The search for what proves a recorded release to be nearly the best ([M] fact 2).

A bound needs a multiplier and laws for every limited view. The multipliers are recorded; laws are
written here as a *force* f_S(a, y, x), the law of x being in proportion to p(x | y) 2^(f / mu_S).
The recorded channel c is nearly optimal, so its own posteriors nearly are the laws. What they lack:

- Letters that are never or hardly used have posteriors of rounding. A multiplicative update of the
  channel (Blahut and Arimoto's), c <- c 2^(-price / sum mu), brings their columns to posteriors
  whose prices are not below those of the used letters.
- A view that may be told nothing more has no finite multiplier. Its force is found by the
  method of multipliers: f <- f + step log2 q(x | a, y) / p(x | y), with the same update of c.
- Where that takes too long, a linear program finds the same forces, if it is small. Constraints of
  spent views may nearly depend on each other. So, where it is small enough, the unknowns are the
  combinations of forces that prices can tell apart.
- While forces are wrong the channel drifts off. It is pulled back to the recorded one, less and
  less, where that one uses a letter at all.

Whatever comes out gives a valid bound; nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, isinf

import numpy as np
import scipy
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.linear_program import minimise_linear

_LEAST_LOG = -900.0
"""Smallest log2 of a channel's entries: products with masses stay within the range of floats."""

_LEAST_MASS = 1e-290
"""Stands for a mass that was lost to underflow."""

_USED = 1e-6
"""Entries of the recorded channel above this pull the search back towards it."""

_NOT_NEAR = 10
"""Try a linear program if the gap is more than this many times the requested one."""

_MOST_ENTRIES = 100_000
"""Largest size of a linear program that is tried: it takes some seconds."""

_LARGEST_FORCE = 1e3
"""Relative to what an answer is worth."""

_FORCE_PRICES = (1e-12, 3e-13, 1e-13, 1e-11)
"""What a linear program pays for a force of 1 on everything, tried in turn: the proof loses about
as much to rounding. Where constraints nearly depend on each other the program needs large forces:
it stops short of the best at a high price, and fails at some low ones."""

_SAME_PRICES = 1e-11
"""Relative to the largest effect on prices, a smaller one is rounding."""

MOST_PIVOTS = 20_000
"""Of a linear program. Pivots, so that a proof does not depend on how busy the machine is."""

_STALLED = 150
"""Stop if the gap falls by less than 5 % in this many steps and is not between the two gaps below:
with wrong multipliers it never closes."""

_WORTH_WAITING, _HOPELESS = 1e-5, 1e-3
"""Relative to what an answer is worth: gaps between them may still close after a standstill, and
below the second a linear program may close them."""

_RANDOM_SUMS = 3

_MOST_WORK = 3e9
"""Additions and multiplications that a search may take, about: a second or two."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a coalition sees before the release.

    Attributes:
        law: p(y, m, x), [x, y, m]; ``None`` for the view that sees m itself.
        p_yx: p(y, x), [x, y].
        prior: p(x | y), [x, y]; 0 where y does not occur.
    """

    law: Array | None
    p_yx: Array
    prior: Array = field(init=False)

    def __post_init__(self) -> None:
        """Compute what every step of a search needs."""
        total = self.p_yx.sum(axis=0)
        object.__setattr__(self, "prior", self.p_yx / np.where(total > 0, total, 1.0))

    def collect(self, cells: Array) -> Array:
        """From p(a | m, x) [x, m, a] to p(a, y, x) [x, y, a]."""
        return self.p_yx[..., None] * cells if self.law is None else self.law @ cells

    def spread(self, rows: Array, mass: Array) -> Array:
        """Means of rows [x, y, a] over p(y | m, x), [x, m, a]."""
        if self.law is None:
            return rows
        weighted = self.law.transpose(0, 2, 1) @ rows
        return np.asarray(weighted / np.where(mass > 0, mass, 1.0)[..., None])

    def shares(self, mass: Array, x: int) -> Array:
        """p(y | m, x) for one x, [m, y]."""
        if self.law is None:
            return np.eye(mass.shape[1])
        return np.asarray(self.law[x].T / np.where(mass[x] > 0, mass[x], 1.0)[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class LimitedView(View):
    """What a limited coalition sees before the release.

    Attributes:
        multiplier: cost per bit; infinite where the view may be told nothing more.
        budget: bits that it may be told.
        room: bits of its limit beside these: letters may be merged for them, or a design may see
            fewer letters.
    """

    multiplier: float
    budget: float
    room: float = 0.0

    @property
    def paid(self) -> float:
        """What the budget costs."""
        return 0.0 if isinf(self.multiplier) else self.multiplier * self.budget


@dataclass(frozen=True, slots=True, eq=False)
class _Pace:
    """How a search goes.

    Attributes:
        step: of the forces, relative to what a record's answer is worth.
        pull: towards the recorded channel, as a share of the way, at first.
        patience: steps after which the pull is half of that.
        steps: how many.
    """

    step: float
    pull: float
    patience: float
    steps: int


_PACES = (
    _Pace(0.3, 0.1, 50, 300),
    _Pace(1.0, 0.03, 50, 300),
    _Pace(0.1, 0.1, 50, 600),
    _Pace(10.0, 0.02, 50, 1000),
    _Pace(0.3, 0.02, 500, 2000),
    _Pace(2.0, 0.03, 1e9, 3000),
)
"""Tried one after the other until the bound is near enough."""


def find_forces(
    cost: Array, mass: Array, channel: Array, views: Sequence[LimitedView], near: float
) -> list[Array]:
    """A force for every view, [x, y, a], that together prove the channel to be nearly the best.

    Args:
        cost: of letter a at (x, m), [x, m or 1, a].
        mass: p(m, x), [x, m]; every x occurs.
        channel: p(a | m, x), [x, m, a], positive.
        views: those with a price.
        near: stop when the bound is within this of the channel's cost.
    """
    search, classes = _search(cost, mass, channel, views)
    enough = search.value - near
    work_left, found = _MOST_WORK, _Found(-inf, search.first_forces(), 0.0)
    for pace in _PACES:
        tried = search.run(pace, enough, work_left)
        found = max(found, tried, key=lambda each: each.bound)
        work_left -= tried.work
        if found.bound >= enough or work_left <= 0:
            break
    # Both the recorded posteriors and those found may be the better ones for the other views.
    has_others = any(not isinf(view.multiplier) for view in views)
    starts = (search.first_forces(), found.forces) if has_others else (found.forces,)
    has_solved = False
    for number, force_price in enumerate(_FORCE_PRICES):
        is_hopeful = not has_solved or search.value - found.bound < _HOPELESS * search.worth
        for others in starts if number == 0 or (search.is_small and is_hopeful) else ():
            if search.value - found.bound > _NOT_NEAR * near:
                solved = search.by_linear_program(others, force_price)
                has_solved |= solved.bound > -inf
                found = max(found, solved, key=lambda each: each.bound)
    return [force[classes] for force in found.forces]


def recorded_forces(channel: Array, views: Sequence[LimitedView]) -> list[Array]:
    """Forces of a channel's posteriors, 0 where no finite multiplier is known.

    Arrays as in ``find_forces``.
    """
    return [
        np.zeros((*view.p_yx.shape, channel.shape[-1]))
        if isinf(view.multiplier)
        else view.multiplier * _log_ratio(view, channel)
        for view in views
    ]


def answer_worth(cost: Array, mass: Array) -> float:
    """What the best constant answer costs above the best answers; arrays as in ``find_forces``."""
    weighted = mass[..., None] * cost
    return float(weighted.sum(axis=(0, 1)).min() - weighted.min(axis=-1).sum())


def _search(
    cost: Array, mass: Array, channel: Array, views: Sequence[LimitedView]
) -> tuple[_Search, NDArray[np.intp]]:
    """The problem on classes of x, and the class of each x."""
    classes, first = _classes(cost, mass, views)
    joint = _summed(mass[..., None] * channel, classes)
    merged = [_merged(view, classes) for view in views]
    return _Search.of(cost[first], _summed(mass, classes), joint, merged), classes


def _classes(
    cost: Array, mass: Array, views: Sequence[LimitedView]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Classes of x that nothing so far and no answer now tells apart ([M] fact 10), and one x
    of each.

    Laws are compared by some random sums of them. Chance and rounding may join or part some x:
    forces are valid for any classes.
    """
    p_x = mass.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    told = [cost.reshape(len(cost), -1) / max(float(np.abs(cost).max()), 1e-300)]
    for law in (mass, *(view.law for view in views if view.law is not None)):
        rows = law.reshape(len(p_x), -1)
        told.append(rows @ rng.random((rows.shape[1], _RANDOM_SUMS)) / p_x)
    keys = np.round(np.concatenate(told, axis=1), 10)
    _, first, classes = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return classes.reshape(-1), first


def _summed(array: Array, classes: NDArray[np.intp]) -> Array:
    """Sums over the x of each class, [class, ...]."""
    total = np.zeros((int(classes.max()) + 1, *array.shape[1:]))
    np.add.at(total, classes, array)
    return total


def _merged(view: LimitedView, classes: NDArray[np.intp]) -> LimitedView:
    law = None if view.law is None else _summed(view.law, classes)
    return LimitedView(law, _summed(view.p_yx, classes), view.multiplier, view.budget)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A bound for classes of x, the forces that prove it, and the work of the search."""

    bound: float
    forces: list[Array]
    work: float


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The problem on classes of x; arrays as in ``find_forces``, the cost for every m.

    Attributes:
        worth: what the best constant answer costs above the best answers.
        value: what the channel costs.
        work: of one step.
    """

    cost: Array
    mass: Array
    log_channel: Array
    views: Sequence[LimitedView]
    worth: float
    value: float
    work: float

    @staticmethod
    def of(cost: Array, mass: Array, joint: Array, views: Sequence[LimitedView]) -> _Search:
        value = float((joint * cost).sum())
        cost = np.repeat(cost, mass.shape[1] // cost.shape[1], axis=1)
        share = joint / np.where(mass > 0, mass, 1.0)[..., None]
        log_channel = np.log2(np.where(mass[..., None] > 0, share, 1 / cost.shape[-1]))
        n_letters = cost.shape[-1]
        rows = [view.p_yx.size * n_letters for view in views]
        laws = [view.law.size * n_letters for view in views if view.law is not None]
        work = 3e5 + 40 * (joint.size + sum(rows)) + 2 * sum(laws)
        return _Search(cost, mass, log_channel, views, answer_worth(cost, mass), value, work)

    def run(self, pace: _Pace, enough: float, most_work: float) -> _Found:
        """The best bound of all steps; its ``work`` is that of all steps together."""
        held = pace.pull * (self.log_channel > np.log2(_USED))
        log_c, forces, work = self.log_channel, self.first_forces(), 0.0
        best, seen = _Found(-inf, forces, 0.0), inf
        for step in range(pace.steps):
            if step % _STALLED == 0:
                gap = self.value - best.bound
                if gap > 0.95 * seen and not _WORTH_WAITING < gap / self.worth < _HOPELESS:
                    break
                seen = gap
            price, ahead, forces, weight = self._step(log_c, forces, pace.step * self.worth)
            work += self.work
            best = max(best, _Found(self._bound(price), forces, 0.0), key=lambda each: each.bound)
            if best.bound >= enough or work > most_work or not weight > 0:
                break
            back = held / (1 + (step / pace.patience) ** 2) * (self.log_channel - log_c)
            log_c = _normalised(log_c + back - ahead / weight)
        return replace(best, work=work)

    @property
    def is_small(self) -> bool:
        """Whether a linear program can be solved on a basis of what forces do."""
        return bool(self.mass.size**2 * self.cost.shape[-1] <= _MOST_ENTRIES)

    def by_linear_program(self, given: list[Array], force_price: float) -> _Found:
        """The best forces of the views that may be told nothing more, those of others as given.

        ``force_price`` is paid where the program is small: large forces are bounded elsewhere.

        They maximise sum p(m, x) t(m, x) such that no price at (m, x) is below t(m, x): a linear
        program, for views whose posteriors are nearly certain and whose forces are so large that
        small steps do not get there.
        """
        spent = [k for k, view in enumerate(self.views) if isinf(view.multiplier)]
        sizes = [self.views[k].p_yx.size * self.cost.shape[-1] for k in spent]
        laws = [
            self.mass.size if law is None else law.size
            for law in (self.views[k].law for k in spent)
        ]
        views, n_a = [self.views[k] for k in spent], self.cost.shape[-1]
        if not spent or not (self.is_small or sum(laws) * n_a <= _MOST_ENTRIES):
            return _Found(-inf, given, 0.0)
        base = self._costs()
        for view, force in zip(self.views, given, strict=True):
            if not isinf(view.multiplier):
                base += view.spread(centred(force, view.prior, view.multiplier), self.mass)
        solved = None
        if np.isfinite(base).all():
            solved = (
                self._solve_on_basis(base, views, force_price)
                if self.is_small
                else self._solve_linear_program(base, views)
            )
        if solved is None:
            return _Found(-inf, given, 0.0)
        forces = list(given)
        for k, part in zip(spent, np.split(solved, np.cumsum(sizes)[:-1]), strict=True):
            forces[k] = part.reshape(*self.views[k].p_yx.shape, -1)
            base = base + self.views[k].spread(
                centred(forces[k], self.views[k].prior, inf), self.mass
            )
        return _Found(self._bound(base), forces, 0.0)

    def _solve_linear_program(self, base: Array, views: Sequence[LimitedView]) -> Array | None:
        """Forces of views, one after the other, each flat [x, y, a]; ``None`` if none was found."""
        n_x, n_m, n_a = base.shape
        sparse, n_cells, letters = scipy.sparse, n_x * n_m, np.eye(n_a)
        lowest = sparse.kron(sparse.eye_array(n_cells), np.ones((n_a, 1)))
        pulls, sums = [], []
        for view in views:
            by_cell = [sparse.csr_array(view.shares(self.mass, x)) for x in range(n_x)]
            pulls.append(sparse.kron(sparse.block_diag(by_cell), letters))
            sums.append(sparse.kron(sparse.hstack([*map(sparse.diags_array, view.prior)]), letters))
        n_forces, n_sums = (sum(each.shape[k] for each in sums) for k in (1, 0))
        largest = np.full(n_forces, _LARGEST_FORCE * self.worth)
        solved = minimise_linear(
            np.concatenate([-self.mass.reshape(-1), np.zeros(n_forces)]),
            sparse.block_array(
                [[lowest, -sparse.hstack(pulls)], [None, sparse.block_diag(sums)]],
            ),
            np.concatenate([np.full(base.size, -inf), np.zeros(n_sums)]),
            np.concatenate([base.reshape(-1), np.zeros(n_sums)]),
            least=np.concatenate([np.full(n_cells, -inf), -largest]),
            most=np.concatenate([np.full(n_cells, inf), largest]),
            most_steps=MOST_PIVOTS,
        )
        return None if solved.point is None else solved.point[n_cells:]

    def _solve_on_basis(
        self, base: Array, views: Sequence[LimitedView], force_price: float
    ) -> Array | None:
        """The same, the unknowns being an orthonormal basis of what forces do to prices.

        Prices are weighed by the root of p(m, x), forces by that of p(y, x): a force then does at
        most as much to the prices as there are views.
        """
        n_x, n_m, n_a = base.shape
        sparse, n_cells = scipy.sparse, n_x * n_m
        root_mass = np.sqrt(self.mass.reshape(-1, 1))
        root_p = np.sqrt(np.concatenate([view.p_yx.reshape(-1) for view in views]))
        effect = np.concatenate([_effect(view, self.mass) for view in views], axis=1)
        effect = root_mass * effect / np.where(root_p > 0, root_p, 1.0)
        left, size, right = np.linalg.svd(effect, full_matrices=False)
        rank = int((size > _SAME_PRICES * size[0]).sum())
        basis = left[:, :rank] / np.where(root_mass > 0, root_mass, 1.0)
        pull = sparse.kron(sparse.csr_array(basis), np.eye(n_a))
        lowest = sparse.kron(sparse.eye_array(n_cells), np.ones((n_a, 1)))
        paid = np.repeat(force_price / size[:rank], n_a)
        solved = minimise_linear(
            np.concatenate([-self.mass.reshape(-1), paid, paid]),
            sparse.hstack([lowest, -pull, pull]),
            np.full(base.size, -inf),
            base.reshape(-1),
            least=np.concatenate([np.full(n_cells, -inf), np.zeros(2 * len(paid))]),
            most_steps=MOST_PIVOTS,
        )
        if solved.point is None:
            return None
        up, down = solved.point[n_cells:].reshape(2, rank, n_a)
        scaled = right[:rank].T @ ((up - down) / size[:rank, None])
        return np.asarray((scaled / np.where(root_p > 0, root_p, 1.0)[:, None]).reshape(-1))

    def first_forces(self) -> list[Array]:
        """Those of the recorded channel."""
        return recorded_forces(np.exp2(self.log_channel), self.views)

    def _costs(self) -> Array:
        """What letters cost without any force, [x, m, a]."""
        return self.cost.copy()

    def _bound(self, price: Array) -> float:
        found = float((self.mass * price.min(axis=-1)).sum()) - sum(v.paid for v in self.views)
        return found if np.isfinite(found) else -inf

    def _step(
        self, log_c: Array, forces: list[Array], most: float
    ) -> tuple[Array, Array, list[Array], float]:
        """Prices, prices as they will be after the next step of the forces, forces, sum of mu."""
        cells = np.exp2(log_c - log_c.max(axis=(0, 1)))  # posteriors do not depend on a scale
        price, ahead = self._costs(), self._costs()
        moved, weight = [], 0.0
        for view, force in zip(self.views, forces, strict=True):
            log_ratio = _log_ratio(view, cells)
            length = min(most, view.multiplier)
            kept = 1 - length / view.multiplier
            force = kept * force + length * log_ratio
            told = view.spread(centred(force, view.prior, view.multiplier), self.mass)
            price += told
            ahead += told
            if kept > 0:
                ahead += view.spread(length * (log_ratio - force / view.multiplier), self.mass)
            moved.append(force)
            weight += length * (1 + kept)
        return price, ahead, moved, weight


def _effect(view: LimitedView, mass: Array) -> Array:
    """What each force of a spent view does to the prices, [x m, x y]."""
    units = np.eye(view.p_yx.size).reshape(*view.p_yx.shape, -1)
    return view.spread(centred(units, view.prior, inf), mass).reshape(mass.size, -1)


def _log_ratio(view: LimitedView, cells: Array) -> Array:
    """log2 q(x | a, y) / p(x | y) for the posteriors q of a channel, [x, y, a]."""
    prior = view.prior[..., None]
    if prior.all():  # as below, in half the time
        told = np.maximum(view.collect(cells), _LEAST_MASS)
        return np.asarray(np.log2(told / told.sum(axis=0) / prior))
    is_possible = prior > 0
    told = np.maximum(view.collect(cells), _LEAST_MASS * is_possible)
    total = told.sum(axis=0)
    ratio = told / np.where(total > 0, total, 1.0) / np.where(is_possible, prior, 1.0)
    return np.asarray(np.log2(np.where(is_possible, ratio, 1.0)))


def centred(force: Array, prior: Array, multiplier: float) -> Array:
    """mu log2 q(x | a, y) / p(x | y), q in proportion to p(x | y) 2^(force / mu), [x, y, a].

    For an infinite multiplier, its limit.
    """
    p = prior[..., None]
    if isinf(multiplier):
        return np.asarray(force - (p * force).sum(axis=0))
    if p.all():  # as below, in half the time
        scaled = force / multiplier
        peak = scaled.max(axis=0)
        return np.asarray(
            force - multiplier * (peak + np.log2((p * np.exp2(scaled - peak)).sum(axis=0)))
        )
    scaled = np.where(p > 0, force / multiplier, -np.inf)
    peak = scaled.max(axis=0)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    total = (p * np.exp2(scaled - peak)).sum(axis=0)
    return np.asarray(force - multiplier * (peak + np.log2(np.where(total > 0, total, 1.0))))


def _normalised(log_c: Array) -> Array:
    """Rows that sum to 1, [x, m, a]."""
    peak = log_c.max(axis=-1, keepdims=True)
    total = peak + np.log2(np.exp2(log_c - peak).sum(axis=-1, keepdims=True))
    return np.asarray(np.maximum(log_c - total, _LEAST_LOG))
