"""Attacks on a running server: hostile text, broken HTTP, slow and many connections."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

from tacit.service.access import PARTY
from tacit.service.connections import HEADER_SECONDS
from tests.service.server import Server, ask, csrf_of, ended

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' OR 1=1 --",
    "x'); DROP TABLE jobs; --",
    "{{ 7777 * 7777 }}{% include 'base.html' %}",
    "{found.__class__}",
    "../../clinic/key",
    "a\r\nSet-Cookie: stolen=1",
    "a\x00b",
    "\u202egnp",
)

ORDERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/study/limits", {"whom": "guest", "bits": 0.1, "title": "TEXT"}),
    ("/api/study/limits", {"whom": "TEXT", "bits": 0.1}),
    ("/api/study/tokens", {"name": "TEXT", "role": "custodian"}),
    ("/api/study/tokens", {"name": "TEXT"}),
    ("/api/study/tokens/revoke", {"name": "TEXT"}),
    ("/api/study/limits", {"whom": "TEXT+lab-a", "bits": 0.5}),
    ("/api/study/parties/approval", {"name": "TEXT", "is_required": True}),
    ("/api/study/limits", {"whom": "TEXT", "bits": "none"}),
    ("/api/study/cohorts", {"table": "TEXT", "readmit": ["TEXT"], "accept": ["TEXT"]}),
    ("/api/study/erasures", {"ids": "TEXT"}),
    ("/api/study/links", {"party": "TEXT", "ids": "TEXT"}),
    ("/api/study/uploads/remove", {"key": "TEXT"}),
    ("/api/study/verifications", {"receipt": "TEXT"}),
    ("/api/study/surfaces", {"party": "TEXT", "asked": ["TEXT"], "ceilings": {"TEXT": 0.1}}),
    ("/api/study/surfaces", {"party": "lab-a", "sql": "TEXT", "utility": "TEXT"}),
    ("/api/study/quotes", {"party": "TEXT", "asked": ["age"]}),
    ("/api/study/quotes", {"party": "lab-a", "sql": "TEXT", "ceilings": {"TEXT": 0.1}}),
    ("/api/study/quotes", {"party": "lab-a", "asked": ["age"], "utility": "TEXT"}),
    ("/api/study/requests", {"party": "TEXT", "asked": ["TEXT"], "utility": "TEXT"}),
    ("/api/study/requests", {"party": "lab-a", "asked": ["age"], "ceilings": {"TEXT": 0.1}}),
    ("/api/study/requests", {"party": "lab-a", "asked": ["age"], "bits": 0.9, "reason": "TEXT"}),
    ("/api/study/quotes", {"party": "lab-a", "asked": ["TEXT"]}),
    ("/api/study/requests", {"party": "lab-a", "sql": "TEXT"}),
    ("/api/study/plans", {"asked": ["TEXT"], "sql": ["TEXT"]}),
    ("/api/study/plans", {"asked": ["age"], "parties": 1, "limits": {"TEXT": 0.5}}),
    ("/api/own/quotes", {"asked": ["TEXT"]}),
    ("/api/own/quotes", {"sql": "TEXT"}),
    ("/api/own/quotes", {"asked": ["age"], "utility": "TEXT", "ceilings": {"TEXT": 0.1}}),
    ("/api/own/requests", {"asked": ["TEXT"]}),
    ("/api/own/requests", {"sql": "TEXT"}),
    ("/api/own/requests", {"asked": ["age"], "utility": "TEXT"}),
    ("/api/own/requests", {"asked": ["age"], "ceilings": {"TEXT": 0.1}}),
)

PAGES = ("/study", "/study/limits", "/study/ledger", "/study/tokens", "/study/approvals", "/jobs")


def with_text(value: Any, text: str) -> Any:
    """An order with a text in each place where it may stand."""
    match value:
        case "TEXT":
            return text
        case list():
            return [with_text(each, text) for each in value]
        case dict():
            return {with_text(key, text): with_text(each, text) for key, each in value.items()}
    return value


@pytest.mark.slow
def test_hostile_text_is_only_text(clinic: Server) -> None:
    """In every text field: no error of the server, and pages show it without running it."""
    with clinic.party("lab-a") as party, clinic.custodian() as custodian:
        for text in HOSTILE:
            for path, order in ORDERS:
                client = party if path.startswith("/api/own") else custodian
                answer = client.post(path, json=with_text(order, text))
                assert answer.status_code in (200, 409, 422), (path, text, answer.text)
                assert "stolen" not in answer.cookies
        jobs = [ended(custodian, each) for each in custodian.get("/api/jobs").json()]
    assert not [each for each in jobs if each["error"] and each["error"]["status"] >= 500]
    with clinic.browser() as browser:
        shown = [browser.get(path) for path in (*PAGES, *(f"/jobs/{each['id']}" for each in jobs))]
    assert {each.status_code for each in shown} == {200}
    text = "".join(each.text for each in shown)
    assert "&lt;script&gt;" in text
    assert not re.search(r"<script>|<img src=x|60481729", text)
    check_whole(clinic)


def test_every_text_field_is_attacked(server: Server) -> None:
    """A new order that takes a text gets its line in ``ORDERS``."""
    with server.custodian() as client:
        described = client.get("/api/openapi.json").json()
    schemas = described["components"]["schemas"]
    fields = set[tuple[str, str]]()
    for path, verbs in described["paths"].items():
        body = verbs.get("post", {}).get("requestBody", {}).get("content", {})
        for name in re.findall(r"#/components/schemas/(\w+)", str(body)):
            texts = {each for each, told in schemas[name]["properties"].items() if takes_text(told)}
            fields |= {(path, each) for each in texts}
    attacked = {
        (path, name) for path, order in ORDERS for name in order if "TEXT" in str(order[name])
    }
    assert len(fields) > 20
    assert fields - attacked == set()


def takes_text(told: Any) -> bool:
    """Whether any text can stand in a field, or in a part of it."""
    match told:
        case {"type": "string", **more}:
            return not {"enum", "const"} & set(more)
        case {"propertyNames": _}:
            return True
        case dict():
            return any(takes_text(each) for each in told.values())
        case list():
            return any(map(takes_text, told))
    return False


def check_whole(server: Server) -> None:
    """The tables that SQL would have harmed are there."""
    with server.custodian() as client:
        assert client.get("/api/jobs").json()
        assert "lab-a" in {each["name"] for each in client.get("/api/study").json()["parties"]}


# -- broken HTTP ----------------------------------------------------------------------------------


def raw(server: Server, request: str, seconds: float = 10) -> str:
    """The beginning of the answer to bytes that no client would send."""
    with connection_to(server, seconds) as connection:
        connection.sendall(request.encode("latin-1"))
        return connection.recv(4096).decode("latin-1")


def connection_to(server: Server, seconds: float) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=seconds)


@pytest.mark.parametrize(
    "lines",
    [
        "GET /health HTTP/1.1\r\nHost: {host}\r\nX: " + "a" * 300_000,
        "GET /health HTTP/1.1\r\nHost: {host}\r\n folded: x",
        "GET /health HTTP/1.1\r\nHost: {host}\nX: \x00",
        "GET /health\r\nSet-Cookie: x HTTP/1.1\r\nHost: {host}",
        "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1",
        "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2",
        "POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        "POST /login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked, identity",
        "GET /health HTTP/1.0",
        "TRACE /study HTTP/1.1\r\nHost: {host}",
    ],
)
def test_broken_requests_are_refused(server: Server, lines: str) -> None:
    said = raw(server, lines.format(host=server.url.removeprefix("http://")) + "\r\n\r\n0\r\n\r\n")
    assert re.match(r"HTTP/1\.[01] (4\d\d|303|501) ", said), said
    assert "x=" not in said
    assert "set-cookie" not in said.lower()


@pytest.mark.parametrize(
    "value", ["a\r\nSet-Cookie: stolen=1", "a\nLocation: https://evil.example"]
)
@pytest.mark.parametrize("path", ["/login/{}", "/jobs/{}", "/static/{}", "/study/ledger/{}"])
def test_no_header_comes_out_of_an_address(server: Server, path: str, value: str) -> None:
    with server.browser() as browser:
        answer = browser.get(path.format(value.replace("\r", "%0d").replace("\n", "%0a")))
    assert answer.status_code < 500
    assert "stolen" not in str(answer.headers)
    assert "evil" not in str(answer.headers)


def test_forwarded_hosts_are_not_believed(server: Server) -> None:
    """Nobody else's name comes into an address that we send."""
    names = ("X-Forwarded-Host", "X-Forwarded-For", "X-Host", "Forwarded", "X-Original-URL")
    with server.anybody() as client:
        answer = client.get("/study", headers=dict.fromkeys(names, "evil.example"))
    assert answer.headers["location"] == "/login"
    assert "evil" not in answer.text


