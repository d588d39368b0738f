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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np

from tacit.errors import DeliveryError
from tacit.remark import Remark
from tacit.sampling import Codes, Sampler, pseudonyms, uniforms
from tacit.storage import atomic_file
from tacit.tables.connection import reason
from tacit.tables.delivery.engine import MissingStatesError, Progress, StateStore
from tacit.tables.delivery.links import Links, link
from tacit.tables.delivery.release_file import (
    N_THREADS,
    Alphabet,
    Block,
    ByPseudonym,
    ByPublicId,
    ContentDigest,
    Order,
    PseudonymCollisionError,
    RecordedRelease,
    batches,
    in_order,
    release_writer,
)
from tacit.tables.encoding.builder import build
from tacit.tables.encoding.column import Column
from tacit.tables.encoding.comparison import compare
from tacit.tables.encoding.snapshot import Snapshot

Result = TypeVar("Result")

_STATES = ".npy"
_SEAL_BYTES = 32


class LocalEngine:
    """Implements ``Engine`` with a ``Snapshot`` folder and ``StateFiles``."""

    def count(
        self,
        source: str,
        id_columns: Sequence[str],
        attributes: Sequence[Column],
        externals: Sequence[Column],
        folder: Path,
        *,
        remark: Callable[[Remark], None] | None = None,
    ) -> Snapshot:
        """Freeze a table in a new folder."""
        return build(source, id_columns, attributes, externals, folder, remark=remark)

    def open(self, folder: Path) -> Snapshot:
        """The snapshot in a folder."""
        return Snapshot.open(folder)

    def compare(self, records: Snapshot, source: str) -> list[str]:
        """What has changed in the table."""
        return compare(records, source)

    def link(self, records: Snapshot, ids: str, pseudonym_key: Callable[[int], bytes]) -> Links:
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
            raise states_not_written(states.folder, told(error)) from error

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
        write = release_writer(target)  # a name that cannot be used is refused before any work
        files = StateFiles.of(states, records.n_records)
        draw = _Draw.of(records, files.after(before), release)

        def attempt(number: int) -> str:
            steps = Steps(progress, 2 * records.n_records)
            with ThreadPoolExecutor(N_THREADS) as pool:
                order = _order(records, release, number, pool)
                with files.writing(release.name, release.n_states) as append:
                    _draw_all(draw, order, pool, append, steps)
                with atomic_file(target) as file:
                    content = digest_while(
                        partial(write, file), release, order.blocks(pool), pool, steps
                    )
                    refuse_other_content(target, content, expected)
            return content

        try:
            return without_collisions(attempt)
        except (OSError, duckdb.Error) as error:
            raise not_written(target, told(error)) from error

    def redraw(
        self, records: Snapshot, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        """Each release's content digest, and whether its state file, if any, is right."""
        files = StateFiles.of(states, records.n_records)
        reached = files.after(None)
        for release in releases:
            digest, reached = _redraw(records, release, reached)
            yield digest, files.agrees(release, reached)

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        """Remove state files."""
        for name in names:
            (states.folder / f"{name}{_STATES}").unlink(missing_ok=True)


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
            raise MissingStatesError(
                f"the states written to {self.folder} cannot be read again: check the disk and "
                "ask for the same release again, which costs nothing"
            )
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
    described = {"descr": dtype.str, "fortran_order": False, "shape": (n_records,)}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, described)
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

    def batch(self, batch: range) -> tuple[Codes, Codes]:
        """Letters and next states of some records."""
        some = slice(batch.start, batch.stop)
        words = uniforms(self.key, batch.start, batch.stop)
        return self.sampler.draw(self.x[some], self.state[some], words)


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

    def attempt(number: int) -> tuple[str, Codes]:
        next_states: list[Codes] = []
        with ThreadPoolExecutor(N_THREADS) as pool:
            order = _order(records, release, number, pool)
            _draw_all(draw, order, pool, next_states.append, Steps(None, 0))
            digest = digest_release(release, order.blocks(pool))
        return digest, np.concatenate(next_states)

    return without_collisions(attempt)


def _order(
    records: Snapshot, release: RecordedRelease, attempt: int, pool: ThreadPoolExecutor
) -> Order:
    n_records, n_letters = records.n_records, release.channel.weights.shape[-1]
    if release.pseudonym_key is None:
        return ByPublicId(records.ids_sql, n_records, n_letters)
    words = partial(pseudonyms, release.pseudonym_key(attempt))
    return ByPseudonym(words, n_records, n_letters, pool)


# -- what every engine does with records that are in order --------------------------------------


@dataclass(slots=True)
class Steps:
    """Counts finished steps and reports them to ``progress``."""

    progress: Progress | None
    total: int
    done: int = 0

    def add(self, steps: int) -> None:
        """Count steps that are finished."""
        self.done += steps
        if self.progress is not None:
            self.progress(self.done, self.total)


def without_collisions(attempt: Callable[[int], Result]) -> Result:
    """Try the party's pseudonym keys in turn; return the first result without equal pseudonyms.

    Args:
        attempt: gets the number of the key.
    """
    for number in count():
        try:
            return attempt(number)
        except PseudonymCollisionError:
            continue
    raise AssertionError("there is always another attempt")


def digest_while(
    write: Callable[[Alphabet, Iterator[Block]], None],
    release: RecordedRelease,
    blocks: Iterator[Block],
    pool: ThreadPoolExecutor,
    steps: Steps,
) -> str:
    """Write a release's records, in the order of its file, and return their content digest."""
    digest = ContentDigest(release.digest_key)
    write(release.alphabet, digest.follow(blocks, release.alphabet, pool, steps.add))
    return digest.hexdigest()


def digest_release(release: RecordedRelease, blocks: Iterator[Block]) -> str:
    """The content digest that the file of a release must have; no file is written."""
    digest = ContentDigest(release.digest_key)
    for block in blocks:
        digest.update(release.alphabet.columns(block))
    return digest.hexdigest()


def refuse_other_content(target: Path, found: str, expected: str | None) -> None:
    """Raise unless a file says what it said when it was first delivered."""
    if expected is not None and found != expected:
        raise DeliveryError(
            f"the release comes out differently from when it was first delivered, so {target} was "
            "not written: the snapshot or the key was changed; verify the study"
        )


def not_written(target: Path, told: str) -> DeliveryError:
    """The error of a file that could not be written."""
    return DeliveryError(
        f"the release is recorded but {target} was not written ({told}): "
        "mend that and ask for the same release again, which costs nothing"
    )


def states_not_written(folder: Path, told: str) -> DeliveryError:
    """The error of states that could not be written."""
    return DeliveryError(
        f"the states in {folder} cannot be written ({told}): "
        "mend that and ask for the same release again, which costs nothing"
    )


def told(error: OSError | duckdb.Error) -> str:
    """What went wrong, in a few words."""
    return (isinstance(error, OSError) and error.strerror) or reason(error)
