"""Parquet: a file, or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InvalidInputError
from tacit.tables.connection import quote_file, reason
from tacit.tables.sources.source import Table, TableFile, check_file, describe
from tacit.tables.sources.wide_decimals import refuse_wide_decimals


class ParquetFile(TableFile):
    """A file or folder that ends in .parquet, or a folder that is named with a / at its end."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file, or in all files of the folder."""
        if not self.file.is_dir():
            check_file(self.file, self.text)
            files, from_sql = [self.file], f"read_parquet({quote_file(self.file)})"
        else:
            files = sorted(self.file.rglob("*.parquet"))
            if not files:
                raise InvalidInputError(
                    f"there is no .parquet file in {self.text}: name another folder"
                )
            listed = ", ".join(map(quote_file, files))
            from_sql = f"read_parquet([{listed}], hive_partitioning = true)"
        table = describe(connection, from_sql)
        try:
            schema = pq.read_schema(files[0])
        except pa.ArrowException as error:
            raise InvalidInputError(f"{self.text} cannot be read: {reason(error)}") from None
        # DuckDB takes decimals with more digits than its own for floats.
        yield replace(table, names=schema.names, look=partial(refuse_wide_decimals, schema))
