"""Tables in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb

from tacit.frames import read_frame
from tacit.tables.sources.arrow import describe_arrow
from tacit.tables.sources.source import Table


class MemoryTable:
    """A data frame, read at once: its stream may be gone when it is asked for again."""

    shown = text = "the table in memory"
    file = None

    def __init__(self, frame: object) -> None:
        self._table, self._index = read_frame(frame)

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """Its columns, without those of an index."""
        table = describe_arrow(
            connection,
            self._table.schema,
            lambda schema: self._table.select(schema.names).cast(schema),
        )
        yield replace(table, index=self._index)
