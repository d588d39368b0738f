"""Sheets of Excel files: a row of names, then a row for each record.

openpyxl reads them: slower than others, but it says which cells are merged, which are errors, and
which formulas have no value. These would be read as empty, or half.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date, datetime, time
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile

import duckdb
import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.tables.connection import reason
from tacit.tables.sources.header import check_names
from tacit.tables.sources.source import FileOfTables, Table, check_file, describe

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell
    from openpyxl.worksheet.worksheet import Worksheet

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

_FIRST_YEAR = 1900
_ERROR, _FORMULA, _EMPTY_TEXT = "e", "f", "str"  # as openpyxl calls types of cells


_DAMAGED = (
    *(AttributeError, BadZipFile, EOFError, IndexError, KeyError, NotImplementedError),
    *(OSError, ParseError, RuntimeError, TypeError, ValueError, zlib.error),
)
"""What openpyxl raises on a file that is none of Excel's, damaged, or locked by a password."""


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
        rows = [row for row in sheet.iter_rows() if any(map(_is_filled, row))]
        columns = self._columns(rows)
        arrays = {name: _column(map(_value, cells)) for name, cells in columns.items()}
        connection.register("incoming", pa.table(arrays))
        table = describe(connection, "incoming")
        yield replace(table, names=[*columns], look=partial(self._look, sheet, rows, columns))

    def _read_sheet(self) -> Worksheet:
        """The sheet with the values that its formulas had when it was saved."""
        book = self._load(data_only=True)
        return book[self.choose([sheet.title for sheet in book.worksheets])]

    def _load(self, **how: bool) -> Workbook:
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise InvalidInputError(
                f"{self.file} needs a package that is not installed: "
                "install tacit with its extra, tacit[excel]"
            ) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about pictures and styles, which are not read
                return load_workbook(self.file, **how)
        except _DAMAGED as error:
            raise InvalidInputError(f"{self.file} cannot be read: {reason(error)}") from None

    def _columns(self, rows: Sequence[Sequence[Cell]]) -> dict[str, list[Cell]]:
        """The cells of each column that has a name, without it."""
        if not rows:
            raise InvalidInputError(f"{self.text} is empty: give a row of names, then the records")
        names, *records = rows
        shown = [_text(name.value) for name in names if _is_filled(name)]
        check_names(shown, self.text)
        nameless = [k for k, name in enumerate(names) if not _is_filled(name)]
        used = [k for k in nameless if any(_is_filled(row[k]) for row in records)]
        if len(used) > 1:  # one alone may number the rows
            raise InvalidInputError(
                f"{self.text} has {len(used)} columns without a name, and the first row has "
                f"{', '.join(map(repr, shown))}: write a name above each column, in one row; "
                "titles above the names, and names merged over several columns, cannot be read"
            )
        return {
            _text(name.value): [row[k] for row in records]
            for k, name in enumerate(names)
            if _is_filled(name)
        }

    def _look(
        self,
        sheet: Worksheet,
        rows: Sequence[Sequence[Cell]],
        columns: Mapping[str, Sequence[Cell]],
        wanted: Collection[str],
    ) -> list[Remark]:
        """Refuse, or remark on, cells that are read as empty, or as what they are not."""
        first, last = rows[0][0].row + 1, rows[-1][0].row
        place_of = {
            _text(name.value): name.column for name in rows[0] if _text(name.value) in wanted
        }
        for name, column in place_of.items():
            for merged in sheet.merged_cells.ranges:
                is_below = merged.max_row >= first and merged.min_row <= last
                if is_below and merged.min_col <= column <= merged.max_col:
                    raise InvalidInputError(
                        f"{self.text} has merged cells in {name}, {merged}, of which only "
                        "the first has a value: unmerge them, and write the value into each"
                    )
            self._refuse_early_dates(name, columns[name])
        self._refuse_unsaved(sheet, first, place_of)
        remarks = []
        for name in place_of:
            errors = [cell.value for cell in columns[name] if cell.data_type == _ERROR]
            if errors:
                values = {"column": name, "records": len(errors), "example": errors[0]}
                remarks.append(Remark("error_cells", values))
        return remarks

    def _refuse_early_dates(self, name: str, cells: Iterable[Cell]) -> None:
        """Refuse dates before 1900, and times that stand among dates for a day 0."""
        times = [isinstance(cell.value, time) for cell in cells]
        dates = [cell.value for cell in cells if isinstance(cell.value, datetime)]
        n_early = sum(each.year < _FIRST_YEAR for each in dates) + (sum(times) if dates else 0)
        if n_early:
            raise InvalidInputError(
                f"{self.text} has times among dates, or dates before 1900, which Excel does not "
                f"have, in {n_early:,} cell{'s' * (n_early != 1)} of {name}: write the column as "
                "texts such as 1899-12-31"
            )

    def _refuse_unsaved(self, sheet: Worksheet, first: int, place_of: Mapping[str, int]) -> None:
        """Refuse formulas without a value: they look empty where values are read."""
        empty = {
            cell.coordinate: name
            for name, column in place_of.items()
            for (cell,) in sheet.iter_rows(first, min_col=column, max_col=column)
            if cell.value is None and cell.data_type != _EMPTY_TEXT
        }
        if not empty:
            return
        unsaved: dict[str, list[str]] = {}
        with closing(self._load(read_only=True)) as book:
            for row in book[sheet.title].iter_rows(first):
                for cell in row:
                    if cell.data_type == _FORMULA and cell.coordinate in empty:
                        unsaved.setdefault(empty[cell.coordinate], []).append(cell.coordinate)
        for name, places in unsaved.items():
            raise InvalidInputError(
                f"{self.text} has formulas in {name} whose values were never saved "
                f"({len(places):,}, the first in {places[0]}): open the file in Excel or "
                "LibreOffice and save it, or write the values"
            )


def _is_filled(cell: Cell) -> bool:
    return cell.value not in (None, "")


def _value(cell: Cell) -> object:
    """What a cell says; ``None`` where it is empty or an error."""
    value = cell.value
    if value == "" or cell.data_type == _ERROR:
        return None
    if isinstance(value, datetime) and value.time() == time():
        return value.date()  # Excel keeps a date as its midnight
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Excel keeps all numbers as floats.
        is_whole = float(value).is_integer() and abs(value) <= _LARGEST_EXACT
        return int(value) if is_whole else float(value)
    return value


def _column(cells: Iterable[object]) -> pa.Array:
    """Values of a column in the one type that fits all, else as texts."""
    values = [*cells]
    kinds = frozenset(type(value) for value in values if value is not None)
    if kinds == {int, float}:
        kinds = frozenset({float})
    if kinds == {date, datetime}:
        values = [datetime.fromisoformat(str(value)) if value else None for value in values]
        kinds = frozenset({datetime})
    kind = _ARROW_TYPES.get(kinds)
    if kind is None:
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    return pa.array(values, kind)


def _text(value: object) -> str:
    """A value as other sources write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
