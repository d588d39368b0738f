"""Snapshots: all of the table or nothing, the same content for the same records, changes found."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.tables import Column, Declaration, Snapshot, build
from tests.tables.samples import PATIENTS, Columns, columns_of, write_csv, write_parquet

KEY = b"k" * 32
SALT = b"salt"
PRIVATE = (Column("age", cuts=(30, 45, 60)), "diagnosis", "smoker")


def snapshot_of(
    columns: Columns, folder: Path, *, ids: Sequence[str] = ("patient_id",)
) -> Snapshot:
    """A snapshot of a table that has the columns of ``PATIENTS``."""
    source = write_parquet(folder / "patients.parquet", columns)
    columns = Declaration(ids, columns_of(*PRIVATE), columns_of("outcome"))
    return build(source, columns, folder / "snapshot")


def ids_only(folder: Path, **ids: Sequence[object]) -> Snapshot:
    """A snapshot of records of which little more than the ids matters."""
    n = len(next(iter(ids.values())))
    folder.mkdir(exist_ok=True)
    source = write_parquet(folder / "ids.parquet", {**ids, "bit": [i % 2 for i in range(n)]})
    accepted = ("ids", "rows")
    columns = Declaration(list(ids), columns_of("bit"))
    return build(source, columns, folder / "snapshot", accept=accepted)


def changed(**columns: Sequence[object]) -> Columns:
    return {**PATIENTS, **columns}


# --- what is in it ------------------------------------------------------------------------------


def test_a_snapshot_is_the_table_in_the_order_of_ids(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    assert snapshot.n_records == 6
    assert parquet.read_table(snapshot.ids_path).to_pydict() == {"id_0": [1, 3, 5, 7, 9, 12]}
    levels = np.unravel_index(snapshot.x, snapshot.encoding.shape)
    found = [
        [attribute.letters[level] for level in axis]
        for attribute, axis in zip(snapshot.encoding.attributes, levels, strict=True)
    ]
    assert found == [
        [">60", "31-45", ">60", "<=30", None, "31-45"],
        ["dementia", "dementia", "flu", "flu", "née", None],
        [False, False, None, True, True, True],
    ]


def test_counts_are_exact(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    assert snapshot.counts.dtype == np.int64
    assert snapshot.counts.tolist() == np.bincount(snapshot.x, minlength=5 * 4 * 3).tolist()
    outcomes = snapshot.external_counts("outcome")
    assert outcomes.sum(axis=1).tolist() == snapshot.counts.tolist()
    assert outcomes.sum(axis=0).tolist() == [4, 2]  # alive, dead
    assert outcomes[snapshot.x[0]].tolist() == [1, 0]


def test_a_snapshot_can_be_opened_again(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    again = Snapshot.open(snapshot.folder)
    assert again == snapshot
    assert again.digest(KEY) == snapshot.digest(KEY)


@pytest.mark.parametrize(("n_levels", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_cells_take_no_more_room_than_they_need(n_levels: int, dtype: type, tmp_path: Path) -> None:
    columns = {"id": range(n_levels), "a": [f"{k:03d}" for k in range(n_levels)]}
    source = write_parquet(tmp_path / "t.parquet", columns)
    snapshot = build(source, Declaration(["id"], columns_of("a")), tmp_path / "snapshot")
    assert snapshot.x.dtype == dtype
    assert snapshot.x.tolist() == list(range(n_levels))


def test_records_come_in_batches_with_ids_and_cells(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    table = snapshot.records().read_all()
    assert table["id_0"].to_pylist() == [1, 3, 5, 7, 9, 12]
    assert table["x"].to_pylist() == snapshot.x.tolist()


def test_ids_of_several_columns(tmp_path: Path) -> None:
    columns = {"ward": ["b", "a", "a"], "bed": [1, 2, 1]}
    snapshot = ids_only(tmp_path, **columns)
    assert parquet.read_table(snapshot.ids_path).to_pydict() == {
        "id_0": ["a", "a", "b"],
        "id_1": [1, 2, 1],
    }


WORDS = ["times", "n", "x", "id_0", "level_0", "levels_0", "level", "value", "text", "mapping"]


def test_columns_may_be_called_what_our_own_are(tmp_path: Path) -> None:
    groups = {"1": "odd", "0": "even"}
    columns = {name: [(row >> k) % 2 for row in range(1024)] for k, name in enumerate(WORDS)}
    source = write_parquet(tmp_path / "t.parquet", {"before": range(1024), **columns})
    private = columns_of("x", Column("mapping", groups=groups), Column("levels_0", cuts=[0]))
    external = columns_of(Column("text", groups=groups))
    ids = ["times", "n", "id_0", "level_0", "level", "value", "before"]
    snapshot = build(source, Declaration(ids, private, external), tmp_path / "snapshot")
    assert snapshot.counts.tolist() == [128] * 8
    assert snapshot.external_counts("text").tolist() == [[64, 64]] * 8


def test_a_study_may_lie_anywhere(tmp_path: Path) -> None:
    for name in ("a*", "ab"):
        (tmp_path / name).mkdir()
    other = ids_only(tmp_path / "ab", n=[1, 2])
    snapshot = ids_only(tmp_path / "a*", n=[1, 3])
    assert snapshot.sketch(SALT) == plain_hashes([("1",), ("3",)])
    assert snapshot.digest(KEY) != other.digest(KEY)


def test_nobody_else_may_look(tmp_path: Path) -> None:
    assert snapshot_of(PATIENTS, tmp_path).folder.stat().st_mode & 0o077 == 0


# --- what cannot be -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "ids", "private", "external", "message"),
    [
        (
            changed(patient_id=[7, 7, 3, 3, 3, 1]),
            ["patient_id"],
            PRIVATE,
            (),
            "5 of 6 rows share their patient_id with others, up to 3 the same one; this query mak",
        ),
        (
            changed(patient_id=[7, None, None, 3, 4, 1]),
            ["patient_id"],
            PRIVATE,
            (),
            "patient_id is missing in 2 of 6 records: give each record an id",
        ),
        (
            changed(patient_id=[1.0, float("nan"), 2.0, 3.0, 4.0, 5.0]),
            ["patient_id"],
            PRIVATE,
            (),
            "missing in 1 of 6 records",
        ),
        (PATIENTS, ["outcome", "smoker"], PRIVATE[:2], (), "outcome, smoker is missing in 1 of 6"),
        (PATIENTS, ["patient"], PRIVATE, (), "no column 'patient' in .* it has 'patient_id'"),
        (PATIENTS, ["patient_id"], ["agee"], (), "no column 'agee'"),
        (PATIENTS, ["patient_id"], PRIVATE, ["out"], "no column 'out'"),
        (PATIENTS, ["patient_id"], ["age", "AGE"], (), "column 'age' is named 2 times"),
        (PATIENTS, ["patient_id"], ["patient_id"], (), "column 'patient_id' is named 2 times"),
        (PATIENTS, ["patient_id"], ["age"], ["age"], "named 2 times"),
        (PATIENTS, [], PRIVATE, (), "no id column is named"),
        (PATIENTS, ["patient_id"], [], (), "no private attribute is named"),
        (
            PATIENTS,
            ["patient_id"],
            [Column("diagnosis", cuts=[3])],
            (),
            "only numbers, dates and times can be cut",
        ),
        ({"id": [1], "a": [1]}, ["id"], ["a"], (), "says nothing"),
    ],
)
def test_bad_tables_leave_nothing_behind(
    columns: Columns,
    ids: list[str],
    private: Sequence[str],
    external: Sequence[str],
    message: str,
    tmp_path: Path,
) -> None:
    source = write_parquet(tmp_path / "t.parquet", columns)
    place = tmp_path / "study"
    place.mkdir()
    with pytest.raises(InvalidInputError, match=message) as raised:
        build(
            source,
            Declaration(ids, columns_of(*private), columns_of(*external)),
            place / "snapshot",
        )
    assert len(str(raised.value).splitlines()) == 1
    assert list(place.iterdir()) == []


def test_an_external_column_with_too_many_levels(tmp_path: Path) -> None:
    n = 20_000
    columns = {
        "id": range(n),
        "a": [f"{i % 200}" for i in range(n)],
        "b": [i % 100 for i in range(n)],
        "c": [f"{i % 999}" for i in range(n)],
    }
    source = write_parquet(tmp_path / "t.parquet", columns)
    declared = Declaration(["id"], columns_of("a", "b"), columns_of("c"))
    with pytest.raises(InvalidInputError, match="c has 999 levels in each of 20,000 cells"):
        build(source, declared, tmp_path / "snapshot")


def test_a_snapshot_is_never_overwritten(tmp_path: Path) -> None:
    digest = snapshot_of(PATIENTS, tmp_path).digest(KEY)
    with pytest.raises(InvalidInputError, match="exists already"):
        snapshot_of(changed(age=[1, 2, 3, 4, 5, 66]), tmp_path)
    assert Snapshot.open(tmp_path / "snapshot").digest(KEY) == digest


def test_an_empty_folder_may_become_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "snapshot").mkdir()
    assert snapshot_of(PATIENTS, tmp_path).n_records == 6


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2}', "\udcff"])
def test_a_damaged_description_is_said(text: str, tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    (snapshot.folder / "snapshot.json").write_text(text, errors="surrogateescape")
    with pytest.raises(InvalidInputError, match="is damaged, or written by a newer tacit"):
        Snapshot.open(snapshot.folder)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tacit.errors import InvalidInputError
from tacit.tables import Column, Declaration, build
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    build(sys.argv[1], Declaration(["id"], [Column("bit")]), Path(sys.argv[2]))
except InvalidInputError as error:
    print(error)
"""


