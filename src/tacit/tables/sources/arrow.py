"""Arrow files, which are also called Feather files (version 2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa
from pyarrow.dataset import dataset

from tacit.errors import InvalidInputError
from tacit.tables.connection import reason
from tacit.tables.sources.source import Table, TableFile, check_file, describe


class ArrowFile(TableFile):
    """A file that ends in .arrow or .feather."""

    __slots__ = ()

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
        """The table in the file, read in batches."""
        check_file(self.file, self.text)
        try:
            connection.register("incoming", dataset(self.file.absolute(), format="ipc"))
            yield describe(connection, "incoming")
        except pa.ArrowException as error:
            raise InvalidInputError(
                f"{self.text} cannot be read: {reason(error)}; write it as an Arrow file, which is "
                "not an Arrow stream"
            ) from None
