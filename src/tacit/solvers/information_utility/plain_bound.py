"""Upper bounds on I(Rhat; R) that need no search.

Rhat is drawn from (Z, X) alone. For every view Y, with I(Rhat; X | Y) <= b,

    I(Rhat; R) <= I(Y; R) + I(Rhat; R | Y) <= I(Y; R) + I(Rhat; X | Y) + I(Rhat; R | X, Y)
               <= I(Y; R) + b + I(Z; R | X, Y).

With Y = Z the last term is 0: I(Z; R) + limit - I(Z; X). With Y constant it is 0 where R - X - Z:
the individual limit. Without limits, I(Rhat; R) <= I(Z, X; R).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import LN2, Array
from tacit.information.laws import information_upper_nats
from tacit.problem import View
from tacit.solvers.convex.program import LIMIT_TOL, Statement

_MOST_ENTRIES = 10**7
"""Of p(y, z, x, r): a larger view is left out."""


def plain_bound(statement: Statement, limits: Array) -> float:
    """The least of these bounds in bits, rounded upward."""
    joint_zxr = statement.joint_zxr
    cells = joint_zxr.reshape(-1, 1, joint_zxr.shape[-1])
    bounds = [_information_upper(cells)]  # I(Z, X; R)
    if statement.problem.rhat_size is not None:
        bounds.append(float(np.nextafter(np.log2(statement.problem.rhat_size), np.inf)))
    unsure = statement.leaked_upper - statement.leaked + LIMIT_TOL
    room = np.maximum(limits - statement.leaked + unsure, 0.0)
    for view, bits in zip(statement.rows.views, room[:-1], strict=True):
        if np.isfinite(bits) and view.size * joint_zxr.size <= _MOST_ENTRIES:
            bounds.append(_bound_by_view(view, joint_zxr) + float(bits))
    bounds.append(_information_upper(joint_zxr.sum(axis=1)[:, None]) + float(room[-1]))
    return float(np.nextafter(min(bounds), np.inf))


def _bound_by_view(view: View, joint_zxr: Array) -> float:
    """I(Y; R) + I(Z; R | X, Y) in bits, at most."""
    n_z, n_x, n_r = joint_zxr.shape
    if view.law is not None:
        law = view.law
    else:
        law = np.broadcast_to(np.eye(view.size)[view.letter_of_z][:, None], (n_z, n_x, view.size))
    joint_zyxr = np.einsum("zxy,zxr->zyxr", law, joint_zxr)
    joint_yr = joint_zyxr.sum(axis=(0, 2))
    by_history = _information_upper(joint_zyxr.reshape(n_z, -1, n_r))
    return _information_upper(joint_yr[:, None]) + by_history


def _information_upper(joint: Array) -> float:
    """At most I(A; R | Y) in bits of a joint [a, y, r], rounding included."""
    pooled = joint.sum(axis=0)
    total = pooled.sum(axis=-1, keepdims=True)
    prior = pooled / np.where(total > 0, total, 1.0)
    _, upper = information_upper_nats(joint, prior, joint.shape[0] + joint.shape[1] + 8)
    return max(0.0, float(upper.sum()) * (1 + 1e-12) / LN2)
