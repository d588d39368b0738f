"""Ctrl-C at any time: one line, exit code 130, and nothing is spent twice."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TextIO

import pytest

from tacit.study import Study
from tests.cli.clinic import done, found_in, names_in
from tests.processes import run_command, start

INTERRUPTED = (
    "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
)

REPEATED = 500
"""Times that a table of 600 rows is read, so that DuckDB looks for signals before it has all."""

WAITING = "waiting for the lock of the ledger"

RELEASE = ["release", "clinic", "lab-a", "income", "--out", "a.csv"]


@dataclass(frozen=True, slots=True)
class Held:
    """A command that has come to a certain place and stays there.

    Attributes:
        process: that runs it.
        errors: what it has written to stderr, to be read when it has ended.
        let_go: closed when it may go on.
    """

    process: ForkServerProcess
    errors: TextIO
    let_go: TextIO

    def interrupt(self) -> None:
        """Press Ctrl-C, and only then let it go on."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGINT)
        self.let_go.close()

    def last_words(self) -> list[str]:
        """What it says before it ends, as something that was interrupted."""
        said = self.errors.read()
        self.process.join()
        assert self.process.exitcode == 130, said
        return said.splitlines()


@contextmanager
def held_in(place: str, *words: str, read: Path | None = None) -> Iterator[Held]:
    """A command that is held where it enters a function.

    Args:
        place: name of the function, or ``WAITING``.
        words: the command.
        read: a file that the function lets DuckDB read: it is held in the middle of that query.
    """
    heard, tell = os.pipe()
    errors, complain = os.pipe()
    waits, let_go = os.pipe()
    streams = {0: waits, 1: tell, 2: complain}
    process = start(_run_held, place, words, read, streams=streams)
    with os.fdopen(heard) as lines, os.fdopen(errors) as complaints, os.fdopen(let_go, "w") as go:
        assert lines.readline() == "there\n", complaints.read()
        yield Held(process, complaints, go)
        process.join()


def _run_held(place: str, words: Sequence[str], read: Path | None) -> None:
    """Run a command; in its place it says that it is there, and waits until stdin is closed."""

    def hold(frame: FrameType, event: str, called: object) -> None:
        if place == WAITING and _is_waiting(frame, event, called):
            sys.setprofile(None)
            print("there", flush=True)  # and on, into the lock that another process has
        elif _is_in(place, frame, event):
            sys.setprofile(None)
            if read is None:
                print("there", flush=True)
                sys.stdin.read()
            else:
                _put_pipe_in_place_of(read)

    sys.setprofile(hold)
    run_command(words)


def _put_pipe_in_place_of(file: Path) -> None:
    """Who opens the file reads a pipe, which has its rows, many times, once stdin is closed."""
    names, *rows = file.read_bytes().splitlines(keepends=True)
    file.unlink()
    os.mkfifo(file)

    def feed() -> None:
        with suppress(BrokenPipeError), file.open("wb") as pipe:  # opens when it is read
            print("there", flush=True)
            sys.stdin.read()
            pipe.write(b"".join((names, *REPEATED * rows)))

    Thread(target=feed, daemon=True).start()


def _is_in(function: str, frame: FrameType, event: str) -> bool:
    return event == "call" and frame.f_code.co_name == function


def _is_waiting(frame: FrameType, event: str, called: object) -> bool:
    """Whether it begins to write to the ledger: nobody can while another does."""
    is_query = event == "c_call" and type(getattr(called, "__self__", None)).__module__ == "sqlite3"
    return is_query and "BEGIN IMMEDIATE" in frame.f_locals.values()


def test_before_the_intent_nothing_is_spent(fresh: Path) -> None:
    """A release that waits for the ledger's lock, which we hold until it was interrupted."""
    before = found_in(Path())
    with closing(sqlite3.connect(fresh / "ledger.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with held_in(WAITING, *RELEASE) as held:
            held.interrupt()
            other.execute("ROLLBACK")
            assert held.last_words() == [INTERRUPTED]
    assert found_in(Path()) == before
    done(*RELEASE)


def test_while_information_is_searched_for_nothing_is_spent(fresh: Path) -> None:
    before = found_in(Path())
    with held_in("_first_ascent", *RELEASE, "--utility", "information") as held:
        held.interrupt()
        assert held.last_words() == [INTERRUPTED]
    assert found_in(Path()) == before


def test_during_delivery_the_same_command_finishes(fresh: Path) -> None:
    def interrupt(steps: int, total: int) -> None:
        raise KeyboardInterrupt

    with Study.open(fresh) as study, pytest.raises(KeyboardInterrupt):
        study.release("lab-a", "income", out="a.csv", progress=interrupt)
    status = done("status", fresh, "--json").json
    assert (status["releases"], status["undelivered"]) == (1, [4])
    assert names_in(Path()) == ["clinic"]
    assert names_in(fresh / "states") == []
    done(*RELEASE)
    after = done("status", fresh, "--json").json
    assert (after["releases"], after["undelivered"]) == (1, [])
    assert after["parties"] == status["parties"]


INIT = ("--id", "patient_id", "--private", "age:cut=30", "--private", "diagnosis")


@contextmanager
def init_held_in(function: str, table: Path) -> Iterator[Held]:
    """An init in a function, in the middle of its query where that reads the table."""
    read = table if function in ("_sniff", "stored_columns") else None
    with held_in(function, "init", "clinic", "--table", str(table), *INIT, read=read) as held:
        yield held


@pytest.fixture
def table(patients: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that the test may spoil, not in its folder."""
    return Path(shutil.copy(patients, tmp_path_factory.mktemp("table")))


@pytest.mark.parametrize("during", ["_sniff", "stored_columns", "check_ids", "sketch"])
def test_init(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str) -> None:
    monkeypatch.chdir(tmp_path)
    with init_held_in(during, table) as held:
        held.interrupt()
        said = held.last_words()
    assert [line for line in said if line != "reading the table ..."] == [INTERRUPTED]
    assert names_in(tmp_path) == []


def test_while_a_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ends by the signal itself, unless it is told otherwise."""
    (tmp_path / "duckdb.py").write_text(
        "exec('import os, signal; os.kill(os.getpid(), signal.SIGINT)')"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    words = ["init", "clinic", "--table", "t.csv", *INIT]
    ended = subprocess.run(
        [sys.executable, "-m", "tacit.cli", *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 130
    assert ended.stderr.startswith("tacit: interrupted: ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("during", ["stored_columns", "sketch"])
def test_what_a_killed_init_left_is_cleared_by_the_next(
    table: Path, patients: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with init_held_in(during, table) as held:
        held.process.kill()
    assert names_in(tmp_path) != []
    done("init", "other", "--table", patients, *INIT)
    assert names_in(tmp_path) == ["other"]
    done("init", "clinic", "--table", patients, *INIT, "--accept-reset")
    assert names_in(tmp_path) == ["clinic", "other"]
