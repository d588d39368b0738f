"""Files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tacit.tables.whole_folder import sync


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write that takes its place at ``path`` once all of it is on disk.

    After an error nothing of it is left and whatever was at ``path`` is still there. After a
    ``kill -9`` a partial file may be left beside ``path``; the next writer removes it.
    """
    _remove_abandoned(path)
    partial, file = _locked_partial(path, mode)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            partial.replace(path)  # while it is locked: nobody may take it for abandoned
        sync(path.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _locked_partial(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file beside ``path``, locked until it is closed, or we are dead."""
    while True:
        partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
        file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if partial.exists():
                return partial, file
        except BaseException:
            file.close()
            partial.unlink(missing_ok=True)
            raise
        file.close()  # another writer was faster than our lock, and took it for abandoned


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of ``path`` left behind that are no longer alive to hold its lock."""
    for partial in path.parent.glob(f".{_literal(path.name)}.*.partial"):
        try:
            with partial.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                partial.unlink()
        except OSError:
            continue  # being written, finished by now, or somebody else's


def _literal(name: str) -> str:
    """A pattern for this name alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
