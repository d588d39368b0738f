"""What every request passes before any route: host, size, who calls, forged forms, headers.

Locked by default: without a session or a token only ``OPEN`` paths are answered, so that a new
route is closed until somebody opens it here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from urllib.parse import parse_qs

from anyio import fail_after, to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.access import Caller
from tacit.service.failures import FORGED, NOT_LOGGED_IN, Failure, FailureError
from tacit.service.service import Service

API = "/api"
LOGIN = "/login"
OPEN = (LOGIN, "/health")
"""Paths, and what is below them, that anybody may ask for."""

UPLOADS = f"{API}/study/uploads"
"""Where custodians send files: their bodies are not read here, but stored as they arrive."""

MOST_BYTES = 256 * 1024
"""Of a body."""

BODY_SECONDS = 20
"""In which a body has to arrive."""

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 500

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response; a route may set another ``Cache-Control``."""

_WRONG_HOST = Failure(
    HTTPStatus.MISDIRECTED_REQUEST, "WrongHost", "this server is not known by that name"
)
_TOO_LARGE = Failure(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", f"send at most {MOST_BYTES:,} bytes"
)
_TWO_LENGTHS = Failure(
    HTTPStatus.BAD_REQUEST, "TwoLengths", "send a length or chunks, not both: proxies may disagree"
)
_TOO_SLOW = Failure(HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "the body took too long to arrive")
_NO_FORM = Failure(HTTPStatus.BAD_REQUEST, "NoForm", "the body is no form: send name=value pairs")


def is_for_machines(path: str) -> bool:
    """Whether JSON is answered at a path, and not a page."""
    return path == API or path.startswith(f"{API}/")


def is_open(path: str) -> bool:
    """Whether anybody may ask for a path."""
    return any(path == each or path.startswith(f"{each}/") for each in OPEN)


def cookie_name(service: Service) -> str:
    """Of the session; browsers keep ``__Host-`` from other paths, hosts and plain HTTP."""
    return "__Host-tacit" if service.settings.is_secure else "tacit"


@dataclass(frozen=True, slots=True)
class Guard:
    """Stands before the application.

    Attributes:
        app: what it guards.
        service: whom it asks who calls.
    """

    app: ASGIApp
    service: Service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        sending = _with_headers(send, is_secure=self.service.settings.is_secure)
        try:
            passed = await self._admit(scope, receive)
        except FailureError as error:
            await _refusal(scope, error.failure)(scope, receive, sending)
            return
        await self.app(scope, passed, sending)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Whatever is wrong with a request raises; else what the application receives."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.service.settings.hosts:
            raise FailureError(_WRONG_HOST)
        caller = await to_thread.run_sync(self._find_caller, headers)
        if caller is None and not is_open(scope["path"]):
            raise FailureError(NOT_LOGGED_IN)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise FailureError(_TWO_LENGTHS)
        is_file = scope["path"] == UPLOADS and caller is not None and caller.is_custodian
        body = b"" if is_file else await _read_body(headers, receive)
        if scope["method"] not in _SAFE_METHODS:
            _refuse_elsewhere(headers)
            body = _unpack_form(scope, headers, caller, body)
        scope.setdefault("state", {})["caller"] = caller
        return receive if is_file else _replay(body, receive)

    def _find_caller(self, headers: Headers) -> Caller | None:
        """By a token if one is sent, else by a session; no party that was removed since."""
        caller = self._find_sent(headers)
        if caller is None or caller.is_custodian:
            return caller
        with self.service.reading() as study:
            return caller if study.removals(caller.name) == caller.removals else None

    def _find_sent(self, headers: Headers) -> Caller | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme:
            is_token = scheme.lower() == "bearer"
            return self.service.access.find_token(secret.strip()) if is_token else None
        secret = cookie_parser(headers.get("cookie", "")).get(cookie_name(self.service), "")
        return self.service.access.find_session(secret) if secret else None


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MOST_BYTES:
        raise FailureError(_TOO_LARGE)
    body, is_more = bytearray(), True
    try:
        with fail_after(BODY_SECONDS):
            while is_more:
                message = await receive()
                body += message.get("body", b"")
                is_more = message.get("more_body", False)
                if len(body) > MOST_BYTES:
                    raise FailureError(_TOO_LARGE)
    except TimeoutError:
        raise FailureError(_TOO_SLOW) from None
    return bytes(body)


def _refuse_elsewhere(headers: Headers) -> None:
    """Refuse what a page of another site sent.

    Our pages send no referrer, so browsers say ``null`` as the origin of our own forms; then what
    they say of the site decides.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_own = origin is None or origin.partition("://")[2] == headers["host"]
    is_own_form = origin == "null" and site == "same-origin"
    if not (is_own or is_own_form) or site not in (None, "same-origin", "none"):
        raise FailureError(FORGED)


def _unpack_form(scope: Scope, headers: Headers, caller: Caller | None, body: bytes) -> bytes:
    """A form as JSON, so that routes read one thing; refused without its session's secret."""
    is_form = headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM
    fields = _read_form(body) if is_form else {}
    csrf = fields.pop("csrf", headers.get("x-csrf-token", ""))
    if caller is not None and caller.csrf is not None:
        is_genuine = isinstance(csrf, str) and compare_digest(csrf.encode(), caller.csrf.encode())
        if not is_genuine:
            raise FailureError(FORGED)
    if not is_form:
        return body
    told = json.dumps({name: value for name, value in fields.items() if value != ""}).encode()
    changed = MutableHeaders(scope=scope)
    changed["content-type"], changed["content-length"] = "application/json", str(len(told))
    return told


def _read_form(body: bytes) -> dict[str, str | list[str]]:
    """Name -> its value, or its values where there are several."""
    try:
        found = parse_qs(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise FailureError(_NO_FORM) from None
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _replay(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the whole body, then whatever comes after it."""
    is_sent = False

    async def replay() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send, *, is_secure: bool) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if is_secure:
                headers["Strict-Transport-Security"] = "max-age=31536000"
        await send(message)

    return sending


def _refusal(scope: Scope, failure: Failure) -> Response:
    """For machines JSON; people who are not logged in are led to it."""
    is_page = not is_for_machines(scope["path"]) and scope["method"] in ("GET", "HEAD")
    if failure is NOT_LOGGED_IN and is_page:
        return RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
    return JSONResponse(failure.as_dict(), failure.status)
