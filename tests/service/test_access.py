"""Tokens and sessions: they end when they should, and nobody gets one by trying."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx
import pytest

from tacit.errors import InvalidInputError
from tacit.service.access import MOST_FAILURES, PARTY, read_duration
from tests.service.server import Server, csrf_of, serving
from tests.study.clinic import make_clinic


def test_an_invitation_works_once(server: Server) -> None:
    secret = server.access.invite("anna")
    with server.anybody() as client:
        page = client.get(f"/login/{secret}")
        assert page.status_code == 200  # looking does not use it up
        assert secret in page.text
    with server.browser(secret) as browser:
        assert browser.get("/study").status_code == 200
    with server.anybody() as client:
        again = client.post("/login", data={"secret": secret})
    assert again.status_code == 401
    assert "set-cookie" not in again.headers


def test_the_cookie_is_kept_from_scripts_and_other_sites(server: Server) -> None:
    with server.anybody() as client:
        answer = client.post("/login", data={"secret": server.access.invite("anna")})
    words = {word.strip().lower() for word in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words


def test_a_session_begins_with_a_new_id(server: Server) -> None:
    """Whatever cookie somebody planted before, it is worth nothing afterwards."""
    with server.anybody() as client:
        answer = client.post(
            "/login",
            data={"secret": server.access.invite("anna")},
            headers={"Cookie": "tacit=planted"},
        )
    assert "planted" not in answer.headers["set-cookie"]
    assert server.access.find_session(answer.cookies["tacit"]) is not None
    assert server.access.find_session("planted") is None


def test_logging_in_again_ends_the_session_before(server: Server) -> None:
    with server.browser() as browser:
        first = browser.cookies["tacit"]
        browser.post(
            "/login",
            data={"secret": server.access.invite("anna"), "csrf": csrf_of(browser)},
        )
        assert browser.cookies["tacit"] != first
    assert server.access.find_session(first) is None


def test_logging_out_ends_the_session(server: Server) -> None:
    with server.browser() as browser:
        session = browser.cookies["tacit"]
        assert browser.post("/logout", data={"csrf": csrf_of(browser)}).status_code == 303
        browser.cookies.set("tacit", session)
        assert browser.get("/api/study").status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer x",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "bearer\t{token}",
    ],
)
def test_what_is_no_token_opens_nothing(server: Server, header: str) -> None:
    token = server.access.issue_token(PARTY, "lab-a")
    with server.anybody() as client:
        answer = client.get("/api/own", headers={"Authorization": header.format(token=token)})
    assert answer.status_code == 401


def test_tokens_expire(server: Server) -> None:
    token = server.access.issue_token(PARTY, "lab-a", seconds=-1)
    with server.anybody() as client:
        headers = {"Authorization": f"Bearer {token}"}
        assert client.get("/api/own", headers=headers).status_code == 401
        assert client.post("/login", data={"secret": token}).status_code == 401


def test_revoked_tokens_end_with_their_sessions(server: Server) -> None:
    token = server.access.issue_token(PARTY, "registry")
    with server.party("registry") as client, server.browser(token) as browser:
        assert client.get("/api/own").json()["party"] == "registry"
        assert browser.get("/own").status_code == 200
        with server.custodian() as custodian:
            order = {"name": "registry"}
            held = [each for each in server.access.tokens() if each.name == "registry"]
            revoked = custodian.post("/api/study/tokens/revoke", json=order).json()["revoked"]
        assert revoked == len(held) >= 2
        assert client.get("/api/own").status_code == 401
        assert browser.get("/api/own").status_code == 401


def test_a_token_opens_no_account_of_another_party_of_the_same_name(server: Server) -> None:
    guest = {"whom": "guest", "bits": 0.2}
    with server.custodian() as custodian:
        custodian.post("/api/study/limits", json=guest).raise_for_status()
        order = {"role": PARTY, "name": "guest", "days": 1}
        token = custodian.post("/api/study/tokens", json=order).json()["token"]
        with server.with_token(token) as client, server.browser(token) as browser:
            assert client.post("/api/own/quotes", json={"asked": "age"}).is_success
            assert client.get("/api/jobs").json() != []
            custodian.post(
                "/api/study/limits", json={"whom": "guest", "bits": "none"}
            ).raise_for_status()
            assert client.get("/api/own").status_code == 401
            custodian.post("/api/study/limits", json=guest).raise_for_status()
            assert client.get("/api/own").status_code == 401
            assert browser.get("/api/own").status_code == 401
        token = custodian.post("/api/study/tokens", json=order).json()["token"]
    with server.with_token(token) as client:
        assert client.get("/api/own").json()["party"] == "guest"
        assert client.get("/api/jobs").json() == []


def test_secrets_are_not_on_disk(server: Server) -> None:
    token = server.access.issue_token(PARTY, "lab-a")
    with server.browser(token) as browser:
        session = browser.cookies["tacit"]
    file = server.folder / "service.sqlite"
    stored = file.read_bytes()
    assert token.encode() not in stored
    assert session.encode() not in stored
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_flood_of_logins_is_refused(tmp_path: Path) -> None:
    make_clinic(tmp_path).close()
    with serving(tmp_path / "clinic", None, "--workers", "1") as server, server.anybody() as client:
        codes = [guess(client) for _ in range(MOST_FAILURES + 3)]
        assert codes == [401] * MOST_FAILURES + [429] * 3
        right = {"secret": server.access.invite("anna")}
        assert client.post("/login", data=right).status_code == 429


def guess(client: httpx.Client) -> int:
    return client.post("/login", data={"secret": "a guess"}).status_code


def test_tokens_are_for_parties_that_are_known(server: Server) -> None:
    with server.custodian() as client:
        answer = client.post("/api/study/tokens", json={"name": "nobody"})
    assert answer.status_code == 422
    assert "'nobody' is unknown" in answer.json()["error"]["message"]


def test_durations() -> None:
    assert [read_duration(text) for text in ("30d", "12h", "15m")] == [2_592_000, 43_200, 900]
    for text in ("", "30", "d", "-1d", "0d", "1.5h", "1w", "9999999d"):
        with pytest.raises(InvalidInputError, match="is no duration"):
            read_duration(text)
