"""From released letters to frequencies: the one call, its answer, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.estimation.bounds import frequency_bounds
from tacit.estimation.functionals import Contrast, Reading, Target
from tacit.estimation.likelihood import likeliest_frequencies
from tacit.information.laws import as_channel, as_joint
from tacit.markup import html_table

_SHOWN = 6
"""Frequencies that a prompt shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What n released letters say about the frequencies f(r) of R.

    ``frequencies``, ``standard_errors``, ``intervals`` and ``likeliest`` are NaN at the letters r
    whose frequency the channel does not determine; ``bounds`` holds for every letter.

    Attributes:
        n: number of letters.
        confidence: of each interval taken alone, and of all bounds taken together.
        target: whose frequencies: those of the rows given, or of the population they come from.
        rank: of the channel; the frequencies are all determined if it is the number of letters r.
        is_identified: whether the channel determines f(r), for each r.
        frequencies: unbiased estimates of f(r).
        standard_errors: of ``frequencies``, at the likeliest frequencies; too small where those are
            at the edge of the simplex, so use ``intervals``.
        intervals: ``[r, 2]``, each alone at ``confidence``, for n large.
        likeliest: f(r) of maximum likelihood over the simplex.
        bounds: ``[r, 2]``, all of them together at ``confidence`` at least, for any n.
        contrasts: independent functionals that the channel determines and that n letters can tell
            from noise; the frequencies themselves where those are determined.
        is_consistent: whether some frequencies agree with all letter counts (at ``confidence``).
            If none does, these rows hardly went through this channel: distrust every figure.
        likelihood_gap: no frequencies have a mean log-likelihood, in nats for each letter, that is
            higher than that of ``likeliest`` by more than this.
    """

    n: int
    confidence: float
    target: Target
    rank: int
    is_identified: NDArray[np.bool_]
    frequencies: Array
    standard_errors: Array
    intervals: Array
    likeliest: Array
    bounds: Array
    contrasts: tuple[Contrast, ...]
    is_consistent: bool
    likelihood_gap: float

    def __repr__(self) -> str:
        """How many frequencies are determined, and the first few."""
        known = f"{self.is_identified.sum()} of {len(self.is_identified)} frequencies determined"
        shown = ", ".join(self._in_words(r) for r in range(len(self.frequencies))[:_SHOWN])
        more = ", ..." if len(self.frequencies) > _SHOWN else ""
        warning = "" if self.is_consistent else "; NOT CONSISTENT with the channel"
        return f"Estimate({self.n:,} letters, {known}: {shown}{more}{warning})"

    def _repr_html_(self) -> str:
        """Every frequency with its interval and its bounds, as a table for notebooks."""
        percent = f"{100 * self.confidence:g} %"
        caption = f"{self.n:,} letters; intervals at {percent} each, bounds at {percent} together"
        head = ("r", "frequency", "interval", "bounds")
        return html_table(caption, head, [self._row(r) for r in range(len(self.frequencies))])

    def _in_words(self, r: int) -> str:
        """One frequency and its interval, or its bounds where it is not determined."""
        if not self.is_identified[r]:
            return f"f[{r}] within {_range(self.bounds[r])}"
        return f"f[{r}] = {self.frequencies[r]:.4f} ({_range(self.intervals[r])})"

    def _row(self, r: int) -> tuple[str, str, str, str]:
        if not self.is_identified[r]:
            return str(r), "", "", _range(self.bounds[r])
        found = f"{self.frequencies[r]:.4f}"
        return str(r), found, _range(self.intervals[r]), _range(self.bounds[r])


def _range(ends: Array) -> str:
    return f"{ends[0]:.4f} to {ends[1]:.4f}"


def estimate(
    letters: ArrayLike,
    p_rhat_given_r: ArrayLike,
    *,
    confidence: float = 0.95,
    target: Target = "rows",
) -> Estimate:
    """The frequencies of R behind released letters, as far as the channel determines them.

    Args:
        letters: the released letters rhat, whole numbers from 0, one for each row, in any order.
        p_rhat_given_r: ``[r, rhat]``, rows sum to 1. For a design ``channel[x, rhat]`` it is
            Σ_x p(x given r) channel[x, rhat].
        confidence: of each interval alone, and of all bounds together; between 0 and 1.
        target: ``"rows"``: realised frequencies among the rows given, so that only the release is
            random. ``"population"``: frequencies in what the rows are independent draws from.
    """
    channel, used = _checked_channel(p_rhat_given_r)
    counts = _checked_counts(letters, used)[used]
    _check_options(confidence, target)
    likeliest, gap = likeliest_frequencies(counts, channel)
    reading = Reading(channel, counts, likeliest, float(ndtri((1 + confidence) / 2)), target)
    found = [
        reading.contrast(weights, reading.rank) if known else None
        for weights, known in zip(np.eye(len(channel)), reading.is_identified, strict=True)
    ]
    bounds, is_consistent = frequency_bounds(channel, counts, likeliest @ channel, confidence)
    nan = math.nan
    return Estimate(
        n=reading.n,
        confidence=confidence,
        target=target,
        rank=reading.rank,
        is_identified=reading.is_identified,
        frequencies=np.array([f.value if f else nan for f in found]),
        standard_errors=np.array([f.standard_error if f else nan for f in found]),
        intervals=np.array([f.interval if f else (nan, nan) for f in found]),
        likeliest=np.array([f.likeliest if f else nan for f in found]),
        bounds=bounds,
        contrasts=reading.contrasts(),
        is_consistent=is_consistent,
        likelihood_gap=gap,
    )


def _checked_channel(p_rhat_given_r: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """The channel without letters that it never releases, and which letters it does release."""
    name = "p_rhat_given_r"
    n_r = len(as_joint(p_rhat_given_r, ndim=2, name=name))
    channel = as_channel(p_rhat_given_r, np.ones(n_r), name=name)
    used = channel.max(axis=0) > 0
    return channel[:, used], used


def _checked_counts(letters: ArrayLike, used: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How often each letter was released."""
    try:
        array = np.asarray(letters)
    except ValueError as error:
        raise InvalidInputError(f"letters is not an array ({error}): give letters rhat") from error
    if array.ndim != 1:
        raise InvalidInputError(
            f"letters is {array.ndim}-D (shape {array.shape}): give one letter rhat for each row"
        )
    if array.size == 0:
        raise InvalidInputError("letters is empty: an estimate needs at least one released letter")
    if array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"letters holds {array.dtype} values: give whole numbers, the columns of p_rhat_given_r"
        )
    wrong = array[(array < 0) | (array >= used.size)]
    if wrong.size > 0:
        raise InvalidInputError(
            f"letters holds {wrong[0]}, but p_rhat_given_r has columns 0 to {used.size - 1}: "
            "give the channel that these letters went through"
        )
    counts = np.bincount(array.astype(np.intp, copy=False), minlength=used.size).astype(np.int64)
    impossible = np.flatnonzero((counts > 0) & ~used)
    if impossible.size > 0:
        raise InvalidInputError(
            f"letters holds {impossible[0]} {counts[impossible[0]]} times, but p_rhat_given_r "
            "never releases it: give the channel that these letters went through"
        )
    return counts


def _check_options(confidence: float, target: Target) -> None:
    if not 0 < confidence < 1:
        raise InvalidInputError(
            f"confidence is {confidence}: give a probability between 0 and 1, such as 0.95"
        )
    if target not in get_args(Target):
        raise InvalidInputError(
            f"target is {target!r}: use 'rows' for the rows given, or 'population' for what they "
            "were drawn from"
        )
