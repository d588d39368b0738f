"""Bounds on what everyone learns together under bounded memory, from the memory's paths.

Everyone sees every letter, and the state m of the memory is a function of the letters seen, so

    p(y | x) = Π_k c_k(r_k | m_{k-1}, x),    y = (r_1, ..., r_K),

a product along the path of y through the memory's states. Sums and maxima over the |R|^K paths
then fold into one pass over the states per release. Whoever sees only some of the letters learns no
more, by data processing; nor do letters released after its last one tell it anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.information.measures import Bounds
from tacit.scheme import Step

_PAIR_ENTRIES = 2**24
"""Pairs (x, x') times states above which all pairs share one bound (128 MiB of doubles)."""

_PAIR_WORK = 2**31
"""Pairs times states times letters times releases above which they do: some ten seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What a release can do to the memory: the pairs (state before, letter) that can occur.

    Attributes:
        before: state before it, [pair].
        after: state after it, [pair], ascending.
        n_after: number of states after it.
        law: p(letter | before, x), [pair, x]; 0 where p(before, x) = 0.
    """

    before: NDArray[np.intp]
    after: NDArray[np.intp]
    n_after: int
    law: Array


def memory_laws(p_x: Array, releases: Sequence[Step]) -> list[Array]:
    """p(m, x) before each release and after the last, each [m, x]."""
    masses = [p_x[None]]
    for release in releases:
        told = masses[-1][..., None] * release.channel
        before, letter = np.nonzero(release.next_state >= 0)
        mass = np.zeros((int(release.next_state.max()) + 1, len(p_x)))
        np.add.at(mass, release.next_state[before, letter], told[before, :, letter])
        masses.append(mass)
    return masses


def path_bounds(
    p_x: Array, releases: Sequence[Step], lengths: Collection[int]
) -> dict[int, Bounds]:
    """Bounds on what the first n releases together tell about x, for every n in ``lengths``."""
    p_x_occurring = p_x[p_x > 0]
    moves = list(_moves(p_x, releases))
    sums = _sums_of_peaks(moves)
    n_pairs = len(p_x_occurring) ** 2
    work = n_pairs * sum(len(move.before) for move in moves)
    is_small = n_pairs * max(move.n_after for move in moves) <= _PAIR_ENTRIES and work <= _PAIR_WORK
    ratios = (_ratios_of_pairs if is_small else _ratios_of_all_pairs)(moves, lengths)
    return {
        n: Bounds(
            p_x=p_x,
            information_bits=releases[n - 1].everyone_bits,
            maximal_leakage=max(0.0, log2(sums[n])),
            pointwise_max=_pointwise_bound(p_x_occurring, ratios[n]),
            local_dp_epsilon=float(ratios[n].max()),
        )
        for n in lengths
    }


def _moves(p_x: Array, releases: Sequence[Step]) -> Iterator[Moves]:
    occurs = p_x > 0
    masses = memory_laws(p_x, releases)[:-1]
    for mass, release in zip(masses, releases, strict=True):
        law = np.where((mass[:, occurs] > 0)[..., None], release.channel[:, occurs], 0.0)
        is_possible = (release.next_state >= 0) & law.any(axis=1)
        before, letter = np.nonzero(is_possible)
        # By the state after it, so that ``_gathered`` reduces runs of neighbours.
        order = np.argsort(release.next_state[before, letter], kind="stable")
        before, letter = before[order], letter[order]
        after = release.next_state[before, letter]
        n_after = int(release.next_state.max()) + 1
        yield Moves(before, after, n_after, law[before, :, letter])


def _gathered(
    reduce: np.ufunc, values: Array, after: NDArray[np.intp], n_after: int, nothing: float
) -> Array:
    """Values [pair, ...] reduced to one per state after the release, [n_after, ...]."""
    gathered = np.full((n_after, *values.shape[1:]), nothing)
    first = np.flatnonzero(np.diff(after, prepend=-1))
    gathered[after[first]] = reduce.reduceat(values, first)
    return gathered


def _sums_of_peaks(moves: Sequence[Moves]) -> list[float]:
    """Σ_y Π_k max_x c_k(r_k | m_{k-1}, x) for the first 0, 1, 2, ... releases.

    It is at least Σ_y max_x p(y | x), whose logarithm is the maximal leakage: a maximum of products
    is at most the product of the maxima. And it is at most Π_k max_m Σ_r max_x c_k(r | m, x), the
    sum over releases of the worst maximal leakage of any state. Only those x enter a maximum that
    can be in the state m: the others have p(y | x) = 0 already.
    """
    weight = np.ones(1)
    sums = [1.0]
    for move in moves:
        peaks = weight[move.before] * move.law.max(axis=1)
        weight = _gathered(np.add, peaks, move.after, move.n_after, 0.0)
        sums.append(float(weight.sum()))
    return sums


def _ratios_of_pairs(moves: Sequence[Moves], lengths: Collection[int]) -> dict[int, Array]:
    """max over paths of Σ_k log2 c_k(r_k | m, x) / c_k(r_k | m, x'), exact for every pair."""
    n_x = moves[0].law.shape[1]
    worst = np.zeros((1, n_x, n_x))  # [m, x, x']; -inf where x cannot be in m
    found = {}
    for length, move in enumerate(moves, start=1):
        grown = np.full((move.n_after, n_x, n_x), -np.inf)
        for before, after, law in zip(move.before, move.after, _log2(move.law), strict=True):
            occurs = np.isfinite(law)  # for other x this is no path: p(y | x) = 0
            x = slice(None) if occurs.all() else occurs  # a slice copies nothing
            ratios = worst[before, x] + (law[x, None] - law)
            grown[after, x] = np.maximum(grown[after, x], ratios)
        worst = grown
        if length in lengths:
            # Both p(y | x) and p(y | x') sum to 1, so the largest ratio is at least 1.
            found[length] = np.maximum(worst.max(axis=0), 0.0)
    return found


def _ratios_of_all_pairs(moves: Sequence[Moves], lengths: Collection[int]) -> dict[int, Array]:
    """The largest ratio over all pairs at each step, added along the worst path: never too small.

    An x' that cannot be in the state m makes the ratio infinite there, as it is already: every
    path to m has a letter that ruled x' out.
    """
    worst = np.zeros(1)
    found = {}
    for length, move in enumerate(moves, start=1):
        step = _log2(move.law.max(axis=1)) - _log2(move.law.min(axis=1))
        grown = worst[move.before] + step
        worst = _gathered(np.maximum, grown, move.after, move.n_after, -np.inf)
        if length in lengths:
            found[length] = np.asarray(worst.max())
    return found


def _pointwise_bound(p_x: Array, ratios: Array) -> float:
    """max_y,x log2 p(y | x) / p(y) is at most max_x -log2 Σ_x' p(x') / max_y ratio(x, x').

    For p(y) / p(y | x) = Σ_x' p(x') p(y | x') / p(y | x), and each term is at least its smallest
    over y. The term x' = x alone gives at most -log2 p(x).
    """
    shrunk = np.exp2(-ratios)
    smallest = shrunk @ p_x if ratios.ndim else p_x + shrunk * (1 - p_x)
    return float(max(0.0, -np.log2(smallest.min())))


def _log2(p: Array) -> Array:
    """log2, -inf at 0."""
    return np.log2(p, out=np.full(p.shape, -np.inf), where=p > 0)
