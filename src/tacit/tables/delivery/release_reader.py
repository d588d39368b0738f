"""Reading release files and recipients' own tables: texts of columns, letters, the digest.

Recipients read Parquet with DuckDB and CSV with the standard library; they have no Arrow.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.tables.delivery.release_file import (
    COLUMNS,
    ContentDigest,
    content_of_texts,
    text_of_csv,
)
from tacit.tables.sources.header import check_names

_BATCH = 2**16
"""Records read at a time."""

Columns = dict[str, list[str]]
"""Texts of each column, as a CSV file shows them; a missing value is an empty text."""


def digest_of(path: Path, key: bytes) -> str:
    """The content digest of an existing release file, read in batches."""
    return digests_of(path, [key])[0]


def digests_of(path: Path, keys: Sequence[bytes]) -> list[str]:
    """The same under each key; the file is read once."""
    digests = [ContentDigest(key) for key in keys]
    for columns in _read(path):
        content = {name: content_of_texts(texts) for name, texts in columns.items()}
        for digest in digests:
            digest.update(content)
    return [digest.hexdigest() for digest in digests]


def count_letters(path: Path, labels: Sequence[str]) -> NDArray[np.int64]:
    """How many records of a release file have each letter.

    Args:
        path: of the file.
        labels: every rhat that may be in it.
    """
    counts = np.zeros(len(labels), dtype=np.int64)
    for columns in _read(path):
        letters = _letters_of(path, columns, labels)
        counts += np.bincount(letters, minlength=len(counts))
    return counts


def read_letters(path: Path, labels: Sequence[str]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Every record's id as text, and its letter; arguments as for ``count_letters``."""
    records, letters = [], []
    for columns in _read(path):
        letters.append(_letters_of(path, columns, labels))
        records.append(np.asarray(columns["record"], dtype=np.str_))
    if not letters:
        return np.empty(0, dtype=np.str_), np.empty(0, dtype=np.int64)
    return np.concatenate(records), np.concatenate(letters)


def read_texts(path: Path, names: Sequence[str]) -> dict[str, NDArray[np.str_]]:
    """Columns of a table, .parquet or .csv, as texts.

    Raises:
        InvalidInputError: it cannot be read, or lacks a column.
    """
    texts: Columns = {name: [] for name in names}
    with _said_in_one_line(path, "a table"):
        for columns in _batches(path):
            for name in names:
                if name not in columns:
                    raise InvalidInputError(
                        f"{path} has no column {name}, only {', '.join(columns)}: name one of these"
                    )
                texts[name] += columns[name]
    return {name: np.asarray(column, dtype=np.str_) for name, column in texts.items()}


def _letters_of(path: Path, columns: Columns, labels: Sequence[str]) -> NDArray[np.int64]:
    """The letter of each record."""
    place_of = {text: place for place, text in enumerate(labels)}
    try:
        return np.array([place_of[text] for text in columns["rhat"]], dtype=np.int64)
    except KeyError as error:
        raise InvalidInputError(
            f"{path} has the entry {error.args[0]!r}, which its certificate does not know: "
            "put the certificate of this very release beside it"
        ) from None


def _read(path: Path) -> Iterator[Columns]:
    """The columns of a release file, batch by batch."""
    with _said_in_one_line(path, "a release file"):
        for columns in _batches(path):
            if [*columns] != COLUMNS:
                raise InvalidInputError(
                    f"{path} has the columns {', '.join(columns)}, a release file has "
                    "record and rhat: give the file as it was delivered"
                )
            if _is_csv(path):
                columns = {name: [*map(text_of_csv, texts)] for name, texts in columns.items()}
            yield columns


@contextmanager
def _said_in_one_line(path: Path, kind: str) -> Iterator[None]:
    """Turn what a reader complains about into one error."""
    try:
        yield
    except (OSError, UnicodeDecodeError, csv.Error, _parquet_error()) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"{path} cannot be read as {kind}: {reason}") from None


def _parquet_error() -> type[Exception]:
    """What DuckDB raises, where it is installed."""
    try:
        import duckdb
    except ModuleNotFoundError:
        return csv.Error
    return duckdb.Error


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _batches(path: Path) -> Iterator[Columns]:
    """All columns of a file as texts, batch by batch; the first batch may be empty."""
    return _read_csv(path) if _is_csv(path) else _read_parquet(path)


def _read_parquet(path: Path) -> Iterator[Columns]:
    from tacit.tables.connection import connect_memory, quote_file, quote_name

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with connect_memory() as connection:
        source = f"read_parquet({quote_file(path)})"
        names = connection.sql(f"SELECT * FROM {source}").columns
        texts = (f"coalesce({quote_name(name)}::VARCHAR, '')" for name in names)
        found = connection.execute(f"SELECT {', '.join(texts)} FROM {source}")
        yield {name: [] for name in names}
        while rows := found.fetchmany(_BATCH):
            yield _by_column(names, rows)


def _read_csv(path: Path) -> Iterator[Columns]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = (line for line in csv.reader(file, strict=True) if line)
        names = next(lines, [])
        check_names(names, str(path))
        yield {name: [] for name in names}
        while rows := [*islice(lines, _BATCH)]:
            if any(len(row) != len(names) for row in rows):
                raise csv.Error(f"a line has not {len(names)} fields")
            yield _by_column(names, rows)


def _by_column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Columns:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}
