"""Records and states as folders of Parquet files, the parts, whose rows say which record they are.

A part holds any records, in rising order; together they hold each record once. So tasks may be cut
as Spark likes. The driver reads parts in the order of their first record.
"""

from __future__ import annotations

import hmac
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.sampling import keyed_digest
from tacit.storage import atomic_file, atomic_folder, scratch_folder, sync
from tacit.tables.connection import quote_file
from tacit.tables.delivery.spark.folders import (
    ENDING,
    Folder,
    HadoopFolder,
    LocalFolder,
    read_folder,
)
from tacit.tables.encoding.erasure import Places, find_places, without_ids
from tacit.tables.encoding.snapshot import (
    ADDRESS_FILE,
    BATCH,
    COUNTS_FILE,
    DESCRIPTION_FILE,
    RECORDS_FOLDER,
    Codes,
    Snapshot,
    file_digests,
)

_SEAL_FILE = "_seal"
_TOKEN_BYTES = 8


class PartedSnapshot(Snapshot):
    """A snapshot whose records are in parts."""

    __slots__ = ()

    @property
    def parts(self) -> Path:
        """The folder of parts."""
        return self.folder / RECORDS_FOLDER

    @property
    def place(self) -> Folder:
        """The same, as Spark finds it."""
        return LocalFolder(self.parts)

    def seal(self, key: bytes) -> str:
        """Keyed digest of the files as they are, tasks digest those that are elsewhere."""
        own = file_digests([self.folder / name for name in (COUNTS_FILE, DESCRIPTION_FILE)])
        return keyed_digest(key, [*own, *self.place.digests()])

    @contextmanager
    def here(self) -> Iterator[PartedSnapshot]:
        """The same records, with all parts on this machine."""
        yield self

    @property
    def ids_sql(self) -> str:
        """What to write after FROM to read the ids in order: ``row``, ``id_0``..."""
        files = ", ".join(map(quote_file, in_order_of_rows(self.parts)))
        return f"(SELECT * EXCLUDE (x) FROM read_parquet([{files}]))"

    @property
    def n_erased(self) -> int:
        """How many places are empty."""
        return sum(int(np.count_nonzero(cells == self.no_cell)) for cells in self.cells())

    def erase(self, key: bytes, id_hashes: Collection[str]) -> list[Path]:
        """Erase the records whose ids have these keyed hashes, others are ignored; changed parts.

        Ids and cells of a record are in one part, which is replaced whole: after a kill, the same
        call finishes it.
        """
        places = find_places(self, key, id_hashes)
        changed = []
        for path in self.parts.glob(f"*{ENDING}") if len(places) else ():
            rows = parquet.read_table(path, columns=["row"])["row"].to_numpy()
            if np.isin(rows, places).any():
                _erase_from(path, places, self.no_cell)
                changed.append(path)
        return changed

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


@dataclass(frozen=True, slots=True)
class RemoteSnapshot(PartedSnapshot):
    """A snapshot whose parts are on a file system of the cluster.

    What is small is in the folder, with the address of the parts. What the driver has to read
    itself, it copies for as long as it needs.
    """

    place: HadoopFolder = field(kw_only=True)

    @contextmanager
    def here(self) -> Iterator[PartedSnapshot]:
        """The same records, copied to this machine for as long as they are needed."""
        with scratch_folder(self.folder / RECORDS_FOLDER) as scratch:
            (scratch / RECORDS_FOLDER).mkdir()
            self.place.fetch(scratch / RECORDS_FOLDER)
            for name in (COUNTS_FILE, DESCRIPTION_FILE):
                shutil.copyfile(self.folder / name, scratch / name)
            yield PartedSnapshot(scratch, self.n_records, self.encoding)

    @property
    def n_erased(self) -> int:
        """How many places are empty; tasks count them."""
        with self.place.session() as session:
            return read_folder(session, self.place).filter(f"x = {self.no_cell:d}").count()

    def check_seal(self, key: bytes, seal: str) -> None:
        """Raise unless the files are still those that were sealed; say if they are out of reach."""
        try:
            self.place.names()
        except OSError as error:
            raise InvalidInputError(
                f"the records in {self.place.address} cannot be reached ({error}): check the "
                "cluster's settings, and ask again"
            ) from error
        PartedSnapshot.check_seal(self, key, seal)

    def digest(self, key: bytes) -> str:
        """Keyed digest of the content."""
        with self.here() as held:
            return held.digest(key)

    def sketch(self, salt: bytes, k: int = 256) -> list[str]:
        """The ``k`` smallest salted hashes of the normalised ids."""
        with self.here() as held:
            return held.sketch(salt, k)

    def erase(self, key: bytes, id_hashes: Collection[str]) -> list[Path]:
        """Erase records from copies of the parts, and put those that changed back."""
        with self.here() as held:
            changed = held.erase(key, id_hashes)
            for path in changed:
                self.place.put(path)
        return changed


