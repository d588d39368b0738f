"""The engine of one machine: records in files, drawn and sorted by a few threads.

Everything is a function of the key, the recorded release and the snapshot. A delivery that was cut
short is made again, on any machine, and gives the same bytes.

States lie in one file per release: a NumPy header, one small number per record, and a keyed seal
over the release's name and all of that. They are private and can be computed again: a file that is
missing, not whole, or not what was written counts as absent.
"""

from __future__ import annotations

import hmac
import io
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np

from tacit.remark import Remark
from tacit.sampling import Codes, Sampler, pseudonyms, uniforms
from tacit.storage import atomic_file, sync
from tacit.tables.connection import reason
from tacit.tables.delivery.engine import MissingStatesError, StateStore
from tacit.tables.delivery.links import Links, link
from tacit.tables.delivery.release_file import (
    N_THREADS,
    ByPseudonym,
    ByPublicId,
    Order,
    Progress,
    RecordedRelease,
    Steps,
    batches,
    digest_release,
    in_order,
    not_written,
    release_writer,
    states_not_written,
    without_collisions,
    write_release,
)
from tacit.tables.encoding.builder import build, write_header
from tacit.tables.encoding.cohort import Admission, build_cohort
from tacit.tables.encoding.column import Declaration
from tacit.tables.encoding.erasure import erase, known_hashes
from tacit.tables.encoding.snapshot import Snapshot
from tacit.tables.sources.source import AnyTable

_STATES = ".npy"
_SEAL_BYTES = 32


