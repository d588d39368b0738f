"""Three cohorts of real people, many visits: limits hold in each, by a replay without tacit."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tacit import Column
from tacit.cli.demo import write_people
from tacit.errors import InfeasibleError
from tacit.study import Study, verify_study
from tests.redteam.replay import replay

PARTIES = ("lab-a", "lab-b", "lab-c")
ASKED = ("income", "education", "age")


def write_thirds(place: Path) -> list[str]:
    """Three files of the people of Adult, a third of them in each."""
    write_people(place)
    people = csv.read_csv(place / "people.csv")
    size = -(-people.num_rows // 3)
    files = []
    for k in range(3):
        third: pa.Table = people.slice(k * size, size)
        files.append(str(place / f"third-{k}.parquet"))
        parquet.write_table(third, files[-1])
    return files


@pytest.mark.slow
def test_limits_hold_in_three_cohorts_of_adults(tmp_path: Path) -> None:
    first, *later = write_thirds(tmp_path)
    levels = json.loads((tmp_path / "education.json").read_text())
    private = [Column("age", cuts=(30, 45, 60)), Column("education", groups=levels), "income"]
    with Study.create(tmp_path / "adult", first, id="person", private=private) as study:
        for party in PARTIES:
            study.set_limit(party, 0.3, times=8)
        study.set_limit("everyone", 0.6)
        study.set_limit("any 2", 0.45)
        for visit in range(6):
            party, asked = PARTIES[visit % 3], ASKED[visit % 2 + visit // 3]
            with suppress(InfeasibleError):  # a limit that is reached in one cohort
                study.release(party, asked, bits=0.08, out=tmp_path / f"{visit}.parquet")
            if visit in (1, 3):
                study.extend(later.pop(0))
        status = study.status()
    assert [each.releases > 1 for each in status.cohorts] == [True] * 3
    found = replay(tmp_path / "adult")
    assert (found.faults, found.undecided) == ([], 0)
    assert found.compared > 50
    verified = verify_study(tmp_path / "adult")
    assert verified.is_whole, verified.problems
