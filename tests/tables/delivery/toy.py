"""A toy engine: plain Python and JSON files. It shows what an engine needs."""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
import shutil
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.errors import DeliveryError, InvalidInputError
from tacit.remark import Remark
from tacit.sampling import keyed_digest, pseudonyms, uniforms
from tacit.storage import atomic_file
from tacit.tables.delivery.engine import MissingStatesError, StateStore
from tacit.tables.delivery.release_file import (
    Block,
    ContentDigest,
    Progress,
    RecordedRelease,
    content_of_columns,
    release_writer,
)
from tacit.tables.encoding.attribute import Attribute, Bins, Categories
from tacit.tables.encoding.codes import Encoding, IdColumn
from tacit.tables.encoding.cohort import Admission
from tacit.tables.encoding.column import Column, Declaration
from tacit.tables.encoding.snapshot import Description
from tacit.tables.sources.source import AnyTable, find_source


@dataclass(frozen=True)
class ToyRecords:
    """Records of tables whose one id is a text."""

    folder: Path
    encoding: Encoding
    rows: list[tuple[str, int]]
    """Id and cell; sorted by id. An erased record has no id, and a cell that there is not."""
    tables: dict[str, list[list[int]]]
    """How many records each cell had, by level of each external column."""

    @property
    def n_records(self) -> int:
        return len(self.rows)

    @property
    def n_erased(self) -> int:
        return sum(not name for name, _ in self.rows)

    @property
    def x(self) -> list[int]:
        return [x for _, x in self.rows]

    @property
    def texts(self) -> list[str]:
        return [name and f"t{len(name.encode())}:{name}" for name, _ in self.rows]

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.external_counts("").sum(axis=1)

    def external_counts(self, name: str) -> NDArray[np.int64]:
        return np.array(self.tables[name], dtype=np.int64)

    def sketch(self, salt: bytes, k: int) -> list[str]:
        texts = (f"{salt.hex()}:{text[1:]}" for text in self.texts if text)
        return sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)[:k]

    def digest(self, key: bytes) -> str:
        description = Description(n_records=self.n_records, encoding=self.encoding)
        text = description.model_dump_json().encode()
        externals = (self.external_counts(each.name) for each in self.encoding.externals)
        return keyed_digest(
            key,
            [
                len(text).to_bytes(8, "big") + text,
                *(counts.astype("<i8").tobytes() for counts in (self.counts, *externals)),
                *(x.to_bytes(4, "little") for x in self.x),
                *(text.encode() for text in self.texts),
            ],
        )

    def seal(self, key: bytes) -> str:
        return keyed_digest(key, [(self.folder / "records.json").read_bytes()])

    def check(self, key: bytes, digest: str) -> None:
        if ToyEngine().open(self.folder).digest(key) != digest:
            raise InvalidInputError("the records were changed")

    def check_seal(self, key: bytes, seal: str) -> None:
        if self.seal(key) != seal:
            raise InvalidInputError("the records were changed")


