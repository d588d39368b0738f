"""What other processes do to a ledger; each function runs in a process of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from sqlalchemy import Engine, event

from tacit.errors import HeadMovedError, LedgerError
from tacit.ledger import Ledger
from tests.ledger.chains import STUDY, sketch_of
from tests.processes import forks

SAME_RECORDS = range(100)


def create(url: str, barrier: Barrier) -> None:
    """Create the ledger at the same moment as others do."""
    barrier.wait()
    Ledger.create(url).close()


def append_often(url: str, barrier: Barrier, times: int) -> None:
    """Append under whatever head there is, again where another was faster."""
    with Ledger.open(url) as ledger:
        barrier.wait()
        for number in range(times):
            append_once(ledger, {"writer": os.getpid(), "number": number})


def append_once(ledger: Ledger, body: dict[str, object]) -> None:
    while True:
        try:
            ledger.append(STUDY, "release", body, head=ledger.head(STUDY))
        except HeadMovedError:
            continue
        return


def register(url: str, barrier: Barrier, study: str, outcome: Connection) -> None:
    """Register a study over the same records as everyone else; send whether it was accepted."""
    with Ledger.open(url) as ledger:
        barrier.wait()
        try:
            ledger.register(study, sketch_of(SAME_RECORDS), {})
        except LedgerError:
            outcome.send(False)
        else:
            outcome.send(True)


def append_forever(url: str, acknowledged: Connection) -> None:
    """Append until killed; send the number of every entry that was acknowledged."""
    with Ledger.open(url) as ledger:
        while True:
            head = ledger.head(STUDY)
            payload = os.urandom(10_000)
            acknowledged.send(ledger.append(STUDY, "release", {}, payload, head=head).number)


def die_while_creating(url: str, step: int) -> None:
    """Create the ledger, and be killed at a step on the way."""
    die_at(step)
    Ledger.create(url).close()


def die_while_registering(url: str, step: int) -> None:
    """Register the study, and be killed at a step on the way."""
    with Ledger.open(url) as ledger:
        die_at(step)
        ledger.register(STUDY, sketch_of(SAME_RECORDS), {}, b"table")


def die_while_appending(url: str, step: int) -> None:
    """Append an entry, and be killed at a step on the way."""
    with Ledger.open(url) as ledger:
        head = ledger.head(STUDY)
        die_at(step)
        ledger.append(STUDY, "release", {}, b"channel", head=head)


def die_at(last: int) -> None:
    """Kill this process, as ``kill -9`` does, at the given step of its dealings with a database.

    The steps are before and after every statement, and before every commit.
    """
    steps = count(1)

    def step(*_: object) -> None:
        if next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, name, step)


def is_killed(worker: Callable[[str, int], None], url: str, step: int) -> bool:
    """Run a worker to its death; false if it reached its end before that step."""
    process = forks().Process(target=worker, args=(url, step))
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0
