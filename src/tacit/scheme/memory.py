"""What the custodian remembers of a record's earlier releases, as a law p(m, x).

Exact history: one state per reachable sequence of letters. Bounded memory ([M] fact 6): at most
``cap`` states; the leakage to everyone is then a certified upper bound, and the coalitions that
matter are carried exactly beside the memory, as p(y, m, x).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tacit.arrays import LN2, Array
from tacit.information import mutual_information
from tacit.information.laws import information_upper_nats
from tacit.policy import Parties, Policy

_SAME_POSTERIOR = 1e-11
"""Posteriors whose entries differ by no more, relatively, are the same up to rounding."""


def merge_states(mass: Array, cap: int) -> NDArray[np.intp]:
    """Labels 0..n-1, n <= cap, for states with law p(s, x); -1 for states that do not occur.

    States with the same posterior are merged first, so a free repeat adds no state and nothing is
    lost. Above the cap, greedy: the pair whose merging lowers I(S; X) least, again and again.
    """
    labels = np.full(len(mass), -1, dtype=np.intp)
    reached = np.flatnonzero(mass.any(axis=1))
    if not len(reached):
        return labels
    same_as = _same_posteriors(mass[reached])
    groups = [reached[same_as == first].tolist() for first in np.unique(same_as)]
    laws = np.stack([mass[group].sum(axis=0) for group in groups])
    loss = _pair_losses(laws)
    alive = np.ones(len(laws), dtype=bool)
    while alive.sum() > cap:
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
        laws[first] += laws[second]
        groups[first] += groups[second]
        alive[second] = False
        loss[second] = loss[:, second] = np.inf
        row = np.where(alive, _losses(laws, laws[first]), np.inf)
        row[first] = np.inf
        loss[first] = loss[:, first] = row
    for label, index in enumerate(np.flatnonzero(alive)):
        labels[groups[index]] = label
    return labels


def is_lossless(mass: Array, labels: NDArray[np.intp], merged: Array) -> bool:
    """Whether states [s, x] that went into one merged state [label, x] all had its posterior.

    Compared entry by entry: merging rare states loses next to no information on average, but the
    largest pointwise leakage is that of the rarest.
    """
    reached = mass.any(axis=1)
    own, common = _posteriors(mass[reached]), _posteriors(merged)[labels[reached]]
    return bool((np.abs(own - common) <= _SAME_POSTERIOR * np.maximum(own, common)).all())


def _same_posteriors(laws: Array) -> NDArray[np.intp]:
    """For each state the first one with its posterior."""
    posteriors = _posteriors(laws)
    first = [
        int(
            (np.abs(posteriors - own) <= 0.1 * _SAME_POSTERIOR * np.maximum(posteriors, own))
            .all(axis=1)
            .argmax()
        )
        for own in posteriors
    ]
    return np.array(first, dtype=np.intp)


def _posteriors(laws: Array) -> Array:
    total = laws.sum(axis=1, keepdims=True)
    return np.asarray(laws / np.where(total > 0, total, 1.0))


def _pair_losses(laws: Array) -> Array:
    loss = np.stack([_losses(laws, law) for law in laws])
    np.fill_diagonal(loss, np.inf)
    return loss


def _losses(laws: Array, law: Array) -> Array:
    """Nats of I(S; X) lost by merging each of ``laws`` with ``law``: weighted Jensen-Shannon."""
    return np.asarray(_unnormalised(laws) + _unnormalised(law) - _unnormalised(laws + law))


def _unnormalised(laws: Array) -> Array:
    """sum_x m(x) log m(x)/m: minus the entropy of x given the state, times its mass."""
    total = laws.sum(axis=-1)
    return np.asarray(xlogy(laws, laws).sum(axis=-1) - xlogy(total, total))


_SAME_SHAPE = 1e-14
"""Letters whose laws p(z, x | letter) differ by no more, relatively, are in proportion."""

CARRIED_BYTES = 2**29
"""Coalitions that would need more than this together are covered by the bound on everyone."""

MOST_LETTERS = 512
"""So is a coalition that can be told apart by more letters: a design's time grows as their cube."""

Transitions = NDArray[np.intp]


class Memory(Protocol):
    """What a scheme needs of its memory."""

    @property
    def mass(self) -> Array:
        """p(m, x), [m, x]."""
        ...

    @property
    def everyone_bits(self) -> float:
        """The bound on everyone: what all releases together tell about X at most, in bits.

        This is the one figure that designs, accounts and ledger entries mean. For integer channels
        ``tacit.accounting`` proves it by ball arithmetic and hands it to ``after``; for others it
        is computed here, with a bound on rounding.
        """
        ...

    @property
    def is_sufficient(self) -> bool:
        """Whether p(m, x) tells all that everyone's letters tell about X."""
        ...

    def law(self, parties: Parties) -> Array | None:
        """p(y, m, x) of what a coalition holds, [y, m, x]; ``None`` if it is not carried."""
        ...

    def held(self, parties: Parties) -> Array | None:
        """p(y, x) of what a coalition holds, [y, x]; ``None`` if it is not carried."""
        ...

    def after(
        self, party: str, channel: Array, next_state: Transitions | None = None
    ) -> tuple[Memory, Transitions]:
        """The memory after a release [m, x, rhat], and the next state by [m, rhat].

        ``next_state`` is given where the release was made before, as it was recorded.
        """
        ...


