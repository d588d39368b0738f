"""Tables from files and servers: the same values whatever they come in, and nothing dropped.

The first part is what every source must do. A new one is added to the fixture and runs all of it.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from openpyxl import Workbook
from pyarrow import parquet

from tacit.errors import InvalidInputError
from tacit.tables import Column, Declaration
from tacit.tables.delivery.registry import ENGINES
from tacit.tables.sources.source import SOURCES, find_source
from tacit.tables.sources.staging_table import stage
from tests.tables.samples import (
    PATIENTS,
    ROWS,
    TYPES,
    Columns,
    write_arrow,
    write_csv,
    write_duckdb,
    write_excel,
    write_parquet,
    write_toml,
)

N_PATIENTS = len(PATIENTS["patient_id"])


def read(source: str, *columns: str, folder: Path) -> tuple[list[tuple[object, ...]], list[str]]:
    """Rows, sorted, and stored types of the columns."""
    with stage(source, columns, folder) as table:
        rows = table.connection.execute("SELECT * FROM staged ORDER BY ALL").fetchall()
        assert table.n_records == len(rows)
        return rows, [table.types[name] for name in columns]


def read_text(text: str | bytes, *columns: str, folder: Path) -> list[tuple[object, ...]]:
    """Rows of a CSV file with this content."""
    path = folder / "table.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(str(path), *columns, folder=folder)[0]


def fill(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql)


CASED: dict[Callable[[Path, Columns], str], str] = {
    write_csv: "csv",
    write_parquet: "parquet",
    write_arrow: "arrow",
    write_excel: "xlsx",
}

KINDS = ("csv", "csv.gz", "parquet", "arrow", "feather", "xlsx", "xlsx sheet", "duckdb")


@pytest.fixture(params=[*KINDS, "duckdb table", "toml", "postgresql"])
def patients(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The same table in everything that can be read."""
    path = tmp_path / f"patients of O'Neill.{request.param.partition(' ')[0]}"
    match request.param:
        case "csv":
            return write_csv(path, PATIENTS)
        case "csv.gz":
            text = Path(write_csv(tmp_path / "plain.csv", PATIENTS)).read_bytes()
            path.write_bytes(gzip.compress(text))
            return str(path)
        case "parquet":
            return write_parquet(path, PATIENTS)
        case "arrow" | "feather":
            return write_arrow(path, PATIENTS)
        case "xlsx":
            return write_excel(path, PATIENTS)
        case "xlsx sheet":
            return write_excel(path, PATIENTS, "other", "ward A") + "::ward A"
        case "duckdb":
            return write_duckdb(path, PATIENTS, "patients")
        case "duckdb table":
            return write_duckdb(path, PATIENTS, "other", "ward.patients") + "::ward.patients"
        case "toml":
            monkeypatch.setitem(SOURCES, r".*\.toml", "tests.tables.sources.toy:TomlFile")
            return write_toml(path, PATIENTS)
    url: str = request.getfixturevalue("postgres_url")
    kinds = ("int", "smallint", "text", "float8", "boolean", "varchar(9)")
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(TYPES, kinds, strict=True))
    fill(url, f"CREATE TABLE patients ({columns})")
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO patients VALUES (%s, %s, %s, %s, %s, %s)", ROWS)
    return f"{url}#patients"


def test_every_source_gives_the_same_table(patients: str, tmp_path: Path) -> None:
    rows, types = read(patients, *TYPES, folder=tmp_path)
    assert rows == ROWS
    assert dict(zip(TYPES, types, strict=True)) == TYPES


def test_every_source_shows_its_name_and_its_file(patients: str) -> None:
    source = find_source(patients)
    assert source.shown.endswith("patients" if "://" in patients else patients)
    assert (source.file is None) == ("://" in patients)
    assert source.file is None or str(source.file) == patients.partition("::")[0]


def test_every_source_can_be_read_again(patients: str, tmp_path: Path) -> None:
    assert read(patients, "age", folder=tmp_path) == read(patients, "age", folder=tmp_path)


