"""Logging in and out, and whether the server is there: all that is open to anybody."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from tacit.service.access import SESSION_SECONDS, Caller
from tacit.service.assets import STATIC
from tacit.service.guard import LOGIN, cookie_name
from tacit.service.orders import Secret
from tacit.service.pages import render
from tacit.service.routes.callers import TheCaller, TheService
from tacit.service.service import Service

router = APIRouter(include_in_schema=False)


@router.get("/health")
def health() -> dict[str, str]:
    """That the server is there; nothing about the study."""
    return {"status": "ok"}


@router.get(f"{LOGIN}/style.css")
def style() -> Response:
    """The one style sheet, which the login page needs, too."""
    return FileResponse(STATIC / "style.css", media_type="text/css")


@router.get(LOGIN)
def ask_secret(request: Request) -> Response:
    """A form for a token."""
    return render(request, "login.html", {"secret": None, "has_failed": False})


@router.get(LOGIN + "/{secret}")
def follow_invitation(request: Request, secret: str) -> Response:
    """A button that uses an invitation: a browser that loads addresses ahead does not."""
    return render(request, "login.html", {"secret": secret, "has_failed": False})


@router.post(LOGIN)
def log_in(request: Request, order: Secret, service: TheService) -> Response:
    """Begin a session; its id is new, whatever cookie was sent."""
    address = request.client.host if request.client else ""
    session = service.access.log_in(order.secret, address)
    if session is None:
        found = {"secret": None, "has_failed": True}
        return render(request, "login.html", found, status=HTTPStatus.UNAUTHORIZED)
    _end_session(request, service)
    response = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    response.set_cookie(
        cookie_name(service),
        session,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=service.settings.is_secure,
    )
    return response


@router.post("/logout")
def log_out(request: Request, service: TheService, caller: TheCaller) -> Response:
    """End the session."""
    _end_session(request, service)
    response = RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
    response.delete_cookie(
        cookie_name(service), httponly=True, samesite="strict", secure=service.settings.is_secure
    )
    return response


def _end_session(request: Request, service: Service) -> None:
    """End the session whose cookie was sent, if any."""
    sent = request.cookies.get(cookie_name(service))
    if sent is not None:
        service.access.log_out(sent)


@router.get("/")
def start(caller: TheCaller) -> Response:
    """Each to where its work is."""
    return RedirectResponse(_start_of(caller), HTTPStatus.SEE_OTHER)


def _start_of(caller: Caller) -> str:
    return "/study" if caller.is_custodian else "/own"
