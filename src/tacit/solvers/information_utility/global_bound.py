"""A global upper bound on I(Rhat; R), whatever the letters: prices, and a search over posteriors.

Let w(z, x) be the law of the cell given one letter, q(w) the law of R that it implies, and D_S(w)
what the letter tells view S: sum_y w(y) D(w(x | y) || p(x | y)). Letters average to the prior, so

    H(R | Rhat) = E H(q(w)),   I(Rhat; X | Y_S) = E D_S(w),   E w = p(z, x).

Hence for any multipliers mu_S >= 0 and any prices of cells lambda(z, x), every release satisfies

    I(Rhat; R) <= H(R) - <lambda, p> + sum_S mu_S b_S + excess,
    excess = max over w of  <lambda, w> - H(q(w)) - sum_S mu_S D_S(w),

with b_S the bits that view S may still learn. At the prices of the best release the excess is 0; a
letter with a positive one improves a release. To bound the maximum, the simplex of posteriors q is
cut into simplex-shaped cells. Entropy is concave, so in a cell it lies above the linear function
that meets it at the corners, and with that function the maximum is a concave problem, bounded in
closed form ([M] fact 2 for a single letter). The cells with the largest bounds are bisected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.laws import entropy_terms, gamma
from tacit.solvers.convex.program import LIMIT_TOL, Statement
from tacit.solvers.information_utility.ascent import joint_rhat_r
from tacit.solvers.information_utility.lagrangian import Lagrangian
from tacit.solvers.kernel import raise_if_late

_UNUSED = 1e-9
"""Probability below which a letter says nothing about prices."""

_RARE = 1e-3
"""The same of a letter in one cell, relative to the cell's most frequent one."""

_STEPS = 40
"""Most steps towards the best letter of a cell."""

_OUTSIDE, _PATIENCE = 0.05, 6
"""How far outside its cell a letter may be before the cell is split, and steps that wait for it."""

_LETTERS_KEPT = 64

_ENTRIES_AT_ONCE = 2**16

_MOST_ENTRIES = 25 * 10**5
"""Of the letters of all cells together: how finely the simplex may be cut, with ``_MOST_CELLS``."""

