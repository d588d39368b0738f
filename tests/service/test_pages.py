"""What the pages show: figures, words, commands and documents."""

from __future__ import annotations

import html
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from tacit.errors import TacitError
from tacit.limits import Limit
from tacit.service.access import CUSTODIAN, PARTY
from tacit.service.app import make_app
from tacit.service.routes import documentation
from tacit.service.service import Service, Settings
from tacit.study import Study
from tests.ledger.chains import tamper
from tests.service.server import Server, ask, csrf_of, ended, serving
from tests.study.clinic import limits_of, make_clinic

SITE = "<html><script>run()</script><script src='a.js'></script></html>"
RUN = "'sha256-AvyuiL0SD1mVY3NNxR+V2uo+lhk6RMFrytWmRt6CrJQ='"
"""Of the text ``run()``."""

NAME = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[httpx.Client]:
    with server.browser() as client:
        yield client


def test_overview_shows_the_fullest_first(browser: httpx.Client) -> None:
    page = browser.get("/study").text
    used = [int(each) for each in re.findall(r'aria-label="(\d+) % of the limit"', page)]
    assert used == sorted(used, reverse=True)
    assert len(used) > 3


def test_overview_tells_every_release(server: Server, browser: httpx.Client) -> None:
    found = browser.get("/api/study").json()
    with Study.open(server.folder) as study:
        receipts = study.report().releases
    assert [each["entry"] for each in found["timeline"]] == [each.entry for each in receipts]
    for each, receipt in zip(found["timeline"], receipts, strict=True):
        assert each["right"] == 1 - receipt.value > each["guessed"] == 1 - receipt.blind
        assert each["party_bits"][receipt.party] == receipt.party_bits
    [(shows, svg)] = pictures_of(browser.get("/study").text)
    assert "right answers" in shows
    for receipt in receipts:
        assert f">held by {receipt.party}</text>" in svg


def test_commands_do_the_same(server: Server, browser: httpx.Client) -> None:
    ledger = html.unescape(browser.get("/study/ledger").text)
    assert f"tacit limit {server.folder} lab-a --bits 0.4" in ledger
    assert f"tacit release {server.folder} lab-a age --bits 0.1" in ledger
    order = {"party": "lab-b", "asked": "age", "bits": 0.05, "objective": "worst-level"}
    job = ended(browser, _send(browser, "/study/quotes", order))
    page = html.unescape(browser.get(f"/jobs/{job['id']}").text)
    words = f"{server.folder} lab-b age --worst-level --bits 0.05"
    assert f"tacit quote {words}" in page
    assert f"tacit release {words}" in page


def _send(browser: httpx.Client, path: str, order: dict[str, object]) -> dict[str, str]:
    """The job that a form begins."""
    answer = browser.post(path, data=order | {"csrf": csrf_of(browser)})
    assert answer.status_code == 303, answer.text
    return {"id": answer.headers["location"].removeprefix("/jobs/")}


@pytest.mark.parametrize("path", ["/study/report", "/study/ledger/5/receipt.html"])
def test_documents_run_nothing(browser: httpx.Client, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "script-src" not in policy
    assert "sandbox" in policy


def pictures_of(page: str) -> list[tuple[str, str]]:
    """What each picture on a page is said to show, and its SVG."""
    found = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)">', page)
    return [(shows, b64decode(drawn).decode()) for drawn, shows in found]


def test_a_surface_is_drawn_and_can_be_moved(browser: httpx.Client) -> None:
    head = browser.get("/api/study").json()["head"]
    job = ended(browser, _send(browser, "/study/surfaces", {"party": "lab-b", "asked": "age"}))
    page = browser.get(f"/jobs/{job['id']}").text
    assert page.count('type="range"') == 2
    (_, surface), (_, across) = pictures_of(page)
    assert ">δ: limit of everyone, bits</text>" in surface
    assert ">best possible</text>" in across
    moved = {"party": "lab-b", "asked": "age", "limit": "0.2", "everyone": "0.8"}
    again = ended(browser, _send(browser, "/study/surfaces", moved))
    assert (again["result"]["limit"], again["result"]["everyone"]) == (0.2, 0.8)
    assert again["result"]["value"] > job["result"]["value"]
    assert browser.get("/api/study").json()["head"] == head


def test_what_parties_know_together(browser: httpx.Client) -> None:
    found = browser.get("/api/study/risk", params={"parties": ["lab-a", "lab-b"]}).json()
    assert found["parties"] == ["lab-a", "lab-b"]
    told = {each["about"]: each for each in found["told"]}
    assert told["age"]["guess_after"] > told["age"]["guess_before"]
    assert (
        html.escape(found["in_words"][1:])
        in browser.get("/study/risk?parties=lab-a&parties=lab-b").text
    )
    assert browser.get("/study/risk?parties=registry").status_code == 422


