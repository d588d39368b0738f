"""Records and states on a file system that Spark reaches and Python cannot open."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.study import Study
from tacit.study.backup import back_up, restore
from tacit.study.folder import find_engine
from tacit.study.verification.verify import verify_study
from tacit.tables import Encoding
from tacit.tables.delivery.spark.folders import HadoopFolder
from tacit.tables.delivery.spark.parts import RemoteSnapshot
from tests.study.clinic import PRIVATE, read_patients, write_patients, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_study_whose_data_is_elsewhere(
    spark: SparkSession, elsewhere: str, tmp_path: Path
) -> None:
    del spark
    folder, data, table = tmp_path / "clinic", f"{elsewhere}/clinic", tmp_path / "patients.csv"
    write_patients(table, 200)
    make = partial(Study.create, id="patient", private=PRIVATE, engine="spark", data=data)
    create = partial(make, folder, str(table), ledger="folder")
    with pytest.raises(InvalidInputError, match="200 records and 1,000 is the fewest"):
        create(min_records=1000)
    assert HadoopFolder(data).names() == []  # what was frozen is discarded
    out = tmp_path / "lab-a.parquet"
    with create() as study:
        study.set_limit("lab-a", 0.5)
        study.release("lab-a", "smoker", out=out, bits=0.2)
    first = parquet.read_table(out)
    assert first.num_rows == 200
    assert not [each for each in folder.rglob("*.parquet") if each.is_file()]
    [records, states] = HadoopFolder(data).names()
    assert records.startswith("records-")
    assert states == "states"
    with pytest.raises(InvalidInputError, match=r"clinic is not empty: choose a folder"):
        make(tmp_path / "other", str(table), ledger="folder")
    later = write_patients(tmp_path / "later.csv", 60, seed=1, first=200)
    write_rows(tmp_path / "gone.csv", [read_patients(table)[0], read_patients(later)[0]])
    with Study.open(folder) as study:
        study.extend(str(later))
        study.erase(str(tmp_path / "gone.csv"))
        study.release("lab-a", "smoker", out=out, bits=0.2)
    again = parquet.read_table(out).to_pylist()
    assert len(again) == 199
    assert all(row in first.to_pylist() for row in again)  # the others keep their answers
    made = back_up(folder, tmp_path / "backup.tar")
    assert made.records_at == data
    restore(tmp_path / "backup.tar", tmp_path / "restored")
    assert verify_study(tmp_path / "restored").is_whole


@pytest.mark.slow
def test_files_elsewhere_are_replaced_moved_and_removed(
    spark: SparkSession, elsewhere: str, tmp_path: Path
) -> None:
    del spark
    folder, part = HadoopFolder(f"{elsewhere}/one [of] these") / "table", tmp_path / "a.parquet"
    folder.make()
    for text in ("old", "new"):
        part.write_text(text)
        folder.put(part)
        assert folder.read("a.parquet") == text.encode()
    assert folder.parts() == folder.names() == ["a.parquet"]
    [copy] = (path.read_text() for path in folder.files())
    assert copy == "new"
    moved = HadoopFolder(f"{elsewhere}/one [of] these") / "moved"
    digests = folder.digests()
    folder.move(moved)
    assert (folder.names(), moved.digests()) == ([], digests)
    with pytest.raises(OSError, match="nothing does not exist"):
        HadoopFolder(f"{elsewhere}/nothing").move(folder)
    moved.remove("a.parquet")
    assert moved.names() == []
    moved.remove()
    moved.remove()
    nowhere = HadoopFolder("nowhere://host/folder")
    with pytest.raises(OSError, match='No FileSystem for scheme "nowhere"'):
        nowhere.names()
    records = RemoteSnapshot(tmp_path, 1, Encoding(ids=(), attributes=()), place=nowhere)
    with pytest.raises(InvalidInputError, match=r"nowhere://host/folder cannot be reached \("):
        records.check_seal(b"key", "seal")


def test_data_has_an_address_and_an_engine() -> None:
    assert find_engine("spark", None, "hdfs://name/clinic") is not find_engine("spark")
    with pytest.raises(InvalidInputError, match="has no data: leave 'hdfs://name/x' out"):
        find_engine("local", None, "hdfs://name/x")
    with pytest.raises(InvalidInputError, match="'clinic/data' is no address"):
        find_engine("spark", None, "clinic/data")
