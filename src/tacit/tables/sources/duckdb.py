"""Tables of DuckDB files, which may hold several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import duckdb

from tacit.tables.connection import quote_name, quote_text
from tacit.tables.sources.source import FileOfTables, Table, check_file, describe


class DuckDBFile(FileOfTables):
    """A table of a file that ends in .duckdb: ``table`` or ``schema.table``."""

    __slots__ = ()
    ending: ClassVar[str] = ".duckdb"
    noun: ClassVar[str] = "table"

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table, attached read-only."""
        check_file(self.file, str(self.file))
        connection.execute(
            f"ATTACH {quote_text(str(self.file))} AS source (TYPE duckdb, READ_ONLY)"
        )
        rows = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = 'source' ORDER BY ALL"
        ).fetchall()
        tables = {
            name if schema == "main" else f"{schema}.{name}": (schema, name)
            for schema, name in rows
        }
        schema, name = tables[self.choose(tables)]
        yield describe(connection, f"source.{quote_name(schema)}.{quote_name(name)}")
