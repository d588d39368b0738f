"""What coalitions hold: laws p(y, m, x) beside the memory, and letters merged at a proved slack.

[M] fact 12. Let W merge letters of Y, and let M be the memory at that moment. Whatever is released
later, I(Y, F; X) <= I(W, F; X) + I(Y; X, M | W): the last term is the **slack** of the merge, and
slacks add up. A merge lowers I(Y; X) by I(Y; X | W), so what a coalition is said to hold rises by
I(Y; M | X, W) only, the **rise** of the merge. It is 0 where the memory has a single state.

A merge hides how much a single answer tells, too ([M] fact 15). Let the law p(y, m, x) of a letter
y lie between a and b times that of the letter w it became part of. Whatever answers f come later,
p(y, f | x) <= b p(w, f | x) and p(y, f) >= a p(w, f). So y, f makes an x at most b / a times more
likely than w, f does. The largest log2 b / a of the members is the **spread** of a letter in bits;
spreads of merges one after another add up. It is infinite where a member rules out what another
does not; then no answer makes an x more than 1 / p(x) times as likely.

What everyone holds tells the state. A state is what many histories became, and some of them may
tell more than it does. Where everyone's worst answer has a cap, they are told apart as **letters of
everyone**, each within one state, those with the least spread merged. Without a cap the letters are
the states.

States of the memory are merged here, too: those with the same posterior, then those that lose
least ([M] fact 6). And cells x: those that nothing released or asked so far has told apart are one
**class** ([M] fact 10). Laws, channels and states live on classes, with one map from cell to class;
a request that tells cells of a class apart refines the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.errors import InvalidInputError
from tacit.information import mutual_information
from tacit.information.laws import UNIT_ROUNDOFF, add_up, gamma, information_upper_nats
from tacit.limits import Parties

CARRIED_BYTES = 2**30
"""Laws p(y, m, x) of all coalitions take no more than this: with more, a release leaves fewer
states, in the end one, and then fewer letters."""

MOST_LETTERS = 512
"""Letters that a view has after a release at most."""

MOST_CAPPED_LETTERS = 2048
"""The same for a coalition with a cap that merging more letters would break."""

REPLAYED_LETTERS = 512
"""Most letters of a view after a release whose merges were not recorded."""

DESIGN_LETTERS = (16, 20, 40, 80)
"""Letters of a view that a design sees, fewest first: its time grows as their square."""

DESIGN_ENTRIES = 2**14
"""Letters of everyone that a design sees, times classes of cells and answers: a cap holds for each
of them."""

DESIGN_SHARE = 0.1
"""Share of what a limit leaves that a design gives up at most to see fewer letters of a view."""

ROUNDING_BITS = 1e-10
"""A rise of so little may be rounding."""

SAME_LAW = 1e-11
"""Laws whose entries differ by no more, relatively, are the same up to rounding."""

_NEAR = 1e-10
"""Letters with a smaller squared distance are compared entry by entry."""

_MOVES = 2**20
"""Numbers of an array that moves the memory; it is made for some cells at a time."""

_CACHED = 2**15
"""Numbers of an array that fits into a processor's cache, with some others."""

EVERYONE_LETTERS = 256
"""Told apart of what everyone holds, for the bound on everyone; the ledger keeps their labels."""

_MOST_ROWS = 2048
"""Rows of which every two are compared at once."""

_COMPARED_ENTRIES = 2**27
"""Pairs of everyone's letters in one state, times classes of cells, compared after a release."""

_FAR = 1e6
"""Bits. Rows of which one rules out what the other does not are so far apart."""

_ROUNDING_BITS = 16 * UNIT_ROUNDOFF / LN2
"""Bits that one more rounding, behind each of a few masses, can change in a logarithm of their
quotients, at most."""

_TINY_SHARE = 1e-200
"""A smaller part of a merged row may be 0."""

_UNDERFLOW = 1e-247
"""Bits. What a mass below 1e-250 can change in an information: such masses may have underflowed."""

Labels = NDArray[np.intp]

ClassOfX = NDArray[np.intp]
"""Class of each cell, [x]; classes are numbered from 0 without gaps."""


