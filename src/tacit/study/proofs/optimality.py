"""How near to the best a recorded release is, proved from what is recorded ([M] fact 2).

For multipliers mu_S >= 0 and any laws q_S(x | a, y), no release that tells each view S at most
b_S bits more costs less than

    sum_{m,x} p(m, x) min_a G(a, m, x) - sum_S mu_S b_S,
    G = E[d(a, R) | x] + sum_S mu_S sum_y p(y | m, x) log2 q_S(x | a, y) / p(x | y).

Multipliers and the channel are those of the ledger, the laws are sought in
``tacit.study.proofs.witness``, and the solver is not asked. Rounding is taken off: what is
returned is below the true sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np

from tacit.accounting import Account
from tacit.arrays import LN2, Array
from tacit.information.laws import gamma
from tacit.sampling import IntegerChannel
from tacit.scheme.views import class_rows
from tacit.study.books.books import RESERVE_BITS, Request
from tacit.study.books.records import HoldingRecord
from tacit.study.proofs.witness import LimitedView, answer_worth, centred, find_forces

SPENT_BITS = 2 * RESERVE_BITS
"""A coalition that has no more left is told nothing more by a design."""

_SAME_BITS = 1e-9
"""What is left was computed in another way when the design was made."""

_NEAR = 1e-6
"""In units of the cost: the search for a proof ends here."""

_LEFTOVER = 1e-6
"""Smaller multipliers, relative to what an answer is worth, come from the solver's tolerance."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How good the best release could have been.

    Attributes:
        bound: no release has a smaller mean cost that is within the recorded limits as a design
            keeps them: ``RESERVE_BITS`` below each, and nothing more for a coalition that has
            ``SPENT_BITS`` or less left.
        reserve_worth: a release that uses these last bits too costs less by at most this much.
    """

    bound: float
    reserve_worth: float


def prove(
    before: Account, request: Request, channel: IntegerChannel, holdings: tuple[HoldingRecord, ...]
) -> Proof:
    """A lower bound on the mean cost of every release that could have been made instead.

    Args:
        before: what every coalition held when the release was designed, on the channel's classes.
        request: what it answers, judged by a mean cost.
        channel: the recorded table.
        holdings: the recorded limits and multipliers.
    """
    occurs = before.memory.mass.any(axis=0)
    rows = class_rows(before.memory.class_of_x, request.question.p_r_given_x)
    cost = (rows @ request.distortion.T)[occurs]
    mass = before.memory.mass.T[occurs]
    # One unit more than recorded: what was rounded to 0 is not taken for impossible.
    weights = channel.weights.transpose(1, 0, 2)[occurs] + 1.0
    law = weights / weights.sum(axis=-1, keepdims=True)
    n_answers = channel.weights.shape[-1]
    limited = _priced_views(before, holdings, n_answers, answer_worth(cost, mass))
    views = [replace(view, budget=_kept(view)) for view in limited]
    evaluation = _Evaluation(cost, mass, before.memory.roundings)
    with np.errstate(all="ignore"):  # what overflows proves nothing, and says so
        forces = find_forces(cost, mass, law, views, _NEAR)
        bound = evaluation.bound(views, forces)
        forgone = sum(map(_forgone, limited, forces))
        blind = evaluation.bound([], [])
    if not bound > blind:
        return Proof(blind, 0.0)
    # Whatever is told, nothing costs less than the best letter of every cell.
    return Proof(bound, min(forgone, bound - blind))


def _kept(view: LimitedView) -> float:
    """What a design gives to a view of its budget."""
    return 0.0 if isinf(view.multiplier) else view.budget - RESERVE_BITS


def _forgone(view: LimitedView, force: Array) -> float:
    """An upper bound on what a view's unused bits could have been worth.

    With a multiplier: the bits times it. A view that is told nothing at all leaves b nats unused:
    with them, p(a, y, x) could have been off p(a, y) p(x | y) by sqrt(2 b), summed over everything
    (Pinsker). The deviations sum to 0 over x, so each is worth at most half the range of the force.
    """
    if not isinf(view.multiplier):
        return (1 + 1e-9) * view.multiplier * (view.budget - _kept(view))
    occurs = view.p_yx[..., None] > 0
    most = np.where(occurs, force, -np.inf).max(axis=0)
    least = np.where(occurs, force, np.inf).min(axis=0)
    half = 0.5 * np.where(most > least, most - least, 0.0).max()
    return float((1 + 1e-9) * half * np.sqrt(2 * LN2 * view.budget))


def _priced_views(
    before: Account, holdings: tuple[HoldingRecord, ...], n_answers: int, worth: float
) -> list[LimitedView]:
    """Views with a price, their budgets as the recorded limits and merging leave them."""
    memory = before.memory
    limits = {frozenset(holding.parties): holding.limit for holding in holdings}
    occurs = memory.mass.any(axis=0)
    views: list[LimitedView] = []
    on_everyone: list[HoldingRecord] = []
    for holding in holdings:
        held_by = frozenset(holding.parties) & memory.present
        view = memory.view(held_by)
        if view is None or held_by == memory.present != frozenset():
            on_everyone.append(holding)
            continue
        p_yx, law = view.held.T[occurs], view.law[occurs]
        budget = holding.limit - _told_at_least(p_yx, memory.roundings + view.n_summed) - view.slack
        budget -= memory.allowance(frozenset(holding.parties), n_answers, limits)
        views.append(_view(law, p_yx, holding.multiplier, budget))
    if on_everyone:
        # The states themselves, limited as [M] fact 6 says; all share one multiplier.
        budget = min(each.limit for each in on_everyone) - before.everyone_bits
        multiplier = max(each.multiplier for each in on_everyone)
        views.append(_view(None, memory.mass.T[occurs], multiplier, budget))
    return [view for view in views if view.multiplier > _LEFTOVER * worth > 0]


def _view(law: Array | None, p_yx: Array, multiplier: float, budget: float) -> LimitedView:
    """A view; one that has next to nothing left and no recorded price may be told nothing."""
    # What adds exactly nothing is always allowed: a budget is never negative.
    budget = max(budget, 0.0)
    is_spent = budget <= SPENT_BITS + _SAME_BITS and multiplier <= 0
    return LimitedView(law, p_yx, inf if is_spent else multiplier, budget)


def _told_at_least(p_yx: Array, roundings: int) -> float:
    """A number below I(Y; X) in bits, p(y, x) as [x, y]."""
    product = p_yx.sum(axis=0) * p_yx.sum(axis=1, keepdims=True)
    logs = np.log2(np.where(p_yx > 0, p_yx / np.where(product > 0, product, 1.0), 1.0))
    error = 16 * gamma(roundings + p_yx.size + 64)
    return float((p_yx * (logs - error * (np.abs(logs) + 4))).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """The sum above for given laws, rounding taken off.

    Attributes:
        cost: [x, a].
        mass: p(m, x), [x, m].
        roundings: behind each mass.
    """

    cost: Array
    mass: Array
    roundings: int

    def bound(self, views: Sequence[LimitedView], forces: Sequence[Array]) -> float:
        """The bound for a force on every view, [x, y, a]; ``-inf`` where it overflows.

        Prices are lowered by what rounding may have added to each (compare
        ``tacit.solvers.convex.certificate``): every mass is within ``roundings`` of the truth, a
        price is a mean of forces, and a law sums to 1 within rounding, which costs its multiplier.
        """
        sizes = [sum(view.p_yx.shape) for view in views]
        slack = gamma(self.roundings + sum(self.mass.shape) + self.cost.shape[1] + sum(sizes) + 64)
        price = np.repeat(self.cost[:, None], self.mass.shape[1], axis=1)
        size = np.abs(price)
        for view, force in zip(views, forces, strict=True):
            told = centred(force, view.prior, view.multiplier)
            largest = np.abs(force).max(axis=0, keepdims=True)
            weight = 0.0 if isinf(view.multiplier) else 4 * view.multiplier
            price += view.spread(told, self.mass)
            size += view.spread(np.abs(told) + 2 * largest + weight, self.mass)
        terms = self.mass * (price - 16 * slack * size).min(axis=-1)
        unpaid = float((terms - 4 * slack * np.abs(terms)).sum())
        paid = sum(view.paid for view in views)
        bound = unpaid - paid - gamma(64) * (abs(unpaid) + paid)
        return bound if np.isfinite(bound) else -inf
