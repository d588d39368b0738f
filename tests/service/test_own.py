"""A party sees and gets what is its own, and learns nothing about others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tacit.service.access import PARTY
from tacit.service.failures import NOT_FOUND, REFUSED
from tacit.service.jobs import MOST_JOBS
from tacit.study import Study, estimate_file
from tests.service.server import Server, ask, csrf_of, ended, released

OTHERS = ("lab-b", "registry", "everyone", "coalition", "/clinic")
"""Words that would tell lab-a of others, or of the server."""


def release_of(server: Server, party: str) -> int:
    """The number of a party's first release."""
    with Study.open(server.folder) as study:
        return study.statement(party).releases[0].number


def test_its_own_account(server: Server) -> None:
    with server.party("lab-a") as client, Study.open(server.folder) as study:
        found = client.get("/api/own").json()
        status = {each.name: each for each in study.status().parties}
    assert found["limit"] == 0.4
    assert found["held"] == status["lab-a"].held
    assert found["releases"][0]["request"] == "age"
    assert found["columns"]["outcome"] == ["ill", "well"]
    assert not any(word in str(found) for word in OTHERS)


def test_a_quote_tells_nothing_of_others(server: Server) -> None:
    with server.party("lab-a") as client:
        job = ended(client, ask(client, "/api/own/quotes", asked="diagnosis", bits=0.05))
    quoted = job["result"]
    assert job["state"] == "done"
    assert quoted["value"] < quoted["blind"]
    assert 0.04 < quoted["own"]["added"] <= 0.05
    assert not any(word in str(job) for word in OTHERS)


def test_its_file_is_what_the_study_delivers(server: Server, tmp_path) -> None:
    number = release_of(server, "lab-a")
    with server.party("lab-a") as client, Study.open(server.folder) as study:
        for kind in ("csv", "parquet"):
            answer = client.get(f"/api/own/releases/{number}/file.{kind}")
            study.deliver(number, tmp_path / f"a.{kind}")
            assert answer.content == (tmp_path / f"a.{kind}").read_bytes()
            disposition = answer.headers["content-disposition"]
            assert disposition == f'attachment; filename="release-{number}.{kind}"'
        certificate = client.get(f"/api/own/releases/{number}")
    beside = tmp_path / "got.csv"
    beside.write_bytes((tmp_path / "a.csv").read_bytes())
    (tmp_path / "got.csv.certificate.json").write_bytes(certificate.content)
    assert [each.level for each in estimate_file(beside).levels] == ["<=40", "41-65", ">65"]


def test_the_same_request_gets_the_same_release(server: Server) -> None:
    with server.party("lab-a") as client:
        again = released(client, asked=["age"], bits=0.1, format="parquet")
    assert again["entry"] == release_of(server, "lab-a")


@pytest.mark.parametrize(
    "path",
    [
        "/api/own/releases/{theirs}",
        "/api/own/releases/{theirs}/file.csv",
        "/own/releases/{theirs}/file.parquet",
        "/own/releases/{theirs}",
        "/api/own/releases/1",
        "/api/own/releases/-1",
        "/api/own/releases/999999",
        "/api/own/releases/99999999999999999999999999/file.csv",
        "/api/own/releases/..%2f..%2fclinic%2fkey/file.csv",
        "/api/own/releases/{own}/file.csv%00",
        "/api/own/releases/{own}/file.csv%2f..%2f..%2fclinic%2fkey",
        "/api/own/releases/{own}/file.certificate.json",
        "/api/own/releases/%2e%2e/%2e%2e/clinic/key",
        "/static/..%2fapp.py",
        "/static/..%2f..%2f..%2fclinic%2fkey",
        "/static/%2e%2e%2fapp.py",
        "/static/key",
    ],
)
def test_nothing_else_is_found(server: Server, path: str) -> None:
    theirs, own = release_of(server, "lab-b"), release_of(server, "lab-a")
    with server.party("lab-a") as client:
        answer = client.get(path.format(theirs=theirs, own=own))
    assert answer.status_code in (404, 422)
    assert "lab-b" not in answer.text


def test_a_release_of_others_is_like_none(server: Server) -> None:
    with server.party("lab-a") as client:
        theirs = client.get(f"/api/own/releases/{release_of(server, 'lab-b')}")
        none = client.get("/api/own/releases/999999")
    assert theirs.status_code == none.status_code == 404
    assert theirs.json() == none.json() == NOT_FOUND.as_dict()


def test_jobs_of_others_are_like_none(server: Server) -> None:
    with server.party("lab-a") as one, server.party("lab-b") as other:
        theirs = one.get("/api/jobs").json()[0]
        for path in ("", "/events"):
            answer = other.get(f"/api/jobs/{theirs['id']}{path}")
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND.as_dict())
        cancelled = other.post(f"/api/jobs/{theirs['id']}/cancel")
        assert (cancelled.status_code, cancelled.json()) == (404, NOT_FOUND.as_dict())
        assert {each["party"] for each in other.get("/api/jobs").json()} == {"lab-b"}


