"""Records join, are erased and are linked through the service, by files that a custodian sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tacit.errors import InvalidInputError
from tacit.service import uploads
from tacit.service.failures import FailureError
from tacit.service.uploads import Uploads
from tacit.study import Study
from tests.service.server import Server, ask, csrf_of, ended
from tests.study.clinic import write_patients

IDS = b"patient\np000007\n"
PLACE = "/api/study/uploads"


def send(client: httpx.Client, name: str, content: bytes) -> str:
    """The key of a file that is sent."""
    answer = client.post(PLACE, params={"name": name}, content=content)
    assert answer.status_code == 200, answer.text
    key: str = answer.json()["key"]
    return key


def done(client: httpx.Client, path: str, **order: Any) -> dict[str, Any]:
    """What came out of a job."""
    job = ended(client, ask(client, path, **order))
    assert job["state"] == "done", job
    result: dict[str, Any] = job["result"]
    return result | {"job": job["id"]}


def sent(client: httpx.Client) -> list[str]:
    return [each["name"] for each in client.get("/api/study/records").json()["uploads"]]


def test_people_are_erased_after_they_were_counted(clinic: Server) -> None:
    with clinic.custodian() as client:
        key = send(client, "ids.csv", IDS)
        counted = done(client, "/api/study/erasures", ids=key)
        assert (counted["records"], counted["is_erased"]) == (1, False)
        assert sent(client) == ["ids.csv"]
        with clinic.browser() as browser:
            assert "Erase them for good" in browser.get(f"/jobs/{counted['job']}").text
        erased = done(client, "/api/study/erasures", ids=key, confirm="erase")
        assert (erased["records"], erased["is_erased"]) == (1, True)
        assert sent(client) == []  # the ids of erased people are not kept
        assert not list((clinic.files / "uploads").iterdir())
        by = [each["by"] for each in client.get("/api/study/ledger").json()[-2:]]
    assert by == ["custodian anna"] * 2
    with Study.open(clinic.folder) as study:
        assert study.status().erased == 1


def test_new_records_join_and_have_files_of_their_own(clinic: Server, tmp_path: Path) -> None:
    table = write_patients(tmp_path / "new.csv", n_records=60, seed=1, first=900)
    with clinic.custodian() as client:
        key = send(client, "new.csv", table.read_bytes())
        told = done(client, "/api/study/cohorts", table=key)
        assert [each["table"] for each in told["cohorts"]] == ["patients.csv", "new.csv"]
        assert sent(client) == []
        with clinic.party("lab-a") as party:
            job = ended(party, ask(party, "/api/own/requests", asked=["age"], bits=0.1))
            entries = [each["number"] for each in party.get("/api/own").json()["releases"]]
            files = [party.get(f"/api/own/releases/{each}/file.csv") for each in entries]
        assert job["state"] == "done", job
        assert [len(each.text.splitlines()) - 1 for each in files] == [199, 60]
        held = [each["everyone_bits"] for each in client.get("/api/study").json()["timeline"]]
        assert held == sorted(held)  # nobody forgets what it holds of another cohort
        audited = done(client, "/api/study/audits", records=100)
        assert set(audited["cohorts"]) == {"1", "2"}
        jobs = len(client.get("/api/jobs").json())
        for each in entries:  # files that are there are not written again
            assert client.get(f"/api/study/releases/{each}/file.csv").status_code == 200
        assert len(client.get("/api/jobs").json()) == jobs
    with clinic.browser() as browser:
        assert 'name="cohort"' in browser.get("/study/release").text


def test_a_refused_table_can_be_used_again(clinic: Server, tmp_path: Path) -> None:
    table = write_patients(tmp_path / "few.csv", n_records=3, seed=2, first=5_000)
    with clinic.custodian() as client:
        key = send(client, "few.csv", table.read_bytes())
        refused = ended(client, ask(client, "/api/study/cohorts", table=key))
        assert refused["error"]["error"]["suggestions"] == [{"action": "extend", "min_cohort": 3}]
        assert sent(client) == ["few.csv"]
        assert client.post(f"{PLACE}/remove", json={"key": key}).json()["is_removed"]
        gone = ended(client, ask(client, "/api/study/cohorts", table=key))
        assert "send it again" in gone["error"]["error"]["message"]


def test_pseudonyms_of_ids(clinic: Server) -> None:
    with clinic.custodian() as client, clinic.party("lab-a") as party:
        key = send(client, "mine.csv", b"patient\np000001\nnobody\n")
        told = done(client, "/api/study/links", party="lab-a", ids=key)
        assert (told["linked"], told["unknown"]) == (1, 1)
        place = f"/api/study/links/{told['job']}/file.csv"
        name, record, *_ = client.get(place).text.splitlines()[1].replace('"', "").split(",")
        number = party.get("/api/own").json()["releases"][0]["number"]
        assert name == "p000001"
        assert record in party.get(f"/api/own/releases/{number}/file.csv").text
        assert party.get(place).status_code == 404
        assert client.get("/api/study/links/nothing/file.csv").status_code == 404


def test_a_receipt_is_checked(clinic: Server) -> None:
    with clinic.custodian() as client, clinic.browser() as browser:
        page = browser.get("/study/ledger/3/receipt.html").text
        for text, is_whole in ((page, True), (page.replace("lab-a", "lab-x"), False)):
            key = send(client, "receipt.html", text.encode())
            told = done(client, "/api/study/verifications", receipt=key)
            assert told["is_whole"] is is_whole, told["problems"]
        assert client.post("/api/study/verifications").status_code == 200  # without a body


# -- who may send, and what ------------------------------------------------------------------------


def test_only_custodians_send_files(server: Server) -> None:
    with server.party("lab-a") as party, server.anybody() as client, server.browser() as browser:
        sending = {"params": {"name": "ids.csv"}, "content": IDS}
        assert party.post(PLACE, **sending).status_code == 404
        assert client.post(PLACE, **sending).status_code == 401
        assert browser.post(PLACE, **sending).status_code == 403  # without the session's secret
        headers = {"X-CSRF-Token": csrf_of(browser)}
        answer = browser.post(PLACE, **sending, headers=headers)
        assert answer.status_code == 200
        key = answer.json()["key"]
        assert browser.get("/study/records").text.count(key) >= 4  # in the list and each form
        files = (server.files / "uploads").glob("*/*")
        assert {oct(each.stat().st_mode)[-3:] for each in files} == {"600"}
        browser.post("/study/uploads/remove", data={"key": key, "csrf": headers["X-CSRF-Token"]})
        assert key not in browser.get("/study/records").text


@pytest.mark.parametrize(
    "name", ["", ".csv", "a/b.csv", "../x.csv", "a\x00.csv", "key", "a.duckdb", "x" * 300 + ".csv"]
)
def test_names_that_could_lead_elsewhere_are_refused(server: Server, name: str) -> None:
    with server.custodian() as client:
        assert client.post(PLACE, params={"name": name}, content=IDS).status_code == 422
        order = {"ids": f"{'a' * 22}/{name}", "confirm": "erase"}
        assert client.post("/api/study/erasures", json=order).status_code == 422


def test_large_and_slow_files_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 10)
    monkeypatch.setattr(uploads, "CHUNK_SECONDS", 0.05)
    place = Uploads(tmp_path)

    async def large() -> Any:
        while True:
            yield b"1234567"

    async def slow() -> Any:
        yield b"1234567"
        await anyio.sleep_forever()

    for chunks, said in ((large, "at most"), (slow, "too long")):
        with pytest.raises(FailureError, match=said):
            anyio.run(place.receive, "ids.csv", chunks())
    assert list(tmp_path.iterdir()) == []


def test_files_that_nobody_used_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Uploads(tmp_path)

    async def chunks() -> Any:
        yield IDS

    key = anyio.run(place.receive, "ids.csv", chunks()).key
    place.forget_old()
    assert place.path(key).read_bytes() == IDS
    monkeypatch.setattr(uploads, "_KEPT_SECONDS", -1.0)
    place.forget_old()
    with pytest.raises(InvalidInputError, match="send it again"):
        place.path(key)
