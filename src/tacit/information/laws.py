"""Probability laws at the boundary: read, checked once, normalised.

Axes follow the names used all over tacit: ``joint_xy[x, y]``, ``channel[x, y]`` = p(y given x).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError

ROW_SUM_TOL = 1e-9
"""How far a channel's row may sum from 1: far above rounding, far below a mistake."""


def as_law(p: ArrayLike, *, name: str = "p") -> Array:
    """The law proportional to ``p``, of any shape: probabilities or counts, normalised to 1."""
    weights = _as_weights(p, name)
    largest = weights.max()
    if largest == 0:
        raise InvalidInputError(
            f"{name} is 0 everywhere (shape {weights.shape}): give at least one positive entry"
        )
    # The maximum first, so that neither huge nor tiny counts leave the range of floats.
    scaled = weights / largest
    return np.asarray(scaled / scaled.sum())


def as_joint(p: ArrayLike, *, ndim: int, name: str = "p") -> Array:
    """The law proportional to ``p`` with exactly ``ndim`` axes."""
    joint = as_law(p, name=name)
    if joint.ndim != ndim:
        raise InvalidInputError(
            f"{name} is {joint.ndim}-D (shape {joint.shape}): make it {ndim}-D, one axis for each "
            "variable, of length 1 for a constant"
        )
    return joint


def as_channel(channel: ArrayLike, p_x: Array, *, name: str = "channel") -> Array:
    """The rows of ``channel[x, y]`` = p(y given x) for every x that occurs, summing to 1.

    Rows of letters that never occur are not asked to sum to 1: no quantity depends on them.
    """
    rows = _as_weights(channel, name)
    if rows.ndim != 2 or len(rows) != p_x.size:
        raise InvalidInputError(
            f"{name} has shape {rows.shape} but the law of x has {p_x.size} letters: "
            f"give {name}[x, y] with one row for each letter x"
        )
    sums = rows.sum(axis=1)
    occurs = p_x > 0
    wrong = np.flatnonzero(occurs & (abs(sums - 1) > ROW_SUM_TOL))
    if wrong.size > 0:
        raise InvalidInputError(
            f"row {wrong[0]} of {name} sums to {sums[wrong[0]]:.12g}, not to 1 within "
            f"{ROW_SUM_TOL:g}: divide each row by its sum"
        )
    return np.asarray(rows[occurs] / sums[occurs, np.newaxis])


def as_prior_and_channel(p: ArrayLike, channel: ArrayLike | None) -> tuple[Array, Array]:
    """p(x) and p(y given x) over the letters x that occur, from a joint law or prior and channel.

    Args:
        p: ``joint_xy[x, y]`` if ``channel`` is None, else ``p_x[x]``.
        channel: ``channel[x, y]``, rows sum to 1; or None.
    """
    if channel is not None:
        p_x = as_joint(p, ndim=1)
        return p_x[p_x > 0], as_channel(channel, p_x)
    joint_xy = as_joint(p, ndim=2)
    p_x = joint_xy.sum(axis=1)
    occurs = p_x > 0
    return p_x[occurs], joint_xy[occurs] / p_x[occurs, np.newaxis]


def _as_weights(p: ArrayLike, name: str) -> Array:
    """``p`` as a non-empty array of finite numbers, none negative."""
    try:
        weights = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} is not an array of numbers ({error}): give nested lists of equal length "
            "or a NumPy array"
        ) from error
    if weights.size == 0:
        raise InvalidInputError(
            f"{name} is empty (shape {weights.shape}): give every variable at least one letter"
        )
    _refuse_where(~np.isfinite(weights), weights, name, "every entry must be a finite number")
    _refuse_where(weights < 0, weights, name, "no entry may be negative; set rounding noise to 0")
    return weights


def _refuse_where(bad: NDArray[np.bool_], weights: Array, name: str, rule: str) -> None:
    """Raise, naming the first entry of ``weights`` where ``bad`` holds, if there is one."""
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(f"{name} holds {weights[index]:g} at index {index}: {rule}")
