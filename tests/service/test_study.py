"""A custodian does everything that the command line does, and each page has its twin."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tacit.limits import Limit
from tacit.study import Study
from tests.pages import page as page_of
from tests.service.server import Server, ask, csrf_of, ended, serving
from tests.study.clinic import limits_of, make_clinic

PAGES = (
    "/study",
    "/study/limits",
    "/study/ledger",
    "/study/ledger/1",
    "/study/ledger/5",
    "/study/cells?below=50",
    "/study/approvals",
    "/study/audits",
    "/study/release",
    "/study/what-if",
    "/study/risk?parties=lab-a&parties=registry",
    "/study/tokens",
    "/jobs",
)
DOCS = page_of("service")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}"


@pytest.fixture(scope="module")
def custodian(server: Server) -> Iterator[httpx.Client]:
    with server.custodian() as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_its_twin(server: Server, custodian: httpx.Client, path: str) -> None:
    assert custodian.get(f"/api{path}").json() is not None
    with server.browser() as browser:
        page = browser.get(path)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text.count("<h1>") == 1


@pytest.mark.parametrize("path", [*PAGES, "/login", "/api/docs"])
def test_no_page_loads_anything_from_elsewhere(server: Server, path: str) -> None:
    with server.browser() as browser:
        page = browser.get(path).text
        loaded = re.findall(r'(?:src|href|action)="([^"]*)"', page)
        assert loaded
        assert all(re.match(r"/(?!/)|#|data:", each) for each in loaded)
        assets = [each for each in loaded if each.startswith("/static/")]
        assert all(browser.get(each).status_code == 200 for each in assets)
        assert "<script>" not in page
        assert " on" not in " ".join(re.findall(r"<[^>]*", page))


def test_status_is_the_studys(server: Server, custodian: httpx.Client) -> None:
    with Study.open(server.folder) as study:
        expected = study.status()
    found = custodian.get("/api/study").json()
    assert [each["held"] for each in found["parties"]] == [each.held for each in expected.parties]
    assert found["head"] == list(expected.head)


def test_jobs_of_the_custodian(custodian: httpx.Client) -> None:
    orders: dict[str, tuple[dict[str, Any], str]] = {
        "quotes": ({"party": "lab-a", "asked": "age", "bits": 0.05}, "coalitions"),
        "audits": ({"records": 200}, "findings"),
        "plans": ({"asked": ["age"], "correct": 0.6}, "curves"),
        "verifications": ({}, "is_whole"),
        "surfaces": ({"party": "lab-b", "asked": "age", "everyone": 0.8}, "values"),
    }
    for path, (order, key) in orders.items():
        job = ended(custodian, ask(custodian, f"/api/study/{path}", **order))
        assert job["state"] == "done", job
        assert key in job["result"]


def test_errors_carry_their_data(custodian: httpx.Client) -> None:
    order = {"party": "lab-a", "asked": ["age"], "bits": 0.7}
    job = ended(custodian, ask(custodian, "/api/study/requests", **order))
    error = job["error"]["error"]
    assert error["kind"] == "InfeasibleError"
    assert error["coalition"] == ["lab-a"]
    assert error["limit_bits"] == 0.4
    assert error["suggestions"][0]["action"] == "release"
    unknown = custodian.get("/api/study/ledger/999999")
    assert unknown.status_code == 422
    assert unknown.json()["error"]["kind"] == "InvalidInputError"


def test_api_documentation_is_complete_and_offline(custodian: httpx.Client) -> None:
    described = custodian.get("/api/openapi.json").json()
    assert all(path.startswith("/api/") for path in described["paths"])
    for verbs in described["paths"].values():
        assert all(verb["description"] for verb in verbs.values())
    page = custodian.get("/api/docs").text
    assert "<script" not in page
    for path, verbs in described["paths"].items():
        for verb in verbs:
            assert f"<code>{verb.upper()} {path}</code>" in page
    for link in re.findall('href="#([A-Z][^"]*)"', page):
        assert f'<h3 id="{link}">' in page


def test_every_route_is_in_the_docs(custodian: httpx.Client) -> None:
    text = DOCS.read_text(encoding="utf-8")
    paths = [
        path.removeprefix("/api") for path in custodian.get("/api/openapi.json").json()["paths"]
    ]
    assert len(paths) > 20
    assert [path for path in paths if f"`{path}`" not in text] == []


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose study is changed by tests."""
    place = tmp_path_factory.mktemp("changed")
    make_clinic(place).close()
    with serving(place / "clinic", None, "--workers", "1") as running:
        yield running


