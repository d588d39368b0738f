"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from tacit.tables.connection import quote_file
from tacit.tables.sources.source import Table, TableFile, check_file, describe


class ParquetFile(TableFile):
    """A file that ends in .parquet."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file."""
        check_file(self.file, self.text)
        yield describe(connection, f"read_parquet({quote_file(self.file)})")