@pytest.mark.parametrize(
    "order",
    [
        {"asked": ["age"], "bits": 0.7},
        {"asked": ["diagnosis"], "bits": 0.399},
        {"asked": ["age"], "bits": 0.01, "max_error": 0.0},
        {"asked": ["age"], "bits": 0.01, "ceilings": {"<=40": 0.0, ">65": 0.0}},
    ],
)
def test_a_refusal_is_always_the_same(server: Server, order: dict[str, Any]) -> None:
    with server.party("lab-a") as client, server.custodian() as custodian:
        job = ended(client, ask(client, "/api/own/requests", **order))
        told = custodian.get(f"/api/jobs/{job['id']}").json()
    assert job["state"] == "failed"
    assert job["error"] == REFUSED.as_dict()
    assert not any(word in str(job) for word in OTHERS)
    assert told["error"]["error"]["kind"] in ("InfeasibleError", "CeilingError")


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"asked": ["nothing"]}, "nothing"),
        ({"sql": "age; DROP TABLE jobs"}, ""),
        ({"sql": "(SELECT 1)"}, ""),
        ({"sql": "read_text('/etc/passwd')"}, ""),
        ({}, "neither"),
        ({"asked": ["age"], "sql": "age"}, "both"),
        ({"asked": ["age"], "utility": "taste"}, "taste"),
        ({"asked": ["age"], "utility": [[0, 1]]}, "levels"),
        ({"asked": ["age"], "bits": 0}, "bits"),
        ({"asked": ["age"], "party": "lab-b"}, "party"),
        ({"asked": ["age"], "again": True}, "again"),
        ({"asked": ["age"], "format": "exe"}, "format"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(
    server: Server, order: dict[str, Any], said: str
) -> None:
    with server.party("lab-a") as client:
        answer = client.post("/api/own/requests", json=order)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert not any(word in answer.text for word in ("lab-b", "root:", "/clinic"))


@contextmanager
def approving(server: Server, party: str) -> Iterator[httpx.Client]:
    """A custodian who approves what a party asks for; afterwards it is granted at once again."""
    with server.custodian("eve") as custodian:
        for is_required in (True, False):
            order = {"name": party, "is_required": is_required}
            answer = custodian.post("/api/study/parties/approval", json=order)
            assert answer.status_code == 200, answer.text
            if is_required:
                yield custodian


def test_approval(server: Server) -> None:
    with server.party("lab-b") as client, approving(server, "lab-b") as custodian:
        assert client.get("/api/own").json()["needs_approval"]
        first = ask(client, "/api/own/requests", asked=["diagnosis"], bits=0.02)
        second = ask(client, "/api/own/requests", asked=["outcome"], bits=0.02)
        assert first["state"] == second["state"] == "waiting"
        waiting = [each["id"] for each in custodian.get("/api/study/approvals").json()]
        assert {first["id"], second["id"]} <= set(waiting)
        assert client.post(f"/api/study/approvals/{first['id']}").status_code in (404, 422)
        decide(custodian, first, "approve")
        decide(custodian, second, "decline")
        answered = ended(client, first)
        assert answered["state"] == "done"
        assert ended(client, second)["state"] == "declined"
        again = custodian.post(f"/api/study/approvals/{second['id']}", json={"decision": "approve"})
        assert again.status_code == 409
        entries = {each["number"]: each for each in custodian.get("/api/study/ledger").json()}
        assert entries[answered["entry"]]["by"] == "custodian eve"


def decide(custodian: httpx.Client, job: dict[str, Any], decision: str) -> None:
    answer = custodian.post(f"/api/study/approvals/{job['id']}", json={"decision": decision})
    assert answer.status_code == 200, answer.text


def test_no_token_of_a_party_goes_round_its_approval(server: Server) -> None:
    order = {"asked": ["age"], "bits": 0.01}
    with server.party("registry") as before, approving(server, "registry"):
        token = server.access.issue_token(PARTY, "registry")
        with server.party("registry") as after, server.browser(token) as browser:
            sent = {"csrf": csrf_of(browser), **order}
            assert browser.post("/own/requests", data=sent).status_code == 303
            jobs = [ask(each, "/api/own/requests", **order) for each in (before, after)]
            found = after.get("/api/own").json()["requests"]
            assert [each["state"] for each in (*jobs, *found)] == ["waiting"] * 5
            for each in found:
                after.post(f"/api/jobs/{each['id']}/cancel")


def test_a_party_has_few_jobs_at_once(server: Server) -> None:
    with server.party("registry") as client, approving(server, "registry"):
        order = {"asked": ["age"], "bits": 0.01}
        waiting = [ask(client, "/api/own/requests", **order) for _ in range(MOST_JOBS)]
        assert client.post("/api/own/requests", json=order).status_code == 429
        for each in waiting:
            assert client.post(f"/api/jobs/{each['id']}/cancel").json()["state"] == "cancelled"


def test_its_pages(server: Server) -> None:
    with server.browser(server.access.issue_token(PARTY, "lab-a")) as browser:
        assert browser.get("/").headers["location"] == "/own"
        assert "of 0.4 bits about a record" in browser.get("/own").text
        sent = {"csrf": csrf_of(browser), "asked": "smoker", "bits": "0.01"}
        answer = browser.post("/own/quotes", data=sent)
        assert answer.status_code == 303
        assert browser.get(answer.headers["location"]).status_code == 200
        number = release_of(server, "lab-a")
        assert "age" in browser.get(f"/own/releases/{number}").text
        for path in ("/own", f"/own/releases/{number}", "/jobs"):
            assert not any(word in browser.get(path).text for word in ("lab-b", "registry"))
