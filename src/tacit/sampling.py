"""Integer channels and keyed sampling: a recorded release has one outcome, on every machine.

A channel has integer rows: exactly what is stored, certified and sampled. A letter is drawn from a
row by a 32-bit number, so the law of what is drawn is the row itself.

Random words are the AES-256-CTR stream of a key that is derived from the study's secret key. Word i
belongs to record i, whoever computes it and in whatever order, so nobody ever gets a second draw.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import CorruptLedgerError, InvalidInputError, KeyFileError
from tacit.information.laws import as_channel
from tacit.storage import create_file, overwrite_and_remove

KEY_BYTES = 32

_BLOCK_BYTES = 16

_DESTROYED = bytes(KEY_BYTES)
"""Bytes that ``destroy`` writes over a key. ``load`` refuses them if the file was not removed."""


def keyed_digest(key: bytes, chunks: Iterable[bytes]) -> str:
    """HMAC-SHA256 of the chunks one after the other, in hexadecimal."""
    digest = hmac.new(key, digestmod="sha256")
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


class StudyKey:
    """32 secret bytes that every random number and pseudonym of a study comes from.

    They are never shown: not by ``repr``, not in an error, not by pickling.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise KeyFileError(f"a key has {KEY_BYTES} bytes, not {len(secret)}")
        self._secret = secret

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new key from the system's randomness, in a new file that only its owner can read."""
        secret = os.urandom(KEY_BYTES)
        try:
            create_file(path, secret, mode=0o600)
        except FileExistsError:
            raise KeyFileError(f"{path} exists already: a key is never overwritten") from None
        except OSError as error:
            raise KeyFileError(f"the key {path} cannot be made: {error.strerror}") from None
        return cls(secret)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The key in a file that only its owner can read."""
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                secret = file.read(KEY_BYTES + 1)
        except FileNotFoundError:
            raise KeyFileError(
                f"the key {path} is missing: restore it from a backup; "
                "nothing can be released without it"
            ) from None
        except OSError as error:
            raise KeyFileError(f"the key {path} cannot be read: {error.strerror}") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise KeyFileError(
                f"the key {path} is open to others (mode {stat.S_IMODE(mode):04o}): "
                "let only its owner read it (mode 0600)"
            )
        if len(secret) != KEY_BYTES or secret == _DESTROYED:
            raise KeyFileError(
                f"the key {path} is damaged (not {KEY_BYTES} secret bytes): "
                "restore it from a backup"
            )
        return cls(secret)

    @staticmethod
    def destroy(path: Path) -> None:
        """Overwrite a key and remove it; a key that is gone already stays gone."""
        try:
            overwrite_and_remove(path, _DESTROYED)
        except FileNotFoundError:
            return
        except OSError as error:
            raise KeyFileError(f"the key {path} cannot be destroyed: {error.strerror}") from None

    def derive(self, purpose: str, *context: bytes | str | int) -> bytes:
        """32 bytes for one purpose and context (HKDF-SHA256).

        Different arguments give unrelated bytes: 1 and "1" differ, ("a", "bc") and ("ab", "c") too.
        """
        info = b"".join(map(_encoded, ("tacit 1", purpose, *context)))
        # Imported here: recipients who only check digests have not installed it.
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(self._secret)

    def __repr__(self) -> str:
        return "StudyKey(secret)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a study's key cannot be pickled or copied: load it from its file")


def uniforms(release_key: bytes, start: int, stop: int) -> NDArray[np.uint32]:
    """The 32-bit uniform numbers of records ``start`` to ``stop`` in one release.

    Args:
        release_key: derived from the study's key for this release alone.
    """
    words = np.frombuffer(_keystream(release_key, 4 * start, 4 * stop), dtype="<u4")
    return words.astype(np.uint32, copy=False)


def pseudonyms(party_key: bytes, start: int, stop: int) -> NDArray[np.uint64]:
    """The 64-bit pseudonyms of records ``start`` to ``stop`` for one party.

    Args:
        party_key: ``study_key.derive("pseudonym", study_id, party, attempt)``.
    """
    words = np.frombuffer(_keystream(party_key, 8 * start, 8 * stop), dtype="<u8")
    return words.astype(np.uint64, copy=False)


def _encoded(item: bytes | str | int) -> bytes:
    """Type, length and content: no two lists of items have the same concatenation."""
    match item:
        case bytes():
            kind, content = b"b", item
        case str():
            kind, content = b"s", item.encode("utf-8", "surrogatepass")
        case int():
            kind, content = b"i", str(int(item)).encode("ascii")
    return kind + len(content).to_bytes(8, "big") + content


def _keystream(key: bytes, start: int, stop: int) -> memoryview:
    """Bytes ``start`` to ``stop`` of the AES-256-CTR stream of a key, from counter 0."""
    # Imported here: recipients who only check digests have not installed it.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    first_block, skipped = divmod(start, _BLOCK_BYTES)
    counter = first_block.to_bytes(_BLOCK_BYTES, "big")
    encryptor = Cipher(AES256(key), CTR(counter)).encryptor()
    return memoryview(encryptor.update(bytes(skipped + stop - start)))[skipped:]


TOTAL = 2**32
"""What every row of an integer channel sums to: as many as a 32-bit uniform number has values."""

_SMALLEST_SHARE = -24
"""Shares of a constant answer that are tried: 2**-24, 2**-23, ..., 1."""

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


@dataclass(frozen=True, eq=False)
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

    @classmethod
    def towards_constant(cls, channel: Array, mass: Array) -> Iterator[Self]:
        """The nearest integer channel, then those of mixtures with a constant answer.

        Rounding may break a cap by very little, and merging states by more: a mixture with a
        larger share of the constant answer tells less. That answer has the channel's own law of
        letters, so that none is new. It comes last, alone, and tells nobody anything.

        Args:
            channel: p(letter | m, x), [m, x, letter].
            mass: p(m, x), [m, x].
        """
        yield cls.quantised(channel)
        letters = np.einsum("mx,mxa->a", mass, channel)
        constant = np.broadcast_to(letters / letters.sum(), channel.shape)
        for power in range(_SMALLEST_SHARE, 1):
            share = 2.0**power
            yield cls.quantised((1 - share) * channel + share * constant)

    @cached_property
    def law(self) -> Array:
        """p(letter | m, x), [m, x, letter]; exact, because 33 bits fit into a float's 53."""
        law = self.weights / float(TOTAL)
        law.flags.writeable = False
        return law

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
        no_cell: what stands in the place of the cell of a record that was erased.
        n_next_states: states that a record may be in afterwards.
    """

    def __init__(
        self,
        channel: IntegerChannel,
        class_of_x: NDArray[np.intp],
        next_state: NDArray[np.signedinteger],
    ) -> None:
        """Prepare the tables of one release.

        Args:
            channel: p(letter | m, class of x).
            class_of_x: class of each cell, [x]: which row of the channel it has.
            next_state: state after each letter, [m, letter]; -1 where that cannot occur.
        """
        self._n_states, self._n_classes, self.n_letters = channel.weights.shape
        if int(class_of_x.max()) + 1 != self._n_classes:
            raise InvalidInputError(
                f"class_of_x names {int(class_of_x.max()) + 1} classes but the channel has "
                f"{self._n_classes}: give a class for each cell"
            )
        self._class_of_x, self.no_cell = class_of_x, len(class_of_x)
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

    def draw_places(self, x: Codes, state: Codes, words: NDArray[np.uint32]) -> tuple[Codes, Codes]:
        """As ``draw``, for places of which some may be empty, because a record was erased.

        An empty place, whose cell is ``no_cell``, has the letter ``n_letters``, which is none, and
        state 0.
        """
        is_there = x != self.no_cell
        if is_there.all():
            return self.draw(x, state, words)
        drawn, followed = self.draw(x[is_there], state[is_there], words[is_there])
        letters = np.full(len(x), self.n_letters, dtype=np.min_scalar_type(self.n_letters))
        next_states = np.zeros(len(x), dtype=followed.dtype)
        letters[is_there], next_states[is_there] = drawn, followed
        return letters, next_states

    def draw(self, x: Codes, state: Codes, words: NDArray[np.uint32]) -> tuple[Codes, Codes]:
        """The letter and the next state of each record, from its uniform number.

        The letter is how many of its row's cumulative weights are not above the number: exact, and
        never a letter of weight 0.
        """
        self._refuse_unknown_codes(x, state)
        rows = state.astype(np.intp) * self._n_classes + self._class_of_x.take(x)
        row_start = rows * self._bounds.shape[1]
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
        n_x = len(self._class_of_x)
        for name, codes, size in (("x", x, n_x), ("state", state, self._n_states)):
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
