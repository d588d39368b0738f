"""Whether a cap is kept, in whole numbers, from the integer tables alone ([M] fact 15).

With k releases, 2**(32 k) p(y, m | x) is a whole number: a sum of products of weights. So the
largest p(y | x) / p(y) of a coalition is a fraction, and it is compared with the limit as such.
Letters and states that became one are followed with the factor by which their members may exceed
them (see ``tacit.scheme.views``): a fraction that is not below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Account, Counts
from tacit.limits import Parties, cap_of
from tacit.sampling import IntegerChannel
from tacit.scheme.memory import Copy, Transition
from tacit.scheme.views import ClassOfX, Labels
from tacit.study.books.books import Books
from tacit.study.books.records import CopyRecord

MOST_ENTRIES = 2**18
"""Whole numbers of one view: with more, the bound in double precision has to do."""

Whole = NDArray[Any]
"""Python's integers, of any size."""

Factor = Fraction | None
"""``None`` for a factor without bound."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldStep:
    """A release as it is proved.

    Attributes:
        party: who received it first.
        channel: the integer table, [m, class of x, letter].
        class_of_x: class of each cell.
        transition: what it does to the memory.
    """

    party: str
    channel: IntegerChannel
    class_of_x: ClassOfX
    transition: Transition


@dataclass(frozen=True, slots=True)
class ToldCopy:
    """Letters that were handed to one more party, as that is proved.

    Attributes:
        party: who received them.
        copy: which letters, and how others became one.
    """

    party: str
    copy: Copy


Told = ToldStep | ToldCopy


def told_steps(books: Books) -> list[Told]:
    """Every release that is recorded, copies included."""
    drawn = [each.entry.number for each in books.cohort.drawn]
    return [
        ToldCopy(each.request.party, each.record.copy_of(drawn))
        if isinstance(each.record, CopyRecord)
        else ToldStep(each.request.party, each.channel, each.class_of_x, each.transition)
        for each in books.intents.values()
    ]


class TooLargeError(Exception):
    """A view with too many whole numbers, or one that the record tells otherwise."""


class ExactLaws:
    """What coalitions hold in whole numbers, followed from release to release."""

    def __init__(self) -> None:
        self._known: dict[Parties | None, tuple[int, _Told | None]] = {}

    def keeps(
        self, account: Account, steps: Sequence[Told], coalition: Parties, times: float
    ) -> bool:
        """Whether no answer that a coalition can hold makes an x more ``times`` as likely.

        Its own answers are followed where its law is carried, else those of a coalition around it,
        or of everyone. Where these are too many, the bound in double precision decides.

        Args:
            account: what every coalition holds after the last step.
            steps: every release, in order; those of the call before, and more.
            coalition: the parties.
            times: the limit.
        """
        holders = coalition & account.memory.present
        around = account.memory.covering(holders)
        try:
            laws = (self._follow(account.counts, steps, each) for each in (*around, None))
            return any(law.worst_ratio(account.counts) <= times for law in laws)
        except TooLargeError:
            return account.worst_answer(holders) <= cap_of(times)

    def _follow(self, counts: Counts, steps: Sequence[Told], coalition: Parties | None) -> _Told:
        """What a coalition holds after all steps, everyone for ``None``."""
        n_followed, law = self._known.get(coalition, (0, _start(counts)))
        self._known[coalition] = len(steps), None  # unless all of them can be followed
        if law is None:
            raise TooLargeError
        drawn: list[tuple[ToldStep, Parties]] = []  # with everybody who holds it
        present: Parties = frozenset()
        for number, step in enumerate(steps):
            present |= {step.party}
            is_new = number >= n_followed
            if isinstance(step, ToldCopy):
                source, holders = drawn[step.copy.source]
                if is_new and coalition is not None and step.party in coalition:
                    known = coalition & present
                    if not known & holders:
                        law = _followed_again(counts, drawn, known, step.copy)
                drawn[step.copy.source] = source, holders | {step.party}
                continue
            drawn.append((step, frozenset({step.party})))
            if is_new:
                refined = law.refined(step, counts)
                if coalition is None:
                    law = refined.everyone_after(step, counts)
                else:
                    labels = step.transition.merges.get(coalition & present)
                    is_told = step.party in coalition
                    law = refined.after(step, counts, labels, is_told=is_told)
        self._known[coalition] = len(steps), law
        return law


def _followed_again(
    counts: Counts, drawn: Sequence[tuple[ToldStep, Parties]], coalition: Parties, copy: Copy
) -> _Told:
    """What a coalition holds that gets the letters of a copy, from the first step on."""
    law = _start(counts)
    for number, (step, holders) in enumerate(drawn):
        labels = copy.merges.get(number, {}).get(coalition)
        is_told = number == copy.source or bool(holders & coalition)
        law = law.refined(step, counts).after(step, counts, labels, is_told=is_told)
    return law


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What a coalition holds, in whole numbers.

    Attributes:
        law: p(y, m | x) in units of 2**(-32 k), [x, y, m], x being a class that has records.
        factors: of each letter y.
        class_of: class of each cell that has records, in the order of the cells.
        state: of everyone, the state that each letter y tells, m being no axis then.
    """

    law: Whole
    factors: tuple[Factor, ...]
    class_of: ClassOfX
    state: tuple[int, ...] = (0,)

    def refined(self, step: ToldStep, counts: Counts) -> _Told:
        """The same on the classes of a release."""
        finer = step.class_of_x[np.flatnonzero(counts)]
        _, some, class_of = np.unique(finer, return_index=True, return_inverse=True)
        law = self.law[self.class_of[some]]
        return replace(self, law=law, class_of=class_of.reshape(-1))

    def _weights(self, step: ToldStep, counts: Counts) -> Whole:
        """The integer table on the classes that have records, [m, x, letter]."""
        some_x = np.flatnonzero(counts)[np.unique(self.class_of, return_index=True)[1]]
        return step.channel.weights[:, step.class_of_x[some_x]].astype(object)

    def after(
        self, step: ToldStep, counts: Counts, labels: Labels | None, *, is_told: bool
    ) -> _Told:
        """With one more release: its letters are told to the coalition, or not."""
        moved = self._moved(step, self._weights(step, counts))  # [x, y, letter, m]
        if not is_told:
            return _merged(replace(self, law=moved.sum(axis=2)), labels)
        n_x, n_y, n_letters, n_states = moved.shape
        factors = tuple(each for each in self.factors for _ in range(n_letters))
        law = moved.reshape(n_x, n_y * n_letters, n_states)
        grown = _Told(law, factors, self.class_of)
        return _merged(grown, _occurring(grown.law) if labels is None else labels)

    def everyone_after(self, step: ToldStep, counts: Counts) -> _Told:
        """The same for everyone: a letter y tells the state, [x, y, 1]."""
        weights, next_state = self._weights(step, counts), step.transition.next_state
        n_entries = self.law.size * next_state.shape[1]
        if n_entries > MOST_ENTRIES or max(self.state) >= min(len(weights), len(next_state)):
            raise TooLargeError
        told = np.array(self.state)
        grown = self.law * weights[told].transpose(1, 0, 2)  # [x, y, letter]
        factors = tuple(each for each in self.factors for _ in range(weights.shape[2]))
        law, state = grown.reshape(len(grown), -1, 1), next_state[told].reshape(-1)
        labels = state if step.transition.letters is None else step.transition.letters
        merged = _merged(_Told(law, factors, self.class_of), labels)
        return replace(merged, state=_states_of(labels, state))

    def _moved(self, step: ToldStep, weights: Whole) -> Whole:
        """p(y, letter, m' | x), [x, y, letter, m']."""
        next_state = step.transition.next_state
        n_x, n_y, _ = self.law.shape
        shape = (n_x, n_y, next_state.shape[1], int(next_state.max()) + 1)
        if np.prod(shape) > MOST_ENTRIES or len(next_state) != self.law.shape[2]:
            raise TooLargeError
        moved = np.full(shape, 0, dtype=object)
        for m, letter in np.ndindex(next_state.shape):
            told = self.law[:, :, m] * weights[m, :, letter, None]
            if next_state[m, letter] >= 0:
                moved[:, :, letter, next_state[m, letter]] += told
            elif told.any():
                raise TooLargeError
        return moved

    def worst_ratio(self, records: Counts) -> Fraction:
        """The largest p(y | x) / p(y), given the records of each cell."""
        by_class = np.bincount(self.class_of, weights=records[records > 0])
        law, counts = self.law.sum(axis=2), [int(each) for each in by_class]
        n_records = sum(counts)
        worst = Fraction(1)
        for letter, factor in zip(law.T, self.factors, strict=True):
            total = sum(own * count for own, count in zip(letter, counts, strict=True))
            if not total:
                continue
            rarest = min(count for own, count in zip(letter, counts, strict=True) if own)
            most = Fraction(n_records, rarest)  # no x is more than 1 / p(x) times as likely
            if factor is not None:
                most = min(most, factor * Fraction(max(letter) * n_records, total))
            worst = max(worst, most)
        return worst


