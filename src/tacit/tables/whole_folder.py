"""Folders that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit.errors import InvalidInputError

_TOKEN_BYTES = 8
_PARTIAL = re.compile(rf"\..+\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}\.partial", re.DOTALL)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder to write files into that takes its place at ``path`` once all is on disk.

    Only its owner can open it. After an error nothing of it is left, nor, once there is another
    writer, after a ``kill -9``.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise InvalidInputError(f"{path} exists already: choose another place, or remove it first")
    if path.is_dir() and path.samefile(Path.cwd()):  # which would be another folder afterwards
        raise InvalidInputError(f"{path} is the folder that you are in: name it from outside")
    with scratch_folder(path) as partial:
        yield partial
        for file in (*partial.iterdir(), partial):
            sync(file)
        partial.rename(path)
    sync(path.parent)


@contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """A folder beside ``path`` that is gone afterwards.

    If we are killed, the next writer of a folder in the same place removes it.
    """
    path = path.absolute()  # "." has neither a name nor a parent
    _remove_abandoned(path.parent)
    scratch, descriptor = _locked_scratch(path)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(descriptor)


def _locked_scratch(path: Path) -> tuple[Path, int]:
    """A new folder beside ``path``, locked until its descriptor is closed, or we are dead."""
    while True:
        scratch = path.with_name(f".{path.name}.{secrets.token_hex(_TOKEN_BYTES)}.partial")
        scratch.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # another writer may take it for abandoned before ...
            descriptor = os.open(scratch, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # ... this; then we make another one
            if scratch.exists():
                return scratch, descriptor
            os.close(descriptor)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    with _opened(path) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_abandoned(place: Path) -> None:
    """Remove what writers of folders left behind here that are no longer alive to hold a lock."""
    for partial in place.iterdir():
        if _PARTIAL.fullmatch(partial.name) and partial.is_dir() and not partial.is_symlink():
            _remove_unless_locked(partial)


def _remove_unless_locked(partial: Path) -> None:
    # Gone meanwhile, or another user's.
    with suppress(FileNotFoundError, PermissionError), _opened(partial) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # being written
        shutil.rmtree(partial)
