"""A release within the limits that is better than another one, where that leaves bits unused.

Leakages and mean costs: I(Rhat, Y_S; X) is convex in the channel and the mean cost is linear
([M] fact 1). So telling the best answer with probability t, and else what that one tells, costs
(1 - t) V + t V_best and leaks at most t H(best answer) more: within every limit for some t > 0,
where every limit leaves something. It shows that a bound at V is false. A copy is not mixed with:
what is drawn reads the memory, which may have forgotten its letters ([M] fact 16). The constant
answer is mixed with there. Where what was asked
is a function of x, the best answer reads nothing else and is the best at every level: the same
holds for the worst level, for ceilings and for analysable releases.
"""

from __future__ import annotations

import numpy as np

from tacit.accounting import Account
from tacit.information import entropy
from tacit.problem import MEAN
from tacit.study.books.books import Request
from tacit.study.books.records import HoldingRecord

_MARGIN = 0.9
"""Of what is left: more than enough for rounding."""


def better_value(
    account: Account, request: Request, holdings: tuple[HoldingRecord, ...], value: float
) -> float:
    """Worth of a release within the recorded limits; ``value`` where none better is known.

    Args:
        account: what every coalition holds at most, once the release is made that is mixed with.
        request: what it answers, judged by a cost.
        holdings: the recorded limits.
        value: of the release that is mixed with.
    """
    p_x = account.counts / account.counts.sum()
    left = min(each.limit - account.upper_bits(frozenset(each.parties)) for each in holdings)
    is_function = request.question.external is None
    if left <= 0 or (request.measure.has_levels and not is_function):
        return value
    cost = request.question.p_r_given_x @ request.distortion.T  # [x, rhat]
    least = cost.min(axis=1)
    told = entropy(np.bincount(cost.argmin(axis=1), weights=p_x))
    share = _MARGIN * min(left / told, 1.0) if told > 0 else _MARGIN
    is_mean = request.measure.objective == MEAN
    best = float((p_x * least).sum() if is_mean else least[p_x > 0].max())
    return value - share * max(value - best, 0.0)
