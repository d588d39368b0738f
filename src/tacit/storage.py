"""Files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

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
    _remove_abandoned_folders(path.parent)
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


def _remove_abandoned_folders(place: Path) -> None:
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


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write that takes its place at ``path`` once all of it is on disk.

    After an error nothing of it is left and whatever was at ``path`` is still there. After a
    ``kill -9`` a partial file may be left beside ``path``; the next writer removes it.
    """
    _remove_abandoned_files(path)
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


def _remove_abandoned_files(path: Path) -> None:
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
