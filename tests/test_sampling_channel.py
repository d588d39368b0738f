"""Integer channels: quantisation by largest remainders, and how they are stored."""

from __future__ import annotations

import hashlib
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.sampling import TOTAL, IntegerChannel
from tests import strategies

CHANNELS = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5)).flatmap(
    lambda shape: strategies.channels(shape[:2], shape[2])
)


def spread_channels(seed: int) -> strategies.Array:
    """[m, x, letter] without ties between remainders."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(rng.integers(2, 7)), size=(2, 3))


@given(CHANNELS)
def test_rows_sum_to_the_total(channel: strategies.Array) -> None:
    weights = IntegerChannel.quantised(channel).weights
    assert weights.dtype == np.uint64
    assert (weights.sum(axis=2) == TOTAL).all()


@given(CHANNELS)
def test_zeros_stay_zeros(channel: strategies.Array) -> None:
    assert (IntegerChannel.quantised(channel).weights[channel == 0] == 0).all()


@given(CHANNELS)
def test_no_probability_moves_by_a_unit(channel: strategies.Array) -> None:
    laws = channel / channel.sum(axis=2, keepdims=True)
    moved = np.abs(IntegerChannel.quantised(channel).law - laws)
    assert (moved < 1 / TOTAL).all()


@given(CHANNELS)
def test_equal_rows_stay_equal(channel: strategies.Array) -> None:
    rows = channel.reshape(-1, channel.shape[2])
    weights = IntegerChannel.quantised(channel).weights.reshape(rows.shape)
    for row, integers in zip(rows, weights, strict=True):
        assert (weights[(rows == row).all(axis=1)] == integers).all()


@given(CHANNELS)
def test_what_is_quantised_stays_as_it_is(channel: strategies.Array) -> None:
    once = IntegerChannel.quantised(channel)
    assert np.array_equal(IntegerChannel.quantised(once.law).weights, once.weights)


@given(st.integers(0, 2**32), st.data())
def test_relabelling_letters_relabels_weights(seed: int, data: st.DataObject) -> None:
    channel = spread_channels(seed)
    order = data.draw(strategies.relabellings(channel.shape[2]))
    weights = IntegerChannel.quantised(channel).weights
    assert np.array_equal(
        IntegerChannel.quantised(channel[..., order]).weights, weights[..., order]
    )


def test_the_first_letter_gains_where_remainders_tie() -> None:
    weights = IntegerChannel.quantised(np.full((1, 1, 3), 1 / 3)).weights
    assert weights.tolist() == [[[TOTAL // 3 + 1, TOTAL // 3, TOTAL // 3]]]


def test_one_letter_may_have_it_all() -> None:
    channel = IntegerChannel.quantised([[[0.0, 1.0]]])
    assert channel.weights.tolist() == [[[0, TOTAL]]]
    assert channel.law.tolist() == [[[0.0, 1.0]]]


def test_rounding_noise_in_a_row_is_normalised() -> None:
    noisy = np.array([[[0.5, 0.5 + 1e-12]]])
    assert IntegerChannel.quantised(noisy).weights.tolist() == [[[TOTAL // 2, TOTAL // 2]]]


def test_the_table_cannot_be_changed() -> None:
    given_table = np.array([[[0, TOTAL]]], dtype=np.uint64)
    channel = IntegerChannel(given_table)
    given_table[0, 0] = TOTAL, 0
    assert channel.weights.tolist() == [[[0, TOTAL]]]
    with pytest.raises(ValueError, match="read-only"):
        channel.weights[0, 0, 0] = 1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[[TOTAL - 1, 0]]], "m=0, x=0 does not sum"),
        ([[[TOTAL, 0]], [[1, TOTAL]]], "m=1, x=0 does not sum"),
        ([[[2**63, 2**63, TOTAL]]], "does not sum"),  # sums to TOTAL modulo 2**64
        ([[TOTAL]], "shape"),
        (np.zeros((1, 0, 2)), "shape"),
    ],
)
def test_tables_that_are_no_channel_are_refused(weights: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        IntegerChannel(np.array(weights, dtype=np.uint64))


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ([[0.5, 0.5]], "shape"),
        ([[[0.5, 0.4]]], "sums to 0.9"),
        ([[[1.5, -0.5]]], "negative"),
        ([[[np.nan, 1.0]]], "finite"),
    ],
)
def test_arrays_that_are_no_channel_are_refused(channel: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        IntegerChannel.quantised(np.array(channel))


@given(CHANNELS)
def test_bytes_give_the_channel_back(channel: strategies.Array) -> None:
    integers = IntegerChannel.quantised(channel)
    again = IntegerChannel.from_bytes(integers.to_bytes())
    assert np.array_equal(again.weights, integers.weights)
    assert again.to_bytes() == integers.to_bytes()


def test_stored_channels_are_compact() -> None:
    channel = IntegerChannel.quantised(np.random.default_rng(0).dirichlet(np.ones(4), (64, 64)))
    assert len(channel.to_bytes()) < 5 * channel.weights.size


def test_any_damage_is_noticed() -> None:
    whole = IntegerChannel.quantised(spread_channels(0)).to_bytes()
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        for place in range(len(whole))
        for bit in range(8)
    ]
    for damaged in (b"", whole[:-1], whole[1:], whole + b"\0", *flipped):
        with pytest.raises(CorruptLedgerError, match="damaged"):
            IntegerChannel.from_bytes(damaged)


def packed(plain: bytes) -> bytes:
    """Bytes as a channel is stored, with a checksum that fits."""
    inside = zlib.compress(plain, 9)
    return b"tacit channel 1\n" + hashlib.sha256(inside).digest()[:8] + inside


ROW = struct.pack("<2Q", TOTAL, 0)
FORGED = {
    "nothing": b"",
    "half a shape": struct.pack("<2I", 1, 1),
    "no rows": struct.pack("<3I", 1, 1, 2),
    "half a row": struct.pack("<3I", 1, 1, 2) + ROW[:8],
    "half a weight": struct.pack("<3I", 1, 1, 2) + ROW[:12],
    "more than its shape": struct.pack("<3I", 1, 1, 2) + ROW + ROW,
    "an empty axis": struct.pack("<3I", 0, 1, 2),
    "a shape that no memory holds": struct.pack("<3I", *[2**32 - 1] * 3) + ROW,
    "rows that do not sum to 2**32": struct.pack("<3I", 1, 1, 2) + bytes(16),
    "rows that wrap around": struct.pack("<3I2Q", 1, 1, 2, 2**64 - 1, TOTAL + 1),
}


@pytest.mark.parametrize("plain", FORGED.values(), ids=FORGED)
def test_what_fits_its_checksum_and_is_no_channel_is_refused(plain: bytes) -> None:
    with pytest.raises(CorruptLedgerError, match="is no channel"):
        IntegerChannel.from_bytes(packed(plain))


def test_what_cannot_be_inflated_is_refused() -> None:
    inside = b"no zlib"
    stored = b"tacit channel 1\n" + hashlib.sha256(inside).digest()[:8] + inside
    with pytest.raises(CorruptLedgerError, match="is no channel"):
        IntegerChannel.from_bytes(stored)


def test_a_small_payload_does_not_inflate_without_end() -> None:
    """408 KB that are 400 MB, and say that they are two numbers."""
    bomb = packed(struct.pack("<3I", 1, 1, 2) + bytes(400 << 20))
    assert len(bomb) < 450_000
    tracemalloc.start()
    try:
        with pytest.raises(CorruptLedgerError, match="it holds less, or more"):
            IntegerChannel.from_bytes(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_channel_that_says_how_large_it_is_is_not_unpacked_where_another_is_expected() -> None:
    large = packed(struct.pack("<3I", 2**10, 2**10, 2) + bytes(16 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(CorruptLedgerError, match=r"not \(1, 12, 2\)"):
            IntegerChannel.from_bytes(large, (1, 12, 2))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_channel_of_another_shape_is_refused() -> None:
    stored = IntegerChannel.quantised(np.eye(2)[None]).to_bytes()
    assert IntegerChannel.from_bytes(stored, (1, 2, 2)).weights.shape == (1, 2, 2)
    with pytest.raises(CorruptLedgerError, match=r"its shape is \(1, 2, 2\), not \(2, 1, 2\)"):
        IntegerChannel.from_bytes(stored, (2, 1, 2))
