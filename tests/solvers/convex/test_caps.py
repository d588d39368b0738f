"""Channels that are mixed with blind draws until they meet their caps."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.arrays import Array
from tacit.problem import View
from tacit.solvers.convex.caps import meet_caps
from tacit.solvers.convex.program import Program, ViewRows

N_RHAT, N_Z, N_X = 3, 4, 5
ROUNDING = 1e-11

RARE = 1e-5
"""How often the first history occurs, and the last letter is told."""


def capped_program(rows: float, everyone: float) -> Program:
    """A history that tells little, its first letter rare, and caps."""
    mass = np.random.default_rng(0).dirichlet(np.full(N_Z * N_X, 50.0)).reshape(N_Z, N_X)
    mass[0] *= RARE
    mass /= mass.sum()
    return Program(
        mass=mass,
        cost=np.zeros((1, N_RHAT, N_Z, N_X)),
        rows=ViewRows([View(letter_of_z=np.zeros(N_Z, dtype=np.intp))], N_Z),
        budgets=np.full((1, 2), np.inf),
        is_exact=np.array([False, False]),
        cap_factors=(np.full((1, 1), rows), np.full((1, 1), everyone)),
    )


def worst_factor(program: Program, channel: Array, *, by_history: bool) -> float:
    """The largest p(x | rhat, y) / p(x), y being the history or nothing."""
    joint = program.mass * channel
    joint = joint if by_history else joint.sum(axis=2, keepdims=True)
    total = joint.sum(axis=-1, keepdims=True)
    posterior = joint / np.where(total > 0, total, 1.0)
    return float((posterior / program.mass.sum(axis=0)).max())


def moved(program: Program, channel: Array, mixed: Array) -> float:
    return float((program.mass * np.abs(mixed - channel)).sum())


def telling_channel(program: Program, size: float | Array) -> Array:
    """Two letters, one told more often for even x, and a third that is never told."""
    sign = np.where(np.arange(N_X) % 2 == 0, 1.0, -1.0)
    first = np.broadcast_to(0.5 + np.reshape(size, (-1, 1)) * sign, program.mass.shape)
    return np.stack([first, 1 - first, np.zeros_like(first)])[None]


def test_a_rare_letter_is_mixed_alone() -> None:
    program = capped_program(rows=1.5, everyone=np.inf)
    channel = telling_channel(program, 0.1)
    channel = (1 - RARE) * channel
    channel[:, -1, :, 0] = RARE  # far above its cap
    channel /= channel.sum(axis=1, keepdims=True)
    mixed = meet_caps(program, channel)
    assert worst_factor(program, channel, by_history=False) > 2
    assert worst_factor(program, mixed, by_history=False) <= 1.5 + ROUNDING
    assert mixed.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert moved(program, channel, mixed) < 10 * RARE


def test_a_history_is_mixed_alone() -> None:
    program = capped_program(rows=np.inf, everyone=1.9)
    channel = telling_channel(program, np.array([0.45, 0.1, 0.1, 0.1]))
    mixed = meet_caps(program, channel)
    assert worst_factor(program, channel, by_history=True) > 1.95
    assert worst_factor(program, mixed, by_history=True) <= 1.9 + ROUNDING
    assert moved(program, channel, mixed) < RARE
