"""How well a few hashes tell which share of records two studies have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInputError
from tacit.ledger import Sketch
from tests.ledger.chains import sketch_of

K = 1024

FOUR_DEVIATIONS = 4 * 0.5 / K**0.5
"""A share is estimated from K ids or more, so its standard deviation is at most 0.5 / sqrt(K)."""

IDS = st.sets(st.integers(), min_size=1, max_size=30)


@given(IDS, IDS)
def test_whole_sketches_are_exact(first: set[int], second: set[int]) -> None:
    share = len(first & second) / min(len(first), len(second))
    assert sketch_of(first).share_in_both(sketch_of(second)) == share


@given(IDS, IDS, st.integers(1, 30), st.integers(1, 30))
def test_a_share_is_symmetric_and_between_0_and_1(
    first: set[int], second: set[int], k_first: int, k_second: int
) -> None:
    one, other = sketch_of(first, k_first), sketch_of(second, k_second)
    assert 0 <= one.share_in_both(other) <= 1
    if len(first) != len(second):
        assert one.share_in_both(other) == other.share_in_both(one)


@pytest.mark.parametrize(
    ("other", "share"),
    [
        (range(50_000, 70_000), 0.0),  # disjoint
        (range(20_000), 1.0),  # equal
        (range(5_000, 15_000), 1.0),  # a part
        (range(60_000), 1.0),  # a whole that contains it
    ],
)
def test_nothing_and_everything_are_told_exactly(other: range, share: float) -> None:
    assert sketch_of(range(20_000), K).share_in_both(sketch_of(other, K)) == share


@pytest.mark.parametrize(
    ("other", "share"),
    [
        (range(10_000, 30_000), 0.5),
        (range(18_000, 38_000), 0.1),
        (range(2_000, 22_000), 0.9),
        (range(15_000, 25_000), 0.5),  # half of a smaller study
    ],
)
def test_a_share_in_between_is_near(other: range, share: float) -> None:
    estimate = sketch_of(range(20_000), 2 * K).share_in_both(sketch_of(other, 2 * K))
    assert abs(estimate - share) < FOUR_DEVIATIONS


def test_whole_and_partial_sketches_compare() -> None:
    large = sketch_of(range(10_000), K)
    assert sketch_of(range(900), K).share_in_both(large) == 1.0
    assert sketch_of(range(10_000, 10_900), K).share_in_both(large) == 0.0


def test_a_study_far_smaller_can_slip_through() -> None:
    """None of the few ids lies where the large study's sketch reaches: nothing is known."""
    assert sketch_of([1], 1).share_in_both(sketch_of(range(10_000), 8)) == 0.0


@pytest.mark.parametrize(
    ("n_records", "smallest", "message"),
    [
        (0, (), "0 hashes"),
        (5, (), "0 hashes"),
        (1, ("0" * 16, "1" * 16), "2 hashes"),
        (5, ("0" * 15,), "16 lower-case hex digits"),
        (5, ("A" * 16,), "16 lower-case hex digits"),
        (5, ("1" * 16, "0" * 16), "ascending"),
        (5, ("1" * 16, "1" * 16), "distinct"),
    ],
)
def test_a_sketch_that_is_none_is_refused(
    n_records: int, smallest: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Sketch(n_records, smallest, "nonce")
