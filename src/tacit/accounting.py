"""Rigorous upper bounds on what coalitions hold, for integer channels, by ball arithmetic.

Masses are computed in double precision from integer tables. All terms are sums of products of
non-negative numbers, so a count of roundings bounds their relative error (``tacit.information``);
each mass then becomes a ball, and logarithms and sums are python-flint's ``arb``. The result is an
upper bound on the leakage of exactly what is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum, inf, nextafter
from threading import RLock

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.information.laws import UNIT_ROUNDOFF, add_up, gamma
from tacit.limits import Limit, Parties
from tacit.sampling import TOTAL, IntegerChannel, Weights
from tacit.scheme.bounded_memory import BoundedMemory
from tacit.scheme.memory import NO_LIMITS, Copy, Step, Transition
from tacit.scheme.views import ClassOfX, CoalitionView, EveryoneView, class_sums

_PRECISION = 128
_TINY = 1e-250
"""Smaller masses count as anything between 0 and this: products of them may have underflowed."""

_CARRIED_ENTRIES = 2**21
"""Entries of the laws that are carried, p(y, m, x) of all coalitions, and of p(m, x): every command
proves them again, so that they are fewer than a scheme carries."""

_REMEMBERED_ENTRIES = 2**14

_MANY_TERMS = 2**12
"""Sums of more terms are computed in double precision, with a bound on their rounding."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Held:
    """What a coalition holds at most.

    Attributes:
        bits: about a record, on average.
        worst_answer: bits that its worst single answer tells.
        worst_answer_slack: bits by which that may be above the truth, at most.
        letters: answers that are told apart; ``None`` where ``bits`` are those of others.
        slack: bits by which ``bits`` may be above the truth, at most. A coalition holds at least
            what every carried one within it does, and everyone at least the letters told apart.
        is_covered: whether its own law is not carried.
    """

    bits: float
    worst_answer: float
    worst_answer_slack: float
    letters: int | None
    slack: float
    is_covered: bool


