"""Two servers, with a folder each and one ledger, or at one address: they agree on everything."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from tacit.service.access import MOST_FAILURES
from tacit.service.serve import MOST_DEATHS
from tacit.study import Study, verify_study
from tests.service.server import START_SECONDS, Server, ask, ended, serving
from tests.study.clinic import make_clinic

PARTIES = ("lab-a", "lab-b", "lab-c", "lab-d")
LIMIT = 0.1
EVERYONE = 0.22
ORDERS = [{"asked": [asked], "bits": bits} for asked in ("age", "smoker") for bits in (0.03, 0.05)]


@pytest.mark.slow
def test_two_servers_and_eight_clients(tmp_path: Path, postgres_url: str) -> None:
    with make_clinic(tmp_path, postgres_url, everyone=EVERYONE) as study:
        for party in PARTIES:
            study.set_limit(party, LIMIT)
    shutil.copytree(tmp_path / "clinic", tmp_path / "copy")
    with (
        serving(tmp_path / "clinic", tmp_path / "files-1", "--workers", "1") as one,
        serving(tmp_path / "copy", tmp_path / "files-2", "--workers", "1") as two,
        ThreadPoolExecutor(8) as clients,
    ):
        callers = [(server, party) for server in (one, two) for party in PARTIES]
        outcomes = [each for all_ in clients.map(ask_all, callers) for each in all_]
        compare_files(one, two)
        assert_approval_holds(one, two)
    assert outcomes.count("done") > len(PARTIES)
    assert outcomes.count("failed") > 0  # everyone's limit is below what was asked for
    assert set(outcomes) == {"done", "failed"}
    with Study.open(tmp_path / "clinic") as study:
        status = study.status()
    assert all(each.held <= each.limit for each in (*status.parties, *status.coalitions))
    assert status.undelivered == ()
    assert verify_study(tmp_path / "clinic").is_whole


def ask_all(caller: tuple[Server, str]) -> list[str]:
    """How each request of a party ended."""
    server, party = caller
    with server.party(party) as client:
        return [
            ended(client, ask(client, "/api/own/requests", **order))["state"] for order in ORDERS
        ]


def compare_files(one: Server, two: Server) -> None:
    """Every release, from either server."""
    for party in PARTIES:
        with one.party(party) as here, two.party(party) as there:
            account, other = (each.get("/api/own").json() for each in (here, there))
            del account["requests"], other["requests"]  # each server has its own jobs
            assert account == other
            assert account["releases"]
            for release in account["releases"]:
                path = f"/api/own/releases/{release['number']}/file.parquet"
                answers = [client.get(path) for client in (here, there)]
                assert [each.status_code for each in answers] == [200, 200]
                assert answers[0].content == answers[1].content


def assert_approval_holds(one: Server, two: Server) -> None:
    """What is set through one server holds at the other."""
    with one.custodian() as custodian, two.party("lab-a") as client:
        order = {"name": "lab-a", "is_required": True}
        assert custodian.post("/api/study/parties/approval", json=order).status_code == 200
        assert ask(client, "/api/own/requests", asked=["age"], bits=0.001)["state"] == "waiting"


# -- several processes at one address -------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Server]:
    make_clinic(tmp_path).close()
    with serving(tmp_path / "clinic", None, "--servers", "2", "--workers", "1") as running:
        yield running


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Only the second process can answer."""
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


def test_what_one_process_knows_the_other_knows(pair: Server) -> None:
    with pair.browser(pair.login.rpartition("/")[2]) as browser, stopped(pair):
        address, cookies = pair.url, dict(browser.cookies)
        assert (
            httpx.get(f"{address}/api/study", cookies=cookies, timeout=START_SECONDS).status_code
            == 200
        )
        with pair.custodian() as custodian:
            assert ended(custodian, ask(custodian, "/api/study/verifications"))["state"] == "done"
        guesses = ["a guess"] * (MOST_FAILURES - 1)
        for secret in (pair.login.rpartition("/")[2], *guesses):  # the first one was used
            answer = httpx.post(f"{address}/login", data={"secret": secret}, timeout=START_SECONDS)
            assert answer.status_code == 401
    answer = httpx.post(f"{address}/login", data={"secret": pair.access.invite("anna")})
    assert answer.status_code == 429


def test_a_process_ends_with_the_first_one(pair: Server) -> None:
    assert health_without_the_first(pair) == 200
    os.kill(pair.process.pid, signal.SIGKILL)
    pair.process.join()
    with pytest.raises(httpx.TransportError):
        look_for(pair, seconds=30)


def test_a_process_that_dies_is_started_again(pair: Server) -> None:
    second = await_second(pair, than=0)
    os.kill(second, signal.SIGKILL)
    third = await_second(pair, than=second)
    assert third != second
    assert health_without_the_first(pair) == 200


def health_without_the_first(pair: Server) -> int:
    """The status of an answer of the second process, which needs the first one until it serves."""
    until = monotonic() + START_SECONDS
    while True:
        try:
            with stopped(pair):
                return httpx.get(f"{pair.url}/health", timeout=5).status_code
        except httpx.TimeoutException:
            if monotonic() > until:
                raise
        sleep(0.5)


@pytest.mark.slow
def test_processes_that_die_again_and_again_are_given_up(pair: Server) -> None:
    last = 0
    for _ in range(MOST_DEATHS):
        last = await_second(pair, than=last)
        os.kill(last, signal.SIGKILL)
    with pytest.raises(AssertionError, match="no other"):
        await_second(pair, than=last, seconds=3)
    assert (
        httpx.get(f"{pair.url}/health", timeout=START_SECONDS).status_code == 200
    )  # the first goes on


def await_second(server: Server, than: int, seconds: float = 60) -> int:
    """The process id of the second server, once it is another one."""
    until = monotonic() + seconds
    while monotonic() < until:
        found = [each for each in servers_below(server.process.pid) if each != than]
        if found:
            return found[0]
        sleep(0.05)
    raise AssertionError("no other server process was started")


def servers_below(pid: int) -> list[int]:
    """Children of a process that answer requests."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    children = [child for each in threads for child in read_while_there(each).split()]
    lines = {each: read_while_there(Path(f"/proc/{each}/cmdline")) for each in children}
    return [int(each) for each, line in lines.items() if "spawn_main" in line]


def read_while_there(path: Path) -> str:
    """A file about a process or thread; nothing once that has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def look_for(server: Server, seconds: float) -> None:
    """Ask again and again whether a server is there."""
    until = monotonic() + seconds
    while monotonic() < until:
        httpx.get(f"{server.url}/health")
        sleep(0.05)
