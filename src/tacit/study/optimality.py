"""How near to the best a recorded release is, proved from what is recorded (DESIGN fact 2).

For multipliers mu_S >= 0 and any laws q_S(x | rhat, y), no release within the limits delta_S costs
less than

    sum_{m,x} p(m, x) min_rhat G(rhat, m, x) - sum_S mu_S delta_S,
    G = E[d(rhat, R) | x] + sum_S mu_S sum_y p(y | m, x) log2 q_S(x | rhat, y) / p(x).

The laws here are the posteriors of the recorded table, made positive; the solver is not asked.
"""

from __future__ import annotations

import numpy as np

from tacit.accounting import Account
from tacit.information import mutual_information
from tacit.problem import Array
from tacit.sampling import IntegerChannel
from tacit.study.asking import Wish, distortion
from tacit.study.records import HoldingRecord

_View = tuple[HoldingRecord, Array, float]
"""A view with a price: the recorded limit, p(y, m, x) as [y, m, x], the limit on I(Rhat, Y; X)."""

_RARE = (0.0, 1e-6, 1e-4, 1.0)
"""Letters with a smaller share get a law of their own instead of their posterior; each gives a
bound, and the best is taken."""

_USED = 1e-4
"""Letters with a larger probability somewhere decide what a price should be."""

_NO_PRICE = 1e-5
"""Multipliers that are smaller than the largest by this factor are the solver's leftovers."""


def lower_bound(
    before: Account, wish: Wish, channel: IntegerChannel, holdings: tuple[HoldingRecord, ...]
) -> float:
    """No release within the recorded limits has a smaller mean cost.

    Args:
        before: what every coalition held when the release was designed.
        wish: what it answers, judged by a mean cost.
        channel: the recorded table.
        holdings: the recorded limits and multipliers.
    """
    cost = wish.question.request.p_r_given_x @ distortion(wish).T  # [x, rhat]
    views = _priced_views(before, holdings)
    mass = before.memory.mass
    paid = sum(holding.multiplier * limit for holding, _, limit in views)
    is_used = (channel.law > _USED).any(axis=1, keepdims=True)
    price = _price(cost, views, mass, channel)
    aim = np.where(is_used, price, np.inf).min(axis=-1)
    prices = [_price(cost, views, mass, channel, rare, aim) for rare in _RARE]
    return max(float((mass * price.min(axis=-1)).sum()) - paid for price in prices)


def _price(
    cost: Array,
    views: list[_View],
    mass: Array,
    channel: IntegerChannel,
    rare: float = 0.0,
    aim: Array | None = None,
) -> Array:
    """G, [m, x, rhat].

    A view that never sees a letter has no posterior for it, and one that sees it rarely has a
    posterior of rounding. With ``aim`` [m, x], letters with a share up to ``rare`` are given the
    law that brings their price nearest to that: what the optimality conditions ask for where one
    view has a price, a guess where several have. Any law gives a valid bound.
    """
    price = np.broadcast_to(cost, channel.weights.shape).copy()
    per_bit = sum(holding.multiplier for holding, _, _ in views)
    p_x = mass.sum(axis=0)
    for holding, law, _ in views:
        # One unit more than recorded: what was rounded to 0 is not taken for impossible.
        told = np.einsum("ymx,mxa->yax", law, channel.weights + 1.0)
        if aim is not None:
            p_y_rhat = np.einsum("ymx,mxa->ya", law, channel.law)
            is_seen = p_y_rhat > rare * p_y_rhat.sum(axis=1, keepdims=True)
            told = np.where(is_seen[..., None], told, _aimed(law, aim, cost, per_bit, p_x))
        price += holding.multiplier * _mean_log_ratio(told, law, mass, p_x)
    return price


def _aimed(law: Array, aim: Array, cost: Array, per_bit: float, p_x: Array) -> Array:
    """p(x) 2^((aim - cost) / mu), aim averaged over the states behind y, [y, rhat, x]."""
    total = law.sum(axis=1)
    mean = np.einsum("ymx,mx->yx", law, aim) / np.where(total > 0, total, 1.0)
    exponent = (mean[:, None] - cost.T) / per_bit
    return np.asarray(np.where(total[:, None] > 0, p_x * np.exp2(np.clip(exponent, -500, 500)), 0))


def _mean_log_ratio(told: Array, law: Array, mass: Array, p_x: Array) -> Array:
    """sum_y p(y | m, x) log2 q(x | rhat, y) / p(x), [m, x, rhat], q in proportion to ``told``."""
    total = told.sum(axis=-1, keepdims=True)
    ratio = told / np.where(total > 0, total, 1.0) / np.where(p_x > 0, p_x, 1.0)
    logs = np.log2(np.where(ratio > 0, ratio, 1.0))
    given = np.where(mass > 0, law / np.where(mass > 0, mass, 1.0), 0.0)
    return np.asarray(np.einsum("ymx,yax->mxa", given, logs))


def _priced_views(before: Account, holdings: tuple[HoldingRecord, ...]) -> list[_View]:
    memory = before.memory
    views: list[_View] = []
    on_everyone: list[HoldingRecord] = []
    largest = max((each.multiplier for each in holdings), default=0.0)
    for holding in (each for each in holdings if each.multiplier > _NO_PRICE * largest):
        held_by = frozenset(holding.parties) & memory.present
        law = memory.law(held_by)
        if law is None or held_by == memory.present != frozenset():
            on_everyone.append(holding)
        else:
            views.append((holding, law, holding.limit))
    if on_everyone:
        tightest = min(on_everyone, key=lambda each: each.limit)
        # The states themselves, limited as DESIGN fact 6 says.
        law = np.eye(len(memory.mass))[..., None] * memory.mass
        limit = tightest.limit - before.everyone_bits + mutual_information(memory.mass)
        views.append((tightest, law, limit))
    return views
