"""Nothing is answered to anybody who is not known, and nothing that is forged is done."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import anyio
import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Route

from tacit.service import guard
from tacit.service.app import make_app
from tacit.service.failures import FailureError
from tacit.service.guard import HEADERS, MOST_BYTES, OPEN, Guard, is_open
from tacit.service.routes import documentation, jobs, login, own, study
from tacit.service.service import Service, Settings
from tests.service.server import Server, csrf_of

ROUTES = [
    (method, route.path)
    for part in (login, own, study, jobs, documentation)
    for route in part.router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
]
VALUES = {"number": "4", "key": "x", "file_format": "csv", "bits": "0.1", "name": "style.css"}


def address(path: str) -> str:
    """A path with something in the place of its names."""
    return re.sub(r"\{(\w+)\}", lambda found: VALUES.get(found[1], "x"), path)


@pytest.fixture(scope="module")
def anybody(server: Server) -> Iterator[httpx.Client]:
    with server.anybody() as client:
        yield client


def is_locked(answer: httpx.Response) -> bool:
    """Whether somebody who is not known learns nothing but that."""
    to_login = answer.status_code == 303 and answer.headers["location"] == "/login"
    return to_login or (
        answer.status_code == 401 and answer.json()["error"]["kind"] == "NotLoggedIn"
    )


def test_the_routes_are_those_of_the_application(server: Server) -> None:
    settings = Settings(server.folder, server.files, frozenset())
    service = Service.open(settings)
    service.close()
    app = make_app(service)
    assert isinstance(app, Guard)
    assert isinstance(app.app, FastAPI)
    served = [route for route in app.app.routes if isinstance(route, Route)]
    found = {(method, each.path) for each in served for method in each.methods or ()}
    assert found - set(ROUTES) == {
        ("GET", "/api/openapi.json"),
        ("HEAD", "/api/openapi.json"),
    }
    assert len(ROUTES) > 50


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_answers_anybody(anybody: httpx.Client, method: str, path: str) -> None:
    answer = anybody.request(method, address(path), json={} if method == "POST" else None)
    assert is_locked(answer) != is_open(path)


def test_only_login_and_health_are_open() -> None:
    assert OPEN == ("/login", "/health")
    assert {path for _, path in ROUTES if is_open(path)} == {
        "/health",
        "/login",
        "/login/style.css",
        "/login/{secret}",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/api/openapi.json",
        "/nothing",
        "/docs",
        "/redoc",
        "/openapi.json",
        "/loginx",
        "/login/../study",
    ],
)
def test_what_is_no_route_is_locked_too(anybody: httpx.Client, path: str) -> None:
    assert is_locked(anybody.get(path))


@pytest.mark.parametrize("path", sorted({path for _, path in ROUTES if "/study" in path}))
def test_the_custodians_routes_do_not_exist_for_parties(server: Server, path: str) -> None:
    methods = {method for method, each in ROUTES if each == path}
    with server.party("lab-a") as client:
        answers = [client.request(method, address(path), json={}) for method in methods]
    # A body that does not fit is found first; it tells what the API's description tells.
    assert {answer.status_code for answer in answers} <= {404, 422}
    assert all(answer.status_code == 404 for answer in answers if answer.request.method == "GET")


@pytest.mark.parametrize("path", ["/health", "/login", "/study", "/api/study", "/static/job.js"])
def test_every_answer_has_the_headers(server: Server, path: str) -> None:
    with server.browser() as browser:
        headers = browser.get(path).headers
    for name, value in HEADERS.items():
        assert headers[name] == value or (name == "Cache-Control" and "/static/" in path)
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1:1", "", "a b"])
def test_other_hosts_are_refused(anybody: httpx.Client, host: str) -> None:
    answer = anybody.get("/health", headers={"Host": host})
    assert answer.status_code in (400, 421)
    assert "evil" not in answer.text


def test_two_hosts_are_refused(server: Server) -> None:
    name = server.url.removeprefix("http://")
    said = raw(server, f"GET /health HTTP/1.1\r\nHost: {name}\r\nHost: evil.example\r\n\r\n")
    assert re.match(r"HTTP/1.1 4\d\d ", said)


def raw(server: Server, request: str) -> str:
    """The beginning of the answer to bytes that no client would send."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request.encode("latin-1"))
        return connection.recv(4096).decode("latin-1")


