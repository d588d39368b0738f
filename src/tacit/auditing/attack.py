"""The collusion attack, carried out: guess every simulated record from the letters held.

The coalition knows the design. It keeps its exact belief p(m, x | letters seen so far), moves it
along with every release, seen or not, and guesses the likeliest x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.auditing.exposure import Exposure
from tacit.limits import Parties
from tacit.scheme import Step

_BELIEF_BYTES = 2**26
"""Beliefs larger than this are followed for half of the rows at a time."""

_FEWEST_RECORDS = 100
"""Fewest records that are attacked, whatever the work."""

Letters = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Attack:
    """How often a coalition guessed simulated records right, against what was predicted.

    Attributes:
        records: how many records it guessed.
        successes: how many of them it guessed right.
        low, high: confidence interval (Clopper and Pearson) for the chance of a right guess.
        predicted: that chance, by the Bayes vulnerability.
        is_bound: whether the prediction is an upper bound only.
        simulated_bits: mean over the records of what their letters tell about x, an estimate of
            I(Y; X) without bias; for comparison where only a bound is known.
    """

    records: int
    successes: int
    low: float
    high: float
    predicted: float
    is_bound: bool
    simulated_bits: float

    @property
    def observed(self) -> float:
        """Share of right guesses."""
        return self.successes / self.records

    @property
    def is_consistent(self) -> bool:
        """Whether the prediction lies in the interval; a bound, not below it."""
        return self.low <= self.predicted and (self.is_bound or self.predicted <= self.high)


def clopper_pearson(successes: int, records: int, confidence: float) -> tuple[float, float]:
    """Interval that holds the chance of success with at least this confidence, whatever it is."""
    tail = (1 - confidence) / 2
    # SciPy as a whole: its parts load when they are used, and pages import this file.
    missed, quantile = records - successes, scipy.special.betaincinv
    low = quantile(successes, missed + 1, tail) if successes > 0 else 0.0
    high = quantile(successes + 1, missed, 1 - tail) if missed > 0 else 1.0
    return float(low), float(high)


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Records drawn from the design, and what was released about them.

    Attributes:
        releases: all releases, in order.
        memory_laws: p(m, x) before each release and after the last, [m, x].
        x_codes: the truth, [record]; used to count right guesses only.
        letters: letters of every release, [record, release].
    """

    releases: Sequence[Step]
    memory_laws: Sequence[Array]
    x_codes: Letters
    letters: Letters