def test_a_study_can_be_made_of_every_source(patients: str, tmp_path: Path) -> None:
    place, columns = tmp_path / "snapshot", [Column("diagnosis"), Column("smoker")]
    snapshot = ENGINES["local"].count(patients, Declaration(["patient_id"], columns), place)
    assert snapshot.n_records == N_PATIENTS


def test_every_source_names_the_nearest_column(patients: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no column 'diagnoses' in .*it has 'diagnosis', "):
        read(patients, "diagnoses", folder=tmp_path)


def test_nothing_is_left_behind(patients: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    read(patients, "age", folder=folder)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.csv", "there is no file"),
        ("none.duckdb::t", "there is no file"),
        ("http://example.org/t.csv", "there is no file"),
        ("table.ods", r"no table that tacit reads: give a \.csv"),
        ("noise.xlsx", r"noise\.xlsx cannot be read: "),
        ("noise.arrow", r"cannot be read: .*; write it as an Arrow file, .* nor Feather version 1"),
        ("names.xlsx", "has no rows"),
        ("names.arrow", "has no rows"),
        ("nothing.xlsx", r"nothing\.xlsx is empty: give a row of names"),
        ("twice.xlsx", "has two columns 'b': give each its own name"),
        ("twice.csv", r"twice\.csv has two columns 'b': give each its own name"),
        ("quoted.csv", "has two columns 'b, c': give each its own name"),
        ("two.xlsx", r"holds 2 sheets \('a', 'b'\): say which one, as in .*two\.xlsx::sheet"),
        ("two.xlsx::c", r"has no sheet 'c': it has 'a', 'b'"),
        ("empty.csv", "is empty"),
        ("names.csv", "has no rows"),
        ("names.parquet", "has no rows"),
        ("noise.csv", "cannot be read: "),
        ("latin.csv", r"line 2 is not in UTF-8 \(byte 0xe9\); save it as UTF-8"),
        ("wide.csv", "it is in UTF-16; save it as UTF-8"),
        ("large.feather", r"column 'age' has type DECIMAL\(50,2\) and 38 digits are the most"),
        ("large.parquet", r"column 'age' has type DECIMAL\(50,2\) and 38 digits are the most"),
        ("case.csv", "has columns 'AGE' and 'age', which SQL does not tell apart: give each"),
        ("case.parquet", "has columns 'AGE' and 'age', which SQL does not tell apart: give each"),
        ("case.arrow", "has columns 'AGE' and 'age', which SQL does not tell apart: give each"),
        ("case.xlsx", "has columns 'AGE' and 'age', which SQL does not tell apart: give each"),
        ("title.xlsx", "2 columns without a name, and the first row has 'Report': write a name"),
        ("noise.parquet", "cannot be read: "),
        ("noise.duckdb", "cannot be read: "),
        ("none.duckdb", "there is no file"),
        ("two.duckdb", r"holds 2 tables \('a', 'b'\): say which one, as in .*two\.duckdb::table"),
        ("two.duckdb::c", r"has no table 'c': it has 'a', 'b'"),
        ("two.duckdb#c", r"has no table 'c'"),
        ("list.parquet", r"column 'age' has type BIGINT\[\]: tacit reads"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(source: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "table.ods").write_bytes(b"PK")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "names.csv").write_text("age,b\n")
    (tmp_path / "twice.csv").write_text("\ufeffage,b, b\n1,2,3\n")
    (tmp_path / "quoted.csv").write_text('age;"b, c";"b, c"\n1;2;3\n')
    (tmp_path / "latin.csv").write_bytes("age,b\n1,née\n".encode("latin-1"))
    (tmp_path / "wide.csv").write_bytes("age,b\n1,née\n".encode("utf-16"))
    large = pa.array([Decimal(1)], pa.decimal256(50, 2))
    write_arrow(tmp_path / "large.feather", {"age": large})
    write_parquet(tmp_path / "large.parquet", {"age": large})
    for write, kind in CASED.items():
        write(tmp_path / f"case.{kind}", {"AGE": [1], "age": [2], "b": [3]})
    for kind in ("csv", "parquet", "duckdb", "xlsx", "arrow"):
        (tmp_path / f"noise.{kind}").write_bytes(bytes(range(256)) * 20)
    write_duckdb(tmp_path / "two.duckdb", PATIENTS, "a", "b")
    write_excel(tmp_path / "two.xlsx", PATIENTS, "a", "b")
    write_excel(tmp_path / "nothing.xlsx", {})
    write_excel(tmp_path / "names.xlsx", {"age": [], "b": []})
    write_arrow(tmp_path / "names.arrow", {"age": pa.array([], pa.int64())})
    book = Workbook()
    book.active.append(["age", "b", "b"])
    book.save(tmp_path / "twice.xlsx")
    book = Workbook()
    for row in (["Report"], ["age", "b", "c"], [30, 1, 2]):
        book.active.append(row)
    book.active.merge_cells("A1:C1")
    book.save(tmp_path / "title.xlsx")
    write_parquet(tmp_path / "list.parquet", {"age": [[1, 2], [3]]})
    write_parquet(tmp_path / "names.parquet", {"age": pa.array([], pa.int64())})
    place = source if "://" in source else f"{tmp_path}/{source}"
    with pytest.raises(InvalidInputError, match=message) as raised:
        read(place, "age", folder=tmp_path)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["a*", "a?", "a[1]", "[a1]", "a]"])
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_name_is_no_pattern(
    name: str, write: Callable[[Path, Columns], str], tmp_path: Path
) -> None:
    kind = write.__name__.removeprefix("write_")
    write(tmp_path / f"a1.{kind}", {"v": [1]})
    source = write(tmp_path / f"{name}.{kind}", {"v": [2]})
    assert read(source, "v", folder=tmp_path)[0] == [(2,)]


def test_a_parquet_file_that_only_duckdb_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_schema(path: Path) -> pa.Schema:
        raise pa.ArrowNotImplementedError(f"no such type in {path.name}")

    source = write_parquet(tmp_path / "t.parquet", {"v": [1]})
    monkeypatch.setattr(parquet, "read_schema", read_schema)
    with pytest.raises(InvalidInputError, match=r"cannot be read: no such type in t\.parquet"):
        read(source, "v", folder=tmp_path)


# --- CSV ----------------------------------------------------------------------------------------


def test_types_hold_for_the_whole_file(tmp_path: Path) -> None:
    lines = ["id", *map(str, range(25_000)), "x1"]
    rows = read_text("\n".join(lines), "id", folder=tmp_path)
    assert len(rows) == 25_001
    assert ("x1",) in rows


@pytest.mark.parametrize("n_rows", [5, 40_000])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p,1,2,3", "line {} has 4 fields and the line of names has 3"),
        ("p,1", "line {} has 2 fields and the line of names has 3"),
        ("p", "line {} has 1 field and the line of names has 3"),
        ('p,1,"x', "line {} has a quote that is not closed, or a very long field"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_ragged_line_is_named(
    line: str, said: str, delimiter: str, n_rows: int, ending: str, tmp_path: Path
) -> None:
    rows = [f'p{row},{row % 7},"a\nb"' for row in range(n_rows)]
    rows.insert(n_rows - 2, line)
    text = "\n".join(["id,age,note", *rows, ""]).replace(",", delimiter).encode()
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text) if ending == "csv.gz" else text)
    message = f"t.{ending} cannot be read: {said.format(2 * n_rows - 2)}; "
    with pytest.raises(InvalidInputError, match=re.escape(message)) as raised:
        read(str(path), "id", "age", folder=tmp_path)
    assert len(str(raised.value).splitlines()) == 1


