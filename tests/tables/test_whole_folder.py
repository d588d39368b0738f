"""Folders that appear whole or not at all, whatever becomes of their writers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.storage import whole_folder

KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tacit.storage import whole_folder
with whole_folder(Path(sys.argv[1])) as partial:
    (partial / "private").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "folder") as partial:
        (partial / "a").write_text("1")
        (partial / "inner").mkdir()
        assert not (tmp_path / "folder").exists()
        assert partial.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (tmp_path / "folder" / "a").read_text() == "1"


def nothing(partial: Path) -> None:
    assert partial.is_dir()


def write(path: Path, text: str, meanwhile: Callable[[Path], object]) -> None:
    with whole_folder(path) as partial:
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
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path, killed: str) -> None:
    path = tmp_path / "folder"
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(tmp_path / killed)], check=False)
    [left] = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    with whole_folder(path) as partial:
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


def test_another_writer_that_is_alive_is_left_alone(tmp_path: Path) -> None:
    def beside(slow: Path) -> None:
        write(tmp_path / "other", "quick", nothing)
        assert (slow / "a").read_text() == "slow"

    write(tmp_path / "folder", "slow", beside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "other"]


def test_a_writer_that_is_alive_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def overtake(slow: Path) -> None:
        write(path, "quick", nothing)
        assert (slow / "a").read_text() == "slow"

    with pytest.raises(OSError, match="not empty"):
        write(path, "slow", overtake)
    assert (path / "a").read_text() == "quick"
    assert list(tmp_path.iterdir()) == [path]
