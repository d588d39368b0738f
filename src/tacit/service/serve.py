"""Running a service: where it listens, and how its custodian logs in."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from tacit.errors import InvalidInputError
from tacit.service.app import make_app
from tacit.service.connections import PromptProtocol
from tacit.service.service import Service, Settings

_MOST_CONNECTIONS = 500
_QUIET_SECONDS = 15
"""After so long without a request a connection is closed."""

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
    workers: int,
    tell: Callable[[str], None],
) -> None:
    """Serve a study until it is interrupted.

    Args:
        folder: of the study.
        files: where release files go.
        listening: where it listens.
        custodian: who may log in by the address that is told.
        workers: how many processes design and deliver.
        tell: called with that address once the server listens; it works once.
    """
    with _listen(listening) as listener:
        port = listener.getsockname()[1]
        hosts = _hosts(listening, port)
        settings = Settings(folder, files, frozenset(hosts), listening.is_secure, workers)
        service = Service.open(settings)
        scheme = "https" if listening.is_secure else "http"
        tell(f"{scheme}://{hosts[0]}/login/{service.access.invite(custodian)}")
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
