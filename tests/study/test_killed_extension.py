"""``kill -9`` while records join, or are answered about in three cohorts; then the same command."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tacit.study import Study, verify_study
from tests.study.clinic import (
    entries_of,
    files_in,
    make_clinic,
    read_patients,
    write_patients,
    write_rows,
)
from tests.study.doomed import Doomed


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A study of two cohorts with a release about the first, and a table to join."""
    place = tmp_path / "kept"
    place.mkdir()
    for number, first in enumerate((200, 300), 2):
        write_patients(place / f"{number}.csv", 60, seed=number, first=first)
    with make_clinic(place) as study:
        study.set_limit("lab-a", 0.3)
        study.release("lab-a", "age", out=place / "a.csv", bits=0.1)
        study.extend(str(place / "2.csv"))
    return place


def put_back(kept: Path) -> Path:
    place = kept.parent / "place"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("n_corrected", [0, 1])
def test_killed_while_records_join(kept: Path, server: Doomed, n_corrected: int) -> None:
    known = read_patients(kept / "patients.csv")[0]
    moved = (known[0], "20" if int(known[1]) > 65 else "90", *known[2:])
    write_rows(
        kept / "3.csv", [*read_patients(kept / "3.csv")[n_corrected:], *[moved] * n_corrected]
    )
    place = put_back(kept)
    command = ("extend", str(place / "clinic"), "--table", str(place / "3.csv"))
    command = (*command, *["--accept-corrections"] * n_corrected)
    ended = server.rehearse(*command, places=[place])
    assert ended.code == 0, ended.output
    files = set(files_in(place))
    joined_before = set()
    for point in ended.kill_points:
        put_back(kept)
        killed = server.run(*command, die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        joined_before.add(sum(each.kind == "cohort" for each in entries_of(place / "clinic")))
        again = server.run(*command)
        assert again.code == 0, again.output
        assert sum(each.kind == "cohort" for each in entries_of(place / "clinic")) == 2
        assert set(files_in(place)) == files
        with Study.open(place / "clinic") as study:
            status = study.status()
            assert [each.records for each in status.cohorts] == [200, 60, 60]
            assert (status.erased, status.corrected) == (n_corrected, n_corrected)
        assert verify_study(place / "clinic").problems == ()
    assert joined_before == {1, 2}


@pytest.mark.slow
def test_killed_while_three_cohorts_are_answered(kept: Path, server: Doomed) -> None:
    with Study.open(kept / "clinic") as study:
        study.extend(str(kept / "3.csv"))
    place = put_back(kept)
    n_entries = len(entries_of(place / "clinic"))
    command = ("release", str(place / "clinic"), "lab-a", "smoker", "--bits", "0.1")
    command = (*command, "--out", str(place / "s.csv"))
    ended = server.rehearse(*command, places=[place])
    assert ended.code == 0, ended.output
    expected = {name: content for name, content in files_in(place).items() if name.endswith("csv")}
    assert {"s.csv", "s.cohort-2.csv", "s.cohort-3.csv"} < set(expected)
    recorded_before = set()
    for point in ended.kill_points:
        put_back(kept)
        killed = server.run(*command, die_at=point)
        assert killed.code == -signal.SIGKILL, killed.output
        kinds = [each.kind for each in entries_of(place / "clinic")[n_entries:]]
        recorded_before.add(kinds.count("intent"))
        again = server.run(*command)
        assert again.code == 0, again.output
        kinds = [each.kind for each in entries_of(place / "clinic")[n_entries:]]
        assert (kinds.count("intent"), kinds.count("delivered")) == (3, 3)
        found = {name: each for name, each in files_in(place).items() if name.endswith("csv")}
        assert found == expected  # the same letters, whenever they are drawn
        assert verify_study(place / "clinic").problems == ()
    assert recorded_before == {0, 3}  # all or none
