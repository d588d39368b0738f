"""How near to the best a recorded release is, proved from what is recorded ([M] fact 2).

For multipliers mu_S >= 0 and any laws q_S(x | a, y), no release that tells each view S at most
b_S bits more costs less than

    sum_{m,x} p(m, x) min_a G(a, m, x) - sum_S mu_S b_S,
    G = E[d(a, R) | x] + sum_S mu_S sum_y p(y | m, x) log2 q_S(x | a, y) / p(x | y).

Where levels of R count by themselves ([M] fact 13), a release whose worst level is V, or whose mean
cost is V, and that keeps every ceiling D_r, has V >= sum_r w_r E[d | R = r] - sum_r nu_r D_r, with
w_r = lambda_r + nu_r for the worst level, sum lambda_r = 1, and w_r = p(r) + nu_r for the mean. The
sum on the right is a mean cost again, of the distortion w_r / p(r) d. A release that reads only r
([M] fact 14) tells a view what it tells about R: the same bound holds with r in the place of
(m, x), and is higher.

Multipliers and the channel are those of the ledger, the laws are sought in
``tacit.study.proofs.witness``, and the solver is not asked. Rounding is taken off: what is
returned is below the true sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Account, information_lower_bits
from tacit.arrays import LN2, Array
from tacit.information.laws import gamma
from tacit.problem import MEAN
from tacit.sampling import IntegerChannel
from tacit.scheme.views import DESIGN_SHARE, ROUNDING_BITS, class_rows
from tacit.study.books.books import RESERVE_BITS, Request
from tacit.study.books.records import NO_LEVELS, HoldingRecord
from tacit.study.proofs.cap_prices import CappedView, find_cap_prices
from tacit.study.proofs.witness import (
    LimitedView,
    View,
    answer_worth,
    centred,
    find_forces,
    recorded_forces,
)

SPENT_BITS = 2 * RESERVE_BITS
"""A coalition that has no more left is told nothing more by a design."""

_SAME_BITS = 1e-9
"""What is left was computed in another way when the design was made."""

_NEAR = 1e-6
"""Relative to the largest cost: the search for a proof ends here."""

_LEFTOVER = 1e-6
"""Smaller multipliers, relative to what an answer is worth, come from the solver's tolerance."""


_CAP_ROUNDING = 1e-14
"""Relative: 2**cap p(x) may be rounded down."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How good the best release could have been.

    Attributes:
        bound: no release has a smaller cost that is within the recorded limits as a design keeps
            them: ``RESERVE_BITS`` below each, and nothing more for a coalition that has
            ``SPENT_BITS`` or less left. The cost is the mean, or the worst level's.
        reserve_worth: a release that uses these last bits too costs less by at most this much.
        room_worth: so does one that leaves no bits for merging letters, beside the former.
    """

    bound: float
    reserve_worth: float
    room_worth: float


def prove(
    before: Account,
    request: Request,
    channel: IntegerChannel,
    holdings: tuple[HoldingRecord, ...],
    levels: Mapping[str, float] = NO_LEVELS,
    ceilings: Mapping[str, float] = NO_LEVELS,
) -> Proof:
    """A lower bound on the worth of every release that could have been made instead.

    For an analysable release: of every one that reads nothing but what was asked.

    Args:
        before: what every coalition held when the release was designed, on the channel's classes.
        request: what it answers, judged by a cost.
        channel: the recorded table.
        holdings: the recorded limits and multipliers.
        levels: the recorded multipliers of the levels, by label, for the worst level.
        ceilings: those of the ceilings.
    """
    occurs = before.memory.mass.any(axis=0)
    rows = class_rows(before.memory.class_of_x, request.question.p_r_given_x)
    p_r = before.memory.mass.sum(axis=0) @ rows
    weights, paid = _level_weights(request, p_r, levels, ceilings)
    cost = (rows @ (request.distortion * weights).T)[occurs][:, None]
    mass = before.memory.mass.T[occurs]
    # One unit more than recorded: what was rounded to 0 is not taken for impossible.
    counts = channel.weights.transpose(1, 0, 2)[occurs] + 1.0
    law = counts / counts.sum(axis=-1, keepdims=True)
    n_answers = channel.weights.shape[-1]
    limited = _priced_views(before, holdings, n_answers, answer_worth(cost, mass))
    capped = _capped_views(before, holdings)
    roundings = before.memory.roundings
    if request.analysable:
        level = rows[occurs].argmax(axis=1)
        roundings += mass.size
        cost, mass, law, limited, capped = _read_only_levels(
            level, cost, mass, law, limited, capped
        )
    views = [replace(view, budget=_kept(view)) for view in limited]
    evaluation = _Evaluation(cost, mass, roundings, views, capped)
    with np.errstate(all="ignore"):  # what overflows proves nothing, and says so
        bound, forces = evaluation.best_bound(law)
        forgone = np.sum([_forgone(*each) for each in zip(limited, forces, strict=True)], axis=0)
        blind = _Evaluation(cost, mass, roundings, [], []).bound([], [])
    if not bound > blind:
        return Proof(blind - paid, 0.0, 0.0)
    # Whatever is told, nothing costs less than the best letter of every cell.
    reserve_worth, room_worth = np.broadcast_to(forgone, 2)  # 0 where no view has a price
    gain = bound - blind
    reserve_worth = min(float(reserve_worth), gain)
    return Proof(bound - paid, reserve_worth, min(float(room_worth), gain - reserve_worth))


