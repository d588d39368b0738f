"""Tables with columns as they come, from ``tacit init`` to a file that is delivered again."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from tests.cli.clinic import done
from tests.tables.samples import write_arrow, write_csv, write_excel, write_parquet

N_RECORDS = 400
NOON = datetime(2019, 6, 1, 12)

IDS = ["--id", "ward,bed", "--accept", "rows"]
WORDS = [
    *("--private", "born:cut=1959-12-31,1979-12-31"),
    *("--private", "admitted:by=year"),
    *("--private", "diagnosis:top=3"),
    *("--external", "fee:cut=20.5", "--external", "smoker"),
    *("--external", "age:cut=30,60", "--stray", "missing"),
    *("--ledger", "folder"),
]


def rows_of(n: int = N_RECORDS) -> Mapping[str, Sequence[object]]:
    """Dates, moments, decimals, booleans, ages with two strays, and 40 diagnoses."""
    draw = random.Random(5)
    ages: list[object] = [str(draw.randint(18, 90)) for _ in range(n)]
    ages[3], ages[7] = "unknown", "n/a"
    return {
        "ward": [k // 20 for k in range(n)],
        "bed": [f"b{k % 20}" for k in range(n)],
        "born": [date(1940, 1, 1) + timedelta(days=draw.randint(0, 25_000)) for _ in range(n)],
        "admitted": [NOON + timedelta(hours=draw.randint(0, 25_000)) for _ in range(n)],
        "diagnosis": [f"d{min(int(draw.expovariate(0.2)), 40)}" for _ in range(n)],
        "fee": [Decimal(draw.randint(0, 4_000)) / 100 for _ in range(n)],
        "smoker": [draw.random() < 0.3 for _ in range(n)],
        "age": ages,
    }


def write_server_table(url: str, columns: Mapping[str, Sequence[object]]) -> str:
    kinds = ("int", "text", "date", "timestamptz", "text", "numeric(8,2)", "boolean", "text")
    rows = [
        tuple(value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(columns, kinds, strict=True))
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE stays ({declared})")
        cursor.executemany(f"INSERT INTO stays VALUES ({', '.join(['%s'] * 8)})", rows)
    return f"{url}#stays"


def write_zoned(path: Path, columns: Mapping[str, Sequence[object]]) -> str:
    admitted = pa.array(columns["admitted"], pa.timestamp("ms", tz="UTC"))
    return write_parquet(
        path, {**columns, "admitted": admitted.cast(pa.timestamp("ms", "Asia/Tokyo"))}
    )


@pytest.fixture(
    params=[
        "csv",
        pytest.param("parquet", marks=pytest.mark.slow),
        pytest.param("feather", marks=pytest.mark.slow),
        "xlsx",
        pytest.param("postgresql", marks=pytest.mark.slow),
    ]
)
def stays(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same table in files and on a server; times have a time zone in two of them."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"stays.{request.param}"
    match request.param:
        case "csv":
            return write_csv(path, rows_of())
        case "parquet":
            return write_zoned(path, rows_of())
        case "feather":
            return write_arrow(path, rows_of())
        case "xlsx":
            return write_excel(path, rows_of())
    return write_server_table(request.getfixturevalue("postgres_url"), rows_of())


def test_columns_as_they_come_go_all_the_way(stays: str) -> None:
    made = done("init", "clinic", "--table", stays, *IDS, *WORDS, "--json").json
    assert made["records"] == N_RECORDS
    [stray] = [each for each in made["remarks"] if each["code"] == "strays_missing"]
    assert (stray["column"], stray["records"]) == ("age", 2)
    done("limit", "clinic", "lab", "--bits", 0.9)
    answers = {"admitted": "2019", "fee": "<=20.5", "age": "31-60"}
    for asked, level in answers.items():
        done("release", "clinic", "lab", asked, "--bits", 0.1, "--out", f"{asked}.csv")
        assert level in done("receipt", "clinic", 3 + 2 * list(answers).index(asked)).out
    sql = "born <= '1979-12-31' and admitted >= 2020 and diagnosis <> 'other'"
    done("release", "clinic", "lab", "--sql", sql, "--bits", 0.1, "--out", "sql.csv")
    done("release", "clinic", "lab", "admitted", "--bits", 0.1, "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("admitted.csv").read_bytes()
    assert "everything is as recorded" in done("verify", "clinic").out
    assert done("status", "clinic", "--json").json["remarks"] == []
