"""Erasing records from a snapshot: their ids and cells go, their places stay, empty.

Records are found by keyed hashes of their ids, so that whoever keeps the hashes and the key can
finish an erasure, or do it again, without a list of ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.storage import atomic_file
from tacit.tables.connection import connect_reader, quote_name
from tacit.tables.encoding.builder import write_header
from tacit.tables.encoding.codes import Encoding, ids_as_stored_sql
from tacit.tables.encoding.ids import keyed_id_sql, keyed_person_sql
from tacit.tables.encoding.snapshot import BATCH, CODES_FILE, Snapshot
from tacit.tables.sources.source import AnyTable
from tacit.tables.sources.staging_table import stage

Places = NDArray[np.int64]
"""Of records in a snapshot, ascending."""


@dataclass(frozen=True, slots=True)
class HashedIds:
    """Keyed hashes of the ids in a table.

    Attributes:
        hash_of: row, from 1 -> hash, each id once, at its first row; ``None`` for what no id of the
            study can be.
        persons: such a hash -> that of the normalised id, which is one for all spellings.
        empty_rows: rows without an id.
    """

    hash_of: dict[int, str | None]
    persons: dict[str, str]
    empty_rows: tuple[int, ...]


def hash_ids(encoding: Encoding, ids: AnyTable, key: bytes, folder: Path) -> HashedIds:
    """The keyed hash of each id in a table.

    Args:
        encoding: of the study; ids are read as it stores them.
        ids: names a table with the study's id columns; other columns are not read.
        key: of the hashes.
        folder: below which the ids are copied meanwhile.
    """
    names = [column.name for column in encoding.ids]
    stored = ids_as_stored_sql(encoding)
    hashed = keyed_id_sql([column.sql_type for column in encoding.ids], key)
    person = keyed_person_sql(len(names), key)
    is_empty = " OR ".join(f"{quote_name(name)} IS NULL" for name in names)
    with stage(ids, names, folder, ids=names, is_in_order=True) as table:
        rows = table.connection.execute(
            f"SELECT rowid + 1, {hashed}, {person} FROM (SELECT rowid, {stored} FROM staged "
            f"WHERE NOT ({is_empty})) ORDER BY rowid"
        ).fetchall()
        empty = table.connection.execute(
            f"SELECT rowid + 1 FROM staged WHERE {is_empty} ORDER BY rowid"
        ).fetchall()
    first_row = {hashed: row for row, hashed, _ in reversed(rows) if hashed is not None}
    found: dict[int, str | None] = {row: hashed for hashed, row in first_row.items()}
    found |= {row: None for row, hashed, _ in rows if hashed is None}
    persons = {hashed: person for _, hashed, person in rows if hashed is not None}
    return HashedIds(dict(sorted(found.items())), persons, tuple(row for (row,) in empty))


def hash_persons(ids: Sequence[str], n_columns: int, key: bytes) -> dict[str, str]:
    """The keyed hash of each normalised id; of several columns, with commas between."""
    parts = [text.split(",") if n_columns > 1 else [text] for text in ids]
    for text, each in zip(ids, parts, strict=True):
        if len(each) != n_columns:
            raise InvalidInputError(
                f"{text!r} is not an id of {n_columns} columns: write them with commas between"
            )
    hashed = keyed_person_sql(n_columns, key)
    columns = {
        f"id_{k}": pa.array([each[k] for each in parts], pa.string()) for k in range(n_columns)
    }
    with connect_reader() as connection:
        connection.register("spelt", pa.table(columns))
        rows = connection.execute(f"SELECT {hashed} FROM spelt").fetchall()
    return {text: person for text, (person,) in zip(ids, rows, strict=True)}


def known_hashes(snapshot: Snapshot, key: bytes, id_hashes: Collection[str]) -> set[str]:
    """Those of the keyed hashes that are of a record's id."""
    return {hashed for _, hashed in _find(snapshot, key, id_hashes)}


def erase(snapshot: Snapshot, key: bytes, id_hashes: Collection[str]) -> None:
    """Erase the records whose ids have these keyed hashes; others are ignored.

    Cells go first, because records are found by their ids: after a kill, the same call finishes it.
    """
    places = find_places(snapshot, key, id_hashes)
    if len(places) == 0:
        return
    x, no_cell = snapshot.x, snapshot.no_cell
    dtype = np.min_scalar_type(no_cell).newbyteorder("<")
    with atomic_file(snapshot.folder / CODES_FILE, mode=0o600) as file:
        write_header(file, dtype, len(x))
        for start in range(0, len(x), BATCH):
            cells = x[start : start + BATCH].astype(dtype)
            cells[_within(places, start, len(cells))] = no_cell
            file.write(cells.data)
    start = 0
    with (
        pq.ParquetFile(snapshot.ids_path) as before,
        atomic_file(snapshot.ids_path, mode=0o600) as file,
        pq.ParquetWriter(file, before.schema_arrow, compression="zstd") as writer,
    ):
        for ids in before.iter_batches(BATCH):
            is_erased = np.zeros(len(ids), dtype=bool)
            is_erased[_within(places, start, len(ids))] = True
            writer.write_batch(without_ids(ids, is_erased))
            start += len(ids)


def find_places(snapshot: Snapshot, key: bytes, id_hashes: Collection[str]) -> Places:
    """Where the records are that have one of the keyed hashes."""
    return np.array(sorted(place for place, _ in _find(snapshot, key, id_hashes)), dtype=np.int64)


def _find(snapshot: Snapshot, key: bytes, id_hashes: Collection[str]) -> list[tuple[int, str]]:
    """Place and keyed hash of the records that have one of the hashes."""
    hashed = keyed_id_sql([column.sql_type for column in snapshot.encoding.ids], key)
    with connect_reader() as connection:
        connection.register("wanted", pa.table({"hash": pa.array(id_hashes, pa.string())}))
        return connection.execute(
            f"SELECT row, hash FROM (SELECT row, {hashed} AS hash FROM {snapshot.ids_sql}) "
            "WHERE hash IN (SELECT hash FROM wanted)"
        ).fetchall()


def without_ids(records: pa.RecordBatch, is_erased: NDArray[np.bool_]) -> pa.RecordBatch:
    """Records with NULL in all columns of those that are erased."""
    where = pa.array(is_erased)
    kept = [pc.if_else(where, pa.scalar(None, each.type), each) for each in records.columns]
    return pa.record_batch(kept, schema=records.schema)


def _within(places: Places, start: int, length: int) -> Places:
    """Places in a batch, counted from its start."""
    first, last = np.searchsorted(places, (start, start + length))
    return places[first:last] - start
