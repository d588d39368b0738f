"""Data frames: the same table as from a file, whatever library they are of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from tacit.errors import InvalidInputError
from tacit.tables import Column, Declaration, build
from tacit.tables.sources.source import find_source
from tacit.tables.sources.staging_table import stage
from tests.tables.samples import PATIENTS, ROWS, TYPES, write_csv

TABLE = pa.table(dict(PATIENTS))


def relation(table: pa.Table) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(table)


FRAMES: dict[str, Callable[[pa.Table], object]] = {
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, nullable": lambda table: table.to_pandas().convert_dtypes(),
    "polars": pl.from_arrow,
    "PyArrow": lambda table: table,
    "a stream": lambda table: table.to_reader(max_chunksize=2),
    "DuckDB": relation,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    source = find_source(FRAMES[kind](TABLE))
    for _ in range(2):  # though a stream can be read only once
        with stage(source, [*TYPES], tmp_path) as table:
            assert table.connection.execute("FROM staged ORDER BY ALL").fetchall() == ROWS
            assert table.types == TYPES
    assert (source.shown, source.file) == ("the table in memory", None)


def test_a_frame_is_encoded_as_its_file(tmp_path: Path) -> None:
    columns = [Column("diagnosis"), Column("age", cuts=(30, 60))]
    tables = write_csv(tmp_path / "patients.csv", PATIENTS), FRAMES["pandas, nullable"](TABLE)
    declared = Declaration(["patient_id"], columns)
    digests = {
        build(table, declared, tmp_path / str(k)).digest(b"key") for k, table in enumerate(tables)
    }
    assert len(digests) == 1


TIMES = pd.to_datetime(["2020-01-02 10:00", None, "2020-01-01 00:00"])
COLUMNS = {
    "categorical": pd.DataFrame({"c": pd.Categorical(["b", None, "a"], ["a", "b", "never"])}),
    "categorical of numbers": pd.DataFrame({"c": pd.Categorical([2, None, 1])}),
    "polars categorical": pl.DataFrame({"c": ["b", None, "a"]}, {"c": pl.Categorical}),
    "polars enum": pl.DataFrame({"c": ["b", None, "a"]}, {"c": pl.Enum(["a", "b"])}),
    "dictionary": pa.table({"c": pa.array(["b", None, "a"]).dictionary_encode()}),
    "DuckDB enum": duckdb.connect().sql("SELECT unnest(['b', NULL, 'a'])::ENUM('a', 'b') AS c"),
    "nullable": pd.DataFrame({"c": pd.array([2, None, 1], dtype="Int8")}),
    "numbers with NaN": pd.DataFrame({"c": [2.0, np.nan, 1.0]}),
    "polars with NaN": pl.DataFrame({"c": [2.0, float("nan"), 1.0]}),
    "half floats": pa.table({"c": pa.array([np.float16(2), None, np.float16(1)], pa.float16())}),
    "objects": pd.DataFrame({"c": ["b", None, "a"]}, dtype=object),
    "all missing": pd.DataFrame({"c": [None, None, None]}),
    "dates": pd.DataFrame({"c": [date(2020, 1, 2), None, date(2020, 1, 1)]}),
    "times": pd.DataFrame({"c": TIMES}),
    "zoned": pd.DataFrame({"c": TIMES.tz_localize("Asia/Tokyo")}),
}
TEXTS = ["a", "b", None]
NUMBERS = [1, 2, None]
EXPECTED = {
    **dict.fromkeys(("categorical", "polars categorical", "polars enum", "objects"), TEXTS),
    **dict.fromkeys(("dictionary", "DuckDB enum"), TEXTS),
    "all missing": [None] * 3,
    "dates": [date(2020, 1, 1), date(2020, 1, 2), None],
    "times": [datetime(2020, 1, 1), datetime(2020, 1, 2, 10), None],
    "zoned": [datetime(2019, 12, 31, 15), datetime(2020, 1, 2, 1), None],  # in UTC
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_this_kind(kind: str, tmp_path: Path) -> None:
    with stage(COLUMNS[kind], ["c"], tmp_path) as table:
        rows = table.connection.execute("FROM staged ORDER BY ALL").fetchall()
        assert [value for (value,) in rows] == EXPECTED.get(kind, NUMBERS)
        assert ("c" in table.zoned) == (kind == "zoned")


IDS = [f"p{n}" for n in range(60)]
FRAME = pd.DataFrame({"id": IDS, "sex": list("fm") * 30})

REFUSED = {
    "'id' is the index of .*reset_index": FRAME.set_index("id"),
    "has no rows": FRAME.iloc[:0],
    "has no columns": pd.DataFrame(),
    "there is no column 'sex' .*it has 'id'": FRAME[["id"]],
    "column 'sex' .* has values of several types": FRAME.assign(sex=[1, "f"] * 30),
    "two columns 'sex'": pa.table([pa.array(IDS)] * 3, names=["id", "sex", "sex"]),
    "Duplicate column names": pd.concat([FRAME, FRAME[["sex"]]], axis=1),
    "'sex' and 'SEX', which SQL does not tell apart": FRAME.assign(SEX=1),
    "column 'sex' has type VARCHAR\\[\\]": FRAME.assign(sex=[["f"], ["m"]] * 30),
    "dict is no table": {"id": IDS},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_read_is_refused(message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        tacit.Study.create(
            tmp_path / "study", REFUSED[message], id="id", private="sex", ledger="folder"
        )
    assert len(str(raised.value).splitlines()) == 1
    assert not (tmp_path / "study").exists()


def test_an_index_that_nobody_names_is_left_out(tmp_path: Path) -> None:
    with stage(FRAME.set_index(pd.Index(IDS[::-1], name="other")), ["id"], tmp_path) as table:
        assert list(table.types) == ["id"]


def test_a_study_lives_on_frames(tmp_path: Path) -> None:
    study = tacit.Study.create(
        tmp_path / "study", FRAME, id="id", private="sex", everyone=1.0, ledger="folder"
    )
    later = pl.DataFrame({"id": [f"q{n}" for n in range(200)], "sex": ["f", "m"] * 100})
    study.extend(later)
    study.set_limit("lab", 1.0)
    assert study.status().records == 260
    study.erase(pa.table({"id": ["p0", "q1"]}))
    assert study.status().erased == 2
    study.close()
