"""The description of all routes, and a page to read and try them, without the internet."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from tacit.service.assets import find_asset
from tacit.service.failures import NOT_FOUND, FailureError
from tacit.service.guard import API
from tacit.service.pages import render

router = APIRouter(include_in_schema=False)

_KEPT = {"Cache-Control": "private, max-age=3600"}


@router.get(API + "/docs")
def show_documentation(request: Request) -> Response:
    """Swagger UI, out of its wheel."""
    return render(request, "documentation.html", None)


@router.get("/static/{name}")
def read_asset(name: str) -> Response:
    """A file that pages load."""
    found = find_asset(name)
    if found is None:
        raise FailureError(NOT_FOUND)
    path, media_type = found
    return FileResponse(path, media_type=media_type, headers=_KEPT)
