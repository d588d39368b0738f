"""A study's records, frozen: who they are, which cell each is in, and how many are in each cell.

A folder of four files: ``ids.parquet`` (columns ``id_0``..., sorted; row i is record i), ``x.npy``
(the cell of each record), ``counts.npz`` and ``snapshot.json``. They never change, except that an
erased record's id becomes NULL and its cell a number that no cell has. Its place stays empty, so
that the others keep theirs; counts stay those of the founding.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Literal, Self
from zipfile import BadZipFile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import InvalidInputError
from tacit.sampling import keyed_digest
from tacit.tables.connection import connect_reader, quote_file
from tacit.tables.encoding.attribute import Stored
from tacit.tables.encoding.codes import Encoding
from tacit.tables.encoding.ids import normalised_id_sql, typed_id_sql

Codes = NDArray[np.unsignedinteger]
Counts = NDArray[np.int64]

IDS_FILE = "ids.parquet"
CODES_FILE = "x.npy"
COUNTS_FILE = "counts.npz"
DESCRIPTION_FILE = "snapshot.json"

SNAPSHOT_FILES = (IDS_FILE, CODES_FILE, COUNTS_FILE, DESCRIPTION_FILE)

RECORDS_FOLDER = "records.parquet"
"""Of a cluster's engine, in the place of ids and codes: ``row`` (the number), ``x``, ``id_0``..."""

ADDRESS_FILE = "records.txt"
"""Of a cluster's engine, where that folder is elsewhere: its address."""

_PART = re.compile(rf"{re.escape(RECORDS_FOLDER)}/[\w.-]+\.parquet")

BATCH = 2**18
"""Records handled at a time."""

_DIGEST_THREADS = 4


def is_snapshot_file(name: str) -> bool:
    """Whether a snapshot's folder may hold a file of this name, of whatever engine."""
    return name in (*SNAPSHOT_FILES, ADDRESS_FILE) or _PART.fullmatch(name) is not None


