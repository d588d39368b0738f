"""Files that custodians send to a service, for one order each: a table, a list of ids, a receipt.

They lie in folders that only their owner can open, until the order is done or a day has gone.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from shutil import rmtree
from time import time

from anyio import fail_after, open_file

from tacit.errors import InvalidInputError
from tacit.service.failures import Failure, FailureError

MOST_BYTES = 2 * 1024**3
"""Of a file."""

CHUNK_SECONDS = 20
"""In which some more of a file has to arrive."""

_KEPT_SECONDS = 24 * 3600.0

_NAME = r"\w[\w .()+-]{0,150}\.(?:csv|csv\.gz|parquet|arrow|feather|xlsx|json|html)"
_KEY = re.compile(rf"[A-Za-z0-9_-]{{22}}/(?P<name>{_NAME})", re.IGNORECASE)

_TOO_LARGE = Failure(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", f"send at most {MOST_BYTES:,} bytes"
)
_TOO_SLOW = Failure(HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "the file took too long to arrive")


def file_name(key: object) -> str | None:
    """The name that a file had where it came from; ``None`` for what is no key of a file."""
    found = _KEY.fullmatch(key) if isinstance(key, str) else None
    return None if found is None else found["name"]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent.

    Attributes:
        key: by which orders name it.
        name: that it had where it came from.
        bytes: its size.
        sent: seconds since 1970.
    """

    key: str
    name: str
    bytes: int
    sent: float


@dataclass(frozen=True, slots=True)
class Uploads:
    """The files that were sent to one study's service.

    Attributes:
        folder: where they are.
    """

    folder: Path

    @classmethod
    def beside(cls, files: Path) -> Uploads:
        """Those of a service that keeps its release files there."""
        return cls(files / "uploads")

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> Upload:
        """Store a file as it arrives.

        Raises:
            InvalidInputError: the name is none of a file that orders can use.
            FailureError: it is too large, or too slow.
        """
        key = f"{secrets.token_urlsafe(16)}/{name}"
        if file_name(key) is None:
            raise InvalidInputError(
                f"{name[:100]!r} is no name of a file that can be sent: give letters, digits, "
                "blanks and .()+-_ with the ending .csv, .csv.gz, .parquet, .arrow, .feather, "
                ".xlsx, .json or .html"
            )
        self.forget_old()
        place = (self.folder / key).parent
        place.mkdir(mode=0o700, parents=True)
        try:
            size = await _store(self.folder / key, chunks)
        except BaseException:
            rmtree(place, ignore_errors=True)
            raise
        return Upload(key, name, size, time())

    def newest(self) -> list[Upload]:
        """All that are there, the newest first."""
        found = []
        for path in self.folder.glob("*/*"):
            key = f"{path.parent.name}/{path.name}"
            with suppress(FileNotFoundError):  # removed meanwhile
                status = path.stat()
                if file_name(key) is not None:
                    found.append(Upload(key, path.name, status.st_size, status.st_mtime))
        return sorted(found, key=lambda each: each.sent, reverse=True)

    def path(self, key: str) -> Path:
        """Where a file is.

        Raises:
            InvalidInputError: there is none.
        """
        path = self.folder / key
        if file_name(key) is None or not path.is_file():
            raise InvalidInputError("there is no such file any more: send it again")
        return path

    def linked(self, key: str) -> Path:
        """Where the pseudonyms of a list of ids are written; removed with the list."""
        return self.path(key).parent / "linked" / "pseudonyms.csv"

    def remove(self, key: str) -> bool:
        """Remove a file; whether it was there."""
        if file_name(key) is None or not (self.folder / key).is_file():
            return False
        rmtree((self.folder / key).parent)
        return True

    def forget_old(self) -> None:
        """Remove what nobody used within a day, also what a killed server left half."""
        for place in self.folder.glob("*"):
            with suppress(FileNotFoundError):
                if place.stat().st_mtime < time() - _KEPT_SECONDS:
                    rmtree(place)


async def _store(path: Path, chunks: AsyncIterator[bytes]) -> int:
    """Write a file that appears once all of it is there; its size."""
    size, partial = 0, path.with_name(".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    async with await open_file(descriptor, "wb") as file:
        try:
            while True:
                with fail_after(CHUNK_SECONDS):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                size += len(chunk)
                if size > MOST_BYTES:
                    raise FailureError(_TOO_LARGE)
                await file.write(chunk)
        except TimeoutError:
            raise FailureError(_TOO_SLOW) from None
    partial.rename(path)
    return size
