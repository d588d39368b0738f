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
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until we are done, or dead
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync(path.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of ``path`` left behind that are no longer alive to hold its lock."""
    for partial in path.parent.glob(f".{_literal(path.name)}.*.partial"):
        try:
            with partial.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Nothing in it yet: its writer may be about to lock it.
                if os.fstat(file.fileno()).st_size:
                    partial.unlink()
        except OSError:
            continue  # being written, finished by now, or somebody else's


def _literal(name: str) -> str:
    """A pattern for this name alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
