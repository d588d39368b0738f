"""What came out of a release problem, with its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from html import escape
from math import ceil

from tacit.arrays import Array
from tacit.problem import Problem, ViewKey

GAP_TOL = 1e-7
"""Distance between value and certified bound that is asked by default, in units of the utility."""


class Status(Enum):
    """How far a solution can be trusted; the value is the message for people."""

    OPTIMAL = "the certified gap is within gap_tol"
    INACCURATE = "feasible, but the certified gap is above gap_tol; see gap"
    STATIONARY = "feasible and locally optimal; the problem is not convex"
    OUT_OF_TIME = "feasible; the time limit ended the search; see gap"
    FIXED = "feasible; a mechanism of fixed form, not optimised"


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
        value: E d(Rhat, R), or I(Rhat; R) in bits.
        bound: no release does better than this ([M] fact 2, rounding included); ``None`` for
            mechanisms of fixed form.
        leakage: view -> upper bound on I(Rhat, Y; X) in bits, rounding included.
        multipliers: view -> what one more bit for that view would be worth, at most; the
            multipliers of the bound.
        status: how far to trust it.
        steps: iterations of the solver.
        time_sharing: whether several channels were mixed, and whether the recipient is told.
        weights: weights of the channels that were mixed; ``(1.0,)`` for one channel.
    """

    problem: Problem
    channel: Array
    value: float
    bound: float | None
    leakage: Mapping[ViewKey, float]
    multipliers: Mapping[ViewKey, float]
    status: Status
    steps: int
    time_sharing: TimeSharing = TimeSharing.NONE
    weights: tuple[float, ...] = (1.0,)

    @property
    def gap(self) -> float | None:
        """Certified distance between ``value`` and the optimum; ``None`` without a bound."""
        if self.bound is None:
            return None
        return self.bound - self.value if self.problem.is_information else self.value - self.bound

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