def prove_copy(
    before: Account,
    request: Request,
    letters: Array,
    holdings: tuple[HoldingRecord, ...],
    levels: Mapping[str, float] = NO_LEVELS,
    ceilings: Mapping[str, float] = NO_LEVELS,
) -> Proof:
    """The same for letters of an earlier release: the better of two bounds ([M] fact 16).

    No release under the party's own limit does better, whatever was released before; nor does one
    that is drawn anew under all limits.

    Args:
        before: what every coalition held before the copy.
        request: what it answers.
        letters: what is known of them, p(letter | m, x), [m, class, letter].
        holdings, levels, ceilings: as for ``prove``.
    """
    memory = before.memory
    alone = Account.start(before.counts, memory.cap, memory.policy, memory.class_of_x)
    own = tuple(each for each in holdings if each.parties == (request.party,))
    law = np.einsum("mx,mxa->xa", memory.mass, letters)
    total = law.sum(axis=1, keepdims=True)
    law = np.where(total > 0, law / np.where(total > 0, total, 1.0), 1 / law.shape[1])
    best = prove(alone, request, IntegerChannel.quantised(law[None]), own, levels, ceilings)
    proofs = (
        replace(best, room_worth=0.0),  # without history there are no letters to merge
        prove(before, request, IntegerChannel.quantised(letters), holdings, levels, ceilings),
    )
    return max(proofs, key=lambda each: each.bound - each.reserve_worth - each.room_worth)


def _level_weights(
    request: Request, p_r: Array, levels: Mapping[str, float], ceilings: Mapping[str, float]
) -> tuple[Array, float]:
    """w_r / p(r) of each level, [r], 0 where it never occurs, and sum nu_r D_r, rounded up."""
    occurs, labels = p_r > 0, request.question.labels
    weights = p_r
    if request.measure.objective != MEAN:
        given = np.where(occurs, [levels.get(label, 0.0) for label in labels], 0.0)
        weights = given / given.sum() if given.sum() > 0 else p_r / p_r.sum()
    prices = {r: ceilings.get(labels[r], 0.0) for r in request.ceilings if occurs[r]}
    paid = sum(price * request.ceilings[r] for r, price in prices.items())
    extra = np.array([prices.get(r, 0.0) for r in range(len(labels))])
    scaled = np.where(occurs, (weights + extra) / np.where(occurs, p_r, 1.0), 0.0)
    return np.asarray(scaled), (1 + gamma(len(labels) + 64)) * paid


