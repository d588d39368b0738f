"""Ctrl-C at any time: one line, exit code 130, and nothing is spent twice."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tacit.study import Study
from tests.cli.clinic import done, found_in, names_in

RELEASE = ["release", "clinic", "lab-a", "income", "--out", "a.csv"]


def _has_open(pid: int, file: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if link.readlink() == file.resolve():
                return True
    return False


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_before_the_intent_nothing_is_spent(fresh: Path) -> None:
    """A release that waits for the ledger's lock, which we hold until it was interrupted."""
    before = found_in(Path())
    ledger = fresh / "ledger.sqlite"
    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        command = [sys.executable, "-m", "tacit.cli", *RELEASE]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            while not _has_open(running.pid, ledger):
                assert running.poll() is None
                time.sleep(0.02)
            running.send_signal(signal.SIGINT)
            other.execute("ROLLBACK")
            _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.splitlines() == [
        "tacit: interrupted: nothing is ever spent twice, so the same command may be run again"
    ]
    assert found_in(Path()) == before
    done(*RELEASE)


def test_during_delivery_the_same_command_finishes(fresh: Path) -> None:
    def interrupt(steps: int, total: int) -> None:
        raise KeyboardInterrupt

    with Study.open(fresh) as study, pytest.raises(KeyboardInterrupt):
        study.release("lab-a", "income", out="a.csv", progress=interrupt)
    standing = done("status", fresh, "--json").json
    assert (standing["releases"], standing["undelivered"]) == (1, [4])
    assert names_in(Path()) == ["clinic"]
    assert names_in(fresh / "states") == []
    done(*RELEASE)
    after = done("status", fresh, "--json").json
    assert (after["releases"], after["undelivered"]) == (1, [])
    assert after["parties"] == standing["parties"]
