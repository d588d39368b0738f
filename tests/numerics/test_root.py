"""Roots of functions of one variable."""

from __future__ import annotations

from collections.abc import Callable
from math import atan, exp, inf, log

import pytest
from scipy.optimize import brentq

from tacit.numerics.root import find_root

FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float]] = {
    "smooth": (lambda x: exp(x) - 2, -3, 4),
    "falling": (lambda x: 1 - x**3, -1, 7),
    "flat": (lambda x: (x - 0.3) ** 9, 0, 1),
    "steep": (lambda x: atan(1e9 * (x - 0.123)), 0, 1),
    "step": (lambda x: -1.0 if x < 0.77 else 1.0, 0, 1),
    "far": (lambda x: log(x / 1e-3), 1e-6, 1e6),
    "infinite": (lambda x: inf if x > 0.4 else x - 0.4 - 1e-3, 0, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("within", [1e-1, 1e-4, 1e-12])
def test_the_sign_changes_there(name: str, within: float) -> None:
    function, low, high = FUNCTIONS[name]
    calls = 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return function(x)

    found = find_root(counted, low, high, within)
    left, right = max(low, found - 1.01 * within), min(high, found + 1.01 * within)
    assert function(left) * function(right) <= 0 or function(found) == 0
    assert calls <= 3 + max(0, log((high - low) / within) / log(2)) + 1
    if name in ("smooth", "falling"):
        assert found == pytest.approx(brentq(function, low, high, xtol=1e-14), abs=within)


def test_smooth_functions_take_few_calls() -> None:
    calls = 0

    def count(x: float) -> float:
        nonlocal calls
        calls += 1
        return exp(x) - 2

    find_root(count, -1.0, 2.0, 1e-12)
    assert calls < 20  # bisection takes 43


def test_an_end_may_be_the_root() -> None:
    assert find_root(lambda x: x, 0.0, 1.0, 1e-6) == 0.0
    assert find_root(lambda x: x - 1, 0.0, 1.0, 1e-6) == 1.0