def test_a_single_column_with_a_comma_in_its_name(tmp_path: Path) -> None:
    rows = read_text('"name, first"\nann\n"bob, jr"\n', "name, first", folder=tmp_path)
    assert sorted(rows) == [("ann",), ("bob, jr",)]


@pytest.mark.parametrize(
    ("days", "orders"),
    [
        (["01/02/2020", "03/12/2020"], "day-month-year or month-day-year"),
        (["01-02-2020 10:00:00", "03-12-2020 11:00:00"], "day-month-year or month-day-year"),
        (["01.02.03", "03.12.04"], "year-month-day or day-month-year"),
        (["01/01/2020", "12/12/2020"], None),  # the same either way
        (["01/02/2020", "13/12/2020"], None),
        (["01/02/2020", ""], "day-month-year or month-day-year"),
        (["2020-01-02", "2020-03-12"], None),
    ],
)
def test_dates_are_not_guessed(days: list[str], orders: str | None, tmp_path: Path) -> None:
    lines = ["id,day", *(f"{k},{day}" for k, day in enumerate(days))]
    if orders is None:
        assert all(row[1] for row in read_text("\n".join(lines), "id", "day", folder=tmp_path))
        return
    message = f"the dates of day in .*, such as '{re.escape(days[0])}', may be {orders}: write them"
    with pytest.raises(InvalidInputError, match=message):
        read_text("\n".join(lines), "day", folder=tmp_path)
    assert len(read_text("\n".join(lines), "id", folder=tmp_path)) == len(days)


