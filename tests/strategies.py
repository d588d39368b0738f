"""Hypothesis strategies for small laws, channels, joints and distortions.

Weights are mostly small whole numbers, so zeros and ties are common and examples shrink to
something readable; some are fractions, so that not everything is a round number. Every alphabet
may have a single letter. Axes are ordered as everywhere in tacit: ``[z1, ..., zk, x, r]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.oracles import leakage_bits, view_leakage_bits

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A release problem in the oracles' terms: the arguments of ``solve_by_cvxpy``."""

    joint: Array
    distortion: Array
    limits: Mapping[tuple[int, ...], float]
    views: Mapping[str, tuple[Array, float]]


_WEIGHTS = st.one_of(st.integers(0, 4).map(float), st.floats(1e-3, 1.0))


def sizes(max_letters: int = 3) -> st.SearchStrategy[int]:
    """Sizes of an alphabet, 1 included."""
    return st.integers(1, max_letters)


@st.composite
def weights(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Non-negative arrays that are not 0 everywhere."""
    size = int(np.prod(shape))
    flat = draw(st.lists(_WEIGHTS, min_size=size, max_size=size))
    if not any(flat):
        flat[draw(st.integers(0, size - 1))] = 1.0
    return np.array(flat).reshape(shape)


def arrays_of_laws(shape: tuple[int, ...]) -> st.SearchStrategy[Array]:
    """Laws of the given shape, zeros and ties included."""
    return weights(shape).map(lambda w: w / w.sum())


def laws(max_letters: int = 4) -> st.SearchStrategy[Array]:
    """Laws ``p_x[x]``, zeros, ties and single letters included."""
    return sizes(max_letters).flatmap(lambda n: arrays_of_laws((n,)))


@st.composite
def channels(draw: st.DrawFn, inputs: int | tuple[int, ...], outputs: int | None = None) -> Array:
    """Channels with inputs of the given shape, the output axis last; rows often repeat."""
    shape = (inputs,) if isinstance(inputs, int) else inputs
    n_outputs = draw(sizes()) if outputs is None else outputs
    n_rows = int(np.prod(shape))
    pool = draw(st.lists(arrays_of_laws((n_outputs,)), min_size=1, max_size=n_rows))
    chosen = draw(st.lists(st.sampled_from(pool), min_size=n_rows, max_size=n_rows))
    return np.array(chosen).reshape(*shape, n_outputs)


@st.composite
def priors_and_channels(draw: st.DrawFn, max_letters: int = 4) -> tuple[Array, Array]:
    """``(p_x, channel[x, y])``; some letters x may have probability 0."""
    p_x = draw(laws(max_letters))
    return p_x, draw(channels(p_x.size))


@st.composite
def joints_xr(draw: st.DrawFn, max_letters: int = 3) -> Array:
    """``joint[x, r]``: R any table, or a noisy function of X with repeated rows."""
    if draw(st.booleans()):
        return draw(arrays_of_laws((draw(sizes(max_letters)), draw(sizes(max_letters)))))
    p_x = draw(laws(max_letters))
    return p_x[:, None] * draw(channels(p_x.size))


@st.composite
def markov_joints_zxr(draw: st.DrawFn, max_letters: int = 3) -> Array:
    """``joint[z, x, r]`` with R − X − Z, as in every sequential scheme."""
    joint_xr = draw(joints_xr(max_letters))
    p_z_given_x = draw(channels(joint_xr.shape[0]))
    return p_z_given_x.T[:, :, None] * joint_xr


@st.composite
def joints_zxr(draw: st.DrawFn, max_letters: int = 3) -> Array:
    """``joint[z, x, r]``: any table, or R − X − Z."""
    if draw(st.booleans()):
        return draw(markov_joints_zxr(max_letters))
    return draw(arrays_of_laws(tuple(draw(sizes(max_letters)) for _ in "zxr")))


@st.composite
def joints_z1z2xr(draw: st.DrawFn, max_letters: int = 2) -> Array:
    """``joint[z1, z2, x, r]``: any table, or two releases, the second seeing the first."""
    if draw(st.booleans()):
        return draw(arrays_of_laws(tuple(draw(sizes(max_letters)) for _ in "12xr")))
    joint_zxr = draw(markov_joints_zxr(max_letters))
    release = draw(channels(joint_zxr.shape[:2]))  # [z1, x, z2]
    return np.einsum("axr,axb->abxr", joint_zxr, release)


@st.composite
def distortions(draw: st.DrawFn, r_letters: int) -> Array:
    """Matrices ``distortion[rhat, r]``: Hamming, absolute, squared, or any, square or not."""
    r = np.arange(r_letters)
    difference = abs(r[:, None] - r).astype(float)
    named = [(difference > 0).astype(float), difference, difference**2]
    if draw(st.booleans()):
        return draw(st.sampled_from(named))
    return draw(weights((draw(sizes()), r_letters)))


def limited_releases(
    rooms: Sequence[float] = (0.0, 1e-3, 1e-2, 0.05, 0.2, 1.0), max_history: int = 2
) -> st.SearchStrategy[Release]:
    """Feasible release problems: two to four letters, earlier releases, coalitions and views.

    Every limit is what its view holds already plus a room from ``rooms``. Drawn as a whole from one
    number: drawn entry by entry, most problems have a single letter somewhere, and no trade-off.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: release(seed, rooms, max_history))


