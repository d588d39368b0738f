"""What a custodian sees and does: everything, by the functions of ``tacit.Study``."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from math import inf
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query
from fastapi.responses import FileResponse, Response
from pydantic import Field

from tacit.service.access import PARTY
from tacit.service.failures import NOT_FOUND, Failure, FailureError, as_plain
from tacit.service.guard import API
from tacit.service.jobs import WAITING
from tacit.service.orders import (
    Accepted,
    AuditOf,
    Confirmation,
    Holder,
    Order,
    PlanOf,
    QuoteFor,
    RequestFor,
    SurfaceFor,
    TokenFor,
    VerificationOf,
)
from tacit.service.overview import list_concerns, timeline
from tacit.service.pages import add_action, add_page, show_document
from tacit.service.routes.callers import TheCaller, TheService, require_custodian
from tacit.service.routes.files import Format, read_certificate, send_file
from tacit.service.routes.jobs import job_for
from tacit.study import Receipt

router = APIRouter(tags=["study"], dependencies=[Depends(require_custodian)])

_DAY = 24 * 3600.0
_NOT_WAITING = Failure(HTTPStatus.CONFLICT, "NotWaiting", "this request does not wait any more")


# -- looking --------------------------------------------------------------------------------------


@add_page(router, "/study", "study.html")
def read_status(service: TheService) -> dict[str, Any]:
    """Parties, coalitions, bits used and left, all releases, and what needs attention."""
    waiting = len([each for each in service.jobs.newest() if each.state == WAITING])
    with service.reading() as study:
        report = study.report()
        concerns = list_concerns(report.status, waiting)
    found: dict[str, Any] = as_plain(report.status.as_dict())
    about = {"organisation": report.organisation, "table": report.table}
    told = {"timeline": timeline(report.releases), "attention": concerns, "waiting": waiting}
    return found | about | told


@add_page(router, "/study/limits", "limits.html")
def list_limits(service: TheService) -> dict[str, Any]:
    """Every limit, also on coalitions that hold nothing yet; and how parties' requests are met."""
    with service.reading() as study:
        limits = [as_plain(each.as_dict()) for each in study.limits()]
        accounts = [study.statement(each.parties[0]) for each in study.status().parties]
    parties = [
        {"name": each.party, "title": each.title, "needs_approval": each.needs_approval}
        for each in accounts
    ]
    return {"limits": limits, "parties": parties}


@add_page(router, "/study/ledger", "ledger.html")
def read_ledger(service: TheService) -> list[dict[str, Any]]:
    """Every entry: when, what, who made it, and the action that does the same."""
    with service.reading() as study:
        return [each.as_dict() for each in study.log()]


@router.get("/study/ledger/{number}/receipt.html", include_in_schema=False)
def show_receipt(number: int, service: TheService) -> Response:
    """The receipt of an entry, as the one page that leaves the study."""
    with service.reading() as study:
        return show_document(study.receipt(number).as_html())


@router.get(API + "/study/report")
def read_report(service: TheService) -> dict[str, Any]:
    """All that the study has promised and released, for a record of processing."""
    with service.reading() as study:
        found: dict[str, Any] = as_plain(study.report().as_dict())
    return found


@router.get("/study/report", include_in_schema=False)
def show_report(service: TheService) -> Response:
    """The same as one document, to print."""
    with service.reading() as study:
        return show_document(study.report().as_html())


@add_page(router, "/study/release", "release.html")
def list_choices(service: TheService) -> dict[str, Any]:
    """Parties, with what is left to them, and what can be asked for."""
    with service.reading() as study:
        status, columns = study.status(), study.columns
        everyone = study.bound_on("everyone").bits
    told = {
        "parties": [as_plain(each.as_dict()) for each in status.parties],
        "columns": list(columns),
        "entropy_bits": status.entropy_bits,
        "cohorts": len(status.cohorts),
    }
    return told | {"everyone": None if everyone == inf else everyone}


@add_page(router, "/study/what-if", "what_if.html")
def list_what_if(found: Annotated[dict[str, Any], Depends(list_choices)]) -> dict[str, Any]:
    """The same, for a request under other limits, and for parties that pool what they have."""
    return found


@add_page(router, "/study/risk", "risk.html")
def read_risk(
    service: TheService, parties: Annotated[list[str], Query(max_length=200)]
) -> dict[str, Any]:
    """What these parties could tell together about a record, by all that they hold."""
    with service.reading() as study:
        return study.risk(parties).as_dict()


@add_page(router, "/study/audits", "audits.html")
def list_audits(service: TheService, caller: TheCaller) -> list[dict[str, Any]]:
    """Audits that were asked for, the newest first."""
    return [job_for(caller, each) for each in service.jobs.newest() if each.task == "audit"]


@add_page(router, "/study/ledger/{number}", "receipt.html")
def read_receipt(number: int, service: TheService) -> dict[str, Any]:
    """The receipt of an entry; of a release, with what can be told about a person, in words."""
    with service.reading() as study:
        receipt = study.receipt(number)
    found: dict[str, Any] = as_plain(receipt.model_dump(mode="json"))
    if isinstance(receipt, Receipt):
        found["risks"] = [each.as_dict() for each in receipt.risks or ()]
        found["budgets"] = [
            as_plain(each.model_dump(mode="json")) for each in receipt.shown_holdings
        ]
    return found