_MOST_CELLS = 12_000


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What a search over posteriors has proved, and found, so far.

    Attributes:
        bits: no release within the limits has more I(Rhat; R).
        looseness: bits by which finer cells may still lower it.
        excess: bits that the best letters found are worth beyond their price, best first.
        posterior: their laws of R, [letter, r].
    """

    bits: float
    looseness: float
    excess: Array
    posterior: Array


def entropy_nats(laws: Array) -> Array:
    """H of laws along the last axis, in nats."""
    return np.asarray(entropy_terms(laws).sum(axis=-1))


class Prices(Lagrangian):
    """Multipliers of the views and prices of the cells, read off a release; all in nats.

    Any release and any multipliers give valid prices.
    """

    def __init__(
        self,
        statement: Statement,
        limits: Array,
        channel: Array,
        multipliers: Array,
        doubt: float,
    ) -> None:
        super().__init__(statement, limits, multipliers)
        self.p_r = statement.joint_zxr.sum(axis=(0, 1))
        is_unseen = np.append(np.array(statement.rows.sizes) == 1, False)
        self._price_of_unseen = float(self.multiplier[is_unseen].sum())
        self._price_of_seen = float(self.multiplier[~is_unseen].sum())
        self.cell_price = self._cell_prices(statement, channel, doubt)

    def _cell_prices(self, statement: Statement, channel: Array, doubt: float) -> Array:
        """lambda(z, x): what the letters that occur there cost.

        All cost the same in the limit. Short of it, the mean is best, but it is far off where cells
        are rare: there the cheapest letter counts. The bound loses at most ``doubt`` nats by it.
        """
        is_used = joint_rhat_r(statement, channel[None])[0].sum(axis=1) > _UNUSED
        used = channel[is_used]
        cost = self.cost(self.mass * used)
        is_rare = (used <= _RARE * used.max(axis=0)) & (used < used.max(axis=0))
        least = np.where(is_rare, np.inf, cost).min(axis=0)
        mean = (used * cost).sum(axis=0) / np.maximum(used.sum(axis=0), 1e-300)
        lost = doubt / (self.mass.size * np.maximum(self.mass, 1e-300))
        return np.asarray(np.maximum(least, mean - lost))

    def most(self, left: Array) -> Array:
        """Upper bound on max over w of <worth, w> - sum_S mu_S D_S(w), [letter].

        ``left`` is the worth less ``told_partial`` of any letters, [letter, z, x]: D_S(w) is at
        least <log q_S / p, w> for any q_S. Full collusion is maximised over in closed form.
        """
        return np.asarray(self._by_history(left)[0].max(axis=-1))

    def _by_history(self, left: Array) -> tuple[Array, Array]:
        """The maximum for letters with one history each, [letter, z], and their laws of x."""
        price = self.multiplier[-1]
        scaled = left / price
        peak = np.where(self.mass > 0, scaled, -np.inf).max(axis=-1, keepdims=True)
        grown = self._prior * np.exp(np.where(self.mass > 0, scaled - peak, 0.0))
        mean = grown.sum(axis=-1)
        return price * (peak[..., 0] + np.log(mean)), grown / mean[..., None]

    def excess(self, w: Array) -> Array:
        """What letters are worth beyond their price, [letter]."""
        gain = self.cell_price - self.told_partial(w) - self.told_everyone(w)
        return np.asarray((w * gain).sum(axis=(1, 2)) - entropy_nats(self.posterior(w)))

    def step(self, w: Array, left: Array) -> Array:
        """A step from letters to better ones: to the best where full collusion alone is priced.

        Elsewhere a step of mirror ascent, which never loses; ``left`` as for ``most``.

        D_S of a view that has seen nothing is smooth beside the divergence of laws of x, and of
        any other view beside that of laws of (z, x): steps are long where no price holds them.
        """
        if not self.multiplier[:-1].any():
            worth, law = self._by_history(left)
            return np.asarray(law * np.eye(len(self.mass))[worth.argmax(axis=-1)][..., None])
        gain = (left - self.told_everyone(w)) / self._price_of_seen
        by_record = w.sum(axis=-2)
        peak = gain.max(axis=-2, keepdims=True)
        grown = w * np.exp(gain - peak)
        share = grown.sum(axis=-2)
        slope = self._price_of_seen / (self._price_of_seen + self._price_of_unseen)
        logs = slope * (peak[..., 0, :] + np.log(share / by_record))
        scale = by_record * np.exp(logs - logs.max(axis=-1, keepdims=True)) / share
        grown = grown * scale[..., None, :]
        grown = grown / grown.sum(axis=(-2, -1), keepdims=True)
        grown = np.where(self.mass > 0, np.maximum(grown, 1e-30), 0.0)
        return np.asarray(grown / grown.sum(axis=(-2, -1), keepdims=True))


def refine_bound(
    statement: Statement,
    limits: Array,
    channel: Array,
    multipliers: Array,
    *,
    tolerance: float,
    effort: float = 1.0,
) -> Iterator[Bound]:
    """Ever better bounds, until ``tolerance`` bits are all that finer cells could gain.

    Args:
        statement: the problem.
        limits: bits, [view + 1].
        channel: a release, [rhat, z, x]; the better, the better the bound.
        multipliers: what a bit is worth to it, [view + 1].
        tolerance: bits.
        effort: share of the cells that there may be.
    """
    prices = Prices(statement, limits, channel, multipliers, 0.5 * tolerance * LN2)
    fixed, margin = _fixed_part(statement, limits, prices)
    tree = _Tree(prices, effort)
    while True:
        loose = tree.upper.max() - max(tree.lower, 0.0)
        yield Bound(
            float(fixed + tree.upper.max() + margin) / LN2,
            float(loose) / LN2,
            tree.found_excess / LN2,
            tree.found_posterior,
        )
        # Where letters are worth far more than their price, the prices are bad: better ones first.
        if loose <= max(tolerance * LN2, 0.3 * tree.lower) or not tree.has_room:
            return
        tree.bisect(above=max(tree.lower, 0.0) + 0.5 * loose)


def _fixed_part(statement: Statement, limits: Array, prices: Prices) -> tuple[float, float]:
    """The bound without the excess, and what rounding may take from the whole; nats."""
    unsure = statement.leaked_upper - statement.leaked + LIMIT_TOL
    room = limits - statement.leaked + unsure
    p_x = statement.mass.sum(axis=0)
    room = np.minimum(room * LN2, float(entropy_nats(p_x)))  # I(Rhat; X | Y) <= H(X)
    paid = float((prices.multiplier * np.maximum(room, 0.0)).sum())
    entropy = float(entropy_nats(prices.p_r))
    charged = float((statement.mass * prices.cell_price).sum())
    size = entropy + float(np.abs(prices.cell_price).max()) + paid
    size += prices.size + 1.0
    return entropy - charged + paid, 64 * gamma(statement.mass.size + 256) * size


class _Tree:
    """Cells that cover the simplex of posteriors, and what letters in them are worth at most.

    Attributes:
        upper: upper bound on the excess of letters with their posterior in a cell, [cell]; nats.
        found_excess, found_posterior: of the best letters found, best first.
    """

    def __init__(self, prices: Prices, effort: float) -> None:
        n_r = len(prices.p_r)
        self._prices, self._cut = prices, 0.0
        self.found_excess, self.found_posterior = np.empty(0), np.empty((0, n_r))
        most_cells = min(_MOST_CELLS, _MOST_ENTRIES // prices.mass.size)
        self._most_cells = max(64, int(effort * most_cells))
        least = prices.least_posterior
        self._corners = (least + (1 - least.sum()) * np.eye(n_r))[None]
        self._letters = prices.mass[None].copy()
        self.upper = self._evaluate(self._corners, self._letters)

    @property
    def lower(self) -> float:
        """The largest excess of a letter that was found."""
        return float(self.found_excess[0])

    @property
    def has_room(self) -> bool:
        """Whether there may be more cells."""
        return len(self.upper) < self._most_cells

    def bisect(self, above: float) -> None:
        """Split the cells with the largest bounds, those above a number of nats."""
        self._cut = above
        order = np.argsort(-self.upper, kind="stable")
        n_chosen = min(int((self.upper > above).sum()), self._most_cells - len(self.upper))
        chosen, others = order[: max(1, n_chosen)], order[max(1, n_chosen) :]
        corners = _bisected(self._corners[chosen])
        letters = np.concatenate([self._letters[chosen]] * 2)
        upper = np.minimum(self._evaluate(corners, letters), np.tile(self.upper[chosen], 2))
        self._corners = np.concatenate([self._corners[others], corners])
        self._letters = np.concatenate([self._letters[others], letters])
        self.upper = np.concatenate([self.upper[others], upper])

    def _evaluate(self, corners: Array, letters: Array) -> Array:
        """Bounds of cells; moves ``letters`` to the best found in each."""
        upper, excess = np.empty(len(corners)), np.empty(len(corners))
        size = max(1, _ENTRIES_AT_ONCE // letters[0].size)
        for start in range(0, len(corners), size):
            raise_if_late()
            own = slice(start, start + size)
            upper[own] = self._climb(corners[own], letters[own])
            excess[own] = self._prices.excess(letters[own])
        q = self._prices.posterior(letters)
        excess, q = np.append(self.found_excess, excess), np.append(self.found_posterior, q, axis=0)
        best = np.argsort(-excess, kind="stable")[:_LETTERS_KEPT]
        self.found_excess, self.found_posterior = excess[best], q[best]
        return upper

    def _climb(self, corners: Array, letters: Array) -> Array:
        """Bounds of some cells, as sharp as telling them from the cut needs.

        A letter that leaves its cell lowers the entropy at the corners that it went away from:
        multipliers of the conditions that a posterior lies in its cell.
        """
        prices, inverse = self._prices, np.asarray(np.linalg.inv(corners), float)
        size = np.einsum("kri,kr->ki", inverse**2, corners.mean(axis=1) + 1e-3)
        lowered = np.zeros(corners.shape[:2])
        upper, live = np.full(len(corners), np.inf), np.arange(len(corners))
        for step in range(_STEPS):
            linear = _linear_below(corners[live], inverse[live], lowered[live])
            worth, w = prices.cell_price - prices.expect(linear), letters[live]
            left = worth - prices.told_partial(w)
            upper[live] = np.minimum(upper[live], prices.most(left))
            reached = (w * (left - prices.told_everyone(w))).sum(axis=(1, 2))
            letters[live] = w = prices.step(w, left)
            place = np.einsum("kr,kri->ki", prices.posterior(w), inverse[live])
            if step >= 1:  # the first letter is that of a larger cell
                moved = lowered[live] - place / size[live] / (1 + (step - 1) / 3)
                lowered[live] = np.maximum(moved, 0.0)
            is_inside = (place > -_OUTSIDE).all(axis=1) | (step >= _PATIENCE)
            is_settled = (reached > self._cut) | (upper[live] - reached <= 1e-7)
            live = live[(upper[live] > self._cut) & ~(is_inside & is_settled)]
            if not len(live):
                break
        return upper


def _linear_below(corners: Array, inverse: Array, lowered: Array) -> Array:
    """Linear functions, [cell, r], that at the corners are at least ``lowered`` below the entropy.

    The constant takes off what rounding may have added to it, and will add to its means.
    """
    height = entropy_nats(corners)
    slope = (inverse @ (height - lowered)[..., None])[..., 0]
    above = (corners @ slope[..., None])[..., 0] - height
    rounding = 64 * gamma(corners.shape[1] + 8) * (1 + np.abs(slope).max(axis=1))
    return np.asarray(slope - (np.maximum(above.max(axis=1), 0.0) + rounding)[:, None])


def _bisected(corners: Array) -> Array:
    """Split each cell at the middle of its most curved edge: the left halves, then the right."""
    middle = 0.5 * (corners[:, :, None] + corners[:, None])
    height = entropy_nats(corners)
    bulge = entropy_nats(middle) - 0.5 * (height[:, :, None] + height[:, None])
    n_r = corners.shape[1]
    first, second = np.unravel_index(bulge.reshape(len(corners), -1).argmax(axis=1), (n_r, n_r))
    own: NDArray[np.intp] = np.arange(len(corners))
    left, right = corners.copy(), corners.copy()
    left[own, second] = middle[own, first, second]
    right[own, first] = middle[own, first, second]
    return np.concatenate([left, right])
