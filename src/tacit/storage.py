"""Durable writes: files and folders that appear whole or not at all, and locks between processes.

A new file or folder is first written under another name beside its place, ``.NAME.TOKEN.partial``.
Once all of it is on disk it is renamed. Its writer holds a lock on it meanwhile, which the system
releases when the writer dies. So the next writer can tell what was abandoned, and removes it.
"""

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


# -- files --------------------------------------------------------------------------------------


@contextmanager
def atomic_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write that takes its place at ``path`` once all of it is on disk.

    After an error nothing of it is left, and what was at ``path`` before is still there. After a
    ``kill -9`` a partial file may be left beside ``path``; the next writer removes it.
    """
    _remove_abandoned_files(path)
    partial, file = _locked_partial_file(path, mode)
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


def create_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file that must not exist yet; on disk when this returns.

    Raises:
        FileExistsError: there is one.
    """
    _write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), content)
    sync(path.parent)


def overwrite_and_remove(path: Path, content: bytes) -> None:
    """Write over a secret file in place, then remove it; both on disk when this returns."""
    _write(os.open(path, os.O_WRONLY), content)
    path.unlink()
    sync(path.parent)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a power cut."""
    with _opened(path) as descriptor:
        os.fsync(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _locked_partial_file(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file beside ``path``, locked until it is closed or its writer dies."""
    while True:
        partial = _partial_name(path)
        file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if partial.exists():
                return partial, file
        except BaseException:
            file.close()
            partial.unlink(missing_ok=True)
            raise
        file.close()  # another writer removed it as abandoned before it was locked: try again


def _remove_abandoned_files(path: Path) -> None:
    """Remove partial files of ``path`` whose writers are dead."""
    for partial in path.parent.glob(f".{_literal(path.name)}.*.partial"):
        # An error means: being written, finished by now, or another user's.
        with suppress(OSError), partial.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


# -- folders ------------------------------------------------------------------------------------


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new folder to write files into that takes its place at ``path`` once all is on disk.

    Only its owner can open it. After an error nothing of it is left. After a ``kill -9`` the next
    writer of a folder in the same place removes what is left.
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
    """A folder beside ``path`` that is removed afterwards.

    After a ``kill -9`` the next writer of a folder in the same place removes it.
    """
    path = path.absolute()  # "." has neither a name nor a parent
    _remove_abandoned_folders(path.parent)
    scratch, descriptor = _locked_partial_folder(path)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(descriptor)


def _locked_partial_folder(path: Path) -> tuple[Path, int]:
    """A new folder beside ``path``, locked until its descriptor is closed or its writer dies."""
    while True:
        partial = _partial_name(path)
        partial.mkdir(mode=0o700)
        # Another writer may remove it as abandoned before it is locked: then try again.
        with suppress(FileNotFoundError):
            descriptor = os.open(partial, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if partial.exists():
                return partial, descriptor
            os.close(descriptor)


def _remove_abandoned_folders(place: Path) -> None:
    """Remove partial folders in this place whose writers are dead."""
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


# -- locks and names ----------------------------------------------------------------------------


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Let nobody clear a folder meanwhile: see ``free_to_clear``. Several may use it at once."""
    with _opened(folder) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def free_to_clear(folder: Path) -> Iterator[bool]:
    """Whether nobody uses a folder now, and nobody will while this lasts. Does not wait."""
    with _opened(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file that exists; other processes wait."""
    with _opened(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_byte(path: Path, at: int, *, wait: bool = True) -> Iterator[bool]:
    """Hold one byte of a file that exists, so that one file serves as many locks.

    Yields whether it is held: always, if others are waited for. Locks of one process do not
    exclude each other, and all that it has on a file end when it closes the file once.
    """
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, at)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        yield False
        return
    try:
        yield True
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _partial_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(_TOKEN_BYTES)}.partial")


def _literal(name: str) -> str:
    """A pattern for this name alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
