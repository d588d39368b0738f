"""Keyed sampling: the letter of record i is a function of the key, the intent, i, x and state.

Random numbers are words of an AES-256-CTR stream under a key of their own for each release. Word i
belongs to record i, whoever computes it and in whatever order, so nobody ever gets a second draw.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.sampling.integer_channel import TOTAL, IntegerChannel

_BLOCK_BYTES = 16

Codes = NDArray[np.unsignedinteger]
"""One small number per record, in any unsigned type."""


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


def _padded_bounds(channel: IntegerChannel) -> NDArray[np.uint64]:
    """Cumulative weights, [(m, x), letter], padded to a power of two of letters."""
    n_letters = channel.weights.shape[2]
    width = 1 << (n_letters - 1).bit_length()
    cumulative = np.cumsum(channel.weights.reshape(-1, n_letters), axis=1)
    return np.pad(cumulative, ((0, 0), (0, width - n_letters)), constant_values=TOTAL)


def _keystream(key: bytes, start: int, stop: int) -> memoryview:
    """Bytes ``start`` to ``stop`` of the AES-256-CTR stream of a key, from counter 0."""
    first_block, skipped = divmod(start, _BLOCK_BYTES)
    counter = first_block.to_bytes(_BLOCK_BYTES, "big")
    encryptor = Cipher(AES256(key), CTR(counter)).encryptor()
    return memoryview(encryptor.update(bytes(skipped + stop - start)))[skipped:]