def test_limits_are_set_by_form_and_by_json(changed: Server) -> None:
    with changed.browser() as browser, changed.custodian("eve") as client:
        sent = {"csrf": csrf_of(browser), "whom": "lab-a", "bits": "0.3"}
        assert browser.post("/study/limits", data=sent).headers["location"] == "/study/limits"
        answer = client.post("/api/study/limits", json={"whom": "lab-b", "bits": 99}).json()
        assert answer["remarks"][0]["code"] == "limit_too_high"
        assert answer["means"][0]["most"] == 1
        order = {"whom": "lab-b + lab-a", "bits": 0.45, "times": 4}
        assert client.post("/api/study/limits", json=order).status_code == 200
        gone = {"whom": "lab-a+lab-b", "times": "none"}
        assert client.post("/api/study/limits", json=gone).status_code == 200
        entries = client.get("/api/study/ledger").json()
    by = [each["by"] for each in entries]
    assert by == [None, "custodian anna", *3 * ["custodian eve"]]
    with Study.open(changed.folder) as study:
        assert limits_of(study) == {
            Limit("lab-a", 0.3),
            Limit("lab-b", 99),
            Limit("lab-a+lab-b", 0.45),
        }


def test_what_people_type_is_shown_as_text(changed: Server) -> None:
    with changed.browser() as browser:
        sent = {"csrf": csrf_of(browser), "whom": "lab-a", "title": HOSTILE}
        assert browser.post("/study/limits", data=sent).status_code == 303
        token = {"csrf": csrf_of(browser), "name": HOSTILE, "role": "custodian"}
        shown = browser.post("/study/tokens", data=token).text
        pages = [shown, *(browser.get(path).text for path in ("/study/limits", "/study/ledger"))]
        wrong = {"csrf": csrf_of(browser), "party": "lab-a", "asked": HOSTILE}
        job = browser.post("/study/quotes", data=wrong).headers["location"]
        browser.get(f"/api{job}?wait=20")
        pages.append(browser.get(job).text)
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "alert(1)" in page
    assert html.escape(HOSTILE).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in pages[1]


@pytest.mark.parametrize("name", ["a\r\nSet-Cookie: x=y", "a\nb", "\x00", "a\u202eb", " "])
def test_names_that_do_not_show_are_refused(changed: Server, name: str) -> None:
    with changed.custodian() as client:
        for path, order in (
            ("limits", {"whom": name, "bits": 0.1}),
            ("limits", {"whom": "lab-a", "title": name}),
            ("tokens", {"name": name, "role": "custodian"}),
        ):
            answer = client.post(f"/api/study/{path}", json=order)
            assert answer.status_code == 422
            assert "x" not in answer.cookies


def test_closing(changed: Server) -> None:
    with changed.custodian() as client:
        assert client.post("/api/study/close", json={}).status_code == 422
        assert client.post("/api/study/close", json={"confirm": "close"}).json()["is_closed"]
        refused = client.post("/api/study/limits", json={"whom": "lab-c", "bits": 0.1})
        assert "is closed" in refused.json()["error"]["message"]
    with changed.party("lab-a") as party:
        answer = party.post("/api/own/requests", json={"asked": ["age"]})
    assert answer.status_code == 409
    assert str(changed.folder) not in answer.text
    assert not (changed.folder / "key").exists()
