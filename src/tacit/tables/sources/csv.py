"""CSV files, plain or packed with gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import TextIO

import duckdb

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.connection import quote_file, quote_name, quote_text
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


_FLOAT_DIGITS = 15
"""So many digits of a number a float always keeps."""

_GZIP = b"\x1f\x8b"
"""How files that are packed with gzip begin."""

_SAVE_AS_UTF8 = "save it as UTF-8 (in Excel: CSV UTF-8)"


class CsvFile(TableFile):
    """A file that ends in .csv or .csv.gz, with a line of names."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file; where DuckDB cannot read it, an error that names the line."""
        check_file(self.file, self.text)
        _refuse_unpacked(self.file)
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
        names = [*types]
    else:  # DuckDB adds a number to the second of two equal names
        names = _read_names(path, delimiter)
        check_names(names, str(path))
    chosen = [*_OPTIONS, "auto_detect = false", f"delim = {quote_text(delimiter)}"]
    if date_format:
        chosen.append(f"dateformat = {quote_text(date_format)}")
    if timestamp_format:
        chosen.append(f"timestampformat = {quote_text(timestamp_format)}")
    texts = _Texts(connection, f"{file}, {', '.join(chosen)}", types, str(path))
    formats = {"DATE": date_format, "TIMESTAMP": timestamp_format}

    def look(wanted: Sequence[str]) -> list[Remark]:
        for kind, written in formats.items():
            texts.refuse_ambiguous(wanted, kind, written or "")
        return texts.merged_numbers(wanted)

    from_sql = f"read_csv({file}, {', '.join([*chosen, _columns_sql(types)])})"
    return Table(types, lambda _: from_sql, names, look)


def _columns_sql(types: Mapping[str, str]) -> str:
    pairs = (f"{quote_text(name)}: {quote_text(kind)}" for name, kind in types.items())
    return f"columns = {{{', '.join(pairs)}}}"


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """What is written in a file, to see whether it may be read in more than one way.

    Attributes:
        connection: that reads it.
        read: its name and options, as ``read_csv`` takes them.
        types: what the columns are read as.
        shown: its name for messages.
    """

    connection: duckdb.DuckDBPyConnection
    read: str
    types: Mapping[str, str]
    shown: str

    @property
    def from_sql(self) -> str:
        """What to write after FROM to read every field as it is written."""
        as_texts = dict.fromkeys(self.types, "VARCHAR")
        return f"read_csv({self.read}, {_columns_sql(as_texts)})"

    def refuse_ambiguous(self, wanted: Sequence[str], kind: str, written: str) -> None:
        """Refuse wanted dates of which nothing tells whether the day or the month is first.

        All columns of the type are read in one order: one field tells for all of them.
        """
        columns = [name for name, each in self.types.items() if each == kind]
        if not set(columns) & set(wanted):
            return
        for other in _other_orders(written):
            fit = " AND ".join(
                f"count({_text(name)}) = count({_moment(name, other)})" for name in columns
            )
            differ = ", ".join(
                f"min({quote_name(name)}) FILTER ({_moment(name, other)} <> "
                f"{_moment(name, written)})"
                for name in columns
            )
            [(is_fitting, *examples)] = self.connection.execute(
                f"SELECT {fit}, {differ} FROM {self.from_sql}"
            ).fetchall()
            for name, example in zip(columns, examples, strict=True):
                if is_fitting and name in wanted and example is not None:
                    raise InvalidInputError(
                        f"the dates of {name} in {self.shown}, such as {example!r}, may be "
                        f"{_in_words(written)} or {_in_words(other)}: write them as "
                        "year-month-day, such as 2020-12-31"
                    )

    def merged_numbers(self, wanted: Sequence[str]) -> list[Remark]:
        """Columns with different numbers that are the same as floats."""
        names = [name for name in wanted if self.types[name] == "DOUBLE"]
        if not names:
            return []
        # Hardly any number is rounded; only where one is, count what becomes the same.
        rounded = ", ".join(f"min({_text(name)}) FILTER ({_is_rounded(name)})" for name in names)
        [examples] = self.connection.execute(f"SELECT {rounded} FROM {self.from_sql}").fetchall()
        found = []
        for name, example in zip(names, examples, strict=True):
            if example is None:
                continue
            number, digits = _number(name), _digits(_text(name))
            [(n_numbers, n_floats)] = self.connection.execute(
                f"SELECT count(DISTINCT ({digits}, {number})), count(DISTINCT {number}) "
                f"FROM {self.from_sql} WHERE {_is_long(name)}"
            ).fetchall()
            if n_numbers > n_floats:
                values = {"column": name, "numbers": n_numbers, "kept": n_floats}
                found.append(Remark("numbers_merged", values | {"example": example}))
        return found


