"""The alternating updates of [TVC] Algorithms 1 and 2, one joint and many multipliers or starts.

Everything is in log domain, base 2: 2 ** (-d / (mu1 + mu2)) underflows for small multipliers, and
a letter that dies out falls below any float while its posteriors stay well defined. Arrays are
``[..., rhat, z, x]``; leading axes run many multipliers or starts at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information import entropy
from tacit.solvers.convex.program import Statement

LEAST_LOG2 = -1000.0
"""A posterior below 2 ** -1000 counts as that: it moves no sum, and keeps logarithms finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Auxiliaries:
    """log2 of q1(rhat), q2(z | rhat, x), q3(rhat | z), and q4's part of the exponent.

    Each broadcasts to [..., rhat, z, x]. ``exponent`` is E[d(rhat, R) | z, x], or, for
    information, D(p(r | z, x) || q4(r | rhat)).
    """

    log_q_rhat: Array
    log_q_z: Array
    log_q_rhat_given_z: Array
    exponent: Array


@dataclass(frozen=True, eq=False)
class Alternation:
    """The updates of Algorithms 1 and 2 for one joint.

    Attributes:
        mass: p(z, x), [z, x]; no empty row or column.
        p_zxr: p(z, x, r), [z, x, r].
        distortion: d[rhat, r]; ``None`` for information.
        mu1, mu2: per bit; arrays that broadcast to [..., rhat, z, x], or numbers.
    """

    mass: Array
    p_zxr: Array
    distortion: Array | None
    mu1: Array
    mu2: Array

    @staticmethod
    def of(statement: Statement, mu: tuple[ArrayLike, ArrayLike]) -> Alternation:
        """The updates for a statement; multipliers may be arrays [..., 1, 1, 1]."""
        problem = statement.problem
        return Alternation(
            statement.mass,
            statement.joint_zxr,
            None if problem.is_information else problem.distortion,
            np.asarray(mu[0], dtype=float),
            np.asarray(mu[1], dtype=float),
        )

    @cached_property
    def is_seen(self) -> NDArray[np.bool_]:
        """Cells (z, x) that occur."""
        return np.asarray(self.mass > 0)

    @cached_property
    def p_r_given_zx(self) -> Array:
        """p(r | z, x), [z, x, r]; 0 on cells that cannot occur."""
        return np.asarray(self.p_zxr / np.where(self.is_seen, self.mass, 1.0)[..., None])

    @cached_property
    def log_mass(self) -> Array:
        """log2 p(z, x); -inf on cells that cannot occur."""
        return log2(self.mass)

    @cached_property
    def log_p_z(self) -> Array:
        """log2 p(z), [z, 1]."""
        return log2(self.mass.sum(axis=1, keepdims=True))

    @cached_property
    def mean_distortion(self) -> Array:
        """E[d(rhat, R) | z, x], [rhat, z, x]."""
        assert self.distortion is not None
        return np.asarray(np.einsum("ar,zxr->azx", self.distortion, self.p_r_given_zx))

    def moved(self, log_c: Array, updated: Array) -> Array:
        """The largest change of an entry that matters."""
        change = np.abs(np.exp2(updated) - np.exp2(log_c)) * self.is_seen
        return np.asarray(change.max(axis=(-3, -2, -1)))

    def update_auxiliaries(self, log_c: Array) -> Auxiliaries:
        """The minimising q's for a fixed channel ([TVC] Theorem 1; Algorithm 1, steps 7-9)."""
        log_joint = log_c + self.log_mass
        log_p_rhat_z = log2_sum(log_joint, axis=-1)
        return Auxiliaries(
            log2_sum(log_p_rhat_z, axis=-2),  # [TVC] eq. (6)
            minus(log_joint, log2_sum(log_joint, axis=-2)),  # [TVC] eq. (7)
            log_p_rhat_z - self.log_p_z,  # [TVC] eq. (8)
            self._exponent(log_c),
        )

    def update_channel(self, q: Auxiliaries) -> Array:
        """log2 of the minimising channel for fixed q's ([TVC] eq. 5; Algorithm 1, steps 5-6)."""
        # Cells that cannot occur release what their history does, and so matter to nothing.
        log_c = np.where(self.is_seen, self._log_numerator(q), q.log_q_rhat_given_z)
        power = np.where(self.is_seen, self.mu1 + self.mu2, 1.0)
        with np.errstate(over="ignore"):  # a costly letter under tiny multipliers: -inf
            log_c = (log_c - log_c.max(axis=-3, keepdims=True)) / power
        return np.asarray(log_c - log2_sum(log_c, axis=-3))

    def f_at(self, log_c: Array, q: Auxiliaries) -> Array:
        """f_q - theta ([TVC] eq. 9) of a channel and any q's."""
        p = self.mass * np.exp2(log_c)
        occurs = p > 0  # 0 log 0 = 0
        power = (self.mu1 + self.mu2) * np.where(occurs, log_c, 0.0)
        terms = power - np.where(occurs, self._log_numerator(q), 0.0)
        return np.asarray((p * terms).sum(axis=(-3, -2, -1)))

    def _log_numerator(self, q: Auxiliaries) -> Array:
        """log2 of q1^mu1 q2^mu1 q3^mu2 2^-exponent, the bracket of [TVC] eq. (5)."""
        return (
            _weighted(self.mu1, q.log_q_rhat + q.log_q_z)
            + _weighted(self.mu2, q.log_q_rhat_given_z)
            - q.exponent
        )

    def theta(self) -> Array:
        """theta of Lemma 1 without mu1 epsilon + mu2 delta; for information less I(Z,X;R)."""
        p_z, p_x = self.mass.sum(axis=1), self.mass.sum(axis=0)
        entropy_z, entropy_x = entropy(p_z), entropy(p_x)
        leaked = entropy_z + entropy_x - entropy(self.mass)  # I(Z;X)
        theta = (self.mu1 + self.mu2) * leaked - self.mu1 * entropy_z
        if self.distortion is not None:
            return np.asarray(theta)
        entropy_r = entropy(self.p_zxr.sum(axis=(0, 1)))
        return np.asarray(theta - (entropy(self.mass) + entropy_r - entropy(self.p_zxr)))

    def _exponent(self, log_c: Array) -> Array:
        if self.distortion is not None:
            return self.mean_distortion
        return self._divergences(self.log_q_r_given_rhat(log_c))

    def log_q_r_given_rhat(self, log_c: Array) -> Array:
        """log2 q4(r | rhat), [..., rhat, r] ([TVC] Algorithm 2, step 11); -inf for dead letters."""
        peak = np.where(self.is_seen, log_c, -inf).max(axis=(-2, -1), keepdims=True)
        # Relative to the letter's peak, so that a letter that is hardly used keeps its posterior.
        relative = np.maximum(minus(log_c, peak), LEAST_LOG2)
        weight = np.where(np.isneginf(log_c), 0.0, np.exp2(relative)) * self.is_seen
        p_rhat_r = np.einsum("...azx,zxr->...ar", weight, self.p_zxr)
        return minus(log2(p_rhat_r), log2(p_rhat_r.sum(axis=-1, keepdims=True)))

    def _divergences(self, log_q: Array) -> Array:
        """D(p(r | z, x) || q4(r | rhat)) in bits, [..., rhat, z, x] ([TVC] Algorithm 2, step 7)."""
        p = self.p_r_given_zx
        negative_entropy = (p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)
        is_zero = np.isneginf(log_q)
        cross = np.einsum("zxr,...ar->...azx", p, np.where(is_zero, 0.0, log_q))
        is_excluded = np.einsum("zxr,...ar->...azx", p > 0, is_zero)
        return np.where(is_excluded, inf, negative_entropy - cross)


