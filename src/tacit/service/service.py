"""What a running service has at hand: the study, who may call, jobs and those who do them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import LifoQueue
from time import monotonic
from typing import Any

from anyio import sleep, to_thread

from tacit.service.access import Access, Caller
from tacit.service.database import Database
from tacit.service.jobs import Job, Jobs
from tacit.service.uploads import Uploads
from tacit.service.workers import Workers
from tacit.study import Study

_MOST_READERS = 4
"""Threads that look at the study at once."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.03, 0.5
"""Seconds between two looks at a job that is waited for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service runs.

    Attributes:
        folder: of the study.
        files: where release files go.
        hosts: what a request may call this server, as in ``localhost:8000``.
        is_secure: whether callers reach it by HTTPS.
        workers: how many processes design and deliver.
    """

    folder: Path
    files: Path
    hosts: frozenset[str]
    is_secure: bool = False
    workers: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One study, served.

    Attributes:
        settings: how it runs.
        access: who may call.
        jobs: what takes longer.
        workers: who does it.
    """

    settings: Settings
    access: Access
    jobs: Jobs
    workers: Workers
    _readers: LifoQueue[Study | None] = field(default_factory=LifoQueue)

    @property
    def uploads(self) -> Uploads:
        """Files that custodians sent."""
        return Uploads.beside(self.settings.files)

    @classmethod
    def open(cls, settings: Settings) -> Service:
        """The service of a study's folder; its processes are not started yet."""
        settings.files.mkdir(mode=0o700, parents=True, exist_ok=True)
        study = Study.open(settings.folder)  # refuses what is no study
        database = Database.open(settings.folder)
        jobs = Jobs(database)
        jobs.forget_old()
        workers = Workers(jobs, settings.folder, settings.files, settings.workers)
        service = cls(settings, Access(database), jobs, workers)
        for reader in (*[None] * (_MOST_READERS - 1), study):
            service._readers.put(reader)
        return service

    def close(self) -> None:
        """Close the connections to the ledger, once nobody reads any more."""
        for _ in range(_MOST_READERS):
            reader = self._readers.get()
            if reader is not None:
                reader.close()

    @contextmanager
    def reading(self) -> Iterator[Study]:
        """The study, to look at; each thread has one of its own, so that none waits for another."""
        reader = self._readers.get()
        try:
            reader = reader or Study.open(self.settings.folder)
            yield reader
        finally:
            self._readers.put(reader)

    @contextmanager
    def changing(self, caller: Caller) -> Iterator[Study]:
        """The study, to change; entries name the caller."""
        with Study.open(self.settings.folder, by=caller.signature) as study:
            yield study

    def submit(
        self, task: str, arguments: Mapping[str, Any], caller: Caller, *, waits: bool = False
    ) -> Job:
        """Begin a job, or let it wait for approval."""
        job = self.jobs.submit(task, arguments, caller, waits=waits)
        self.workers.wake()
        return job

    async def wait(self, job: Job, seconds: float) -> Job:
        """A job as it is when it has ended, or when so many seconds have gone.

        No thread waits meanwhile: others need them.
        """
        until, pause = monotonic() + seconds, _FIRST_PAUSE
        while not job.is_ended and monotonic() < until:
            await sleep(pause)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)
            found = await to_thread.run_sync(self.jobs.find, job.id)
            job = job if found is None else found
        return job
