"""What jobs do, in a process of their own: each task is a function of ``tacit.Study``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tacit.errors import InvalidInputError
from tacit.limits import Limit
from tacit.remark import Remark
from tacit.service.jobs import Job, Jobs
from tacit.service.orders import (
    AuditOf,
    CohortOf,
    ErasureOf,
    LinkFor,
    PlanOf,
    QuoteFor,
    RequestFor,
    SurfaceFor,
    VerificationOf,
)
from tacit.service.uploads import Uploads, file_name
from tacit.study import Quote, Study, verify_study
from tacit.study.reports.receipts import value_in_words
from tacit.words.remarks import remarks_for_machines

_TELL_SECONDS = 0.25
"""So often at most a job tells how far it has come."""

_TOLD_TO_PARTIES = ("external_column", "level_never_released", "out_of_time")
"""Remarks that name nobody else."""


_TOLD_OF_QUOTES = (
    *("party", "request", "measure", "objective", "ceilings", "analysable"),
    *("value", "blind", "bound", "levels", "curve", "answered_by"),
)
"""What a party is told of its quote: nothing of coalitions."""


@dataclass(slots=True)
class Work:
    """One job at work.

    Attributes:
        job: what to do.
        jobs: where to tell of it.
        folder: of the study.
        files: where release files go.
    """

    job: Job
    jobs: Jobs
    folder: Path
    files: Path
    _told: float = 0.0

    def open(self) -> Study:
        """The study, for whoever asked."""
        return Study.open(self.folder, by=self.job.by)

    @property
    def uploads(self) -> Uploads:
        """Files that custodians sent."""
        return Uploads.beside(self.files)

    def watch(self, value: float, bound: float, seconds: float) -> None:
        """Tell how far a design has come."""
        self._tell({"step": "designing", "value": value, "bound": bound, "seconds": seconds})

    def progress(self, done: int, total: int) -> None:
        """Tell how much of a file is written."""
        self._tell({"step": "writing", "done": done, "total": total})

    def _tell(self, phase: dict[str, Any]) -> None:
        if monotonic() - self._told >= _TELL_SECONDS:
            self._told = monotonic()
            self.jobs.tell(self.job.id, phase)


def release_path(files: Path, number: int, file_format: str) -> Path:
    """Where the service keeps the file of a release."""
    return files / f"release-{number}.{file_format}"


def run_task(work: Work) -> Any:
    """Do a job, and return what comes out, for JSON."""
    return TASKS[work.job.task](work)


def _quote(work: Work) -> dict[str, Any]:
    order = QuoteFor.model_validate(work.job.arguments)
    with work.open() as study:
        quoted = study.quote(**order.arguments(), watch=work.watch)
    if work.job.party is not None:
        return quote_for_party(quoted)
    return quoted.as_dict() | _in_words(quoted, quoted.remarks)


def _in_words(quoted: Quote, remarks: Iterable[Remark]) -> dict[str, Any]:
    """What a quote says to people."""
    worth = value_in_words(quoted.measure, quoted.value, quoted.blind, quoted.objective)
    return {"in_words": worth, "remarks": remarks_for_machines(remarks)}


def quote_for_party(quoted: Quote) -> dict[str, Any]:
    """A quote without what it says of others: coalitions, their limits, what they hold."""
    own = quoted.own
    full = quoted.as_dict()
    remarks = [each for each in quoted.remarks if each.code in _TOLD_TO_PARTIES]
    told = {name: full[name] for name in _TOLD_OF_QUOTES} | _in_words(quoted, remarks)
    return told | {"own": {"held": own.held, "added": own.added, "after": own.after}}


def _release(work: Work) -> dict[str, Any]:
    job = work.job
    order = RequestFor.model_validate(job.arguments)
    with work.open() as study:
        number = job.entry
        if job.party is not None and study.removals(job.party) != job.removals:
            raise InvalidInputError(f"party {job.party!r} was removed after it asked for this")
        if number is None:
            number = study.record(
                **order.arguments("format"),
                watch=work.watch,
                confirm=lambda: work.jobs.begin_recording(job.id),
            )
            work.jobs.note_entry(job.id, number)
        target = release_path(work.files, number, order.format)
        study.deliver(number, target, progress=work.progress)
        for other in study.receipts_beside(number):
            file = release_path(work.files, other.entry, order.format)
            study.deliver(other.entry, file, progress=work.progress)
        told = {"entry": number, "format": order.format}
        if job.party is not None:
            return told
        receipt = study.receipt(number)
    return told | {"receipt": receipt.model_dump(mode="json"), "in_words": receipt.in_words}


def _deliver(work: Work) -> dict[str, Any]:
    number, file_format = work.job.arguments["number"], work.job.arguments["format"]
    with work.open() as study:
        study.deliver(number, release_path(work.files, number, file_format), progress=work.progress)
    return {"entry": number, "format": file_format}


def _audit(work: Work) -> dict[str, Any]:
    order = AuditOf.model_validate(work.job.arguments)
    with work.open() as study:
        found = study.audit_cohorts(records=order.records, seed=order.seed)
        said = {"remarks": remarks_for_machines(study.status().audit_remarks)}
    told = {
        number: each.as_dict() | {"verdict": each.verdict, "text": each.as_text()}
        for number, each in found.items()
    }
    worst = max(found, key=lambda number: found[number].everyone.exposure.mutual_information)
    return told[worst] | {"cohort": worst, "cohorts": told} | said


def _plan(work: Work) -> dict[str, Any]:
    order = PlanOf.model_validate(work.job.arguments)
    with work.open() as study:
        return study.plan(
            order.asked,
            sql=order.sql,
            correct=order.correct,
            parties=order.parties,
            limit=order.limit,
            times=order.times,
            limits=[Limit(whom, bits) for whom, bits in order.limits.items()],
        ).as_dict()


def _verify(work: Work) -> dict[str, Any]:
    order = VerificationOf.model_validate(work.job.arguments)
    paper = None if order.receipt is None else work.uploads.path(order.receipt)
    found = verify_study(work.folder, paper)  # also where the ledger is too damaged to be opened
    said = {"problems": found.problems, "notes": found.notes}
    return found.as_dict() | {name: remarks_for_machines(each) for name, each in said.items()}


def _extend(work: Work) -> dict[str, Any]:
    order = CohortOf.model_validate(work.job.arguments)
    work.jobs.begin_recording(work.job.id)
    with work.open() as study:
        table = study.configuration.source
        if order.table is not None:
            table = str(work.uploads.path(order.table))
        remarks = study.extend(table, **order.model_dump(exclude={"table"}))
        cohorts = study.status().cohorts
    said = {"remarks": remarks_for_machines(remarks)}
    return {"cohorts": [each.as_dict() for each in cohorts]} | said


def _erase(work: Work) -> dict[str, Any]:
    order = ErasureOf.model_validate(work.job.arguments)
    with work.open() as study:
        if order.ids is None:
            done = study.finish_erasure()
        else:
            ids = str(work.uploads.path(order.ids))
            if order.confirm is None:
                return study.find_listed(ids).as_dict() | {"is_erased": False}
            done = study.erase(
                ids,
                skip_unknown=order.skip_unknown,
                confirm=lambda _: work.jobs.begin_recording(work.job.id),
            )
    said = {"remarks": remarks_for_machines(done.remarks), "is_erased": True}
    return done.as_dict() | said


def _link(work: Work) -> dict[str, Any]:
    order = LinkFor.model_validate(work.job.arguments)
    target = work.uploads.linked(order.ids)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with work.open() as study:
        found = study.link(order.party, str(work.uploads.path(order.ids)), out=target)
    return {"party": order.party, "linked": found.table.num_rows, "unknown": found.n_unknown}


def used_up(job: Job) -> str | None:
    """The key of the file that a job has used for the last time, if any."""
    is_meant = job.task == "extend" or (job.task == "erase" and job.arguments["confirm"])
    keys = [value for value in job.arguments.values() if file_name(value) is not None]
    return keys[0] if is_meant and keys else None


def _surface(work: Work) -> dict[str, Any]:
    order = SurfaceFor.model_validate(work.job.arguments)
    with work.open() as study:
        return study.trace_surface(**order.arguments("bits")).as_dict()


def _estimate(work: Work) -> dict[str, Any]:
    from tacit.study import estimate_file  # what estimates is slow to load, and rarely needed

    _deliver(work)
    number = work.job.arguments["number"]
    path, confidence = release_path(work.files, number, "csv"), work.job.arguments["confidence"]
    found = estimate_file(path, confidence=confidence)
    return found.as_dict() | {"remarks": remarks_for_machines(found.remarks), "entry": number}


TASKS: dict[str, Callable[[Work], dict[str, Any]]] = {
    "quote": _quote,
    "release": _release,
    "deliver": _deliver,
    "audit": _audit,
    "plan": _plan,
    "verify": _verify,
    "extend": _extend,
    "erase": _erase,
    "link": _link,
    "surface": _surface,
    "estimate": _estimate,
}
"""Name of a task -> what does it."""
