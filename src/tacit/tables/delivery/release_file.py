"""A release and its file: columns ``record`` and ``rhat``.

The file is Parquet or CSV, its records in the order of their pseudonyms, or of their public ids.
It says nothing of where it comes from, and the same release is the same file, byte for byte.

A spreadsheet runs a field of CSV that begins with =, +, -, @, a tab or a carriage return as a
formula. So CSV files, and only they, have an apostrophe before such a text, unless it is a number.
A text such as '=x gets one, too, because readers would take its own apostrophe off.

Pseudonyms are uniform 64-bit numbers, so records are first moved to buckets by the first bits of
their pseudonyms. There, the letter takes the place of these bits: a record needs eight bytes,
whatever its id is. Then each bucket is sorted in place.
"""

from __future__ import annotations

import hmac
import os
import re
from binascii import hexlify
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DeliveryError, InvalidInputError
from tacit.sampling import Codes, IntegerChannel, keyed_digest
from tacit.storage import atomic_file

if TYPE_CHECKING:  # who only reads release files has not installed pyarrow
    import pyarrow as pa

BATCH = 2**18
"""Records handled at a time: a few megabytes, near what a core's cache holds."""

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all: each record is drawn once and written once."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive records of a file.

    Attributes:
        record: what the recipient calls them.
        letters: what they got.
    """

    record: pa.Array
    letters: NDArray[np.unsignedinteger]


COLUMNS = ["record", "rhat"]
_ZSTD_LEVEL = 1
_QUOTED_SIGNS = (b",", b'"', b"\n", b"\r")
_FORMULA_SIGNS = (b"=", b"+", b"-", b"@", b"\t", b"\r")
_GUARD = "'"
_GUARDED = re.compile(r"^'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What the letters of a release stand for.

    Attributes:
        labels: text of each letter, all different.
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            raise InvalidInputError(f"labels are {self.labels}: give each letter its own")

    @property
    def size(self) -> int:
        """Number of letters."""
        return len(self.labels)

    def columns(self, block: Block) -> pa.RecordBatch:
        """The file's columns for some records."""
        import pyarrow as pa

        labels = pa.array(self.labels, pa.string())
        rhat = pa.DictionaryArray.from_arrays(block.letters, labels)
        return pa.record_batch({"record": block.record, "rhat": rhat})


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRelease:
    """Everything that determines the content of a release and the names of its records.

    Attributes:
        name: what its states are kept under: a name that no other release has.
        channel: the integer table that is sampled, [m, class of x, letter].
        class_of_x: class of each cell, [x].
        next_state: state after each letter, [m, letter]; -1 where that cannot occur.
        draw_key: under which the numbers of this release are drawn.
        digest_key: of the keyed digest of its content.
        alphabet: what the letters stand for.
        pseudonym_key: attempt -> key of the names that only this party knows records by. The first
            attempt without a collision counts, the same for all releases to the party. ``None``
            where records are called by their own ids, because the custodian said these are public.
            To be called where the study's key is: an engine hands on what it returns, and no more.
        is_copy: whether the same letters are another release's, too, which moves the states on.
        n_states: how many states a record may be in afterwards.
    """

    name: str
    channel: IntegerChannel
    class_of_x: NDArray[np.intp]
    next_state: NDArray[np.signedinteger]
    draw_key: bytes
    digest_key: bytes
    alphabet: Alphabet
    pseudonym_key: Callable[[int], bytes] | None
    is_copy: bool = False
    n_states: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_states", max(int(self.next_state.max()), 0) + 1)
        n_letters = self.channel.weights.shape[2]
        if self.alphabet.size != n_letters:
            raise InvalidInputError(
                f"the alphabet has {self.alphabet.size} letters but the channel {n_letters}: "
                "give a label for each"
            )


