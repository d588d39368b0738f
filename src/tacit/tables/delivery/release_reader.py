"""Reading release files: the digest of what they say, and every record's letter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet

from tacit.errors import InvalidInputError
from tacit.tables.delivery.release_file import BATCH, COLUMNS, ContentDigest, text_of_csv


def digest_of(path: Path, key: bytes, *, has_guards: bool = True) -> str:
    """The content digest of an existing release file, read in batches.

    Args:
        path: of the file.
        key: of the digest.
        has_guards: whether apostrophes before formulas are tacit's; not in files of 0.1.
    """
    digest = ContentDigest(key)
    for columns in _read(path, has_guards):
        digest.update(columns)
    return digest.hexdigest()


def count_letters(
    path: Path, labels: Sequence[str], time_shares: int = 1, *, has_guards: bool = True
) -> NDArray[np.int64]:
    """How many records of a release file have each letter t * len(labels) + rhat.

    Args:
        path: of the file.
        labels: every rhat that may be in it.
        time_shares: how many t there are; one alone has no column.
        has_guards: as for ``digest_of``.
    """
    counts = np.zeros(time_shares * len(labels), dtype=np.int64)
    for columns in _read(path, has_guards):
        letters = _letters_of(path, columns, labels, time_shares)
        counts += np.bincount(letters, minlength=len(counts))
    return counts


def read_letters(
    path: Path, labels: Sequence[str], time_shares: int = 1, *, has_guards: bool = True
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Every record's id as text, and its letter; arguments as for ``count_letters``."""
    records, letters = [], []
    for columns in _read(path, has_guards):
        letters.append(_letters_of(path, columns, labels, time_shares))
        records.append(texts_of(columns.column("record")))
    if not letters:
        return np.empty(0, dtype=np.str_), np.empty(0, dtype=np.int64)
    return np.concatenate(records), np.concatenate(letters)


def texts_of(column: pa.Array | pa.ChunkedArray) -> NDArray[np.str_]:
    """A column as texts, as a CSV file shows them; a missing value as an empty text."""
    return np.asarray(column.cast(pa.string()).fill_null("").to_pylist(), dtype=np.str_)


def _letters_of(
    path: Path, columns: pa.RecordBatch, labels: Sequence[str], time_shares: int
) -> NDArray[np.int64]:
    """The letter t * len(labels) + rhat of each record."""
    known = {"rhat": list(labels)}
    if time_shares > 1:
        known["t"] = [str(t) for t in range(time_shares)]
    if columns.schema.names != ["record", *known]:
        raise _not_as_certified(path, f"the columns {', '.join(columns.schema.names)}")
    letters = np.zeros(len(columns), dtype=np.int64)
    for name, scale in zip(known, (1, len(labels)), strict=False):
        letters += scale * _places(path, columns.column(name), known[name])
    return letters


def _places(path: Path, column: pa.Array, known: list[str]) -> NDArray[np.int64]:
    """Which of the known texts each entry is."""
    texts = column.cast(pa.string())
    places = pc.index_in(texts, pa.array(known, pa.string()))
    if places.null_count:
        unknown = texts.filter(places.is_null())[0].as_py()
        raise _not_as_certified(path, f"the entry {unknown!r}")
    return np.asarray(places.to_numpy())


def _not_as_certified(path: Path, seen: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} has {seen}, which its certificate does not know: "
        "put the certificate of this very release beside it"
    )


def _read(path: Path, has_guards: bool) -> Iterator[pa.RecordBatch]:
    """The columns of a release file, batch by batch."""
    is_csv = path.suffix.lower() == ".csv"
    try:
        for columns in _read_csv(path) if is_csv else _read_parquet(path):
            yield _without_guards(columns) if is_csv and has_guards else columns
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"{path} cannot be read as a release file: {reason}") from None


def _read_parquet(path: Path) -> Iterator[pa.RecordBatch]:
    with parquet.ParquetFile(path) as file:
        _refuse_other_columns(path, file.schema_arrow)
        yield from file.iter_batches(BATCH)


def _read_csv(path: Path) -> Iterator[pa.RecordBatch]:
    """Every field as the text that it is."""
    as_text = csv.ConvertOptions(
        column_types=dict.fromkeys(COLUMNS[1], pa.string()), strings_can_be_null=False
    )
    lines = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=lines, convert_options=as_text) as reader:
        _refuse_other_columns(path, reader.schema)
        yield from reader


def _refuse_other_columns(path: Path, schema: pa.Schema) -> None:
    if schema.names not in COLUMNS:
        raise InvalidInputError(
            f"{path} has the columns {', '.join(schema.names)}, a release file has "
            "record, rhat and perhaps t: give the file as it was delivered"
        )


def _without_guards(columns: pa.RecordBatch) -> pa.RecordBatch:
    """The texts of a CSV file as they were before ``csv_text``."""
    bare = [_bare_where_needed(column) for column in columns.columns]
    return pa.record_batch(bare, names=columns.schema.names)


def _bare_where_needed(texts: pa.StringArray) -> pa.StringArray:
    if not pc.any(pc.starts_with(texts, "'")).as_py():
        return texts
    return pa.array(map(text_of_csv, texts.to_pylist()), pa.string())