class LocalEngine:
    """Implements ``Engine`` with a ``Snapshot`` folder and ``StateFiles``."""

    def count(
        self,
        source: AnyTable,
        columns: Declaration,
        folder: Path,
        *,
        accept: Collection[str] = (),
        remark: Callable[[Remark], None] | None = None,
    ) -> Snapshot:
        """Freeze a table in a new folder."""
        return build(source, columns, folder, accept=accept, remark=remark)

    def count_cohort(
        self,
        source: AnyTable,
        cohorts: Sequence[Snapshot],
        folder: Path,
        admission: Admission,
        *,
        remark: Callable[[Remark], None],
    ) -> Snapshot:
        """Freeze new records of a table in a new folder."""
        return build_cohort(source, cohorts, folder, admission, remark=remark)

    def open(self, folder: Path) -> Snapshot:
        """The snapshot in a folder."""
        return Snapshot.open(folder)

    def discard(self, folder: Path) -> None:
        """Remove a snapshot."""
        if folder.exists():
            shutil.rmtree(folder)

    def link(
        self, records: Snapshot, ids: AnyTable, pseudonym_key: Callable[[int], bytes]
    ) -> Links:
        """Which pseudonyms the ids of a table have."""
        return link(records, ids, pseudonym_key)

    def remembered(self, folder: Path) -> list[str]:
        """Releases of which state files lie in a folder, sorted."""
        return sorted(path.stem for path in folder.glob(f"*{_STATES}"))

    def keeps(self, records: Snapshot, states: StateStore, release: RecordedRelease) -> bool:
        """Whether the state file of a release is there and whole."""
        return (
            StateFiles.of(states, records.n_records).load(release.name, release.n_states)
            is not None
        )

    def remember(
        self,
        records: Snapshot,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
    ) -> None:
        """Write a release's state file."""
        files = StateFiles.of(states, records.n_records)
        draw = _Draw.of(records, files.after(before), release)
        try:
            with (
                ThreadPoolExecutor(N_THREADS) as pool,
                files.writing(release.name, release.n_states) as append,
            ):
                for _, next_states in in_order(pool, draw.batch, batches(records.n_records)):
                    append(next_states)
        except OSError as error:
            raise states_not_written(states.folder, reason(error)) from error

    def deliver(
        self,
        records: Snapshot,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
        target: Path,
        *,
        expected: str | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write a release's state file and its own."""
        release_writer(target)  # a name that cannot be used is refused before any work
        files = StateFiles.of(states, records.n_records)
        draw = _Draw.of(records, files.after(before), release)

        def attempt(key: bytes | None) -> str:
            steps = Steps(progress, records.n_records + draw.n_left)
            with ThreadPoolExecutor(N_THREADS) as pool:
                order = _order(records, draw.sampler.n_letters, key, pool)
                with files.writing(release.name, release.n_states) as append:
                    _draw_all(draw, order, pool, append, steps)
                blocks = order.blocks(pool)
                return write_release(target, release, blocks, pool, expected=expected, steps=steps)

        try:
            return without_collisions(release, attempt)
        except (OSError, duckdb.Error) as error:
            raise not_written(target, reason(error)) from error

    def redraw(
        self, records: Snapshot, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        """Each release's content digest, and whether its state file, if any, is right."""
        files = StateFiles.of(states, records.n_records)
        reached = files.after(None)
        for release in releases:
            digest, after = _redraw(records, release, reached)
            if release.is_copy:
                yield digest, True
                continue
            reached = after
            yield digest, files.agrees(release, reached)

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        """Remove state files."""
        for name in names:
            (states.folder / f"{name}{_STATES}").unlink(missing_ok=True)

    def known(self, records: Snapshot, key: bytes, id_hashes: Collection[str]) -> set[str]:
        """Those of the keyed hashes that are of a record's id."""
        return known_hashes(records, key, id_hashes)

    def erase(
        self, records: Snapshot, states: StateStore, key: bytes, id_hashes: Collection[str]
    ) -> None:
        """Erase records from the snapshot, and the folder of state files."""
        erase(records, key, id_hashes)
        if states.folder.exists():  # with what killed writers have left there
            shutil.rmtree(states.folder)
            sync(states.folder.parent)


# -- states -------------------------------------------------------------------------------------


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

    @staticmethod
    def of(states: StateStore, n_records: int) -> StateFiles:
        """The files in the folder where a study keeps its states."""
        return StateFiles(states.folder, n_records, states.seal_key)

    def path(self, name: str) -> Path:
        """Where the states after a release are kept."""
        return self.folder / f"{name}{_STATES}"

    def after(self, release: RecordedRelease | None) -> Codes:
        """The states after a release; all 0 before the first release."""
        if release is None:
            return np.broadcast_to(np.uint8(0), (self.n_records,))
        states = self.load(release.name, release.n_states)
        if states is None:
            raise MissingStatesError(self.folder)
        return states

    def load(self, name: str, n_states: int) -> Codes | None:
        """The states after a release; ``None`` if there is no file with just what was written."""
        dtype = _state_type(n_states)
        header = _header(self.n_records, dtype)
        size = len(header) + self.n_records * dtype.itemsize
        try:
            with self.path(name).open("rb") as file:
                if file.seek(0, io.SEEK_END) != size + _SEAL_BYTES:
                    return None
                file.seek(0)
                content = file.read()
        except FileNotFoundError:
            return None
        seal = self._seal(name)
        seal.update(memoryview(content)[:size])
        is_ours = hmac.compare_digest(seal.digest(), content[size:])
        if not (is_ours and content.startswith(header)):
            return None
        return np.frombuffer(content, dtype, self.n_records, len(header))

    def agrees(self, release: RecordedRelease, states: Codes) -> bool:
        """Whether a release's file, if there is one, holds these states."""
        if not self.path(release.name).exists():
            return True
        kept = self.load(release.name, release.n_states)
        return kept is not None and np.array_equal(kept, states)

    @contextmanager
    def writing(self, name: str, n_states: int) -> Iterator[Callable[[Codes], None]]:
        """A function that appends the next records' states; the file appears when all are in."""
        dtype = _state_type(n_states)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        seal = self._seal(name)
        with atomic_file(self.path(name), mode=0o600) as file:

            def write(content: bytes | memoryview) -> None:
                file.write(content)
                seal.update(content)

            write(_header(self.n_records, dtype))
            yield lambda states: write(states.astype(dtype, copy=False).data)
            file.write(seal.digest())

    def _seal(self, name: str) -> hmac.HMAC:
        """The name is sealed, too: the states after another release are not believed."""
        return hmac.new(self.seal_key, f"{name}\n".encode(), "sha256")


def _state_type(n_states: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds 0 to ``n_states`` - 1, little-endian."""
    return np.min_scalar_type(n_states - 1).newbyteorder("<")


def _header(n_records: int, dtype: np.dtype[np.unsignedinteger]) -> bytes:
    """What NumPy writes before this many numbers of this type."""
    header = io.BytesIO()
    write_header(header, dtype, n_records)
    return header.getvalue()


# -- drawing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Draw:
    """Draws the letters and next states of records, batch by batch.

    Attributes:
        x: cell of each record.
        state: memory of each record before the release.
        sampler: of the release's channel.
        key: under which the numbers of this release are drawn.
    """

    x: Codes
    state: Codes
    sampler: Sampler
    key: bytes

    @staticmethod
    def of(records: Snapshot, state: Codes, release: RecordedRelease) -> _Draw:
        sampler = Sampler(release.channel, release.class_of_x, release.next_state)
        return _Draw(records.x, state, sampler, release.draw_key)

    @property
    def n_left(self) -> int:
        """How many records were not erased."""
        return int(np.count_nonzero(self.x != self.sampler.no_cell))

    def batch(self, batch: range) -> tuple[Codes, Codes]:
        """Letters and next states of some records."""
        some = slice(batch.start, batch.stop)
        words = uniforms(self.key, batch.start, batch.stop)
        return self.sampler.draw_places(self.x[some], self.state[some], words)


def _draw_all(
    draw: _Draw,
    order: Order,
    pool: ThreadPoolExecutor,
    keep: Callable[[Codes], None],
    steps: Steps,
) -> None:
    """Draw every record, give the letters to ``order``, and the next states to ``keep``."""

    def draw_and_put(batch: range) -> Codes:
        letters, next_states = draw.batch(batch)
        order.put(batch.start, letters)
        return next_states

    for next_states in in_order(pool, draw_and_put, batches(len(draw.x))):
        keep(next_states)
        steps.add(len(next_states))


def _redraw(records: Snapshot, release: RecordedRelease, states: Codes) -> tuple[str, Codes]:
    """The content digest that a release's file must have, and the states after it; no file."""
    draw = _Draw.of(records, states, release)

    def attempt(key: bytes | None) -> tuple[str, Codes]:
        next_states: list[Codes] = []
        with ThreadPoolExecutor(N_THREADS) as pool:
            order = _order(records, draw.sampler.n_letters, key, pool)
            _draw_all(draw, order, pool, next_states.append, Steps(None, 0))
            digest = digest_release(release, order.blocks(pool))
        return digest, np.concatenate(next_states)

    return without_collisions(release, attempt)


def _order(
    records: Snapshot, n_letters: int, pseudonym_key: bytes | None, pool: ThreadPoolExecutor
) -> Order:
    if pseudonym_key is None:
        return ByPublicId(records.ids_sql, records.n_records, n_letters)
    return ByPseudonym(partial(pseudonyms, pseudonym_key), records.n_records, n_letters, pool)
