"""Sequential information bottleneck ([TVC] section VIII): representations of one X, task by task.

Tasks Y_1, ..., Y_m arrive in turn. The representation T of the current task minimises

    -I(T; Y) + mu1 I(T; X) + mu2 I(T, Z; X),

Z being all earlier representations: relevance, against compression, against what must be stored
in total. It is [TVC] Algorithm 2 at fixed multipliers, from many starts.

Z is made from X alone, so Y - X - (Z, T) always, and data processing gives I(T; Y) <= I(T; X).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information import mutual_information
from tacit.information.laws import as_channel, as_law
from tacit.problem import Problem
from tacit.scheme.views import merge_laws
from tacit.solvers.iteration.alternation import as_multipliers
from tacit.solvers.iteration.starts import Points, iterate, measured, random_starts
from tacit.solvers.kernel import one_thread

MERGE_BITS = 1e-9
"""Letters and stored states are merged while this is all the information that is lost. An iteration
that stops early leaves almost equal letters, and every history multiplies them."""

_CHANNEL_ENTRIES = 2**13
"""Entries of p(t | z, x) up to which T gets a letter for every record that occurs, by default."""

_SCOUTING_STEPS = 100
_FOLLOWED = 3
"""Run every start for ``_SCOUTING_STEPS``; continue only the best ``_FOLLOWED``."""

_STIR = 0.1
"""Weight of the random part in the start that copies the memory: the iteration keeps zeros."""


@dataclass(frozen=True, slots=True, eq=False)
class Representation:
    """One representation.

    Attributes:
        channel: p(t | z, x), [z, x, t]; z runs over the states stored before it.
        relevance_bits: I(T; Y).
        compression_bits: I(T; X).
        memory_bits: I(T, Z; X), all that is stored after it.
        added_bits: I(T; X | Z), how much of that is new.
        mu: (mu1, mu2).
        is_converged: False if ``max_steps`` ended the iteration, not ``tol``.
    """

    channel: Array
    relevance_bits: float
    compression_bits: float
    memory_bits: float
    added_bits: float
    mu: tuple[float, float]
    is_converged: bool

    @property
    def objective(self) -> float:
        """What was minimised ([TVC] section VIII)."""
        return (
            -self.relevance_bits
            + self.mu[0] * self.compression_bits
            + self.mu[1] * self.memory_bits
        )

    @property
    def is_empty(self) -> bool:
        """True if T has a single letter and so tells nothing."""
        return bool(self.channel.shape[2] == 1)


class SequentialBottleneck:
    """Representations of one X for one task after another."""

    def __init__(self, p_x: ArrayLike) -> None:
        """Start with nothing stored; ``p_x`` is the law of X, or counts."""
        self.p_x = as_law(p_x, name="p_x").reshape(-1)
        self.representations: list[Representation] = []
        self._occurs = self.p_x > 0
        self._mass = self.p_x[self._occurs][None]  # p(z, x) of stored states and records that occur

    @property
    def memory_bits(self) -> float:
        """I(Z; X): what is stored so far."""
        return mutual_information(self._mass)

    @property
    def n_states(self) -> int:
        """How many different memories can be stored so far."""
        return len(self._mass)

    def represent(
        self,
        p_y_given_x: ArrayLike,
        *,
        mu: tuple[float, float],
        letters: int | None = None,
        starts: int = 16,
        seed: int = 0,
        tol: float = 1e-7,
        max_steps: int = 5000,
    ) -> Representation:
        """The best representation found for a task, appended to what is stored.

        With mu2 = 0 every T with the same p(t | x) is equally good, whether it depends on Z or not;
        the one that does not read Z is returned, the plain information bottleneck.

        Args:
            p_y_given_x: the task, p(y | x), [x, y].
            mu: (mu1, mu2) per bit, >= 0 and not both 0. From mu1 = 1 on, T is empty.
            letters: of T, at most. By default as many as records occur, which is enough where
                mu2 = 0; fewer where so many would take long, but one more than the task has.
            starts: starts of Algorithm 2; the best end is kept, the empty T is always among them.
            seed: of the starts.
            tol: stop when no entry of a channel moves by more than this.
            max_steps: iterations per start.
        """
        task = as_channel(p_y_given_x, self.p_x, name="p_y_given_x")
        mu = as_multipliers(mu)
        mass = self._mass if mu[1] > 0 else self._mass.sum(axis=0, keepdims=True)
        n_letters = _enough_letters(mass, task) if letters is None else letters
        _check_at_least_one(letters=n_letters, starts=starts, max_steps=max_steps)
        if not tol > 0:
            raise InvalidInputError(f"tol is {tol!r}: give a number > 0")
        # I(T;Y) <= I(T;X) by data processing, so mu1 >= 1 leaves at least mu2 I(Z;X): T empty.
        if mu[0] >= 1 or n_letters == 1:
            return self._append(np.ones((1, *self._mass.shape)), task, mu, True)
        problem = Problem(mass[..., None] * task, "information")
        first = _starts(problem, mass, n_letters, starts, np.random.default_rng(seed))
        with one_thread():
            c, is_converged = _best_end(problem, mu, first, tol, max_steps)
        return self._append(np.broadcast_to(c, (len(c), *self._mass.shape)), task, mu, is_converged)

    def _append(
        self, c: Array, task: Array, mu: tuple[float, float], is_converged: bool
    ) -> Representation:
        """Store a channel [t, z, x] on the records that occur."""
        letter_laws = (self._mass * c).reshape(len(c), -1)
        c = _pooled(c, _merged(letter_laws))
        p_tzx = self._mass * c
        p_tx = p_tzx.sum(axis=1)
        memory, before = mutual_information(p_tzx.reshape(-1, p_tx.shape[1])), self.memory_bits
        representation = Representation(
            self._on_all_records(c),
            mutual_information(p_tx @ task),
            mutual_information(p_tx),
            memory,
            max(memory - before, 0.0),
            mu,
            is_converged,
        )
        histories = p_tzx.reshape(-1, p_tx.shape[1])
        self._mass = _pooled(histories, _merged(histories))
        self.representations.append(representation)
        return representation

    def _on_all_records(self, c: Array) -> Array:
        """[t, z, x] on records that occur -> [z, x, t] on all; the others get p(t | z)."""
        p_t_given_z = (self._mass * c).sum(axis=2).T / self._mass.sum(axis=1)[:, None]
        channel = np.repeat(p_t_given_z[:, None], len(self.p_x), axis=1)
        channel[:, self._occurs] = c.transpose(1, 2, 0)
        return np.asarray(channel / channel.sum(axis=-1, keepdims=True))


def _enough_letters(mass: Array, task: Array) -> int:
    """How many letters T gets by default, for p(z, x) of records that occur.

    Without Z the objective is a mean over t of a function of p(x | t), and the mean of p(x | t) is
    p(x): by Caratheodory's theorem no more letters are needed than records occur.
    """
    affordable = _CHANNEL_ENTRIES // mass.size
    return int(max(task.shape[1] + 1, min(mass.shape[1], affordable)))


def _starts(
    problem: Problem, mass: Array, n_letters: int, n: int, rng: np.random.Generator
) -> Array:
    """Channels [n, t, z, x]: random, but the last a copy of the memory if there is any."""
    first = random_starts(problem, n, n_letters, rng)
    if n > 1 and len(mass) > 1:
        letter_of_z = merge_laws(mass, n_letters)
        copy = np.eye(n_letters)[:, letter_of_z, None]
        first[-1] = _STIR * first[-1] + (1 - _STIR) * copy
    return first


def _best_end(
    problem: Problem, mu: tuple[float, float], first: Array, tol: float, max_steps: int
) -> tuple[Array, bool]:
    """The best channel [t, z, x] of Algorithm 2 and whether it stopped moving."""
    scouts, _ = _run(problem, mu, first, tol, min(_SCOUTING_STEPS, max_steps))
    best_first = np.argsort(_objectives(measured(problem, scouts), mu), kind="stable")
    ends, is_still = _run(problem, mu, scouts[best_first[:_FOLLOWED]], tol, max_steps)
    # Where the empty T is best, letters vanish slowly: add the empty T to the ends.
    empty = np.zeros((1, *ends.shape[1:]))
    empty[:, 0] = 1.0
    ends, is_still = np.concatenate([ends, empty]), np.append(is_still, True)
    best = int(_objectives(measured(problem, ends), mu).argmin())
    return ends[best], bool(is_still[best])


def _run(
    problem: Problem, mu: tuple[float, float], first: Array, tol: float, max_steps: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Channels after Algorithm 2, and which of them stopped moving."""
    pairs = np.tile([mu], (len(first), 1))
    channels, steps = iterate(problem, pairs, first, tol=tol, max_steps=max_steps)
    return channels, steps < max_steps