class Description(Stored):
    """What ``snapshot.json`` holds."""

    format: Literal[1] = 1
    n_records: int
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A folder of records.

    Attributes:
        folder: where it is.
        n_records: how many places for records there are, empty ones included.
        encoding: how the table became codes.
    """

    folder: Path
    n_records: int
    encoding: Encoding

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The snapshot in a folder."""
        try:
            text = (folder / DESCRIPTION_FILE).read_text(encoding="utf-8")
            description = Description.model_validate_json(text)
        except OSError as error:
            raise InvalidInputError(
                f"there is no snapshot in {folder} ({error.strerror}): restore it from a backup"
            ) from None
        except ValueError:
            raise InvalidInputError(
                f"{folder / DESCRIPTION_FILE} is damaged, or written by a newer tacit: "
                "restore it from a backup, or update tacit"
            ) from None
        return cls(folder, description.n_records, description.encoding)

    @property
    def ids_path(self) -> Path:
        """The file of ids."""
        return self.folder / IDS_FILE

    @property
    def ids_sql(self) -> str:
        """What to write after FROM to read the ids in order: ``row``, ``id_0``..."""
        table = f"read_parquet({quote_file(self.ids_path)}, file_row_number = true)"
        return f"(SELECT file_row_number AS row, * EXCLUDE (file_row_number) FROM {table})"

    @property
    def x(self) -> Codes:
        """The cell of every record, [i], read from disk as needed."""
        codes: Codes = np.load(self.folder / CODES_FILE, mmap_mode="r")
        return codes

    @property
    def no_cell(self) -> int:
        """What ``x`` says of a record that was erased."""
        return self.encoding.n_cells

    @property
    def n_erased(self) -> int:
        """How many places are empty."""
        return int(np.count_nonzero(self.x == self.no_cell))

    @property
    def counts(self) -> Counts:
        """How many records were in each cell at the founding, [x]."""
        return self._counts("cells")

    def external_counts(self, name: str) -> Counts:
        """How many records of each cell have each level of an external column, [x, r]."""
        names = [external.name for external in self.encoding.externals]
        return self._counts(f"external_{names.index(name)}")

    def _counts(self, key: str) -> Counts:
        with np.load(self.folder / COUNTS_FILE) as counts:
            found: Counts = counts[key]
        return found

    def records(self) -> pa.RecordBatchReader:
        """All places in order, with the record's ids and x, in batches."""
        x = self.x
        schema = pq.read_schema(self.ids_path).append(pa.field("x", pa.from_numpy_dtype(x.dtype)))

        def batches() -> Iterator[pa.RecordBatch]:
            start = 0
            with pq.ParquetFile(self.ids_path) as file:
                for ids in file.iter_batches(BATCH):
                    codes = pa.array(x[start : start + len(ids)])
                    yield pa.record_batch([*ids.columns, codes], schema=schema)
                    start += len(ids)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def sketch(self, salt: bytes, k: int = 256) -> list[str]:
        """The ``k`` smallest salted hashes of the normalised ids, to tell whether studies share
        records; one may be there twice.

        The same id has the same hash under the same salt, whatever its column is called.
        """
        text = normalised_id_sql(len(self.encoding.ids))
        with connect_reader() as connection:
            rows = connection.execute(
                f"SELECT sha256('{salt.hex()}:' || {text}) AS hash "
                f"FROM {self.ids_sql} WHERE id_0 IS NOT NULL ORDER BY hash LIMIT {k:d}"
            ).fetchall()
        return [hashed for (hashed,) in rows]

    def digest(self, key: bytes) -> str:
        """Keyed digest of the content, whatever the files' own format makes of it."""
        return keyed_digest(key, self._content())

    def seal(self, key: bytes) -> str:
        """Keyed digest of the files as they are: as fast as they can be read."""
        return keyed_digest(key, file_digests(self.files))

    @property
    def files(self) -> list[Path]:
        """All files, in an order that stays."""
        return [self.folder / name for name in SNAPSHOT_FILES]

    def check_seal(self, key: bytes, seal: str) -> None:
        """Raise unless the files are still those that were sealed under this key."""
        self._compare(self.seal, key, seal)

    def check(self, key: bytes, digest: str) -> None:
        """Raise unless the content still has this digest under this key."""
        self._compare(self.digest, key, digest)

    def _compare(self, digested: Callable[[bytes], str], key: bytes, recorded: str) -> None:
        try:
            is_same = compare_digest(digested(key), recorded)
        except (OSError, ValueError, KeyError, BadZipFile, pa.ArrowException, duckdb.Error):
            is_same = False
        if not is_same:
            raise InvalidInputError(
                f"the snapshot in {self.folder} is not what it was when the ledger recorded it: "
                "restore it from a backup"
            )

    def _content(self) -> Iterator[bytes]:
        """Description, counts, cells and ids; each part tells where it ends.

        An erased record has the cell ``no_cell``, and an empty text as its id.
        """
        described = Description(n_records=self.n_records, encoding=self.encoding)
        text = described.model_dump_json().encode()
        yield len(text).to_bytes(8, "big") + text
        yield self.counts.astype("<i8").tobytes()
        for external in self.encoding.externals:
            yield self.external_counts(external.name).astype("<i8").tobytes()
        for x in self.cells():
            yield x.astype("<u4").tobytes()
        typed = typed_id_sql([column.sql_type for column in self.encoding.ids])
        with connect_reader() as connection:
            ids = connection.sql(f"SELECT coalesce({typed}, '') AS id FROM {self.ids_sql}")
            for batch in ids.to_arrow_reader(BATCH):
                yield "".join(batch["id"].to_pylist()).encode()

    def cells(self) -> Iterator[Codes]:
        """The cells of all records in order, in batches."""
        x = self.x
        for start in range(0, len(x), BATCH):
            yield x[start : start + BATCH]


def file_digests(files: Sequence[Path]) -> list[bytes]:
    """SHA-256 of each file."""

    def digest(path: Path) -> bytes:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()

    with ThreadPoolExecutor(_DIGEST_THREADS) as pool:
        return list(pool.map(digest, files))
