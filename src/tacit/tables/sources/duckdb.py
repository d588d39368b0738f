"""Tables of DuckDB files, which may hold several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first
from tacit.tables.connection import quote_name, quote_text
from tacit.tables.sources.source import Table, TableFile, check_file, describe

_NAME = re.compile(r"(?P<file>.+?\.duckdb)((::|#)(?P<table>.+))?", re.DOTALL)


class DuckDBFile(TableFile):
    """A table of a file that ends in .duckdb.

    Named by the file where it has one table, else as in ``clinic.duckdb::ward.patients``; # may
    stand for ::.
    """

    __slots__ = ()

    @property
    def file(self) -> Path:
        """The file."""
        return Path(self._parts[0])

    @property
    def table(self) -> str | None:
        """Name of the table, perhaps ``schema.table``; ``None`` for the only one."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str | None]:
        match = _NAME.fullmatch(self.text)
        return (self.text, None) if match is None else (match["file"], match["table"])

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table, attached read-only."""
        check_file(self.file, str(self.file))
        connection.execute(
            f"ATTACH {quote_text(str(self.file))} AS source (TYPE duckdb, READ_ONLY)"
        )
        schema, name = self._find_table(connection)
        yield describe(connection, f"source.{quote_name(schema)}.{quote_name(name)}")

    def _find_table(self, connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
        """Schema and name of the table."""
        rows = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = 'source' ORDER BY ALL"
        ).fetchall()
        tables = {
            name if schema == "main" else f"{schema}.{name}": (schema, name)
            for schema, name in rows
        }
        if self.table is None and len(tables) != 1:
            raise InvalidInputError(
                f"{self.file} holds {len(tables)} tables ({nearest_first('', tables)}): "
                f"say which one, as in {self.file}::table"
            )
        chosen = self.table or next(iter(tables))
        if chosen not in tables:
            raise InvalidInputError(
                f"{self.file} has no table {chosen!r}: it has {nearest_first(chosen, tables)}"
            )
        return tables[chosen]
