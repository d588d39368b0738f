"""What the custodian remembers of a record's earlier releases, as a law p(m, x).

Exact history (``tacit.scheme.history``): one state per reachable sequence of letters. Bounded
memory (``tacit.scheme.bounded_memory``): at most so many states. A release moves the memory on by
a ``Transition``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import LN2, Array
from tacit.information.laws import information_upper_nats
from tacit.limits import Parties
from tacit.scheme.views import ClassOfX, CoalitionView, EveryoneView, Labels

Transitions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """What a release does to the memory: what was chosen, and what that costs.

    Attributes:
        next_state: state after it, [m, rhat]; -1 where that cannot occur.
        merges: coalition -> label of each of its letters after the release, -1 where that cannot
            occur; letters (y, rhat) of a coalition that received it, letters y of another. A
            coalition that is not named keeps its letters apart.
        slacks: coalition -> bits that its merge adds to what it is said to hold ([M] fact 12).
        letters: label of each letter (y, rhat) of everyone, -1 where that cannot occur; ``None``
            where letters of everyone become the states, see ``tacit.scheme.views``.
    """

    next_state: Transitions
    merges: Mapping[Parties, Labels] = field(default_factory=dict)
    slacks: Mapping[Parties, float] = field(default_factory=dict)
    letters: Labels | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A release as the memory sees it.

    Attributes:
        party: who received it.
        table: p(rhat | m, class of x), [m, class, rhat], m being the state of the memory before it.
        class_of_x: class of each cell, [x].
        transition: what it does to the memory.
        everyone_bits: upper bound on the leakage of all releases up to this one.
        holders: everybody who has its letters now: the party, and who received a copy.
    """

    party: str
    table: Array
    class_of_x: ClassOfX
    transition: Transition
    everyone_bits: float
    holders: Parties = field(kw_only=True)

    @property
    def channel(self) -> Array:
        """p(rhat | m, x) on all cells, [m, x, rhat]; may be large, and is not kept."""
        return np.asarray(self.table[:, self.class_of_x])

    @property
    def next_state(self) -> Transitions:
        """State after it, [m, rhat]; -1 where that cannot occur."""
        return self.transition.next_state


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """Letters of an earlier step, handed to one more party ([M] fact 16).

    Nothing is drawn: the memory and what everyone holds stay as they are. What the coalitions of
    the party hold is followed again from the first step on, with these letters among it.

    Attributes:
        source: number of the step, from 0.
        merges: step -> coalition -> label of each of its letters after it, as in ``Transition``.
        slacks: step -> coalition -> bits.
    """

    source: int
    merges: Mapping[int, Mapping[Parties, Labels]] = field(default_factory=dict)
    slacks: Mapping[int, Mapping[Parties, float]] = field(default_factory=dict)


_ENTRIES_AT_ONCE = 2**15

NO_LIMITS: Mapping[Parties, float] = MappingProxyType({})


class Memory(Protocol):
    """What a scheme needs of its memory."""

    @property
    def class_of_x(self) -> ClassOfX:
        """Class of each cell: x is a class of cells everywhere below."""
        ...

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

    def seen(self, parties: Parties, left: float) -> tuple[CoalitionView, float] | None:
        """What a design sees of what a coalition holds, and the bits that it has to leave for that.

        Args:
            parties: the coalition; ``None`` is returned if it is not carried.
            left: bits that its limit leaves.
        """
        ...

    def held(self, parties: Parties) -> Array | None:
        """p(y, x) of what a coalition holds, [y, x]; ``None`` if it is not carried."""
        ...

    def known_laws(self, parties: Parties) -> tuple[list[Array], bool]:
        """Laws p(y, x) of what a coalition can tell, and whether the first is of all it holds.

        Where that law is not carried, or letters were merged at a loss, they are those of what is
        carried within the coalition.
        """
        ...

    def view(self, parties: Parties) -> CoalitionView | None:
        """What a coalition holds, letters merged included; ``None`` if it is not carried."""
        ...

    def refine(self, class_of_x: ClassOfX, p_x: Array) -> Self:
        """The memory on finer classes, given the weight of each cell."""
        ...

    def bits(self, parties: Parties) -> float:
        """What a coalition holds at most, up to rounding."""
        ...

    def worst_answer(self, parties: Parties) -> float:
        """Upper bound on the largest log2 p(y | x) / p(y) of what a coalition holds, in bits."""
        ...

    @property
    def everyone(self) -> EveryoneView:
        """What all parties hold together, with what merging hides of single answers."""
        ...

    def is_exact(self, parties: Parties) -> bool:
        """Whether ``held`` is the law of all that a coalition holds."""
        ...

    def allowance(self, coalition: Parties, n_rhat: int, limits: Mapping[Parties, float]) -> float:
        """Bits by which merging letters after a release may raise what a coalition holds.

        Args:
            coalition: that receives the release.
            n_rhat: its letters.
            limits: on coalitions, in force for this release beside the standing ones.
        """
        ...

    def after(
        self,
        party: str,
        channel: Array,
        made: Transition | None = None,
        *,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
    ) -> tuple[Memory, Transition]:
        """The memory after a release [m, x, rhat], and how it came there.

        Args:
            party: who received it.
            channel: p(rhat | m, x), [m, x, rhat].
            made: as recorded, where the release was made before.
            limits: as for ``allowance``.
            caps: coalition -> bits that its worst single answer may have: merging keeps below.
        """
        ...

    def recall(self, steps: Sequence[Step], source: int, p_x: Array) -> Array:
        """What is known now of the letter of an earlier step, p(rhat | m, x), [m, x, rhat].

        Args:
            steps: everything that was drawn, in order, and who holds it.
            source: number of the step.
            p_x: the law of X on classes.
        """
        ...

    def after_copy(
        self,
        party: str,
        steps: Sequence[Step],
        made: Copy,
        p_x: Array,
        *,
        is_new: bool = True,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
    ) -> tuple[Memory, Copy] | None:
        """The memory after a copy of earlier letters, and how letters were merged.

        ``None`` where merging would raise what a coalition is said to hold by too much.

        Args:
            party: who received it.
            steps, p_x: as for ``recall``.
            made: which letters; the merges count where it is not new.
            is_new: whether merges are to be chosen, and may fail.
            limits: as for ``allowance``.
            caps: coalition -> bits that its worst single answer may have: merging keeps below.
        """
        ...


def information_added_bits(mass: Array, channel: Array, roundings: int = 0) -> float:
    """Upper bound on I(Rhat; X | M) of a channel [m, x, rhat], rounding included.

    ``roundings`` lie behind each mass.
    """
    n_operations = 2 * roundings + sum(channel.shape) + 8
    nats, at_once = 0.0, max(1, _ENTRIES_AT_ONCE // max(channel[0].size, 1))
    for first in range(0, len(mass), at_once):  # a few at a time: arrays stay small
        some = slice(first, first + at_once)
        total = mass[some].sum(axis=1, keepdims=True)
        prior = mass[some] / np.where(total > 0, total, 1.0)
        joint = (mass[some, :, None] * channel[some]).transpose(2, 0, 1)  # [rhat, m, x]
        _, upper = information_upper_nats(joint, prior, n_operations)
        nats += float(upper.sum())
    return nats / LN2