@dataclass(frozen=True, slots=True, eq=False)
class CoalitionView:
    """What a coalition holds.

    Attributes:
        law: p(y, m, x), [x, y, m], m being the state after ``n_moves`` releases.
        slack: bits; the slacks of all merges of its letters, rounded up.
        rise: bits; by how much these merges raised what the coalition is said to hold.
        is_exact: whether only letters with proportional laws were merged.
        n_moves: releases that its memory has been moved by; the coalition received none of those
            that came later.
        unmoved: p(y, x) before these moves, which do not change it, [y, x], and the states that it
            was summed over. Kept, so that no figure depends on when a view was moved.
        spread: bits, [y]; ``None`` where no letters were merged.
    """

    law: Array
    slack: float = 0.0
    rise: float = 0.0
    is_exact: bool = True
    n_moves: int = 0
    unmoved: tuple[Array, int] | None = None
    spread: Array | None = None

    @property
    def spreads(self) -> Array:
        """Bits by which the members of each letter may tell more than it does, [y]."""
        return np.zeros(self.n_letters) if self.spread is None else self.spread

    @property
    def n_letters(self) -> int:
        """How many letters y are told apart."""
        return int(self.law.shape[1])

    @property
    def n_states(self) -> int:
        """Of the memory, as it was after ``n_moves`` releases."""
        return int(self.law.shape[2])

    @property
    def held(self) -> Array:
        """p(y, x), [y, x]."""
        return np.asarray(self.law.sum(axis=2).T) if self.unmoved is None else self.unmoved[0]

    @property
    def n_summed(self) -> int:
        """How many numbers each entry of ``held`` is the sum of."""
        return int(self.law.shape[2]) if self.unmoved is None else self.unmoved[1]

    @property
    def bits(self) -> float:
        """What the coalition holds at most, up to rounding."""
        return mutual_information(self.held) + self.slack


class MergedViews(NamedTuple):
    """Views after a release: what each holds, which letters became one, and the slack of that.

    Views whose letters were all kept apart have no labels and no slack, unless they have very many.
    """

    views: dict[Parties, CoalitionView]
    labels: dict[Parties, Labels]
    slacks: dict[Parties, float]

    def keep(self, coalition: Parties, view: CoalitionView, labels: Labels, slack: float) -> None:
        """Add a view whose letters were merged.

        Labels that keep more letters apart than a replay would by itself are kept, too.
        """
        self.views[coalition] = view
        if not is_identity(labels) or labels.max() >= REPLAYED_LETTERS:
            self.labels[coalition], self.slacks[coalition] = labels, slack


def followed(mass: Array, channel: Array) -> Array:
    """p(m, rhat, x), [(m, rhat), x], from p(m, x) and p(rhat | m, x), [m, x, rhat]."""
    n_m, n_x, n_rhat = channel.shape
    joint = np.empty((n_m, n_rhat, n_x))
    np.multiply(mass[:, None], channel.transpose(0, 2, 1), out=joint)
    return joint.reshape(-1, n_x)


def move_states(
    views: Mapping[Parties, CoalitionView], channel: Array, state: NDArray[np.intp]
) -> dict[Parties, CoalitionView]:
    """Views after a release that told them nothing: only the memory moves.

    Args:
        views: on the states before it.
        channel: p(rhat | m, x), [m, x, rhat].
        state: after it, [m, rhat]; -1 where that cannot occur.
    """
    n_states = int(state.max()) + 1
    laws = {each: np.empty((*view.law.shape[:2], n_states)) for each, view in views.items()}
    for part in _parts(channel, n_states):
        moves = _moves(channel[:, part], state, n_states).sum(axis=0)
        # One by one: a product with others beside it may be rounded differently.
        for coalition, view in views.items():
            laws[coalition][part] = view.law[part] @ moves
    return {
        coalition: replace(
            view,
            law=laws[coalition],
            n_moves=view.n_moves + 1,
            unmoved=(view.held, view.n_summed),
        )
        for coalition, view in views.items()
    }


def tell(
    views: Mapping[Parties, CoalitionView], channel: Array, state: NDArray[np.intp]
) -> Iterator[tuple[Parties, CoalitionView]]:
    """Views with the letter of a release appended: letter (y, rhat) is y * n_rhat + rhat.

    Arguments as for ``move_states``.
    """
    n_x, n_rhat, n_states = channel.shape[1], channel.shape[2], int(state.max()) + 1
    for coalition, view in views.items():
        law = np.zeros((n_x, view.n_letters, n_rhat, n_states))
        step = 1 + _MOVES // (view.n_letters * view.n_states)  # some x at a time: terms stay small
        for rhat in range(n_rhat):
            before = np.flatnonzero(state[:, rhat] >= 0)
            before = before[np.argsort(state[before, rhat], kind="stable")]
            if not len(before):
                continue
            after, first = np.unique(state[before, rhat], return_index=True)
            for some in (slice(start, start + step) for start in range(0, n_x, step)):
                terms = view.law[some][:, :, before] * channel[before, some, rhat].T[:, None]
                law[some, :, rhat, after] = np.add.reduceat(terms, first, axis=2)
        letters = law.reshape(n_x, -1, n_states)
        spread = None if view.spread is None else np.repeat(view.spread, n_rhat)
        told_view = replace(
            view, law=letters, n_moves=view.n_moves + 1, unmoved=None, spread=spread
        )
        yield coalition, told_view


