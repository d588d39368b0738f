"""What came out of a release problem, with its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from html import escape
from math import ceil

import numpy as np

from tacit.arrays import Array
from tacit.information.leakage import worst_answer_bits
from tacit.problem import Problem, ViewKey

GAP_TOL = 1e-7
"""Distance between value and certified bound that is asked by default, relative to
``Problem.scale``: the range of the distortion, or 1 bit."""


class Status(Enum):
    """How far a solution can be trusted; the value is the message for people."""

    OPTIMAL = "the certified gap is within gap_tol"
    INACCURATE = "feasible, but the certified gap is above gap_tol; see gap"
    STATIONARY = "feasible and locally optimal; the problem is not convex"
    OUT_OF_TIME = "feasible; a limit on time or steps ended the search; see gap"
    FIXED = "feasible; a mechanism of fixed form, not optimised"


class Frugality(Enum):
    """What was done about leaking no more to everyone together than the value needs."""

    NONE = "not sought: any release of this value"
    LEAST = "no release of this value leaks noticeably less to everyone together"
    CURTAILED = "sought within its budget of steps; another release of this value may leak less"


class TimeSharing(Enum):
    """How an information-utility release mixes several channels, if it does."""

    NONE = "one channel"
    UNDISCLOSED = "a mixture of channels; the recipient is not told which one was drawn"
    DISCLOSED = "a mixture of channels; the letter (t, rhat) says which one was drawn"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """A feasible release and a proof of how good it is.

    Attributes:
        problem: what was solved.
        channel: p(rhat | z1, ..., zk, x), rhat last; rows sum to 1. Under disclosed time-sharing
            the last axis enumerates (t, rhat), t first.
        value: E d(Rhat, R); the largest E[d(Rhat, R) | R = r] for ``"worst-level"``; I(Rhat; R) in
            bits; or, for ``"shares"``, the largest variance of an estimated share times the number
            of records.
        bound: no release does better than this ([M] fact 2, rounding included); ``None`` for
            mechanisms of fixed form.
        leakage: view -> upper bound on I(Rhat, Y; X) in bits, rounding included.
        multipliers: view -> what one more bit for that view would be worth, at most; the
            multipliers of the bound.
        status: how far to trust it.
        steps: iterations of the solver.
        frugality: whether it leaks the least to everyone together of all that are as good.
        time_sharing: whether several channels were mixed, and whether the recipient is told.
        weights: weights of the channels that were mixed; ``(1.0,)`` for one channel.
        level_multipliers: level -> its weight in the bound on the worst level; they sum to 1.
        ceiling_multipliers: level -> what raising its ceiling by 1 would be worth, at most.
        cap_multipliers: capped view -> what one more bit of its cap would be worth, at most.
    """

    problem: Problem
    channel: Array
    value: float
    bound: float | None
    leakage: Mapping[ViewKey, float]
    multipliers: Mapping[ViewKey, float]
    status: Status
    steps: int
    frugality: Frugality = Frugality.NONE
    time_sharing: TimeSharing = TimeSharing.NONE
    weights: tuple[float, ...] = (1.0,)
    level_multipliers: Mapping[int, float] = field(default_factory=dict)
    ceiling_multipliers: Mapping[int, float] = field(default_factory=dict)
    cap_multipliers: Mapping[ViewKey, float] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """Certified distance between ``value`` and the optimum; ``None`` without a bound."""
        if self.bound is None:
            return None
        return self.bound - self.value if self.problem.is_information else self.value - self.bound

    @property
    def p_rhat_given_r(self) -> Array:
        """What recipients may know, p(rhat | r), [r, rhat]; NaN at levels that never occur."""
        joint = self.problem.joint_zxr.reshape(-1, self.problem.joint.shape[-1])
        p_r_rhat = joint.T @ self.channel.reshape(len(joint), -1)
        p_r = self.problem.p_r[:, None]
        return np.where(p_r > 0, p_r_rhat / np.where(p_r > 0, p_r, 1.0), np.nan)

    @property
    def level_errors(self) -> Array:
        """E[d(Rhat, R) | R = r] of a distortion, [r]; NaN at levels that never occur."""
        return np.asarray((self.p_rhat_given_r * self.problem.distortion.T).sum(axis=1))

    @property
    def worst_answers(self) -> dict[ViewKey, float]:
        """View -> log2 p(rhat, y | x) / p(rhat, y) at most, in bits: 1 is twice as likely."""
        mass = self.problem.joint_zxr.sum(axis=-1)
        joint = mass[..., None] * self.channel.reshape(*mass.shape, -1)
        pooled = {key: self.problem.view(key).pool(joint) for key in self.leakage}
        return {
            key: worst_answer_bits(np.moveaxis(each, 1, -1).reshape(-1, mass.shape[1]))
            for key, each in pooled.items()
        }

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {shown}" for name, shown in self._facts())
        return f"<Solution: {facts}>"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(shown)}</td></tr>"
            for name, shown in self._facts()
        )
        return f"<table><caption>Solution</caption>{rows}</table>"

    def _facts(self) -> list[tuple[str, str]]:
        """What people look at first; leakages are rounded up."""
        facts = [("value", f"{self.value:.6g}")]
        if self.bound is not None:
            facts += [("bound", f"{self.bound:.6g}"), ("gap", f"{self.gap:.2g}")]
        facts.append(("status", self.status.name))
        for key, bits in self.leakage.items():
            told = f"at most {ceil(bits * 1e6) / 1e6:.6f} bits"
            facts.append((f"to {_view_in_words(key, self.problem.everyone)}", told))
        return facts


def _view_in_words(key: ViewKey, everyone: ViewKey) -> str:
    """Who sees a view."""
    if key == ():
        return "the recipient alone"
    if key == everyone:
        return "everyone"
    if isinstance(key, frozenset):
        return " + ".join(sorted(key))
    if isinstance(key, tuple):
        return f"the holders of releases {', '.join(map(str, key))}"
    return str(key)
