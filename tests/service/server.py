"""A real server in a process of its own, and callers of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, TextIO

import httpx
import uvicorn

from tacit.service.access import CUSTODIAN, PARTY, Access
from tacit.service.app import make_app
from tacit.service.database import Database
from tacit.service.service import Service, Settings
from tests.processes import run_command, start
from tests.study.clinic import make_clinic

START_SECONDS = 60
JOB_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        folder: of its study.
        files: where its release files go.
        process: the first of its group.
        login: the address that works once.
    """

    folder: Path
    files: Path
    process: ForkServerProcess
    login: str

    @property
    def url(self) -> str:
        return self.login.partition("/login/")[0]

    @property
    def access(self) -> Access:
        return Access(Database.open(self.folder))

    def anybody(self) -> httpx.Client:
        """Somebody without a session or token."""
        return httpx.Client(base_url=self.url, timeout=JOB_SECONDS)

    def party(self, name: str, **options: Any) -> httpx.Client:
        """A party with a token."""
        return self.with_token(self.access.issue_token(PARTY, name, **options))

    def custodian(self, name: str = "anna") -> httpx.Client:
        """A custodian with a token."""
        return self.with_token(self.access.issue_token(CUSTODIAN, name))

    @contextmanager
    def browser(self, secret: str | None = None) -> Iterator[httpx.Client]:
        """Somebody who has logged in: a custodian, unless a token says otherwise."""
        secret = self.access.invite("anna") if secret is None else secret
        with self.anybody() as client:
            answer = client.post("/login", data={"secret": secret})
            assert answer.status_code == 303, answer.text
            yield client

    def with_token(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=JOB_SECONDS)

    def kill(self) -> None:
        """Kill the server and its workers, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()


@contextmanager
def serving(folder: Path, files: Path | None = None, *options: str) -> Iterator[Server]:
    """A server of a study at a free port, until the end of the block."""
    files = files or folder.with_name("files")
    words = ("serve", str(folder), "--port", "0", "--files", str(files), "--json", *options)
    printed, written = os.pipe()
    process = start(run_command, words, streams={1: written})
    try:
        with os.fdopen(printed) as lines:
            yield Server(folder, files, process, _read_login(lines))
    finally:
        if process.is_alive():
            os.killpg(process.pid, signal.SIGTERM)
            process.join(START_SECONDS)
        process.close()


@contextmanager
def serving_clinic(
    place: Path, parties: Iterable[str], asked: Mapping[str, str]
) -> Iterator[Server]:
    """A server of a new clinic.

    Args:
        place: where its folders go.
        parties: who may learn 0.4 bits each.
        asked: party -> the column of which it has a release of 0.1 bits.
    """
    with make_clinic(place, external=["outcome"], everyone=0.9) as study:
        for party in parties:
            study.set_limit(party, 0.4)
    with serving(place / "clinic", None, "--workers", "1") as running:
        for party, column in asked.items():
            with running.party(party) as client:
                released(client, asked=[column], bits=0.1)
        yield running


@contextmanager
def answering(server: Server) -> Iterator[str]:
    """The address of another server of the same study, within this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"localhost:{listener.getsockname()[1]}"
        service = Service.open(Settings(server.folder, server.files, frozenset({host}), workers=1))
        inner = uvicorn.Server(uvicorn.Config(make_app(service), log_level="warning"))
        thread = Thread(target=inner.run, args=([listener],))
        thread.start()
        try:
            yield f"http://{host}"
        finally:
            inner.should_exit = True
            thread.join()


def _read_login(lines: TextIO) -> str:
    """The address that a server prints as JSON; it listens from then on."""
    printed = ""
    while not printed.endswith("}\n"):
        line = lines.readline()
        assert line, "the server ended"
        printed += line
    login: str = json.loads(printed)["login"]
    return login


def csrf_of(browser: httpx.Client) -> str:
    """What the forms of a session carry."""
    [found] = set(re.findall(r'name="csrf" value="([^"]+)"', browser.get("/jobs").text))
    return found


def ended(client: httpx.Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """A job once it has ended."""
    until = monotonic() + JOB_SECONDS
    while monotonic() < until:
        found: dict[str, Any] = client.get(f"/api/jobs/{job['id']}", params={"wait": 20}).json()
        if found["state"] in ("done", "failed", "cancelled", "declined"):
            return found
    raise AssertionError(f"the job did not end: {job}")


def designing(client: httpx.Client, job: Mapping[str, Any]) -> None:
    """Wait until a process searches for the release of a job."""
    until = monotonic() + JOB_SECONDS
    while monotonic() < until:
        if client.get(f"/api/jobs/{job['id']}").json()["phase"].get("step") == "designing":
            return
        sleep(0.02)
    raise AssertionError(f"the job did not begin: {job}")


def ask(client: httpx.Client, path: str, **order: Any) -> dict[str, Any]:
    """A job that was asked for."""
    answer = client.post(path, json=order)
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()
    return job


def released(client: httpx.Client, **order: Any) -> dict[str, Any]:
    """A party's own release, once it is there."""
    job = ended(client, ask(client, "/api/own/requests", **order))
    assert job["state"] == "done", job
    return job
