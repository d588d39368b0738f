"""A snapshot made from a source: read once, encoded, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InvalidInputError
from tacit.remark import Remark
from tacit.storage import atomic_folder
from tacit.tables.connection import reason
from tacit.tables.encoding.codes import Encoding, IdColumn, codes_sql, levels_sql
from tacit.tables.encoding.column import Declaration
from tacit.tables.encoding.levels import freeze, freeze_all
from tacit.tables.encoding.persons import check_ids
from tacit.tables.encoding.snapshot import (
    BATCH,
    CODES_FILE,
    COUNTS_FILE,
    DESCRIPTION_FILE,
    IDS_FILE,
    Counts,
    Description,
    Snapshot,
)
from tacit.tables.sources.source import AnyTable
from tacit.tables.sources.staging_table import StagingTable, stage

MOST_PAIRS = 10_000_000
"""Of cells and levels of an external column: 80 MB of counts."""


def build(
    source: AnyTable,
    columns: Declaration,
    folder: Path,
    *,
    accept: Collection[str] = (),
    remark: Callable[[Remark], None] | None = None,
) -> Snapshot:
    """Read a source and freeze it in a new folder.

    Args:
        source: the table, see ``source``.
        columns: to read, and what each is for.
        folder: where the snapshot will be; it must not exist.
        accept: codes of what the custodian accepts about its ids.
        remark: called with what the custodian should know about the table.
    """
    with new_snapshot(folder) as partial:
        with stage(source, columns.names, partial, ids=columns.ids) as table:
            table.remarks.extend(check_ids(table, columns.ids, accept, source, partial))
            encoding = freeze_encoding(table, columns)
            levels = f"({levels_sql(table.connection, encoding)})"
            write_snapshot(table, encoding, levels, partial)
        if remark is not None:
            for each in table.remarks:
                remark(each)
    return Snapshot(folder, table.n_records, encoding)


@contextmanager
def new_snapshot(folder: Path) -> Iterator[Path]:
    """A folder to write a snapshot into that appears whole or not at all."""
    try:
        with atomic_folder(folder) as partial:
            yield partial
    except (duckdb.Error, OSError) as error:
        raise InvalidInputError(
            f"{folder} cannot be written: {reason(error)}; make room, or choose another place"
        ) from error


def freeze_encoding(table: StagingTable, columns: Declaration) -> Encoding:
    """Fix how a table becomes cells, by looking at its values."""
    encoding = Encoding(
        ids=tuple(IdColumn(name=name, sql_type=table.types[name]) for name in columns.ids),
        attributes=freeze_all(table, columns.attributes, columns.ids),
        externals=tuple(freeze(table, column, columns.ids) for column in columns.externals),
    )
    for external in encoding.externals:
        if encoding.n_cells * external.n_levels > MOST_PAIRS:
            raise InvalidInputError(
                f"{external.name} has {external.n_levels:,} levels in each of "
                f"{encoding.n_cells:,} cells, and {MOST_PAIRS:,} together is the most: "
                "give it fewer levels with cuts, quantiles or groups"
            )
    return encoding


def write_snapshot(table: StagingTable, encoding: Encoding, levels: str, folder: Path) -> None:
    """One pass over the records in the order of their ids.

    Args:
        table: the copy that they are in.
        encoding: how they become codes.
        levels: what ``levels_sql`` gives, or a table with some of it.
        folder: where the files go.
    """
    order = ", ".join(f"id_{k}" for k in range(len(encoding.ids)))
    codes = table.connection.sql(f"{codes_sql(levels, encoding)} ORDER BY {order}")
    reader = codes.to_arrow_reader(BATCH)
    ids = pa.schema([field for field in reader.schema if field.name.startswith("id_")])
    dtype = np.min_scalar_type(encoding.n_cells - 1).newbyteorder("<")
    counts = Tally(encoding)
    with (
        pq.ParquetWriter(folder / IDS_FILE, ids, compression="zstd") as id_writer,
        (folder / CODES_FILE).open("wb") as x_file,
    ):
        write_header(x_file, dtype, table.n_records)
        for batch in reader:
            id_writer.write_batch(batch.select(ids.names))
            x_file.write(batch["x"].to_numpy().astype(dtype).data)
            counts.add(batch)
    counts.save(folder / COUNTS_FILE)
    description = Description(n_records=table.n_records, encoding=encoding)
    (folder / DESCRIPTION_FILE).write_text(description.model_dump_json(), encoding="utf-8")


def write_header(file: BinaryIO, dtype: np.dtype[np.unsignedinteger], n: int) -> None:
    """Write what comes before ``n`` numbers in a .npy file.

    Numbers are appended and not mapped: then a full disk raises an error and not a signal.
    """
    described = {"descr": dtype.str, "fortran_order": False, "shape": (n,)}
    np.lib.format.write_array_header_1_0(file, described)


class Tally:
    """Exact counts: of records by cell, and by cell and level of each external column."""

    def __init__(self, encoding: Encoding) -> None:
        sizes = [external.n_levels for external in encoding.externals]
        self._n_cells = encoding.n_cells
        self._cells: Counts = np.zeros(self._n_cells, dtype=np.int64)
        self._externals = [np.zeros((self._n_cells, size), dtype=np.int64) for size in sizes]

    def add(self, batch: pa.RecordBatch) -> None:
        """Count records with their ``x`` and ``r_0``..."""
        x = batch["x"].to_numpy().astype(np.int64)
        self._cells += np.bincount(x, minlength=self._n_cells)
        for k, counts in enumerate(self._externals):
            pairs = x * counts.shape[1] + batch[f"r_{k}"].to_numpy()
            counts += np.bincount(pairs, minlength=counts.size).reshape(counts.shape)

    def put_cells(self, x: Counts, times: Counts) -> None:
        """Take how often each cell occurs."""
        self._cells[x] = times

    def put_pairs(self, k: int, x: Counts, r: Counts, times: Counts) -> None:
        """Take how often each pair of a cell and a level of external column ``k`` occurs."""
        self._externals[k][x, r] = times

    def save(self, path: Path) -> None:
        """Write the counts to a new file."""
        arrays = {f"external_{k}": counts for k, counts in enumerate(self._externals)}
        arrays["cells"] = self._cells
        np.savez_compressed(path, allow_pickle=False, **arrays)
