"""Small tables for the tests of this room, and the files that they come in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from openpyxl import Workbook
from pyarrow import csv, feather, parquet

from tacit.tables.encoding.attribute import Attribute, Bins, Categories, Groups
from tacit.tables.encoding.column import Column

Columns = Mapping[str, Sequence[object]]

PATIENTS: Columns = {
    "patient_id": [7, 3, 12, 5, 9, 1],
    "age": [30, 31, 45, 61, None, 90],
    "diagnosis": ["flu", "dementia", None, "flu", "née", "dementia"],
    "income": [10.5, 20.0, 30.25, -4.0, 0.0, 99.0],
    "smoker": [True, False, True, None, True, False],
    "outcome": ["dead", "alive", "alive", "alive", "dead", "alive"],
}

ROWS = sorted(zip(*PATIENTS.values(), strict=True))

TYPES = {
    "patient_id": "BIGINT",
    "age": "BIGINT",
    "diagnosis": "VARCHAR",
    "income": "DOUBLE",
    "smoker": "BOOLEAN",
    "outcome": "VARCHAR",
}

AGE = Attribute(name="age", sql_type="BIGINT", coding=Bins(cuts=(30, 45, 60)), has_missing=True)
DIAGNOSIS = Attribute(
    name="diagnosis",
    sql_type="VARCHAR",
    coding=Categories(texts=("dementia", "flu", "née")),
    has_missing=True,
)
INCOME = Attribute(
    name="income", sql_type="DOUBLE", coding=Bins(cuts=(0.0, 20.5)), has_missing=False
)
KIDS = Attribute(
    name="kids", sql_type="BIGINT", coding=Categories(texts=("-1", "0", "2")), has_missing=True
)
WARD = Attribute(
    name="ward",
    sql_type="VARCHAR",
    coding=Groups(names=("south", "north"), group_of={"s1": "south", "*": "north"}),
    has_missing=False,
)


def columns_of(*columns: str | Column) -> list[Column]:
    return list(map(Column.of, columns))


def write_parquet(path: Path, columns: Columns) -> str:
    parquet.write_table(pa.table(dict(columns)), path)
    return str(path)


def write_csv(path: Path, columns: Columns) -> str:
    csv.write_csv(pa.table(dict(columns)), path)
    return str(path)


def write_arrow(path: Path, columns: Columns) -> str:
    feather.write_feather(pa.table(dict(columns)), path)
    return str(path)


def write_excel(path: Path, columns: Columns, *sheets: str) -> str:
    """The same table on each of the sheets."""
    book = Workbook(write_only=True)
    for name in sheets or ("patients",):
        sheet = book.create_sheet(name)
        sheet.append(list(columns))
        for row in zip(*columns.values(), strict=True):
            sheet.append(row)
    book.save(path)
    return str(path)


def write_duckdb(path: Path, columns: Columns, *names: str) -> str:
    """The same table under each of the names."""
    with duckdb.connect(path) as connection:
        connection.register("rows", pa.table(dict(columns)))
        for name in names:
            if "." in name:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name.partition('.')[0]}")
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    return str(path)


def write_toml(path: Path, columns: Columns) -> str:
    """An array of tables; a missing value has no key."""
    lines = []
    for row in zip(*columns.values(), strict=True):
        lines.append("[[rows]]")
        for name, value in zip(columns, row, strict=True):
            if value is not None:
                lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)
