"""A release that names people, over HTTP: a custodian accepts it, for itself or for a party."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.server import Server, ask, csrf_of, ended, serving_clinic

ORDER = {"sql": "age <= 40 and diagnosis = 'dementia'"}
"""8 of 200 records: 0.4 bits are enough to name all of them."""

SAID = "lab-a would name 8 of the 8 with (age <= 40 and diagnosis = 'dementia') = true, 100 % sure"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving_clinic(tmp_path_factory.mktemp("named"), ["lab-a", "lab-b"], {}) as running:
        yield running


def until(
    client: httpx.Client, job: dict[str, Any], is_there: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """A job as it is told of once it has come so far."""
    with client.stream("GET", f"/api/jobs/{job['id']}/events") as events:
        for line in events.iter_lines():
            if line.startswith("data: "):
                found: dict[str, Any] = json.loads(line.removeprefix("data: "))
                if is_there(found):
                    return found
    raise AssertionError("the job ended before that")


def test_a_partys_own_request_waits_until_a_custodian_accepts_it(server: Server) -> None:
    with server.party("lab-a") as client, server.custodian() as custodian:
        for name in ("accept", "disclosure"):
            assert client.post("/api/own/requests", json=ORDER | {name: ["disclosure"]}).is_error
        job = ask(client, "/api/own/requests", **ORDER)
        held = until(custodian, job, lambda found: found["error"] is not None)
        assert held["state"] == "waiting"
        assert held["error"]["error"]["code"] == "disclosure"
        [named, *_] = held["error"]["error"]["figures"]["disclosures"]
        assert (named["of"], named["whom"]) == (8, ["lab-a"])
        seen = client.get(f"/api/jobs/{job['id']}").json()
        assert (seen["state"], seen["error"]) == ("waiting", None)
        path = f"/api/study/approvals/{job['id']}"
        unread = custodian.post(path, json={"decision": "approve"})
        assert unread.status_code == 200
        held = until(custodian, job, lambda found: found["error"] is not None)
        assert held["state"] == "waiting"  # nobody has accepted that people are named
        assert custodian.get("/api/study").json()["releases"] == 0
        with server.browser() as browser:
            page = browser.get(f"/jobs/{job['id']}").text
            assert f"L{SAID[1:]}." in html.unescape(page)
            [form] = re.findall(r"<form[^>]*approvals.*?</form>", page, re.DOTALL)
            assert 'name="accept" value="disclosure" required' in form
            sent = {"csrf": csrf_of(browser), "decision": "approve", "accept": "disclosure"}
            assert browser.post(path.removeprefix("/api"), data=sent).status_code == 303
        assert ended(client, job)["state"] == "done"
        named = custodian.get("/api/study").json()["disclosures"]
        assert [each["whom"] for each in named] == [["lab-a"]] * len(named) != []


def test_a_custodian_ticks_that_people_are_named(server: Server) -> None:
    with server.browser() as browser:
        sent = {"csrf": csrf_of(browser), "party": "lab-b", **ORDER}
        quoted = browser.post("/study/quotes", data=sent).headers["location"]
        ended(browser, {"id": Path(quoted).name})
        page = html.unescape(browser.get(quoted).text)
        assert page.index(SAID[6:]) < page.index("Release it")
        assert 'name="accept" value="disclosure" required' in page
        refused = browser.post("/study/requests", data=sent).headers["location"]
        assert ended(browser, {"id": Path(refused).name})["state"] == "failed"
        page = html.unescape(browser.get(refused).text)
        assert SAID[6:] in page
        assert 'name="accept" value="disclosure" required' in page
        made = browser.post("/study/requests", data=sent | {"accept": "disclosure"})
        entry = ended(browser, {"id": Path(made.headers["location"]).name})["entry"]
        page = html.unescape(browser.get(f"/study/ledger/{entry}").text)
        assert SAID[6:].replace("would", "can") in page
