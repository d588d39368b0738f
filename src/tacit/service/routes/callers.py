"""What routes ask for: the service, who calls, and that the right one does."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from tacit.service.access import Caller
from tacit.service.failures import NOT_FOUND, NOT_LOGGED_IN, FailureError
from tacit.service.service import Service


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _caller(request: Request) -> Caller:
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        raise FailureError(NOT_LOGGED_IN)
    return caller


TheService = Annotated[Service, Depends(_service)]
TheCaller = Annotated[Caller, Depends(_caller)]


def require_custodian(caller: TheCaller) -> None:
    """To parties, what is the custodian's does not exist."""
    if not caller.is_custodian:
        raise FailureError(NOT_FOUND)


def require_party(caller: TheCaller) -> None:
    """What is a party's own does not exist for custodians, who have all of it elsewhere."""
    if caller.is_custodian:
        raise FailureError(NOT_FOUND)
