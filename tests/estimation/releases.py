"""Letters and channels for the tests of estimation."""

from __future__ import annotations

import numpy as np

LP_TOL = 1e-6
"""HiGHS keeps constraints to 1e-7."""


def letters_of(counts):
    return np.repeat(np.arange(len(counts)), counts)


def random_case(seed):
    rng = np.random.default_rng(seed)
    n_r, n_rhat = rng.integers(2, 6, size=2)
    channel = rng.dirichlet(np.full(n_rhat, 0.7), size=n_r)
    shares = rng.dirichlet(np.full(n_r, 0.5)) @ channel
    return channel, rng.multinomial(int(rng.integers(5, 5000)), shares / shares.sum())


def released(r, channel, rng):
    """A letter for every row, from the row of its own r."""
    cumulative = np.cumsum(channel, axis=1)[:, :-1]
    return (rng.random(len(r))[:, None] > cumulative[r]).sum(axis=1)
