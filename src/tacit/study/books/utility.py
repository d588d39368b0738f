"""How answers are judged: by a mean cost, by information, or by the shares estimated from them.

A law of answers is p(r, letter), [r, letter].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from tacit.arrays import Array
from tacit.information import mutual_information
from tacit.problem import INFORMATION, MEAN, SHARES
from tacit.solvers.shares import largest_variance


@dataclass(frozen=True, slots=True, eq=False)
class MeanCost:
    """E d(Rhat, R), or the largest E[d(Rhat, R) | R = r] of the levels r that records have.

    Attributes:
        posed: d[rhat, r], as the engine wants it.
        objective: ``"mean"`` or ``"worst-level"``.
    """

    posed: Array
    objective: str

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        if self.objective == MEAN:
            return float((law.T * self.posed).sum())
        return float(self.level_errors(law)[law.any(axis=1)].max())

    def level_errors(self, law: Array) -> Array:
        """E[d(Rhat, R) | R = r] of answers with a law, [r]."""
        return np.asarray((recipient_law(law) * self.posed.T).sum(axis=1))

    def blind(self, p_r: Array) -> float:
        """Of the best constant letter; for the worst level, of the best letter that is drawn."""
        if self.objective == MEAN:
            return float((self.posed @ p_r).min())
        return _least_worst(self.posed[:, p_r > 0])

    def gain(self, value: float, p_r: Array) -> float:
        """How much better than a blind guess."""
        return self.blind(p_r) - value


@dataclass(frozen=True, slots=True)
class Information:
    """I(Rhat; R) in bits."""

    posed: str = INFORMATION

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        return mutual_information(law)

    def blind(self, _: Array) -> float:
        """Nothing is told without looking."""
        return 0.0

    def gain(self, value: float, _: Array) -> float:
        """How much better than a blind guess."""
        return value


@dataclass(frozen=True, slots=True)
class Shares:
    """n times the largest variance of an estimated share of a level among n records.

    It is infinite where not every share can be estimated, so a blind guess has none.
    """

    posed: str = SHARES

    def value(self, law: Array) -> float:
        """Of answers with a law."""
        p_r = law.sum(axis=1)
        occurs = p_r > 0
        return largest_variance(p_r[occurs], recipient_law(law)[occurs].T)

    def blind(self, _: Array) -> None:
        """No share can be estimated without looking."""
        return

    def gain(self, value: float, _: Array) -> float:
        """Any estimate is infinitely better than none."""
        return inf if value < inf else 0.0


Utility = MeanCost | Information | Shares


def recipient_law(law: Array) -> Array:
    """p(letter | r) from p(r, letter), [r, letter]; any law for an r that no record has."""
    total = law.sum(axis=1, keepdims=True)
    return np.where(total > 0, law / np.where(total > 0, total, 1.0), 1 / law.shape[1])


def _least_worst(distortion: Array) -> float:
    """The largest mean cost at any level of the best answer that looks at nothing, d[rhat, r]."""
    from scipy.optimize import linprog  # slow to load, and rarely needed

    n_answers, n_levels = distortion.shape
    solved = linprog(
        np.append(np.zeros(n_answers), 1.0),
        A_ub=np.column_stack([distortion.T, -np.ones(n_levels)]),
        b_ub=np.zeros(n_levels),
        A_eq=np.append(np.ones(n_answers), 0.0)[None],
        b_eq=[1.0],
        method="highs-ds",
    )
    return float((distortion.T @ np.asarray(solved.x)[:-1]).max())
