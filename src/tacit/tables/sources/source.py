"""Sources: tables to read, each named by one text, and the table of the kinds that there are.

A source is opened read-only, through DuckDB, with the types that its columns have. To add a kind,
write a class with the methods of ``Source`` in a file of its own, and add a row to ``SOURCES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

import duckdb

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.similar_names import nearest_first

if TYPE_CHECKING:
    from tacit.frames import Frame

SOURCES: dict[str, str] = {
    r"postgres(ql)?://.*": "tacit.tables.sources.postgresql:ServerTable",
    r"(spark:|(abfss?|dbfs|gs|hdfs|o3fs|ofs|s3a?|viewfs|wasbs?)://).+": (
        "tacit.tables.sources.spark:SparkTable"  # what only a cluster reaches
    ),
    r".+?\.duckdb((::|#).+)?": "tacit.tables.sources.duckdb:DuckDBFile",
    r"(?i:.*\.(csv|csv\.gz))": "tacit.tables.sources.csv:CsvFile",
    r"(?i:.*\.parquet)|.*/": "tacit.tables.sources.parquet:ParquetFile",
    r"(?i:.*\.(arrow|feather))": "tacit.tables.sources.arrow:ArrowFile",
    r".+?\.xlsx((::|#).+)?": "tacit.tables.sources.excel:ExcelFile",
}
"""Pattern of names -> class of the sources with such names; the first pattern counts."""

MEMORY = "tacit.tables.sources.memory:MemoryTable"

MOST_DIGITS = 38
"""Of a DECIMAL in DuckDB."""

_FORMS = (
    "give a .csv, .parquet, .arrow, .feather, .xlsx or .duckdb file, a folder/ of .parquet files, "
    "postgresql://host/database#table, or for Spark spark:TABLE or the address of a folder"
)


def find_source(table: AnyTable) -> Source:
    """The source that is named, or is a data frame; whether it is there shows when it is opened."""
    if isinstance(table, Source) and not hasattr(table, "__arrow_c_stream__"):
        return table
    if not isinstance(table, str | PathLike):
        memory: Callable[[object], Source] = resolve_name(MEMORY)
        return memory(table)
    text = str(table)
    for pattern, name in SOURCES.items():
        if re.fullmatch(pattern, text, re.DOTALL):
            source: Source = resolve_name(name)(text)
            return source
    check_file(Path(text), text)
    raise InvalidInputError(f"{text} is no table that tacit reads: {_FORMS}")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open.

    Attributes:
        types: DuckDB's type of each column.
        scan: names of columns -> what to write after FROM to read these; once.
        names: of all columns as the source has them; DuckDB numbers those that differ only in case.
        look: names of columns -> what to know about how these are read, before they are; refuses
            what would be read otherwise than it is meant.
        index: names of what looks like a column of a data frame, and is none.
    """

    types: Mapping[str, str]
    scan: Callable[[Sequence[str]], str]
    names: Sequence[str] = ()
    look: Callable[[Sequence[str]], list[Remark]] = lambda _: []
    index: Sequence[str] = ()


@runtime_checkable
class Source(Protocol):
    """A table named by a text; it may not exist."""

    @property
    def text(self) -> str:
        """How it was named."""
        ...

    @property
    def shown(self) -> str:
        """Its name for messages, without secrets."""
        ...

    @property
    def file(self) -> Path | None:
        """The file that it is in; ``None`` for one that is on a server."""
        ...

    def open(self, connection: duckdb.DuckDBPyConnection) -> AbstractContextManager[Table]:
        """The table, to be read through a connection."""
        ...


AnyTable: TypeAlias = "str | PathLike[str] | Frame | Source"
"""What may be given for a table: its name, a data frame, or its source."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """What sources that are files have in common.

    Attributes:
        text: how the source was named.
    """

    text: str

    @property
    def shown(self) -> str:
        """As it was named: a file has no secrets in its name."""
        return self.text

    @property
    def file(self) -> Path:
        """The file."""
        return Path(self.text)


class FileOfTables(TableFile):
    """A file that may hold several tables.

    Named by the file where it has one, else as in ``clinic.duckdb::ward.patients``; # may stand
    for ::.

    Attributes:
        ending: of such files.
        noun: what a table is called there.
    """

    __slots__ = ()
    ending: ClassVar[str]
    noun: ClassVar[str]

    @property
    def file(self) -> Path:
        """The file."""
        return Path(self._parts[0])

    @property
    def table(self) -> str | None:
        """Name of the table; ``None`` for the only one."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str | None]:
        pattern = rf"(?P<file>.+?{re.escape(self.ending)})((::|#)(?P<table>.+))?"
        match = re.fullmatch(pattern, self.text, re.DOTALL)
        return (self.text, None) if match is None else (match["file"], match["table"])

    def choose(self, tables: Collection[str]) -> str:
        """The table that is meant, of those that are in the file."""
        if self.table is None and len(tables) != 1:
            raise InvalidInputError(
                f"{self.file} holds {len(tables)} {self.noun}s ({nearest_first('', tables)}): "
                f"say which one, as in {self.file}::{self.noun}"
            )
        chosen = self.table or next(iter(tables))
        if chosen not in tables:
            raise InvalidInputError(
                f"{self.file} has no {self.noun} {chosen!r}: it has {nearest_first(chosen, tables)}"
            )
        return chosen


def check_file(path: Path, text: str) -> None:
    """Refuse a file that is not there, or is empty."""
    if not path.is_file():
        raise InvalidInputError(f"there is no file {text}: {_FORMS}")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{text} is empty: give a table with a line of names and rows")


def describe(connection: duckdb.DuckDBPyConnection, from_sql: str) -> Table:
    """A table that DuckDB reads by itself."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {from_sql}").fetchall()
    return Table({name: sql_type for name, sql_type, *_ in rows}, lambda _: from_sql)
