"""Records that join a study, leave it or are linked, and files that a custodian sends for that."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse

from tacit.service.failures import NOT_FOUND, FailureError, as_plain
from tacit.service.guard import API, UPLOADS
from tacit.service.orders import CohortOf, ErasureOf, LinkFor, UploadedFile
from tacit.service.pages import add_action, add_page
from tacit.service.routes.callers import TheCaller, TheService, require_custodian
from tacit.service.routes.jobs import find_job, job_for

router = APIRouter(tags=["study"], dependencies=[Depends(require_custodian)])


@add_page(router, "/study/records", "records.html")
def read_records(service: TheService) -> dict[str, Any]:
    """Cohorts of records, how many were erased, and files that were sent."""
    with service.reading() as study:
        status = study.status()
        ids = [each.name for each in study.snapshot.encoding.ids]
    told = {
        "cohorts": [as_plain(each.as_dict()) for each in status.cohorts],
        "parties": [each.name for each in status.parties],
        "id_columns": ids,
        "is_closed": status.is_closed,
    }
    return told | {"uploads": [asdict(each) for each in service.uploads.newest()]}


@router.post(UPLOADS)
async def send_file(
    request: Request, name: Annotated[str, Query(max_length=200)], service: TheService
) -> dict[str, Any]:
    """Send a file, as the body, for one of the orders below; it is kept for a day at most."""
    return asdict(await service.uploads.receive(name, request.stream()))


@add_action(router, "/study/uploads/remove", "/study/records")
def remove_file(order: UploadedFile, service: TheService) -> dict[str, Any]:
    """Remove a file that was sent."""
    return {"is_removed": service.uploads.remove(order.key)}


@add_action(router, "/study/cohorts", "/jobs/{id}")
def extend(order: CohortOf, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Let records that came since join, as a cohort of their own; as a job."""
    return job_for(caller, service.submit("extend", order.model_dump(mode="json"), caller))


@add_action(router, "/study/erasures", "/jobs/{id}")
def erase(order: ErasureOf, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Erase records for good, or count which ones would be; as a job."""
    return job_for(caller, service.submit("erase", order.model_dump(mode="json"), caller))


@add_action(router, "/study/links", "/jobs/{id}")
def link(order: LinkFor, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """Look up which pseudonyms a party's ids have in its files; as a job."""
    return job_for(caller, service.submit("link", order.model_dump(mode="json"), caller))


@router.get(API + "/study/links/{key}/file.csv", response_class=FileResponse)
@router.get("/study/links/{key}/file.csv", include_in_schema=False)
def read_links(key: str, service: TheService, caller: TheCaller) -> FileResponse:
    """The ids and pseudonyms that a job found, as long as its list of ids is kept."""
    job = find_job(service, caller, key)
    if job.task != "link" or not job.result:
        raise FailureError(NOT_FOUND)
    path = service.uploads.linked(job.arguments["ids"])
    return FileResponse(path, media_type="text/csv", filename=path.name)
