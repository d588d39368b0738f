"""Releases through a small memory, and what brute force over all sequences of letters finds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.limits import Limit
from tacit.scheme import Scheme

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Bits: sums of some thousand terms, and logarithms of ratios of numbers near 1e-12."""

SURE = 1 - 1e-9
"""Confidence at which a false alarm in any test here is out of the question."""

RECORDS = 4_000

NAMES = ["a", "b", "c", "a + b", "everyone"]
"""Who is found in the schemes below."""


@dataclass(frozen=True)
class Step:
    """As much of a release as the audit's kernels read."""

    party: str
    channel: Array
    next_state: NDArray[np.intp]
    everyone_bits: float = math.inf

    @property
    def holders(self) -> frozenset[str]:
        """Nothing is copied."""
        return frozenset({self.party})

    @property
    def table(self) -> Array:
        """Each cell is a class of its own."""
        return self.channel


def brute_force(p_x: Array, steps: Sequence[Step], parties: Collection[str]) -> dict:
    """Letters that ``parties`` see -> p(letters, x), summed over every sequence of letters."""
    seen = [index for index, step in enumerate(steps) if step.holders & {*parties}]
    found: dict[tuple[int, ...], Array] = {}
    for letters in product(*(range(step.channel.shape[-1]) for step in steps)):
        mass, state = p_x, 0
        for step, letter in zip(steps, letters, strict=True):
            mass = mass * step.channel[state, :, letter]
            state = step.next_state[state, letter]
            if state < 0 or not mass.any():
                break
        else:
            key = tuple(letters[index] for index in seen)
            found[key] = found.get(key, 0.0) + mass
    return found


def brute_law(p_x: Array, steps: Sequence[Step], parties: Collection[str]) -> Array:
    return np.array(list(brute_force(p_x, steps, parties).values()))


def random_chain(seed: int) -> tuple[Array, list[Step]]:
    """A law of X and releases through a memory of few states, zeros included."""
    rng = np.random.default_rng(seed)
    n_x, cap = rng.integers(1, 6), rng.integers(1, 4)
    p_x = rng.dirichlet(np.ones(n_x))
    if n_x > 2 and rng.random() < 0.3:
        p_x[rng.integers(n_x)] = 0.0
        p_x /= p_x.sum()
    has_zeros = rng.random() < 0.4
    n_states, steps = 1, []
    for _ in range(rng.integers(1, 6)):
        n_letters = rng.integers(1, 4)
        table = rng.dirichlet(np.full(n_letters, 2.0), size=(n_states, n_x))
        if has_zeros:
            table = table * (rng.random(table.shape) < 0.7)
            table[..., 0] += 0.01
        table /= table.sum(axis=-1, keepdims=True)
        labels = rng.integers(cap, size=(n_states, n_letters))
        next_state = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
        steps.append(Step(f"p{rng.integers(3)}", table, next_state))
        n_states = next_state.max() + 1
    return p_x, steps


chains = st.integers(0, 2**32 - 1).map(random_chain)


class Forgetful(Scheme):
    """A scheme that carries no law: every figure has to be a bound."""

    def class_law(self, parties: Collection[str] | None = None) -> Array | None:
        return None


def released(kind: type[Scheme] = Scheme, memory: int | None = None) -> Scheme:
    """Four requests from three parties about six kinds of record; the first party comes back."""
    rng = np.random.default_rng(11)
    limits = [Limit("everyone", 2.0), Limit("a+b", 1.5)]
    scheme = kind(rng.dirichlet(np.ones(6)), memory=memory, limits=limits)
    for party, individual in (("a", 0.2), ("b", 0.3), ("a", 0.5), ("c", 0.3)):
        asked = rng.dirichlet(np.full(3, 0.5), size=6)
        scheme.release(asked, party=party, individual=individual, gap_tol=1e-4)
    return scheme
