"""A table counted by Spark: staged, encoded, sorted by id and numbered, all in Parquet.

The rules of columns are those of the local engine, in the same words: every task runs the same SQL
in a DuckDB of its own, on the batches that Spark hands it. The driver sees the different values of
each column and how often they occur, and from these it freezes the levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.storage import atomic_folder, scratch_folder
from tacit.tables.connection import connect_file, connect_memory, quote_file, quote_name
from tacit.tables.delivery.spark.folders import (
    ENDING,
    Folder,
    HadoopFolder,
    LocalFolder,
    read_folder,
    write_folder,
)
from tacit.tables.delivery.spark.parts import new_parts
from tacit.tables.delivery.spark.session import files_in_any_order, quote_column
from tacit.tables.encoding.builder import Tally, freeze_encoding
from tacit.tables.encoding.codes import Encoding, codes_sql, levels_sql
from tacit.tables.encoding.column import Declaration
from tacit.tables.encoding.ids import normalised_id_sql
from tacit.tables.encoding.persons import Ids, refuse_persons_twice
from tacit.tables.encoding.snapshot import COUNTS_FILE, DESCRIPTION_FILE, Description
from tacit.tables.encoding.strays import reading_sql
from tacit.tables.sources.parquet import ParquetFile
from tacit.tables.sources.source import AnyTable, describe, find_source
from tacit.tables.sources.spark import SparkTable
from tacit.tables.sources.staging_table import StagingTable, stage, stored_columns, zoned_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

_ONE_ROW = "group its rows: keep what is constant, and put the rest side by side or summarise it"

MOST_VALUES = 10_000_000
"""Different values of one column that the driver looks at."""

_SPARK_TYPES = {
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DOUBLE": "double",
    "TIMESTAMP": "timestamp_ntz",
    "UBIGINT": "decimal(20,0)",
    "VARCHAR": "string",
}


def take_census(
    session: SparkSession,
    source: AnyTable,
    columns: Declaration,
    folder: Path,
    *,
    data: HadoopFolder | None,
    accept: Collection[str],
    remark: Callable[[Remark], None] | None,
) -> None:
    """Read a source and freeze it in a new folder, its parts in ``data``; see ``Engine.count``."""
    with atomic_folder(folder) as partial:
        with (
            new_parts(partial, data) as parts,
            (LocalFolder(partial) if data is None else data).scratch("staging") as tables,
            scratch_folder(partial / "driver") as here,
            _staged(session, source, columns, accept, tables, here) as table,
        ):
            with files_in_any_order(session):
                encoding = freeze_encoding(table, columns)
            _write_records(session, table, encoding, tables, parts).save(partial / COUNTS_FILE)
        if remark is not None:
            for each in table.remarks:
                remark(each)
        described = Description(n_records=table.n_records, encoding=encoding)
        (partial / DESCRIPTION_FILE).write_text(described.model_dump_json(), encoding="utf-8")


# -- staging ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ValueTable(StagingTable):
    """A staged table of which the driver's DuckDB has the values of columns, not the records.

    Attributes:
        staged: the copy, with the stored types as Spark has them.
        tables: name of a column -> table of its values, once they were asked for.
    """

    staged: DataFrame = field(kw_only=True)
    tables: dict[str, str] = field(default_factory=dict, kw_only=True)

    def values(self, name: str) -> str:
        """The table of a column's values: ``value``, and how many ``times``."""
        if name not in self.tables:
            columns = self.staged.groupBy(quote_column(name)).count()
            counted = columns.limit(MOST_VALUES + 1).toArrow()
            if counted.num_rows > MOST_VALUES:
                raise InvalidInputError(
                    f"{name} has more than {MOST_VALUES:,} different values, and Spark's driver "
                    "looks at no more: round them in the table first"
                )
            self.tables[name] = f"values_{len(self.tables)}"
            self.connection.register("counted", counted.rename_columns(["value", "times"]))
            self.connection.execute(
                f"CREATE TABLE {self.tables[name]} AS "
                f"SELECT CAST(value AS {self.types[name]}) AS value, times FROM counted"
            )
            self.connection.unregister("counted")
        return self.tables[name]

    def retype(self, name: str, stored_type: str, convert: Callable[[str], str]) -> None:
        """Give a column another type; tasks do the same when they encode."""
        self.connection.execute(
            f"ALTER TABLE {self.values(name)} ALTER COLUMN value TYPE {stored_type} "
            f"USING {convert('value')}"
        )
        self.types[name] = stored_type

    def first_records(
        self, name: str, is_wanted: Callable[[str], str], id_columns: Sequence[str], n: int
    ) -> list[tuple[object, ...]]:
        """The first records of those with a wanted value: the value, then the ids."""
        rows = self.connection.execute(
            f"SELECT value FROM {self.values(name)} WHERE {is_wanted('value')} "
            f"ORDER BY value LIMIT {n:d}"
        ).fetchall()
        columns = [quote_column(each) for each in (name, *id_columns)]
        wanted = self.staged.select(columns).filter(
            self.staged[quote_column(name)].isin([value for (value,) in rows])
        )
        return [tuple(row) for row in wanted.orderBy(columns).limit(n).collect()]


