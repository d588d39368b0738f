"""Arrow files, which are also called Feather files (version 2), and how Arrow's types are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import duckdb
import pyarrow as pa
from pyarrow.dataset import dataset

from tacit.errors import InvalidInputError
from tacit.tables.connection import reason
from tacit.tables.sources.source import Table, TableFile, check_file, describe
from tacit.tables.sources.wide_decimals import refuse_wide_decimals

_READ_AS = {pa.float16(): pa.float32()}
"""Types that DuckDB does not know -> what they are read as."""


def describe_arrow(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, read: Callable[[pa.Schema], object]
) -> Table:
    """What ``read`` gives of a schema; columns that DuckDB cannot read have Arrow's type."""
    fields = [field.with_type(_READ_AS.get(field.type, field.type)) for field in schema]
    readable = [field for field in fields if _is_readable(connection, field)]
    types = {field.name: str(field.type) for field in fields}
    if readable:
        connection.register("incoming", read(pa.schema(readable)))
        types |= describe(connection, "incoming").types
    return Table(types, lambda _: "incoming", schema.names, partial(refuse_wide_decimals, schema))


def _is_readable(connection: duckdb.DuckDBPyConnection, field: pa.Field) -> bool:
    try:
        connection.register("probe", pa.schema([field]).empty_table())
    except duckdb.NotImplementedException:
        return False
    connection.unregister("probe")
    return True


class ArrowFile(TableFile):
    """A file that ends in .arrow or .feather."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file, read in batches."""
        check_file(self.file, self.text)
        try:
            read = partial(dataset, self.file.absolute(), format="ipc")
            yield describe_arrow(connection, read().schema, read)
        except pa.ArrowException as error:
            raise InvalidInputError(
                f"{self.text} cannot be read: {reason(error)}; write it as an Arrow file, which is "
                "neither an Arrow stream nor Feather version 1"
            ) from None
