"""Mechanisms to compare with, with the same methods as ``Scheme``.

Each release is designed as if it were the only one: ``individual`` limits that release alone,
limits on coalitions are not enforced, and what everyone holds together is computed exactly. The
difference to ``Scheme`` is what adapting to earlier releases is worth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information import mutual_information
from tacit.limits import Limit, Parties
from tacit.problem import MEAN, Problem, ViewKey
from tacit.scheme.memory import information_added_bits
from tacit.scheme.release import Design
from tacit.scheme.scheme import Find, Scheme
from tacit.scheme.variable import Attributes, Variable
from tacit.scheme.views import class_rows, class_sums, parent_classes, refine_classes
from tacit.solution import Solution, Status

_BISECTIONS = 60


class _Baseline(Scheme, ABC):
    """Every release is designed alone; the history is kept exactly and never read."""

    def __init__(
        self,
        p_x: ArrayLike,
        *,
        limits: Iterable[Limit] = (),
        memory: int | None = None,
        attributes: Attributes | None = None,
    ) -> None:
        """Start with nothing released.

        Args:
            p_x: law of X, or counts.
            limits: kept as ``limits`` and not enforced.
            memory: must be ``None``: the leakage of a baseline is exact.
            attributes: names of the attributes behind a flat X; see ``from_counts``.
        """
        if memory is not None:
            raise InvalidInputError(
                f"memory is {memory}: {type(self).__name__} keeps the exact history, leave it out"
            )
        super().__init__(p_x, limits=limits, attributes=attributes)

    def _limits(
        self, party: str, individual: float | None, collusion: float | None
    ) -> dict[Parties, float]:
        """The limit on this release alone; coalitions are what a baseline does not look at."""
        return {} if individual is None else {frozenset({party}): individual}

    def _caps(self, party: str, own: float | None) -> dict[Parties, float]:
        """None: caps are what a baseline does not look at, either."""
        if own is not None:
            raise InvalidInputError(f"{type(self).__name__} keeps no caps: leave cap out")
        return {}

    def _design(
        self,
        variable: Variable,
        pose: partial[Problem],
        party: str,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        find: Find,
    ) -> Design:
        """The same channel p(rhat | x) whatever was released before."""
        class_of_x = self._memory.class_of_x
        alone = refine_classes(np.zeros_like(class_of_x), variable.p_r_given_x, self.p_x)
        rows = class_rows(alone, variable.p_r_given_x)
        joint_xr = class_sums(alone, self.p_x)[:, None] * rows
        problem = pose(joint_xr, individual=limits.get(frozenset({party}), inf))
        solution = self._design_alone(problem, rows, find)
        channel = solution.channel[parent_classes(alone, class_of_x)]
        table = np.broadcast_to(channel, (self.n_states, *channel.shape))
        keys: dict[Parties, ViewKey] = dict.fromkeys(limits, ())
        return Design(party, variable, solution, table, class_of_x, limits, keys, (), caps)

    def _steps_about(self, variable: Variable) -> list[int]:
        """None: a baseline draws every release anew."""
        return []

    @abstractmethod
    def _design_alone(self, problem: Problem, p_r_given_x: Array, find: Find) -> Solution:
        """A channel [x, rhat] for a problem without history."""


class NonAdaptiveScheme(_Baseline):
    """The best release under ``individual`` alone, without Z ([TVC] section VII-B).

    ``Release.solution`` is the certified optimum of that problem. The limit is on the release
    itself, not on what a returning party holds.
    """

    def _design_alone(self, problem: Problem, p_r_given_x: Array, find: Find) -> Solution:
        return find(problem)


class SymmetricScheme(_Baseline):
    """The correct letter with probability p, every other one equally likely ([TVC] section VII-C).

    p is the largest for which I(Rhat; X) meets ``individual``; 1 without a limit. Where R is not a
    function of X, the letter that counts as correct is drawn from p(r | x), because a release never
    reads r. ``Release.solution`` has no bound: nothing is optimised.
    """

    def _design_alone(self, problem: Problem, p_r_given_x: Array, find: Find) -> Solution:
        if problem.objective != MEAN or problem.ceilings or problem.is_shares:
            raise InvalidInputError(
                "a symmetric channel is of fixed form: leave objective, ceilings and shares out"
            )
        n_r = problem.joint.shape[-1]
        if not problem.is_information and len(problem.distortion) != n_r:
            raise InvalidInputError(
                f"utility has {len(problem.distortion)} rows and R has {n_r} letters: a symmetric "
                "channel releases the letters of R, so give a square matrix d[rhat, r]"
            )
        limit = problem.limits[()]
        p_x = problem.joint.sum(axis=-1)
        channel = symmetric_channel(p_r_given_x, _largest_share(p_x, p_r_given_x, limit))
        p_rhat_r = np.einsum("xa,xr->ar", channel, problem.joint)
        value = (
            mutual_information(p_rhat_r)
            if problem.is_information
            else float((problem.distortion * p_rhat_r).sum())
        )
        leakage: dict[ViewKey, float] = {(): _told_bits(p_x, channel)}
        return Solution(problem, channel, value, None, leakage, {}, Status.FIXED, _BISECTIONS)


def symmetric_channel(p_r_given_x: Array, share: float) -> Array:
    """Keep the letter with probability ``share``, else draw one of all uniformly: [x, rhat].

    The correct letter then comes out with probability p = share + (1 - share) / |R|.
    """
    return np.asarray(share * p_r_given_x + (1 - share) / p_r_given_x.shape[1])


def _largest_share(p_x: Array, p_r_given_x: Array, limit: float) -> float:
    """The largest share in [0, 1] within the limit: I(Rhat; X) is convex in it and starts at 0."""
    if _told_bits(p_x, p_r_given_x) <= limit:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        told = _told_bits(p_x, symmetric_channel(p_r_given_x, middle))
        low, high = (middle, high) if told <= limit else (low, middle)
    return low


def _told_bits(p_x: Array, channel: Array) -> float:
    """Upper bound on I(Rhat; X), rounding included; exactly 0 where every row is the same."""
    if (channel == channel[0]).all():
        return 0.0
    return information_added_bits(p_x[None], channel[None])