def attack(
    parties: Parties, simulation: Simulation, exposure: Exposure, *, confidence: float, work: int
) -> Attack:
    """Guess every record from what ``parties`` received of it.

    Args:
        parties: who pools what.
        simulation: the records.
        exposure: what predicts the chance of a right guess, or bounds it.
        confidence: of the interval.
        work: multiplications to spend; where they do not suffice, fewer records are attacked.
    """
    releases, laws = simulation.releases, simulation.memory_laws
    seen = [index for index, release in enumerate(releases) if release.holders & {*parties}]
    n_records = len(simulation.x_codes)
    while _work(n_records, seen, releases, laws) > work and n_records > _FEWEST_RECORDS:
        n_records = max(n_records // 2, _FEWEST_RECORDS)
    letters = simulation.letters[:n_records, seen]
    tuples, row = np.unique(letters, axis=0, return_inverse=True)
    row = row.reshape(-1)
    posterior = posteriors(tuples, seen, releases, laws)
    guesses = posterior.argmax(axis=1)[row]
    successes = int((guesses == simulation.x_codes[:n_records]).sum())
    low, high = clopper_pearson(successes, n_records, confidence)
    weights = np.bincount(row) / n_records
    bits = float(weights @ _divergences(posterior, laws[0].sum(axis=0)))
    return Attack(
        n_records,
        successes,
        low,
        high,
        predicted=exposure.guess_after,
        is_bound=not exposure.is_exact,
        simulated_bits=bits,
    )


def _work(
    n_records: int, seen: Sequence[int], releases: Sequence[Step], memory_laws: Sequence[Array]
) -> int:
    """Multiplications at most: sequences of letters seen, times states, times x.

    This depends on the design only. If it depended on the letters, the interval would not hold.
    """
    n_states, n_x = memory_laws[seen[0]].shape
    n_rows, work = 1, 0
    for index in range(seen[0], seen[-1] + 1):
        n_letters = releases[index].table.shape[-1]
        if index in seen:
            n_rows = min(n_rows * n_letters, n_records)
        else:
            n_states *= n_letters
        work += n_rows * n_states * n_x
        n_states = min(n_states, len(memory_laws[index + 1]))
    return work


def _begin(tuples: Letters, n_columns: int) -> NDArray[np.intp]:
    """Number, from 0, of the beginning of each of the sorted tuples, [tuple]."""
    is_new = (tuples[1:, :n_columns] != tuples[:-1, :n_columns]).any(axis=1)
    return np.concatenate([[0], np.cumsum(is_new)])


def posteriors(
    tuples: Letters, seen: Sequence[int], releases: Sequence[Step], memory_laws: Sequence[Array]
) -> Array:
    """p(x | letters) for distinct, sorted tuples of letters of the releases ``seen``, [tuple, x].

    Releases before the first one seen are in its memory law; those after the last do not matter.
    """
    start = memory_laws[seen[0]]
    row = np.zeros(len(start), dtype=np.intp)
    steps = [
        (releases[index], seen.index(index) if index in seen else None)
        for index in range(seen[0], seen[-1] + 1)
    ]
    return _follow(_Belief(row, np.arange(len(start)), start), tuples, steps)


@dataclass(frozen=True, slots=True, eq=False)
class _Belief:
    """p(m, x | letters seen), as the entries (row, m) that are possible, sorted by both.

    Attributes:
        row: which of the distinct sequences of letters seen so far, [entry].
        state: m, [entry].
        mass: [entry, x]; the entries of a row sum to 1.
    """

    row: NDArray[np.intp]
    state: NDArray[np.intp]
    mass: Array

    def rows(self, begin: int, end: int) -> _Belief:
        """The rows from ``begin`` to before ``end``, numbered from 0."""
        entries = slice(*np.searchsorted(self.row, [begin, end]))
        return _Belief(self.row[entries] - begin, self.state[entries], self.mass[entries])

    def entries_of(self, row: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Entries of the given rows, one row after the other; and which of them each is for."""
        begin, end = np.searchsorted(self.row, [row, row + 1])
        which = np.repeat(np.arange(len(row)), end - begin)
        skipped = np.cumsum(end - begin) - end
        return np.arange(len(which)) - skipped[which], which


_Step = tuple[Step, int | None]
"""A release, and the column of its letters in the tuples; None if somebody else received it."""


def _follow(belief: _Belief, tuples: Letters, steps: Sequence[_Step], n_known: int = 0) -> Array:
    """p(x | letters) after all steps, [tuple, x]; ``n_known`` letters are in the belief already."""
    for index, (release, column) in enumerate(steps):
        row = _begin(tuples, n_known)
        if row[-1] > 0 and belief.mass.nbytes * release.table.shape[-1] > _BELIEF_BYTES:
            middle = (row[-1] + 1) // 2
            cut = np.searchsorted(row, middle)
            first = belief.rows(0, middle), tuples[:cut]
            second = belief.rows(middle, row[-1] + 1), tuples[cut:]
            halves = [_follow(*half, steps[index:], n_known) for half in (first, second)]
            return np.concatenate(halves)
        if column is None:  # any letter may have been released
            n_letters = release.table.shape[-1]
            entry = np.repeat(np.arange(len(belief.row)), n_letters)
            letter = np.tile(np.arange(n_letters), len(belief.row))
            after = belief.row[entry]
        else:
            n_known = column + 1
            _, example = np.unique(_begin(tuples, n_known), return_index=True)
            entry, after = belief.entries_of(row[example])
            letter = tuples[example, column][after]
        belief = _moved(belief, release, entry, letter, after)
    return _summed(belief.mass, belief.row, len(tuples))


def _moved(
    belief: _Belief,
    release: Step,
    entry: NDArray[np.intp],
    letter: NDArray[np.intp],
    row: NDArray[np.intp],
) -> _Belief:
    """Entries that meet a letter: b'(m', x) ∝ Σ_m b(m, x) c(letter | m, x) in the given rows."""
    before = belief.state[entry]
    after = release.next_state[before, letter]
    if (after < 0).any():  # cannot occur
        entry, letter, row, before, after = (
            array[after >= 0] for array in (entry, letter, row, before, after)
        )
    by_letter = np.ascontiguousarray(release.channel.swapaxes(1, 2))  # [m, rhat, x]
    n_states = int(after.max(initial=0)) + 1
    code, group = np.unique(row * n_states + after, return_inverse=True)
    mass = _summed(by_letter[before, letter] * belief.mass[entry], group, len(code))
    weight = mass.sum(axis=1)
    if not weight.all():
        code, mass, weight = code[weight > 0], mass[weight > 0], weight[weight > 0]
    row = code // n_states
    # Bare products would leave the range of floats after many releases.
    mass /= np.bincount(row, weights=weight)[row, None]
    return _Belief(row, code % n_states, mass)


def _summed(mass: Array, group: NDArray[np.intp], n_groups: int) -> Array:
    """Sums of ``mass`` [entry, x] by group, [group, x]."""
    order = np.argsort(group, kind="stable")
    if (np.diff(order) != 1).any():  # else they are sorted already, and need no copy
        mass, group = mass[order], group[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    if len(first) == len(mass) == n_groups:
        return mass
    summed = np.zeros((n_groups, mass.shape[1]))
    summed[group[first]] = np.add.reduceat(mass, first)
    return summed


def _divergences(posterior: Array, p_x: Array) -> Array:
    """D(posterior || p_x) in bits, [row]."""
    ratio = posterior / np.where(p_x > 0, p_x, 1.0)
    return np.asarray((posterior * np.log2(np.where(ratio > 0, ratio, 1.0))).sum(axis=1))