def open_parts(folder: Path, master: str | None) -> PartedSnapshot:
    """The snapshot in a folder, wherever its parts are."""
    found = PartedSnapshot.open(folder)
    try:
        address = (folder / ADDRESS_FILE).read_text()
    except FileNotFoundError:
        return found
    place = HadoopFolder(address, master)
    return RemoteSnapshot(folder, found.n_records, found.encoding, place=place)


@contextmanager
def new_parts(folder: Path, data: HadoopFolder | None) -> Iterator[Folder]:
    """Where the parts of a new snapshot in a folder go; removed after an error.

    Args:
        folder: of the snapshot, whose writer removes it after an error.
        data: where the study's parts are; ``None`` if they are in its folders.
    """
    if data is None:
        yield LocalFolder(folder / RECORDS_FOLDER)
        return
    place = data / f"records-{token_hex(_TOKEN_BYTES)}"
    try:
        yield place
        (folder / ADDRESS_FILE).write_text(place.address)
    except BaseException:
        place.remove()
        raise


def copy_snapshot(snapshot: Snapshot, folder: Path, data: HadoopFolder | None) -> None:
    """Write the records of another snapshot, as one part, into a new folder."""
    with atomic_folder(folder) as partial, new_parts(partial, data) as parts:
        for name in (COUNTS_FILE, DESCRIPTION_FILE):
            shutil.copyfile(snapshot.folder / name, partial / name)
        with scratch_folder(partial / RECORDS_FOLDER) as scratch:
            part = scratch / f"part-00000{ENDING}"
            _write_part(snapshot, part)
            parts.make()
            parts.put(part)


def _write_part(snapshot: Snapshot, part: Path) -> None:
    """All records of a snapshot."""
    with snapshot.records() as reader:
        numbered = [pa.field("row", pa.int64()), pa.field("x", pa.int32())]
        schema = pa.schema([*numbered, *reader.schema][:-1])
        with parquet.ParquetWriter(part, schema, compression="zstd") as writer:
            start = 0
            for batch in reader:
                rows = np.arange(start, start + len(batch))
                columns = [pa.array(rows), batch["x"].cast(pa.int32()), *batch.columns[:-1]]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                start += len(batch)


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
    for path in folder.glob(f"*{ENDING}"):
        metadata = parquet.read_metadata(path)
        if metadata.num_rows:
            column = metadata.schema.names.index("row")
            first[path] = metadata.row_group(0).column(column).statistics.min
    return sorted(first, key=first.__getitem__)


def batches_of(files: Iterable[Path], columns: list[str]) -> Iterator[pa.RecordBatch]:
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
        folder: has a folder ``<release>.parquet`` for each release whose states are kept.
        parts: where such folders have the parts in them; the same, unless that is elsewhere.
        seal_key: under which they are sealed.
    """

    folder: Path
    parts: Folder
    seal_key: bytes

    def names(self) -> list[str]:
        """Releases of which states are here, sorted."""
        return sorted(path.stem for path in self.folder.glob(f"*{ENDING}"))

    def kept(self, name: str) -> Folder | None:
        """The folder of the states after a release; ``None`` if it is not what was written."""
        folder = self.parts / f"{name}{ENDING}"
        try:
            is_ours = hmac.compare_digest(
                self._seal(name, folder).encode(), folder.read(_SEAL_FILE)
            )
        except OSError:
            return None
        return folder if is_ours else None

    @contextmanager
    def writing(self, name: str) -> Iterator[Folder]:
        """A place for the parts of a release's states; they appear, sealed, when all are in."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with self.parts.scratch(f"{name}{ENDING}") as scratch, TemporaryDirectory() as here:
            parts = scratch / "parts"
            yield parts
            seal = Path(here) / _SEAL_FILE
            seal.write_text(self._seal(name, parts))
            parts.put(seal)
            self.forget(name)
            parts.move(self.parts / f"{name}{ENDING}")
        self._path(name).mkdir(mode=0o700, exist_ok=True)

    def forget(self, name: str) -> None:
        """Remove the states after a release, if there are any."""
        (self.parts / f"{name}{ENDING}").remove()
        LocalFolder(self._path(name)).remove()

    def clear(self) -> None:
        """Remove all states, and what killed writers have left beside them."""
        self.parts.remove()
        if self.folder.exists():
            shutil.rmtree(self.folder)
        sync(self.folder.parent)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{ENDING}"

    def _seal(self, name: str, folder: Folder) -> str:
        """The name is sealed, too: the states after another release are not believed."""
        names = folder.parts()
        pairs = zip((each.encode() for each in names), folder.digests(), strict=True)
        chunks = (chunk for pair in pairs for chunk in pair)
        return keyed_digest(self.seal_key, [f"{name}\n{len(names)}\n".encode(), *chunks])
