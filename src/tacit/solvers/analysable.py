"""Releases that read only the level asked for: problems whose record is it ([M] fact 14)."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.information.laws import gamma, mutual_information
from tacit.problem import WORST_LEVEL, Problem, ViewKey, ViewName
from tacit.solution import Solution
from tacit.solvers.convex.certificate import make_feasible
from tacit.solvers.convex.program import Statement, full_channel, raise_if_infeasible


def restate(problem: Problem) -> Problem:
    """The problem with R itself as the record, whose channels a(rhat | r) are the releases allowed.

    They satisfy I(Rhat, Y; X) = I(Y; X) + I(Rhat; R | Y): every view, known by its p(y | r), has
    the same bits left. Views are named by the ``repr`` of their keys. Shares become the least worst
    level, from which their search begins. A cap holds for the records of a level if it holds for
    the one that the view's letter fits best.
    """
    statement = Statement.of(problem)
    limits = problem.limits
    raise_if_infeasible(statement, statement.limits(limits))
    views: dict[ViewName, tuple[ArrayLike, float]] = {}
    for key, leaked in zip(statement.keys, statement.leaked.tolist(), strict=True):
        if key != () and (limits[key] < inf or key in problem.caps):
            p_yr = _pool_levels(problem, key)
            known = mutual_information(p_yr)
            views[repr(key)] = (_rows(p_yr.T), max(0.0, known + limits[key] - leaked))
    return replace(
        problem,
        joint=np.diag(problem.p_r),
        utility="hamming" if problem.is_shares else problem.utility,
        objective=WORST_LEVEL if problem.is_shares else problem.objective,
        individual=limits[()],
        collusion=None,
        coalitions={},
        views=views,
        caps={
            key if key == () else repr(key): _caps_of_levels(problem, key) for key in problem.caps
        },
        analysable=False,
    )


def _caps_of_levels(problem: Problem, key: ViewKey) -> Array:
    """Bits for p(rhat, y | r) / p(rhat, y), [y, r], such that every x meets its own cap.

    p(rhat, y | x) = p(y | x) p(rhat | r) is p(rhat, y | r) times p(y | x) / p(y | r).
    """
    p_yx = problem.view(key).pool(problem.joint_zxr.sum(axis=-1))
    p_yr, p_x = _pool_levels(problem, key), p_yx.sum(axis=0)
    given_x = p_yx / np.where(p_x > 0, p_x, 1.0)
    given_r = p_yr / np.where(p_yr.sum(axis=0) > 0, p_yr.sum(axis=0), 1.0)
    own = np.broadcast_to(problem.caps[key], p_yx.shape)
    bits = np.full(p_yr.shape, inf)
    for x, level in enumerate(_level_of_x(problem)):
        ratio = given_x[:, x] / np.where(given_r[:, level] > 0, given_r[:, level], 1.0)
        fits = ratio > 0
        bits[fits, level] = np.minimum(bits[fits, level], own[fits, x] - np.log2(ratio[fits]))
    return bits


def lift(problem: Problem, own: Solution) -> Solution:
    """A solution of the restated problem as one of the problem: records release as their level."""
    statement = Statement.of(problem)
    level = _level_of_x(problem)[statement.seen_x]
    shape = (own.channel.shape[-1], *statement.mass.shape)
    cells = np.broadcast_to(own.channel[level].T[:, None], shape)
    limits, letter = statement.limits(problem.limits), _cheapest_letter(own.problem)
    mixed, leakage = make_feasible(statement, cells[None], limits[None], letter=letter)
    lifted = replace(
        own,
        problem=problem,
        channel=full_channel(statement, mixed[0]),
        bound=None if own.bound is None else own.bound - _rounding(statement, own),
        leakage=dict(zip(statement.keys, leakage[0].tolist(), strict=True)),
        multipliers={
            key: own.multipliers.get(key if key == () else repr(key), 0.0) for key in statement.keys
        },
        cap_multipliers={
            key: own.cap_multipliers.get(key if key == () else repr(key), 0.0)
            for key in problem.caps
        },
    )
    return lifted if problem.is_information or problem.is_shares else _revalued(lifted)


def _cheapest_letter(own: Problem) -> int:
    """The letter to release where a release tells too much by rounding."""
    return 0 if own.is_information else int((own.distortion @ own.p_r).argmin())


def _rounding(statement: Statement, own: Solution) -> float:
    """How far p(y | r) being rounded may move the bound, upwards for information."""
    limits = own.problem.limits
    paid = sum(own.multipliers.get(key, 0.0) * bits for key, bits in limits.items() if bits < inf)
    size = gamma(statement.joint_zxr.size + 64) * (abs(own.value) + paid)
    return -size if own.problem.is_information else size


def _revalued(lifted: Solution) -> Solution:
    """With the value of the channel as it is, after rounding."""
    occurs = lifted.problem.p_r > 0
    errors, p_r = lifted.level_errors[occurs], lifted.problem.p_r[occurs]
    is_worst = lifted.problem.objective == WORST_LEVEL
    value = float(errors.max() if is_worst else errors @ p_r)
    bound = None if lifted.bound is None else min(lifted.bound, value)
    return replace(lifted, value=value, bound=bound)


def _level_of_x(problem: Problem) -> NDArray[np.intp]:
    """r(x) for each record that occurs."""
    return np.asarray(problem.joint_zxr.sum(axis=0).argmax(axis=1))


def _pool_levels(problem: Problem, key: ViewKey) -> Array:
    """p(y, r) of a view, [y, r]."""
    p_yx = problem.view(key).pool(problem.joint_zxr.sum(axis=-1))
    p_yr = np.zeros((len(p_yx), problem.joint.shape[-1]))
    np.add.at(p_yr.T, _level_of_x(problem), p_yx.T)
    return p_yr


def _rows(joint: Array) -> Array:
    """p(y | r) from p(r, y), [r, y]; uniform at levels that never occur."""
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), 1.0 / joint.shape[1])
