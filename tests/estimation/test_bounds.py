"""Bounds on frequencies: another programme agrees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import beta

from tacit.estimation import estimate
from tests.estimation.releases import LP_TOL, letters_of, random_case


@pytest.mark.parametrize("seed", range(6))
def test_another_programme_agrees_on_bounds(seed):
    channel, counts = random_case(seed)
    n, n_r = counts.sum(), len(channel)
    found = estimate(letters_of(counts), channel)
    tail = 0.025 / (len(counts) if len(counts) > 2 else 1)
    low = np.nan_to_num(beta.ppf(tail, counts, n - counts + 1))
    high = np.nan_to_num(beta.isf(tail, counts + 1, n - counts), nan=1.0)
    region = {
        "A_ub": np.vstack([channel.T, -channel.T]),
        "b_ub": np.concatenate([high, -low]),
        "A_eq": np.ones((1, n_r)),
        "b_eq": [1],
    }
    for r, cost in enumerate(np.eye(n_r)):
        least, most = linprog(cost, **region).fun, -linprog(-cost, **region).fun
        assert found.bounds[r] == pytest.approx([least, most], abs=LP_TOL)
