"""A stand-in for the engine's caps: the best release without them, mixed with a constant answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.arrays import Array
from tacit.errors import CapError
from tacit.information import mutual_information
from tacit.problem import MEAN, Problem, View
from tacit.solution import Solution, Status

_ROUNDING = 1e-12


def worst_answer(view: View, mass: Array, channel: Array) -> float:
    """The largest log2 p(rhat, y | x) / p(rhat, y), from p(z, x) and p(rhat | z, x)."""
    joint = view.pool(mass[..., None] * channel)  # [y, x, rhat]
    p_x = mass.sum(axis=0)[:, None]
    total = joint.sum(axis=1, keepdims=True)
    product = np.where((total > 0) & (p_x > 0), total * p_x, 1.0)
    return float(max(0.0, np.log2((joint / product).max())))


def refuse_broken_caps(problem: Problem) -> None:
    """Refuse caps that what is released already breaks."""
    mass = problem.joint_zxr.sum(axis=-1)
    for key, cap in problem.caps.items():
        held = worst_answer(problem.view(key), mass, np.ones((*mass.shape, 1)))
        if held > cap + _ROUNDING:
            raise CapError(key, cap, held)


def meet_caps(problem: Problem, solution: Solution) -> Solution:
    """The solution, mixed with a constant answer until the caps hold."""
    mass = problem.joint_zxr.sum(axis=-1)
    best = solution.channel.reshape(*mass.shape, -1)
    constant = np.broadcast_to(np.einsum("zx,zxa->a", mass, best), best.shape)
    views = {key: problem.view(key) for key in problem.limits}

    def worst(share: float) -> dict[object, float]:
        mixed = (1 - share) * best + share * constant
        return {key: worst_answer(view, mass, mixed) for key, view in views.items()}

    def is_met(share: float) -> bool:
        found = worst(share)
        return all(found[key] <= cap + _ROUNDING for key, cap in problem.caps.items())

    low, high = 0.0, 1.0
    if is_met(low):
        return replace(solution, problem=problem, worst_answers=worst(low))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_met(middle) else (middle, high)
    mixed = ((1 - high) * best + high * constant).reshape(solution.channel.shape)
    found = replace(
        solution,
        problem=problem,
        channel=mixed,
        status=Status.STATIONARY,
        worst_answers=worst(high),
    )
    return replace(found, value=_value(found))


def _value(found: Solution) -> float:
    problem = found.problem
    if problem.is_shares:
        return found.value
    p_r = problem.p_r
    if problem.is_information:
        return mutual_information(np.nan_to_num(found.p_rhat_given_r) * p_r[:, None])
    errors = np.nan_to_num(found.level_errors)
    return float(errors @ p_r if problem.objective == MEAN else errors.max())
