"""A study's secret key, and the keys that are derived from it, each for one purpose."""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, Self

from tacit.errors import KeyFileError


def keyed_digest(key: bytes, chunks: Iterable[bytes]) -> str:
    """HMAC-SHA256 of the chunks one after the other, in hexadecimal."""
    digest = hmac.new(key, digestmod="sha256")
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


KEY_BYTES = 32

_DESTROYED = bytes(KEY_BYTES)
"""What ``destroy`` writes over a key: never a key, should the removal not get any further."""


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
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            _write_and_close(descriptor, secret)
            _sync_folder(path.parent)
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
            _write_and_close(os.open(path, os.O_WRONLY), _DESTROYED)
            path.unlink()
            _sync_folder(path.parent)
        except FileNotFoundError:
            return
        except OSError as error:
            raise KeyFileError(f"the key {path} cannot be destroyed: {error.strerror}") from None

    def derive(self, purpose: str, *context: bytes | str | int) -> bytes:
        """32 bytes for one purpose and context (HKDF-SHA256).

        Different arguments give unrelated bytes: 1 and "1" differ, ("a", "bc") and ("ab", "c") too.
        """
        info = b"".join(map(_encoded, ("tacit 1", purpose, *context)))
        # Here, because who only checks digests has not installed it.
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(self._secret)

    def __repr__(self) -> str:
        return "StudyKey(secret)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a study's key cannot be pickled or copied: load it from its file")


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


def _write_and_close(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a new or removed name in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
