"""Ctrl-C at any time: one line, exit code 130, and nothing is spent twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import sleep

import pytest

from tacit.study import Study
from tests.cli.clinic import done, found_in, names_in

LOOK_SECONDS = 0.002
"""Between two looks at what a process has open; it reads the table for a tenth of a second."""

RELEASE = ["release", "clinic", "lab-a", "income", "--out", "a.csv"]

_TELLING_WHEN_IT_WAITS = """
import sys
import tacit.study.study  # before calls are watched, which takes long
from tacit.cli import main

def tell(frame, event, called):
    # Nobody can begin to write while another does: from here on the command waits.
    owner = getattr(called, "__self__", None)
    is_query = event == "c_call" and type(owner).__module__ == "sqlite3"
    if is_query and "BEGIN IMMEDIATE" in frame.f_locals.values():
        sys.setprofile(None)
        print("waits", flush=True)

sys.setprofile(tell)
main()
"""
"""Runs a command, and says so when it is about to wait for the ledger's lock."""


def test_before_the_intent_nothing_is_spent(fresh: Path) -> None:
    """A release that waits for the ledger's lock, which we hold until it was interrupted."""
    before = found_in(Path())
    with closing(sqlite3.connect(fresh / "ledger.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with subprocess.Popen(
            [sys.executable, "-c", _TELLING_WHEN_IT_WAITS, *RELEASE],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "waits\n"
            running.send_signal(signal.SIGINT)
            other.execute("ROLLBACK")
            _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.splitlines() == [
        "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
    ]
    assert found_in(Path()) == before
    done(*RELEASE)


def test_while_information_is_searched_for_nothing_is_spent(fresh: Path) -> None:
    before = found_in(Path())
    words = [*RELEASE, "--utility", "information"]
    with subprocess.Popen(
        [sys.executable, "-c", _TELLING_WHERE_IT_IS, "_first_ascent", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "there\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.splitlines() == [
        "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
    ]
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


_TELLING_WHERE_IT_IS = """
import sys
import tacit.study.study  # before calls are watched, which takes long
from tacit.cli import main

def tell(frame, event, _, function=sys.argv.pop(1)):
    if event == "call" and frame.f_code.co_name == function:
        sys.setprofile(None)
        print("there", flush=True)

sys.setprofile(tell)
main()
"""
"""Runs a command, and says so when it enters a certain function."""


@contextmanager
def init_up_to(function: str, table: Path) -> Iterator[subprocess.Popen[str]]:
    """A running init that has entered a function and, where it reads the table there, does so."""
    words = ["init", "clinic", "--table", str(table), *INIT]
    with subprocess.Popen(
        [sys.executable, "-c", _TELLING_WHERE_IT_IS, function, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "there\n"
        while function in ("_sniff", "_copy") and not _has_open(running.pid, table):
            assert running.poll() is None
            sleep(LOOK_SECONDS)
        yield running


def _has_open(pid: int, file: Path) -> bool:
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
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert [line for line in said.splitlines() if line != "reading the table ..."] == [
        "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
    ]
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
        running.kill()
    assert names_in(tmp_path) != []
    done("init", "other", "--table", patients, *INIT)
    assert names_in(tmp_path) == ["other"]
    done("init", "clinic", "--table", patients, *INIT, "--accept-reset")
    assert names_in(tmp_path) == ["clinic", "other"]