@add_page(router, "/study/cells", "cells.html")
def read_small_cells(
    service: TheService, below: Annotated[int, Query(ge=0, le=1_000_000)] = 10
) -> list[dict[str, Any]]:
    """Combinations of levels that few records have."""
    with service.reading() as study:
        return [each.as_dict() for each in study.small_cells(below)]


@router.get(API + "/study/limits/{bits}")
def explain_limit(bits: float, service: TheService) -> list[dict[str, Any]]:
    """How well each attribute could be told within a limit of one party."""
    with service.reading() as study:
        return [asdict(each) for each in study.explain_limit(bits)]


@router.get(API + "/study/releases/{number}/certificate")
async def read_any_certificate(
    number: int, service: TheService, caller: TheCaller
) -> dict[str, Any]:
    """The certificate of a release, as its recipient gets it."""
    return await read_certificate(service, caller, number)


@router.get(API + "/study/releases/{number}/file.{file_format}", response_class=FileResponse)
@router.get("/study/releases/{number}/file.{file_format}", include_in_schema=False)
async def read_file(
    number: int, file_format: Format, service: TheService, caller: TheCaller
) -> FileResponse:
    """The file of a release, as its recipient gets it."""
    return await send_file(service, caller, number, file_format)


# -- changing -------------------------------------------------------------------------------------


@add_action(router, "/study/close", "/study")
def close(order: Confirmation, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Destroy the key: no more releases, everything stays verifiable."""
    with service.changing(caller) as study:
        study.destroy_key()
        releases = study.status().releases
    return {"is_closed": True, "releases": releases}


# -- jobs -----------------------------------------------------------------------------------------


@add_action(router, "/study/quotes", "/jobs/{id}")
def quote(order: QuoteFor, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """What a request would cost and be worth, as a job; spends nothing."""
    return job_for(caller, service.submit("quote", order.model_dump(mode="json"), caller))


@add_action(router, "/study/requests", "/jobs/{id}")
def request(order: RequestFor, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Answer a request of a party, as a job."""
    return job_for(caller, service.submit("release", order.model_dump(mode="json"), caller))


@add_action(router, "/study/surfaces", "/jobs/{id}")
def trace_surface(order: SurfaceFor, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """What a request would be worth under other limits, D(ε, δ), as a job; spends nothing."""
    return job_for(caller, service.submit("surface", order.model_dump(mode="json"), caller))


@add_action(router, "/study/audits", "/jobs/{id}")
def audit(order: AuditOf, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """What everybody learned, with an executed attack, as a job."""
    return job_for(caller, service.submit("audit", order.model_dump(mode="json"), caller))


@add_action(router, "/study/plans", "/jobs/{id}")
def plan(order: PlanOf, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """What limits would buy, before they are set, as a job."""
    return job_for(caller, service.submit("plan", order.model_dump(mode="json"), caller))


@add_action(router, "/study/verifications", "/jobs/{id}")
def verify(
    service: TheService,
    caller: TheCaller,
    order: Annotated[VerificationOf | None, Body()] = None,
) -> dict[str, Any]:
    """Replay the ledger: chain, certificates, snapshot, files, and a receipt; as a job."""
    told = (order or VerificationOf()).model_dump(mode="json")
    return job_for(caller, service.submit("verify", told, caller))


class Decision(Order):
    """Whether a request that waits is answered.

    Attributes:
        decision: what is decided.
        accept: codes of consequences that are accepted.
    """

    decision: Literal["approve", "decline"]
    accept: Accepted = Field(default_factory=list)


@add_page(router, "/study/approvals", "jobs.html")
def list_waiting(service: TheService, caller: TheCaller) -> list[dict[str, Any]]:
    """Requests that wait for approval."""
    waiting = [each for each in service.jobs.newest() if each.state == WAITING]
    return [job_for(caller, each) for each in waiting]


@add_action(router, "/study/approvals/{key}", "/jobs/{id}")
def decide(key: str, order: Decision, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Approve or decline a request that waits; the ledger names who approved it."""
    job = service.jobs.find(key)
    if job is None:
        raise FailureError(NOT_FOUND)
    jobs, by = service.jobs, caller.signature
    is_approved = order.decision == "approve"
    if not (jobs.approve(key, by, order.accept) if is_approved else jobs.decline(key, by)):
        raise FailureError(_NOT_WAITING)
    service.workers.wake()
    return job_for(caller, service.jobs.find(key) or job)


# -- who may call ---------------------------------------------------------------------------------


@add_page(router, "/study/tokens", "tokens.html")
def list_tokens(service: TheService) -> list[dict[str, Any]]:
    """Tokens that were handed out and have not expired, without their secrets."""
    return [asdict(each) for each in service.access.tokens()]


@add_action(router, "/study/tokens", "token.html")
def issue_token(order: TokenFor, service: TheService) -> dict[str, Any]:
    """A new token; it is shown this one time."""
    name, removals = order.name, 0
    if order.role == PARTY:
        with service.reading() as study:
            name, removals = study.statement(order.name).party, study.removals(order.name)
    token = service.access.issue_token(
        order.role, name, removals=removals, seconds=order.days * _DAY
    )
    return {"role": order.role, "name": name, "token": token}


@add_action(router, "/study/tokens/revoke", "/study/tokens")
def revoke_tokens(order: Holder, service: TheService) -> dict[str, Any]:
    """End all tokens and sessions of a holder."""
    return {"revoked": service.access.revoke_tokens(order.role, order.name)}
