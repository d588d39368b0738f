"""Files and folders that appear whole or not at all, and locks, whatever becomes of writers."""

from __future__ import annotations

import fcntl
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from tacit.errors import InvalidInputError
from tacit.storage import (
    atomic_file,
    atomic_folder,
    create_file,
    free_to_clear,
    in_use,
    locked,
    overwrite_and_remove,
)

WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from tacit.storage import atomic_file
with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tacit.storage import atomic_folder
with atomic_folder(Path(sys.argv[1])) as partial:
    (partial / "private").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def start_writer(path: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing a file."""
    command = [sys.executable, "-c", WRITE_AND_WAIT, str(path)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    return writer


def kill(writer: subprocess.Popen[str]) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.communicate()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a file"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a file"]


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"new", "no bytes"])
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "file", mode=0o600) as file:
        file.write(b"private")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "odd [name]*.csv"
    kill(start_writer(path))
    kill(start_writer(tmp_path / "other.csv"))
    assert len(names(tmp_path)) == 2
    with atomic_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    left = [name for name in names(tmp_path) if name != path.name]
    assert [name.startswith(".other.csv.") for name in left] == [True]


def test_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writer = start_writer(path)
    try:
        with atomic_file(path) as file:
            file.write(b"whole")
        assert path.read_bytes() == b"whole"
        assert len(names(tmp_path)) == 2
    finally:
        kill(writer)


def test_a_partial_file_that_nobody_locks_is_removed_even_if_empty(tmp_path: Path) -> None:
    fresh = tmp_path / ".file.0123.partial"
    fresh.touch()
    with atomic_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_writer_whose_partial_file_was_removed_before_its_lock_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, taken = fcntl.flock, []

    def lock_too_late(file: BinaryIO, operation: int) -> None:
        if not taken:  # another writer is between the file's making and its lock
            taken.extend(tmp_path.glob(".file.*.partial"))
            taken[0].unlink()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", lock_too_late)
    with atomic_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_locked_until_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def replace_while_another_writes(partial: Path, path: Path) -> Path:
        monkeypatch.undo()
        with atomic_file(tmp_path / "file") as other:
            other.write(b"other")
        return replace(partial, path)

    monkeypatch.setattr(Path, "replace", replace_while_another_writes)
    with atomic_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_created_file_is_never_written_over(tmp_path: Path) -> None:
    create_file(tmp_path / "key", b"first", mode=0o600)
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "key", b"second", mode=0o600)
    assert (tmp_path / "key").read_bytes() == b"first"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_removed_secret_is_written_over_first(tmp_path: Path) -> None:
    path, copy = tmp_path / "key", tmp_path / "link"
    path.write_bytes(b"secret")
    copy.hardlink_to(path)
    overwrite_and_remove(path, bytes(6))
    assert not path.exists()
    assert copy.read_bytes() == bytes(6)


def test_a_lock_is_held_until_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with path.open("rb") as other:
        with locked(path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "folder") as partial:
        (partial / "a").write_text("1")
        (partial / "inner").mkdir()
        assert not (tmp_path / "folder").exists()
        assert partial.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (tmp_path / "folder" / "a").read_text() == "1"


def nothing(partial: Path) -> None:
    assert partial.is_dir()


def write(path: Path, text: str, meanwhile: Callable[[Path], object]) -> None:
    with atomic_folder(path) as partial:
        (partial / "a").write_text(text)
        meanwhile(partial)


def test_after_an_error_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "folder", "1", lambda partial: (partial / "none").read_text())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_taken_and_a_full_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder", "1", nothing)
    with pytest.raises(InvalidInputError, match="exists already: choose another place"):
        write(tmp_path / "folder", "2", nothing)
    with pytest.raises(InvalidInputError, match="exists already"):
        write(tmp_path / "folder" / "a", "2", nothing)
    assert (tmp_path / "folder" / "a").read_text() == "1"


@pytest.mark.parametrize("killed", ["folder", "another", ".hidden", "a b\n"])
def test_a_folder_that_a_killed_writer_left_is_removed(tmp_path: Path, killed: str) -> None:
    path = tmp_path / "folder"
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(tmp_path / killed)], check=False)
    [left] = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    with atomic_folder(path) as partial:
        (partial / "private").write_text("whole")
        assert list(tmp_path.iterdir()) == [partial]
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    for name in (".x.partial", "x.0123456789abcdef.partial", ".x.0123456789abcdeg.partial"):
        (tmp_path / name).mkdir()
    (tmp_path / ".x.0123456789abcdef.partial").write_text("a file, not a folder")
    (tmp_path / ".y.0123456789abcdef.partial").symlink_to(tmp_path / ".x.partial")
    before = sorted(tmp_path.iterdir())
    write(tmp_path / "folder", "1", nothing)
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "folder"])


def test_a_living_writer_of_another_folder_is_left_alone(tmp_path: Path) -> None:
    def beside(slow: Path) -> None:
        write(tmp_path / "other", "quick", nothing)
        assert (slow / "a").read_text() == "slow"

    write(tmp_path / "folder", "slow", beside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "other"]


def test_a_living_writer_of_the_same_folder_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def overtake(slow: Path) -> None:
        write(path, "quick", nothing)
        assert (slow / "a").read_text() == "slow"

    with pytest.raises(OSError, match="not empty"):
        write(path, "slow", overtake)
    assert (path / "a").read_text() == "quick"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_use_is_not_free_to_clear(tmp_path: Path) -> None:
    with in_use(tmp_path), in_use(tmp_path), free_to_clear(tmp_path) as is_free:
        assert not is_free
    with free_to_clear(tmp_path) as is_free:
        assert is_free