def check_target(target: Path) -> None:
    """Refuse a place where no release file can go, before anything is recorded."""
    release_writer(target)
    if not target.parent.is_dir():
        raise InvalidInputError(f"there is no folder {target.parent}: make it, or choose another")
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder: give the name of a file")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidInputError(
            f"nothing may be written into {target.parent}: choose another place"
        )


def release_writer(target: Path) -> Callable[[BinaryIO, Alphabet, Iterator[Block]], None]:
    """How a file of this name is written; the format goes by its ending."""
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    suffix = target.suffix.lower()
    if suffix not in writers:
        raise InvalidInputError(
            f"{target.name!r} has no known ending: name the file something.parquet or something.csv"
        )
    return writers[suffix]


def _write_parquet(file: BinaryIO, alphabet: Alphabet, blocks: Iterator[Block]) -> None:
    """Write each block as a row group; labels are a dictionary, pseudonyms compressed text."""
    import pyarrow as pa
    from pyarrow import parquet

    row_groups = map(alphabet.columns, blocks)
    nobody = Block(pa.array([], pa.string()), np.empty(0, np.min_scalar_type(alphabet.size - 1)))
    first = next(row_groups, alphabet.columns(nobody))
    writer = parquet.ParquetWriter(
        file,
        first.schema,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        use_dictionary=["rhat"],
        sorting_columns=[parquet.SortingColumn(0)],
        store_schema=False,  # plain text for every reader
    )
    try:
        for row_group in chain([first], row_groups):
            writer.write_batch(row_group)
        writer.close()
    finally:
        writer.is_open = False  # else, after an error, it writes an end to a closed file


def _write_csv(file: BinaryIO, alphabet: Alphabet, blocks: Iterator[Block]) -> None:
    """Write lines that end in a newline, quoted only where they must be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    file.write(",".join(COLUMNS).encode() + b"\n")
    after = (f",{_quoted(csv_text(label))}\n" for label in alphabet.labels)
    endings = pa.array(after, pa.string())
    for block in blocks:
        record = _csv_fields(block.record.cast(pa.string()))
        lines = pc.binary_join_element_wise(record, endings.take(pa.array(block.letters)), "")
        file.write(_lengths_and_bytes(lines)[1])


Content = tuple[bytes, memoryview]
"""Texts of a column: the length of each in bytes, and all of them one after the other."""


class ContentDigest:
    """Keyed digest of what a file says, the same for Parquet and CSV.

    Of each column's texts, the lengths and the bytes go into one HMAC each, so it does not matter
    where one batch ends and the next begins.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._streams: dict[str, tuple[hmac.HMAC, hmac.HMAC]] = {}

    def update(self, columns: Mapping[str, Content]) -> None:
        """Take the next records of the file, column by column."""
        for name, (lengths, content) in columns.items():
            if not lengths:  # a file of nobody has the same digest, written or read
                continue
            if name not in self._streams:
                self._streams[name] = (self._stream(), self._stream())
            of_lengths, of_bytes = self._streams[name]
            of_lengths.update(lengths)
            of_bytes.update(content)

    def follow(
        self,
        blocks: Iterator[Block],
        alphabet: Alphabet,
        pool: ThreadPoolExecutor,
        count: Callable[[int], None],
    ) -> Iterator[Block]:
        """The blocks, digested while they are written; ``count`` gets the size of each."""

        def take(block: Block) -> None:
            self.update(content_of_columns(alphabet.columns(block)))

        for block in blocks:
            taking = pool.submit(take, block)
            yield block  # back when it is written
            taking.result()
            count(len(block.letters))

    def hexdigest(self) -> str:
        """The digest of everything so far."""
        chunks = [
            chunk
            for name, streams in self._streams.items()
            for chunk in (name.encode(), *(stream.digest() for stream in streams))
        ]
        return keyed_digest(self._key, chunks)

    def _stream(self) -> hmac.HMAC:
        return hmac.new(self._key, digestmod="sha256")


