"""Jobs: designs and deliveries that take longer than an answer may; they outlive the server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from sqlite3 import Connection, Row
from time import time
from typing import Any

from tacit.service.access import Caller
from tacit.service.database import Database
from tacit.service.failures import Failure, FailureError
from tacit.storage import locked_byte

WAITING, QUEUED, RUNNING, RECORDING = "waiting", "queued", "running", "recording"
DONE, FAILED, CANCELLED, DECLINED = "done", "failed", "cancelled", "declined"

ENDED = (DONE, FAILED, CANCELLED, DECLINED)

MOST_JOBS = 5
"""That a party may have under way, or waiting for approval."""

_TOO_MANY_JOBS = Failure(
    HTTPStatus.TOO_MANY_REQUESTS, "TooManyJobs", f"at most {MOST_JOBS} jobs at once: wait for some"
)

_CANCELLABLE = (WAITING, QUEUED, RUNNING)
"""Before the intent is recorded: nothing is spent."""

_MOST_ATTEMPTS = 3
"""As often a job is begun whose process died."""

_ABANDONED_SECONDS = 3.0
"""A job that another server has just begun may not be locked by its process yet."""

_MOST_LISTED = 100

_KEPT_SECONDS = 90 * 24 * 3600.0
"""Jobs that ended are forgotten after so long; the ledger keeps what was released."""


class CancelledError(Exception):
    """A job was cancelled before its release was recorded; nothing is spent."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done by a process of its own.

    Attributes:
        number: in the order in which they came.
        id: that nobody can guess.
        task: by its name in ``tasks.TASKS``.
        arguments: of the task, as JSON.
        party: whose it is; ``None`` for a custodian's.
        removals: how many parties of this name had been removed before.
        by: who asked or approved, for the ledger.
        state: ``WAITING`` for approval, ``QUEUED``, ``RUNNING``, ``RECORDING`` once bits may be
            spent, or one of ``ENDED``.
        phase: how far it has come.
        entry: number of its release, once that is recorded.
        result: what came out.
        error: why it failed, as ``Failure.as_dict`` tells it.
        attempts: how often it was begun.
        made: seconds since 1970.
        changed: the same.
    """

    number: int
    id: str
    task: str
    arguments: dict[str, Any]
    party: str | None
    removals: int
    by: str
    state: str
    phase: dict[str, Any]
    entry: int | None
    result: Any
    error: dict[str, Any] | None
    attempts: int
    made: float
    changed: float

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of one study's service.

    Attributes:
        database: where they are.
    """

    database: Database

    # -- for callers ------------------------------------------------------------------------

    def submit(
        self, task: str, arguments: Mapping[str, Any], caller: Caller, *, waits: bool = False
    ) -> Job:
        """A new job; one that waits begins when a custodian approves it.

        Raises:
            FailureError: the party has as many as it may have.
        """
        party = None if caller.is_custodian else caller.name
        state, now = WAITING if waits else QUEUED, time()
        key, told = secrets.token_urlsafe(16), json.dumps(dict(arguments))
        with self.database.transaction() as connection:
            if party is not None and _count_unended(connection, party) >= MOST_JOBS:
                raise FailureError(_TOO_MANY_JOBS)
            row = connection.execute(
                "INSERT INTO jobs (id, task, arguments, party, removals, by, state, made, changed) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                (key, task, told, party, caller.removals, caller.signature, state, now, now),
            ).fetchone()
        return _job(row)

    def find(self, key: str) -> Job | None:
        """A job by its id."""
        with self.database.reading() as connection:
            row = connection.execute("SELECT * FROM jobs WHERE id = ?", (key,)).fetchone()
        return None if row is None else _job(row)

    def newest(self, party: Caller | None = None) -> list[Job]:
        """The newest jobs, of one party or of all."""
        name, removals = (None, 0) if party is None else (party.name, party.removals)
        with self.database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM jobs WHERE ?1 IS NULL OR (party = ?1 AND removals = ?2) "
                "ORDER BY number DESC LIMIT ?3",
                (name, removals, _MOST_LISTED),
            ).fetchall()
        return list(map(_job, rows))

    def approve(self, key: str, by: str, accept: Sequence[str] = ()) -> bool:
        """Let a waiting job begin, by codes of what is accepted; the ledger will name who did."""
        job = self.find(key)
        if job is None:
            return False
        arguments = json.dumps(job.arguments | ({"accept": list(accept)} if accept else {}))
        return self._move(key, (WAITING,), QUEUED, by=by, arguments=arguments, error=None)

    def decline(self, key: str, by: str) -> bool:
        """End a waiting job."""
        return self._move(key, (WAITING,), DECLINED, by=by)

    def cancel(self, key: str) -> bool:
        """End a job, unless its release may be recorded already.

        From then on its process cannot record: see ``begin_recording``.
        """
        return self._move(key, _CANCELLABLE, CANCELLED)

    # -- for those who do them --------------------------------------------------------------

    def forget_old(self) -> None:
        """Remove jobs that ended long ago."""
        with self.database.transaction() as connection:
            connection.execute(
                f"DELETE FROM jobs WHERE state IN {_words(ENDED)} AND changed < ?",
                (time() - _KEPT_SECONDS,),
            )

    def claim(self, in_hand: Iterable[int] = ()) -> Job | None:
        """The next job to begin, or one whose process died.

        Args:
            in_hand: numbers of jobs that this server has claimed and not ended.
        """
        with self.database.transaction() as connection:
            rows = connection.execute(
                f"SELECT * FROM jobs WHERE state IN {_words((QUEUED, RUNNING, RECORDING))} "
                "ORDER BY number"
            ).fetchall()
            for row in rows:
                if row["number"] not in in_hand and self._is_free(row):
                    return _begin(connection, row)
        return None

    def _is_free(self, row: Row) -> bool:
        if row["state"] == QUEUED:
            return True
        if row["attempts"] and time() - row["changed"] < _ABANDONED_SECONDS:
            return False
        with locked_byte(self.database.lock, row["number"], wait=False) as is_held:
            return is_held

    def begin_recording(self, key: str) -> None:
        """Before bits are spent: from here on the job cannot be cancelled.

        Raises:
            CancelledError: it was.
        """
        if not self._move(key, (RUNNING, RECORDING), RECORDING):
            raise CancelledError

    def note_entry(self, key: str, entry: int) -> None:
        """Its release is recorded: a second attempt delivers that one."""
        self._move(key, (RUNNING, RECORDING), RECORDING, entry=entry)

    def tell(self, key: str, phase: Mapping[str, Any]) -> None:
        """How far it has come.

        Raises:
            CancelledError: it was cancelled, perhaps through another server.
        """
        told = json.dumps(dict(phase))
        if not any(self._move(key, (state,), state, phase=told) for state in (RUNNING, RECORDING)):
            raise CancelledError

    def finish(self, key: str, result: Any) -> None:
        """It is done."""
        self._move(key, (RUNNING, RECORDING), DONE, result=json.dumps(result, allow_nan=False))

    def fail(self, key: str, error: Mapping[str, Any]) -> None:
        """It cannot be done."""
        self._move(key, (RUNNING, RECORDING), FAILED, error=json.dumps(dict(error)))

    def hold(self, key: str, error: Mapping[str, Any]) -> None:
        """It waits for approval: it has a consequence that a custodian has to accept."""
        self._move(key, (RUNNING, RECORDING), WAITING, error=json.dumps(dict(error)))

    def give_back(self, key: str, error: Mapping[str, Any]) -> None:
        """Its process died: queue it again, or fail after several attempts."""
        job = self.find(key)
        if job is not None and job.attempts >= _MOST_ATTEMPTS:
            self.fail(key, error)
        else:
            self._move(key, (RUNNING,), QUEUED)

    def _move(self, key: str, before: tuple[str, ...], after: str, **values: Any) -> bool:
        """Change the state of a job that is in one of some states; whether it was."""
        columns = "".join(f", {name} = ?" for name in values)
        with self.database.transaction() as connection:
            moved = connection.execute(
                f"UPDATE jobs SET state = ?, changed = ?{columns} "
                f"WHERE id = ? AND state IN {_words(before)}",
                (after, time(), *values.values(), key),
            )
            return moved.rowcount == 1


def _begin(connection: Connection, row: Row) -> Job:
    """A job that was recording goes on so: its bits may be spent."""
    state = RUNNING if row["state"] == QUEUED else row["state"]
    begun = connection.execute(
        "UPDATE jobs SET state = ?, attempts = attempts + 1, changed = ? WHERE number = ? "
        "RETURNING *",
        (state, time(), row["number"]),
    ).fetchone()
    return _job(begun)


def _count_unended(connection: Connection, party: str) -> int:
    [count] = connection.execute(
        f"SELECT count(*) FROM jobs WHERE party = ? AND state NOT IN {_words(ENDED)}", (party,)
    ).fetchone()
    return int(count)


def _words(states: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{state}'" for state in states) + ")"


def _job(row: Row) -> Job:
    stored = dict(row)
    for name in ("arguments", "phase", "result", "error"):
        stored[name] = None if stored[name] is None else json.loads(stored[name])
    return Job(**stored)