def test_one_column_of_dates_tells_the_order_in_the_others(tmp_path: Path) -> None:
    rows = read_text("a,b\n01/02/2020,31/01/2020\n03/02/2020,\n", "a", folder=tmp_path)
    assert rows == [(date(2020, 2, 1),), (date(2020, 2, 3),)]


def test_long_numbers_that_become_the_same_are_counted(tmp_path: Path) -> None:
    lines = ["v,w", *(f"{2**53 + k}.0,0.1000000000000000{k}" for k in range(1, 5))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    numbers = {"column": "v", "numbers": 4, "kept": 3, "example": "9007199254740993.0"}
    assert look(str(tmp_path / "t.csv"), "v", folder=tmp_path) == [("numbers_merged", numbers)]
    (tmp_path / "t.csv").write_text("v\n0.30000000000000004\n1e22\n0.10000000000000001\n5e-324\n")
    assert look(str(tmp_path / "t.csv"), "v", folder=tmp_path) == []


def test_leading_zeros_are_kept(tmp_path: Path) -> None:
    rows = read_text("id,b\n007,1\n7,2\n", "id", folder=tmp_path)
    assert rows == [("007",), ("7",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n4,5,6\n", "line 3 has 1 field"),
        ("a,b,c\n1,2,3\n3\n", "line 3 has 1 field"),
        ("# x\na,b\n1,2\n", "no column 'a'"),
    ],
)
def test_no_line_is_skipped_to_make_the_rest_regular(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_text(text, "a", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a;b\nx;1,5\ny;2,5\n", [("x", "1,5"), ("y", "2,5")]),
        ('a,b\n"x, ""y""",1\n"two\nlines",2\n', [("two\nlines", 2), ('x, "y"', 1)]),
        ("a,b\r\nx,1\r\n", [("x", 1)]),
        (b"\xef\xbb\xbfa,b\nx,1\n", [("x", 1)]),
        ("a,b\nx,nan\ny,-0.0\nz,0.5\n", [("x", None), ("y", 0.0), ("z", 0.5)]),
        ("a,b\n#1,1\n#2,\n", [("#1", 1), ("#2", None)]),
        ("a,b\nx,13/02/2020\n", [("x", date(2020, 2, 13))]),
        ("a,b\nx,13/02/2020 10:30:00\n", [("x", datetime(2020, 2, 13, 10, 30))]),
    ],
)
def test_csv_as_it_is_found(
    text: str | bytes, rows: list[tuple[object, ...]], tmp_path: Path
) -> None:
    found = read_text(text, "a", "b", folder=tmp_path)
    assert found == rows
    assert repr(found) == repr(rows)  # 0.0, not -0.0


# --- types --------------------------------------------------------------------------------------


def test_types_are_stored_as_few(tmp_path: Path) -> None:
    columns = {
        "tiny": pa.array([5], pa.int8()),
        "huge": pa.array([2**64 - 1], pa.uint64()),
        "single": pa.array([0.1], pa.float32()),
        "exact": pa.array([Decimal("1.25")], pa.decimal128(20, 2)),
        "choice": pa.array(["b"]).dictionary_encode(),
        "bytes": pa.array([b"\x00\xff"]),
        "moment": pa.array([0], pa.timestamp("ms", tz="Europe/Rome")),
    }
    path = tmp_path / "types.parquet"
    parquet.write_table(pa.table(columns), path)
    with stage(str(path), list(columns), tmp_path) as table:
        texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in columns)
        [row] = table.connection.execute(f"SELECT {texts} FROM staged").fetchall()
    kinds = ["BIGINT", "UBIGINT", "DOUBLE", "DECIMAL(20,2)", "VARCHAR", "VARCHAR", "TIMESTAMP"]
    assert list(table.types.values()) == kinds
    values = ("5", str(2**64 - 1), "0.1", "1.25", "b", "00FF", "1970-01-01 00:00:00")
    assert row == values