def csv_text(text: str) -> str:
    """A text as CSV files show it: with an apostrophe where it would be run as a formula."""
    return _GUARD + text if _is_guarded(text) else text


def text_of_csv(text: str) -> str:
    """The text that ``csv_text`` shows as this one."""
    return text[1:] if text.startswith(_GUARD) and _is_guarded(text[1:]) else text


def guards_any(target: Path, labels: Sequence[str]) -> bool:
    """Whether a file of this name shows one of the labels with an apostrophe before it."""
    return target.suffix.lower() == ".csv" and any(map(_is_guarded, labels))


def content_of_columns(columns: pa.RecordBatch) -> dict[str, Content]:
    """Some records, column by column, as their digest takes them."""
    texts = (column.cast("string") for column in columns.columns)
    return dict(zip(columns.schema.names, map(_lengths_and_bytes, texts), strict=True))


def content_of_texts(texts: Sequence[str]) -> Content:
    """The same for one column, without Arrow."""
    every = [text.encode() for text in texts]
    return np.array([*map(len, every)], "<i4").tobytes(), memoryview(b"".join(every))


def _lengths_and_bytes(texts: pa.StringArray) -> Content:
    """How many bytes each text has (32 bits each), and all of them one after the other."""
    _, ends, content = texts.buffers()
    bounds = np.frombuffer(ends, "<i4", len(texts) + 1, offset=4 * texts.offset)
    every_byte = memoryview(content) if content else memoryview(b"")
    return np.diff(bounds).tobytes(), every_byte[bounds[0] : bounds[-1]]


def _is_guarded(text: str) -> bool:
    """Whether it gets an apostrophe in CSV: a formula, or what looks as if it had got one."""
    return bool(_GUARDED.match(text)) and not _NUMBER.fullmatch(text.lstrip(_GUARD))


def _csv_fields(texts: pa.StringArray) -> pa.StringArray:
    """Texts as fields of CSV. Pseudonyms stay what they are, and are seen to be so at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    content = bytes(_lengths_and_bytes(texts)[1])
    if not any(sign in content for sign in (*_FORMULA_SIGNS, *_QUOTED_SIGNS)):
        return texts
    # Dates and numbers have signs, too, but most of them need nothing.
    changing = f'{_GUARDED.pattern}|[,"\\n\\r]'
    if not pc.any(pc.match_substring_regex(texts, changing)).as_py():
        return texts
    return pa.array([_quoted(csv_text(text)) for text in texts.to_pylist()], pa.string())


def _quoted(text: str) -> str:
    """A text as a field of CSV."""
    if not any(sign in text.encode() for sign in _QUOTED_SIGNS):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


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
    """Takes letters in the order of the snapshot and gives them back in the order of the file.

    The number of letters, which is no letter, marks a place whose record was erased.
    """

    def put(self, start: int, letters: Codes) -> None:
        """Take the letters of the records from ``start`` on; from any thread."""
        ...

    def blocks(self, pool: ThreadPoolExecutor) -> Iterator[Block]:
        """All records that were not erased, once all letters are in."""
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
        self._no_letter = n_letters
        self._bits = max(_FEWEST_BUCKET_BITS, n_letters.bit_length())
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
        """All records that were not erased, sorted.

        Raises:
            PseudonymCollisionError: before the first block. Empty places collide, too, so that
                the others keep their pseudonyms when a record is erased.
        """
        firsts = range(0, len(self._free), len(self._free) // _SORTING_TASKS)
        for has_collision in in_order(pool, self._sort_buckets, firsts):
            if has_collision:
                raise PseudonymCollisionError
        blocks = in_order(pool, self._block, batches(len(self._packed)))
        yield from (block for block in blocks if len(block.letters))

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
        is_there = letters != self._no_letter
        if not is_there.all():
            words, letters = words[is_there], letters[is_there]
        return Block(hexadecimal(words), letters.astype(self._letter_type))


class ByPublicId:
    """Records named by the custodian's own ids and sorted by them."""

    def __init__(self, ids_sql: str, n_records: int, n_letters: int) -> None:
        """Make room for every letter; ``ids_sql`` reads ``row`` and the ids."""
        self._ids_sql = ids_sql
        self._letters = np.empty(n_records, dtype=np.min_scalar_type(n_letters))

    def put(self, start: int, letters: Codes) -> None:
        """Keep a batch where it is."""
        self._letters[start : start + len(letters)] = letters

    def blocks(self, pool: ThreadPoolExecutor) -> Iterator[Block]:
        """The records that are left, sorted by DuckDB, which spills to disk what does not fit.

        A single id of a plain type keeps it. Any other is text, several are a JSON array of texts.
        """
        del pool  # DuckDB brings its own threads
        from tacit.tables.connection import connect_file

        with TemporaryDirectory() as folder, connect_file(Path(folder)) as connection:
            ids = connection.sql(f"SELECT * EXCLUDE (row) FROM {self._ids_sql}")
            texts = ", ".join(f"{name}::VARCHAR" for name in ids.columns)
            if len(ids.columns) > 1:
                record = f"to_json([{texts}])::VARCHAR"
            else:
                record = ids.columns[0] if str(ids.types[0]) in _PLAIN_TYPES else texts
            rows = connection.sql(
                f"SELECT {record} AS record, row FROM {self._ids_sql} "
                f"WHERE {ids.columns[0]} IS NOT NULL ORDER BY {', '.join(ids.columns)}"
            )
            for batch in rows.to_arrow_reader(BATCH):
                records, row = batch.columns
                yield Block(records, self._letters[row.to_numpy()])


