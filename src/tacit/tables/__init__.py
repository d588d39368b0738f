"""From a table to codes, and from codes to files."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.tables.attribute import Attribute
    from tacit.tables.building import build
    from tacit.tables.cells import CellFunction, Cells
    from tacit.tables.changes import compare
    from tacit.tables.declaration import Declared, parse
    from tacit.tables.encoding import Encoding
    from tacit.tables.snapshot import Snapshot

__all__ = [
    "Attribute",
    "CellFunction",
    "Cells",
    "Declared",
    "Encoding",
    "Snapshot",
    "build",
    "compare",
    "parse",
]

__getattr__ = deferred(
    __name__,
    {
        "attribute": ("Attribute",),
        "building": ("build",),
        "cells": ("CellFunction", "Cells"),
        "changes": ("compare",),
        "declaration": ("Declared", "parse"),
        "encoding": ("Encoding",),
        "snapshot": ("Snapshot",),
    },
)
