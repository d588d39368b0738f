"""Jobs: how far they have come, what came out, cancelling them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from anyio import sleep, to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from tacit.service.access import Caller
from tacit.service.failures import NOT_FOUND, REFUSED, Failure, FailureError
from tacit.service.guard import API
from tacit.service.jobs import FAILED, Job
from tacit.service.pages import add_action, add_page
from tacit.service.routes.callers import TheCaller, TheService
from tacit.service.service import Service

router = APIRouter(tags=["jobs"])

_LOOK_SECONDS = 0.25
_MOST_SECONDS = 30.0
_TOO_LATE = Failure(
    HTTPStatus.CONFLICT, "TooLate", "the job has ended, or its release may be recorded already"
)


def job_for(caller: Caller, job: Job) -> dict[str, Any]:
    """A job as its caller may see it: to parties a refusal has no reasons."""
    shown = asdict(job)
    del shown["attempts"], shown["number"], shown["removals"]
    if not caller.is_custodian:
        del shown["by"]
        shown["error"] = REFUSED.as_dict() if job.state == FAILED else None
    return shown


def find_job(service: Service, caller: Caller, key: str) -> Job:
    """A job that the caller may see."""
    job = service.jobs.find(key)
    own = caller.name, caller.removals
    if job is None or not (caller.is_custodian or (job.party, job.removals) == own):
        raise FailureError(NOT_FOUND)
    return job


@add_page(router, "/jobs", "jobs.html")
def list_jobs(service: TheService, caller: TheCaller) -> list[dict[str, Any]]:
    """The newest jobs; of a party, its own."""
    party = None if caller.is_custodian else caller
    return [job_for(caller, each) for each in service.jobs.newest(party)]


@add_page(router, "/jobs/{key}", "job.html")
async def read_job(
    key: str,
    service: TheService,
    caller: TheCaller,
    wait: Annotated[float, Query(ge=0, le=_MOST_SECONDS)] = 0,
) -> dict[str, Any]:
    """A job; with ``wait``, once it has ended or so many seconds have gone."""
    job = await to_thread.run_sync(find_job, service, caller, key)
    return job_for(caller, await service.wait(job, wait))


@add_action(router, "/jobs/{key}/cancel", "/jobs/{id}")
def cancel_job(key: str, service: TheService, caller: TheCaller) -> dict[str, Any]:
    """End a job before its release is recorded; nothing is spent."""
    job = find_job(service, caller, key)
    if not service.jobs.cancel(key):
        raise FailureError(_TOO_LATE)
    service.workers.stop(job)
    return job_for(caller, find_job(service, caller, key))


@router.get(API + "/jobs/{key}/events", response_class=StreamingResponse)
def watch_job(
    request: Request, key: str, service: TheService, caller: TheCaller
) -> StreamingResponse:
    """The job whenever it changes, as server-sent events, until it has ended."""
    find_job(service, caller, key)
    return StreamingResponse(_events(service, caller, key), media_type="text/event-stream")


async def _events(service: Service, caller: Caller, key: str) -> AsyncIterator[str]:
    told = -1.0
    while True:
        job = await to_thread.run_sync(find_job, service, caller, key)
        if job.changed != told:
            told = job.changed
            yield f"event: job\ndata: {json.dumps(job_for(caller, job))}\n\n"
        if job.is_ended:
            return
        await sleep(_LOOK_SECONDS)