def _parts(channel: Array, n_states: int) -> Iterator[slice]:
    """Some x at a time, so that their moves are small."""
    n_m, n_x, n_rhat = channel.shape
    step = 1 + _MOVES // (n_rhat * n_m * n_states)
    return (slice(first, first + step) for first in range(0, n_x, step))


def _moves(channel: Array, state: NDArray[np.intp], n_states: int) -> Array:
    """p(rhat, m' | m, x), [rhat, x, m, m']."""
    n_m, n_x, n_rhat = channel.shape
    moves = np.zeros((n_rhat, n_x, n_m, n_states))
    m, letter = np.nonzero(state >= 0)
    moves[letter, :, m, state[m, letter]] = channel[m, :, letter]
    return moves


def merge_views(
    told: Iterable[tuple[Parties, CoalitionView]],
    roundings: int,
    beside: Sequence[CoalitionView] | None,
    most: int,
    rises: Mapping[Parties, float],
    caps: Mapping[Parties, float],
) -> MergedViews | None:
    """Merge letters of views until each has ``most``; ``None`` if one rises too much, or is large.

    Where merging would raise the worst single answer of a coalition above its cap, only letters in
    proportion are merged. With a single state, merging costs no rise: where there is no room, all
    letters become one, and no view is dropped.

    Args:
        told: coalition -> its view, letters not merged.
        roundings: behind each mass.
        beside: other views, which take room; ``None`` where room does not matter.
        most: letters.
        rises: coalition -> bits by which merging may raise what it is said to hold.
        caps: coalition -> bits that its worst single answer may have.
    """
    merged, taken = MergedViews({}, {}, {}), [*(beside or ())]
    for coalition, view in told:
        cap = caps.get(coalition, inf)
        fewer, labels, slack = _merge_few(view, most, roundings, cap)
        if fewer.rise - view.rise > rises.get(coalition, inf):
            return None
        if beside is not None and not have_room([*taken, fewer], fewer.n_states):
            if fewer.n_states > 1:
                return None
            fewer, labels, slack = _merge_few(view, 1, roundings, inf)
        taken.append(fewer)
        merged.keep(coalition, fewer, labels, slack)
    return merged


def _merge_few(
    view: CoalitionView, most: int, roundings: int, cap: float
) -> tuple[CoalitionView, Labels, float]:
    """A view with ``most`` letters, their labels, and the slack; more if that breaks its cap."""
    labels = merge_letters(view, most)
    fewer, slack = merge(view, labels, roundings)
    if _breaks_cap(fewer, cap, roundings):
        labels = merge_letters(view, MOST_CAPPED_LETTERS)
        fewer, slack = merge(view, labels, roundings)
    return fewer, labels, slack


def have_room(views: Iterable[CoalitionView], n_states: int) -> bool:
    """Whether laws of views on so many states take ``CARRIED_BYTES`` at most.

    One that has one letter takes none: p(m, x) is all that is to be known then, and views of one
    letter are always kept.
    """
    entries = sum(view.law[..., 0].size for view in views if view.n_letters > 1)
    return 8 * entries * n_states <= CARRIED_BYTES


def _breaks_cap(view: CoalitionView, cap: float, roundings: int) -> bool:
    return cap < inf and bound_worst_answer(view.held, view.spreads, roundings) > cap


def merge_as_recorded(
    told: Iterable[tuple[Parties, CoalitionView]],
    roundings: int,
    beside: Sequence[CoalitionView] | None,
    labels: Mapping[Parties, Labels],
    slacks: Mapping[Parties, float],
) -> MergedViews:
    """Merge letters of views as it was done before; arguments as for ``merge_views``.

    Letters of a coalition that was not followed then, under other limits, are kept apart. Where
    there is no room for that, they become one.

    Args:
        labels: coalition -> label of each of its letters.
        slacks: coalition -> bits, where that is believed.
    """
    merged, taken = MergedViews({}, {}, {}), [*(beside or ())]
    for coalition, view in told:
        is_recorded = coalition in labels or beside is None
        known = labels[coalition] if coalition in labels else _apart(view)
        fewer, slack = merge(view, known, roundings, slacks.get(coalition))
        if not is_recorded and not have_room([*taken, fewer], fewer.n_states):
            fewer, known, slack = _merge_few(view, 1, roundings, inf)
        taken.append(fewer)
        merged.keep(coalition, fewer, known, slack)
    return merged


def _apart(view: CoalitionView) -> Labels:
    """Labels that merge nothing: the letters that occur, in order; too many of them are merged."""
    occurs = view.law.any(axis=(0, 2))
    apart = np.where(occurs, np.cumsum(occurs) - 1, -1)
    return merge_letters(view, REPLAYED_LETTERS) if apart.max() >= REPLAYED_LETTERS else apart


