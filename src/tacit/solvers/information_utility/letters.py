"""Letters of a release as laws of R: which to add, which to merge."""

from __future__ import annotations

import numpy as np

from tacit.arrays import LN2, Array
from tacit.information.laws import entropy_terms

_APART = 0.02
"""How far new letters lie from each other, in the largest probability."""

_MOST_NEW = 4

_MOST_MERGED = 200
"""Letters that are compared with each other; of more, the rarest count as one."""

_MERGED_BITS = 1e-7
"""What merging two letters may lose."""


def new_letters(posterior: Array, excess: Array, least: float) -> Array:
    """The best of letters [letter, r], best first, with some distance between them.

    Args:
        posterior: laws of R, best first.
        excess: bits that they are worth beyond their price.
        least: bits below which a letter is not worth its place.
    """
    chosen: list[Array] = []
    for law, bits in zip(posterior, excess, strict=True):
        is_worth = bits > max(least, 0.05 * excess[0]) and len(chosen) < _MOST_NEW
        if is_worth and all(np.abs(law - other).max() > _APART for other in chosen):
            chosen.append(law)
    return np.array(chosen).reshape(-1, posterior.shape[1])


def fewer_letters(joint: Array, most: int) -> Array:
    """Posteriors of at most ``most`` letters: those of p(letter, r), the closest ones merged."""
    if len(joint) > _MOST_MERGED:
        order = np.argsort(-joint.sum(axis=1), kind="stable")
        rest = joint[order[_MOST_MERGED - 1 :]].sum(axis=0)
        joint = np.append(joint[order[: _MOST_MERGED - 1]], rest[None], axis=0)
    while len(joint) > most:
        first, second, _ = _closest(joint)
        merged = joint[first] + joint[second]
        joint = np.append(np.delete(joint, [first, second], axis=0), merged[None], axis=0)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def merge_alike(channel: Array, joint: Array, unused: float) -> Array:
    """A channel [rhat, z, x] without unused letters, and with letters of equal posterior merged.

    Merging leaks no more; letters that say the same of R lose nothing by it.

    Args:
        channel: p(rhat | z, x).
        joint: p(rhat, r).
        unused: probability below which a letter goes.
    """
    is_used = joint.sum(axis=1) > unused
    n_r = joint.shape[1]
    rows = np.concatenate([joint[is_used], channel[is_used].reshape(is_used.sum(), -1)], axis=1)
    merged = merge_rows(rows, _MERGED_BITS, n_r)[:, n_r:].reshape(-1, *channel.shape[1:])
    return np.asarray(merged / merged.sum(axis=0))


def merge_rows(rows: Array, most_bits: float, n_r: int | None = None) -> Array:
    """Rows with those added up whose first ``n_r`` entries, p(letter, r), tell nearly the same.

    Each merge loses at most ``most_bits`` of I(letter; R).
    """
    while len(rows) > 1:
        first, second, loss = _closest(rows[:, :n_r])
        if loss > most_bits:
            break
        merged = rows[first] + rows[second]
        rows = np.append(np.delete(rows, [first, second], axis=0), merged[None], axis=0)
    return rows


def _closest(weights: Array) -> tuple[int, int, float]:
    """The two rows whose sum tells least less than both, and how many bits less."""
    pooled = _information(weights[:, None] + weights)
    own = _information(weights)
    loss = own[:, None] + own - pooled
    np.fill_diagonal(loss, np.inf)
    first, second = divmod(int(loss.argmin()), len(weights))
    return min(first, second), max(first, second), float(loss.min())


def _information(weights: Array) -> Array:
    """-mass * H(law) in bits of unnormalised laws along the last axis."""
    own, pooled = entropy_terms(weights), entropy_terms(weights.sum(axis=-1))
    return np.asarray((pooled - own.sum(axis=-1)) / LN2)
