"""Sequential information bottleneck ([TVC] section VIII): representations of one X, task by task.

Tasks Y_1, ..., Y_m arrive in turn. The representation T of the current task minimises

    -I(T; Y) + mu1 I(T; X) + mu2 I(T, Z; X),

Z being all earlier representations: relevance, against compression, against what must be stored
in total. It is [TVC] Algorithm 2 at fixed multipliers, from many starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidInputError
from tacit.information import mutual_information
from tacit.information.laws import ROW_SUM_TOL, as_law
from tacit.problem import Array, Problem
from tacit.scheme.merging import merge_states
from tacit.solvers.multistart import iterate, measured, random_starts
from tacit.solvers.threads import one_thread

_SMALLEST_STATE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Representation:
    """One representation.

    Attributes:
        channel: p(t | z, x), [z, x, t].
        relevance_bits: I(T; Y).
        compression_bits: I(T; X).
        memory_bits: I(T, Z; X), all that is stored after it.
        added_bits: how much of that is new.
        mu: (mu1, mu2).
    """

    channel: Array
    relevance_bits: float
    compression_bits: float
    memory_bits: float
    added_bits: float
    mu: tuple[float, float]

    @property
    def objective(self) -> float:
        """What was minimised ([TVC] section VIII)."""
        return (
            -self.relevance_bits
            + self.mu[0] * self.compression_bits
            + self.mu[1] * self.memory_bits
        )


class SequentialBottleneck:
    """Representations of one X for one task after another."""

    def __init__(self, p_x: ArrayLike) -> None:
        """Start with nothing stored; ``p_x`` is the law of X, or counts."""
        self.p_x = as_law(p_x, name="p_x").reshape(-1)
        self.representations: list[Representation] = []
        self._mass = self.p_x[None]  # p(z, x) of the reachable histories

    @property
    def memory_bits(self) -> float:
        """I(Z; X): what is stored so far."""
        return mutual_information(self._mass)

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

        Args:
            p_y_given_x: the task, p(y | x), [x, y].
            mu: (mu1, mu2) per bit, >= 0 and not both 0. With Y - X - Z, mu1 + mu2 >= 1 leaves
                the empty representation as the optimum.
            letters: of T; by default one more than the task has.
            starts: random starts of Algorithm 2; the best end is kept.
            seed: of the starts.
            tol: stop when no entry of a channel moves by more than this.
            max_steps: iterations per start.
        """
        task = _checked_task(p_y_given_x, len(self.p_x))
        mu1, mu2 = float(mu[0]), float(mu[1])
        if not (mu1 >= 0 and mu2 >= 0 and 0 < mu1 + mu2 < np.inf):
            raise InvalidInputError(f"mu is {mu!r}: give two numbers >= 0, not both 0")
        n_letters = task.shape[1] + 1 if letters is None else letters
        if n_letters < 1 or starts < 1:
            raise InvalidInputError(f"letters={letters}, starts={starts}: give numbers >= 1")
        problem = Problem(self._mass[..., None] * task, "information")
        rng = np.random.default_rng(seed)
        first = random_starts(problem, starts, n_letters, rng)
        pairs = np.tile([[mu1, mu2]], (starts, 1))
        with one_thread():
            channels, _ = iterate(problem, pairs, first, tol=tol, max_steps=max_steps)
        ends = measured(problem, channels)
        objective = -ends.value + mu1 * ends.individual + mu2 * ends.collusion
        best = ends.subset(np.array([int(objective.argmin())]))
        return self._append(best.channel[0], float(best.value[0]), (mu1, mu2))

    def _append(self, c: Array, relevance: float, mu: tuple[float, float]) -> Representation:
        channel = self._on_all_records(c)
        joint = self._mass[..., None] * channel
        before = self.memory_bits
        self._mass = _stored(joint.transpose(0, 2, 1).reshape(-1, len(self.p_x)))
        representation = Representation(
            channel,
            relevance,
            mutual_information(joint.sum(axis=0)),
            self.memory_bits,
            self.memory_bits - before,
            mu,
        )
        self.representations.append(representation)
        return representation

    def _on_all_records(self, c: Array) -> Array:
        """[t, z, x] on records that occur -> [z, x, t] on all; the others get the average."""
        seen = self.p_x > 0
        channel = np.empty((c.shape[1], len(self.p_x), c.shape[0]))
        average = (self._mass[:, seen] * c).sum(axis=(1, 2))
        channel[:] = average / average.sum()
        channel[:, seen] = c.transpose(1, 2, 0)
        return np.asarray(channel / channel.sum(axis=-1, keepdims=True))


def _stored(grown: Array) -> Array:
    """p(z, x) of the histories that occur; those that say the same about x are one."""
    label = merge_states(grown, len(grown), _SMALLEST_STATE)
    mass = np.zeros((int(label.max()) + 1, grown.shape[1]))
    np.add.at(mass, label[label >= 0], grown[label >= 0])
    return mass


def _checked_task(p_y_given_x: ArrayLike, n_x: int) -> Array:
    task = np.array(p_y_given_x, dtype=float)
    if task.ndim != 2 or task.shape[0] != n_x or task.shape[1] == 0:
        raise InvalidInputError(
            f"the task has shape {task.shape}: give p(y | x) with one row per x ({n_x} rows)"
        )
    sums = task.sum(axis=1, keepdims=True)
    if not ((task >= 0).all() and (np.abs(sums - 1) <= ROW_SUM_TOL).all()):
        raise InvalidInputError("the task is no law p(y | x): rows must be >= 0 and sum to 1")
    return np.asarray(task / sums)
