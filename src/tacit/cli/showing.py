"""How results look: tables and bars on a terminal, plain lines elsewhere, JSON on demand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_BAR_CELLS = 20


def show_json(result: Any) -> None:
    """For machines."""
    print(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))


def show_rows(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; columns padded with blanks elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*heading, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def bar(held: float, limit: float) -> str:
    """Bits used of a limit, as a bar."""
    cells = round(_BAR_CELLS * min(1.0, held / limit))
    return "█" * cells + "░" * (_BAR_CELLS - cells)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, a line for each quarter elsewhere; both on stderr."""
    if not sys.stderr.isatty():
        yield _Quarters(what)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


class _Quarters:
    """Says a line whenever another quarter is done, of work that takes more than one call."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = 0

    def __call__(self, done: int, total: int) -> None:
        quarter = 4 * done // total
        if quarter > self._said and done < total:
            self._said = quarter
            print(f"{self._what}: {25 * quarter} %", file=sys.stderr, flush=True)