@contextmanager
def _staged(
    session: SparkSession,
    source: AnyTable,
    columns: Declaration,
    accept: Collection[str],
    tables: Folder,
    here: Path,
) -> Iterator[ValueTable]:
    """The named columns of a source, copied to Parquet, for as long as they are needed.

    Its ids tell records apart.
    """
    copy, shown = tables / "staged.parquet", find_source(source).shown
    table = read_table(session, source)
    with files_in_any_order(session):
        read = (
            _stage_here(source, columns, copy, here)
            if table is None
            else _stage_there(table, columns, copy, shown)
        )
        staged = read_folder(session, copy)
        ids = _count_ids(session, staged, columns.ids)
    if ids.n_records == 0:
        raise InvalidInputError(f"{shown} has no rows: there is nobody to release data about")
    remarks = [*read.remarks, *refuse_persons_twice(ids, accept, lambda _: _ONE_ROW)]
    with connect_file(here) as connection:
        yield ValueTable(connection, read.types, ids.n_records, remarks, read.zoned, staged=staged)


def read_table(session: SparkSession, source: AnyTable) -> DataFrame | None:
    """A table that Spark reads by itself; ``None`` for one that this machine has to read."""
    from pyspark.errors import AnalysisException

    match find_source(source):
        case ParquetFile(file=file):
            return read_folder(session, LocalFolder(file)) if file.exists() else None
        case SparkTable(table=table, text=text) as found:
            try:
                return session.table(table) if found.is_in_catalog else session.read.parquet(text)
            except AnalysisException as error:
                raise InvalidInputError(
                    f"{text} cannot be read: {error.getMessage()}; check its name"
                ) from error
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Read:
    """What is known of a table that was copied: see ``StagingTable``."""

    types: dict[str, str]
    remarks: list[Remark]
    zoned: frozenset[str]


def _stage_here(source: AnyTable, columns: Declaration, copy: Folder, here: Path) -> _Read:
    """Copy a source that Spark cannot read."""
    part = here / f"part-0{ENDING}"
    with stage(source, columns.names, here, ids=columns.ids) as table:
        table.connection.execute(f"COPY staged TO {quote_file(part)} (FORMAT parquet)")
        copy.make()
        copy.put(part)
        part.unlink()
        for name, stored in table.types.items():
            _spark_type(name, stored)
        return _Read(table.types, table.remarks, table.zoned)


def _stage_there(table: DataFrame, columns: Declaration, copy: Folder, shown: str) -> _Read:
    """Let tasks copy a table in its stored types."""
    with connect_memory() as connection:
        connection.register("batch", table.limit(0).toArrow())
        described = describe(connection, "batch")
        chosen, types = stored_columns(described, columns.names, columns.ids, shown)
    schema = ", ".join(f"{quote_column(name)} {_spark_type(name, types[name])}" for name in types)
    read = table.select([quote_column(name) for name in types])
    write_folder(read.mapInArrow(_through_duckdb(f"SELECT {chosen} FROM batch"), schema), copy)
    return _Read(types, [], zoned_columns(described))


def _spark_type(name: str, stored_type: str) -> str:
    if re.fullmatch(r"DECIMAL\(\d+,\d+\)", stored_type):
        return stored_type.lower()
    if stored_type not in _SPARK_TYPES:
        raise InvalidInputError(
            f"column {name!r} has type {stored_type}, which the engine spark does not know: turn "
            "it into a text first, or use the engine local"
        )
    return _SPARK_TYPES[stored_type]


def _through_duckdb(query: str) -> Callable[[Batches], Batches]:
    """What a task does with batches: the query, over each of them as the table ``batch``."""

    def run(batches: Batches) -> Batches:
        with connect_memory() as connection:
            for batch in batches:
                connection.register("batch", pa.Table.from_batches([batch]))
                yield from connection.sql(query).to_arrow_table().to_batches()

    return run