@dataclass(frozen=True, eq=False)  # no slots: counts of classes are computed once
class Account:
    """Everything released so far, and what each coalition holds of it at most.

    Attributes:
        counts: records in each cell x.
        memory: p(m, x), and p(y, m, x) of the coalitions that matter.
    """

    counts: Counts
    memory: BoundedMemory
    _proved: dict[Parties, float] = field(default_factory=dict)  # each bound is computed once

    @staticmethod
    def start(
        counts: Counts, cap: int, standing: tuple[Limit, ...], class_of_x: ClassOfX | None = None
    ) -> Account:
        """Nothing released yet; every cell is a class of its own by default."""
        p_x = counts / counts.sum()
        return Account(counts, BoundedMemory.start(p_x, cap, standing, class_of_x))

    def refine(self, class_of_x: ClassOfX) -> Account:
        """The account on finer classes of cells: what coalitions hold stays the same."""
        memory = self.memory.refine(class_of_x, self.counts.astype(float))
        return self if memory is self.memory else Account(self.counts, memory, self._proved)

    @property
    def everyone_bits(self) -> float:
        """The bound on everyone, proved: upper bound on what all releases tell about a record."""
        return self.memory.everyone_bits

    def after(
        self,
        party: str,
        channel: IntegerChannel,
        made: Transition | None = None,
        *,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
        everyone_bits: float | None = None,
    ) -> tuple[Account, Transition]:
        """The account after a release, and what the release does to the memory.

        Args:
            party: who received it.
            channel: the integer table that is sampled, [m, class of x, letter].
            made: as recorded, where the release was made before. Its slacks are believed where it
                names them, and proved again where it does not.
            limits: on coalitions, in force for this release beside the standing ones.
            caps: on the worst single answer of coalitions: merging keeps below them.
            everyone_bits: the bound on everyone as recorded, where that is believed.
        """
        if everyone_bits is None:
            memory = self.memory
            added = information_added_upper_bits(
                memory.mass, channel, memory.roundings, memory.everyone
            )
            everyone_bits = add_up(memory.everyone_bits, added)
        after, transition = self.memory.after(
            party, channel.law, made, limits=limits, caps=caps, everyone_bits=everyone_bits
        )
        return Account(self.counts, after), transition

    def after_copy(
        self,
        party: str,
        steps: Sequence[Step],
        made: Copy,
        *,
        is_new: bool = True,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
    ) -> tuple[Account, Copy] | None:
        """The account after a copy of earlier letters: nothing more is told to everyone.

        Args:
            party: who received it.
            steps: everything that was drawn, in order, and who holds it.
            made: which letters. Where it is not new, its slacks are believed where it names them,
                and proved again where it does not.
            is_new: whether merges are to be chosen. ``None`` is returned where that costs too much.
            limits: as for ``after``, and so are ``caps``.
            caps: on the worst single answer of coalitions.
        """
        told = self.memory.after_copy(
            party, steps, made, self.p_class, is_new=is_new, limits=limits, caps=caps
        )
        return None if told is None else (Account(self.counts, told[0]), told[1])

    def recall(self, steps: Sequence[Step], source: int) -> Array:
        """What is known now of the letter of an earlier step, p(rhat | m, x), [m, x, rhat]."""
        return self.memory.recall(steps, source, self.p_class)

    @property
    def p_class(self) -> Array:
        """The law of a record's class."""
        return np.asarray(self._class_counts / self.counts.sum())

    def with_fewer_states(self) -> Account:
        """The account for what is released next, which leaves only as many states as laws allow."""
        memory = replace(
            self.memory,
            carried_entries=_CARRIED_ENTRIES,
            remembered_entries=_REMEMBERED_ENTRIES,
        )
        return replace(self, memory=memory)

    def upper_bits(self, parties: Parties) -> float:
        """Upper bound on what parties hold together about a record.

        Where their law is not carried, that of a carried coalition around them or the bound on
        everyone covers them.
        """
        holders = parties & self.memory.present
        if holders not in self._proved:
            self._proved[holders] = min([self.everyone_bits, *self._bounds(holders)])
        return self._proved[holders]

    def _bounds(self, holders: Parties) -> Iterator[float]:
        """By their own law if it is carried, else by those of the coalitions around them."""
        if holders in self.memory.carried:
            yield self._bits_of_law(self.memory.carried[holders])
        else:
            yield from map(self.upper_bits, self.memory.covering(holders))

    def _bits_of_law(self, view: CoalitionView) -> float:
        """Upper bound on what a carried coalition holds, by its law and slack."""
        counts, law = self._class_counts, view.held
        roundings = self.memory.roundings + view.n_summed
        bits = information_upper_bits(law, counts, roundings)
        return add_up(bits, view.slack) if view.slack else bits

    @cached_property
    def _class_counts(self) -> Counts:
        """Records in each class of cells."""
        return class_sums(self.memory.class_of_x, self.counts.astype(float)).astype(np.int64)

    def worst_answer(self, parties: Parties) -> float:
        """Upper bound on the bits of the worst single answer that parties can hold together.

        After any answer, no combination of levels is more than 2**bits times as likely as before.
        Rounding is included, so that it may lie above a cap that is met exactly: whether a cap is
        kept is for ``tacit.study.proofs.caps`` to say.
        """
        holders = parties & self.memory.present
        return self.memory.worst_answer(holders) if holders else 0.0

    def worst_answer_slack(self, parties: Parties) -> float:
        """Bits by which ``worst_answer`` may be above the truth, at most."""
        return self._worst_answer_and_slack(parties)[1]

    def _worst_answer_and_slack(self, parties: Parties) -> tuple[float, float]:
        holders = parties & self.memory.present
        return self.memory.worst_answer_and_slack(holders) if holders else (0.0, 0.0)

    def view(self, parties: Parties) -> CoalitionView | None:
        """What is remembered of all that parties hold together; ``None`` if it is not carried."""
        return self.memory.view(parties & self.memory.present)

    def holdings(self, coalitions: Iterable[Parties]) -> dict[Parties, Held]:
        """What coalitions hold, and how loose that is, at most."""
        return {each: self._held(each & self.memory.present) for each in coalitions}

    def _held(self, holders: Parties) -> Held:
        memory, bits = self.memory, self.upper_bits(holders)
        worst = self._worst_answer_and_slack(holders)
        view = memory.view(holders)
        if view is not None:
            return Held(bits, *worst, view.n_letters, view.slack, is_covered=False)
        within = {who: each.held for who, each in memory.carried.items() if who <= holders}
        summed = max((memory.carried[who].n_summed for who in within), default=0)
        letters, laws = None, [law.T for law in within.values()]
        if holders == memory.present:
            letters, laws = len(memory.everyone.law), [*laws, memory.everyone.law]
        told = max(information_lower_bits(law, memory.roundings + summed) for law in laws)
        return Held(bits, *worst, letters, max(0.0, bits - told), is_covered=True)

    def is_covered(self, parties: Parties) -> bool:
        """Whether ``upper_bits`` is that of others, because their law is not carried."""
        return self.view(parties) is None


