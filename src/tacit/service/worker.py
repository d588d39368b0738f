"""A process that does jobs: ``python -m tacit.service.worker FOLDER FILES``.

It reads the id of a job on each line, does it, and answers with a line. It ends with its server:
when nobody can write to it any more.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from tacit.errors import AcceptanceError, TacitError
from tacit.service.database import Database
from tacit.service.failures import as_plain, failure_of
from tacit.service.jobs import CancelledError, Jobs
from tacit.service.tasks import Work, run_task, used_up
from tacit.service.uploads import Uploads
from tacit.storage import locked_byte


def main(folder: Path, files: Path) -> None:
    """Do jobs until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr  # whatever prints does not answer
    jobs = Jobs(Database.open(folder))
    for line in sys.stdin:
        do_job(jobs, line.strip(), folder, files)
        with suppress(BrokenPipeError):  # the server was killed
            print("ended", file=answers, flush=True)


def do_job(jobs: Jobs, key: str, folder: Path, files: Path) -> None:
    """Do a job, unless another process has done it meanwhile."""
    job = jobs.find(key)
    if job is None:
        return
    with locked_byte(jobs.database.lock, job.number):
        job = jobs.find(key)
        if job is None or job.is_ended:
            return
        try:
            jobs.finish(key, as_plain(run_task(Work(job, jobs, folder, files))))
            sent = used_up(job)
            if sent is not None:
                Uploads.beside(files).remove(sent)
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - whoever asked is told, and the next job begins
            if not isinstance(error, TacitError):
                traceback.print_exc()
            failure = failure_of(error)
            end = jobs.fail
            if isinstance(error, AcceptanceError) and job.party is not None:
                end = jobs.hold  # a custodian may accept it
            end(key, failure.as_dict() | {"status": failure.status})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
