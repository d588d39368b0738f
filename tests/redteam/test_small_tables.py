"""Small tables: what somebody who knows every count learns from everybody else's rows.

Limits are on what a record's own answers tell, records being independent draws from the table's
law. With known counts they are drawn without replacement. Here that is enumerated, every order of
the records and every answer, in exact fractions and without anything of tacit; the figures in the
documentation and tacit's bound on the excess are compared with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from tacit.accounting import other_rows_upper_bits
from tacit.sampling import IntegerChannel
from tests.pages import page

Channel = Sequence[Sequence[Fraction]]
"""p(answer | cell)."""


def own_bits(counts: Sequence[int], channel: Channel) -> float:
    """I(X1; Y1): what tacit limits."""
    n = sum(counts)
    joint = {
        (x, (y,)): Fraction(count, n) * channel[x][y]
        for x, count in enumerate(counts)
        for y in range(len(channel[x]))
    }
    return _information(joint)


def all_bits(counts: Sequence[int], channel: Channel) -> float:
    """I(X1; Y1...Yn), the records being in any order with the same probability."""
    joint: dict[tuple[int, tuple[int, ...]], Fraction] = defaultdict(Fraction)
    orders = list(_orders(tuple(counts)))
    for order in orders:
        for answers in product(range(len(channel[0])), repeat=len(order)):
            likelihood = Fraction(1, len(orders))
            for x, y in zip(order, answers, strict=True):
                likelihood *= channel[x][y]
            joint[order[0], answers] += likelihood
    return _information(joint)


def _orders(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    if not any(counts):
        return [()]
    found = []
    for x, count in enumerate(counts):
        if count:
            rest = (*counts[:x], count - 1, *counts[x + 1 :])
            found += [(x, *others) for others in _orders(rest)]
    return found


def _information(joint: dict[tuple[int, tuple[int, ...]], Fraction]) -> float:
    p_x: dict[int, Fraction] = defaultdict(Fraction)
    p_y: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for (x, y), mass in joint.items():
        p_x[x] += mass
        p_y[y] += mass
    return sum(
        float(mass) * log2(mass / (p_x[x] * p_y[y])) for (x, y), mass in joint.items() if mass
    )


# --- the figures in docs/explanation/promise.md -------------------------------------------------

FLIP = Fraction(189297705, 10**9)
"""A coin that is reported wrongly with this probability tells 0.3 bits."""

NOISY_COIN = ((1 - FLIP, FLIP), (FLIP, 1 - FLIP))


def coin_bits(n: int) -> float:
    """I(X1; Y1...Yn) of n coins, half of them heads: of the others, only the sum matters."""
    right, wrong = NOISY_COIN[0]
    after = [_sums(n // 2 - 1, n // 2), _sums(n // 2, n // 2 - 1)]  # the first is heads, or tails
    bits = 0.0
    for others in range(n):
        for heads, tails in ((right, wrong), (wrong, right)):
            each = [heads * after[0][others] / 2, tails * after[1][others] / 2]
            bits += sum(float(mass) * log2(2 * mass / sum(each)) for mass in each)
    return bits


def _sums(heads: int, tails: int) -> list[Fraction]:
    """Law of how many of so many heads and tails are reported as heads."""
    right, wrong = NOISY_COIN[0]
    reported = [
        [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        for n, p in ((heads, right), (tails, wrong))
    ]
    return [
        sum(
            (
                reported[0][k] * reported[1][total - k]
                for k in range(total + 1)
                if _fits(k, total, heads, tails)
            ),
            Fraction(0),
        )
        for total in range(heads + tails + 1)
    ]


def _fits(k: int, total: int, heads: int, tails: int) -> bool:
    return k <= heads and total - k <= tails


def float_coin_bits(n: int) -> float:
    """``coin_bits`` for a large n, in double precision."""
    right, wrong = map(float, NOISY_COIN[0])

    def sums(heads: int, tails: int) -> NDArray[np.float64]:
        each = ((heads, right), (tails, wrong))
        return np.convolve(*(binom.pmf(np.arange(k + 1), k, p) for k, p in each))

    after = sums(n // 2 - 1, n // 2), sums(n // 2, n // 2 - 1)
    bits = 0.0
    for first, second in ((right, wrong), (wrong, right)):
        joint = np.array([first * after[0], second * after[1]]) / 2
        joint = joint[:, joint.min(axis=0) > 1e-200]
        bits += float((joint * np.log2(2 * joint / joint.sum(axis=0))).sum())
    return bits


def test_the_noisy_coin_tells_what_it_is_said_to() -> None:
    assert own_bits((1, 1), NOISY_COIN) == pytest.approx(0.3, abs=1e-8)


@pytest.mark.parametrize("n", [2, 4, 6])
def test_of_the_others_only_the_sum_matters(n: int) -> None:
    assert coin_bits(n) == pytest.approx(all_bits((n // 2, n // 2), NOISY_COIN), abs=1e-12)


@pytest.mark.parametrize(("n", "shown"), [(2, "0.49"), (10, "0.331"), (50, "0.3057")])
def test_figures_of_the_documentation(n: int, shown: str) -> None:
    digits = len(shown.partition(".")[2])
    assert f"{coin_bits(n):.{digits}f}" == shown
    assert shown in page("promise").read_text()


def test_the_excess_is_about_028_bits_divided_by_the_records() -> None:
    assert 50 * (coin_bits(50) - 0.3) == pytest.approx(0.28, abs=0.005)
    assert 100 * (coin_bits(100) - 0.3) == pytest.approx(0.28, abs=0.002)
    assert f"{float_coin_bits(100):.12f}" == f"{coin_bits(100):.12f}"
    assert f"{float_coin_bits(3000) - 0.3:.0e}" == "9e-05"


# --- the bound ----------------------------------------------------------------------------------

WEIGHTS = st.sampled_from([0, 0, 1, 2, 5, 13])


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[int, ...], list[list[Fraction]]]:
    """Counts of up to six records, and a channel that often has zeros and equal rows."""
    n_cells, n_letters = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    counts = draw(
        st.lists(st.integers(1, 4), min_size=n_cells, max_size=n_cells).filter(
            lambda found: sum(found) <= 6
        )
    )
    row = st.lists(WEIGHTS, min_size=n_letters, max_size=n_letters).filter(any)
    rows = draw(st.lists(row, min_size=n_cells, max_size=n_cells))
    return tuple(counts), [[Fraction(w, sum(row)) for w in row] for row in rows]


@pytest.mark.slow
@given(tables())
@settings(max_examples=60)
def test_the_bound_is_above_the_enumerated_excess(
    table: tuple[tuple[int, ...], list[list[Fraction]]],
) -> None:
    counts, channel = table
    stored = IntegerChannel.quantised(np.array([channel], dtype=float))
    rounding = 1e-7  # of the channel to integers
    excess = all_bits(counts, channel) - own_bits(counts, channel)
    numbers = np.array(counts, dtype=np.int64)
    assert -rounding <= excess <= other_rows_upper_bits(numbers, [stored.weights]) + rounding
    assert excess <= other_rows_upper_bits(numbers, None) + rounding


@given(tables(), tables())
@settings(max_examples=30)
def test_several_releases_are_bounded_together(
    table: tuple[tuple[int, ...], list[list[Fraction]]],
    other: tuple[tuple[int, ...], list[list[Fraction]]],
) -> None:
    """Both answers of every record, drawn independently."""
    (counts, first), (_, second) = table, other
    if len(first) != len(second) or sum(counts) > 4:
        return
    both = [
        [a * b for a in row for b in another] for row, another in zip(first, second, strict=True)
    ]
    stored = [
        IntegerChannel.quantised(np.array([one], dtype=float)).weights for one in (first, second)
    ]
    excess = all_bits(counts, both) - own_bits(counts, both)
    assert excess <= other_rows_upper_bits(np.array(counts, dtype=np.int64), stored) + 1e-7


@pytest.mark.parametrize("n", [2, 10, 100, 3000])
def test_the_bound_of_the_noisy_coin_shrinks_as_the_table_grows(n: int) -> None:
    stored = IntegerChannel.quantised(np.array([NOISY_COIN], dtype=float))
    bound = other_rows_upper_bits(np.array([n // 2, n // 2]), [stored.weights])
    assert bound < 2.4 / (n - 1)
    if n <= 100:
        assert coin_bits(n) - 0.3 <= bound


def test_equal_cells_are_one_class_and_a_constant_tells_nothing() -> None:
    counts = np.array([3, 4, 0, 5])
    same = np.array([[[0.3, 0.7], [0.3, 0.7], [1.0, 0.0], [0.6, 0.4]]])
    merged = other_rows_upper_bits(counts, [IntegerChannel.quantised(same).weights])
    two = np.array([[[0.3, 0.7], [0.6, 0.4]]])
    assert merged == other_rows_upper_bits(
        np.array([7, 5]), [IntegerChannel.quantised(two).weights]
    )
    constant = IntegerChannel.quantised(np.full((2, 4, 2), 0.5))
    assert other_rows_upper_bits(counts, [constant.weights]) == 0.0
    assert other_rows_upper_bits(counts, []) == 0.0
