"""``tacit doctor``: what works, what is absent and what is broken."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

import tacit as tacit_package
from tacit.solvers import kernel
from tests.cli.clinic import Answer, done, tacit

_EXAMINE = """
import io, json, os, sys
from contextlib import redirect_stdout
from tacit.cli import run

answers = []
for step in json.loads(sys.argv[1]):
    os.environ.update(step["variables"])
    sys.path[:0] = step["before"]
    sys.modules.update(dict.fromkeys(step["without"]))  # importing them fails: not installed
    with redirect_stdout(io.StringIO()) as printed:
        code = run(["doctor", *step["words"]])
    answers.append([code, printed.getvalue()])
    for name in step["without"]:
        del sys.modules[name]
print(json.dumps(answers))
"""


@dataclass(frozen=True, slots=True)
class Step:
    """How the doctor is called.

    Attributes:
        words: after ``doctor``.
        without: packages that are not installed.
        before: folders to look for packages in, before the others; from this step on.
        variables: of the environment; from this step on.
    """

    words: Sequence[str] = ("--json",)
    without: Sequence[str] = ()
    before: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def examined(*steps: Step) -> list[Answer]:
    """The answers of the doctor in a process of its own, where it loads most packages once."""
    command = [sys.executable, "-c", _EXAMINE, json.dumps(list(map(asdict, steps)))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return [Answer(code, out, ended.stderr) for code, out in json.loads(ended.stdout)]


def states(answer: Answer) -> dict[str, str]:
    assert answer.json["is_whole"] == (answer.code == 0)
    return {check["part"]: check["state"] for check in answer.json["checks"]}


def package(folder: Path, name: str, text: str = "") -> str:
    """A folder to look in before others, with a package of this content."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    return str(folder)


def test_all_that_the_tests_need_is_whole() -> None:
    checks = {check["part"]: check for check in done("doctor", "--json").json["checks"]}
    extras = ("cli", "excel", "plots", "postgresql", "study")
    whole = ("tacit", "kernel", "BLAS", "ledger", *(f"tacit[{each}]" for each in extras))
    assert {checks[part]["state"] for part in whole} == {"ok"}
    assert checks["kernel"]["found"].startswith("solves a small problem")
    said = done("doctor").out
    assert said.endswith("everything that is installed works\n")


@pytest.mark.slow
def test_an_extra_that_is_not_installed_is_no_fault() -> None:
    without = ["duckdb", "psycopg"]
    answer, in_words = examined(Step(without=without), Step(words=(), without=without))
    found = states(answer)
    assert answer.code == in_words.code == 0
    assert (found["tacit[study]"], found["tacit[postgresql]"]) == ("absent", "absent")
    assert "not installed: duckdb: pip install 'tacit[study]'" in in_words.out


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_a_fault(tmp_path: Path) -> None:
    text = "raise ImportError('libpq.so.5 is not there')"
    [answer] = examined(Step(words=(), before=[package(tmp_path, "psycopg", text)]))
    assert answer.code == 1
    assert "psycopg cannot be imported (libpq.so.5 is not there)" in answer.out
    assert answer.out.endswith("broken: 1\n")


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


@pytest.mark.slow
def test_a_damaged_kernel_does_not_end_the_doctor(tmp_path: Path) -> None:
    """Loading a file that was cut off ends the process with a signal."""
    package = Path(tacit_package.__file__).parent
    copied = shutil.copytree(
        package, tmp_path / "tacit", ignore=shutil.ignore_patterns("site", "__pycache__")
    )
    os.truncate(copied / "solvers" / "kernel" / kernel._LIBRARY.name, 20_000)
    ended = subprocess.run(
        [sys.executable, "-m", "tacit.cli", "doctor"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1
    assert "tacit's compiled kernel is damaged: signal" in ended.stdout
    assert ended.stdout.endswith("broken: 1\n")


def test_a_ledger_that_cannot_be_opened_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_LEDGER", "postgresql://me:s3cret@127.0.0.1:1/x")
    answer = tacit("doctor", "--json")
    assert answer.code == 1
    [ledger] = [check for check in answer.json["checks"] if check["part"] == "ledger"]
    assert ledger["state"] == "broken"
    assert "TACIT_LEDGER" in ledger["remedy"]
    assert "s3cret" not in answer.out


@pytest.mark.slow
def test_programs_are_looked_for_where_a_package_wants_them(tmp_path: Path) -> None:
    nowhere, places = tmp_path / "empty", tmp_path / "bin"
    nowhere.mkdir()
    places.mkdir()
    for name, text in {"java": "echo version 17 >&2", "chromium": "exit 3"}.items():
        (places / name).write_text(f"#!/bin/sh\n{text}\n")
        (places / name).chmod(0o755)
    older = tmp_path / "old" / "bin" / "java"
    older.parent.mkdir(parents=True)
    older.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_292\"' >&2\n")
    older.chmod(0o755)
    alone = {"PATH": str(nowhere), "JAVA_HOME": ""}
    packages = [package(tmp_path, "pyspark"), package(tmp_path, "playwright")]
    unwanted, missing, there, elsewhere, old = examined(
        Step(without=["pyspark", "playwright"], variables=alone),
        Step(before=packages),
        Step(variables={"PATH": str(places)}),
        Step(variables={"JAVA_HOME": str(nowhere)}),
        Step(variables={"JAVA_HOME": str(tmp_path / "old")}),
    )
    found = states(unwanted)
    assert (found["Java"], found["Chromium"]) == ("absent", "absent")
    found = states(missing)
    assert (found["Java"], found["Chromium"], missing.code) == ("broken", "broken", 1)
    found = states(there)
    assert (found["Java"], found["Chromium"]) == ("ok", "broken")
    assert f"{places / 'java'}, version 17" in there.out
    assert "chromium ends with exit code 3" in there.out
    assert f"it is not found in {nowhere}/bin" in elsewhere.out  # as Spark would not, either
    assert (states(old)["Java"], "too old for Spark" in old.out) == ("broken", True)