def test_huge_whole_numbers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "huge.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {10**30 + 1}::HUGEINT AS n")
    assert read(str(path), "n", folder=tmp_path) == ([(Decimal(10**30 + 1),)], ["DECIMAL(38,0)"])


@pytest.mark.parametrize("name", ["t.duckdb", "t.parquet"])
def test_times_with_a_zone_are_taken_in_utc(name: str, tmp_path: Path) -> None:
    """DuckDB writes such times to Parquet as Arrow 18 writes all times: adjusted to UTC."""
    path = tmp_path / name
    zoned = "SELECT '00:30:00+02'::TIMETZ AS t UNION ALL SELECT '08:00:00+00'::TIMETZ"
    with duckdb.connect(path if path.suffix == ".duckdb" else ":memory:") as connection:
        connection.execute(
            f"CREATE TABLE t AS {zoned}"
            if path.suffix == ".duckdb"
            else f"COPY ({zoned}) TO '{path}' (FORMAT parquet)"
        )
    rows, types = read(str(path), "t", folder=tmp_path)
    assert types == ["TIME"]
    assert sorted(rows) == [(time(8),), (time(22, 30),)]


@pytest.mark.parametrize("name", ["t.feather", "t.parquet"])
def test_times_to_the_nanosecond_with_a_zone_are_taken_in_utc(name: str, tmp_path: Path) -> None:
    """As pandas writes them."""
    seen = datetime(2020, 1, 31, 23, 30, tzinfo=ZoneInfo("America/New_York"))
    column = pa.array([seen, None], pa.timestamp("ns", tz="America/New_York"))
    write = write_arrow if name.endswith("feather") else write_parquet
    rows, types = read(write(tmp_path / name, {"t": column}), "t", folder=tmp_path)
    assert (rows, types) == ([(datetime(2020, 2, 1, 4, 30),), (None,)], ["TIMESTAMP"])


def test_a_column_that_cannot_be_read_does_not_hinder_others(tmp_path: Path) -> None:
    columns = {
        "large": pa.array([Decimal(1)] * 2, pa.decimal256(50, 2)),
        "half": pa.array(np.array([0.5, np.nan], np.float16)),
        "kind": pa.array(["a", "b"]).dictionary_encode(),
    }
    source = write_arrow(tmp_path / "t.arrow", columns)
    rows, types = read(source, "half", "kind", folder=tmp_path)
    assert (rows, types) == ([(0.5, "a"), (None, "b")], ["DOUBLE", "VARCHAR"])


def test_names_that_differ_in_case_hinder_only_who_asks_for_them(tmp_path: Path) -> None:
    for write, kind in CASED.items():
        source = write(tmp_path / f"t.{kind}", {"AGE": [1], "age": [2], "b": [3]})
        assert read(source, "b", folder=tmp_path)[0] == [(3,)]