_PRECISE = RLock()
"""FLINT has one precision for the whole process: another thread must not change it meanwhile."""


@contextmanager
def _precision() -> Iterator[None]:
    with _PRECISE, ctx.workprec(_PRECISION):
        yield


def information_upper_bits(law: Array, counts: Counts, roundings: int) -> float:
    """Upper bound on I(Y; X) in bits.

    Args:
        law: p(y, x), [y, x].
        counts: records in each x: the exact law of X.
        roundings: behind each entry of ``law``.
    """
    if len(law) <= 1:
        return 0.0
    of_term, of_sum = gamma(roundings), gamma(roundings + law.shape[1])
    with _precision():
        told = _sum_x_log_x(law.reshape(-1), of_term)
        spread = _sum_x_log_x(law.sum(axis=1), of_sum)
        return _upper_bits(told - spread - _sum_p_log_p(counts))


def information_lower_bits(law: Array, roundings: int) -> float:
    """A number below I(Y; X) in bits, 0 or more; arguments as above."""
    product = law.sum(axis=1, keepdims=True) * law.sum(axis=0)
    logs = np.log2(np.where(law > 0, law / np.where(product > 0, product, 1.0), 1.0))
    error = 16 * gamma(roundings + law.size + 64)
    return max(0.0, float((law * (logs - error * (np.abs(logs) + 4))).sum()))


def information_added_upper_bits(
    mass: Array, channel: IntegerChannel, roundings: int, everyone: EveryoneView | None = None
) -> float:
    """Upper bound on I(Rhat; X | W) in bits: exactly 0 where no row depends on x.

    W is a letter that tells the state m, and is drawn from the history: of all that has such a
    letter, I(Rhat; X | history) is at most this, and no more than I(Rhat; X | M) ([M] fact 6).

    Args:
        mass: p(m, x), [m, x].
        channel: p(letter | m, x).
        roundings: behind each mass.
        everyone: the letters W; the states by default.
    """
    if _is_constant_in_x(mass, channel.weights):
        return 0.0
    told = EveryoneView.of_states(mass) if everyone is None else everyone
    table = channel.law
    joint = np.stack([row @ table[state] for row, state in zip(told.law, told.state, strict=True)])
    of_row, of_told = gamma(roundings + mass.size), gamma(roundings + mass.shape[1])
    of_letter = gamma(roundings + mass.shape[1] + 2)
    with _precision():
        rows = _sum_of_rows(mass, channel.weights, of_row)  # the same for all letters of a state
        spread = _sum_x_log_x(joint.reshape(-1), of_letter)
        letters = _sum_x_log_x(told.law.sum(axis=1), of_told)
        return _upper_bits(rows - spread + letters)


def other_rows_upper_bits(counts: Counts, tables: Sequence[Weights] | None) -> float:
    """Upper bound on what everybody else's answers add to a record's own, in bits.

    For somebody who knows the counts, records are drawn from the table without replacement: the
    others' answers tell a little about what is left for this one. That is I(X1; Y2...Yn | Y1) for
    n records in random order with these counts, at most I(X1; Y2...Yn), the same or less for a
    coalition that holds only some of the releases. Cells whose rows agree in all releases count
    as one class. Two bounds hold, and the smaller is taken:

    - H(X1 | Y) >= H(X1...Xn | Y) / n >= (log M) / n - I(X1; Y1) with M = n! / prod n_x! orders, so
      the others add at most H(X) - (log M) / n, whatever was released.
    - With probability e a record's answers do not depend on its class: e is the product over the
      releases of min_m sum_letter min_x p(letter | m, x). So they tell no more than if each class
      were disclosed with probability 1 - e. Of N classes not disclosed, this one's included, chance
      makes other shares than the table's: the information is at most log(1 + E chi2) with
      E chi2 = (k - 1) (n / N - 1) / (n - 1), and E 1/N = (1 - (1 - e)^n) / (n e), for k classes.

    Args:
        counts: records in each cell x, or class of cells.
        tables: weights of all releases, [m, x, letter]; ``None`` for whatever may ever be
            released.
    """
    occupied = np.flatnonzero(counts)
    told = [table[:, occupied] for table in tables or ()]
    classes = counts[occupied] if tables is None else _class_counts(counts[occupied], told)
    if len(classes) == 1:
        return 0.0
    with _precision():
        n = int(classes.sum())
        orders = arb(n + 1).lgamma() - sum((arb(c + 1).lgamma() for c in classes.tolist()), arb(0))
        by_counting = -_sum_p_log_p(classes) - orders / n
        if tables is None:
            return _upper_bits(by_counting)
        return min(_upper_bits(by_counting), _undisclosed_bits(len(classes), n, told))