class ToyEngine:
    """Implements ``Engine`` for CSV files."""

    def count(
        self,
        source: AnyTable,
        columns: Declaration,
        folder: Path,
        *,
        accept: Collection[str] = (),
        remark: Callable[[Remark], None] | None = None,
    ) -> ToyRecords:
        rows = _read(source)
        encoding = Encoding(
            ids=tuple(IdColumn(name=name, sql_type="VARCHAR") for name in columns.ids),
            attributes=tuple(_freeze(rows, column) for column in columns.attributes),
            externals=tuple(_freeze(rows, column) for column in columns.externals),
        )
        folder.mkdir()
        records = ToyRecords(folder, encoding, _encode(rows, encoding), _tables(rows, encoding))
        _save(records, records.rows)
        if remark is not None:
            remark(Remark("counted_by_a_toy"))
        return self.open(folder)

    def count_cohort(
        self,
        source: AnyTable,
        cohorts: Sequence[ToyRecords],
        folder: Path,
        admission: Admission,
        *,
        remark: Callable[[Remark], None],
    ) -> ToyRecords:
        encoding = cohorts[0].encoding
        held = {name for cohort in cohorts for name, _ in cohort.rows}
        key = encoding.ids[0].name
        rows = [row for row in _read(source) if row[key] not in held]
        if len(rows) < len(_read(source)) and not admission.skip_known:
            raise InvalidInputError("records are in the study already")
        folder.mkdir()
        records = ToyRecords(folder, encoding, _encode(rows, encoding), _tables(rows, encoding))
        _save(records, records.rows)
        return self.open(folder)

    def open(self, folder: Path) -> ToyRecords:
        stored = json.loads((folder / "records.json").read_text())
        encoding = Encoding.model_validate(stored["encoding"])
        rows = [tuple(row) for row in stored["rows"]]
        return ToyRecords(folder, encoding, rows, stored["tables"])

    def discard(self, folder: Path) -> None:
        if folder.exists():
            shutil.rmtree(folder)

    def remembered(self, folder: Path) -> list[str]:
        return sorted(path.stem for path in folder.glob("*.json"))

    def keeps(self, records: ToyRecords, states: StateStore, release: RecordedRelease) -> bool:
        return _load(states, release) is not None

    def remember(
        self,
        records: ToyRecords,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
    ) -> None:
        _, after = _draw(records, _states_after(records, states, before), release)
        states.folder.mkdir(exist_ok=True)
        stored = {"states": after, "seal": _seal(states, release, after)}
        (states.folder / f"{release.name}.json").write_text(json.dumps(stored))

    def deliver(
        self,
        records: ToyRecords,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
        target: Path,
        *,
        expected: str | None = None,
        progress: Progress | None = None,
    ) -> str:
        letters, _ = _draw(records, _states_after(records, states, before), release)
        block = _sorted(records, letters, release)
        digest = _digest(block, release)
        if expected not in (None, digest):
            raise DeliveryError("the release comes out differently from when it was delivered")
        self.remember(records, states, before, release)
        with atomic_file(target) as file:
            release_writer(target)(file, release.alphabet, iter([block]))
        if progress is not None:
            progress(2 * len(letters), 2 * len(letters))
        return digest

    def redraw(
        self, records: ToyRecords, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        reached = [0] * records.n_records
        for release in releases:
            letters, after = _draw(records, reached, release)
            if release.is_copy:
                yield _digest(_sorted(records, letters, release), release), True
                continue
            reached = after
            is_there = (states.folder / f"{release.name}.json").exists()
            is_right = not is_there or _load(states, release) == after
            yield _digest(_sorted(records, letters, release), release), is_right

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        for name in names:
            (states.folder / f"{name}.json").unlink(missing_ok=True)

    def known(self, records: ToyRecords, key: bytes, id_hashes: Collection[str]) -> set[str]:
        return {_hashed(text, key) for text in records.texts if text} & set(id_hashes)

    def erase(
        self, records: ToyRecords, states: StateStore, key: bytes, id_hashes: Collection[str]
    ) -> None:
        empty = ("", records.encoding.n_cells)
        pairs = zip(records.rows, records.texts, strict=True)
        _save(records, [empty if _hashed(text, key) in id_hashes else row for row, text in pairs])
        self.forget(states, self.remembered(states.folder))


def _hashed(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:32]


def _save(records: ToyRecords, rows: list[tuple[str, int]]) -> None:
    encoding = records.encoding.model_dump(mode="json")
    stored = {"encoding": encoding, "rows": rows, "tables": records.tables}
    with atomic_file(records.folder / "records.json") as file:
        file.write(json.dumps(stored).encode())


def _read(source: AnyTable) -> list[dict[str, str]]:
    path = find_source(source).file
    assert path is not None
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _freeze(rows: list[dict[str, str]], column: Column) -> Attribute:
    values = [row[column.name] for row in rows]
    if set(values) == {"no", "yes"}:
        truth = Categories(texts=("false", "true"))
        return Attribute(name=column.name, sql_type="BOOLEAN", coding=truth, has_missing=False)
    is_number = all(value.lstrip("-").isdigit() for value in values)
    coding = (
        Bins(cuts=tuple(column.cuts))
        if column.cuts is not None
        else Categories(texts=tuple(sorted(set(values))))
    )
    sql_type = "BIGINT" if is_number else "VARCHAR"
    return Attribute(name=column.name, sql_type=sql_type, coding=coding, has_missing=False)


def _encode(rows: list[dict[str, str]], encoding: Encoding) -> list[tuple[str, int]]:
    encoded = [(row[encoding.ids[0].name], _cell(row, encoding)) for row in rows]
    assert all(x < prod(encoding.shape) for _, x in encoded)
    return sorted(encoded)


def _cell(row: dict[str, str], encoding: Encoding) -> int:
    x = 0
    for attribute in encoding.attributes:
        x = x * attribute.n_levels + _level(attribute, row[attribute.name])
    return x


def _tables(rows: list[dict[str, str]], encoding: Encoding) -> dict[str, list[list[int]]]:
    """Counts by cell and level of each external column; of all records under the name ''."""
    tables = {"": np.zeros((encoding.n_cells, 1), dtype=np.int64)}
    for external in encoding.externals:
        tables[external.name] = np.zeros((encoding.n_cells, external.n_levels), dtype=np.int64)
    for row in rows:
        x = _cell(row, encoding)
        tables[""][x, 0] += 1
        for external in encoding.externals:
            tables[external.name][x, _level(external, row[external.name])] += 1
    return {name: counts.tolist() for name, counts in tables.items()}


def _level(attribute: Attribute, value: str) -> int:
    match attribute.coding:
        case Bins(cuts=cuts):
            return bisect_left(cuts, int(value))
        case Categories(texts=texts):
            is_truth = attribute.sql_type == "BOOLEAN"
            return ("no", "yes").index(value) if is_truth else texts.index(value)
    raise AssertionError("a toy has no groups")


def _draw(
    records: ToyRecords, states: list[int], release: RecordedRelease
) -> tuple[list[int], list[int]]:
    """Letter and next state of every record, one by one."""
    letters, after = [], []
    words = uniforms(release.draw_key, 0, records.n_records).tolist()
    for x, m, word in zip(records.x, states, words, strict=True):
        if x == records.encoding.n_cells:
            letters.append(0)
            after.append(0)
            continue
        bounds = list(accumulate(release.channel.weights[m, release.class_of_x[x]].tolist()))
        letter = bisect_right(bounds, word)
        letters.append(letter)
        after.append(int(release.next_state[m, letter]))
    return letters, after


def _sorted(records: ToyRecords, letters: list[int], release: RecordedRelease) -> Block:
    names, attempt = [row[0] for row in records.rows], 0
    while release.pseudonym_key is not None:
        words = pseudonyms(release.pseudonym_key(attempt), 0, len(letters)).tolist()
        names = [f"{word:016x}" for word in words]
        if len(set(names)) == len(names):
            break
        attempt += 1
    pairs = zip(records.rows, names, letters, strict=True)
    by_name = sorted((name, letter) for (there, _), name, letter in pairs if there)
    return Block(
        pa.array([name for name, _ in by_name]), np.array([letter for _, letter in by_name], "u2")
    )


def _digest(block: Block, release: RecordedRelease) -> str:
    digest = ContentDigest(release.digest_key)
    digest.update(content_of_columns(release.alphabet.columns(block)))
    return digest.hexdigest()


def _states_after(
    records: ToyRecords, store: StateStore, release: RecordedRelease | None
) -> list[int]:
    if release is None:
        return [0] * records.n_records
    states = _load(store, release)
    if states is None:
        raise MissingStatesError(store.folder)
    return states


def _load(store: StateStore, release: RecordedRelease) -> list[int] | None:
    try:
        stored = json.loads((store.folder / f"{release.name}.json").read_text())
        states: list[int] = stored["states"]
        return states if stored["seal"] == _seal(store, release, states) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _seal(store: StateStore, release: RecordedRelease, states: list[int]) -> str:
    said = json.dumps([release.name, states]).encode()
    return hmac.new(store.seal_key, said, "sha256").hexdigest()
