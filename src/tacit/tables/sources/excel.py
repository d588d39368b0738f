"""Sheets of Excel files: a row of names, then a row for each record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import partial
from typing import ClassVar

import duckdb
import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.connection import reason
from tacit.tables.sources.excel_marks import Place, read_marks
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


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """A sheet as it was read.

    Attributes:
        name: of the sheet.
        cells: of all rows from the first that is not empty: the names, then the records.
        first_row: where these begin, from 0.
        first_column: where each row begins, from 0.
    """

    name: str
    cells: Sequence[Sequence[object]]
    first_row: int
    first_column: int

    @property
    def end_row(self) -> int:
        """Where they end: the number of the row after the last."""
        return self.first_row + len(self.cells)

    def places(self, wanted: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Where in the file the columns with these names are."""
        for k, name in enumerate(map(_text, self.cells[0]), self.first_column):
            if name in wanted:
                yield name, k

    def records_of(self, places: Iterable[Place], column: int) -> list[Place]:
        """Those of the places that are in a column, below its name."""
        return [
            each
            for each in places
            if each.column == column and self.first_row < each.row < self.end_row
        ]


class ExcelFile(FileOfTables):
    """A sheet of a file that ends in .xlsx."""

    __slots__ = ()
    ending: ClassVar[str] = ".xlsx"
    noun: ClassVar[str] = "sheet"

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the sheet."""
        check_file(self.file, str(self.file))
        sheet = self._read_sheet()
        columns = self._read_columns(sheet)
        connection.register("incoming", pa.table(columns))
        table = describe(connection, "incoming")
        yield replace(table, names=[*columns], look=partial(self._look, sheet))

    def _read_columns(self, sheet: _Sheet) -> dict[str, pa.Array]:
        """Each column that has a name; cells that are empty, or errors, are missing."""
        names, *rows = sheet.cells or [[]]
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

    def _look(self, sheet: _Sheet, wanted: Sequence[str]) -> list[Remark]:
        """What is in cells that are read as empty, or as what they are not."""
        marks = read_marks(self.file, sheet.name)
        remarks = []
        for name, k in sheet.places(wanted):
            for first, last in marks.merged:
                is_there = first.row < sheet.end_row and last.row > sheet.first_row
                if is_there and first.column <= k <= last.column:
                    raise InvalidInputError(
                        f"{self.text} has merged cells in {name}, {first}:{last}, of which only "
                        "the first has a value: unmerge them, and write the value into each"
                    )
            unfilled = sheet.records_of(marks.unfilled, k)
            if unfilled:
                raise InvalidInputError(
                    f"{self.text} has formulas in {name} whose values were never saved "
                    f"({len(unfilled):,}, the first in {unfilled[0]}): open the file in Excel or "
                    "LibreOffice and save it, or write the values"
                )
            self._refuse_early_dates(sheet, name, k, sheet.records_of(marks.negative, k))
            errors = sheet.records_of(marks.errors, k)
            if errors:
                values = {
                    "column": name,
                    "records": len(errors),
                    "example": marks.errors[errors[0]],
                }
                remarks.append(Remark("error_cells", values))
        return remarks

    def _refuse_early_dates(
        self, sheet: _Sheet, name: str, k: int, negative: Sequence[Place]
    ) -> None:
        """Refuse dates before 1900, which are read as midnight."""
        cells = [row[k - sheet.first_column] for row in sheet.cells[1:]]
        n_dates, n_times = (sum(isinstance(each, kind) for each in cells) for kind in (date, time))
        n_early = n_times if n_dates else 0
        for place in negative:
            n_early += not n_dates and isinstance(cells[place.row - sheet.first_row - 1], time)
        if n_early:
            raise InvalidInputError(
                f"{self.text} has times among dates, or dates before 1900, which Excel does not "
                f"have, in {n_early:,} cell{'s' * (n_early != 1)} of {name}: write the column as "
                "texts such as 1899-12-31"
            )

    def _read_sheet(self) -> _Sheet:
        try:
            from python_calamine import CalamineError, CalamineWorkbook
        except ImportError:
            raise InvalidInputError(
                f"{self.file} needs a package that is not installed: "
                "install tacit with its extra, tacit[excel]"
            ) from None
        try:
            book = CalamineWorkbook.from_path(self.file)
            name = self.choose(book.sheet_names)
            sheet = book.get_sheet_by_name(name)
            first_row, first_column = sheet.start or (0, 0)
            return _Sheet(name, sheet.to_python(), first_row, first_column)
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
