"""Jobs outlive their server, spend once, and stand in nobody's way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from tacit.ledger import Entry
from tacit.service.access import CUSTODIAN, PARTY, Caller
from tacit.service.database import Database
from tacit.service.jobs import CANCELLED, QUEUED, RECORDING, RUNNING, CancelledError, Jobs
from tacit.study import verify_study
from tacit.tables import Column
from tests.service.server import JOB_SECONDS, Server, ask, designing, ended, serving
from tests.study.clinic import make_clinic, releases_of

PAGES = 20
"""That are looked at while a design runs; one that waits for the design would outlast it."""

LONG = {"asked": ["age", "diagnosis", "smoker"], "utility": "information", "bits": 0.1}
"""A request whose design takes seconds after what lab-b holds."""

CELLS = (Column("age", cuts=(30, 40, 50, 60, 70, 80)), "diagnosis", "smoker")


def clinic_at(place: Path) -> Path:
    with make_clinic(place, private=CELLS, everyone=0.9, memory=64) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.4)
        for asked in ("age", "smoker", "diagnosis"):
            study.release("lab-b", asked, bits=0.1, out=place / f"{asked}.csv")
    return place / "clinic"


def own_releases(folder: Path) -> list[Entry]:
    return [each for each in releases_of(folder) if each.body["party"] == "lab-a"]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of this module."""
    folder = clinic_at(tmp_path_factory.mktemp("jobs"))
    with serving(folder, None, "--workers", "1") as running:
        yield running


def cancel(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.post(f"/api/jobs/{job['id']}/cancel").json()
    return found


def test_pages_answer_while_a_design_runs(own: Server) -> None:
    with own.browser() as browser, own.party("lab-a") as client:
        browser.get("/study")
        designing(client, job := ask(client, "/api/own/quotes", **LONG))
        for _ in range(PAGES):
            assert browser.get("/study").status_code == 200
        assert cancel(client, job)["state"] == "cancelled"  # it ran all the time


def test_events_tell_how_far_a_job_has_come(own: Server) -> None:
    with own.party("lab-a") as client:
        job = ask(client, "/api/own/quotes", **LONG)
        told = []
        with client.stream("GET", f"/api/jobs/{job['id']}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    told.append(json.loads(line.removeprefix("data: ")))
                    if told[-1]["phase"].get("step") == "designing":
                        cancel(client, job)
    assert told[-1]["state"] == "cancelled"
    assert told[-1]["phase"]["value"] <= told[-1]["phase"]["bound"]
    assert len(told) >= 3


def test_cancelling_spends_nothing(own: Server) -> None:
    with own.party("lab-a") as client:
        designing(client, job := ask(client, "/api/own/requests", **LONG))
        queued = ask(client, "/api/own/requests", asked=["smoker"], bits=0.02)
        assert cancel(client, queued)["state"] == "cancelled"
        assert cancel(client, job)["state"] == "cancelled"
        assert cancel(client, job)["error"]["kind"] == "TooLate"
        # The process was ended, and another one works: it does not wait for the long design.
        next_one = ask(client, "/api/own/requests", asked=["age"], bits=0.02)
        assert ended(client, next_one)["state"] == "done"
    assert [each.body["question"]["name"] for each in own_releases(own.folder)] == ["age"]


def test_what_is_done_cannot_be_cancelled(own: Server) -> None:
    with own.party("lab-a") as client:
        job = ask(client, "/api/own/requests", asked=["diagnosis"], bits=0.02)
        ended(client, job)
        answer = client.post(f"/api/jobs/{job['id']}/cancel")
    assert answer.status_code == 409
    assert answer.json()["error"]["kind"] == "TooLate"


def test_a_cancelled_job_cannot_record(tmp_path: Path) -> None:
    """Whichever of the two comes first, the other is refused."""
    jobs = Jobs(Database.open(tmp_path))
    first, second = (jobs.submit("release", {}, Caller(PARTY, "lab-a")) for _ in range(2))
    claimed = [jobs.claim(), jobs.claim()]
    assert [each.id for each in claimed if each] == [first.id, second.id]
    assert jobs.cancel(first.id)
    with pytest.raises(CancelledError):
        jobs.begin_recording(first.id)
    with pytest.raises(CancelledError):
        jobs.tell(first.id, {})
    jobs.begin_recording(second.id)
    assert not jobs.cancel(second.id)
    jobs.tell(second.id, {})
    states = [found.state for each in (first, second) if (found := jobs.find(each.id))]
    assert states == [CANCELLED, RECORDING]


def test_jobs_whose_process_died_are_begun_again_a_few_times(tmp_path: Path) -> None:
    jobs = Jobs(Database.open(tmp_path))
    job = jobs.submit("audit", {}, Caller(CUSTODIAN, "anna"))
    states = []
    for _ in range(3):
        assert jobs.claim() is not None
        jobs.give_back(job.id, {"error": {"kind": "WorkerDied"}})
        found = jobs.find(job.id)
        assert found is not None
        states.append(found.state)
    assert states == [QUEUED, QUEUED, "failed"]
    assert jobs.claim() is None


@pytest.mark.parametrize(("state", "is_group_killed"), [(RUNNING, False), (RECORDING, True)])
def test_a_killed_server_finishes_its_jobs_once(
    tmp_path: Path, state: str, is_group_killed: bool
) -> None:
    """Killed with its processes, as by a power cut, or without them: they may go on."""
    folder = clinic_at(tmp_path)
    order = {"party": "lab-a", "again": True, "asked": ["age"], "bits": 0.1}
    with serving(folder, None, "--workers", "1") as server, server.custodian() as custodian:
        job = ask(custodian, "/api/study/requests", **order)
        wait_for(server, job, state)
        if is_group_killed:
            server.kill()
        else:
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.join()
    with serving(folder, None, "--workers", "1") as server, server.custodian() as custodian:
        found = ended(custodian, job)
        assert found["state"] == "done", found
        [intent] = own_releases(folder)
        assert found["entry"] == intent.number
        file = custodian.get(f"/api/study/releases/{intent.number}/file.csv")
        assert file.status_code == 200
    assert verify_study(folder).is_whole


def wait_for(server: Server, job: dict[str, Any], state: str) -> None:
    """Until a job is in a state; a moment that is too short to be seen is passed over."""
    jobs = Jobs(Database(server.folder / "service.sqlite"))
    until = monotonic() + JOB_SECONDS
    while monotonic() < until:
        found = jobs.find(job["id"])
        assert found is not None
        if found.is_ended or found.state == state:
            return
    raise AssertionError(f"the job never was {state}")


HOLDS_LOCK = """
import sys
from pathlib import Path
from tacit.storage import locked_byte
with locked_byte(Path(sys.argv[1]), int(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_server_takes_over_jobs_of_one_that_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers of one folder: a job is free once no process holds its lock."""
    jobs = Jobs(Database.open(tmp_path))
    jobs.submit("audit", {}, Caller(CUSTODIAN, "anna"))
    job = jobs.claim()
    assert job is not None
    assert jobs.claim() is None  # its process may not have begun
    monkeypatch.setattr("tacit.service.jobs._ABANDONED_SECONDS", 0.0)
    command = [sys.executable, "-c", HOLDS_LOCK, str(jobs.database.lock), str(job.number)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert jobs.claim() is None
        process.kill()
    assert jobs.claim(in_hand=[job.number]) is None
    taken = jobs.claim()
    assert taken is not None
    assert (taken.id, taken.attempts) == (job.id, 2)
