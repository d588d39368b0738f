"""Which memory states to merge: those whose merging loses least information about X."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tacit.problem import Array


def merge_states(mass: Array, cap: int) -> NDArray[np.intp]:
    """Labels 0..n-1, n <= cap, for states with law p(s, x); -1 for states that do not occur.

    Greedy: the pair whose merging lowers I(S; X) least, again and again. States with the same
    posterior cost nothing and go first, so a free repeat adds no state.
    """
    labels = np.full(len(mass), -1, dtype=np.intp)
    reached = np.flatnonzero(mass.any(axis=1))
    if not len(reached):
        return labels
    groups: list[list[int]] = [[int(state)] for state in reached]
    laws = mass[reached].copy()
    loss = _pair_losses(laws)
    alive = np.ones(len(laws), dtype=bool)
    while True:
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
        is_free = loss[first, second] <= 1e-14
        if alive.sum() <= 1 or (alive.sum() <= cap and not is_free):
            break
        laws[first] += laws[second]
        groups[first] += groups[second]
        alive[second] = False
        loss[second] = loss[:, second] = np.inf
        row = np.where(alive, _losses(laws, laws[first]), np.inf)
        row[first] = np.inf
        loss[first] = loss[:, first] = row
    for label, index in enumerate(np.flatnonzero(alive)):
        labels[groups[index]] = label
    return labels


def _pair_losses(laws: Array) -> Array:
    loss = np.stack([_losses(laws, law) for law in laws])
    np.fill_diagonal(loss, np.inf)
    return loss


def _losses(laws: Array, law: Array) -> Array:
    """Nats of I(S; X) lost by merging each of ``laws`` with ``law``: weighted Jensen-Shannon."""
    return np.asarray(_unnormalised(laws) + _unnormalised(law) - _unnormalised(laws + law))


def _unnormalised(laws: Array) -> Array:
    """sum_x m(x) log m(x)/m: minus the entropy of x given the state, times its mass."""
    total = laws.sum(axis=-1)
    return np.asarray(xlogy(laws, laws).sum(axis=-1) - xlogy(total, total))
