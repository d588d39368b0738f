"""Ctrl-C at any time: one line, exit code 130, and nothing is spent twice."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tacit.study import Study
from tests.cli.clinic import done, found_in, names_in

RELEASE = ["release", "clinic", "lab-a", "income", "--out", "a.csv"]

_TELLING_WHEN_IT_WAITS = """
import sys
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
