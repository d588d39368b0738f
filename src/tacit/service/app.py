"""The application: routes, the guard before them, and errors in one form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version

from anyio import to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from tacit.errors import TacitError
from tacit.service.failures import NOT_FOUND, REFUSED, Failure, FailureError, failure_of
from tacit.service.guard import API, Guard, is_for_machines
from tacit.service.pages import render
from tacit.service.routes import documentation, jobs, login, own, parties, records, study
from tacit.service.service import Service

_ABOUT = (
    "The same functions as the command line. Send a token as `Authorization: Bearer TOKEN`. "
    "Designs and deliveries are jobs: ask for `/api/jobs/{key}?wait=20`, or listen to its events."
)


def make_app(service: Service) -> ASGIApp:
    """The application that serves a study, behind its guard."""
    app = FastAPI(
        title="tacit",
        version=version("tacit"),
        description=_ABOUT,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        dependencies=[Depends(HTTPBearer(auto_error=False))],  # described; the guard checks it
    )
    app.state.service = service
    for part in (login, own, study, parties, records, jobs, documentation):
        app.include_router(part.router)
    app.add_exception_handler(FailureError, _tell)
    app.add_exception_handler(TacitError, _tell)
    app.add_exception_handler(OSError, _tell)
    app.add_exception_handler(HTTPException, _tell)
    app.add_exception_handler(RequestValidationError, _tell)
    app.add_exception_handler(Exception, _tell)
    return Guard(app, service)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.workers.start()
    try:
        yield
    finally:
        await to_thread.run_sync(service.workers.end)
        service.close()


async def _tell(request: Request, error: Exception) -> Response:
    """An error as JSON below ``/api``, else as a page."""
    failure = _failure_for(request, error)
    if is_for_machines(request.url.path):
        return JSONResponse(failure.as_dict(), failure.status)
    return render(request, "failure.html", failure, status=failure.status)


def _failure_for(request: Request, error: Exception) -> Failure:
    caller = getattr(request.state, "caller", None)
    match error:
        case FailureError():
            return error.failure
        case RequestValidationError():
            return _invalid(error)
        case HTTPException(status_code=HTTPStatus.NOT_FOUND):
            return NOT_FOUND
        case HTTPException():
            return Failure(error.status_code, "HttpError", error.detail)
        case TacitError() if caller is None or not caller.is_custodian:
            return REFUSED
        case _:
            return failure_of(error)


def _invalid(error: RequestValidationError) -> Failure:
    """Which fields do not fit; what was sent is not repeated."""
    fields = {".".join(map(str, each["loc"])): each["msg"] for each in error.errors()}
    listed = "; ".join(f"{name}: {said}" for name, said in list(fields.items())[:3])
    return Failure(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "InvalidInput",
        f"fields do not fit: {listed}",
        {"fields": fields},
    )
