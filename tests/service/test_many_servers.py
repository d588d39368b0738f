"""Two servers with a folder each and one ledger: nothing is overspent, files are the same."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.study import Study, verify_study
from tests.service.server import Server, ask, ended, serving
from tests.study.clinic import make_clinic

PARTIES = ("lab-a", "lab-b", "lab-c", "lab-d")
LIMIT = 0.1
EVERYONE = 0.22
ORDERS = [{"asked": [asked], "bits": bits} for asked in ("age", "smoker") for bits in (0.03, 0.05)]


@pytest.mark.slow
def test_two_servers_and_eight_clients(tmp_path: Path, postgres_url: str) -> None:
    with make_clinic(tmp_path, postgres_url, everyone=EVERYONE) as study:
        for party in PARTIES:
            study.set_party(party, LIMIT)
    shutil.copytree(tmp_path / "clinic", tmp_path / "copy")
    with (
        serving(tmp_path / "clinic", tmp_path / "files-1", "--workers", "1") as one,
        serving(tmp_path / "copy", tmp_path / "files-2", "--workers", "1") as two,
        ThreadPoolExecutor(8) as clients,
    ):
        callers = [(server, party) for server in (one, two) for party in PARTIES]
        outcomes = [each for all_ in clients.map(ask_all, callers) for each in all_]
        compare_files(one, two)
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
