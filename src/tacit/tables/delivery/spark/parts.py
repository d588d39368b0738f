"""Records and states as folders of Parquet files, the parts, whose rows say which record they are.

A part holds any records, in rising order; together they hold each record once. So tasks may be cut
as Spark likes. The driver reads parts in the order of their first record.
"""

from __future__ import annotations

import hmac
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.sampling import keyed_digest
from tacit.storage import atomic_file, atomic_folder, scratch_folder, sync
from tacit.tables.connection import quote_file
from tacit.tables.delivery.engine import StateStore
from tacit.tables.encoding.erasure import Places, find_places, without_ids
from tacit.tables.encoding.snapshot import (
    BATCH,
    COUNTS_FILE,
    DESCRIPTION_FILE,
    RECORDS_FOLDER,
    Codes,
    Snapshot,
    file_digests,
)

_ENDING = ".parquet"
_SEAL_FILE = "_seal"


class PartedSnapshot(Snapshot):
    """A snapshot whose records are in parts."""

    __slots__ = ()

    @staticmethod
    def of(snapshot: Snapshot, folder: Path) -> PartedSnapshot:
        """The records of another snapshot, as one part in a new folder."""
        with atomic_folder(folder) as partial:
            (partial / RECORDS_FOLDER).mkdir()
            for name in (COUNTS_FILE, DESCRIPTION_FILE):
                shutil.copyfile(snapshot.folder / name, partial / name)
            with snapshot.records() as reader:
                schema = pa.schema(
                    [pa.field("row", pa.int64()), pa.field("x", pa.int32()), *reader.schema][:-1]
                )
                part = partial / RECORDS_FOLDER / f"part-00000{_ENDING}"
                with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
                    start = 0
                    for batch in reader:
                        rows = np.arange(start, start + len(batch))
                        columns = [pa.array(rows), batch["x"].cast(pa.int32()), *batch.columns[:-1]]
                        writer.write_batch(pa.record_batch(columns, schema=schema))
                        start += len(batch)
            sync(part)
        return PartedSnapshot(folder, snapshot.n_records, snapshot.encoding)

    @property
    def parts(self) -> Path:
        """The folder of parts."""
        return self.folder / RECORDS_FOLDER

    @property
    def files(self) -> list[Path]:
        """All files, in an order that stays."""
        own = [self.folder / name for name in (COUNTS_FILE, DESCRIPTION_FILE)]
        return [*own, *sorted(self.parts.iterdir())]

    @property
    def ids_sql(self) -> str:
        """What to write after FROM to read the ids in order: ``row``, ``id_0``..."""
        files = ", ".join(map(quote_file, in_order_of_rows(self.parts)))
        return f"(SELECT * EXCLUDE (x) FROM read_parquet([{files}]))"

    @property
    def n_erased(self) -> int:
        """How many places are empty."""
        return sum(int(np.count_nonzero(cells == self.no_cell)) for cells in self.cells())

    def erase(self, key: bytes, id_hashes: Collection[str]) -> None:
        """Erase the records whose ids have these keyed hashes; others are ignored.

        Ids and cells of a record are in one part, which is replaced whole: after a kill, the same
        call finishes it.
        """
        places = find_places(self, key, id_hashes)
        for path in self.parts.glob(f"*{_ENDING}") if len(places) else ():
            rows = parquet.read_table(path, columns=["row"])["row"].to_numpy()
            if np.isin(rows, places).any():
                _erase_from(path, places, self.no_cell)

    def cells(self) -> Iterator[Codes]:
        """The cells of all records in order, in batches."""
        for batch in batches_of(in_order_of_rows(self.parts), ["x"]):
            yield batch["x"].to_numpy().astype(np.uint32)

    def records(self) -> pa.RecordBatchReader:
        """All records in order, with their ids and x, in batches."""
        files = in_order_of_rows(self.parts)
        names = [*(f"id_{k}" for k in range(len(self.encoding.ids))), "x"]
        schema = parquet.read_schema(files[0])
        chosen = pa.schema([schema.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(chosen, batches_of(files, names))


def _erase_from(path: Path, places: Places, no_cell: int) -> None:
    """Replace a part by one without the ids and cells of the records at these places."""
    with (
        parquet.ParquetFile(path) as before,
        atomic_file(path, mode=0o600) as file,
        parquet.ParquetWriter(file, before.schema_arrow, compression="zstd") as writer,
    ):
        for batch in before.iter_batches(BATCH):
            rows, x = batch["row"].to_numpy(), batch["x"].to_numpy()
            is_erased = np.isin(rows, places)
            kept = without_ids(batch, is_erased)
            cells = np.where(is_erased, no_cell, x).astype(x.dtype)
            for name, column in (("row", rows), ("x", cells)):
                at = kept.schema.get_field_index(name)
                kept = kept.set_column(at, kept.schema.field(at), pa.array(column))
            writer.write_batch(kept)


def in_order_of_rows(folder: Path) -> list[Path]:
    """The parts in a folder that hold any records, in the order of their first ones."""
    first: dict[Path, int] = {}
    for path in folder.glob(f"*{_ENDING}"):
        metadata = parquet.read_metadata(path)
        if metadata.num_rows:
            column = metadata.schema.names.index("row")
            first[path] = metadata.row_group(0).column(column).statistics.min
    return sorted(first, key=first.__getitem__)


def batches_of(files: Sequence[Path], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Some columns of parts, one part after the other."""
    for path in files:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                yield batch.select(columns)


@dataclass(frozen=True, slots=True)
class StateParts:
    """The states of a study's records, one folder of parts per release, with a keyed seal in it.

    Columns ``row``, ``x`` and ``state``: the next release reads nothing else.

    Attributes:
        folder: where ``<release>.parquet`` lie.
        seal_key: under which they are sealed.
    """

    folder: Path
    seal_key: bytes

    @staticmethod
    def of(states: StateStore) -> StateParts:
        """The parts in the folder where a study keeps its states."""
        return StateParts(states.folder, states.seal_key)

    def path(self, name: str) -> Path:
        """Where the states after a release are kept."""
        return self.folder / f"{name}{_ENDING}"

    def names(self) -> list[str]:
        """Releases of which states are here, sorted."""
        return sorted(path.stem for path in self.folder.glob(f"*{_ENDING}"))

    def kept(self, name: str) -> Path | None:
        """The folder of the states after a release; ``None`` if it is not what was written."""
        path = self.path(name)
        try:
            is_ours = hmac.compare_digest(self._seal(name, path), (path / _SEAL_FILE).read_text())
        except (OSError, ValueError):
            return None
        return path if is_ours else None

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A place for the parts of a release's states; they appear, sealed, when all are in."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.path(name)
        with scratch_folder(path) as scratch:
            parts = scratch / "parts"
            yield parts
            (parts / _SEAL_FILE).write_text(self._seal(name, parts))
            self.forget(name)
            parts.rename(path)

    def forget(self, name: str) -> None:
        """Remove the states after a release, if there are any."""
        if self.path(name).exists():
            shutil.rmtree(self.path(name))

    def clear(self) -> None:
        """Remove all states, and what killed writers have left beside them."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
            sync(self.folder.parent)

    def _seal(self, name: str, folder: Path) -> str:
        """The name is sealed, too: the states after another release are not believed."""
        files = sorted(folder.glob(f"*{_ENDING}"))
        names = [path.name.encode() for path in files]
        digests = file_digests(files)
        chunks = (chunk for pair in zip(names, digests, strict=True) for chunk in pair)
        return keyed_digest(self.seal_key, [f"{name}\n{len(files)}\n".encode(), *chunks])
