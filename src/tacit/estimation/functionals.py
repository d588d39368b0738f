"""Linear functionals of the frequencies: which ones a channel determines, and what they are.

Sources:
    [W65] Warner, "Randomized response", J. Amer. Statist. Assoc. 60, 1965: the estimate.
    [W27] Wilson, "Probable inference, the law of succession, and statistical inference",
        J. Amer. Statist. Assoc. 22, 1927: the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array

Target = Literal["rows", "population"]

RANK_TOL = 1e-6
"""Least singular value that counts as more than 0, and how exactly a weight is told from 0 or 1.

Singular values are those of sqrt(p(r)) p(rhat given r) / sqrt(p(rhat)) for equally likely r, the
largest of which is 1: with n letters, a direction of f is known to about 1/(value sqrt(n)). Below
1e-6 that takes over 10^12 letters, and a solver's channel is hardly more exact.
"""

_DOUBLE_ROOT = 1e-12
"""How far below 0 rounding may leave the discriminant of a double root, relative to its terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """A linear functional Σ_r weights[r] f(r) that the channel determines, and what it is.

    Attributes:
        weights: one for each letter r.
        value: unbiased estimate; it may lie outside the range that frequencies allow.
        standard_error: of ``value``, at the likeliest frequencies; too small where those are at the
            edge of the simplex, so use ``interval``.
        interval: (low, high), within the range that frequencies allow.
        likeliest: value under maximum likelihood over the simplex; always inside ``interval``.
    """

    weights: Array
    value: float
    standard_error: float
    interval: tuple[float, float]
    likeliest: float

    def __repr__(self) -> str:
        """The combination of frequencies, its estimate and its interval."""
        low, high = self.interval
        return f"Contrast({self} = {self.value:.4f}, {low:.4f} to {high:.4f})"

    def __str__(self) -> str:
        terms = [(w, f"f[{r}]") for r, w in enumerate(self.weights) if w != 0]
        spelled = [f if abs(w) == 1 else f"{abs(w):.4g} {f}" for w, f in terms]
        signs = ["-" if w < 0 else "+" for w, _ in terms]
        return " ".join(f"{s} {t}" for s, t in zip(signs, spelled, strict=True)).removeprefix("+ ")


@dataclass(frozen=True, eq=False)
class Reading:
    """Letters, read through the singular vectors of a channel without letters that never occur."""

    channel: Array
    counts: NDArray[np.int64]
    likeliest: Array
    quantile: float
    target: Target

    @cached_property
    def n(self) -> int:
        """Number of letters."""
        return int(self.counts.sum())

    @cached_property
    def scale(self) -> Array:
        """√(p(rhat) |R|) for equally likely r: what weights are made best for; no data in it."""
        return np.asarray(np.sqrt(len(self.channel) * self.channel.mean(axis=0)))

    @cached_property
    def svd(self) -> tuple[Array, Array, Array]:
        """U [r, all], singular values, Vᵀ of the channel in the geometry of ``RANK_TOL``."""
        left, singular, right = np.linalg.svd(self.channel / self.scale)
        return left, singular, right

    @cached_property
    def rank(self) -> int:
        """How many functionals the channel determines."""
        return int((self.svd[1] > RANK_TOL).sum())

    @cached_property
    def is_identified(self) -> NDArray[np.bool_]:
        """Whether e_r is in the column space of the channel, for each r."""
        return np.asarray([self.is_determined(weights) for weights in np.eye(len(self.channel))])

    def is_determined(self, weights: Array) -> bool:
        """Whether ``weights`` = A w for some w: then, and only then, the letters tell its value."""
        outside = weights @ self.svd[0][:, self.rank :]
        return bool(np.linalg.norm(outside) <= RANK_TOL * np.linalg.norm(weights))

    def letter_weights(self, weights: Array, rank: int) -> Array:
        """The w of least variance for equally likely r among those with A w = ``weights``."""
        left, singular, right = self.svd
        coordinates = (weights @ left[:, :rank]) / singular[:rank]
        return np.asarray(coordinates @ right[:rank] / self.scale)

    def contrasts(self) -> tuple[Contrast, ...]:
        """A readable basis of what n letters resolve: reduced row echelon, pivots in order."""
        left, singular, _ = self.svd
        # A direction that n letters know only to ±1, the radius of the simplex, is not resolved.
        # Their sum always is: its singular value is 1.
        threshold = min(max(RANK_TOL, 1 / math.sqrt(self.n)), 1 - RANK_TOL)
        resolved = int((singular > threshold).sum())
        basis = left[:, :resolved].T
        pivots = _independent_columns(basis)
        echelon = np.linalg.solve(basis[:, pivots], basis)
        return tuple(self.contrast(weights, resolved) for weights in echelon)

    def contrast(self, weights: Array, rank: int) -> Contrast:
        """Estimate and interval of Σ_r weights[r] f(r)."""
        w = self.letter_weights(weights, rank)
        whole = np.round(weights)  # a weight of 1e-17 is noise of the decomposition
        tidy = np.where(abs(weights - whole) <= RANK_TOL, whole, weights) + 0.0  # no minus zero
        moment, is_total = self.variance(w, tidy)
        test = _ScoreTest(
            weights=tidy,
            value=float(self.counts @ w / self.n),
            likeliest=float(np.clip(self.likeliest @ tidy, tidy.min(), tidy.max())),
            moment=moment,
            moment_likeliest=float(self.likeliest @ moment),
            is_total=is_total,
            scale=self.quantile**2 / self.n,
        )
        error = math.sqrt(test.variance / self.n)
        interval = test.interval_end(-1), test.interval_end(1)
        return Contrast(tidy, test.value, error, interval, test.likeliest)

    def variance(self, w: Array, weights: Array) -> tuple[Array, int]:
        """(m, e) such that n letters have variance (Σ_r f(r) m[r] − e θ²)/n in the mean of w.

        Letters of independent draws from a population have variance Σ q w² − θ², q = f A. Given the
        rows, only the release is random: Σ_r f(r) var(w given r) = Σ q w² − Σ f c², which is
        smaller, and usable where the channel determines Σ f c²; else Σ f c² ≥ θ².
        If the release reads more than r, the variance given the rows is smaller still (Jensen).
        """
        second_moment = self.channel @ w**2
        if self.target == "rows" and self.is_determined(weights**2):
            return np.maximum(0.0, second_moment - weights**2), 0
        return second_moment, 1