# -- slow and many --------------------------------------------------------------------------------

SLOW = {
    "silent": "",
    "half": "GET /health HTTP/1.1\r\nHost: {host}\r\nX: ",
    "second": "GET /health HTTP/1.1\r\nHost: {host}\r\n\r\nGET /hea",
}


def test_slow_headers_do_not_hold_connections(server: Server) -> None:
    """Each is closed in time, although some drip on."""
    host = server.url.removeprefix("http://")
    held = {name: connection_to(server, 1) for name in SLOW}
    try:
        for name, text in SLOW.items():
            held[name].sendall(text.format(host=host).encode())
        for name, each in held.items():
            assert is_closed(each, drips=name == "half")
        with server.anybody() as client:
            assert client.get("/health").status_code == 200
    finally:
        for each in held.values():
            each.close()


def is_closed(connection: socket.socket, *, drips: bool) -> bool:
    """Whether the server closes a connection in time, on which a byte may drip every second."""
    for _ in range(HEADER_SECONDS + 10):
        try:
            if drips:
                connection.sendall(b"a")
            while connection.recv(4096):
                pass
        except TimeoutError:
            continue
        except OSError:
            pass
        return True
    return False


def test_many_idle_connections_do_not_lock_others_out(server: Server) -> None:
    """Fewer than the server takes at once; whoever calls meanwhile is answered."""
    held = [connection_to(server, 5) for _ in range(300)]
    try:
        with server.party("lab-a") as client:
            assert client.get("/api/own").status_code == 200
    finally:
        for each in held:
            each.close()