def _text(name: str) -> str:
    return f"nullif(trim({quote_name(name)}), '')"


def _moment(name: str, written: str) -> str:
    return f"try_strptime({_text(name)}, {quote_text(written)})"


def _number(name: str) -> str:
    return f"TRY_CAST({_text(name)} AS DOUBLE)"


def _is_long(name: str) -> str:
    return f"length({_text(name)}) > {_FLOAT_DIGITS}"


def _is_rounded(name: str) -> str:
    kept = f"CAST({_number(name)} AS VARCHAR)"
    # Most are written as DuckDB does; looking at the digits of all would take long.
    text = _text(name)
    is_other = f"CASE WHEN {text} <> {kept} THEN {_digits(text)} <> {_digits(kept)} END"
    return f"CASE WHEN {_is_long(name)} THEN {is_other} END"


def _digits(text: str) -> str:
    """SQL of the digits of a number that say something, to tell it from others near it."""
    mantissa = f"regexp_replace(split_part(lower({text}), 'e', 1), '[^0-9]', '', 'g')"
    return f"regexp_replace(regexp_replace({mantissa}, '^0+', ''), '0+$', '')"


def _other_orders(written: str) -> list[str]:
    """Other orders in which people write dates that look like this."""
    signs = re.findall("%[dmyY]", written)
    if sorted(signs) == ["%d", "%m", "%y"]:
        orders = [["%d", "%m", "%y"], ["%m", "%d", "%y"], ["%y", "%m", "%d"]]
    else:
        orders = [["%d", "%m", "%Y"], ["%m", "%d", "%Y"]] if signs[2:] == ["%Y"] else []
    blank = re.sub("%[dmyY]", "{}", written)
    return [blank.format(*order) for order in orders if order != signs]


def _in_words(written: str) -> str:
    signs = re.findall("%[dmyY]", written)
    return "-".join({"%d": "day", "%m": "month"}.get(sign, "year") for sign in signs)


def _read_names(path: Path, delimiter: str) -> list[str]:
    """The line of names; spaces around a name are not part of it."""
    with _open_text(path) as file:
        return [name.strip() for name in next(csv.reader(file, delimiter=delimiter))]


def _refuse_utf16(path: Path) -> None:
    """DuckDB takes every second byte for a sign, and finds other faults."""
    with _open_bytes(path) as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InvalidInputError(f"{path} cannot be read: it is in UTF-16; {_SAVE_AS_UTF8}")


def _refuse_other_encoding(path: Path) -> None:
    """Name the first line that is not in UTF-8, if there is one."""
    with _open_bytes(path) as file:
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
    with _open_text(path) as file:
        names = file.readline()
        delimiter = max(_DELIMITERS, key=names.count)
        if delimiter not in names:
            return
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        begins, n_names, seen = 1, 0, ""
        try:
            for fields in reader:
                n_names = n_names or len(fields)
                if fields and len(fields) != n_names:
                    have = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                    seen = f"has {have} and the line of names has {n_names}"
                    break
                begins = reader.line_num + 1
        except csv.Error:
            seen = "has a quote that is not closed, or a very long field"
    if seen:
        raise InvalidInputError(
            f"{path} cannot be read: line {begins} {seen}; give every line one field for each name"
        )


def _refuse_unpacked(path: Path) -> None:
    """Refuse a plain file that is called one packed with gzip."""
    with path.open("rb") as file:
        if path.suffix.lower() == ".gz" and file.read(len(_GZIP)) != _GZIP:
            raise InvalidInputError(
                f"{path} is not packed with gzip, as its name says: if it is a plain CSV file, "
                f"call it {path.with_suffix('').name}"
            )


def _open_bytes(path: Path) -> BufferedIOBase:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def _open_text(path: Path) -> TextIO:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