def release(seed: int, rooms: Sequence[float], max_history: int) -> Release:
    """The release problem behind a number."""
    rng = np.random.default_rng(seed)
    history = tuple(rng.integers(2, 4, size=rng.integers(0, max_history + 1)).tolist())
    n_x, n_r = rng.integers(2, 5, size=2).tolist()
    joint = _releasable_joint(rng, history, n_x, n_r)
    nothing_new = np.ones((*joint.shape[:-1], 1))
    limits = {}
    for size in range(len(history) + 1):
        for axes in combinations(range(len(history)), size):
            if rng.random() < 0.6:
                held = max(0.0, leakage_bits(joint, nothing_new, axes)) if axes else 0.0
                limits[axes] = held + rng.choice(rooms)
    views = {}
    for name in ("auditor", "broker")[: rng.choice([0, 0, 1, 2])]:
        law = rng.dirichlet(np.full(rng.integers(1, 4), 0.5), size=joint.shape[:-1])
        held = max(0.0, view_leakage_bits(joint, nothing_new, law))
        views[name] = (law, held + rng.choice(rooms))
    named = abs(np.arange(n_r)[:, None] - np.arange(n_r)).astype(float)
    distortion = [1.0 * (named > 0), named, rng.random((rng.integers(2, 5), n_r))][rng.integers(3)]
    return Release(joint, distortion, limits, views)


def _releasable_joint(
    rng: np.random.Generator, history: tuple[int, ...], n_x: int, n_r: int
) -> Array:
    """Any table with some zeros, or R and Z drawn from X apart, sometimes R a function of X."""
    kind = rng.integers(3)
    if kind == 0:
        table = rng.random((*history, n_x, n_r)) * (rng.random((*history, n_x, n_r)) < 0.8)
        table[(0,) * table.ndim] += 1.0
        return np.asarray(table / table.sum())
    p_x = rng.dirichlet(np.ones(n_x))
    p_z_given_x = rng.dirichlet(np.full(int(np.prod(history)), 0.5), size=n_x)
    p_r_given_x = rng.dirichlet(np.full(n_r, 0.4), size=n_x)
    if kind == 1:
        p_r_given_x = np.eye(n_r)[rng.integers(n_r, size=n_x)]
    joint = np.einsum("x,xz,xr->zxr", p_x, p_z_given_x, p_r_given_x)
    return joint.reshape(*history, n_x, n_r)


HAIRS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2, 0.1, 0.5)
"""Bits left by the limits of ugly problems."""


def ugly_release(seed: int) -> Release:
    """A problem in a corner: histories deterministic but for 1e-12, rare records, up to a dozen
    coalitions and views, laws down to 1e-9, limits a hair above what is held.
    """
    rng = np.random.default_rng(seed)
    history = tuple(rng.integers(2, 4, size=rng.integers(1, 4)).tolist())
    n_x, n_r = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    joint = _ugly_joint(rng, history, n_x, n_r)
    nothing_new = np.ones((*joint.shape[:-1], 1))
    axes = [
        each for size in range(len(history) + 1) for each in combinations(range(len(history)), size)
    ]
    limits = {
        each: (leakage_bits(joint, nothing_new, each) if each else 0.0) + rng.choice(HAIRS)
        for each in axes
        if rng.random() < 0.7
    }
    views = {}
    for index in range(rng.choice([0, 0, 1, 2, 3])):
        law = rng.dirichlet(
            np.full(rng.integers(2, 7), rng.choice([0.05, 0.3, 1.0])), size=joint.shape[:-1]
        )
        law = np.where(law < 1e-9, rng.choice([0.0, 1e-9]), law)
        law /= law.sum(axis=-1, keepdims=True)
        held = view_leakage_bits(joint, nothing_new, law)
        views[f"view {index}"] = (law, max(held, 0.0) + rng.choice(HAIRS))
    return Release(joint, 1.0 - np.eye(n_r), limits, views)


def _ugly_joint(rng: np.random.Generator, history: tuple[int, ...], n_x: int, n_r: int) -> Array:
    """p(z, x, r) with rare records and nearly deterministic histories."""
    n_z = int(np.prod(history))
    p_x = np.maximum(
        rng.dirichlet(np.full(n_x, rng.choice([0.1, 0.5, 1.0]))), rng.choice([1e-12, 1e-9])
    )
    kind = rng.integers(3)
    if kind == 0:
        p_z_given_x = np.eye(n_z)[rng.integers(n_z, size=n_x)] + rng.choice([0.0, 1e-12, 1e-9])
    elif kind == 1:
        p_z_given_x = rng.dirichlet(np.full(n_z, 0.05), size=n_x)
    else:
        p_z_given_x = rng.dirichlet(np.full(n_z, 0.5), size=n_x)
        p_z_given_x[p_z_given_x < rng.choice([1e-3, 1e-9])] = rng.choice([0.0, 1e-12])
    p_r_given_x = rng.dirichlet(np.full(n_r, rng.choice([0.02, 0.3, 1.0])), size=n_x)
    joint = np.einsum("x,xz,xr->zxr", p_x, p_z_given_x, p_r_given_x)
    return np.asarray(joint / joint.sum()).reshape(*history, n_x, n_r)


def relabellings(letters: int) -> st.SearchStrategy[list[int]]:
    """Orders of an alphabet's letters."""
    return st.permutations(range(letters))
