"""Random studies of a bad kind, replayed: no bound is below the truth, no limit is exceeded."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tacit.study import verify_study
from tests.redteam.adversary import SHORT, attack
from tests.redteam.replay import replay, unlikely_draws
from tests.redteam.returning import come_back
from tests.redteam.studies import AGES, DIAGNOSES, make_hospital, write_patients

CAPPED = (101, 103, 104, 107, 117, 118, 123, 126, 132, 134)
"""With caps of all kinds, and some answers that are not refused."""

TOLD_APART = 2048
"""Letters of a view that the replay keeps apart: enough to decide on every cap."""

TAKE_LONG = (7, 103, 118, 134)

SEEDS = tuple(
    pytest.param(seed, marks=[pytest.mark.slow] if seed in TAKE_LONG else [])
    for seed in (*range(8), *CAPPED)
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bad_study(tmp_path: Path, seed: int) -> None:
    campaign = attack(tmp_path, seed, SHORT)
    found = replay(campaign.folder, most_seen=TOLD_APART)
    assert found.faults == []
    assert found.undecided == 0
    assert campaign.unclean == []
    assert verify_study(campaign.folder).problems == ()


def test_the_bad_studies_are_not_all_refused(tmp_path: Path) -> None:
    campaign = attack(tmp_path, 12, SHORT)
    assert sum(count for name, count in campaign.outcomes.items() if "release" in name) >= 5
    assert replay(campaign.folder).compared_worst >= 20


def test_what_records_got_is_what_the_tables_say(tmp_path: Path) -> None:
    """Public ids, so that everybody's files can be joined with the table."""
    write_patients(tmp_path / "patients.csv", 6000)
    asked = [("a", "age"), ("b", "diagnosis"), ("a", "diagnosis"), ("b", "age")]
    with make_hospital(tmp_path, public_id=True, memory=4) as study:
        study.set_limit("a", 0.9)
        study.set_limit("b", 0.9)
        for number, (party, question) in enumerate(asked):
            study.release(
                party, question, bits=0.2, out=tmp_path / f"{number}.csv", accept=["disclosure"]
            )
    files = [read_release(tmp_path / f"{number}.csv") for number in range(len(asked))]
    patients = read_table(tmp_path / "patients.csv")
    x = [AGES_AND_DIAGNOSES.index(patients[name]) for name in patients]
    orders = {"age": sorted(AGES), "diagnosis": sorted(DIAGNOSES)}
    letters = [
        [orders[question].index(file[name]) for name in patients]
        for (_, question), file in zip(asked, files, strict=True)
    ]
    assert list(unlikely_draws(tmp_path / "clinic", x, letters)) == []
    # The helper can fail: as if the third answers had not looked at the memory.
    third = letters[2][1:] + letters[2][:1]
    assert list(unlikely_draws(tmp_path / "clinic", x, [*letters[:2], third, letters[3]]))


AGES_AND_DIAGNOSES = [(age, diagnosis) for age in sorted(AGES) for diagnosis in sorted(DIAGNOSES)]


def read_release(file: Path) -> dict[str, str]:
    with file.open(newline="") as opened:
        return {row["record"]: row["rhat"] for row in csv.DictReader(opened)}


def read_table(file: Path) -> dict[str, tuple[str, str]]:
    with file.open(newline="") as opened:
        return {row["patient"]: (row["age"], row["diagnosis"]) for row in csv.DictReader(opened)}


def test_somebody_who_comes_back_and_changes_of_limits(tmp_path: Path) -> None:
    """Six visits by one party, limits raised and lowered in between, three states to remember."""
    with make_hospital(tmp_path, memory=3, everyone=1.5) as study:
        for party in ("a", "b"):
            study.set_limit(party, 0.3)
        for visit in range(6):
            asked = {"asked": "diagnosis"} if visit % 2 else {"sql": "age = 'old'"}
            study.release(
                "a",
                **asked,
                bits=0.04 + 0.01 * visit,
                out=tmp_path / f"{visit}.csv",
                accept=["disclosure"],
            )
            if visit == 2:
                study.release(
                    "b", sql="age = 'young'", out=tmp_path / "b.csv", accept=["disclosure"]
                )
                study.set_limit("everyone", 1.5)
                study.set_limit("a+b", 0.7)
                study.set_limit("a", 0.6)
            if visit == 4:
                study.set_limit("a", study.status().parties[0].held + 0.1)
    found = replay(tmp_path / "clinic")
    assert found.faults == []
    assert found.undecided == 0
    assert len(found.held) == 7


def test_a_party_that_keeps_coming_back_to_a_real_table(tmp_path: Path) -> None:
    """Adult, four limited coalitions, 16 states; ``python -m tests.redteam`` has twenty visits."""
    visits = list(come_back(tmp_path, 6))
    assert [visit.refusal for visit in visits] == [""] * 6
    found = replay(tmp_path / "clinic")
    assert found.faults == []
    assert found.undecided == 0
    assert len(found.held) == 8
