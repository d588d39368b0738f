"""Sheets of Excel files: a row of names, then a row for each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from typing import ClassVar

import duckdb
import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.tables.connection import reason
from tacit.tables.sources.header import check_names
from tacit.tables.sources.source import FileOfTables, Table, check_file, describe

_ARROW_TYPES: dict[frozenset[type], pa.DataType] = {
    frozenset({bool}): pa.bool_(),
    frozenset({date}): pa.date32(),
    frozenset({datetime}): pa.timestamp("us"),
    frozenset({float}): pa.float64(),
    frozenset({int}): pa.int64(),
    frozenset({time}): pa.time64("us"),
}
"""Kinds of values in a column -> its type; columns of other kinds are read as texts."""

_LARGEST_EXACT = 2**53
"""Up to here a float is exactly one whole number."""


class ExcelFile(FileOfTables):
    """A sheet of a file that ends in .xlsx."""

    __slots__ = ()
    ending: ClassVar[str] = ".xlsx"
    noun: ClassVar[str] = "sheet"

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the sheet."""
        check_file(self.file, str(self.file))
        columns = self._read_columns()
        connection.register("incoming", pa.table(columns))
        yield describe(connection, "incoming")

    def _read_columns(self) -> dict[str, pa.Array]:
        """Each column that has a name; cells that are empty, or errors, are missing."""
        names, *rows = self._read_cells() or [[]]
        shown = [_text(name) for name in names if name != ""]
        if not shown:
            raise InvalidInputError(f"{self.text} is empty: give a row of names, then the records")
        check_names(shown, self.text)
        records = [row for row in rows if any(cell != "" for cell in row)]
        self._refuse_nameless(names, records)
        return {
            _text(name): _column([row[k] for row in records])
            for k, name in enumerate(names)
            if name != ""
        }

    def _refuse_nameless(
        self, names: Sequence[object], records: Sequence[Sequence[object]]
    ) -> None:
        """Refuse a first row that is a title, or has one name for several columns."""
        nameless = [k for k, name in enumerate(names) if name == ""]
        used = [k for k in nameless if any(row[k] != "" for row in records)]
        if len(used) > 1:  # one alone may number the rows
            shown = ", ".join(repr(_text(name)) for name in names if name != "")
            raise InvalidInputError(
                f"{self.text} has {len(used)} columns without a name, and the first row has "
                f"{shown}: write a name above each column, in one row; titles above the names, and "
                "names that are merged over several columns, cannot be read"
            )

    def _read_cells(self) -> Sequence[Sequence[object]]:
        try:
            from python_calamine import CalamineError, CalamineWorkbook
        except ImportError:
            raise InvalidInputError(
                f"{self.file} needs a package that is not installed: "
                "install tacit with its extra, tacit[excel]"
            ) from None
        try:
            book = CalamineWorkbook.from_path(self.file)
            return book.get_sheet_by_name(self.choose(book.sheet_names)).to_python()
        except CalamineError as error:
            raise InvalidInputError(f"{self.file} cannot be read: {reason(error)}") from None


def _column(cells: Sequence[object]) -> pa.Array:
    """The cells of a column in the one type that fits all, else as texts."""
    values = [None if cell == "" else _whole(cell) for cell in cells]
    kinds = frozenset(type(value) for value in values if value is not None)
    if kinds == {int, float}:
        kinds = frozenset({float})
    if kinds == {date, datetime}:  # Excel writes midnight as a date
        values = [datetime.fromisoformat(str(value)) if value else None for value in values]
        kinds = frozenset({datetime})
    kind = _ARROW_TYPES.get(kinds)
    if kind is None:
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    return pa.array(values, kind)


def _whole(cell: object) -> object:
    """A cell; a number without decimals is whole, because Excel keeps all numbers as floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= _LARGEST_EXACT:
        return int(cell)
    return cell


def _text(cell: object) -> str:
    """A cell as other sources write it."""
    value = _whole(cell)
    return str(value).lower() if isinstance(value, bool) else str(value)
