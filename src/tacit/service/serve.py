"""Running a service: where it listens, and how its custodian logs in."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from math import ceil
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import uvicorn

from tacit.errors import InvalidInputError
from tacit.service.app import make_app
from tacit.service.connections import PromptProtocol
from tacit.service.service import Service, Settings

_MOST_CONNECTIONS = 500
_QUIET_SECONDS = 15
"""After so long without a request a connection is closed."""

MOST_DEATHS = 5
_DEATHS_SECONDS = 60.0
"""When so many server processes have died within so many seconds, no more are started."""

_LOOK_SECONDS = 0.5

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a service listens.

    Attributes:
        address: an IP address, or ``localhost``.
        port: 0 for any that is free.
        names: what callers call the server, beside its address: ``clinic.example``.
        certfile: of TLS.
        keyfile: of TLS.
        behind_proxy: whether a proxy in front of it does TLS.
    """

    address: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    certfile: Path | None = None
    keyfile: Path | None = None
    behind_proxy: bool = False

    def __post_init__(self) -> None:
        """Refuse to send secrets in plain text over a network."""
        if (self.certfile is None) != (self.keyfile is None):
            raise InvalidInputError("TLS needs both a certificate and its key: give both files")
        if not (self.is_secure or _is_loopback(self.address)):
            raise InvalidInputError(
                f"{self.address} can be reached from other machines: give the files of a TLS "
                "certificate and its key, or say that a proxy in front does TLS"
            )

    @property
    def is_secure(self) -> bool:
        """Whether callers reach it by HTTPS."""
        return self.certfile is not None or self.behind_proxy


def serve(
    folder: Path,
    files: Path,
    listening: Listening,
    *,
    custodian: str,
    servers: int,
    workers: int,
    tell: Callable[[str], None],
) -> None:
    """Serve a study until it is interrupted.

    Args:
        folder: of the study.
        files: where release files go.
        listening: where it listens.
        custodian: who may log in by the address that is told.
        servers: how many processes answer requests.
        workers: how many processes design and deliver; each server has one at least.
        tell: called with that address once the server listens; it works once.
    """
    with _listen(listening) as listener:
        port = listener.getsockname()[1]
        hosts = _hosts(listening, port)
        share = ceil(workers / servers)
        settings = Settings(folder, files, frozenset(hosts), listening.is_secure, share)
        service = Service.open(settings)
        scheme = "https" if listening.is_secure else "http"
        with _more_servers(servers - 1, settings, listening, listener):
            tell(f"{scheme}://{hosts[0]}/login/{service.access.invite(custodian)}")
            _answer(service, listening, listener)


def _answer(service: Service, listening: Listening, listener: socket.socket) -> None:
    """Answer requests until a signal ends this process."""
    uvicorn.Server(
        uvicorn.Config(
            make_app(service),
            http=PromptProtocol,  # h11 bounds the size of headers
            ws="none",
            access_log=False,  # addresses hold secrets
            log_level="warning",
            server_header=False,
            proxy_headers=listening.behind_proxy,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_QUIET_SECONDS,
            timeout_graceful_shutdown=2,
            ssl_certfile=listening.certfile,
            ssl_keyfile=listening.keyfile,
        )
    ).run(sockets=[listener])


@contextmanager
def _more_servers(
    count: int, settings: Settings, listening: Listening, listener: socket.socket
) -> Iterator[None]:
    """More processes that answer at the same address, until the end of the block.

    One that dies is started again, unless they die so often that this helps nobody.
    """
    arguments, spawning = (settings, listening, listener), get_context("spawn")

    def start() -> SpawnProcess:
        process = spawning.Process(target=_answer_with_first, args=arguments)
        process.start()
        return process

    processes = [start() for _ in range(count)]
    is_ending = Event()
    watching = Thread(target=_replace_dead, args=(processes, start, is_ending), daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_ending.set()
        watching.join()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _replace_dead(
    processes: list[SpawnProcess], start: Callable[[], SpawnProcess], is_ending: Event
) -> None:
    """Put a new process in the place of each one that died, until the end."""
    deaths: deque[float] = deque(maxlen=MOST_DEATHS)
    while not is_ending.wait(_LOOK_SECONDS):
        for place, process in enumerate(processes):
            if process.is_alive():
                continue
            deaths.append(monotonic())
            if len(deaths) == MOST_DEATHS and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
                _say(
                    f"{MOST_DEATHS} server processes died within {_DEATHS_SECONDS:.0f} seconds: "
                    "no more are started, the first one goes on"
                )
                return
            _say(f"a server process died ({process.exitcode}): it is started again")
            processes[place] = start()


def _say(line: str) -> None:
    print(f"tacit: {line}", file=sys.stderr, flush=True)


def _answer_with_first(settings: Settings, listening: Listening, listener: socket.socket) -> None:
    """Answer as long as the first server lives: it may be killed."""
    first = parent_process()
    assert first is not None

    def follow() -> None:
        first.join()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, daemon=True).start()
    _answer(Service.open(settings), listening, listener)


def _listen(listening: Listening) -> socket.socket:
    try:
        found = socket.getaddrinfo(listening.address, listening.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen()  # whoever is told of it may call at once
    except OSError as error:
        where = f"{listening.address}:{listening.port}"
        raise InvalidInputError(
            f"cannot listen at {where} ({error.strerror}): choose another address or port"
        ) from error
    return listener


def _hosts(listening: Listening, port: int) -> list[str]:
    """What requests may call this server, the best name first."""
    own = [listening.address]
    if _is_loopback(listening.address):
        own = ["localhost", "127.0.0.1", "[::1]"]
    elif ":" in listening.address:
        own = [f"[{listening.address}]"]
    default = _DEFAULT_PORTS["https" if listening.is_secure else "http"]
    suffixes = [f":{port}"] + [""] * (port == default or listening.behind_proxy)
    names = [each.lower() for each in listening.names]
    public = [name + suffix for name in names for suffix in reversed(suffixes)]
    return public + [name + suffix for name in own for suffix in suffixes]


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
