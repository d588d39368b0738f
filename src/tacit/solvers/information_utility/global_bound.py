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
from tacit.solvers.information_utility.lagrangian import LEAST_ENTRY, LEAST_LOG, Lagrangian
from tacit.solvers.kernel import raise_if_late

_UNUSED = 1e-9
"""Probability below which a letter says nothing about prices."""

_RARE = 1e-3
"""The same of a letter in one cell, relative to the cell's most frequent one."""

_STEPS = 40
_ENTRY_WORK = 300
"""Operations for each entry of a letter in one step, next to the kernel's."""

"""Most steps towards the best letter of a cell."""

_OUTSIDE, _PATIENCE = 0.05, 6
"""How far outside its cell a letter may be before the cell is split, and steps that wait for it."""

_CLOSED = -1e30
"""Price of a cell without mass, and log w where a letter has none."""

_LEAST_SCALE = 1e-300
"""By which a letter changes in one step: logarithms are numbers."""

_LETTERS_KEPT = 64

_ENTRIES_AT_ONCE = 2**17

_MOST_ENTRIES = 25 * 10**5
"""Of the letters of all cells together: how finely the simplex may be cut, with ``_MOST_CELLS``."""

_MOST_CELLS = 12_000

_MOST_WORK = 7 * 10**7
"""Entries of the letters of cells and of what views see of them, once for each step."""


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
        self._open_price = np.where(self.mass > 0, self.cell_price, _CLOSED)
        self._least_w = LEAST_ENTRY * self._prior

    def _cell_prices(self, statement: Statement, channel: Array, doubt: float) -> Array:
        """lambda(z, x): what the letters that occur there cost.

        All cost the same in the limit. Short of it, the mean is best, but it is far off where cells
        are rare: there the cheapest letter counts. The bound loses at most ``doubt`` nats by it.
        """
        is_used = joint_rhat_r(statement, channel[None])[0].sum(axis=1) > _UNUSED
        used = channel[is_used]
        cost = self.cost(np.log(np.maximum(used, LEAST_ENTRY)), self.mass * used)
        is_rare = (used <= _RARE * used.max(axis=0)) & (used < used.max(axis=0))
        least = np.where(is_rare, np.inf, cost).min(axis=0)
        mean = (used * cost).sum(axis=0) / np.maximum(used.sum(axis=0), 1e-300)
        lost = doubt / (self.mass.size * np.maximum(self.mass, 1e-300))
        return np.asarray(np.maximum(least, mean - lost))

    @property
    def n_entries(self) -> int:
        """Of a letter and of what the views see of it."""
        return self.mass.size + self._row_prior.size

    @property
    def log_odds(self) -> Array:
        """log w / p(x | z) of the letter that tells nothing, [z, x]."""
        return np.tile(self._log_history[:, None], self.mass.shape[1])

    def letters(self, log_odds: Array) -> Array:
        """Letters [letter, z, x] from log w / p(x | z)."""
        return np.asarray(np.exp(log_odds) * self._prior)

    def worth(self, linear: Array) -> Array:
        """Prices of cells less the expectations of linear functions [letter, r] of the posterior.

        Cells without mass are worth so little that no letter has them.
        """
        return np.asarray(self._open_price - self.expect(linear))

    def by_history(self, left: Array) -> tuple[Array, Array]:
        """Upper bounds on <worth, w> - sum_S mu_S D_S(w) of letters w that have one history each.

        ``left`` is the worth less ``told_partial`` of any letters, [letter, z, x]: D_S(w) is at
        least <log q_S / p, w> for any q_S. Full collusion is maximised over in closed form. So the
        largest of the bounds, [letter, z], holds for all letters. The second array is log w(x) /
        p(x | z) of the maximisers.
        """
        price = self.multiplier[-1]
        scaled = left / price
        peak = scaled.max(axis=-1, keepdims=True)
        mean = np.einsum("kzx,zx->kz", np.exp(scaled - peak), self._prior)
        most = peak + np.log(mean)[..., None]
        return price * most[..., 0], scaled - most

    def excess(self, log_odds: Array, w: Array) -> Array:
        """What letters are worth beyond their price, [letter]."""
        told = self.told_partial(w) + self.told_everyone(log_odds, w.sum(axis=-1))
        paid = np.einsum("kzx,kzx->k", w, self.cell_price - told)
        return np.asarray(paid - entropy_nats(self.posterior(w)))

    @property
    def has_partial(self) -> bool:
        """Whether anything but full collusion is priced."""
        return bool(self.multiplier[:-1].any())

    def step(self, log_odds: Array, w: Array, gain: Array) -> tuple[Array, Array]:
        """A step of mirror ascent from letters to better ones, which never loses.

        D_S of a view that has seen nothing is smooth beside the divergence of laws of x, and of
        any other view beside that of laws of (z, x): steps are long where no price holds them.

        Args:
            log_odds: log w / p(x | z), [letter, z, x].
            w: the letters.
            gain: what they gain per cell: worth less what is told.
        """
        log_odds = log_odds + gain / self._price_of_seen
        peak = log_odds.max(axis=-2)
        w_of_record = w.sum(axis=-2)
        log_odds -= peak[..., None, :]
        w = self._prior * np.exp(log_odds)
        share = w.sum(axis=-2)
        slope = self._price_of_seen / (self._price_of_seen + self._price_of_unseen)
        grown = slope * (peak + np.log(share / w_of_record))
        record = w_of_record * np.exp(grown - grown.max(axis=-1, keepdims=True))
        scale = record / record.sum(axis=-1, keepdims=True) / share
        log_odds += np.log(np.maximum(scale, _LEAST_SCALE))[..., None, :]
        np.maximum(log_odds, LEAST_LOG, out=log_odds)
        w *= scale[..., None, :]
        return log_odds, np.maximum(w, self._least_w, out=w)


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
        if loose <= max(tolerance * LN2, 0.3 * tree.lower) or not tree.room:
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
        self._steps_left = int(effort * _MOST_WORK / prices.n_entries)
        least = prices.least_posterior
        self._corners = (least + (1 - least.sum()) * np.eye(n_r))[None]
        self._log_odds = prices.log_odds[None]
        self.upper = self._evaluate(self._corners, self._log_odds)

    @property
    def lower(self) -> float:
        """The largest excess of a letter that was found."""
        return float(self.found_excess[0])

    @property
    def room(self) -> int:
        """How many more cells there may be."""
        return self._most_cells - len(self.upper) if self._steps_left > 0 else 0

    def bisect(self, above: float) -> None:
        """Split the cells with the largest bounds, those above a number of nats."""
        self._cut = above
        order = np.argsort(-self.upper, kind="stable")
        n_chosen = min(int((self.upper > above).sum()), self.room)
        chosen, others = order[: max(1, n_chosen)], order[max(1, n_chosen) :]
        corners = _bisected(self._corners[chosen])
        log_odds = np.concatenate([self._log_odds[chosen]] * 2)
        upper = np.minimum(self._evaluate(corners, log_odds), np.tile(self.upper[chosen], 2))
        self._corners = np.concatenate([self._corners[others], corners])
        self._log_odds = np.concatenate([self._log_odds[others], log_odds])
        self.upper = np.concatenate([self.upper[others], upper])

    def _evaluate(self, corners: Array, log_odds: Array) -> Array:
        """Bounds of cells; moves their letters, log w / p(x | z), to the best found in each."""
        n_r = corners.shape[1]
        upper, excess = np.empty(len(corners)), np.empty(len(corners))
        q = np.empty((len(corners), n_r))
        size = max(1, _ENTRIES_AT_ONCE // log_odds[0].size)
        for start in range(0, len(corners), size):
            own = slice(start, start + size)
            raise_if_late(_ENTRY_WORK * _STEPS * log_odds[own].size)
            upper[own] = self._climb(corners[own], log_odds[own])
            w = self._prices.letters(log_odds[own])
            q[own], excess[own] = self._prices.posterior(w), self._prices.excess(log_odds[own], w)
        excess, q = np.append(self.found_excess, excess), np.append(self.found_posterior, q, axis=0)
        best = np.argsort(-excess, kind="stable")[:_LETTERS_KEPT]
        self.found_excess, self.found_posterior = excess[best], q[best]
        return upper

    def _climb(self, corners: Array, log_odds: Array) -> Array:
        """Bounds of some cells, as sharp as telling them from the cut needs.

        A letter that leaves its cell lowers the entropy at the corners that it went away from:
        multipliers of the conditions that a posterior lies in its cell.
        """
        prices, inverse = self._prices, np.asarray(np.linalg.inv(corners), float)
        size = np.einsum("kri,kr->ki", inverse**2, corners.mean(axis=1) + 1e-3)
        lowered = np.zeros(corners.shape[:2])
        upper, live = np.full(len(corners), np.inf), np.arange(len(corners))
        odds, w = log_odds, prices.letters(log_odds)
        for step in range(_STEPS):
            linear = _linear_below(corners[live], inverse[live], lowered[live])
            left = prices.worth(linear) - prices.told_partial(w)
            by_history, best_odds = prices.by_history(left)
            self._steps_left -= len(live)
            upper[live] = np.minimum(upper[live], by_history.max(axis=-1))
            gain = left - prices.told_everyone(odds, w.sum(axis=-1))
            reached = np.einsum("kzx,kzx->k", w, gain)
            if prices.has_partial:
                odds, w = prices.step(odds, w, gain)
            else:
                is_best = np.eye(by_history.shape[1], dtype=bool)[by_history.argmax(axis=-1)]
                odds = np.where(is_best[..., None], best_odds, _CLOSED)
                w = prices.letters(odds)
            log_odds[live] = odds
            place = np.einsum("kr,kri->ki", prices.posterior(w), inverse[live])
            if step >= 1:  # the first letter is that of a larger cell
                moved = lowered[live] - place / size[live] / (1 + (step - 1) / 3)
                lowered[live] = np.maximum(moved, 0.0)
            is_inside = (place > -_OUTSIDE).all(axis=1) | (step >= _PATIENCE)
            is_settled = (reached > self._cut) | (upper[live] - reached <= 1e-7)
            is_live = (upper[live] > self._cut) & ~(is_inside & is_settled)
            live, odds, w = live[is_live], odds[is_live], w[is_live]
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
