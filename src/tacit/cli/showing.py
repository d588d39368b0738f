"""How results look: tables and bars on a terminal, plain lines elsewhere, JSON on demand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

_BAR_CELLS = 20
_LEAST_WIDE = 12
"""Columns for names, however narrow a terminal is."""

_NUMBER = re.compile(r"[+≤-]?\d[\d,]*(\.\d+)? ?%?|∞|-?")


def show_json(result: Any) -> None:
    """One document for machines, in letters that any terminal and any pipe can carry."""
    print(json.dumps(result, indent=2, allow_nan=False))


def plain(text: str) -> str:
    """A text on one line, without signs that could move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 release``, ``2,000 releases``."""
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def bar(held: float, limit: float) -> str:
    """Bits used of a limit, as a bar; rounded up, so that no bit looks unused that is used."""
    full, empty = ("█", "░") if _can_show("█░") else ("#", ".")
    cells = min(_BAR_CELLS, ceil(_BAR_CELLS * held / limit)) if limit > 0 else _BAR_CELLS
    cells = max(cells, int(held > 0))  # the share of a tiny number may round to 0
    return full * cells + empty * (_BAR_CELLS - cells)


def show_rows(heading: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int = 0) -> None:
    """A table: drawn to fit on a terminal, padded with blanks elsewhere.

    Args:
        heading: of the columns.
        rows: texts; columns of numbers are flushed right.
        wide: the column that is broken over several lines where a terminal is too narrow.
    """
    shown = [[plain(cell) for cell in row] for row in rows]
    is_number = [all(map(_NUMBER.fullmatch, column)) for column in zip(*shown, strict=True)]
    if sys.stdout.isatty():
        _draw(heading, shown, is_number, wide)
        return
    widths = [max(map(len, column)) for column in zip(heading, *shown, strict=True)]
    for row in (heading, *shown):
        cells = zip(row, widths, is_number, strict=True)
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        print("  ".join(padded).rstrip())


def _draw(heading: Sequence[str], rows: list[list[str]], is_number: list[bool], wide: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, title in enumerate(heading):
        table.add_column(
            Text(title),
            justify="right" if is_number[k] else "left",
            no_wrap=k != wide,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_coloured, row))
    console = Console(highlight=False)
    # A line that a narrow terminal breaks can be read; a column of single letters cannot.
    console.width = max(console.width, _least_width([list(heading), *rows], wide))
    console.print(table)


def _least_width(rows: list[list[str]], wide: int) -> int:
    """Columns that a table needs if its wide column gets no more than ``_LEAST_WIDE``."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    widths[wide] = min(widths[wide], _LEAST_WIDE)
    return sum(widths) + 2 * len(widths)


def _coloured(cell: str) -> Text:
    """A cell of a table, a full bar in red; no markup: a level may be called [red]."""
    from rich.text import Text

    is_full = cell in ("█" * _BAR_CELLS, "#" * _BAR_CELLS)
    return Text(cell, style="red" if is_full else "")


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(sign: str) -> str:
    return "\\n" if sign == "\n" else sign.encode("unicode_escape").decode()
