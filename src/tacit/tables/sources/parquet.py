"""Parquet: a file, or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_file
from tacit.tables.sources.source import Table, TableFile, check_file, describe


class ParquetFile(TableFile):
    """A file or folder that ends in .parquet, or a folder that is named with a / at its end."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file, or in all files of the folder."""
        yield describe(connection, self._from_sql())

    def _from_sql(self) -> str:
        if not self.file.is_dir():
            check_file(self.file, self.text)
            return f"read_parquet({quote_file(self.file)})"
        files = sorted(self.file.rglob("*.parquet"))
        if not files:
            raise InvalidInputError(
                f"there is no .parquet file in {self.text}: name another folder"
            )
        return f"read_parquet([{', '.join(map(quote_file, files))}], hive_partitioning = true)"
