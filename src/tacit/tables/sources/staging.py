"""A source read once: the columns that matter, copied to disk with the types that are stored.

Everything after that reads the copy: a source that is slow, or is changed meanwhile, is no matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tacit.errors import InvalidInputError
from tacit.storage import scratch_folder
from tacit.tables.connection import connect_file, quote_name, reason
from tacit.tables.encoding.attribute import store
from tacit.tables.nearest import nearest_first
from tacit.tables.sources.postgresql import is_url, without_secrets
from tacit.tables.sources.source import Table, opened


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A copy of some columns.

    Attributes:
        connection: to a database whose table ``staged`` is the copy.
        types: the stored type of each column.
        n_records: how many rows there are.
        remarks: what the custodian should know, gathered while its columns are looked at.
    """

    connection: duckdb.DuckDBPyConnection
    types: dict[str, str]
    n_records: int
    remarks: list[str] = field(default_factory=list)


@contextmanager
def staged(source: str, columns: Sequence[str], folder: Path) -> Iterator[Staged]:
    """The named columns of a source, copied below ``folder`` for as long as they are needed."""
    shown = without_secrets(source) if is_url(source) else source
    with scratch_folder(folder / "staging") as scratch, ExitStack() as open_files:
        try:
            connection = open_files.enter_context(connect_file(scratch))
            with opened(source, connection) as table:
                types = _copy(connection, table, columns, shown)
        except duckdb.Error as error:
            raise InvalidInputError(
                f"{shown} cannot be read: {reason(error)}; check it, and the room on the disk"
            ) from None
        [(n_records,)] = connection.execute("SELECT count(*) FROM staged").fetchall()
        if n_records == 0:
            raise InvalidInputError(f"{shown} has no rows: there is nobody to release data about")
        yield Staged(connection, types, n_records)


def _copy(
    connection: duckdb.DuckDBPyConnection, table: Table, columns: Sequence[str], shown: str
) -> dict[str, str]:
    """Copy the columns; the stored type of each."""
    for name in columns:
        if name not in table.types:
            raise InvalidInputError(
                f"there is no column {name!r} in {shown}: it has {nearest_first(name, table.types)}"
            )
    stored = {
        name: store(f"column {name!r}", quote_name(name), table.types[name]) for name in columns
    }
    chosen = ", ".join(f"{sql} AS {quote_name(name)}" for name, (sql, _) in stored.items())
    connection.execute(f"CREATE TABLE staged AS SELECT {chosen} FROM {table.scan(columns)}")
    return {name: stored_type for name, (_, stored_type) in stored.items()}
