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
from tacit.estimation.column import checked_channel, checked_letters
from tacit.estimation.functionals import Contrast, Reading, Target
from tacit.estimation.likelihood import likeliest_frequencies
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
        shown = ", ".join(
            f"f[{r}] = {self.frequencies[r]:.4f} ({_range(self.intervals[r])})"
            if is_identified
            else f"f[{r}] within {_range(self.bounds[r])}"
            for r, is_identified in enumerate(self.is_identified[:_SHOWN])
        )
        more = ", ..." if len(self.frequencies) > _SHOWN else ""
        warning = "" if self.is_consistent else "; NOT CONSISTENT with the channel"
        return f"Estimate({self.n:,} letters, {known}: {shown}{more}{warning})"

    def _repr_html_(self) -> str:
        """Every frequency with its interval and its bounds, as a table for notebooks."""
        percent = f"{100 * self.confidence:g} %"
        caption = f"{self.n:,} letters; intervals at {percent} each, bounds at {percent} together"
        head = ("r", "frequency", "interval", "bounds")
        figures = zip(
            self.is_identified, self.frequencies, self.intervals, self.bounds, strict=True
        )
        rows = [
            (str(r), *((f"{f:.4f}", _range(ends)) if known else ("", "")), _range(bounds))
            for r, (known, f, ends, bounds) in enumerate(figures)
        ]
        return html_table(caption, head, rows)

    def is_known(self, r: int) -> bool:
        """Whether the interval of a frequency says more than the bounds on all together."""
        if not self.is_identified[r] or math.isnan(self.frequencies[r]):
            return False
        (low, high), (least, most) = self.intervals[r], self.bounds[r]
        return bool(high - low < 1 and high - low <= most - least)


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
    full = checked_channel(p_rhat_given_r)
    counts = np.bincount(checked_letters(letters, full), minlength=full.shape[1]).astype(np.int64)
    check_confidence(confidence)
    check_target(target)
    return estimate_counts(counts, full, confidence, target)


def estimate_counts(
    all_counts: NDArray[np.int64], full: Array, confidence: float, target: Target
) -> Estimate:
    """The same from how often each letter occurs; what is given was checked."""
    used = full.max(axis=0) > 0
    counts, channel = all_counts[used], full[:, used]
    likeliest, gap = likeliest_frequencies(counts, channel)
    reading = Reading(channel, counts, likeliest, -ndtri((1 - confidence) / 2), target)
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


def check_confidence(confidence: float) -> None:
    """Refuse what is no probability between 0 and 1."""
    try:
        is_one = bool(0 < confidence < 1)
    except (TypeError, ValueError):
        is_one = False
    if not is_one:
        raise InvalidInputError(
            f"confidence is {confidence!r}: give a probability between 0 and 1, such as 0.95"
        )


def check_target(target: Target) -> None:
    """Refuse other words."""
    if target not in get_args(Target):
        raise InvalidInputError(
            f"target is {target!r}: use 'rows' for the rows given, or 'population' for what they "
            "were drawn from"
        )