@pytest.mark.parametrize("n_bytes", [0, 20_000, 400_000])
def test_a_disk_that_fills_up_leaves_nothing(n_bytes: int, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk."""
    columns = {"id": range(200_000), "bit": [i % 2 for i in range(200_000)]}
    source = write_parquet(tmp_path / "t.parquet", columns)
    place = tmp_path / "study"
    place.mkdir()
    command = [sys.executable, "-c", FULL_DISK, source, str(place / "snapshot"), str(n_bytes)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert len(ran.stdout.splitlines()) == 1
    assert list(place.iterdir()) == []


def test_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no snapshot in"):
        Snapshot.open(tmp_path)


# --- digests ------------------------------------------------------------------------------------


def test_the_digest_depends_on_key_and_content_not_on_order_or_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = snapshot_of(PATIENTS, tmp_path / "a")
    source = write_csv(
        tmp_path / "b" / "t.csv", {name: values[::-1] for name, values in PATIENTS.items()}
    )
    second = build(
        source,
        Declaration(["patient_id"], columns_of(*PRIVATE), columns_of("outcome")),
        tmp_path / "b" / "snapshot",
    )
    assert first.digest(KEY) == second.digest(KEY)
    assert first.digest(KEY) != first.digest(b"another key")
    first.check(KEY, second.digest(KEY))


def rewrite_ids(folder: Path, compression: str, ids: list[int]) -> None:
    parquet.write_table(pa.table({"id_0": ids}), folder / "ids.parquet", compression=compression)


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    digest = snapshot.digest(KEY)
    rewrite_ids(snapshot.folder, "none", [1, 3, 5, 7, 9, 12])
    snapshot.check(KEY, digest)


def flip_cell(folder: Path) -> None:
    codes = np.load(folder / "x.npy")
    codes[3] ^= 1
    np.save(folder / "x.npy", codes)


def change_counts(folder: Path, name: str) -> None:
    with np.load(folder / "counts.npz") as counts:
        arrays = dict(counts)
    arrays[name][0] += 1
    np.savez(folder / "counts.npz", **arrays)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "an id": lambda folder: rewrite_ids(folder, "zstd", [1, 3, 5, 7, 9, 13]),
    "ids in another order": lambda folder: rewrite_ids(folder, "zstd", [3, 1, 5, 7, 9, 12]),
    "an id less": lambda folder: rewrite_ids(folder, "zstd", [1, 3, 5, 7, 9]),
    "a cell": flip_cell,
    "counts of cells": lambda folder: change_counts(folder, "cells"),
    "counts of an external column": lambda folder: change_counts(folder, "external_0"),
    "half a file": lambda folder: os.truncate(folder / "ids.parquet", 100),
    "half the cells": lambda folder: os.truncate(folder / "x.npy", 100),
    "no cells": lambda folder: (folder / "x.npy").unlink(),
    "noise": lambda folder: (folder / "counts.npz").write_bytes(b"noise"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_found(damage: Callable[[Path], object], tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    digest = snapshot.digest(KEY)
    damage(snapshot.folder)
    with pytest.raises(InvalidInputError, match="is not what it was when the ledger recorded it"):
        snapshot.check(KEY, digest)


def test_another_description_is_found(tmp_path: Path) -> None:
    snapshot = snapshot_of(PATIENTS, tmp_path)
    digest = snapshot.digest(KEY)
    path = snapshot.folder / "snapshot.json"
    path.write_text(path.read_text().replace("[30,45,60]", "[30,45,61]"))
    with pytest.raises(InvalidInputError, match="is not what it was"):
        Snapshot.open(snapshot.folder).check(KEY, digest)


# --- sketches -----------------------------------------------------------------------------------


def plain_hashes(ids: Sequence[tuple[str, ...]]) -> list[str]:
    """Salted hashes of ids whose columns are written as length and text."""
    texts = ["".join(f"{len(part.encode())}:{part}" for part in one) for one in ids]
    return sorted(hashlib.sha256(f"{SALT.hex()}:{text}".encode()).hexdigest() for text in texts)


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        ({"n": [5, -1]}, [("5",), ("-1",)]),
        ({"t": [" P5", "née"]}, [("p5",), ("née",)]),
        ({"f": [0.5, 10.0]}, [("0.5",), ("10",)]),
        ({"d": [date(2020, 1, 2), date(1999, 1, 1)]}, [("2020-01-02",), ("1999-01-01",)]),
        ({"b": [True, False]}, [("true",), ("false",)]),
        ({"a": ["a", "ab"], "b": ["bc", "c"]}, [("a", "bc"), ("ab", "c")]),
        ({"t": [" 5\t", "ne\u0301e"]}, [("5",), ("née",)]),
    ],
)
def test_sketches_are_hashes_of_normalised_ids(
    columns: dict[str, list[object]], ids: list[tuple[str, ...]], tmp_path: Path
) -> None:
    assert ids_only(tmp_path, **columns).sketch(SALT) == plain_hashes(ids)


def test_a_sketch_keeps_the_smallest_hashes(tmp_path: Path) -> None:
    snapshot = ids_only(tmp_path, n=range(1000))
    plain = plain_hashes([(f"{n}",) for n in range(1000)])
    assert snapshot.sketch(SALT) == plain[:256]
    assert snapshot.sketch(SALT, k=10) == plain[:10]
    assert set(snapshot.sketch(b"other")).isdisjoint(plain)


def test_the_same_ids_under_other_names_and_types_are_the_same(tmp_path: Path) -> None:
    small = ids_only(tmp_path / "a", n=pa.array([1, 2, 3], pa.int16()))
    large = ids_only(tmp_path / "b", m=pa.array([3, 1, 2], pa.int64()))
    unsigned = ids_only(tmp_path / "c", m=pa.array([3, 1, 2], pa.uint64()))
    text = ids_only(tmp_path / "d", n=["1", "2", "3"])
    for other in (large, unsigned, text):
        assert other.sketch(SALT) == small.sketch(SALT)


PAIRS = st.lists(
    st.tuples(*[st.text(alphabet="ab1:é", min_size=1, max_size=3)] * 2),
    min_size=2,
    max_size=20,
    unique=True,
)


@given(PAIRS)
@settings(max_examples=12)  # each builds a snapshot
def test_different_ids_have_different_hashes(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    left, right = zip(*pairs, strict=True)
    snapshot = ids_only(tmp_path_factory.mktemp("ids"), a=left, b=right)
    assert len(set(snapshot.sketch(SALT))) == len(pairs)
    assert snapshot.digest(KEY) == Snapshot.open(snapshot.folder).digest(KEY)


def test_identifiers_are_texts(tmp_path: Path) -> None:
    keys = [str(UUID(int=1)), str(UUID(int=2))]
    assert ids_only(tmp_path, key=keys).sketch(SALT) == plain_hashes([(key,) for key in keys])