def _read_only_levels(
    level: NDArray[np.intp],
    cost: Array,
    mass: Array,
    law: Array,
    views: list[LimitedView],
    capped: list[CappedView],
) -> tuple[Array, Array, Array, list[LimitedView], list[CappedView]]:
    """Costs, masses, law and views with the level in the place of (m, x).

    A law that reads more copies earlier answers. Its mean at each level is worth as much, and reads
    nothing but the level.
    """
    _, some_x, level = np.unique(level, return_index=True, return_inverse=True)
    by_level = np.eye(len(some_x))[level].T  # [r, x]

    def law_of(view: View) -> Array:
        told = view.p_yx if view.law is None else view.law.sum(axis=2)
        return np.asarray(by_level @ told)[..., None]

    p_r = by_level @ mass.sum(axis=1, keepdims=True)
    mean = (by_level @ (mass[..., None] * law).sum(axis=1) / p_r)[:, None]
    limited = [replace(each, law=law_of(each), p_yx=by_level @ each.p_yx) for each in views]
    also = [
        replace(
            each, law=law_of(each), p_yx=by_level @ each.p_yx, most=_most_of_levels(each, level)
        )
        for each in capped
    ]
    return cost[some_x], p_r, mean, limited, also


def _most_of_levels(view: CappedView, level: NDArray[np.intp]) -> Array:
    """p(a, y, r) / p(a, y) at most, [r, y], where p(a | r) is the same for all x of a level.

    p(a, y, x) = p(y, x) p(a | r), so the x that the letter y fits best decides.
    """
    shape = int(level.max()) + 1, view.p_yx.shape[1]
    p_yr, least = np.zeros(shape), np.full(shape, inf)
    np.add.at(p_yr, level, view.p_yx)
    occurs = view.p_yx > 0
    ratio = np.where(occurs, view.most / np.where(occurs, view.p_yx, 1.0), inf)
    np.minimum.at(least, level, ratio)
    return np.where(p_yr > 0, p_yr * np.where(p_yr > 0, least, 1.0), 1.0)


def _kept(view: LimitedView) -> float:
    """What a design gives to a view of its budget."""
    return 0.0 if isinf(view.multiplier) else view.budget - RESERVE_BITS


def _forgone(view: LimitedView, force: Array) -> tuple[float, float]:
    """Upper bounds on what a view's last bits could have been worth, and the room beside these.

    With a multiplier: the bits times it. A view that is told nothing at all leaves b nats unused:
    with them, p(a, y, x) could have been off p(a, y) p(x | y) by sqrt(2 b), summed over everything
    (Pinsker). The deviations sum to 0 over x, so each is worth at most half the range of the force.
    """
    if not isinf(view.multiplier):
        price = (1 + 1e-9) * view.multiplier
        return price * (view.budget - _kept(view)), price * view.room
    occurs = view.p_yx[..., None] > 0
    most = np.where(occurs, force, -np.inf).max(axis=0)
    least = np.where(occurs, force, np.inf).min(axis=0)
    half = 0.5 * np.where(most > least, most - least, 0.0).max()
    reserve = float((1 + 1e-9) * half * np.sqrt(2 * LN2 * view.budget))
    with_room = float((1 + 1e-9) * half * np.sqrt(2 * LN2 * (view.budget + view.room)))
    return reserve, with_room - reserve


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
        told = information_lower_bits(view.held, memory.roundings + view.n_summed)
        budget = holding.limit - told - view.slack
        room = memory.allowance(frozenset(holding.parties), n_answers, limits)
        budget = max(budget - room, 0.0)
        room += DESIGN_SHARE * budget + ROUNDING_BITS
        views.append(_view(law, p_yx, holding.multiplier, budget, room))
    if on_everyone:
        # The states themselves, limited as [M] fact 6 says; all share one multiplier.
        budget = min(each.limit for each in on_everyone) - before.everyone_bits
        multiplier = max(each.multiplier for each in on_everyone)
        views.append(_view(None, memory.mass.T[occurs], multiplier, budget))
    return [view for view in views if view.multiplier > _LEFTOVER * worth > 0]


def _capped_views(before: Account, holdings: tuple[HoldingRecord, ...]) -> list[CappedView]:
    """Views of coalitions with a cap whose answers are followed: merged letters keep it, too.

    A coalition that is followed only as a part of everyone has none.
    """
    memory = before.memory
    occurs = memory.mass.any(axis=0)
    p_x = memory.mass.sum(axis=0)[occurs]
    views = []
    for holding in holdings:
        if holding.cap is None:
            continue
        held_by = frozenset(holding.parties) & memory.present
        is_everyone = held_by == memory.present != frozenset()
        view = None if is_everyone else memory.view(held_by)
        if view is None and not is_everyone:
            continue
        p_yx = memory.mass.T[occurs] if view is None else view.held.T[occurs]
        most = np.repeat((1 + _CAP_ROUNDING) * 2.0**holding.cap * p_x[:, None], p_yx.shape[1], 1)
        views.append(CappedView(None if view is None else view.law[occurs], p_yx, most))
    return [view for view in views if (view.most < 1).any()]


