"""Ctrl-C at any time: one line, exit code 130, and nothing is spent twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from time import sleep
from types import FrameType
from typing import TextIO

import pytest

from tacit.study import Study
from tests.cli.clinic import done, found_in, names_in
from tests.processes import run_command, start

LOOK_SECONDS = 0.002
"""Between two looks at what a process has open; it reads the table for a tenth of a second."""

INTERRUPTED = (
    "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
)

WAITING = "waiting for the lock of the ledger"

RELEASE = ["release", "clinic", "lab-a", "income", "--out", "a.csv"]


@dataclass(frozen=True, slots=True)
class Running:
    """A command that has come to a certain place.

    Attributes:
        process: that runs it.
        errors: what it has written to stderr, to be read when it has ended.
    """

    process: ForkServerProcess
    errors: TextIO

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGINT)

    def last_words(self) -> list[str]:
        """What it says before it ends, as something that was interrupted."""
        said = self.errors.read()
        self.process.join()
        assert self.process.exitcode == 130, said
        return said.splitlines()


@contextmanager
def run_up_to(place: str, *words: str) -> Iterator[Running]:
    """A command that runs, once it has said that it is in a function, or that it waits."""
    told, tell = os.pipe()
    errors, complain = os.pipe()
    process = start(_run_telling, place, words, streams={1: tell, 2: complain})
    with os.fdopen(told) as lines, os.fdopen(errors) as complaints:
        assert lines.readline() == "there\n", complaints.read()
        yield Running(process, complaints)
        process.join()


def _run_telling(place: str, words: Sequence[str]) -> None:
    """Run a command, and say so when it enters a function, or is about to wait for a lock."""

    def tell(frame: FrameType, event: str, called: object) -> None:
        if _is_waiting(frame, event, called) if place == WAITING else _is_in(place, frame, event):
            sys.setprofile(None)
            print("there", flush=True)

    sys.setprofile(tell)
    run_command(words)


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
        with run_up_to(WAITING, *RELEASE) as running:
            running.interrupt()
            other.execute("ROLLBACK")
            assert running.last_words() == [INTERRUPTED]
    assert found_in(Path()) == before
    done(*RELEASE)


def test_while_information_is_searched_for_nothing_is_spent(fresh: Path) -> None:
    before = found_in(Path())
    words = [*RELEASE, "--utility", "information"]
    with run_up_to("_first_ascent", *words) as running:
        running.interrupt()
        assert running.last_words() == [INTERRUPTED]
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


@contextmanager
def init_up_to(function: str, table: Path) -> Iterator[Running]:
    """A running init that has entered a function and, where it reads the table there, does so."""
    with run_up_to(function, "init", "clinic", "--table", str(table), *INIT) as running:
        process = running.process
        while function in ("_sniff", "_copy") and not _has_open(process.pid, table):
            assert process.is_alive()
            sleep(LOOK_SECONDS)
        yield running


def _has_open(pid: int | None, file: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if link.readlink() == file.resolve():
                return True
    return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


@pytest.fixture(scope="session")
def many_patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many as make each query of init take its time."""
    path = tmp_path_factory.mktemp("many") / "patients.csv"
    lines = (f"P{k:06d},{k % 70},{('flu', 'none')[k % 3 > 1]},{k}" for k in range(200_000))
    path.write_text("\n".join(("patient_id,age,diagnosis,note", *lines)))
    return path


INIT = ("--id", "patient_id", "--private", "age:cut=30", "--private", "diagnosis")


@needs_proc
@pytest.mark.parametrize("during", ["_sniff", "_copy", "check_ids", "sketch"])
def test_init_of_a_large_table(
    many_patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with init_up_to(during, many_patients) as running:
        running.interrupt()
        said = running.last_words()
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


@needs_proc
@pytest.mark.parametrize("during", ["_copy", "sketch"])
def test_what_a_killed_init_left_is_cleared_by_the_next(
    many_patients: Path, patients: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with init_up_to(during, many_patients) as running:
        running.process.kill()
    assert names_in(tmp_path) != []
    done("init", "other", "--table", patients, *INIT)
    assert names_in(tmp_path) == ["other"]
    done("init", "clinic", "--table", patients, *INIT, "--accept-reset")
    assert names_in(tmp_path) == ["clinic", "other"]
