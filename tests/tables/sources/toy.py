"""A toy source: a TOML file with an array of tables. It shows what a source needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from tacit.tables.sources.source import Table, TableFile, check_file, describe


class TomlFile(TableFile):
    """The only array of tables in a file that ends in .toml."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        check_file(self.file, self.text)
        [rows] = tomllib.loads(self.file.read_text(encoding="utf-8")).values()
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        connection.register("toml", pa.table(columns))
        yield describe(connection, "toml")