# --- Excel --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "values", "sql_type"),
    [
        ([1, 2.0, None], [1, 2, None], "BIGINT"),
        ([1, 2.5, 1e300], [1.0, 2.5, 1e300], "DOUBLE"),
        ([True, None, False], [True, None, False], "BOOLEAN"),
        ([date(2020, 1, 31), None], [date(2020, 1, 31), None], "DATE"),
        (
            [datetime(2020, 1, 31, 8, 30), date(2020, 2, 1)],
            [datetime(2020, 1, 31, 8, 30), datetime(2020, 2, 1)],
            "TIMESTAMP",
        ),
        ([time(8, 30), None], [time(8, 30), None], "TIME"),
        ([30, "unknown", 4.5, True, ""], ["30", "unknown", "4.5", "true", None], "VARCHAR"),
        (["a", "#N/A"], ["a", None], "VARCHAR"),
    ],
)
def test_cells_of_a_sheet_get_the_type_that_fits_all(
    cells: list[object], values: list[object], sql_type: str, tmp_path: Path
) -> None:
    columns = {"id": [*range(len(cells))], "v": cells}
    rows, types = read(write_excel(tmp_path / "t.xlsx", columns), "id", "v", folder=tmp_path)
    assert types == ["BIGINT", sql_type]
    assert repr(rows) == repr([*enumerate(values)])  # True is not 1


def test_rows_and_names_that_are_empty_are_no_records_and_no_columns(tmp_path: Path) -> None:
    book = Workbook()
    for row in [["id", None, 2020], [1, "note", "x"], [None] * 3, [2, None, "y"], [None] * 3]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    rows, _ = read(str(tmp_path / "t.xlsx"), "id", "2020", folder=tmp_path)
    assert rows == [(1, "x"), (2, "y")]


def look(source: str, *columns: str, folder: Path) -> list[tuple[str, dict[str, object]]]:
    """What is remarked while the columns are read."""
    with stage(source, columns, folder) as table:
        return [(remark.code, dict(remark.values)) for remark in table.remarks]