# -- forms ----------------------------------------------------------------------------------------

PARTY = {"whom": "newcomer", "bits": "0.1"}


@pytest.mark.parametrize("sent", [{}, {"csrf": ""}, {"csrf": "x" * 43}, {"csrf": ["a", "b"]}])
@pytest.mark.parametrize("path", ["/study/limits", "/api/study/limits", "/logout"])
def test_forms_without_their_secret_do_nothing(server: Server, path: str, sent: dict) -> None:
    with server.browser() as browser:
        answer = browser.post(path, data=PARTY | sent)
        assert answer.status_code == 403
        names = [each["name"] for each in browser.get("/api/study").json()["parties"]]
        assert "newcomer" not in names


def test_the_secret_of_another_session_does_not_do(server: Server) -> None:
    with server.browser() as one, server.browser() as other:
        answer = one.post("/study/limits", data=PARTY | {"csrf": csrf_of(other)})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_forms_of_other_sites_do_nothing(server: Server, headers: dict[str, str]) -> None:
    with server.browser() as browser:
        sent = {"csrf": csrf_of(browser), "whom": "lab-a", "bits": "0.4"}
        assert browser.post("/study/limits", data=sent, headers=headers).status_code == 403
        for origin in (server.url, "null"):  # as browsers say where no referrer is sent
            own = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
            assert browser.post("/study/limits", data=sent, headers=own).status_code == 303


def test_a_session_may_send_its_secret_as_a_header(server: Server) -> None:
    with server.browser() as browser:
        order = {"whom": "lab-a", "bits": 0.4}
        assert browser.post("/api/study/limits", json=order).status_code == 403
        headers = {"X-CSRF-Token": csrf_of(browser)}
        assert browser.post("/api/study/limits", json=order, headers=headers).status_code == 200


# -- bodies ---------------------------------------------------------------------------------------


def test_bodies_have_a_size(server: Server) -> None:
    with server.custodian() as client:
        too_large = b"x" * (MOST_BYTES + 1)
        assert client.post("/api/study/limits", content=too_large).status_code == 413
        chunks = (b"x" * 1024 for _ in range(MOST_BYTES // 1024 + 2))
        assert client.post("/api/study/limits", content=chunks).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"bits": 1}',
        b'{"whom": "a", "bits": "many"}',
        b'{"whom": "a", "bits": NaN}',
        b'{"whom": "a", "bits": 1e400}',
        b'{"whom": "a", "bits": -1}',
        b'{"whom": "a", "bits": 1, "more": 2}',
        b'{"whom": {"$ne": 1}, "bits": 1}',
        b'{"whom": "\\ud800", "bits": 1}',
        b"[" * 100_000,
    ],
)
def test_malformed_bodies_are_refused(server: Server, body: bytes) -> None:
    with server.custodian() as client:
        headers = {"content-type": "application/json"}
        answer = client.post("/api/study/limits", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"%%%=&&&;", b"\xff=\xfe", b"&".join([b"a=b"] * 600)])
def test_malformed_forms_are_refused(server: Server, body: bytes) -> None:
    with server.browser() as browser:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        answer = browser.post("/study/limits", content=body, headers=headers)
    assert answer.status_code in (400, 403)


def test_slow_bodies_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)

    parts = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive() -> dict[str, object]:
        if not parts:
            await anyio.sleep_forever()
        return parts.pop()

    with pytest.raises(FailureError, match="too long"):
        anyio.run(guard._read_body, Headers({}), receive)
