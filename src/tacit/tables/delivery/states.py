"""State files: one small number per record, what the memory holds after a ledger entry.

They are private and recomputable: a file that is missing, not whole, or not what was written counts
as absent. Each ends in a keyed seal over its name and everything before it.
"""

from __future__ import annotations

import hmac
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.storage import atomic_file

States = NDArray[np.unsignedinteger]


_SEAL_BYTES = 32


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The states of a study's records, one file per release.

    Attributes:
        folder: where ``<release>.npy`` lie.
        n_records: how many records the study has.
        seal_key: under which they are sealed.
    """

    folder: Path
    n_records: int
    seal_key: bytes

    def path(self, release: str) -> Path:
        """Where the states after a release are kept."""
        return self.folder / f"{release}.npy"

    def start(self) -> States:
        """The states before any release: all 0, in the memory of a single one."""
        return np.broadcast_to(np.uint8(0), (self.n_records,))

    def load(self, release: str, n_states: int) -> States | None:
        """The states after a release; ``None`` if there is no file with just what was written."""
        dtype = _state_type(n_states)
        header = _header(self.n_records, dtype)
        size = len(header) + self.n_records * dtype.itemsize
        try:
            with self.path(release).open("rb") as file:
                if file.seek(0, io.SEEK_END) != size + _SEAL_BYTES:
                    return None
                file.seek(0)
                content = file.read()
        except FileNotFoundError:
            return None
        seal = self._seal(release)
        seal.update(memoryview(content)[:size])
        is_ours = hmac.compare_digest(seal.digest(), content[size:])
        if not (is_ours and content.startswith(header)):
            return None
        return np.frombuffer(content, dtype, self.n_records, len(header))

    @contextmanager
    def writing(self, release: str, n_states: int) -> Iterator[Callable[[States], None]]:
        """A function that appends the next records' states; the file appears when all are in."""
        dtype = _state_type(n_states)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        seal = self._seal(release)
        with atomic_file(self.path(release), mode=0o600) as file:

            def write(content: bytes | memoryview) -> None:
                file.write(content)
                seal.update(content)

            write(_header(self.n_records, dtype))
            yield lambda states: write(states.astype(dtype, copy=False).data)
            file.write(seal.digest())

    def _seal(self, release: str) -> hmac.HMAC:
        """The name is sealed, too: the states after another release are not believed."""
        return hmac.new(self.seal_key, f"{release}\n".encode(), "sha256")


def state_names(folder: Path) -> list[str]:
    """Releases of which states lie in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.npy"))


def _state_type(n_states: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds 0 to ``n_states`` - 1, little-endian."""
    return np.min_scalar_type(n_states - 1).newbyteorder("<")


def _header(n_records: int, dtype: np.dtype[np.unsignedinteger]) -> bytes:
    """What NumPy writes before this many numbers of this type."""
    described = {"descr": dtype.str, "fortran_order": False, "shape": (n_records,)}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, described)
    return header.getvalue()