def test_a_party_estimates_from_its_own_file(server: Server) -> None:
    with server.party("lab-a") as client, server.party("lab-b") as other:
        number = client.get("/api/own").json()["releases"][0]["number"]
        job = ended(client, ask(client, f"/api/own/releases/{number}/estimates"))
        refused = other.post(f"/api/own/releases/{number}/estimates")
    assert [each["level"] for each in job["result"]["levels"]] == ["<=40", "41-65", ">65"]
    assert refused.status_code == 404
    with server.browser(server.access.issue_token(PARTY, "lab-a")) as own:
        page = own.get(f"/jobs/{job['id']}").text
    assert f"tacit estimate release-{number}.csv" in page
    assert str(server.folder) not in page


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    make_clinic(tmp_path, everyone=0.9).close()
    with serving(tmp_path / "clinic", None, "--workers", "1") as running:
        yield running


def test_one_limit_is_set_and_others_stay(fresh: Server) -> None:
    with fresh.browser() as browser:
        csrf = csrf_of(browser)
        for sent in (
            {"whom": "lab-a", "bits": "99", "times": "8", "title": NAME},
            {"whom": "lab-b", "bits": "0.4"},
            {"whom": "lab-a+lab-b", "bits": "0.5"},
        ):
            answer = browser.post("/study/limits", data={"csrf": csrf} | sent)
            assert answer.headers["location"] == "/study/limits"
        pages = [browser.get(each).text for each in ("/study/limits", "/study/ledger")]
        concerns = browser.get("/api/study").json()["attention"]
    with Study.open(fresh.folder) as study:
        assert limits_of(study) == {
            Limit("everyone", 0.9),
            Limit("lab-a", 99, 8),
            Limit("lab-b", 0.4),
            Limit("lab-a+lab-b", 0.5),
        }
    assert "nobody yet" in pages[0]
    assert any("protects nothing" in each["in_words"] for each in concerns)
    assert all(NAME not in page and "alert(1)" in page for page in pages)


def test_verification_says_where_a_chain_breaks(fresh: Server) -> None:
    with Study.open(fresh.folder) as study:
        study.set_limit("lab-a", 0.4)
        study.set_limit("lab-b", 0.9)
        young = "age <= 40 and diagnosis = 'dementia'"  # 8 of 200 records
        study.record("lab-b", sql=young, accept=["disclosure"])
    ledger = f"sqlite:///{fresh.folder / 'ledger.sqlite'}"
    with fresh.browser() as browser:
        overview, found = browser.get("/study").text, browser.get("/api/study").json()
        whole = ended(browser, _send(browser, "/study/verifications", {}))
        assert whole["result"]["is_whole"]
        tamper(
            ledger, "UPDATE tacit_entries SET body = replace(body, '0.4', '0.9') WHERE number = 2"
        )
        broken = ended(browser, _send(browser, "/study/verifications", {}))
        page = browser.get(f"/jobs/{broken['id']}").text
    said = f"lab-b can name 8 of the 8 with ({young}) = true, 100 % sure"
    assert found["attention"][0] == {"in_words": said, "page": "/study/audits"}
    assert f"L{said[1:]}." in html.unescape(overview)
    [problem, *_] = broken["result"]["problems"]
    assert "entry 2" in problem["in_words"]
    assert html.escape(problem["in_words"][1:]).replace("&#x27;", "&#39;") in page


@pytest.fixture
def helped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Callable[[str], httpx.Response], Path]]:
    """Asks an application whose documentation is a folder that the test may fill."""
    make_clinic(tmp_path).close()
    settings = Settings(tmp_path / "clinic", tmp_path / "files", frozenset({"here"}))
    service = Service.open(settings)
    headers = {"Authorization": f"Bearer {service.access.issue_token(CUSTODIAN, 'anna')}"}
    transport, site = httpx.ASGITransport(make_app(service)), tmp_path / "site"

    def find_site() -> Path:
        if not site.exists():
            raise TacitError("not built")
        return site

    async def get(path: str) -> httpx.Response:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://here", headers=headers, follow_redirects=True
        ) as client:
            return await client.get(path)

    monkeypatch.setattr(documentation, "find_site", find_site)
    yield lambda path: anyio.run(get, path), site
    service.close()


def test_help_is_the_documentation(
    helped: tuple[Callable[[str], httpx.Response], Path],
) -> None:
    get, site = helped
    assert "make docs" in get("/help").text
    (site / "how-to").mkdir(parents=True)
    (site / "how-to" / "index.html").write_text(SITE, encoding="utf-8")
    (site.parent / "secret.html").write_text("secret", encoding="utf-8")
    answer = get("/help/how-to/")
    assert answer.text == SITE
    assert f"script-src 'self' {RUN};" in answer.headers["Content-Security-Policy"]
    for place in ("..%2fsecret.html", "how-to/..%2f..%2fsecret.html", "%00", "none.html"):
        assert get(f"/help/{place}").status_code == 404