def _independent_columns(matrix: Array) -> NDArray[np.intp]:
    """As many columns as there are rows, in order, each far from those that were chosen before it.

    Of columns that are equally far, the first: rounding decides nothing.
    """
    rest, chosen = matrix.copy(), []
    for _ in range(len(matrix)):
        lengths = np.linalg.norm(rest, axis=0)
        chosen.append(int((lengths >= (1 - RANK_TOL) * lengths.max()).argmax()))
        unit = rest[:, chosen[-1]] / lengths[chosen[-1]]
        rest = rest - np.outer(unit, unit @ rest)
    return np.sort(chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreTest:
    """Which θ = Σ_r weights[r] f(r) agree with ``value``: (value − θ)² ≤ scale · V(θ), as in [W27].

    V(θ) is the variance *under θ*: Σ_r f(r) moment[r] − is_total θ², at frequencies f on the line
    from the likeliest ones to the vertex of the simplex where the functional is extreme. For the
    identity channel and a population this is Wilson's interval.
    """

    weights: Array
    value: float
    likeliest: float
    moment: Array
    moment_likeliest: float
    is_total: int
    scale: float

    @property
    def variance(self) -> float:
        """V at the likeliest frequencies."""
        return max(0.0, self.moment_likeliest - self.is_total * self.likeliest**2)

    def interval_end(self, sign: int) -> float:
        """The last θ that agrees, going from ``likeliest`` down (−1) or up (+1)."""
        extreme = float(sign * (sign * self.weights).max())
        reach = extreme - self.likeliest
        if abs(reach) <= RANK_TOL:
            return extreme
        at_vertex = float(self.moment[self.weights == extreme].max())
        slope = (at_vertex - self.moment_likeliest) / reach
        offset = self.value - self.likeliest
        # With u = θ − likeliest: scale · V − (u − offset)² = −a u² + b u + c, concave.
        a = 1 + self.scale * self.is_total
        b = self.scale * (slope - 2 * self.is_total * self.likeliest) + 2 * offset
        c = self.scale * self.variance - offset**2
        discriminant = b * b + 4 * a * c
        # Where nothing is random the only θ is ``value``, a double root up to rounding; where no
        # θ at all agrees, ``likeliest`` is left.
        is_found = discriminant >= -_DOUBLE_ROOT * b * b
        root = (b + sign * math.sqrt(max(0.0, discriminant))) / (2 * a) if is_found else 0.0
        return self.likeliest + sign * min(max(0.0, sign * root), abs(reach))
