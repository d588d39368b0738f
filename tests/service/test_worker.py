"""A job that was begun before goes on where it was, and spends once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.service.access import CUSTODIAN, Caller
from tacit.service.database import Database
from tacit.service.jobs import Job, Jobs
from tacit.service.orders import RequestFor
from tacit.service.worker import do_job
from tests.study.clinic import intents_of, make_clinic

ORDER = RequestFor(party="lab-a", asked=["age"], bits=0.1, again=True)
"""A new release each time that it is asked for: the hardest to ask for once."""


def begun(folder: Path) -> tuple[Jobs, Job]:
    """A job that a process has begun."""
    jobs = Jobs(Database.open(folder))
    jobs.submit("release", ORDER.model_dump(mode="json"), Caller(CUSTODIAN, "anna"))
    job = jobs.claim()
    assert job is not None
    return jobs, job


@pytest.mark.parametrize(
    ("is_noted", "is_delivered"), [(False, False), (True, False), (True, True)]
)
def test_a_process_that_died_after_recording(
    tmp_path: Path, is_noted: bool, is_delivered: bool
) -> None:
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        jobs, job = begun(tmp_path / "clinic")
        jobs.begin_recording(job.id)
        number = study.record(**ORDER.arguments("format"))
        if is_noted:
            jobs.note_entry(job.id, number)
        if is_delivered:
            study.deliver(number, tmp_path / "release.csv")
    do_job(jobs, job.id, tmp_path / "clinic", tmp_path)
    found = jobs.find(job.id)
    assert found is not None
    assert (found.state, found.entry) == ("done", number)
    assert [each.number for each in intents_of(tmp_path / "clinic")] == [number]
    assert (tmp_path / f"release-{number}.csv").exists()


def test_a_job_that_ended_is_not_done_again(tmp_path: Path) -> None:
    """Another server may have done it while this process waited for the lock."""
    with make_clinic(tmp_path) as study:
        study.set_limit("lab-a", 0.4)
        number = study.record("lab-a", "age", bits=0.1)
    jobs = Jobs(Database.open(tmp_path / "clinic"))
    arguments = {"number": number, "format": "csv"}
    job = jobs.submit("deliver", arguments, Caller(CUSTODIAN, "anna"))
    assert jobs.cancel(job.id)
    do_job(jobs, job.id, tmp_path / "clinic", tmp_path)
    assert not (tmp_path / f"release-{number}.csv").exists()


def test_a_failure_is_told(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()  # nobody was let in
    jobs, job = begun(tmp_path / "clinic")
    do_job(jobs, job.id, tmp_path / "clinic", tmp_path)
    found = jobs.find(job.id)
    assert found is not None
    assert found.error is not None
    assert found.state == "failed"
    assert found.error["error"]["kind"] == "InvalidInputError"
    assert "'lab-a' is unknown" in found.error["error"]["message"]
