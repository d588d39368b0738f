"""States of the memory merged: those with the same posterior, then those that lose least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tacit.arrays import Array
from tacit.scheme.views import SAME_LAW, normalised


def merge_states(mass: Array, cap: int) -> NDArray[np.intp]:
    """Labels 0..n-1, n <= cap, for states with law p(s, x); -1 for states that do not occur.

    States with the same posterior are merged first, so a free repeat adds no state and nothing is
    lost. Above the cap, greedy: the pair whose merging lowers I(S; X) least, again and again.
    """
    labels = np.full(len(mass), -1, dtype=np.intp)
    reached = np.flatnonzero(mass.any(axis=1))
    if not len(reached):
        return labels
    same_as = _same_posteriors(mass[reached])
    groups = [reached[same_as == first].tolist() for first in np.unique(same_as)]
    laws = np.stack([mass[group].sum(axis=0) for group in groups])
    loss = _pair_losses(laws)
    alive = np.ones(len(laws), dtype=bool)
    while alive.sum() > cap:
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
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


def _same_posteriors(laws: Array) -> NDArray[np.intp]:
    """For each state the first one with its posterior."""
    posteriors = normalised(laws)
    first = [
        int(
            (np.abs(posteriors - own) <= 0.1 * SAME_LAW * np.maximum(posteriors, own))
            .all(axis=1)
            .argmax()
        )
        for own in posteriors
    ]
    return np.array(first, dtype=np.intp)


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
