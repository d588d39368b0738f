"""CSV files, plain or packed with gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import TextIO

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_file, quote_text
from tacit.tables.sources.header import check_names
from tacit.tables.sources.source import Table, TableFile, check_file

_DELIMITERS = (",", ";", "\t", "|")

_OPTIONS = (
    "header = true",
    "skip = 0",  # else DuckDB skips lines until the rest looks regular
    "comment = ''",
    "quote = '\"'",
    "escape = '\"'",
)


_SAVE_AS_UTF8 = "save it as UTF-8 (in Excel: CSV UTF-8)"


class CsvFile(TableFile):
    """A file that ends in .csv or .csv.gz, with a line of names."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file; where DuckDB cannot read it, an error that names the line."""
        check_file(self.file, self.text)
        _refuse_utf16(self.file)
        try:
            yield _sniff(connection, self.file)
        except duckdb.InvalidInputException:
            _refuse_other_encoding(self.file)
            _refuse_ragged(self.file)
            raise


def _sniff(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    """A CSV file with the types that hold for all of it, found once."""
    file = quote_file(path)
    options = ", ".join((*_OPTIONS, "sample_size = -1"))
    [(delimiter, date_format, timestamp_format, columns)] = connection.execute(
        f"SELECT Delimiter, DateFormat, TimestampFormat, Columns FROM sniff_csv({file}, {options})"
    ).fetchall()
    types = {column["name"]: column["type"] for column in columns}
    if len(types) == 1:  # DuckDB does so where no delimiter fits every line
        _refuse_ragged(path)
    else:  # DuckDB adds a number to the second of two equal names
        check_names(_read_names(path, delimiter), str(path))
    chosen = [*_OPTIONS, "auto_detect = false", f"delim = {quote_text(delimiter)}"]
    if date_format:
        chosen.append(f"dateformat = {quote_text(date_format)}")
    if timestamp_format:
        chosen.append(f"timestampformat = {quote_text(timestamp_format)}")
    pairs = (f"{quote_text(name)}: {quote_text(kind)}" for name, kind in types.items())
    chosen.append(f"columns = {{{', '.join(pairs)}}}")
    return Table(types, lambda _: f"read_csv({file}, {', '.join(chosen)})")


def _read_names(path: Path, delimiter: str) -> list[str]:
    """The line of names; spaces around a name are not part of it."""
    with _opened(path) as file:
        return [name.strip() for name in next(csv.reader(file, delimiter=delimiter))]


def _refuse_utf16(path: Path) -> None:
    """DuckDB takes every second byte for a sign, and finds other faults."""
    with _opened_bytes(path) as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InvalidInputError(f"{path} cannot be read: it is in UTF-16; {_SAVE_AS_UTF8}")


def _refuse_other_encoding(path: Path) -> None:
    """Name the first line that is not in UTF-8, if there is one."""
    with _opened_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise InvalidInputError(
                    f"{path} cannot be read: line {number} is not in UTF-8 "
                    f"(byte {line[error.start]:#04x}); {_SAVE_AS_UTF8}"
                ) from None


def _refuse_ragged(path: Path) -> None:
    """Name the line that keeps a CSV file from being a table, if there is one."""
    line = _ragged_line(path)
    if line is not None:
        raise InvalidInputError(
            f"{path} cannot be read: {line}; give every line one field for each name"
        )


def _ragged_line(path: Path) -> str | None:
    """What is wrong with the first line that has not one field for each name, in words."""
    with _opened(path) as file:
        names = file.readline()
        delimiter = max(_DELIMITERS, key=names.count)
        if delimiter not in names:
            return None
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        begins, n_names = 1, 0
        try:
            for fields in reader:
                n_names = n_names or len(fields)
                if fields and len(fields) != n_names:
                    have = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                    return f"line {begins} has {have} and the line of names has {n_names}"
                begins = reader.line_num + 1
        except csv.Error:
            return f"line {begins} has a quote that is not closed, or a very long field"
    return None


@contextmanager
def _opened_bytes(path: Path) -> Iterator[BufferedIOBase]:
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        yield file


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield file
