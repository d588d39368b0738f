"""From a table to codes, and from codes to files."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.tables.encoding.attribute import Attribute, Bins, Categories, Groups
    from tacit.tables.encoding.builder import build
    from tacit.tables.encoding.comparison import compare
    from tacit.tables.encoding.declaration import Declared, parse
    from tacit.tables.encoding.encoding import Encoding, IdColumn
    from tacit.tables.encoding.snapshot import Snapshot
    from tacit.tables.questions.cells import CellFunction, Cells

__all__ = [
    "Attribute",
    "Bins",
    "Categories",
    "CellFunction",
    "Cells",
    "Declared",
    "Encoding",
    "Groups",
    "IdColumn",
    "Snapshot",
    "build",
    "compare",
    "parse",
]

__getattr__ = deferred(
    __name__,
    {
        "encoding.attribute": ("Attribute", "Bins", "Categories", "Groups"),
        "encoding.builder": ("build",),
        "questions.cells": ("CellFunction", "Cells"),
        "encoding.comparison": ("compare",),
        "encoding.declaration": ("Declared", "parse"),
        "encoding.encoding": ("Encoding", "IdColumn"),
        "encoding.snapshot": ("Snapshot",),
    },
)