def information_added_bits(mass: Array, channel: Array, roundings: int = 0) -> float:
    """Upper bound on I(Rhat; X | M) of a channel [m, x, rhat], rounding included.

    ``roundings`` lie behind each mass.
    """
    joint = (mass[..., None] * channel).transpose(2, 0, 1)
    total = mass.sum(axis=1, keepdims=True)
    prior = mass / np.where(total > 0, total, 1.0)
    _, upper = information_upper_nats(joint, prior, 2 * roundings + sum(channel.shape) + 8)
    return float(upper.sum()) / LN2


def add_up(first: float, second: float) -> float:
    """A float not below the sum."""
    total = first + second
    return total if Fraction(total) >= Fraction(first) + Fraction(second) else nextafter(total, inf)


def _followed(mass: Array, channel: Array) -> Array:
    """p(m, rhat, x) flattened to [(m, rhat), x]."""
    joint = (mass[..., None] * channel).transpose(0, 2, 1)
    return joint.reshape(-1, mass.shape[1])


def _same_letters(grown: Array) -> NDArray[np.intp]:
    """For each letter the first one in proportion to it, masses [m, rhat, x]."""
    by_letter = grown.transpose(1, 0, 2).reshape(grown.shape[1], -1)
    total = by_letter.sum(axis=1, keepdims=True)
    shape = by_letter / np.where(total > 0, total, 1.0)
    first = [
        int((np.abs(shape - own) <= _SAME_SHAPE * np.maximum(shape, own)).all(axis=1).argmax())
        for own in shape
    ]
    return np.array(first, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class ExactHistory:
    """Every reachable history.

    Attributes:
        mass: p(z, x), [z, x].
        letters: the letters behind each history, [z, release].
        holders: who received each release.
    """

    mass: Array
    letters: NDArray[np.intp]
    holders: tuple[str, ...]

    @staticmethod
    def start(p_x: Array) -> ExactHistory:
        """Nothing released yet."""
        return ExactHistory(p_x[None], np.zeros((1, 0), dtype=np.intp), ())

    @property
    def everyone_bits(self) -> float:
        """I(Z; X), exact up to rounding."""
        return mutual_information(self.mass)

    @property
    def is_sufficient(self) -> bool:
        """Always: nothing is forgotten."""
        return True

    def law(self, parties: Parties) -> Array | None:
        """p(y, z, x): each history shows one letter."""
        letter = self._letters_seen(parties)
        shown = np.arange(letter.max() + 1)[:, None] == letter
        return np.asarray(shown[..., None] * self.mass)

    def held(self, parties: Parties) -> Array | None:
        """p(y, x): histories that show the same letters, added up."""
        letter = self._letters_seen(parties)
        held = np.zeros((int(letter.max()) + 1, self.mass.shape[1]))
        np.add.at(held, letter, self.mass)
        return held

    def _letters_seen(self, parties: Parties) -> NDArray[np.intp]:
        """Number of what the coalition sees on each history, [z]."""
        own = [index for index, holder in enumerate(self.holders) if holder in parties]
        letter = np.zeros(len(self.mass), dtype=np.intp)
        if own:
            _, letter = np.unique(self.letters[:, own], axis=0, return_inverse=True)
            letter = letter.reshape(-1)
        return letter

    def after(
        self, party: str, channel: Array, next_state: Transitions | None = None
    ) -> tuple[ExactHistory, Transitions]:
        """Append a release; histories that cannot occur are dropped.

        Letters that tell the same in every history become one, which no coalition, now or later,
        can tell from the other ([M] fact 3).
        """
        n_z, n_x, n_rhat = channel.shape
        grown = _followed(self.mass, channel).reshape(n_z, n_rhat, n_x)
        same_as = _same_letters(grown)
        grown = np.stack([grown[:, same_as == letter].sum(axis=1) for letter in range(n_rhat)], 1)
        # However rare: the largest pointwise leakage and ε are those of the rarest histories.
        is_reached = grown.sum(axis=2) > 0
        number = np.where(is_reached, np.cumsum(is_reached).reshape(n_z, n_rhat) - 1, -1)
        state = number[:, same_as] if next_state is None else next_state
        before, letter = np.nonzero(is_reached)
        letters = np.concatenate([self.letters[before], letter[:, None]], axis=1)
        return ExactHistory(grown[is_reached], letters, (*self.holders, party)), state


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMemory:
    """At most ``cap`` states, and the coalitions that matter beside them.

    Attributes:
        mass: p(m, x), [m, x].
        cap: the most states kept.
        policy: says which coalitions matter.
        present: parties that received something.
        everyone_bits: the bound on everyone, see ``Memory``: the sum of I(Rhat_j; X | M_{j-1})
            ([M] fact 6), rounded up.
        carried: coalition -> p(y, m, x), [x, y, m].
        roundings: how many roundings lie behind each mass; all terms are non-negative.
        is_sufficient: whether only states with the same posterior were ever merged.
    """

    mass: Array
    cap: int
    policy: Policy
    present: Parties
    everyone_bits: float
    carried: dict[Parties, Array]
    roundings: int
    is_sufficient: bool = True

    @staticmethod
    def start(p_x: Array, cap: int, policy: Policy) -> BoundedMemory:
        """Nothing released yet."""
        nobody: Parties = frozenset()
        carried = {nobody: p_x[:, None, None]}
        return BoundedMemory(p_x[None], cap, policy, nobody, 0.0, carried, 1)

    def law(self, parties: Parties) -> Array | None:
        """p(y, m, x), where it is carried."""
        law = self.carried.get(parties)
        return None if law is None else law.transpose(1, 2, 0)

    def held(self, parties: Parties) -> Array | None:
        """p(y, x), where it is carried."""
        law = self.carried.get(parties)
        return None if law is None else np.asarray(law.sum(axis=2).T)

    def after(
        self,
        party: str,
        channel: Array,
        next_state: Transitions | None = None,
        everyone_bits: float | None = None,
    ) -> tuple[BoundedMemory, Transitions]:
        """Append a release and merge states until ``cap`` are left.

        Args:
            party: who received it.
            channel: p(rhat | m, x), [m, x, rhat].
            next_state: the states after it as recorded, where the release was made before.
            everyone_bits: the bound on everyone after it, where it has been proved.
        """
        n_m, n_x, n_rhat = channel.shape
        grown = _followed(self.mass, channel)
        state = next_state
        if state is None:
            state = merge_states(grown, self.cap).reshape(n_m, n_rhat)
        n_states = int(state.max()) + 1
        mass = np.zeros((n_states, n_x))
        np.add.at(mass, state.reshape(-1)[state.reshape(-1) >= 0], grown[state.reshape(-1) >= 0])
        moves = _moves(channel, state, n_states)
        if everyone_bits is None:
            added = information_added_bits(self.mass, channel, self.roundings)
            everyone_bits = add_up(self.everyone_bits, added)
        memory = BoundedMemory(
            mass,
            self.cap,
            self.policy,
            self.present | {party},
            everyone_bits,
            self._carried_after(party, moves),
            self.roundings + n_m * n_rhat + 4,
            self.is_sufficient and is_lossless(grown, state.reshape(-1), mass),
        )
        return memory, state

    def _carried_after(self, party: str, moves: Array) -> dict[Parties, Array]:
        """Every carried coalition after the release; new ones with ``party`` where they fit."""
        present = self.present | {party}
        # A coalition that was dropped stays dropped: without what its party received before, its
        # law would tell too little.
        joined = {
            coalition | {party}: law
            for coalition, law in self.carried.items()
            if (party in coalition or party not in self.present)
            and self.policy.concerns(coalition | {party}, present)
        }
        waiting = {key: law for key, law in self.carried.items() if party not in key}
        after = _moved_together(waiting, moves.sum(axis=0))
        used = sum(law.nbytes for law in after.values())
        for coalition, law in sorted(joined.items(), key=_by_size):
            used += law.nbytes * len(moves)
            if used > CARRIED_BYTES:
                break  # this one and the larger ones are covered by the bound on everyone
            told = (law @ moves).transpose(1, 2, 0, 3)  # [x, y, rhat, m]
            told = told.reshape(*told.shape[:1], -1, told.shape[-1])
            told = told[:, told.sum(axis=(0, 2)) > 0]
            if told.shape[1] <= MOST_LETTERS:  # else covered, too: a design would take too long
                after[coalition] = told
        return after


def _moved_together(laws: dict[Parties, Array], move: Array) -> dict[Parties, Array]:
    """Coalitions that received nothing: only the memory moves, by p(m' | m, x), [x, m, m']."""
    if not laws:
        return {}
    sizes = [law.shape[1] for law in laws.values()]
    moved = np.concatenate(list(laws.values()), axis=1) @ move
    return dict(zip(laws, np.split(moved, np.cumsum(sizes)[:-1], axis=1), strict=True))


def _by_size(item: tuple[Parties, Array]) -> tuple[int, int, list[str]]:
    coalition, law = item
    return len(coalition), law.nbytes, sorted(coalition)


def _moves(channel: Array, state: Transitions, n_states: int) -> Array:
    """p(rhat, m' | m, x), [rhat, x, m, m']."""
    n_m, n_x, n_rhat = channel.shape
    moves = np.zeros((n_rhat, n_x, n_m, n_states))
    m, letter = np.nonzero(state >= 0)
    moves[letter, :, m, state[m, letter]] = channel[m, :, letter]
    return moves
