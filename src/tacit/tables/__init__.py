"""From a table to codes, and from codes to files."""

from typing import TYPE_CHECKING

from tacit.deferral import deferred

if TYPE_CHECKING:
    from tacit.tables.delivery.engine import Records
    from tacit.tables.delivery.links import Links
    from tacit.tables.encoding.attribute import Attribute, Bins, Categories, Groups, Periods
    from tacit.tables.encoding.builder import build
    from tacit.tables.encoding.codes import Encoding, IdColumn
    from tacit.tables.encoding.column import Column, Declaration
    from tacit.tables.encoding.snapshot import Snapshot
    from tacit.tables.questions.cells import Cells, Question

__all__ = [
    "Attribute",
    "Bins",
    "Categories",
    "Cells",
    "Column",
    "Declaration",
    "Encoding",
    "Groups",
    "IdColumn",
    "Links",
    "Periods",
    "Question",
    "Records",
    "Snapshot",
    "build",
]

__getattr__ = deferred(
    __name__,
    {
        "delivery.engine": ("Records",),
        "delivery.links": ("Links",),
        "encoding.attribute": ("Attribute", "Bins", "Categories", "Groups", "Periods"),
        "encoding.builder": ("build",),
        "questions.cells": ("Cells", "Question"),
        "encoding.column": ("Column", "Declaration"),
        "encoding.codes": ("Encoding", "IdColumn"),
        "encoding.snapshot": ("Snapshot",),
    },
)
