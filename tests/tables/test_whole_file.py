"""Files that appear whole or not at all, whoever dies and whoever else is writing."""

from __future__ import annotations

import fcntl
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from tacit.storage import whole_file

WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from tacit.storage import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
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
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a file"]


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"new", "no bytes"])
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file", mode=0o600) as file:
        file.write(b"private")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "odd [name]*.csv"
    kill(start_writer(path))
    kill(start_writer(tmp_path / "other.csv"))
    assert len(names(tmp_path)) == 2
    with whole_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    left = [name for name in names(tmp_path) if name != path.name]
    assert [name.startswith(".other.csv.") for name in left] == [True]


def test_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writer = start_writer(path)
    try:
        with whole_file(path) as file:
            file.write(b"whole")
        assert path.read_bytes() == b"whole"
        assert len(names(tmp_path)) == 2
    finally:
        kill(writer)


def test_a_partial_file_that_nobody_locks_is_removed_even_if_empty(tmp_path: Path) -> None:
    fresh = tmp_path / ".file.0123.partial"
    fresh.touch()
    with whole_file(tmp_path / "file") as file:
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
    with whole_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_locked_until_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def replace_while_another_writes(partial: Path, path: Path) -> Path:
        monkeypatch.undo()
        with whole_file(tmp_path / "file") as other:
            other.write(b"other")
        return replace(partial, path)

    monkeypatch.setattr(Path, "replace", replace_while_another_writes)
    with whole_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
