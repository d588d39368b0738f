"""State files: one small number per record, what the memory holds after a ledger entry.

They are private and recomputable: a file that is missing or not whole counts as absent.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.tables.whole_file import whole_file

States = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The states of a study's records, one file per release.

    Attributes:
        folder: where ``<release>.npy`` lie.
        n_records: how many records the study has.
    """

    folder: Path
    n_records: int

    def path(self, release: str) -> Path:
        """Where the states after a release are kept."""
        return self.folder / f"{release}.npy"

    def start(self) -> States:
        """The states before any release: all 0, in the memory of a single one."""
        return np.broadcast_to(np.uint8(0), (self.n_records,))

    def load(self, release: str, n_states: int) -> States | None:
        """The states after a release, memory-mapped; ``None`` if there is no file
        with this many records and this type, whole.
        """
        dtype = _state_type(n_states)
        header = _header(self.n_records, dtype)
        try:
            with self.path(release).open("rb") as file:
                is_ours = file.read(len(header)) == header
                is_whole = (
                    file.seek(0, io.SEEK_END) == len(header) + self.n_records * dtype.itemsize
                )
                if not (is_ours and is_whole):
                    return None
                mapped = np.memmap(file, dtype, "r", len(header), (self.n_records,))
        except FileNotFoundError:
            return None
        return np.asarray(mapped)

    @contextmanager
    def writing(self, release: str, n_states: int) -> Iterator[Callable[[States], None]]:
        """A function that appends the next records' states; the file appears when all are in."""
        dtype = _state_type(n_states)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with whole_file(self.path(release), mode=0o600) as file:
            file.write(_header(self.n_records, dtype))

            def append(states: States) -> None:
                file.write(states.astype(dtype, copy=False).data)

            yield append


def _state_type(n_states: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds 0 to ``n_states`` - 1, little-endian."""
    return np.min_scalar_type(n_states - 1).newbyteorder("<")


def _header(n_records: int, dtype: np.dtype[np.unsignedinteger]) -> bytes:
    """What NumPy writes before this many numbers of this type."""
    described = {"descr": dtype.str, "fortran_order": False, "shape": (n_records,)}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, described)
    return header.getvalue()
