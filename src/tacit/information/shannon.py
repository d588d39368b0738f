"""Shannon's quantities of finite laws, in bits.

Sources: [CT] Cover and Thomas, *Elements of Information Theory*, 2nd ed., 2006, chapter 2.
Zeros: 0 log 0 = 0 ([CT] section 2.1), which is what ``entr`` and ``xlogy`` compute.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy.special import entr, xlogy

from tacit.information.laws import as_joint, as_law, as_prior_and_channel


def entropy(p: ArrayLike) -> float:
    """H(P) = −Σ p log₂ p ([CT] eq. 2.1) of a law of any shape, in bits.

    Args:
        p: probabilities or counts; all axes together are one variable.
    """
    return _bits(float(entr(as_law(p)).sum()))


def mutual_information(p: ArrayLike, channel: ArrayLike | None = None) -> float:
    """I(X;Y) = Σ p(x,y) log₂ p(y given x)/p(y) ([CT] eq. 2.28), in bits.

    Args:
        p: ``joint_xy[x, y]`` (probabilities or counts), or ``p_x[x]`` with ``channel``.
        channel: ``channel[x, y]`` = p(y given x), rows sum to 1.
    """
    p_x, p_y_given_x = as_prior_and_channel(p, channel)
    joint_xy = p_x[:, None] * p_y_given_x
    p_y = joint_xy.sum(axis=0)
    # A difference of logarithms: the ratio p(y|x)/p(y) overflows where p(x) is tiny.
    return _bits(float((xlogy(joint_xy, p_y_given_x) - xlogy(joint_xy, p_y)).sum()))


def conditional_mutual_information(joint: ArrayLike) -> float:
    """I(A;B given C) = Σ p(a,b,c) log₂ p(a,b,c)p(c)/(p(a,c)p(b,c)) ([CT] eq. 2.60), in bits.

    Args:
        joint: ``joint[a, b, c]``, probabilities or counts.
    """
    joint_abc = as_joint(joint, ndim=3, name="joint")
    p_ac = joint_abc.sum(axis=1, keepdims=True)
    p_bc = joint_abc.sum(axis=0, keepdims=True)
    p_c = joint_abc.sum(axis=(0, 1), keepdims=True)
    terms = xlogy(joint_abc, joint_abc) + xlogy(joint_abc, p_c)
    return _bits(float((terms - xlogy(joint_abc, p_ac) - xlogy(joint_abc, p_bc)).sum()))


def _bits(nats: float) -> float:
    """``nats`` in bits. All quantities here are non-negative: below 0 there is only rounding."""
    return max(0.0, nats / math.log(2))