def _objectives(points: Points, mu: tuple[float, float]) -> Array:
    """-I(T; Y) + mu1 I(T; X) + mu2 I(T, Z; X), [n] ([TVC] section VIII)."""
    return -points.value + mu[0] * points.individual + mu[1] * points.collusion


def _merged(laws: Array) -> NDArray[np.intp]:
    """Labels of states with laws p(s, x): as few as keep I(S; X) within ``MERGE_BITS``."""
    occurring = int((laws.sum(axis=1) > 0).sum())
    kept = mutual_information(laws) - MERGE_BITS
    fewest, most, labels = 1, occurring, merge_laws(laws, occurring)
    while fewest < most:  # greedy merging loses more the further it goes: bisect
        middle = (fewest + most) // 2
        trial = merge_laws(laws, middle)
        if mutual_information(_pooled(laws, trial)) >= kept:
            most, labels = middle, trial
        else:
            fewest = middle + 1
    return labels


def _pooled(rows: Array, label: NDArray[np.intp]) -> Array:
    """Sums of the rows with the same label; those with label -1 do not occur."""
    pooled = np.zeros((int(label.max()) + 1, *rows.shape[1:]))
    np.add.at(pooled, label[label >= 0], rows[label >= 0])
    return pooled


def _check_at_least_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if not number >= 1:
            raise InvalidInputError(f"{name} is {number!r}: give a whole number >= 1")
