"""Maximum likelihood over the simplex: an independent solver, and the bound on what is missing."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from tacit.estimation.likelihood import LIKELIHOOD_TOL, likeliest_frequencies
from tests.estimation.releases import random_case

ROUNDING = 1e-9  # sums of a few terms; singular vectors are exact to some 1e-12 here


@pytest.mark.parametrize("seed", range(12))
def test_clarabel_agrees_on_maximum_likelihood(seed):
    channel, counts = random_case(seed)
    f, gap = likeliest_frequencies(counts, channel)
    assert gap <= LIKELIHOOD_TOL
    assert f.min() >= 0
    assert f.sum() == pytest.approx(1, abs=ROUNDING)
    g, shares = cp.Variable(len(channel), nonneg=True), counts / counts.sum()
    seen = counts > 0
    objective = cp.Maximize(shares[seen] @ cp.log(channel.T[seen] @ g))
    witness = cp.Problem(objective, [cp.sum(g) == 1]).solve(solver=cp.CLARABEL)
    own_value = shares[seen] @ np.log(f @ channel[:, seen])
    assert own_value == pytest.approx(witness, abs=1e-7)  # Clarabel's own tolerance is 1e-8


# The last steps to these maxima raise the likelihood by less than its rounding.
NEAR_THE_TOP = [
    (
        [[0.02, 0.91, 0.07], [0.04, 0.68, 0.28], [0.74, 0.02, 0.24], [0.97, 0.03, 0]],
        [233, 667, 100],
    ),
    (
        [[0.02, 0.91, 0.07], [0.04, 0.68, 0.28], [0.74, 0.02, 0.24], [0.97, 0.03, 0]],
        [505, 371, 124],
    ),
    (
        [[0.3, 0.15, 0.55], [0.3, 0.15, 0.55], [0.42, 0.53, 0.05], [0.13, 0.8, 0.07]],
        [300, 488, 212],
    ),
    (
        [[0.3, 0.15, 0.55], [0.3, 0.15, 0.55], [0.42, 0.53, 0.05], [0.13, 0.8, 0.07]],
        [317, 399, 284],
    ),
]


@pytest.mark.parametrize("n_steps", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_no_likelihood_is_higher_by_more_than_the_gap(seed, n_steps, monkeypatch):
    channel, counts = random_case(seed)
    seen, shares = counts > 0, counts / counts.sum()

    def likelihood(f):
        return shares[seen] @ np.log(f @ channel[:, seen])

    best, _ = likeliest_frequencies(counts, channel)
    monkeypatch.setattr("tacit.estimation.likelihood._MAX_STEPS", n_steps)
    stopped, gap = likeliest_frequencies(counts, channel)
    assert likelihood(best) - likelihood(stopped) <= gap + 1e-14


@pytest.mark.parametrize(("channel", "counts"), NEAR_THE_TOP)
def test_maximum_likelihood_is_reached_where_a_rise_is_lost_in_rounding(channel, counts):
    _, gap = likeliest_frequencies(np.array(counts), np.array(channel))
    assert gap <= LIKELIHOOD_TOL