def batches(n_records: int) -> Iterator[range]:
    """Records 0 to ``n_records`` - 1 in ranges of at most ``BATCH``."""
    for start in range(0, n_records, BATCH):
        yield range(start, min(start + BATCH, n_records))


def hexadecimal(words: Words) -> pa.StringArray:
    """16 lower-case digits of each word."""
    import pyarrow as pa

    digits = hexlify(words.astype(">u8").data)
    ends = np.arange(0, len(digits) + 1, _HEX_DIGITS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(digits))


# -- writing ------------------------------------------------------------------------------------


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


def without_collisions(
    release: RecordedRelease, attempt: Callable[[bytes | None], Result]
) -> Result:
    """Try the party's pseudonym keys in turn; return the first result without equal pseudonyms.

    Args:
        release: whose party.
        attempt: gets the key of pseudonyms; ``None`` where records are called by their own ids.
    """
    for number in count():
        try:
            return attempt(None if release.pseudonym_key is None else release.pseudonym_key(number))
        except PseudonymCollisionError:
            continue
    raise AssertionError("there is always another attempt")


def write_release(
    target: Path,
    release: RecordedRelease,
    blocks: Iterator[Block],
    pool: ThreadPoolExecutor,
    *,
    expected: str | None,
    steps: Steps,
) -> str:
    """Write the file of a release, whole or not at all, and return its content digest."""
    write = release_writer(target)
    with atomic_file(target) as file:
        digest = ContentDigest(release.digest_key)
        write(file, release.alphabet, digest.follow(blocks, release.alphabet, pool, steps.add))
        content = digest.hexdigest()
        if expected not in (None, content):
            raise DeliveryError(
                f"the release comes out differently from when it was first delivered, so {target} "
                "was not written: ask for it again if records were erased meanwhile; else the "
                "snapshot or the key was changed: verify the study"
            )
    return content


def digest_release(release: RecordedRelease, blocks: Iterator[Block]) -> str:
    """The content digest that the file of a release must have; no file is written."""
    digest = ContentDigest(release.digest_key)
    for block in blocks:
        digest.update(content_of_columns(release.alphabet.columns(block)))
    return digest.hexdigest()


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
