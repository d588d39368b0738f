"""Random recorded releases, and what their files must say, computed record by record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

from tacit.sampling import IntegerChannel, StudyKey, pseudonyms, uniforms
from tacit.tables.delivery.engine import StateStore
from tacit.tables.delivery.local import LocalEngine, StateFiles
from tacit.tables.delivery.release_file import Alphabet, Progress, RecordedRelease
from tacit.tables.encoding.attribute import Attribute, Bins
from tacit.tables.encoding.codes import Encoding
from tacit.tables.encoding.snapshot import Snapshot

ENGINE = LocalEngine()
KEY = StudyKey(b"k" * 32)
RELEASE_KEY = KEY.derive("release", "hash of the intent")
SEAL_KEY = bytes(32)
DIGEST_KEY = KEY.derive("digest")
NAME, BEFORE = "7", "6"
N_STATES, N_CLASSES, N_NEXT = 3, 5, 300
CLASS_OF_X = np.array([3, 0, 4, 1, 1, 2, 0])
SEVEN_LEVELS = Attribute(
    name="age", sql_type="BIGINT", coding=Bins(cuts=(20, 30, 40, 50, 60, 70)), has_missing=False
)
LABELS = ("none", "mild, or so", 'he said "severe"', "überfällig")


def party_key(attempt: int) -> bytes:
    return KEY.derive("pseudonym", "clinic", "lab-a", attempt)


@dataclass(frozen=True)
class Case:
    """A random recorded release, and what its file must say, computed record by record."""

    folder: Path
    n_records: int = 500
    labels: tuple[str, ...] = LABELS
    pseudonym_key: Callable[[int], bytes] | None = party_key

    @cached_property
    def channel(self) -> IntegerChannel:
        rng = np.random.default_rng(0)
        return IntegerChannel.quantised(
            rng.dirichlet(np.ones(len(self.labels)), size=(N_STATES, N_CLASSES))
        )

    @cached_property
    def next_state(self) -> NDArray[np.int64]:
        shape = (N_STATES, self.channel.weights.shape[2])
        table = np.random.default_rng(1).integers(0, N_NEXT, size=shape)
        table[0, 0] = N_NEXT - 1
        return table

    @cached_property
    def x(self) -> NDArray[np.uint8]:
        return (
            np.random.default_rng(2).integers(0, len(CLASS_OF_X), self.n_records).astype(np.uint8)
        )

    @cached_property
    def state(self) -> NDArray[np.uint8]:
        return np.random.default_rng(3).integers(0, N_STATES, self.n_records).astype(np.uint8)

    @cached_property
    def records(self) -> Snapshot:
        """Only what a delivery reads: the cells, and the ids if the test wrote some."""
        np.save(self.folder / "x.npy", self.x)
        return Snapshot(self.folder, self.n_records, Encoding(ids=(), attributes=(SEVEN_LEVELS,)))

    @cached_property
    def states(self) -> StateStore:
        """With the states before the release."""
        states = StateStore(self.folder / "states", SEAL_KEY)
        with self.files.writing(BEFORE, N_STATES) as append:
            append(self.state)
        return states

    @cached_property
    def files(self) -> StateFiles:
        return StateFiles(self.folder / "states", self.n_records, SEAL_KEY)

    @cached_property
    def before(self) -> RecordedRelease:
        next_state = np.full_like(self.next_state, N_STATES - 1)
        return replace(self.release, name=BEFORE, next_state=next_state)

    @cached_property
    def release(self) -> RecordedRelease:
        return RecordedRelease(
            NAME,
            self.channel,
            CLASS_OF_X,
            self.next_state,
            RELEASE_KEY,
            DIGEST_KEY,
            Alphabet(self.labels),
            self.pseudonym_key,
        )

    @cached_property
    def letters(self) -> list[int]:
        """The letter of every record, one by one."""
        rows = {
            (m, x): list(accumulate(self.channel.weights[m, CLASS_OF_X[x]].tolist()))
            for m, x in np.ndindex(N_STATES, len(CLASS_OF_X))
        }
        codes = zip(self.state.tolist(), self.x.tolist(), strict=True)
        words = uniforms(RELEASE_KEY, 0, self.n_records).tolist()
        return [bisect_right(rows[cell], word) for cell, word in zip(codes, words, strict=True)]

    def rows(self, records: list[object]) -> list[tuple[object, ...]]:
        """The rows of the file, given what each record is called."""
        return sorted(zip(records, (self.labels[each] for each in self.letters), strict=True))

    def deliver(self, target: Path, progress: Progress | None = None) -> str:
        return ENGINE.deliver(
            self.records, self.states, self.before, self.release, target, progress=progress
        )


def pseudonym_texts(n_records: int, attempt: int = 0) -> list[object]:
    return [f"{word:016x}" for word in pseudonyms(party_key(attempt), 0, n_records).tolist()]


def rows_of(path: Path) -> list[tuple[object, ...]]:
    table = parquet.read_table(path)
    return list(zip(*table.to_pydict().values(), strict=True))