def _start(counts: Counts) -> _Told:
    """Nothing released yet: no two cells are told apart."""
    one_class = np.zeros(np.count_nonzero(counts), dtype=np.intp)
    return _Told(np.full((1, 1, 1), 1, dtype=object), (Fraction(1),), one_class)


def _occurring(law: Whole) -> Labels:
    """Labels that keep the letters apart that occur."""
    occurs = (law != 0).any(axis=(0, 2))
    return np.where(occurs, np.cumsum(occurs) - 1, -1)


def _states_of(labels: Labels, state: Labels) -> tuple[int, ...]:
    """The state that each label tells, from the states of the letters."""
    of_label: dict[int, int] = {}
    for label, own in zip(labels.tolist(), state.tolist(), strict=True):
        if label >= 0 and of_label.setdefault(label, own) != own:
            raise TooLargeError
    return tuple(of_label[label] for label in range(len(of_label)))


def _merged(told: _Told, labels: Labels | None) -> _Told:
    """Letters with the same label become one."""
    if labels is None:
        return told
    n_x, n_y, n_states = told.law.shape
    if len(labels) != n_y or (told.law[:, labels < 0] != 0).any():
        raise TooLargeError
    n_labels = int(labels.max()) + 1
    law = np.full((n_x, n_labels, n_states), 0, dtype=object)
    for letter in np.flatnonzero(labels >= 0):
        law[:, labels[letter]] += told.law[:, letter]
    return _Told(law, tuple(_factors(told, labels, law)), told.class_of)


def _factors(told: _Told, labels: Labels, law: Whole) -> Iterator[Factor]:
    """Of each merged letter: the largest of its members."""
    for label in range(law.shape[1]):
        members, merged = np.flatnonzero(labels == label), law[:, label]
        if len(members) == 1:
            yield told.factors[members[0]]
            continue
        own = [_times(told.factors[y], _excess(told.law[:, y], merged)) for y in members]
        yield None if None in own else max(each for each in own if each is not None)


def _times(first: Factor, second: Factor) -> Factor:
    return None if first is None or second is None else first * second


def _excess(own: Whole, merged: Whole) -> Factor:
    """By how much a member may exceed the letter it became part of: 1 if in proportion, or more."""
    occurs = merged != 0
    part, whole = own[occurs], merged[occurs]
    if (part * whole[0] == whole * part[0]).all():
        return Fraction(1)
    shares = [float(share) for share in part / whole]  # each correctly rounded
    least = nextafter(min(shares), 0.0)
    return Fraction(nextafter(max(shares), inf)) / Fraction(least) if least > 0 else None
