"""What tasks do with a release: draw letters and states, and name records.

A task gets tables and keys of one release inside its function, never in a setting or a name. It
never gets the study's key: it cannot be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.sampling import Codes, Sampler, pseudonyms, uniforms
from tacit.tables.delivery.release_file import (
    BATCH,
    Block,
    PseudonymCollisionError,
    RecordedRelease,
    hexadecimal,
)
from tacit.tables.delivery.spark.folders import Folder
from tacit.tables.delivery.spark.parts import batches_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]
Drawn = tuple[Rows, Codes, Codes, Codes]
"""Records: their numbers, cells, letters and next states."""

Numbers = TypeVar("Numbers", NDArray[np.uint32], NDArray[np.uint64])

_NEAR = 2**12
"""Records so near to each other get their numbers in one call, which takes as long as some 2,000
numbers: those of records in between are computed and left out."""

_PART_RECORDS = 2**20
_SIGN = np.uint64(2**63)
"""Spark's numbers have a sign: with this bit turned, they are in the order of the words."""


def draw_states(reached: DataFrame, release: RecordedRelease) -> DataFrame:
    """``row``, ``x`` and the ``state`` after a release, from the same before it."""
    drawn = _drawing(release)

    def draw(batches: Batches) -> Batches:
        for rows, x, _, after in drawn(batches):
            yield _batch(row=rows, x=x.astype(np.int32), state=after.astype(np.int32))

    return reached.mapInArrow(draw, "row long, x int, state int")


def draw_letters(reached: DataFrame, release: RecordedRelease) -> DataFrame:
    """``row`` and the ``letter`` of a release."""
    drawn = _drawing(release)

    def draw(batches: Batches) -> Batches:
        for rows, _, letters, _ in drawn(batches):
            yield _batch(row=rows, letter=letters.astype(np.int32))

    return reached.mapInArrow(draw, "row long, letter int")


def draw_named_letters(
    reached: DataFrame, release: RecordedRelease, pseudonym_key: bytes, n_records: int
) -> DataFrame:
    """``word`` (the pseudonym) and ``letter``, sorted by word: within parts, and part after part.

    Words are uniform, so their first bits say which part they belong to; nothing is counted before.
    """
    drawn = _drawing(release)
    bits = ((n_records - 1) // _PART_RECORDS).bit_length()

    def draw(batches: Batches) -> Batches:
        for rows, _, letters, _ in drawn(batches):
            words = at(partial(pseudonyms, pseudonym_key), rows)
            part = (words >> np.uint64(32)) >> np.uint64(32 - bits)  # 64 at once is undefined
            word = (words ^ _SIGN).view(np.int64)
            yield _batch(part=part.astype(np.int32), word=word, letter=letters.astype(np.int32))

    parted = reached.mapInArrow(draw, "part int, word long, letter int").repartitionById(
        2**bits, "part"
    )
    return parted.sortWithinPartitions("word").select("word", "letter")


def _drawing(release: RecordedRelease) -> Callable[[Batches], Iterator[Drawn]]:
    """What takes batches of ``row``, ``x`` and ``state`` to what is drawn for them."""
    sampler = Sampler(release.channel, release.class_of_x, release.next_state)
    numbers = partial(uniforms, release.draw_key)

    def drawn(batches: Batches) -> Iterator[Drawn]:
        for batch in filter(len, batches):
            rows = batch["row"].to_numpy()
            x, state = (batch[name].to_numpy().astype(np.uint32) for name in ("x", "state"))
            yield rows, x, *sampler.draw_places(x, state, at(numbers, rows))

    return drawn


def named_blocks(folder: Folder, n_letters: int) -> Iterator[Block]:
    """The records that ``draw_named_letters`` has written, in blocks as of any other engine.

    Raises:
        PseudonymCollisionError: two records have the same pseudonym.
    """
    letter_type = np.min_scalar_type(n_letters - 1)
    last = None
    for batch in _rebatched(batches_of(folder.files(), ["word", "letter"])):
        words = batch["word"].to_numpy().view(np.uint64) ^ _SIGN
        if words[0] == last or (words[1:] == words[:-1]).any():
            raise PseudonymCollisionError
        last = words[-1]
        letters = batch["letter"].to_numpy()
        is_there = letters < n_letters  # empty places collide, too, see ByPseudonym
        if is_there.any():
            yield Block(hexadecimal(words[is_there]), letters[is_there].astype(letter_type))


def at(stream: Callable[[int, int], Numbers], rows: Rows) -> Numbers:
    """The numbers of some records in a keyed stream, whatever records a task has got."""
    found = []
    for near in np.split(rows, np.flatnonzero(np.diff(rows // _NEAR)) + 1):
        first = int(near.min())
        found.append(stream(first, int(near.max()) + 1)[near - first])
    return np.concatenate(found)


def runs(rows: Rows) -> Iterator[Rows]:
    """The longest pieces whose numbers rise by one."""
    bounds = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
    for start, stop in pairwise(bounds):
        yield rows[start:stop]


def _batch(**columns: NDArray[np.integer]) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(column) for name, column in columns.items()})


def _rebatched(batches: Batches) -> Batches:
    """The same rows, ``BATCH`` at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= BATCH:
            joined = _joined(waiting)
            n_whole = len(joined) - len(joined) % BATCH
            yield from (joined.slice(start, BATCH) for start in range(0, n_whole, BATCH))
            waiting = [joined.slice(n_whole)]
    if any(map(len, waiting)):
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches as one; at least one of them has rows. The lowest pyarrow has no concat_batches."""
    [joined] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
