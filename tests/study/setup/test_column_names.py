"""Columns may be called what they like: words of SQL, names that DuckDB or tacit use themselves."""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path

import pytest

from tacit.study import Study
from tacit.tables import Column

WORDS = (
    *("union", "select", "order", "group"),
    *("staged", "levels_0", "level_0", "id_0"),
    *("value", "bin", "x", "occurring"),
)


def _write(table: Path, names: tuple[str, ...]) -> None:
    draw = random.Random(1)
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        for number in range(120):
            age = draw.randint(18, 90)
            illness = draw.choice(("flu", "gout") if age > 50 else ("flu", "none"))
            rows.writerow((f"p{number}", age, illness, "ill" if illness == "gout" else "well"))


@pytest.mark.parametrize("start", range(0, len(WORDS), 4))
@pytest.mark.parametrize("turn", range(4))
def test_a_word_of_sql_is_a_fine_name(start: int, turn: int, tmp_path: Path) -> None:
    """Each word as an id, as a private attribute with bins and without, and as an external one."""
    four = WORDS[start : start + 4]
    key, age, illness, outcome = names = four[turn:] + four[:turn]
    table = tmp_path / "t.csv"
    _write(table, names)
    private = [Column(age, cuts=(40, 60)), illness]
    with Study.create(
        tmp_path / "s", str(table), id=key, private=private, external=[outcome], public_id=True
    ) as study:
        study.set_limit("lab", 0.6)
        for sql in (f"{age} > 60 or {illness} = 'gout'", f'"{age}" > 60 or "{illness}" = \'gout\''):
            assert study.quote("lab", sql=sql, bits=0.1).own.added > 0
        os.utime(table, (1, 1))  # so that it is compared with the snapshot
        for number, asked in enumerate((age, illness, outcome)):
            study.release("lab", asked, bits=0.1, out=tmp_path / f"{number}.csv")
        assert study.verify().is_whole
