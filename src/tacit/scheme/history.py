"""Exact history: a memory with one state for every reachable sequence of letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.limits import Parties
from tacit.scheme.memory import NO_LIMITS, Copy, Step, Transition
from tacit.scheme.views import (
    ClassOfX,
    CoalitionView,
    EveryoneView,
    bound_worst_answer,
    class_sums,
    followed,
    parent_classes,
    split_classes,
)

_SAME_SHAPE = 1e-14
"""Letters whose laws p(z, x | letter) differ by no more, relatively, are in proportion."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactHistory:
    """Every reachable history.

    Attributes:
        mass: p(z, x), [z, x].
        letters: the letters behind each history, [z, release].
        holders: who holds the letters of each release.
        class_of_x: class of each cell: x is a class of cells.
    """

    mass: Array
    letters: NDArray[np.intp]
    holders: tuple[Parties, ...]
    class_of_x: ClassOfX

    @staticmethod
    def start(p_x: Array, class_of_x: ClassOfX | None = None) -> ExactHistory:
        """Nothing released yet; every cell is a class of its own by default."""
        classes = np.arange(len(p_x)) if class_of_x is None else class_of_x
        mass = class_sums(classes, p_x)[None]
        return ExactHistory(mass, np.zeros((1, 0), dtype=np.intp), (), classes)

    def refine(self, class_of_x: ClassOfX, p_x: Array) -> ExactHistory:
        """The memory on finer classes, given the weight of each cell."""
        mass, _ = split_classes(self.mass, {}, self.class_of_x, class_of_x, p_x)
        return replace(self, mass=mass, class_of_x=class_of_x)

    @property
    def everyone_bits(self) -> float:
        """I(Z; X), exact up to rounding."""
        return mutual_information(self.mass)

    @property
    def is_sufficient(self) -> bool:
        """Always: nothing is forgotten."""
        return True

    def held(self, parties: Parties) -> Array:
        """p(y, x): histories that show the same letters, added up."""
        letter = self._letters_seen(parties)
        held = np.zeros((int(letter.max()) + 1, self.mass.shape[1]))
        np.add.at(held, letter, self.mass)
        return held

    def known_laws(self, parties: Parties) -> tuple[list[Array], bool]:
        """The law of all that a coalition holds."""
        return [self.held(parties)], True

    def _letters_seen(self, parties: Parties) -> NDArray[np.intp]:
        """Number of what the coalition sees on each history, [z]."""
        own = [index for index, holders in enumerate(self.holders) if holders & parties]
        letter = np.zeros(len(self.mass), dtype=np.intp)
        if own:
            _, letter = np.unique(self.letters[:, own], axis=0, return_inverse=True)
            letter = letter.reshape(-1)
        return letter

    def view(self, parties: Parties) -> CoalitionView:
        """What a coalition holds: no letters are merged but those that tell the same."""
        letter = self._letters_seen(parties)
        shown = np.arange(letter.max() + 1)[:, None] == letter
        return CoalitionView(np.ascontiguousarray(self.mass.T[:, None] * shown))

    def seen(self, parties: Parties, left: float) -> tuple[CoalitionView, float]:
        """All letters: nothing is given up."""
        return self.view(parties), 0.0

    def bits(self, parties: Parties) -> float:
        """I(Y; X), exact up to rounding."""
        return mutual_information(self.held(parties))

    def worst_answer(self, parties: Parties) -> float:
        """Exact up to rounding."""
        held = self.held(parties)
        return bound_worst_answer(held, np.zeros(len(held)), len(self.mass))

    @property
    def everyone(self) -> EveryoneView:
        """Every history is a letter."""
        return EveryoneView.of_states(self.mass)

    def is_exact(self, parties: Parties) -> bool:
        """Always."""
        return True

    def allowance(self, coalition: Parties, n_rhat: int, limits: Mapping[Parties, float]) -> float:
        """Nothing: no letters are merged."""
        return 0.0

    def after(
        self,
        party: str,
        channel: Array,
        made: Transition | None = None,
        *,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
    ) -> tuple[ExactHistory, Transition]:
        """Append a release; histories that cannot occur are dropped.

        Letters that tell the same in every history become one, which no coalition, now or later,
        can tell from the other ([M] fact 3).
        """
        n_z, n_x, n_rhat = channel.shape
        grown = followed(self.mass, channel).reshape(n_z, n_rhat, n_x)
        same_as = _same_letters(grown)
        grown = np.stack([grown[:, same_as == letter].sum(axis=1) for letter in range(n_rhat)], 1)
        # However rare: the largest pointwise leakage and ε are those of the rarest histories.
        is_reached = grown.sum(axis=2) > 0
        number = np.where(is_reached, np.cumsum(is_reached).reshape(n_z, n_rhat) - 1, -1)
        transition = Transition(number[:, same_as]) if made is None else made
        before, letter = np.nonzero(is_reached)
        letters = np.concatenate([self.letters[before], letter[:, None]], axis=1)
        holders = (*self.holders, frozenset({party}))
        return ExactHistory(grown[is_reached], letters, holders, self.class_of_x), transition

    def recall(self, steps: Sequence[Step], source: int, p_x: Array) -> Array:
        """See ``Memory``: letters that tell the same are one in a history, and may be any of it."""
        step = steps[source]
        before, after = (self._number_of_past(n) for n in (source, source + 1))
        is_told = step.next_state[before] == after[:, None]  # [z, rhat]
        told = step.table[before][:, parent_classes(step.class_of_x, self.class_of_x)]
        told = np.where(is_told[:, None], told, 0.0)
        total = told.sum(axis=-1, keepdims=True)
        any_of_it = is_told / is_told.sum(axis=1, keepdims=True)
        return np.where(total > 0, told / np.where(total > 0, total, 1.0), any_of_it[:, None])

    def _number_of_past(self, n_releases: int) -> NDArray[np.intp]:
        """Number of each history as it was after the first releases, [z]."""
        if not n_releases:
            return np.zeros(len(self.mass), dtype=np.intp)
        past = np.unique(self.letters[:, :n_releases], axis=0, return_inverse=True)[1]
        return np.asarray(past.reshape(-1))

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
    ) -> tuple[ExactHistory, Copy]:
        """One more party holds the letters; no letters are merged."""
        holders = [*self.holders]
        holders[made.source] |= {party}
        return replace(self, holders=tuple(holders)), made


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
