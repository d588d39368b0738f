"""The documentation, and the description of all routes to read and try, without the internet."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from tacit.documentation import find_site
from tacit.errors import TacitError
from tacit.service.assets import find_asset
from tacit.service.failures import NOT_FOUND, FailureError
from tacit.service.guard import API
from tacit.service.pages import render

router = APIRouter(include_in_schema=False)

_KEPT = {"Cache-Control": "private, max-age=3600"}


@router.get(API + "/docs")
def show_documentation(request: Request) -> Response:
    """Every operation, from the description that machines get."""
    return render(request, "documentation.html", request.app.openapi())


@router.get("/static/{name}")
def read_asset(name: str) -> Response:
    """A file that pages load."""
    found = find_asset(name)
    if found is None:
        raise FailureError(NOT_FOUND)
    path, media_type = found
    return FileResponse(path, media_type=media_type, headers=_KEPT)


# -- the documentation ----------------------------------------------------------------------------

_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


@router.get("/help")
def open_help() -> Response:
    """Addresses in the pages are relative to a folder."""
    return RedirectResponse("/help/")


@router.get("/help/{place:path}")
def show_help(request: Request, place: str) -> Response:
    """A page of the built documentation, or how to build it."""
    try:
        site = find_site().resolve()
    except TacitError:
        return render(request, "help.html", None)
    if "\0" in place:
        raise FailureError(NOT_FOUND)
    path = (site / place).resolve()
    path = path / "index.html" if path.is_dir() else path
    if not (path.is_relative_to(site) and path.is_file()):
        raise FailureError(NOT_FOUND)
    return _help_page(path) if path.suffix == ".html" else FileResponse(path, headers=_KEPT)


def _help_page(path: Path) -> Response:
    """A page whose own scripts may run, by their hashes, and no others."""
    page = path.read_bytes()
    scripts = {b64encode(sha256(each).digest()).decode() for each in _INLINE_SCRIPT.findall(page)}
    allowed = " ".join(["'self'", *(f"'sha256-{each}'" for each in sorted(scripts))])
    policy = (
        f"default-src 'self'; script-src {allowed}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; worker-src 'self' blob:; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    )
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})
