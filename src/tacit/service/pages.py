"""Pages and their twins for machines: one function answers both.

At ``/api/PATH`` it answers JSON; at ``/PATH`` a template shows the same, or a form does the same.
"""

# Annotations are evaluated here: those of inner functions name what only the outer ones know.

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from math import inf
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.auditing import Disclosure
from tacit.auditing.disclosure import disclosure_lines
from tacit.errors import Suggestion
from tacit.information.laws import (
    bits_down,
    bits_up,
    limit_in_words,
    of_hundred,
    percent_used,
    times_in_words,
)
from tacit.service.charts import draw
from tacit.service.guard import API
from tacit.service.uploads import file_name
from tacit.study.reports.page import chance_up, fullness, times_up
from tacit.study.reports.receipts import (
    is_share,
    measure_in_words,
    time_in_words,
    worth_in_words,
    worth_name,
)
from tacit.words.commands import command_of

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_ENVIRONMENT = Environment(
    loader=PackageLoader("tacit.service"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)


def _percent(holding: Mapping[str, Any]) -> float:
    """Of its limit; JSON has none for infinity."""
    limit = holding["limit"]
    return percent_used(holding["held"], inf if limit is None else limit)


_ENVIRONMENT.filters |= {
    "bits_up": bits_up,
    "bits_down": bits_down,
    "chance_up": chance_up,
    "first_up": lambda text: text[:1].upper() + text[1:],
    "fullest_first": lambda held: sorted(held, key=_percent, reverse=True),
    "fullness": fullness,
    "chance": of_hundred,
    "disclosed": lambda found, verb: disclosure_lines([Disclosure(**each) for each in found], verb),
    "error": lambda error, measure: f"{100 * error:.1f}" if is_share(measure) else f"{error:.4f}",
    "error_name": lambda measure: "Wrong, of 100" if is_share(measure) else "Mean error",
    "judged": measure_in_words,
    "limit": lambda bits: limit_in_words(inf if bits is None else bits),
    "percent_of": lambda held, bits: _percent({"held": held, "limit": bits}),
    "seconds": lambda then: time_in_words(datetime.fromtimestamp(then, UTC).isoformat()),
    "time": time_in_words,
    "times": times_in_words,
    "times_up": times_up,
    "worth": lambda value, measure: (
        f"{100 * (1 - value):.1f}" if is_share(measure) else f"{value:.4f}"
    ),
    "worth_in_words": lambda value, told: worth_in_words(
        told["measure"], value, told["blind"], told["objective"]
    ),
    "worth_name": worth_name,
}


_ENVIRONMENT.globals["draw"] = draw


def render(request: Request, template: str, found: Any, *, status: int = 200) -> HTMLResponse:
    """A page that shows what was found, for whoever calls."""
    caller = getattr(request.state, "caller", None)
    page = _ENVIRONMENT.get_template(template).render(
        found=found, who=caller, path=request.url.path, command=_command_maker(request)
    )
    return HTMLResponse(page, status)


def _command_maker(request: Request) -> Callable[..., str | None]:
    """Makes the command that does the same as a page, from an action and its arguments."""
    folder = request.app.state.service.settings.folder

    def make(action: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> str | None:
        given = {name: file_name(value) or value for name, value in (arguments or {}).items()}
        known = {name: value for name, value in given.items() if value is not None}
        return command_of(Suggestion(action, known | more), {"folder": folder})

    return make


def show_document(page: str) -> HTMLResponse:
    """A page that a study makes, whole in itself: its styles are inside, and it runs nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy})


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