def _count_ids(session: SparkSession, staged: DataFrame, id_columns: Sequence[str]) -> Ids:
    """What the ids are like; tasks normalise them."""
    ids = [f"id_{k}" for k in range(len(id_columns))]
    named = zip(id_columns, ids, strict=True)
    texts = ", ".join(f"CAST({quote_name(name)} AS VARCHAR) AS {one}" for name, one in named)
    query = f"SELECT *, {normalised_id_sql(len(ids))} AS name FROM (SELECT {texts} FROM batch)"
    schema = ", ".join(f"{name} string" for name in (*ids, "name"))
    each = staged.select([quote_column(name) for name in id_columns])
    each = each.mapInArrow(_through_duckdb(query), schema)

    def run(query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.sql(query, ids=each).collect()]

    return Ids.count(id_columns, run, has_texts=True)


# -- records ------------------------------------------------------------------------------------


def _write_records(
    session: SparkSession, table: ValueTable, encoding: Encoding, tables: Folder, parts: Folder
) -> Tally:
    """Encode the records, sort them by id, number and count them."""
    from pyspark.sql import functions as f

    ids = [f"id_{k}" for k in range(len(encoding.ids))]
    types = [_spark_type(one.name, one.sql_type) for one in encoding.ids]
    levels = ["x", *(f"r_{k}" for k in range(len(encoding.externals)))]
    schema = ", ".join(
        [*(f"{name} {one}" for name, one in zip(ids, types, strict=True))]
        + [f"{name} int" for name in levels]
    )
    with files_in_any_order(session):
        # Spark reads what it sorts twice: once to see where to part it. So it is encoded before.
        coded = table.staged.mapInArrow(_encoding(encoding, table.types), schema)
        write_folder(coded, tables / "coded.parquet")
        ordered = read_folder(session, tables / "coded.parquet").orderBy(ids)
        numbered = ordered.withColumn("part", f.spark_partition_id())
        write_folder(numbered, tables / "ordered.parquet")
    written = read_folder(session, tables / "ordered.parquet")
    sizes: dict[int, int] = dict(written.groupBy("part").count().collect())
    in_parts = (sizes.get(part, 0) for part in range(max(sizes) + 1))
    first_rows = list(accumulate(in_parts, initial=0))[:-1]
    row = f.get(f.lit(first_rows), f.col("part")) + f.col("_metadata.row_index")
    write_folder(written.select(row.alias("row"), "x", *ids), parts)
    parts.sync()
    return _count_cells(written, encoding)


def _encoding(encoding: Encoding, types: dict[str, str]) -> Callable[[Batches], Batches]:
    """What a task does with batches of the staged table: ids, cells and levels."""
    from_texts = {
        column.name
        for column in (*encoding.attributes, *encoding.externals)
        if column.is_from_texts
    }
    # In their stored types again: Spark has fewer types than DuckDB.
    stored = (
        reading_sql(quote_name(name), types[name])
        if name in from_texts
        else f"CAST({quote_name(name)} AS {types[name]})"
        for name in encoding.types
    )
    names = map(quote_name, encoding.types)
    staged = ", ".join(f"{sql} AS {name}" for sql, name in zip(stored, names, strict=True))
    described = encoding.model_dump_json()
    casts = ", ".join(
        f"CAST({name} AS INTEGER) AS {name}"
        for name in ("x", *(f"r_{k}" for k in range(len(encoding.externals))))
    )

    def encode(batches: Batches) -> Batches:
        query, read = "", Encoding.model_validate_json(described)
        with connect_memory() as connection:
            for batch in batches:
                connection.register("batch", pa.Table.from_batches([batch]))
                if not query:
                    connection.execute(f"CREATE TEMP VIEW staged AS SELECT {staged} FROM batch")
                    codes = codes_sql(f"({levels_sql(connection, read)})", read)
                    query = f"SELECT * REPLACE ({casts}) FROM ({codes})"
                yield from connection.sql(query).to_arrow_table().to_batches()

    return encode


def _count_cells(written: DataFrame, encoding: Encoding) -> Tally:
    tally = Tally(encoding)
    cells = written.groupBy("x").count().toArrow()
    tally.put_cells(cells["x"].to_numpy(), cells["count"].to_numpy())
    for k in range(len(encoding.externals)):
        pairs = written.groupBy("x", f"r_{k}").count().toArrow()
        columns = (pairs[name].to_numpy() for name in ("x", f"r_{k}", "count"))
        tally.put_pairs(k, *columns)
    return tally
