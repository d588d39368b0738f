"""A study's secret key, the keys derived from it, and the random words that these keys give.

Random words are the AES-256-CTR stream of a derived key. Word i belongs to record i, whoever
computes it and in whatever order, so nobody ever gets a second draw.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import KeyFileError
from tacit.storage import create_file, overwrite_and_remove

KEY_BYTES = 32

_BLOCK_BYTES = 16

_DESTROYED = bytes(KEY_BYTES)
"""What ``destroy`` writes over a key: never a key, should the removal not get any further."""


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
                f"run chmod 600 {path}"
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