def merge(
    view: CoalitionView, labels: Labels, roundings: int, slack: float | None = None
) -> tuple[CoalitionView, float]:
    """A view with its letters merged, and the slack of that in bits.

    Args:
        view: before.
        labels: of every letter; -1 for a letter that does not occur.
        roundings: behind each mass.
        slack: as recorded, where that is believed.
    """
    before = _by_letter(view.law)
    occurs = np.asarray(before.any(axis=1))
    if labels.shape != occurs.shape or (labels[occurs] < 0).any():
        raise InvalidInputError(
            f"merges name {len(labels)} letters of a view with {len(occurs)}: "
            "give a label for every letter that occurs"
        )
    if is_identity(labels):
        kept = np.ascontiguousarray(view.law[:, labels >= 0])
        spread = None if view.spread is None else view.spread[labels >= 0]
        return replace(view, law=kept, unmoved=None, spread=spread), 0.0
    order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    after = np.add.reduceat(before[order], firsts)
    law = after.reshape(len(firsts), len(view.law), -1).transpose(1, 0, 2)
    if slack is None:
        slack = slack_upper_bits(before, labels, after, roundings)
    lost = mutual_information(view.held) - mutual_information(law.sum(axis=2).T)
    merged = replace(
        view,
        law=np.ascontiguousarray(law),
        unmoved=None,
        slack=add_up(view.slack, slack),
        rise=view.rise + max(slack - lost, 0.0),
        is_exact=view.is_exact and is_lossless(before, labels, after),
        spread=spreads_after(before, labels, after, view.spreads, roundings),
    )
    return merged, slack


def condense(view: CoalitionView, left: float) -> tuple[CoalitionView, float]:
    """The view as a design may see it, with fewer letters, and the rise of that in bits.

    It is for one design only: what is carried keeps its letters, so that rises do not add up.

    Args:
        view: what a coalition holds.
        left: bits that its limit leaves; a small share of them may be given up.
    """
    for most in DESIGN_LETTERS:
        if view.n_letters <= most:
            break
        # No bound on rounding: what a release adds is proved afterwards, on all letters.
        fewer, _ = merge(view, merge_letters(view, most), 0)
        if fewer.rise - view.rise <= DESIGN_SHARE * left + ROUNDING_BITS:
            return fewer, max(fewer.bits - view.bits, 0.0)
    return view, 0.0


def hidden_bits(laws: Array, labels: Labels, merged: Array, spreads: Array) -> Array:
    """Bits by which members of merged rows make each x more likely than these do, [label, x].

    So it is now: later answers may tell more of a member, which is checked after a release.

    Args:
        laws: rows p(row, x), [row, x].
        labels: of each row.
        merged: sums of the rows with the same label, [label, x].
        spreads: of the rows, [row].
    """
    told = np.full(merged.shape, -inf)
    np.maximum.at(told, labels, told_bits(laws) + spreads[:, None])
    return np.maximum(told - told_bits(merged), 0.0)


def largest_group(labels: Labels) -> int:
    """How many letters become one at most."""
    return int(np.bincount(labels[labels >= 0]).max())


def is_identity(labels: Labels) -> bool:
    """Whether labels merge nothing: letters that occur keep their order."""
    kept = labels[labels >= 0]
    return bool((kept == np.arange(len(kept))).all())


def merge_letters(view: CoalitionView, most: int) -> Labels:
    """Labels 0..n-1 of a view's letters, see ``merge_laws``: slacks are proved afterwards."""
    return merge_laws(_by_letter(view.law), most)


def merge_laws(laws: Array, most: int) -> Labels:
    """Labels 0..n-1 of rows [row, e], n <= most where it can be; -1 for rows of zeros.

    Rows in proportion become one: a free repeat adds no state, and nothing is lost. Above ``most``,
    greedy: the pair with the least loss I(Row; E | Label), again and again. Losses are estimated by
    distances between the square roots of the rows' laws (Ward's method).
    """
    occurs = laws.any(axis=1)
    labels = np.full(len(laws), -1, dtype=np.intp)
    laws = laws if occurs.all() else laws[occurs]
    weight = laws.sum(axis=1)
    roots = np.sqrt(laws)
    roots /= np.sqrt(weight)[:, None]
    distance = roots @ roots.T
    distance *= -2.0
    distance += 2.0
    np.maximum(distance, 0.0, out=distance)
    group = _proportional(laws, weight, distance)
    if len(np.unique(group)) > most:
        group = _join_nearest(group, weight, distance, most)
    labels[occurs] = np.unique(group, return_inverse=True)[1].reshape(-1)
    return labels


