"""A release and its file: columns ``record``, ``rhat`` and, when time-shared, ``t``.

The file is Parquet or CSV.

It says nothing of where it comes from, and the same release is the same file, byte for byte.

A spreadsheet runs a field of CSV that begins with =, +, -, @, a tab or a carriage return as a
formula. So CSV files, and only they, have an apostrophe before such a text, unless it is a number.
A text such as '=x gets one, too, because readers would take its own apostrophe off. Version 0.1
wrote no apostrophes.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.sampling import IntegerChannel, keyed_digest

BATCH = 2**18
"""Records handled at a time: a few megabytes, near what a core's cache holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive records of a file.

    Attributes:
        record: what the recipient calls them.
        letters: what they got.
    """

    record: pa.Array
    letters: NDArray[np.unsignedinteger]


COLUMNS = (["record", "rhat"], ["record", "rhat", "t"])
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
        labels: text of each rhat, all different.
        n_times: how many channels are time-shared, letter = t * len(labels) + rhat; ``None``
            where nothing is, and the file has no column ``t``.
    """

    labels: tuple[str, ...]
    n_times: int | None = None

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            raise InvalidInputError(f"labels are {self.labels}: give each letter its own")

    @property
    def size(self) -> int:
        """Number of letters."""
        return len(self.labels) * (self.n_times or 1)

    def columns(self, block: Block) -> pa.RecordBatch:
        """The file's columns for some records."""
        labels = pa.array(self.labels, pa.string())
        if self.n_times is None:
            rhat = pa.DictionaryArray.from_arrays(block.letters, labels)
            return pa.record_batch({"record": block.record, "rhat": rhat})
        # 32 bits: the type of the letters may be too small for the number of labels.
        t, rhat = np.divmod(block.letters, np.int32(len(self.labels)), dtype=np.int32)
        rhat = pa.DictionaryArray.from_arrays(rhat, labels)
        return pa.record_batch({"record": block.record, "rhat": rhat, "t": pa.array(t)})

    def line_endings(self) -> list[str]:
        """What follows ``record`` in a line of CSV, for each letter."""
        rhats = [f",{_quoted(csv_text(label))}" for label in self.labels]
        if self.n_times is None:
            return [f"{rhat}\n" for rhat in rhats]
        return [f"{rhat},{t}\n" for t in range(self.n_times) for rhat in rhats]


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRelease:
    """All that decides what a release says, and how its records are called.

    Attributes:
        name: what its states are kept under: a name that no other release has.
        channel: the integer table that is sampled.
        next_state: state after each letter, [m, letter]; -1 where that cannot occur.
        draw_key: under which the numbers of this release are drawn.
        digest_key: of the keyed digest of its content.
        alphabet: what the letters stand for.
        pseudonym_key: attempt -> key of the names that only this party knows records by. The first
            attempt without a collision counts, the same for all releases to the party. ``None``
            where records are called by their own ids, because the custodian said these are public.
            To be called where the study's key is: an engine hands on what it returns, and no more.
    """

    name: str
    channel: IntegerChannel
    next_state: NDArray[np.signedinteger]
    draw_key: bytes
    digest_key: bytes
    alphabet: Alphabet
    pseudonym_key: Callable[[int], bytes] | None

    def __post_init__(self) -> None:
        n_letters = self.channel.weights.shape[2]
        if self.alphabet.size != n_letters:
            raise InvalidInputError(
                f"the alphabet has {self.alphabet.size} letters but the channel {n_letters}: "
                "give a label for each"
            )

    @property
    def n_states(self) -> int:
        """How many states a record may be in afterwards."""
        return max(int(self.next_state.max()), 0) + 1


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
    row_groups = map(alphabet.columns, blocks)
    first = next(row_groups)
    writer = parquet.ParquetWriter(
        file,
        first.schema,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        use_dictionary=["rhat", "t"],
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
    is_shared = alphabet.n_times is not None
    file.write(",".join(COLUMNS[is_shared]).encode() + b"\n")
    endings = pa.array(alphabet.line_endings(), pa.string())
    for block in blocks:
        record = _quoted_where_needed(_guarded_where_needed(block.record.cast(pa.string())))
        lines = pc.binary_join_element_wise(record, endings.take(pa.array(block.letters)), "")
        file.write(_lengths_and_bytes(lines)[1])


class ContentDigest:
    """Keyed digest of what a file says, the same for Parquet and CSV.

    Of each column's texts, the lengths and the bytes go into one HMAC each, so it does not matter
    where one batch ends and the next begins.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._streams: dict[str, tuple[hmac.HMAC, hmac.HMAC]] = {}

    def update(self, columns: pa.RecordBatch) -> None:
        """Take the next records of the file."""
        for name, column in zip(columns.schema.names, columns.columns, strict=True):
            if name not in self._streams:
                self._streams[name] = (self._stream(), self._stream())
            lengths, content = _lengths_and_bytes(column.cast(pa.string()))
            of_lengths, of_bytes = self._streams[name]
            of_lengths.update(lengths)
            of_bytes.update(content)

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


def _lengths_and_bytes(texts: pa.StringArray) -> tuple[bytes, memoryview]:
    """How many bytes each text has (32 bits each), and all of them one after the other."""
    _, ends, content = texts.buffers()
    bounds = np.frombuffer(ends, "<i4", len(texts) + 1, offset=4 * texts.offset)
    every_byte = memoryview(content) if content else memoryview(b"")
    return np.diff(bounds).tobytes(), every_byte[bounds[0] : bounds[-1]]


def _is_guarded(text: str) -> bool:
    """Whether it gets an apostrophe in CSV: a formula, or what looks as if it had got one."""
    return bool(_GUARDED.match(text)) and not _NUMBER.fullmatch(text.lstrip(_GUARD))


def _guarded_where_needed(texts: pa.StringArray) -> pa.StringArray:
    content = bytes(_lengths_and_bytes(texts)[1])
    if not any(sign in content for sign in _FORMULA_SIGNS):  # pseudonyms have none: be quick
        return texts
    if not pc.any(pc.match_substring_regex(texts, _GUARDED.pattern)).as_py():
        return texts
    return pa.array(map(csv_text, texts.to_pylist()), pa.string())


def _quoted_where_needed(texts: pa.StringArray) -> pa.StringArray:
    content = bytes(_lengths_and_bytes(texts)[1])
    if not any(sign in content for sign in _QUOTED_SIGNS):
        return texts
    return pa.array([_quoted(text) for text in texts.to_pylist()], pa.string())


def _quoted(text: str) -> str:
    """A text as a field of CSV."""
    if not any(sign in text.encode() for sign in _QUOTED_SIGNS):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
