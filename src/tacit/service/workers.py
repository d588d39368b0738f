"""The processes that do jobs, and the threads that hand jobs to them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread

from tacit.service.failures import Failure
from tacit.service.jobs import Job, Jobs

_LOOK_SECONDS = 1.0
"""So often a server looks for jobs of other servers that died."""

_DIED = Failure(500, "WorkerDied", "the process that did this died: see the server's log")


@dataclass(slots=True, eq=False)
class Workers:
    """Some processes, each doing one job at a time.

    Attributes:
        jobs: where they find what to do.
        folder: of the study.
        files: where release files go.
        count: how many processes.
    """

    jobs: Jobs
    folder: Path
    files: Path
    count: int
    _in_hand: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _threads: list[Thread] = field(default_factory=list)
    _news: Condition = field(default_factory=Condition)
    _is_ending: bool = False

    def start(self) -> None:
        """Start the processes; jobs that another server left are done first."""
        for _ in range(self.count):
            thread = Thread(target=self._serve, daemon=True)
            thread.start()
            self._threads.append(thread)

    def wake(self) -> None:
        """There may be a new job."""
        with self._news:
            self._news.notify()

    def stop(self, job: Job) -> None:
        """End the process of a job that was cancelled; another one takes its place."""
        with self._news:
            process = self._in_hand.get(job.number)
        if process is not None:
            process.kill()

    def end(self) -> None:
        """End all processes at once. Their jobs go on when a server is started again."""
        with self._news:
            self._is_ending = True
            for process in self._in_hand.values():
                process.kill()
            self._news.notify_all()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        """Hand jobs to one process after another, until the end."""
        process = self._spawn()
        while not self._is_ending:
            try:
                job = self._claim(process)
            except sqlite3.Error:  # a full disk, say: look again later
                traceback.print_exc()
                job = None
            if job is None:
                with self._news:
                    self._news.wait(_LOOK_SECONDS)
                continue
            try:
                if not _do(process, job):
                    _end(process)
                    self.jobs.give_back(job.id, _DIED.as_dict() | {"status": _DIED.status})
                    process = self._spawn()
            finally:
                with self._news:
                    self._in_hand.pop(job.number, None)
        _end(process)

    def _claim(self, process: subprocess.Popen[str]) -> Job | None:
        with self._news:
            if self._is_ending:
                return None
            job = self.jobs.claim(self._in_hand)
            if job is not None:
                self._in_hand[job.number] = process
            return job

    def _spawn(self) -> subprocess.Popen[str]:
        places = str(self.folder.resolve()), str(self.files.resolve())
        command = [sys.executable, "-m", "tacit.service.worker", *places]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )


def _do(process: subprocess.Popen[str], job: Job) -> bool:
    """Let a process do a job; whether it lived to the end of it."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(f"{job.id}\n")
    return bool(process.stdout.readline())


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()  # waits for it, and closes its pipes
