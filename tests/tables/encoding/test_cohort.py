"""Records that join later: what is refused of their columns, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.errors import InvalidInputError
from tacit.tables import Column, Declaration
from tacit.tables.encoding.builder import build
from tacit.tables.encoding.cohort import Admission, build_cohort
from tacit.tables.encoding.snapshot import Snapshot
from tests.tables.samples import write_parquet

MOMENTS = [datetime(2020, 1, 1, 12), datetime(2021, 1, 1, 12)]


def founded(values: object, column: Column, folder: Path) -> Snapshot:
    table = write_parquet(folder / "t.parquet", {"id": [1, 2], column.name: values})
    return build(table, Declaration(["id"], [column]), folder / "founding")


def join(study: Snapshot, name: str, values: object, folder: Path) -> Snapshot:
    n = len(values) if isinstance(values, Sequence | pa.Array) else 0
    table = write_parquet(folder / "new.parquet", {"id": [*range(10, 10 + n)], name: values})
    return build_cohort(
        table,
        [study],
        folder / "cohort",
        Admission(False, False, frozenset(), b""),
        remark=lambda _: None,
    )


@pytest.mark.parametrize(
    ("column", "values", "said", "unsaid"),
    [
        (
            Column("cat", top=1),
            ["a", None, None],
            (
                r"no level for cat: a missing value \(2, row 2\): fill in what is missing, or "
                "leave these records out: a column has a level for missing values if some were "
                "missing when the study began"
            ),
            "top=20",
        ),
        (
            Column("cat"),
            ["c", "a"],
            r"no level for cat: 'c' \(1, row 1\): correct them, .*, such as top=20 or groups$",
            "missing",
        ),
        (
            Column("cat"),
            ["c", None],
            (
                r"no level for cat: 'c' \(1, row 1\), a missing value \(1, row 2\): correct them, "
                ".* top=20 or groups; fill in what is missing"
            ),
            "cat: 'c' (1, row 1), a missing value (1, row 2); cat",
        ),
    ],
)
def test_a_value_without_a_level_can_be_dealt_with(
    column: Column, values: list[str | None], said: str, unsaid: str, tmp_path: Path
) -> None:
    study = founded(["a", "b"], column, tmp_path)
    with pytest.raises(InvalidInputError, match=said) as refused:
        join(study, "cat", values, tmp_path)
    assert unsaid not in str(refused.value)


def test_times_with_a_zone_do_not_join_times_without(tmp_path: Path) -> None:
    study = founded(MOMENTS, Column("seen", by="year"), tmp_path)
    zoned = pa.array(MOMENTS, pa.timestamp("us", tz="Asia/Tokyo"))
    message = (
        "'seen' is TIMESTAMP in the study, without a time zone, and TIMESTAMP WITH TIME ZONE here"
    )
    with pytest.raises(InvalidInputError, match=message):
        join(study, "seen", zoned, tmp_path)
    assert join(study, "seen", MOMENTS, tmp_path).n_records == 2


def test_times_with_a_zone_join_times_with_one(tmp_path: Path) -> None:
    zoned = pa.array(MOMENTS, pa.timestamp("us", tz="Asia/Tokyo"))
    study = founded(zoned, Column("seen", by="year"), tmp_path)
    assert join(study, "seen", zoned, tmp_path).n_records == 2


def test_texts_that_a_boolean_takes_are_said(tmp_path: Path) -> None:
    study = founded([True, False], Column("ill"), tmp_path)
    message = r"\('yes' in row 1\): give it the study's type, written true or false"
    with pytest.raises(InvalidInputError, match=message):
        join(study, "ill", ["yes", "no"], tmp_path)
