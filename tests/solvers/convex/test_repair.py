"""Channels that are moved onto the constraints of views with no bits left."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.problem import View
from tacit.solvers.convex.certificate import leakage_upper_nats, settled_channel
from tacit.solvers.convex.program import Program, ViewRows

ROUNDING = 1e-12
FAR_BELOW_ANY_LIMIT = 1e-15  # nats; limits are met within 1e-12 bit


def program_with_exact_views(n_rhat: int, *, is_full_exact: bool) -> Program:
    """Two earlier releases z = (a, b) of x; whoever holds one of them must learn nothing more."""
    rng = np.random.default_rng(0)
    given_x = [rng.dirichlet(np.ones(n), size=4) for n in (3, 2)]
    mass = np.einsum("x,xa,xb->abx", rng.dirichlet(np.ones(4)), *given_x).reshape(6, 4)
    a, b = np.divmod(np.arange(6), 2)
    return Program(
        mass=mass,
        cost=np.zeros((1, n_rhat, 6, 4)),
        rows=ViewRows([View(letter_of_z=a), View(letter_of_z=b)], 6),
        budgets=np.array([[0.0, 0.0, 0.0 if is_full_exact else np.inf]]),
        is_exact=np.array([True, True, is_full_exact]),
        cap_factors=(np.full((1, 1), np.inf),) * 3,
    )


@pytest.mark.parametrize("is_full_exact", [False, True])
@pytest.mark.parametrize("size", [1e-10, 1e-6, 1e-2])
def test_a_channel_that_is_slightly_off_is_moved_slightly(
    size: float, *, is_full_exact: bool
) -> None:
    rng = np.random.default_rng(1)
    program = program_with_exact_views(3, is_full_exact=is_full_exact)
    constant = rng.dirichlet(np.ones(3))[:, None, None]
    off = constant * (1 + size * rng.uniform(-1, 1, size=(1, 3, 6, 4)))
    off = off / off.sum(axis=1, keepdims=True)
    settled = settled_channel(program, off)
    assert leakage_upper_nats(program, settled)[1][:, :2].max() <= FAR_BELOW_ANY_LIMIT
    assert np.abs(settled - off).max() <= 10 * size
    assert settled.min() > 0
    assert np.abs(settled.sum(axis=1) - 1).max() <= ROUNDING
    if is_full_exact:
        assert np.ptp(settled, axis=-1).max() <= ROUNDING


def test_a_channel_that_is_exact_already_stays() -> None:
    program = program_with_exact_views(2, is_full_exact=False)
    constant = np.broadcast_to(np.array([0.25, 0.75])[:, None, None], (1, 2, 6, 4))
    assert np.array_equal(settled_channel(program, constant), constant)


def test_a_letter_that_hardly_occurs_does_not_disturb_the_others() -> None:
    """A letter of mass 1e-13 may be off by as much as it is worth: others must not pay for it."""
    rng = np.random.default_rng(2)
    program = program_with_exact_views(2, is_full_exact=False)
    rare = 1e-13 * rng.uniform(0.1, 1, size=(6, 4))
    c = np.stack([rare, 1 - rare])[None]
    settled = settled_channel(program, c)
    assert np.abs(settled - c).max() <= 1e-11
