"""``tacit doctor``: what works, what is absent and what is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacit.solvers import kernel
from tests.cli.clinic import done, tacit

_WITHOUT = """
import json, sys
for name in json.loads(sys.argv.pop(1)):
    sys.modules[name] = None  # importing it fails, as if it were not installed
from tacit.cli import main
main()
"""


def examined(
    *words: str, without: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """The doctor in a process of its own."""
    command = [sys.executable, "-c", _WITHOUT, json.dumps(without), "doctor", *words]
    environment = os.environ | variables
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment
    )


def states(ended: subprocess.CompletedProcess[str]) -> dict[str, str]:
    found = json.loads(ended.stdout)
    assert found["is_whole"] == (ended.returncode == 0)
    return {check["part"]: check["state"] for check in found["checks"]}


def package(folder: Path, name: str, text: str = "") -> str:
    """A folder to put before others, with a package of this content."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    return os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))


def test_all_that_the_tests_need_is_whole() -> None:
    checks = {check["part"]: check for check in done("doctor", "--json").json["checks"]}
    extras = ("cli", "excel", "plots", "postgresql", "study")
    whole = ("tacit", "kernel", "BLAS", "DuckDB", "ledger", *(f"tacit[{each}]" for each in extras))
    assert {checks[part]["state"] for part in whole} == {"ok"}
    assert checks["kernel"]["found"].startswith("solves a small problem")
    said = done("doctor").out
    assert said.endswith("everything that is installed works\n")


def test_an_extra_that_is_not_installed_is_no_fault() -> None:
    ended = examined("--json", without=["duckdb", "psycopg"])
    found = states(ended)
    assert ended.returncode == 0
    assert (found["tacit[study]"], found["tacit[postgresql]"]) == ("absent", "absent")
    assert "DuckDB" not in found
    said = examined(without=["duckdb"]).stdout
    assert "not installed: duckdb: pip install 'tacit[study]'" in said


def test_a_package_that_cannot_be_imported_is_a_fault(tmp_path: Path) -> None:
    text = "raise ImportError('libpq.so.5 is not there')"
    ended = examined(PYTHONPATH=package(tmp_path, "psycopg", text))
    assert ended.returncode == 1
    assert "psycopg cannot be imported (libpq.so.5 is not there)" in ended.stdout
    assert ended.stdout.endswith("broken: 1\n")


def test_a_kernel_that_was_not_built_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no slower solver to fall back on."""
    kernel._kernel.cache_clear()
    monkeypatch.setattr(kernel, "_LIBRARY", tmp_path / "tacit_kernel.so")
    answer = tacit("doctor", "--json")
    monkeypatch.undo()
    found = {check["part"]: check for check in answer.json["checks"]}
    assert (answer.code, found["kernel"]["state"]) == (1, "broken")
    assert "tacit_kernel.so cannot be loaded" in found["kernel"]["found"]
    assert answer.out.count("install tacit again") == 1


def test_a_ledger_that_cannot_be_opened_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_LEDGER", "postgresql://me:s3cret@127.0.0.1:1/x")
    answer = tacit("doctor", "--json")
    assert answer.code == 1
    [ledger] = [check for check in answer.json["checks"] if check["part"] == "ledger"]
    assert ledger["state"] == "broken"
    assert "TACIT_LEDGER" in ledger["remedy"]
    assert "s3cret" not in answer.out


def test_programs_are_looked_for_where_a_package_wants_them(tmp_path: Path) -> None:
    places = tmp_path / "bin"
    places.mkdir()
    alone = {"PATH": str(places), "JAVA_HOME": ""}
    found = states(examined("--json", without=["pyspark", "playwright"], **alone))
    assert (found["Java"], found["Chromium"]) == ("absent", "absent")
    package(tmp_path, "pyspark")
    wanted = alone | {"PYTHONPATH": package(tmp_path, "playwright")}
    ended = examined("--json", **wanted)
    found = states(ended)
    assert (found["Java"], found["Chromium"], ended.returncode) == ("broken", "broken", 1)
    for name, text in {"java": "echo version 17 >&2", "chromium": "exit 3"}.items():
        (places / name).write_text(f"#!/bin/sh\n{text}\n")
        (places / name).chmod(0o755)
    ended = examined("--json", **wanted)
    found = states(ended)
    assert (found["Java"], found["Chromium"]) == ("ok", "broken")
    assert f"{places / 'java'}, version 17" in ended.stdout
    assert "chromium ends with exit code 3" in ended.stdout