def merge_by_spread(laws: Array, most: int) -> Labels:
    """Labels as of ``merge_laws``, with small spreads rather than little loss on average.

    Complete linkage: rows become one whose spreads against each other are least.
    """
    labels = merge_laws(laws, len(laws))
    groups = np.unique(labels[labels >= 0], return_index=True)[1]
    if len(groups) <= most:
        return labels
    rows = laws[labels >= 0][groups]
    apart = np.minimum(np.stack([_spreads_between(row, rows) for row in rows]), _FAR)
    order = np.unique(_join_completely(apart, most), return_inverse=True)[1].reshape(-1)
    return np.where(labels >= 0, order[labels], -1)


def _join_completely(apart: Array, most: int) -> Labels:
    """Groups of rows, the two with the least largest distance joined until ``most`` are left.

    Of pairs that are equally near, the first.
    """
    group, apart = np.arange(len(apart)), apart.copy()
    np.fill_diagonal(apart, inf)
    for _ in range(len(apart) - most):
        one, two = sorted(divmod(int(apart.argmin()), len(apart)))
        apart[one] = apart[:, one] = np.maximum(apart[one], apart[two])
        apart[two] = apart[:, two] = inf
        group[group == two] = one
    return group


def _spreads_between(row: Array, others: Array) -> Array:
    """Bits by which the rows' shares differ at most (Hilbert's metric), [other]."""
    occurs = (row > 0) | (others > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log2(row) - np.log2(others)
    most = np.where(occurs, ratios, -inf).max(axis=1)
    least = np.where(occurs, ratios, inf).min(axis=1)
    return np.asarray(most - least)


def _by_letter(law: Array) -> Array:
    """p(y, m, x) as [y, (x, m)]."""
    return law.transpose(1, 0, 2).reshape(law.shape[1], -1)


def _proportional(laws: Array, weight: Array, distance: Array) -> Labels:
    """For each row the first one in proportion to it, up to rounding."""
    group = np.arange(len(laws))
    for first, second in np.argwhere(np.triu(distance < _NEAR, 1)):
        if group[second] != second or group[first] != first:
            continue
        own, other = laws[first] / weight[first], laws[second] / weight[second]
        if (np.abs(own - other) <= 0.1 * SAME_LAW * np.maximum(own, other)).all():
            group[second] = first
    return group


def _join_nearest(group: Labels, weight: Array, distance: Array, most: int) -> Labels:
    """Groups of rows, joined until ``most`` are left.

    Joining groups of weights v and w at a squared distance d costs about 2 v w d / (v + w) nats.
    Distances to a joined group follow from those to its parts (Lance and Williams).
    """
    firsts, index = np.unique(group, return_inverse=True)
    mass = np.bincount(group, weights=weight, minlength=len(weight))[firsts]
    cost = distance[np.ix_(firsts, firsts)] if len(firsts) < len(group) else distance.copy()
    cost *= np.multiply.outer(mass, mass)
    cost /= np.add.outer(mass, mass)
    np.fill_diagonal(cost, np.inf)
    joined_to = np.arange(len(firsts))
    nearest = cost.argmin(axis=1)
    least = cost[joined_to, nearest]
    n_left = len(firsts)
    while n_left > most:
        one = int(least.argmin())
        two = int(nearest[one])
        row = cost[one]
        if row[two] != least[one]:  # joined since: no other group has come nearer, see below
            nearest[one] = row.argmin()
            least[one] = row[nearest[one]]
            continue
        # At least what joining the nearer part would cost: what ``least`` says is never too much.
        row = row * (mass + mass[one]) + cost[two] * (mass + mass[two]) - mass * least[one]
        row /= mass + (mass[one] + mass[two])
        row[[one, two]] = np.inf
        cost[one] = cost[:, one] = row
        cost[:, two] = least[two] = np.inf  # of a group that is gone
        joined_to[two] = one
        mass[one] += mass[two]
        nearest[one] = row.argmin()
        least[one] = row[nearest[one]]
        n_left -= 1
    while (joined_to[joined_to] != joined_to).any():
        joined_to = joined_to[joined_to]
    return np.asarray(firsts[joined_to[index.reshape(-1)]])


def slack_upper_bits(laws: Array, labels: Labels, merged: Array, roundings: int) -> float:
    """Upper bound on I(Y; X, M | W) in bits, rounding included.

    For any laws q_w it is at most the mean of D(p(m, x | y) || q_w). Letters that stay alone add
    nothing.

    Args:
        laws: p(y, m, x), [y, (x, m)].
        labels: w of each y; -1 where y does not occur.
        merged: p(w, m, x), [w, (x, m)].
        roundings: behind each entry of ``laws``.
    """
    sizes = np.bincount(labels[labels >= 0])
    joined = np.flatnonzero((labels >= 0) & (sizes[labels] > 1))
    if not len(joined):
        return 0.0
    common = merged / merged.sum(axis=1, keepdims=True)
    n_operations = 2 * (roundings + int(sizes.max()) + laws.shape[1]) + 16
    n_rows = 1 + _CACHED // laws.shape[1]
    total = 0.0
    for rows in np.split(joined, range(n_rows, len(joined), n_rows)):
        _, upper = information_upper_nats(laws[None, rows], common[labels[rows]], n_operations)
        total += float(upper.sum())
    total *= (1 + gamma(2 * len(joined) + 8)) / LN2
    return nextafter(total + laws.size * _UNDERFLOW, inf)


def spreads_after(
    laws: Array, labels: Labels, merged: Array, spreads: Array, roundings: int
) -> Array:
    """Bits by which the members of merged rows may tell more than these do, [label].

    Args:
        laws: rows [row, e].
        labels: of each row; -1 where it does not occur.
        merged: sums of the rows with the same label, [label, e].
        spreads: of the rows, [row].
        roundings: behind each entry of ``laws``.
    """
    sizes = np.bincount(labels[labels >= 0])
    rounding = _ROUNDING_BITS * (roundings + int(sizes.max()) + 8)
    own = spreads.copy()
    joined = np.flatnonzero((labels >= 0) & (sizes[labels] > 1))
    n_rows = 1 + _CACHED // laws.shape[1]
    for rows in np.split(joined, range(n_rows, len(joined), n_rows)):
        whole = merged[labels[rows]]
        shares = laws[rows] / np.where(whole > 0, whole, 1.0)
        least = np.where(whole > 0, shares, inf).min(axis=1)
        is_tiny = least < _TINY_SHARE
        ratios = shares.max(axis=1) / np.where(is_tiny, 1.0, least)
        # The greatest share is at least the least one, but in rows that never occur.
        own[rows] += np.log2(np.where(is_tiny, inf, np.maximum(ratios, 1.0))) + rounding
    after = np.zeros(len(merged))
    np.maximum.at(after, labels[labels >= 0], own[labels >= 0])
    return after


def bound_worst_answer(law: Array, spreads: Array, roundings: int) -> float:
    """Upper bound on the largest log2 p(y | x) / p(y), rounding included; 0 for one letter.

    Args:
        law: p(y, x), [y, x].
        spreads: bits by which the members of each letter may tell more than it does, [y].
        roundings: behind each entry of ``law``.
    """
    if len(law) <= 1 and not spreads.any():
        return 0.0
    p_x, p_y = law.sum(axis=0), law.sum(axis=1)
    product = np.where(law > 0, p_y[:, None] * p_x, 1.0)
    occurs = p_y > 0
    told = np.log2((law / product).max(axis=1)[occurs]) + spreads[occurs]
    rarest = np.where(law > 0, p_x, inf).min(axis=1)  # no x is more than 1 / p(x) times as likely
    most = float(np.minimum(told, -np.log2(rarest[occurs])).max())
    return max(most, 0.0) + _ROUNDING_BITS * (roundings + sum(law.shape) + 8)


def told_bits(held: Array) -> Array:
    """log2 p(y | x) / p(y), [y, x], from p(y, x); 0 where that does not occur."""
    product = np.where(held > 0, held.sum(axis=1, keepdims=True) * held.sum(axis=0), 1.0)
    return np.asarray(np.log2(np.where(held > 0, held / product, 1.0)))


def least_worst_answer(views: Iterable[CoalitionView], roundings: int) -> float:
    """Upper bound on what the worst single answer tells that all of these views know, in bits."""
    return min(
        bound_worst_answer(view.held, view.spreads, roundings + view.n_summed) for view in views
    )


def is_lossless(laws: Array, labels: Labels, merged: Array) -> bool:
    """Whether rows [s, x] that went into one merged row [label, x] are all in proportion to it.

    Compared entry by entry: merging rare rows loses next to no information on average, but the
    largest pointwise leakage is that of the rarest.
    """
    pairs = ((law, merged[label]) for law, label in zip(laws, labels, strict=True) if law.any())
    return all(_is_same_law(law / law.sum(), other / other.sum()) for law, other in pairs)


def _is_same_law(own: Array, other: Array) -> bool:
    return bool((np.abs(own - other) <= SAME_LAW * np.maximum(own, other)).all())


# -- everyone -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EveryoneView:
    """What all parties hold together.

    Attributes:
        law: p(y, x), [y, x].
        state: of the memory, which letter y tells, [y].
        spreads: bits by which the histories behind each letter may tell more than it does, [y].
    """

    law: Array
    state: Labels
    spreads: Array

    @staticmethod
    def of_states(mass: Array) -> EveryoneView:
        """Letters that are the states, p(m, x), with one history each."""
        return EveryoneView(mass, np.arange(len(mass)), np.zeros(len(mass)))

    @property
    def n_letters(self) -> int:
        """How many letters are told apart."""
        return len(self.law)

    def coarsen(self, state: Labels) -> EveryoneView:
        """The same where states became one; letters stay apart."""
        return EveryoneView(self.law, state[self.state], self.spreads)

    def worst_answer(self, roundings: int) -> float:
        """Upper bound on what the worst single answer tells in bits, rounding included."""
        return bound_worst_answer(self.law, self.spreads, roundings)

    def condense(self, n_rhat: int) -> tuple[CoalitionView, Array | None]:
        """The view as a design may see it, and what that hides of its letters in bits, [y, x].

        The second is ``None`` where the letters are the states, and hide nothing. There are fewer
        letters where a design has many answers.
        """
        most = min(DESIGN_LETTERS[-2], DESIGN_ENTRIES // (n_rhat * self.law.shape[1]))
        labels = merge_within(self.law, self.state, most, merge_by_spread)
        law = np.zeros((int(labels.max()) + 1, self.law.shape[1]))
        np.add.at(law, labels, self.law)
        state = np.zeros(len(law), dtype=np.intp)
        state[labels] = self.state
        is_told = state[:, None] == np.arange(int(state.max()) + 1)
        view = CoalitionView(law.T[..., None] * is_told)
        if self.n_letters == is_told.shape[1] and not self.spreads.any():
            return view, None
        return view, hidden_bits(self.law, labels, law, self.spreads)

    def choose_labels(self, channel: Array, next_state: Labels, *, has_caps: bool) -> Labels | None:
        """Labels of the letters (y, rhat) after a release: merged within each state.

        Args:
            channel: p(rhat | m, x), [m, x, rhat].
            next_state: [m, rhat]; -1 where that cannot occur.
            has_caps: whether single answers are capped through what everyone holds. Then letters
                are merged by spread, else by what they tell; ``None`` is returned where they would
                only tell the states.
        """
        grown, state = self._grown(channel), self._next_states(next_state)
        n_states, n_rhat = int(next_state.max()) + 1, channel.shape[2]
        compared = min(sqrt(_COMPARED_ENTRIES / (n_states * grown.shape[1])), MOST_LETTERS)
        occurring = np.where(grown.any(axis=1), state, -1)
        if has_caps:
            most = int(min(n_states * compared / n_rhat, MOST_LETTERS))
            return merge_within(grown, occurring, most, merge_by_spread)
        most = int(min(n_states * compared / sqrt(n_rhat), EVERYONE_LETTERS))
        labels = merge_within(grown, occurring, most, merge_by_halves)
        return labels if int(labels.max()) + 1 > n_states else None

    def after(
        self, channel: Array, next_state: Labels, labels: Labels | None, roundings: int
    ) -> EveryoneView:
        """The view after a release.

        Args:
            channel: p(rhat | m, x), [m, x, rhat].
            next_state: [m, rhat]; -1 where that cannot occur.
            labels: of the letters (y, rhat); ``None`` where they become the states.
            roundings: behind each entry of the law after it.
        """
        grown, state = self._grown(channel), self._next_states(next_state)
        if labels is None:
            labels = state
        occurs = labels >= 0
        if labels.shape != state.shape or grown[~occurs].any():
            raise InvalidInputError(
                f"letters of everyone have {len(labels)} labels, and {len(state)} letters can "
                "occur: give a label for every one of them"
            )
        told = np.full(int(labels.max()) + 1, -1, dtype=np.intp)
        told[labels[occurs]] = state[occurs]
        if (told[labels[occurs]] != state[occurs]).any():
            raise InvalidInputError("letters of everyone with different states have one label")
        law = np.zeros((len(told), grown.shape[1]))
        np.add.at(law, labels[occurs], grown[occurs])
        before = np.repeat(self.spreads, channel.shape[2])
        return EveryoneView(law, told, spreads_after(grown, labels, law, before, roundings))

    def _grown(self, channel: Array) -> Array:
        """p(y, rhat, x), [(y, rhat), x]."""
        grown = self.law[:, None] * channel[self.state].transpose(0, 2, 1)
        return np.asarray(grown.reshape(-1, self.law.shape[1]))

    def _next_states(self, next_state: Labels) -> Labels:
        """The state that each letter (y, rhat) tells."""
        return np.asarray(next_state[self.state].reshape(-1))


def merge_within(
    laws: Array, groups: Labels, most: int, merge_rows: Callable[[Array, int], Labels]
) -> Labels:
    """Labels of rows [row, x], merged within each group until ``most`` are left.

    Rows of group -1 are left out, as -1. Every group keeps at least one label.
    """
    labels, n_labels = np.full(len(laws), -1, dtype=np.intp), 0
    quota = _quota(np.bincount(groups[groups >= 0]), most)
    for group in range(int(groups.max()) + 1):
        rows = np.flatnonzero(groups == group)
        if len(rows):
            labels[rows] = n_labels + merge_rows(laws[rows], quota)
            n_labels = int(labels[rows].max()) + 1
    return labels


def merge_by_halves(laws: Array, most: int) -> Labels:
    """As ``merge_laws`` of rows that occur; of many rows, each half is merged first."""
    n_rows = len(laws)
    if n_rows <= max(_MOST_ROWS, 2 * most):
        return merge_laws(laws, most)
    first, second = (merge_by_halves(part, most) for part in np.split(laws, [n_rows // 2]))
    halves = np.concatenate([first, int(first.max()) + 1 + second])
    merged = np.zeros((int(halves.max()) + 1, laws.shape[1]))
    np.add.at(merged, halves, laws)
    return np.asarray(merge_laws(merged, most)[halves])


def _quota(sizes: NDArray[np.intp], most: int) -> int:
    """The most that each group may keep, so that all together keep ``most`` where they can."""
    quotas = np.arange(1, int(sizes.max()) + 1)
    kept = np.minimum(sizes, quotas[:, None]).sum(axis=1)
    return int(max(quotas[kept <= most], default=1))


# -- classes of cells -----------------------------------------------------------------------------


def class_sums(class_of_x: ClassOfX, weights: Array) -> Array:
    """Sum of the weights [x] of every class."""
    return np.asarray(np.bincount(class_of_x, weights=weights), dtype=np.float64)


def class_rows(class_of_x: ClassOfX, rows: Array) -> Array:
    """The row that all cells of a class share, [class, ...], from rows [x, ...]."""
    return np.asarray(rows[_some_x(class_of_x)])


def _some_x(class_of_x: ClassOfX) -> NDArray[np.intp]:
    """A cell of every class."""
    return np.unique(class_of_x, return_index=True)[1]


def refine_classes(class_of_x: ClassOfX, rows: Array, p_x: Array) -> ClassOfX:
    """Classes whose cells also agree in ``rows``, [x, ...], in the order of (class, row).

    Cells of weight 0 in ``p_x`` are not told apart: nobody is there. Those of one class become one,
    behind the others.
    """
    row = _places_of_rows(rows.reshape(len(rows), -1) + 0.0)  # -0.0 is 0.0
    last = int(row.max()) + 1
    keys = class_of_x * (last + 1) + np.where(p_x > 0, row, last)
    return np.asarray(np.unique(keys, return_inverse=True)[1].reshape(-1), dtype=np.intp)


def _places_of_rows(rows: Array) -> Labels:
    """Where each row belongs in the order of all rows, [x]; equal rows at the same place."""
    one = rows.argmax(axis=1)
    is_one_hot = (np.take_along_axis(rows, one[:, None], axis=1) == 1).all()
    if is_one_hot and np.count_nonzero(rows) == len(rows):  # a function of x: a later 1 is less
        return np.asarray(rows.shape[1] - 1 - one, dtype=np.intp)
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.intp)


def parent_classes(class_of_x: ClassOfX, finer: ClassOfX) -> ClassOfX:
    """The class that every one of the finer classes is part of, [finer class].

    Raises:
        InvalidInputError: one of the finer classes lies in two.
    """
    is_same_size = len(finer) == len(class_of_x)
    parents = class_of_x[_some_x(finer)] if is_same_size else finer
    if not is_same_size or (parents[finer] != class_of_x).any():
        raise InvalidInputError(
            f"{int(finer.max()) + 1} classes of {len(finer)} cells do not refine the "
            f"{int(class_of_x.max()) + 1} of {len(class_of_x)} that were told apart before"
        )
    return parents


def split_classes(
    mass: Array,
    views: Mapping[Parties, CoalitionView],
    class_of_x: ClassOfX,
    finer: ClassOfX,
    p_x: Array,
) -> tuple[Array, dict[Parties, CoalitionView]]:
    """p(m, x) and views on finer classes, given the weight of each cell."""
    parents = parent_classes(class_of_x, finer)
    whole = class_sums(class_of_x, p_x)[parents]
    shares = class_sums(finer, p_x) / np.where(whole > 0, whole, 1.0)  # of each parent
    split = {coalition: _split(view, parents, shares) for coalition, view in views.items()}
    return mass[:, parents] * shares, split


def _split(view: CoalitionView, parents: NDArray[np.intp], shares: Array) -> CoalitionView:
    unmoved = view.unmoved
    if unmoved is not None:
        unmoved = (unmoved[0][:, parents] * shares, unmoved[1])
    return replace(view, law=view.law[parents] * shares[:, None, None], unmoved=unmoved)
