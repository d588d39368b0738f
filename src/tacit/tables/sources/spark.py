"""Tables that only Spark reaches: those of its catalog, and Parquet on file systems of clusters."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import duckdb

from tacit.errors import InvalidInputError
from tacit.tables.sources.source import Table

_CATALOG = "spark:"


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table of Spark's catalog, as ``spark:ward.patients``, or a folder at an address.

    Attributes:
        text: how the source was named.
    """

    text: str

    @property
    def shown(self) -> str:
        """As it was named: Spark's settings hold the secrets."""
        return self.text

    @property
    def file(self) -> None:
        """None here: it is on a cluster."""
        return

    @property
    def is_in_catalog(self) -> bool:
        """Whether it is a table of the catalog."""
        return self.text.startswith(_CATALOG)

    @property
    def table(self) -> str:
        """Its name in the catalog."""
        return self.text.removeprefix(_CATALOG)

    def open(self, connection: duckdb.DuckDBPyConnection) -> AbstractContextManager[Table]:
        """Nothing: this machine does not reach it."""
        del connection
        raise InvalidInputError(f"{self.text} is read by Spark alone: use the engine spark")
