"""Channels with integer rows: exactly what is stored, certified and sampled.

A letter is drawn from a row by a 32-bit number. So the law of what is drawn is the row itself.
"""

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
Codes = NDArray[np.unsignedinteger]
"""One small number per record, in any unsigned type."""

Shape = tuple[int, int, int]

_MAGIC = b"tacit channel 1\n"
_CHECKSUM_BYTES = 8
_SHAPE = struct.Struct("<3I")
_ZLIB_LEVEL = 6
_WEIGHT_BYTES = 8
_MOST_INFLATED = 1100
"""Deflate packs at most 1032 bytes into one, so a shape that needs more is wrong."""


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


class Sampler:
    """Draws letters from an integer channel, and follows the memory's states.

    Attributes:
        n_letters: letters that a record may get.
        n_next_states: states that a record may be in afterwards.
    """

    def __init__(self, channel: IntegerChannel, next_state: NDArray[np.signedinteger]) -> None:
        """Prepare the tables of one release.

        Args:
            channel: p(letter | m, x).
            next_state: state after each letter, [m, letter]; -1 where that cannot occur.
        """
        self._n_states, self._n_x, self.n_letters = channel.weights.shape
        if next_state.shape != (self._n_states, self.n_letters):
            raise InvalidInputError(
                f"next_state has shape {next_state.shape} but the channel has {self._n_states} "
                f"states and {self.n_letters} letters: give [m, letter]"
            )
        self.n_next_states = max(int(next_state.max()), 0) + 1
        self._bounds = _padded_bounds(channel)
        self._letter_type = np.min_scalar_type(self.n_letters - 1)
        state_type = np.min_scalar_type(self.n_next_states - 1)
        self._next_state = np.maximum(next_state, 0).astype(state_type).reshape(-1)
        is_dead_end = (channel.weights > 0).any(axis=1) & (next_state < 0)
        self._is_dead_end = is_dead_end.reshape(-1) if is_dead_end.any() else None

    def draw(self, x: Codes, state: Codes, words: NDArray[np.uint32]) -> tuple[Codes, Codes]:
        """The letter and the next state of each record, from its uniform number.

        The letter is how many of its row's cumulative weights are not above the number: exact, and
        never a letter of weight 0.
        """
        self._refuse_unknown_codes(x, state)
        row_start = (state.astype(np.intp) * self._n_x + x) * self._bounds.shape[1]
        letters = (self._search(row_start, words) - row_start).astype(self._letter_type)
        moves = state.astype(np.intp) * self.n_letters + letters
        if self._is_dead_end is not None and self._is_dead_end.take(moves).any():
            raise InvalidInputError(
                "a letter was drawn that has a weight but no next state: "
                "quantise the channel before following it"
            )
        return letters, self._next_state.take(moves)

    def _search(self, row_start: NDArray[np.intp], words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Binary search of every record's row at once: the first bound above its number."""
        bounds = self._bounds.reshape(-1)
        position, step = row_start.copy(), self._bounds.shape[1] // 2
        while step:
            position += step * (words >= bounds.take(position + (step - 1)))
            step //= 2
        return position

    def _refuse_unknown_codes(self, x: Codes, state: Codes) -> None:
        """Files may be damaged; a code beyond its table would be read as somebody else's."""
        for name, codes, size in (("x", x, self._n_x), ("state", state, self._n_states)):
            if codes.size and codes.max() >= size:
                raise InvalidInputError(
                    f"a record has {name} = {codes.max()} but the channel knows {size}: "
                    "the snapshot or a state file is not this release's"
                )


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
    scaled = laws * TOTAL  # exact, because TOTAL is a power of two
    weights = np.floor(scaled)
    remainders = scaled - weights
    missing = TOTAL - weights.sum(axis=1, keepdims=True)
    # Remainders are below 1 and sum to what is missing, up to rounding. So at least as many of them
    # are positive as units are missing, and a letter of probability 0 never gets one.
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


def _padded_bounds(channel: IntegerChannel) -> NDArray[np.uint64]:
    """Cumulative weights, [(m, x), letter], padded to a power of two of letters."""
    n_letters = channel.weights.shape[2]
    width = 1 << (n_letters - 1).bit_length()
    cumulative = np.cumsum(channel.weights.reshape(-1, n_letters), axis=1)
    return np.pad(cumulative, ((0, 0), (0, width - n_letters)), constant_values=TOTAL)
