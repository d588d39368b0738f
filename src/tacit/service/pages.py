"""Pages and their twins for machines: one function answers both.

At ``/api/PATH`` it answers JSON; at ``/PATH`` a template shows the same, or a form does the same.
"""

# Annotations are evaluated here: those of inner functions name what only the outer ones know.

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.accounting import bits_down, bits_up
from tacit.policy import limit_in_words
from tacit.service.guard import API
from tacit.study.reports.receipts import time_in_words

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_ENVIRONMENT = Environment(
    loader=PackageLoader("tacit.service"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
_ENVIRONMENT.filters |= {
    "bits_up": bits_up,
    "bits_down": bits_down,
    "limit": limit_in_words,
    "time": time_in_words,
}


def render(request: Request, template: str, found: Any, *, status: int = 200) -> HTMLResponse:
    """A page that shows what was found, for whoever calls."""
    caller = getattr(request.state, "caller", None)
    page = _ENVIRONMENT.get_template(template).render(
        found=found, who=caller, path=request.url.path
    )
    return HTMLResponse(page, status)


def add_page(router: APIRouter, path: str, template: str) -> Callable[[Endpoint], Endpoint]:
    """Show what a function finds: as JSON below ``/api``, and as a page."""

    def register(endpoint: Endpoint) -> Endpoint:
        router.add_api_route(API + path, endpoint, methods=["GET"])

        def show(request: Request, found: Annotated[Any, Depends(endpoint)]) -> Response:
            return render(request, template, found)

        router.add_api_route(path, show, methods=["GET"], include_in_schema=False)
        return endpoint

    return register


def add_action(router: APIRouter, path: str, then: str) -> Callable[[Endpoint], Endpoint]:
    """Let callers do something: by JSON below ``/api``, and by a form.

    Args:
        router: of the routes.
        path: where it is sent.
        then: the page that a form leads to, with names of what the function returns in braces; or
            a template that shows what is never shown again.
    """

    def register(endpoint: Endpoint) -> Endpoint:
        router.add_api_route(API + path, endpoint, methods=["POST"])

        def act(request: Request, found: Annotated[Any, Depends(endpoint)]) -> Response:
            if then.endswith(".html"):
                return render(request, then, found)
            return RedirectResponse(then.format_map(found), HTTPStatus.SEE_OTHER)

        router.add_api_route(path, act, methods=["POST"], include_in_schema=False)
        return endpoint

    return register
