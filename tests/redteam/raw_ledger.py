"""A study's ledger as bytes on a disk or rows on a server, read without tacit.

``docs/reference/ledger.md`` says what stands where; nothing else is relied on.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

TOTAL = 2**32
"""What every row of a release's table sums to."""

MAGIC = b"tacit channel 1\n"
CHECKSUM_BYTES = 8
SHAPE_BYTES = 12

Table = list[list[list[int]]]
"""Whole numbers, [state][cell or class][letter]."""

Body = Mapping[str, Any]

_ENTRIES = "study, number, kind, time, body, payload, previous, hash"


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as it is stored."""

    study: str
    number: int
    kind: str
    time: str
    text: str
    payload: bytes
    previous: str
    hash: str

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object behind the text."""
        body = json.loads(self.text)
        assert isinstance(body, dict)
        return body

    @property
    def seal(self) -> str:
        """What its hash has to be."""
        return _sha256_of(
            {
                "study": self.study,
                "number": self.number,
                "kind": self.kind,
                "time": self.time,
                "body": self.text,
                "payload": hashlib.sha256(self.payload).hexdigest(),
                "previous": self.previous,
            }
        )


@dataclass(frozen=True, slots=True)
class RawLedger:
    """All that a ledger has about one study.

    Attributes:
        salt: of the ledger.
        registration: name, number of records and sketch of the study.
        rows: its entries, by number.
    """

    salt: bytes
    registration: tuple[str, int, str]
    rows: list[Row]

    @property
    def start(self) -> str:
        """What the last entry that names a registration has to name; the first names one."""
        study, n_records, sketch = self.registration
        named = {"study": study, "n_records": n_records, "sketch": sketch}
        return _sha256_of(named | {"salt": self.salt.hex()})

    def faults(self) -> Iterator[str]:
        """Everything that is wrong with the chain."""
        registered = last = self.rows[0].previous if self.rows else ""
        for place, row in enumerate(self.rows, 1):
            registered = row.body.get("registration", registered)
            if row.number != place:
                yield f"entry {row.number} stands at place {place}"
            if row.previous != last:
                yield f"entry {row.number} does not follow the one before it"
            if row.hash != row.seal:
                yield f"entry {row.number} has another content than its hash says"
            last = row.hash
        if registered != self.start:
            yield "the registration is not the one that was named last"


def ledger_address(folder: Path) -> tuple[str, str]:
    """The study's id, and where its ledger is: a path, or ``postgresql://...``."""
    configuration = json.loads((folder / "study.json").read_text())
    address = configuration["ledger"]
    if address is None:
        address = str(folder / "ledger.sqlite")
    address = address.replace("postgresql+psycopg://", "postgresql://")
    return configuration["study"], address.removeprefix("sqlite:///")


def read_ledger(folder: Path) -> RawLedger:
    """The ledger of the study in a folder, wherever it is."""
    study, address = ledger_address(folder)
    if address.startswith("postgresql"):
        return read_postgresql(address, study)
    return read_sqlite(Path(address), study)


def read_sqlite(path: Path, study: str) -> RawLedger:
    """From a file, which is not changed."""
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        [(salt,)] = connection.execute("SELECT salt FROM tacit_ledger")
        [registration] = connection.execute(
            "SELECT study, n_records, sketch FROM tacit_studies WHERE study = ?", (study,)
        )
        rows = connection.execute(
            f"SELECT {_ENTRIES} FROM tacit_entries WHERE study = ? ORDER BY number", (study,)
        )
        return RawLedger(bytes(salt), registration, [Row(*row) for row in rows])


def read_postgresql(url: str, study: str) -> RawLedger:
    """From a server."""
    with psycopg.connect(url) as connection:
        [(salt,)] = connection.execute("SELECT salt FROM tacit_ledger").fetchall()
        [registration] = connection.execute(
            "SELECT study, n_records, sketch FROM tacit_studies WHERE study = %s", (study,)
        ).fetchall()
        found = connection.execute(
            "SELECT study, number, kind, time, body, payload, previous, hash "
            "FROM tacit_entries WHERE study = %s ORDER BY number",
            (study,),
        ).fetchall()
    return RawLedger(bytes(salt), registration, [Row(*row) for row in found])


def read_table(payload: bytes) -> Table:
    """The whole numbers of a release: magic, checksum, then zlib of shape and 64-bit numbers."""
    magic, rest = payload[: len(MAGIC)], payload[len(MAGIC) :]
    checksum, packed = rest[:CHECKSUM_BYTES], rest[CHECKSUM_BYTES:]
    assert magic == MAGIC, magic
    assert checksum == hashlib.sha256(packed).digest()[:CHECKSUM_BYTES]
    plain = zlib.decompress(packed)
    states, cells, letters = struct.unpack("<3I", plain[:SHAPE_BYTES])
    numbers = struct.unpack(f"<{states * cells * letters}Q", plain[SHAPE_BYTES:])
    rows = [numbers[at : at + letters] for at in range(0, len(numbers), letters)]
    assert all(sum(row) == TOTAL for row in rows)
    return [[list(row) for row in rows[m * cells : (m + 1) * cells]] for m in range(states)]


def cohort_of(row: Row) -> int:
    """Number of the cohort that a release is about."""
    return int(row.body["cohort"])


def classes_of_cells(rows: list[Row], joined: Body, cohort: int = 1) -> dict[int, list[int]]:
    """Number of each release -> class of each cell, which says what row of its table it has.

    Of one cohort, which joined with the entry ``joined``.

    Cells are one class until a question tells them apart: classes are numbered in the order of
    (class before, p(r | x)). Cells without records stay together, behind the others of their class.
    """
    cells = range(len(joined["counts"]))
    found, classes = {}, [0 for _ in cells]
    for row in rows:
        if row.kind != "intent" or cohort_of(row) != cohort:
            continue
        laws = laws_of_question(row.body["question"], joined)
        keys = [
            (classes[x], not joined["counts"][x], laws[x] if joined["counts"][x] else ())
            for x in cells
        ]
        number = {key: k for k, key in enumerate(sorted(set(keys)))}
        classes = [number[key] for key in keys]
        found[row.number] = classes
    return found


def laws_of_question(question: Body, created: Body) -> list[tuple[Fraction, ...]]:
    """p(r | x) of every cell, [x][r]; uniform for a cell without records."""
    n_letters = len(question["labels"])
    if question["external"] is None:
        return [
            tuple(Fraction(int(r == letter)) for r in range(n_letters))
            for letter in question["letter_of_cell"]
        ]
    counts = created["externals"][question["external"]]["counts"]
    return [
        tuple(Fraction(n, sum(row)) if any(row) else Fraction(1, n_letters) for n in row)
        for row in counts
    ]


def read_table_on_cells(payload: bytes, classes: list[int]) -> Table:
    """The whole numbers of a release, [state][cell][letter], from the class of each cell."""
    return [[rows[each] for each in classes] for rows in read_table(payload)]


def _sha256_of(content: dict[str, object]) -> str:
    """Of the canonical text: ASCII, keys sorted, no blanks."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
