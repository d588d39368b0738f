"""Cohorts in which a column has one level, nobody is left, or other levels than the first one's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study, verify_study
from tacit.study.recipient import estimate_file
from tacit.tables import Column
from tests.study.clinic import (
    make_clinic,
    read_patients,
    read_release,
    releases_of,
    write_patients,
    write_rows,
)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A clinic of 200, and a cohort of 120 of whom nobody smokes."""
    table = write_patients(tmp_path / "new.csv", 120, seed=1, first=200)
    write_rows(table, [(*row[:3], "no", row[4]) for row in read_patients(table)])
    with make_clinic(tmp_path) as made:
        for party in ("lab-a", "lab-b"):
            made.set_limit(party, 0.5)
        made.extend(str(table))
        yield made


# -- one level ----------------------------------------------------------------------------------


def test_where_all_have_the_same_level_the_answer_is_that_and_free(
    study: Study, tmp_path: Path
) -> None:
    assert study.quote("lab-a", "smoker", bits=0.1).cohort == 1  # there it costs something
    receipt = study.release("lab-a", "smoker", out=tmp_path / "smoker.csv", bits=0.1)
    [beside] = study.receipts_beside(receipt.entry)
    assert (beside.cohort, beside.value) == (2, 0.0)
    _, rows = read_release(tmp_path / "smoker.cohort-2.csv")
    assert (len(rows), {answer for _, answer in rows}) == (120, {"false"})
    [held] = [each for each in study.status().cohorts[1].parties if each.parties == ("lab-a",)]
    assert held.held == 0.0
    assert verify_study(tmp_path / "clinic").problems == ()


# -- plans and surfaces -------------------------------------------------------------------------


def test_a_plan_is_of_every_cohort_worst_first(study: Study) -> None:
    planned = study.plan(["smoker"])
    [other] = planned.others
    assert (planned.cohort, other.cohort, other.others) == (1, 2, ())
    assert other.curves[0].blind == 1.0
    assert planned.as_dict()["others"][0]["cohort"] == 2
    with_parties = study.plan(["diagnosis"], parties=1, limit=0.2)
    mine, yours = with_parties.answers[0], with_parties.others[0].answers[0]
    assert mine.correct - mine.blind <= yours.correct - yours.blind
    needed = study.plan(["diagnosis"], correct=0.8)
    bits = [each.curves[0].bits_to_give for each in (needed, *needed.others)]
    assert bits == sorted(bits, reverse=True)


def test_a_surface_is_of_every_cohort_worst_first(study: Study) -> None:
    found = study.trace_surface("lab-a", "smoker", limit=0.2)
    [other] = found.others
    assert (found.cohort, other.cohort, other.value) == (1, 2, 0.0)
    assert other.as_dict() == found.as_dict()["others"][0]


def test_what_a_limit_means_is_said_of_the_cohort_where_it_means_most(study: Study) -> None:
    means = {each.attribute: each for each in study.explain_limit(0.2)}
    assert means["smoker"].cohort == 1  # in the other one there is nothing to learn
    assert {each.cohort for each in means.values()} == {1, 2}
    growths = [each.growth for each in study.explain_limit(0.2)]
    assert growths == sorted(growths, reverse=True)


# -- nobody left --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_cohort_of_which_all_were_erased(study: Study, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"diagnosis.{ending}"
    study.release("lab-a", "diagnosis", out=out, bits=0.1)
    study.erase(str(tmp_path / "new.csv"))
    study.release("lab-a", "diagnosis", out=out, bits=0.1)  # the file of nobody replaces the other
    empty = tmp_path / f"diagnosis.cohort-2.{ending}"
    with pytest.raises(InvalidInputError, match="all records of this cohort were erased"):
        estimate_file(empty)
    study.release("lab-b", "diagnosis", out=tmp_path / f"later.{ending}", bits=0.1)
    assert not (tmp_path / f"later.cohort-2.{ending}").exists()
    assert [each.body.get("cohort", 1) for each in releases_of(tmp_path / "clinic")] == [1, 2, 1]
    with pytest.raises(InvalidInputError, match="all records of cohort 2 were erased"):
        study.release("lab-b", "age", out=out, bits=0.1, cohort=2)
    assert study.plan(["age"]).others == ()
    found = verify_study(tmp_path / "clinic", tmp_path / f"{empty.name}.certificate.json")
    assert found.problems == ()


# -- other levels -------------------------------------------------------------------------------


def test_a_level_that_the_first_cohort_never_had(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", 200)
    later = write_patients(tmp_path / "later.csv", 120, seed=1, first=200)
    rare = [(*row[:2], "gout", *row[3:]) for row in read_patients(later)[:60]]
    write_rows(later, [*rare, *read_patients(later)[60:]])
    made = [
        Study.create(tmp_path / name, str(table), id="patient", private=[column], ledger="folder")
        for name, column in (("all", Column("diagnosis")), ("top", Column("diagnosis", top=1)))
    ]
    with (
        made[0] as strict,
        pytest.raises(
            InvalidInputError, match=r"no level for diagnosis: 'gout' \(60, row 1\): correct them"
        ),
    ):
        strict.extend(str(later))
    with made[1] as open_ended:
        open_ended.extend(str(later))  # all others are one level
        assert open_ended.status().cohorts[1].records == 120