def log_start(statement: Statement, channel: Array) -> Array:
    """log2 of a channel [z, x, rhat] on the letters of the statement, [rhat, z, x]."""
    return log2(channel[np.ix_(statement.seen_z, statement.seen_x)].transpose(2, 0, 1))


def log2(p: Array) -> Array:
    """log2 p, -inf where p = 0, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(p))


def log2_sum(log_p: Array, axis: int) -> Array:
    """log2 of the sum of 2 ** log_p along an axis, kept; -inf where all of them are."""
    peak = log_p.max(axis=axis, keepdims=True)
    peak = np.where(np.isneginf(peak), 0.0, peak)
    return log2(np.exp2(log_p - peak).sum(axis=axis, keepdims=True)) + peak


def minus(log_p: Array, log_total: Array) -> Array:
    """log_p - log_total, -inf where both are."""
    return np.asarray(log_p - np.where(np.isneginf(log_total), 0.0, log_total))


def _weighted(mu: Array, log_q: Array) -> Array:
    """mu log q = log q ** mu, with 0 ** 0 = 1."""
    return np.asarray(mu * np.where(mu > 0, log_q, 0.0))


def as_multipliers(mu: tuple[float, float]) -> tuple[float, float]:
    """The pair (mu1, mu2), checked: the iteration divides by mu1 + mu2."""
    try:
        mu1, mu2 = (float(each) for each in mu)
    except (TypeError, ValueError):
        mu1 = mu2 = nan
    if not (mu1 >= 0 and mu2 >= 0 and 0 < mu1 + mu2 < inf):
        raise InvalidInputError(
            f"mu is {mu!r}: give a pair (mu1, mu2) of finite numbers >= 0, not both 0; "
            "without limits, solve the problem with tacit.solve"
        )
    return mu1, mu2
