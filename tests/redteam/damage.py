"""What a bad disk, a careless restore or a clever insider can do to the files of a study."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Damage = Callable[[Path, Path], None]
"""Of a study's folder; the second is that of another study of the same table."""


def states_of(folder: Path) -> list[Path]:
    """State files, oldest release first; their names begin with its number."""
    return sorted((folder / "states").iterdir(), key=lambda path: int(path.name.partition("-")[0]))


def edit_codes(path: Path, edit: Callable[[Bytes], Bytes], n_records: int) -> None:
    """Change a .npy file with one byte for each record in place: header, size and end are kept."""
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    codes = np.frombuffer(content, np.uint8, n_records, start)
    changed = edit(codes.copy()).tobytes()
    assert len(changed) == n_records
    path.write_bytes(content[:start] + changed + content[start + n_records :])


def read_codes(path: Path, n_records: int) -> Bytes:
    """The numbers of such a file."""
    content = path.read_bytes()
    return np.frombuffer(content, np.uint8, n_records, content.index(b"\n") + 1)


def edit_newest_states(folder: Path, edit: Callable[[Bytes], Bytes]) -> None:
    edit_codes(states_of(folder)[-1], edit, n_records_of(folder))


def n_records_of(folder: Path) -> int:
    return len(np.load(folder / "snapshot" / "x.npy"))


def zero_states(folder: Path, other: Path) -> None:
    edit_newest_states(folder, np.zeros_like)


def shuffle_states(folder: Path, other: Path) -> None:
    edit_newest_states(folder, np.random.default_rng(0).permutation)


def flip_one_state(folder: Path, other: Path) -> None:
    def flip(codes: Bytes) -> Bytes:
        codes[7] = codes.max() - codes[7]
        return codes

    edit_newest_states(folder, flip)


def swap_states(folder: Path, other: Path) -> None:
    """Those after one release under the name of another, and the other way round."""
    older, newer = states_of(folder)[-2:]
    contents = older.read_bytes(), newer.read_bytes()
    newer.write_bytes(contents[0])
    older.write_bytes(contents[1])


def take_states_of_another_study(folder: Path, other: Path) -> None:
    shutil.copyfile(states_of(other)[-1], states_of(folder)[-1])


def truncate_states(folder: Path, other: Path) -> None:
    truncate(states_of(folder)[-1])


def empty_states(folder: Path, other: Path) -> None:
    states_of(folder)[-1].write_bytes(b"")


def swap_two_records(folder: Path, other: Path) -> None:
    """Two people of different cells change places; every count stays."""

    def swap(codes: Bytes) -> Bytes:
        second = int((codes != codes[0]).argmax())
        codes[[0, second]] = codes[[second, 0]]
        return codes

    edit_codes(folder / "snapshot" / "x.npy", swap, n_records_of(folder))


def rotate_records(folder: Path, other: Path) -> None:
    """Everybody gets the cell of the next."""
    edit_codes(folder / "snapshot" / "x.npy", lambda codes: np.roll(codes, 1), n_records_of(folder))


def change_a_cell(folder: Path, other: Path) -> None:
    """One person is put into another's cell; the counts no longer fit."""

    def change(codes: Bytes) -> Bytes:
        codes[0] = codes[(codes != codes[0]).argmax()]
        return codes

    edit_codes(folder / "snapshot" / "x.npy", change, n_records_of(folder))


def take_ids_of_another_study(folder: Path, other: Path) -> None:
    shutil.copyfile(other / "snapshot" / "ids.parquet", folder / "snapshot" / "ids.parquet")


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def truncate_cells(folder: Path, other: Path) -> None:
    truncate(folder / "snapshot" / "x.npy")


def truncate_ids(folder: Path, other: Path) -> None:
    truncate(folder / "snapshot" / "ids.parquet")


def truncate_counts(folder: Path, other: Path) -> None:
    truncate(folder / "snapshot" / "counts.npz")


def truncate_description(folder: Path, other: Path) -> None:
    truncate(folder / "snapshot" / "snapshot.json")


def truncate_key(folder: Path, other: Path) -> None:
    truncate(folder / "key")


def truncate_ledger(folder: Path, other: Path) -> None:
    truncate(folder / "ledger.sqlite")


def truncate_configuration(folder: Path, other: Path) -> None:
    truncate(folder / "study.json")


def take_key_of_another_study(folder: Path, other: Path) -> None:
    shutil.copy(other / "key", folder / "key")


def take_ledger_of_another_study(folder: Path, other: Path) -> None:
    shutil.copyfile(other / "ledger.sqlite", folder / "ledger.sqlite")


STATES = (
    zero_states,
    shuffle_states,
    flip_one_state,
    swap_states,
    take_states_of_another_study,
    truncate_states,
    empty_states,
)
SNAPSHOT = (
    swap_two_records,
    rotate_records,
    change_a_cell,
    take_ids_of_another_study,
    truncate_cells,
    truncate_ids,
    truncate_counts,
    truncate_description,
)
OTHERS = (
    truncate_key,
    truncate_ledger,
    truncate_configuration,
    take_key_of_another_study,
    take_ledger_of_another_study,
)
