"""The records of a release in the order of its file: by pseudonym, or by public id.

Pseudonyms are uniform 64-bit numbers, so records are first moved to buckets by the first bits of
their pseudonyms. There, the letter takes the place of these bits: a record needs eight bytes,
whatever its id is. Then each bucket is sorted in place.
"""

from __future__ import annotations

import os
from binascii import hexlify
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Protocol, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.sampling.integer_channel import Codes
from tacit.tables.connection import connect_file, quote_file
from tacit.tables.delivery.release_file import BATCH, Block

Item = TypeVar("Item")
Result = TypeVar("Result")

N_THREADS = min(4, os.cpu_count() or 1)
"""More would not help: writing the file is one thread's work, and as long as all the rest."""


def in_order(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """``function`` of each item, in order, computed a few items ahead and no more.

    Unlike ``pool.map``, which computes all of them, however slowly they are taken.
    """
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > N_THREADS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_WORD_BITS = 64
_FEWEST_BUCKET_BITS = 8
_SORTING_TASKS = 64
_HEX_DIGITS = 16

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_PLAIN_TYPES = {*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "VARCHAR", "DATE"}
"""DuckDB's types that Parquet, CSV and their readers agree on."""

Words = NDArray[np.uint64]


class PseudonymCollisionError(Exception):
    """Two records have the same pseudonym: deliver again with the party's next key."""


class Order(Protocol):
    """Takes letters in the order of the snapshot and gives them back in the order of the file."""

    def put(self, start: int, letters: Codes) -> None:
        """Take the letters of the records from ``start`` on; from any thread."""
        ...

    def blocks(self, pool: ThreadPoolExecutor) -> Iterator[Block]:
        """All records, once all letters are in."""
        ...


class ByPseudonym:
    """Records named by 16 hexadecimal digits and sorted by them."""

    def __init__(
        self,
        words: Callable[[int, int], Words],
        n_records: int,
        n_letters: int,
        pool: ThreadPoolExecutor,
    ) -> None:
        """Make room for every bucket.

        Args:
            words: pseudonyms of the records from a first to before a last one.
            n_letters: letters to pack beside a pseudonym.
        """
        self._words = words
        self._bits = max(_FEWEST_BUCKET_BITS, (n_letters - 1).bit_length())
        self._letter_type = np.min_scalar_type(n_letters - 1)
        sizes = np.zeros(2**self._bits, dtype=np.intp)
        for batch_sizes in in_order(pool, self._batch_sizes, batches(n_records)):
            sizes += batch_sizes
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        self._free = self._bounds[:-1].copy()
        self._lock = Lock()
        self._packed: Words = np.empty(n_records, dtype=np.uint64)

    def put(self, start: int, letters: Codes) -> None:
        """Pack a batch and move it to its buckets."""
        words = self._words(start, start + len(letters))
        buckets = self._buckets(words)
        packed = (words << np.uint64(self._bits)) | letters
        by_bucket = packed[np.argsort(buckets, kind="stable")]
        sizes = np.bincount(buckets, minlength=len(self._free))
        with self._lock:
            first_free = self._free.copy()
            self._free += sizes
        shift = first_free - (np.cumsum(sizes) - sizes)
        self._packed[np.arange(len(letters)) + np.repeat(shift, sizes)] = by_bucket

    def blocks(self, pool: ThreadPoolExecutor) -> Iterator[Block]:
        """All records, sorted.

        Raises:
            PseudonymCollisionError: before the first block.
        """
        firsts = range(0, len(self._free), len(self._free) // _SORTING_TASKS)
        for has_collision in in_order(pool, self._sort_buckets, firsts):
            if has_collision:
                raise PseudonymCollisionError
        yield from in_order(pool, self._block, batches(len(self._packed)))

    def _buckets(self, words: Words) -> Codes:
        # The smallest type: NumPy sorts 8 and 16 bits in linear time.
        top = words >> np.uint64(_WORD_BITS - self._bits)
        return top.astype(np.min_scalar_type(2**self._bits - 1))

    def _batch_sizes(self, batch: range) -> NDArray[np.intp]:
        words = self._words(batch.start, batch.stop)
        return np.bincount(self._buckets(words), minlength=2**self._bits)

    def _sort_buckets(self, first: int) -> bool:
        """Sort a share of the buckets; whether one has the same pseudonym twice."""
        has_collision = False
        last = first + len(self._free) // _SORTING_TASKS
        for start, stop in pairwise(self._bounds[first : last + 1]):
            bucket = self._packed[start:stop]
            bucket.sort()
            names = bucket >> np.uint64(self._bits)
            has_collision |= bool((names[1:] == names[:-1]).any())
        return has_collision

    def _block(self, batch: range) -> Block:
        packed = self._packed[batch.start : batch.stop]
        sizes = np.diff(np.clip(self._bounds, batch.start, batch.stop))
        top = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
        words = (top << np.uint64(_WORD_BITS - self._bits)) | (packed >> np.uint64(self._bits))
        letters = packed & np.uint64(2**self._bits - 1)
        return Block(_hexadecimal(words), letters.astype(self._letter_type))


class ByPublicId:
    """Records named by the custodian's own ids and sorted by them."""

    def __init__(self, ids_path: Path, n_records: int, n_letters: int) -> None:
        self._ids_path = ids_path
        self._letters = np.empty(n_records, dtype=np.min_scalar_type(n_letters - 1))

    def put(self, start: int, letters: Codes) -> None:
        """Keep a batch where it is."""
        self._letters[start : start + len(letters)] = letters

    def blocks(self, pool: ThreadPoolExecutor) -> Iterator[Block]:
        """All records, sorted by DuckDB, which spills to disk what does not fit."""
        del pool  # DuckDB brings its own threads
        with TemporaryDirectory() as folder, connect_file(Path(folder)) as connection:
            rows = connection.sql(_sorted_ids_sql(connection, self._ids_path))
            for batch in rows.to_arrow_reader(BATCH):
                record, row = batch.columns
                yield Block(record, self._letters[row.to_numpy()])


def _sorted_ids_sql(connection: duckdb.DuckDBPyConnection, ids_path: Path) -> str:
    """The query for ``record`` and its row in the snapshot, sorted by id.

    A single id of a plain type keeps it. Any other is text, several are a JSON array of texts.
    """
    ids = connection.sql(f"SELECT * FROM read_parquet({quote_file(ids_path)})")
    texts = ", ".join(f"{name}::VARCHAR" for name in ids.columns)
    if len(ids.columns) > 1:
        record = f"to_json([{texts}])::VARCHAR"
    else:
        record = ids.columns[0] if str(ids.types[0]) in _PLAIN_TYPES else texts
    table = f"read_parquet({quote_file(ids_path)}, file_row_number = true)"
    columns = ", ".join(ids.columns)
    return f"SELECT {record} AS record, file_row_number FROM {table} ORDER BY {columns}"


def batches(n_records: int) -> Iterator[range]:
    """Records 0 to ``n_records`` - 1 in ranges of at most ``BATCH``."""
    for start in range(0, n_records, BATCH):
        yield range(start, min(start + BATCH, n_records))


def _hexadecimal(words: Words) -> pa.StringArray:
    """16 lower-case digits of each word."""
    digits = hexlify(words.astype(">u8").data)
    ends = np.arange(0, len(digits) + 1, _HEX_DIGITS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(digits))
