"""A root of a function of one variable.

Source: [OT20] Oliveira, Takahashi, "An enhancement of the bisection method average performance
preserving minmax optimality", ACM Trans. Math. Softw. 47, 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2


def find_root(function: Callable[[float], float], low: float, high: float, within: float) -> float:
    """A place at most ``within`` from where the function changes its sign between low and high.

    The method ITP of [OT20]: as few calls as the secant method where the function is smooth, one
    more than bisection at worst.
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0 or at_high == 0:
        return low if at_low == 0 else high
    most = max(0, ceil(log2((high - low) / (2 * within)))) + 1
    whole = high - low
    for step in range(most):
        if high - low <= 2 * within:
            break
        middle, half = (low + high) / 2, (high - low) / 2
        secant = (at_high * low - at_low * high) / (at_high - at_low)
        side = 1.0 if middle >= secant else -1.0
        drawn = secant + side * min(0.2 * (high - low) ** 2 / whole, abs(middle - secant))
        radius = max(0.0, within * 2 ** (most - step) - half)
        place = drawn if abs(drawn - middle) <= radius else middle - side * radius
        value = function(place)
        if value == 0:
            return place
        if (value > 0) == (at_high > 0):
            high, at_high = place, value
        else:
            low, at_low = place, value
    return (low + high) / 2
