"""Caps on single answers: what they add to prices and are worth, and channels that meet them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.arrays import Array
from tacit.solvers.convex.program import Program


def pull_of_caps(caps: Array, multipliers: Array) -> tuple[Array, Array]:
    """What caps add to the price of p(rhat, y, x), and the size of its terms ([M] fact 15).

    sum m (p(rhat, y, x) - cap p(rhat, y)) <= 0 for every channel that meets the caps.
    """
    is_capped = np.isfinite(caps)
    own = np.where(is_capped, np.maximum(multipliers, 0.0), 0.0)
    common = (own * np.where(is_capped, caps, 0.0)).sum(axis=-1, keepdims=True)
    return own - common, own + common


def cap_worths(program: Program, row_cap: Array | None, full_cap: Array | None) -> Array:
    """What one more bit of each view's cap would be worth, at most, [batch, view + 1].

    With a cap raised from K to K 2^b, b <= 1, the bound falls by (2^b - 1) sum cap m p(rhat, y),
    and 2^b - 1 <= b; p(rhat, y) sums to p(y) over the letters.
    """
    n_batch = len(row_cap if row_cap is not None else full_cap if full_cap is not None else ())
    worths = np.zeros((max(1, n_batch), program.rows.n_views + 1))
    if row_cap is not None and program.row_caps is not None:
        worth = _worst_common(program.row_caps, row_cap) * program.row_mass.sum(axis=-1)
        worths[:, :-1] = program.rows.per_view(worth)
    if full_cap is not None and program.full_caps is not None:
        worth = _worst_common(program.full_caps, full_cap) * program.mass_z
        worths[:, -1] = worth.sum(axis=-1)
    return worths


def _worst_common(caps: Array, multipliers: Array) -> Array:
    """The largest sum of cap times multiplier over x of any letter, [batch, row or z]."""
    own = np.where(np.isfinite(caps), caps, 0.0) * np.maximum(multipliers, 0.0)
    return np.asarray(own.sum(axis=-1).max(axis=1))


# -- channels --------------------------------------------------------------------------------------

_DIES_OUT = 2e-8
"""Letters that are told less often can be left out at no cost."""

_MIXED_ALIKE = ((2, 3), (2, 3), (1, 2, 3))
"""Axes of [batch, rhat, z, x] that are mixed alike with a blind draw, in turn: each letter as far
as its own caps need it, twice, because cells then no longer sum to 1; at last all letters."""

_DIGITS, _ROOM = 1e-12, 1e-9
"""Share of a cap that is left for rounding, and at most so much of the room that it leaves to an
even draw: caps that are nearly reached would take all of it."""


def meet_caps(program: Program, c: Array) -> Array:
    """Channels that meet every cap, [batch, rhat, z, x].

    Letters that die out may be far off their caps. They are dissolved: where one was told, another
    letter is drawn blindly instead, which leaves the others their room. What is left is met by
    mixing with blind draws, in the way that moves the channel least.
    """
    drawn = (program.mass * c).sum(axis=(2, 3), keepdims=True)
    share = _share_below_caps(program, c, drawn)
    is_off = share.min(axis=(2, 3), keepdims=True) < 1
    is_lost = is_off & (drawn < _DIES_OUT)
    if is_lost.any():
        others = np.where(is_lost, 0.0, drawn)
        lost = (c * is_lost).sum(axis=1, keepdims=True)
        c = np.where(is_lost, 0.0, c) + lost * others / others.sum(axis=1, keepdims=True)
        drawn = (program.mass * c).sum(axis=(2, 3), keepdims=True)
        share = _share_below_caps(program, c, drawn)
    if (share == 1).all():
        return c
    best = _mixed(program, c, _MIXED_ALIKE[-1:])
    if program.is_exact.any():  # the other mixtures would move the exact views
        return best
    for start in (c, _mixed_within_histories(program, c)):
        mixed = _mixed(program, start, _MIXED_ALIKE)
        moved, least = (
            (program.mass * np.abs(each - c)).sum(axis=(1, 2, 3)) for each in (mixed, best)
        )
        best = np.where((moved < least)[:, None, None, None], mixed, best)
    return best


def _mixed(program: Program, c: Array, stages: Sequence[tuple[int, ...]]) -> Array:
    """Channels mixed with blind draws of their letters until they meet every cap."""
    for axes in stages:
        drawn = (program.mass * c).sum(axis=(2, 3), keepdims=True)
        share = _share_below_caps(program, c, drawn)
        # A little more than is needed, because 1 - share has few digits.
        blind = np.minimum((1 - share.min(axis=axes, keepdims=True)) * (1 + 1e-6), 1.0)
        c = np.where(blind > 0, (1 - blind) * c + blind * drawn, c)
        if axes != _MIXED_ALIKE[-1]:
            c = c / c.sum(axis=1, keepdims=True)
    return c


def _mixed_within_histories(program: Program, c: Array) -> Array:
    """Channels mixed with what each history releases on average until everyone's caps hold."""
    if program.full_caps is None:
        return c
    joint, prior = program.mass * c, program.mass / program.mass_z[:, None]
    total, is_capped = joint.sum(axis=-1, keepdims=True), np.isfinite(program.full_caps)
    cap = _just_below(np.where(is_capped, program.full_caps, 1.0), prior)
    room, blind = cap * total - joint, total * np.maximum(cap - prior, 0.0)
    is_above = is_capped & (room < 0)
    share = np.where(is_above, blind / np.where(is_above, blind - room, 1.0), 1.0)
    share = share.min(axis=(1, 3), keepdims=True)
    return np.where(share < 1, share * c + (1 - share) * total / program.mass_z[:, None], c)


def _share_below_caps(program: Program, c: Array, drawn: Array) -> Array:
    """Share of each letter that meets its caps beside a blind draw, [batch, rhat, z or row, x]."""
    joint = program.mass * c
    shares = [np.ones((*c.shape[:2], 1, c.shape[3]))]
    for caps, mass, seen in (
        (program.row_caps, program.row_mass, program.rows.collect(joint)),
        (program.full_caps, program.mass, joint),
    ):
        if caps is None:
            continue
        is_capped = np.isfinite(caps)
        total = mass.sum(axis=-1, keepdims=True)
        cap = _just_below(np.where(is_capped, caps, 1.0), mass / np.where(total > 0, total, 1.0))
        room = cap * seen.sum(axis=-1, keepdims=True) - seen
        blind = drawn * np.maximum(cap * total - mass, 0.0)
        is_above = is_capped & (room < 0)
        shares.append(np.where(is_above, blind / np.where(is_above, blind - room, 1.0), 1.0))
    return np.concatenate(shares, axis=2)


def _just_below(cap: Array, reached: Array) -> Array:
    """Caps less what is left for rounding, given what was reached before."""
    return np.asarray(cap - np.minimum(_DIGITS * cap, _ROOM * np.maximum(cap - reached, 0.0)))
