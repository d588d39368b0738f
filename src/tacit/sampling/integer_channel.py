"""Channels with integer rows: exactly what is stored, certified and sampled."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.information.laws import as_channel

TOTAL = 2**32
"""What every row of an integer channel sums to: as many as a 32-bit uniform number has values."""

Weights = NDArray[np.uint64]
Shape = tuple[int, int, int]

_MAGIC = b"tacit channel 1\n"
_CHECKSUM_BYTES = 8
_SHAPE = struct.Struct("<3I")
_ZLIB_LEVEL = 6
_WEIGHT_BYTES = 8
_MOST_INFLATED = 1100
"""Deflate packs at most 1032 bytes into one: a shape that needs more is a lie."""


@dataclass(frozen=True, slots=True, eq=False)
class IntegerChannel:
    """p(letter | m, x) in units of 1/2^32.

    Attributes:
        weights: [m, x, letter]; every row sums to ``TOTAL``. 64-bit, for one letter may have it
            all. Read-only.
    """

    weights: Weights

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _checked(self.weights))

    @classmethod
    def quantised(cls, channel: ArrayLike) -> Self:
        """The nearest integer channel to p(letter | m, x), [m, x, letter].

        Largest remainders, the first letter where they tie. Zeros stay zeros, equal rows stay
        equal, and every probability moves by less than 1/2^32.
        """
        given = np.asarray(channel)
        if given.ndim != 3:
            raise InvalidInputError(
                f"channel has shape {given.shape}: give p(letter | m, x) as [m, x, letter]"
            )
        rows = given.reshape(-1, given.shape[-1])
        laws = as_channel(rows, np.ones(len(rows)))
        return cls(_largest_remainders(laws).reshape(given.shape))

    @property
    def law(self) -> Array:
        """p(letter | m, x), [m, x, letter]; exact, because 33 bits fit into a float's 53."""
        return self.weights / float(TOTAL)

    def to_bytes(self) -> bytes:
        """The channel as it is stored in a ledger; ``from_bytes`` gives it back."""
        plain = _SHAPE.pack(*self.weights.shape) + self.weights.astype("<u8").tobytes()
        packed = zlib.compress(plain, _ZLIB_LEVEL)
        return _MAGIC + _checksum(packed) + packed

    @classmethod
    def from_bytes(cls, data: bytes, shape: Shape | None = None) -> Self:
        """The channel that ``to_bytes`` wrote.

        Args:
            data: what was written.
            shape: of the weights, where it is known: then nothing else is unpacked.

        Raises:
            CorruptLedgerError: the bytes are not what was written, or have another shape.
        """
        body = data[len(_MAGIC) :]
        checksum, packed = body[:_CHECKSUM_BYTES], body[_CHECKSUM_BYTES:]
        if not data.startswith(_MAGIC) or checksum != _checksum(packed):
            raise CorruptLedgerError(
                f"a recorded channel of {len(data)} bytes is damaged: restore the ledger"
            )
        try:
            return cls(_unpacked(packed, shape))
        except (ValueError, struct.error, zlib.error) as error:
            raise CorruptLedgerError(
                f"a recorded channel of {len(data)} bytes is no channel ({error}): "
                "restore the ledger"
            ) from error


def _unpacked(packed: bytes, expected: Shape | None) -> Weights:
    """The weights behind ``to_bytes``; never more of them than the shape at their head says.

    Raises:
        ValueError, struct.error, zlib.error: there are none, or not as many.
    """
    inflating = zlib.decompressobj()
    shape = _SHAPE.unpack(inflating.decompress(packed, _SHAPE.size))
    if expected not in (None, shape):
        raise ValueError(f"its shape is {shape}, not {expected}")
    n_bytes = _WEIGHT_BYTES * prod(shape)
    if n_bytes > _MOST_INFLATED * len(packed):
        raise ValueError(f"its shape is {shape}, more than its bytes can hold")
    plain = inflating.decompress(inflating.unconsumed_tail, n_bytes + 1)
    if len(plain) != n_bytes:
        raise ValueError(f"its shape is {shape} and it holds less, or more")
    return np.frombuffer(plain, dtype="<u8").reshape(shape)


def _largest_remainders(laws: Array) -> Weights:
    """Rows of integers that sum to ``TOTAL``, from rows that sum to 1, [row, letter]."""
    scaled = laws * TOTAL  # a power of two: exact, and so are floor and remainder
    weights = np.floor(scaled)
    remainders = scaled - weights
    missing = TOTAL - weights.sum(axis=1, keepdims=True)
    # A row's remainders are below 1 and sum to what is missing up to rounding, so at least as many
    # of them are positive as are missing: a letter of probability 0 never gains.
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1)
    return np.asarray(weights + (rank < missing), dtype=np.uint64)


def _checked(weights: Weights) -> Weights:
    """A read-only copy, or an error that names the first bad row."""
    table = np.array(weights, dtype=np.uint64, order="C")
    if table.ndim != 3 or table.size == 0:
        raise InvalidInputError(
            f"weights have shape {table.shape}: give integers [m, x, letter], no axis empty"
        )
    # The largest first: a sum of larger numbers could wrap around to TOTAL.
    is_row = (table.max(axis=2) <= TOTAL) & (table.sum(axis=2) == TOTAL)
    if not is_row.all():
        m, x = map(int, np.argwhere(~is_row)[0])
        raise InvalidInputError(
            f"the row of weights at m={m}, x={x} does not sum to 2**32: quantise the channel first"
        )
    table.setflags(write=False)
    return table


def _checksum(packed: bytes) -> bytes:
    return hashlib.sha256(packed).digest()[:_CHECKSUM_BYTES]
