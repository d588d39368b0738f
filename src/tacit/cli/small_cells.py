"""Combinations of levels that few records have, as commands list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.display import plain, show_rows

if TYPE_CHECKING:
    from tacit.study.reports.status import SmallCell

MinCell = Annotated[
    int, typer.Option(metavar="NUMBER", min=0, help="List cells with fewer records; 0 for none.")
]

_MOST_CELLS_SHOWN = 20


def show_cells(names: Sequence[str], small: Sequence[SmallCell], min_cell: int) -> None:
    """Few records by private levels, then by these and each external column."""
    kinds: dict[str | None, list[SmallCell]] = {}
    for cell in small:
        kinds.setdefault(cell.external[0] if cell.external else None, []).append(cell)
    for external, cells in kinds.items():
        with_it = "" if external is None else f" with {plain(external)}"
        have = f"combination{with_it} has" if len(cells) == 1 else f"combinations{with_it} have"
        print(f"{len(cells):,} {have} fewer than {min_cell} records:")
        rows = [
            (*cell.levels, *(cell.external or ())[1:], str(cell.records))
            for cell in cells[:_MOST_CELLS_SHOWN]
        ]
        show_rows((*names, *([] if external is None else [external]), "records"), rows)
        if len(cells) > _MOST_CELLS_SHOWN:
            print(f"and {len(cells) - _MOST_CELLS_SHOWN:,} more; --json lists all")
