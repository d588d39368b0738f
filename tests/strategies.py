"""Hypothesis strategies for small laws, channels, joints and distortions.

Weights are mostly small whole numbers, so zeros and ties are common and examples shrink to
something readable; some are fractions, so that not everything is a round number. Every alphabet
may have a single letter. Axes are ordered as everywhere in tacit: ``[z1, ..., zk, x, r]``.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]

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


def relabellings(letters: int) -> st.SearchStrategy[list[int]]:
    """Orders of an alphabet's letters."""
    return st.permutations(range(letters))
