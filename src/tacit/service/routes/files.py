"""Release files: written once, or again where this server does not have them; always the same.

Only an erasure changes them: they are written again without the erased records.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

from anyio import to_thread
from fastapi.responses import FileResponse

from tacit.service.access import Caller
from tacit.service.failures import REFUSED, Failure, FailureError
from tacit.service.jobs import DONE
from tacit.service.service import Service
from tacit.service.tasks import release_path
from tacit.study.reports.receipts import Certificate, certificate_path

Format = Literal["csv", "parquet"]

_WRITE_SECONDS = 60.0
_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
_NOT_YET = Failure(
    HTTPStatus.SERVICE_UNAVAILABLE, "NotYet", "the file is being written: ask again soon"
)


async def send_file(
    service: Service, caller: Caller, number: int, file_format: Format
) -> FileResponse:
    """The file of a release."""
    path = await _find_file(service, caller, number, file_format)
    return FileResponse(path, media_type=_TYPES[file_format], filename=path.name)


async def read_certificate(service: Service, caller: Caller, number: int) -> dict[str, Any]:
    """What a recipient needs to estimate from the file of a release."""
    path = await _find_file(service, caller, number, "csv")
    return Certificate.beside(path).model_dump(mode="json")


async def _find_file(service: Service, caller: Caller, number: int, file_format: Format) -> Path:
    path = release_path(service.settings.files, number, file_format)
    if await to_thread.run_sync(_has_file, service, number, path):
        return path
    arguments = {"number": number, "format": file_format}
    job = await to_thread.run_sync(service.submit, "deliver", arguments, caller)
    job = await service.wait(job, _WRITE_SECONDS)
    if not job.is_ended:
        raise FailureError(_NOT_YET)
    if job.state != DONE:
        raise FailureError(_failure_for(caller, job.error))
    return path


def _has_file(service: Service, number: int, path: Path) -> bool:
    """Whether this server has a file, written since records were last erased."""
    if not (path.exists() and certificate_path(path).exists()):
        return False
    with service.reading() as study:
        return Certificate.beside(path).records == study.count_rows(number)


def _failure_for(caller: Caller, error: dict[str, object] | None) -> Failure:
    if not caller.is_custodian or error is None:
        return REFUSED
    said, status = error["error"], error["status"]
    assert isinstance(said, dict)
    assert isinstance(status, int)
    details = {name: value for name, value in said.items() if name not in ("kind", "message")}
    return Failure(status, said["kind"], said["message"], details)
