"""State files: small, whole, and absent when they are not."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from tacit.sampling import Codes
from tacit.tables.delivery.local import StateFiles

N_RECORDS = 1000
SEAL_KEY = bytes(range(32))


@pytest.fixture
def files(tmp_path: Path) -> StateFiles:
    return StateFiles(tmp_path / "states", N_RECORDS, SEAL_KEY)


def some_states(n_states: int) -> Codes:
    return np.random.default_rng(0).integers(0, n_states, N_RECORDS).astype(np.uint32)


def write(files: StateFiles, name: str, states: Codes, n_states: int) -> None:
    with files.writing(name, n_states) as append:
        append(states[:300])
        append(states[300:])


@pytest.mark.parametrize(("n_states", "itemsize"), [(1, 1), (256, 1), (257, 2), (65_537, 4)])
def test_states_come_back_in_the_smallest_type(
    files: StateFiles, n_states: int, itemsize: int
) -> None:
    states = some_states(n_states)
    write(files, "3", states, n_states)
    loaded = files.load("3", n_states)
    assert loaded is not None
    assert loaded.dtype.itemsize == itemsize
    assert np.array_equal(loaded, states)
    assert np.array_equal(np.load(files.path("3")), states)


def test_states_are_private(files: StateFiles) -> None:
    write(files, "3", some_states(2), 2)
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(files.path("3").stat().st_mode) == 0o600


def test_loaded_states_cannot_be_changed(files: StateFiles) -> None:
    write(files, "3", some_states(2), 2)
    loaded = files.load("3", 2)
    assert loaded is not None
    with pytest.raises(ValueError, match="read-only"):
        loaded[0] = 1


def test_before_any_release_all_are_0_without_a_file() -> None:
    start = StateFiles(Path("nowhere"), 10**12, SEAL_KEY).after(None)
    assert start.shape == (10**12,)
    assert start.strides == (0,)
    assert start[5:8].tolist() == [0, 0, 0]


def test_a_missing_file_is_absent(files: StateFiles) -> None:
    assert files.load("3", 2) is None


@pytest.mark.parametrize(
    "damage", ["half", "long", "empty", "header", "garbage", "zeroed", "flipped", "unsealed"]
)
def test_a_damaged_file_is_absent(files: StateFiles, damage: str) -> None:
    write(files, "3", some_states(2), 2)
    whole = files.path("3").read_bytes()
    damaged = {
        "half": whole[: len(whole) // 2],
        "long": whole + b"\0",
        "empty": b"",
        "header": whole[:9] + b"\xff" + whole[10:],
        "garbage": bytes(len(whole)),
        "zeroed": whole[:-1032] + bytes(1000) + whole[-32:],
        "flipped": whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        "unsealed": whole[:-32],  # as 0.1 wrote it
    }
    files.path("3").write_bytes(damaged[damage])
    assert files.load("3", 2) is None


def test_a_file_of_other_records_or_states_is_absent(files: StateFiles) -> None:
    write(files, "3", some_states(300), 300)
    assert StateFiles(files.folder, N_RECORDS + 1, SEAL_KEY).load("3", 300) is None
    assert files.load("3", 200) is None


def test_states_of_another_release_or_study_are_not_believed(files: StateFiles) -> None:
    write(files, "3", some_states(2), 2)
    files.path("4").write_bytes(files.path("3").read_bytes())
    assert files.load("4", 2) is None
    assert StateFiles(files.folder, N_RECORDS, bytes(32)).load("3", 2) is None


def test_an_interrupted_writer_leaves_no_file(files: StateFiles) -> None:
    def write_some() -> None:
        with files.writing("3", 2) as append:
            append(some_states(2)[:10])
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write_some()
    assert list(files.folder.iterdir()) == []