def _view(
    law: Array | None, p_yx: Array, multiplier: float, budget: float, room: float = 0.0
) -> LimitedView:
    """A view; one that has next to nothing left and no recorded price may be told nothing."""
    # What adds exactly nothing is always allowed: a budget is never negative.
    budget = max(budget, 0.0)
    is_spent = budget <= SPENT_BITS + _SAME_BITS and multiplier <= 0
    return LimitedView(law, p_yx, inf if is_spent else multiplier, budget, room)


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """The sum above for given laws, rounding taken off.

    Attributes:
        cost: [x, 1, a].
        mass: p(m, x), [x, m].
        roundings: behind each mass.
        views: those with a limit that has a price.
        capped: those with a cap.
    """

    cost: Array
    mass: Array
    roundings: int
    views: Sequence[LimitedView]
    capped: Sequence[CappedView]

    def best_bound(self, law: Array) -> tuple[float, list[Array]]:
        """The best bound that is found for a recorded law [x, m, a], and its forces.

        Where caps bind, their prices are sought for given forces, and then forces for these prices.
        """
        value, near = float((self.mass[..., None] * law * self.cost).sum()), _NEAR * self.cost.max()
        found = find_forces(self.cost, self.mass, law, self.views, near)
        best = self.bound(found, []), found
        starts = [recorded_forces(law, self.views), found] if self.capped else []
        for forces in starts:
            if best[0] >= value - near:
                break
            base, _ = self._prices(forces, [])
            prices = find_cap_prices(base, self.mass, law, self.capped)
            cost, _ = self._prices([], prices)
            found = find_forces(cost, self.mass, law, self.views, near)
            for each in (forces, found):
                best = max(best, (self.bound(each, prices), each), key=lambda pair: pair[0])
        return best

    def bound(self, forces: Sequence[Array], prices: Sequence[Array]) -> float:
        """The bound for a force on every view, [x, y, a], and for prices of caps.

        ``-inf`` where it overflows.

        Prices are lowered by what rounding may have added to each: every mass is within
        ``roundings`` of the truth, and a price is a mean of forces. Shares p(y | m, x) and priors
        p(x | y) are ratios of sums of masses, hence within 2 ``slack``; a force and its mean are
        off by 3 ``slack`` of the largest, and a law that does not quite sum to 1 costs 3 ``slack``
        of its multiplier. That is at most 2 ``slack`` of the size; twice that is taken off.
        """
        sizes = [sum(view.p_yx.shape) for view in (*self.views, *self.capped)]
        slack = gamma(self.roundings + sum(self.mass.shape) + self.cost.shape[-1] + sum(sizes) + 64)
        price, size = self._prices(forces, prices)
        terms = self.mass * (price - 4 * slack * size).min(axis=-1)
        unpaid = float((terms - 4 * slack * np.abs(terms)).sum())
        paid = sum(view.paid for view in self.views)
        bound = unpaid - paid - gamma(64) * (abs(unpaid) + paid)
        return bound if np.isfinite(bound) else -inf

    def _prices(self, forces: Sequence[Array], prices: Sequence[Array]) -> tuple[Array, Array]:
        """G for some forces and prices of caps, or none, and the size of its terms, [x, m, a]."""
        price = np.repeat(self.cost, self.mass.shape[1], axis=1)
        size = np.abs(price)
        for view, force in zip(self.views if forces else (), forces, strict=True):
            told = centred(force, view.prior, view.multiplier)
            largest = np.abs(force).max(axis=0, keepdims=True)
            weight = 0.0 if isinf(view.multiplier) else 4 * view.multiplier
            price += view.spread(told, self.mass)
            size += view.spread(np.abs(told) + 2 * largest + weight, self.mass)
        for capped, own in zip(self.capped if prices else (), prices, strict=True):
            price += capped.spread(capped.pull(own), self.mass)
            size += capped.spread(own + capped.common(own), self.mass)
        return price, size