def test_cells_that_only_look_empty_are_refused_or_counted(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.create_sheet("A & B", 0)
    sheet.append([])
    sheet.append([None, "id", "merged", "sum", "score", "born", "died", "change", "text"])
    for row in range(3, 7):
        died = date(1890 + row, 1, 1)
        score = "#N/A" if row == 4 else row
        born = date(1896 + row, 6, 1)
        sheet.append([None, row, "a", f"=B{row}*2", score, born, died, -row, f'="{row}"'])
    sheet.merge_cells("C4:C5")
    sheet.merge_cells("H9:I9")
    book.save(tmp_path / "t.xlsx")
    source = f"{tmp_path / 't.xlsx'}::A & B"
    refused = {
        "merged": r"has merged cells in merged, C4:C5, .*: unmerge them",
        "sum": r"has formulas in sum whose values were never saved \(4, the first in D3\)",
        "born": "has times among dates, or dates before 1900, .*, in 1 cell of born",
        "died": "has times among dates, or dates before 1900, .*, in 4 cells of died",
    }
    for name, message in refused.items():
        with pytest.raises(InvalidInputError, match=message):
            look(source, "id", name, folder=tmp_path)
    error = {"column": "score", "records": 1, "example": "#N/A"}
    assert look(source, "id", "score", "change", folder=tmp_path) == [("error_cells", error)]


def test_an_empty_text_is_a_value_that_a_formula_may_have(tmp_path: Path) -> None:
    source = write_excel(tmp_path / "t.xlsx", {"id": [1, 2], "v": ["=A2", "=A3"]})
    plain, filled = tmp_path / "t.xlsx", tmp_path / "filled.xlsx"
    with ZipFile(plain) as old, ZipFile(filled, "w") as new:
        for name in old.namelist():
            xml = old.read(name).decode()
            if name.startswith("xl/worksheets"):
                xml = xml.replace('r="B2"', 'r="B2" t="str"').replace("<v />", "<v></v>", 1)
                xml = xml.replace("<v />", "<v>-2</v>")
            new.writestr(name, xml)
    with pytest.raises(InvalidInputError, match=r"formulas in v .* \(2, the first in B2\)"):
        look(source, "v", folder=tmp_path)
    assert look(str(filled), "v", folder=tmp_path) == []
    assert read(str(filled), "id", "v", folder=tmp_path)[0] == [(1, None), (2, -2)]


# --- PostgreSQL ---------------------------------------------------------------------------------


def test_types_of_postgresql(postgres_url: str, tmp_path: Path) -> None:
    fill(postgres_url, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    fill(
        postgres_url,
        "CREATE TABLE t AS SELECT 1.25::numeric(10,2) AS exact, 1.5::numeric AS number, "
        "'NaN'::numeric(10,2) AS nothing, 'ok'::mood AS mood, 'x'::char(3) AS padded, "
        "'11111111-2222-3333-4444-555555555555'::uuid AS key, '\\x00ff'::bytea AS bytes, "
        "'2020-01-01 10:00:00+02'::timestamptz AS moment, '{\"a\": 1}'::jsonb AS document",
    )
    types = {
        "exact": "DECIMAL(10,2)",
        "number": "DOUBLE",
        "nothing": "DECIMAL(10,2)",
        "mood": "VARCHAR",
        "padded": "VARCHAR",
        "key": "VARCHAR",
        "bytes": "VARCHAR",
        "moment": "TIMESTAMP",
        "document": "VARCHAR",
    }
    with stage(f"{postgres_url}#t", list(types), tmp_path) as table:
        texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in types)
        [row] = table.connection.execute(f"SELECT {texts} FROM staged").fetchall()
    assert table.types == types
    assert row == (
        "1.25",
        "1.5",
        None,
        "ok",
        "x",
        "11111111-2222-3333-4444-555555555555",
        "00FF",
        "2020-01-01 08:00:00",
        '{"a": 1}',
    )


def test_long_numbers_of_postgresql_that_become_the_same_are_counted(
    postgres_url: str, tmp_path: Path
) -> None:
    fill(
        postgres_url,
        "CREATE TABLE t AS SELECT 9007199254740992 + k::numeric AS v, k / 10::numeric AS short "
        "FROM generate_series(0, 3) AS k",
    )
    numbers = {"column": "v", "numbers": 4, "kept": 3, "example": "9007199254740993"}
    found = look(f"{postgres_url}#t", "v", "short", folder=tmp_path)
    assert found == [("numbers_merged", numbers)]


def test_tables_of_postgresql(postgres_url: str, tmp_path: Path) -> None:
    schema = postgres_url.rpartition("%3D")[2]
    fill(postgres_url, 'CREATE TABLE "Odd ""name" AS SELECT 1 AS "a ""b"')
    fill(postgres_url, 'CREATE VIEW seen AS SELECT * FROM "Odd ""name"')
    assert read(f'{postgres_url}#Odd "name', 'a "b', folder=tmp_path)[0] == [(1,)]
    assert read(f"{postgres_url}#{schema}.seen", 'a "b', folder=tmp_path)[0] == [(1,)]
    with pytest.raises(InvalidInputError, match="is not there: the database has 'seen'"):
        read(f"{postgres_url}#sean", "a", folder=tmp_path)
    with pytest.raises(InvalidInputError, match="names no table: add it, as in"):
        read(postgres_url, "a", folder=tmp_path)


def test_postgresql_that_cannot_be_reached_keeps_its_password(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be read: .*Connection refused") as raised:
        read("postgresql://me:s3cret@localhost:1/x?password=s3cret#t", "a", folder=tmp_path)
    assert "s3cret" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("postgresql://me:p@ss@host/db#t", "postgresql://host/db#t"),
        ("postgres://host/db?password=x#s.t", "postgres://host/db#s.t"),
        ("postgresql:///db", "postgresql:///db"),
    ],
)
def test_messages_show_no_secrets(source: str, shown: str) -> None:
    assert find_source(source).shown == shown
