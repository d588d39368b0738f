"""Views with hardly any bits left: a price on their leakage instead of a limit.

A limit of a millionth of a bit may be too curved for Newton's model: while a view learns next to
nothing, its multiplier and its leakage are both far from their final values. At a fixed price the
problem is well conditioned. The prices are found by column generation (Dantzig and Wolfe, 1960):
each price gives a release and a lower bound; a linear program mixes the releases so that every
budget holds, which convexity allows, and its multipliers are the next prices. Where the cost falls
in proportion to the leakage no single price meets the budget, and the optimum *is* such a mixture.
It is slow: it comes last, where solving within the limits leaves a gap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.arrays import Array
from tacit.linear_program import minimise_linear
from tacit.solvers.convex.certificate import leakage_upper_nats, settled_channel
from tacit.solvers.convex.program import Program
from tacit.solvers.kernel import Outcome, Pace

_MOST_COLUMNS = 60

_MOST_WORK = 2e10
"""Additions and multiplications of all columns together: a second or two."""

_PATIENCE = 15
"""Columns that may pass without closing the gap any further."""

_FILL = 1 - 1e-6
"""Share of each budget that a mixture may use: the rest covers rounding on the whole program."""

_OWN_SHARE = 0.1
"""Share of the gap that one column may leave open at its own prices."""

_TOWARDS = (0.5, 0.2, 0.05, 0.9)
"""How far to go from the best prices to the linear program's, in turn while nothing is gained."""

_GUESSES = 4
"""Columns, the one within all limits included, whose prices are not the linear program's."""


def minimise_by_prices(program: Program, pace: Pace) -> Outcome:
    """Solve a batch of one, some of whose views are priced."""
    own = program.is_priced[0]
    budgets = program.budgets[0, own]
    # The price of a slack budget need not fall to 0: below this it loses next to nothing.
    least_price = 0.02 * pace.gap_tol / budgets
    for_column = replace(
        pace, gap_tol=_OWN_SHARE * pace.gap_tol, frugality=_OWN_SHARE * pace.frugality
    )
    mixture = _Mixture(program, len(budgets))
    column, price, bound = _within_limits(program, pace, least_price)
    before, idle = np.inf, 0
    while True:
        column.channel = settled_channel(program, column.channel)
        used = leakage_upper_nats(program, column.channel)[1][0, own] / budgets
        mixture.add(column, price, used, bound)
        value, shares, worth = mixture.best()
        gap = value - mixture.bound
        idle = 0 if gap < 0.99 * before else idle + 1
        is_given_up = idle == _PATIENCE or mixture.n_columns == _MOST_COLUMNS
        if gap < pace.gap_tol or is_given_up or mixture.work > _MOST_WORK:
            return mixture.outcome(shares)
        if mixture.n_columns == 1:
            wanted = price[own]
        elif mixture.n_columns <= _GUESSES:
            # Near no leakage the cost often falls as the root of the leakage, and the leakage as
            # the inverse square of its price.
            wanted = price[own] * np.clip(np.sqrt(used), 0.25, 4.0)
        else:
            # Part of the way from the best prices yet (Wentges, 1997): far jumps are mostly
            # wasted, and short ones may add nothing.
            best_price = mixture.best_price[own]
            towards = _TOWARDS[idle % len(_TOWARDS)]
            wanted = best_price + towards * (worth / budgets - best_price)
        before = min(gap, before)
        price = np.zeros(len(own))
        price[own] = np.maximum(wanted, least_price)
        column = program.minimise(price, for_column)
        bound = float(column.bound[0] - price[own] @ budgets)


def _within_limits(
    program: Program, pace: Pace, least_price: Array
) -> tuple[Outcome, Array, float]:
    """The first column: the release within all limits, the prices that it found, its bound."""
    own = program.is_priced[0]
    column = program.minimise(np.zeros(len(own)), pace)
    price = np.zeros(len(own))
    price[own] = np.maximum(column.multipliers[0, own], least_price)
    return column, price, float(column.bound[0])


class _Mixture:
    """Releases found so far, the best constant one among them, and how to mix them.

    Attributes:
        bound: the best lower bound on what any mixture costs.
        best_price: the prices that gave it, [view + 1].
        n_columns: releases that were added.
        work: additions and multiplications that they took.
    """

    def __init__(self, program: Program, n_budgets: int) -> None:
        blind = int(program.constant_costs[0].argmin())
        constant = np.zeros((1, program.n_rhat, *program.mass.shape))
        constant[:, blind] = 1.0
        self._program = program
        self._channels = [constant]
        self._costs = [float(program.constant_costs[0, blind])]
        self._used = [np.zeros(n_budgets)]
        self._proof: Outcome | None = None
        self.bound = -np.inf
        self.best_price = np.zeros(0)
        self.n_columns = 0
        self.work = 0.0

    def add(self, column: Outcome, price: Array, used: Array, bound: float) -> None:
        """A release at some prices, the share of each priced budget that it uses, and its bound."""
        self._channels.append(column.channel)
        self._costs.append(float((self._program.mass * self._program.cost * column.channel).sum()))
        self._used.append(used)
        self.n_columns += 1
        self.work += float(column.work[0])
        if self._proof is None or bound > self.bound:
            self.bound, self.best_price, self._proof = bound, price, column

    def best(self) -> tuple[float, Array, Array]:
        """Least cost of a mixture within all budgets, its shares, and what each budget is worth."""
        used = np.stack(self._used, axis=1)
        solved = minimise_linear(
            self._costs,
            np.vstack([used, np.ones(len(self._costs))]),
            np.append(np.full(len(used), -np.inf), 1.0),
            np.append(np.full(len(used), _FILL), 1.0),
        )
        if solved.point is None:  # rounding: the constant release is feasible
            return self._costs[0], np.eye(len(self._costs))[0], np.zeros(len(used))
        shares = np.maximum(solved.point, 0.0)
        return float(self._costs @ solved.point), shares / shares.sum(), -solved.prices[:-1]

    def outcome(self, shares: Array) -> Outcome:
        """The mixture as a channel, with the best proof."""
        assert self._proof is not None
        used = [index for index, share in enumerate(shares) if share > 0]
        channel = np.sum([shares[index] * self._channels[index] for index in used], axis=0)
        return replace(self._proof, channel=channel, is_zero=self._proof.is_zero & (channel < 1e-6))