def _class_counts(counts: Counts, tables: Sequence[Weights]) -> Counts:
    """Records in each class: cells whose rows [m, letter] agree in all tables."""
    found: dict[tuple[bytes, ...], int] = {}
    for x, count in enumerate(counts.tolist()):
        rows = tuple(table[:, x].tobytes() for table in tables)
        found[rows] = found.get(rows, 0) + count
    return np.array([*found.values()], dtype=np.int64)


def _undisclosed_bits(n_classes: int, n: int, tables: Sequence[Weights]) -> float:
    """log2(1 + E chi2) of ``other_rows_upper_bits``; infinite where answers may tell the class."""
    independent = arb(1)
    for table in tables:
        independent *= arb(int(table.min(axis=1).sum(axis=1).min())) / TOTAL
    if not independent > 0:
        return inf
    chi_square = (1 - (1 - independent) ** n) / independent - 1
    return _upper_bits((1 + chi_square * (n_classes - 1) / (n - 1)).log())


def _is_constant_in_x(mass: Array, weights: NDArray[np.uint64]) -> bool:
    """Whether every state gives all its x the same row."""
    some_x = mass.argmax(axis=1)
    row = np.take_along_axis(weights, some_x[:, None, None], axis=1)
    return bool((weights == row).all(axis=-1)[mass > 0].all())


def _sum_of_rows(mass: Array, weights: NDArray[np.uint64], relative: float) -> arb:
    """sum p(m, x) sum_letter c log c, in nats; equal rows are computed once.

    Args:
        mass: p(m, x), [m, x].
        weights: of the channel, [m, x, letter].
        relative: error of the sum of the masses of one row.
    """
    occurs = mass > 0
    rows, which = np.unique(weights[occurs], axis=0, return_inverse=True)
    share = np.bincount(which.reshape(-1), weights=mass[occurs], minlength=len(rows))
    total = arb(0)
    for row, mid in zip(rows.tolist(), share.tolist(), strict=True):
        total += _ball(mid, relative) * _sum_of_weights(row)
    return total


def _sum_of_weights(row: Iterable[int]) -> arb:
    shares = [arb(weight) / TOTAL for weight in row if 0 < weight < TOTAL]
    return sum((share * share.log() for share in shares), arb(0))


def _sum_x_log_x(values: Array, relative: float) -> arb:
    """sum v log v in nats, each value within its relative error."""
    total = arb(0, len(values) * _TINY * 1000)  # |v log v| < 1000 v below _TINY
    counted = values[values > _TINY]
    if len(counted) > _MANY_TERMS:
        return total + _sum_of_many(counted, relative)
    for value in counted.tolist():
        ball = _ball(value, relative)
        total += ball * ball.log()
    return total


def _sum_of_many(values: Array, relative: float) -> arb:
    """The same in double precision: a logarithm is off by 4 units in its last place at most.

    A value that is off by e moves v log v by e (1 + |log v|) at most, up to e itself. The sum is
    rounded once.
    """
    terms = values * np.log(values)
    size = float(np.abs(terms).sum()) * 1.001
    moved = relative * (size + float(values.sum())) * 1.001
    return arb(fsum(terms.tolist()), moved + 11 * UNIT_ROUNDOFF * size)


def _sum_p_log_p(counts: Counts) -> arb:
    """sum p log p in nats of an exact law."""
    n_records = int(counts.sum())
    shares = [arb(count) / n_records for count in counts.tolist() if 0 < count < n_records]
    return sum((share * share.log() for share in shares), arb(0))


def _ball(mid: float, relative: float) -> arb:
    return arb(mid, mid * relative * 1.0000001)


def _upper_bits(nats: arb) -> float:
    """A float above a ball of nats, in bits; information is never below 0."""
    upper = (nats / arb(2).log()).upper()
    return max(0.0, nextafter(float(upper), inf))