# -- whose it is ----------------------------------------------------------------------------------


def test_keys_of_jobs_cannot_be_guessed(server: Server) -> None:
    """They are long, without an order, and a part of one finds nothing."""
    with server.party("lab-a") as client:
        keys = [
            ask(client, "/api/own/quotes", asked=["age"], bits=0.01 * i)["id"] for i in (1, 2, 3)
        ]
        assert len({key[:8] for key in keys}) == 3
        assert min(map(len, keys)) >= 20
        for guess in (keys[0][:-1], keys[0].swapcase(), "%25", "%5f" * len(keys[0]), "1", "*"):
            assert client.get(f"/api/jobs/{guess}").status_code == 404


def test_a_token_does_not_make_a_session_of_another_role(server: Server) -> None:
    """A party's session with a custodian's fields and headers stays a party's."""
    with server.browser(server.access.issue_token(PARTY, "lab-a")) as browser:
        csrf = csrf_of(browser)
        sent = {"whom": "mine", "bits": "5", "csrf": csrf, "role": "custodian"}
        for headers in ({}, {"X-Role": "custodian"}, {"X-HTTP-Method-Override": "GET"}):
            answer = browser.post("/study/limits", data=sent, headers=headers)
            assert answer.status_code in (404, 422)
        assert browser.get("/api/study").status_code == 404
    with server.custodian() as custodian:
        assert "mine" not in str(custodian.get("/api/study").json())
