"""What a party sees and does: its own account, requests and files; nothing about others."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Body, Depends
from fastapi.responses import FileResponse

from tacit.errors import InvalidInputError, TacitError
from tacit.service.access import Caller
from tacit.service.failures import (
    NOT_FOUND,
    REFUSED,
    FailureError,
    as_plain,
    failure_of,
)
from tacit.service.guard import API
from tacit.service.orders import EstimateOf, Question, QuoteFor, Request, RequestFor
from tacit.service.pages import add_action, add_page
from tacit.service.routes.callers import TheCaller, TheService, require_party
from tacit.service.routes.files import Format, read_certificate, send_file
from tacit.service.routes.jobs import job_for
from tacit.service.service import Service
from tacit.study import PartyStatement

router = APIRouter(tags=["own"], dependencies=[Depends(require_party)])


@add_page(router, "/own", "own.html")
def read_own(service: TheService, caller: TheCaller) -> dict[str, Any]:
    """The party's limit, what it holds, its releases, and what can be asked for."""
    found: dict[str, Any] = as_plain(_statement(service, caller).as_dict())
    jobs = [job_for(caller, each) for each in service.jobs.newest(caller)]
    requests = [each for each in jobs if each["task"] == "release"]
    return found | {"requests": requests}


@add_action(router, "/own/quotes", "/jobs/{id}")
def quote_own(order: Question, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """What a request would cost and be worth, as a job; spends nothing."""
    _check(service, caller, order)
    told = QuoteFor(party=caller.name, **dict(order)).model_dump(mode="json")
    return job_for(caller, service.submit("quote", told, caller))


@add_action(router, "/own/requests", "/jobs/{id}")
def request_own(order: Request, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Ask for a release, as a job; it waits for approval where the custodian has set so."""
    account = _check(service, caller, order)
    told = RequestFor(party=caller.name, **dict(order)).model_dump(mode="json")
    waits = account.needs_approval
    return job_for(caller, service.submit("release", told, caller, waits=waits))


@add_page(router, "/own/releases/{number}", "certificate.html")
async def read_own_certificate(
    number: int, service: TheService, caller: TheCaller
) -> dict[str, Any]:
    """The certificate of one of the party's releases."""
    await to_thread.run_sync(_refuse_others, service, caller, number)
    return await read_certificate(service, caller, number)


@add_action(router, "/own/releases/{number}/estimates", "/jobs/{id}")
def estimate_own(
    number: int,
    service: TheService,
    caller: TheCaller,
    order: Annotated[EstimateOf | None, Body()] = None,
) -> dict[str, Any]:
    """Frequencies of what was asked, from the party's own file, as a job; costs nothing."""
    _refuse_others(service, caller, number)
    told = {"number": number, "format": "csv"} | dict(order or EstimateOf())
    return job_for(caller, service.submit("estimate", told, caller))


@router.get(API + "/own/releases/{number}/file.{file_format}", response_class=FileResponse)
@router.get("/own/releases/{number}/file.{file_format}", include_in_schema=False)
async def read_own_file(
    number: int, file_format: Format, service: TheService, caller: TheCaller
) -> FileResponse:
    """The file of one of the party's releases."""
    await to_thread.run_sync(_refuse_others, service, caller, number)
    return await send_file(service, caller, number, file_format)


def _statement(service: Service, caller: Caller) -> PartyStatement:
    """Refused in one way, whatever is wrong."""
    try:
        with service.reading() as study:
            return study.statement(caller.name)
    except TacitError:
        raise FailureError(REFUSED) from None


def _refuse_others(service: Service, caller: Caller, number: int) -> None:
    """A release of another party is no different from one that does not exist."""
    if number not in [each.number for each in _statement(service, caller).releases]:
        raise FailureError(NOT_FOUND)


def _check(service: Service, caller: Caller, order: Question) -> PartyStatement:
    """The account of who asks. Says what is wrong with a question itself; all else is refused in
    one way, here or later.
    """
    account = _statement(service, caller)
    if account.is_closed:
        raise FailureError(REFUSED)
    with service.reading() as study:
        names = Question.model_fields
        asked = {name: value for name, value in order.arguments().items() if name in names}
        try:
            study.check_request(caller.name, **asked)
        except InvalidInputError as error:
            raise FailureError(failure_of(error)) from None
    return account
