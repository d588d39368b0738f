"""``tacit doctor``: what works, what is absent and what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.solvers import kernel
from tests.cli.clinic import Answer, done, tacit


def checks_of(answer: Answer) -> dict[str, dict[str, str]]:
    assert answer.json["is_whole"] == (answer.code == 0)
    return {check["part"]: check for check in answer.json["checks"]}


def test_all_that_the_tests_need_is_whole() -> None:
    checks = checks_of(done("doctor", "--json"))
    extras = ("cli", "excel", "plots", "postgresql", "service", "study")
    whole = ("tacit", "kernel", *(f"tacit[{each}]" for each in extras))
    assert {checks[part]["state"] for part in whole} == {"ok"}
    assert checks["kernel"]["found"].startswith("solves a small problem")
    assert done("doctor").out.endswith("everything that is installed works\n")


def test_an_extra_that_is_not_installed_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.cli.doctor.PACKAGES", {"study": ("no_such_package",)})
    answer = done("doctor")
    assert "not installed: no_such_package: pip install 'tacit[study]'" in answer.out


def test_a_kernel_that_was_not_built_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no slower solver to fall back on."""
    kernel._kernel.cache_clear()
    monkeypatch.setattr(kernel, "_LIBRARY", tmp_path / "tacit_kernel.so")
    answer = tacit("doctor", "--json")
    monkeypatch.undo()
    found = checks_of(answer)["kernel"]
    assert (answer.code, found["state"]) == (1, "broken")
    assert "tacit_kernel.so cannot be loaded" in found["found"]
    assert "install tacit again" in found["found"]


@pytest.mark.parametrize(
    ("told", "state"),
    [('openjdk version "17.0.9"', "ok"), ('openjdk version "1.8.0_292"', "broken"), ("", "broken")],
)
def test_spark_needs_a_java_that_is_new_enough(
    told: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in (tmp_path / "pyspark" / "__init__.py", tmp_path / "bin" / "java"):
        package.parent.mkdir()
        package.write_text(f"#!/bin/sh\necho '{told}' >&2\n" if package.name == "java" else "")
        package.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checks_of(tacit("doctor", "--json"))["Java"]["state"] == state
    (tmp_path / "bin" / "java").unlink()
    assert f"it is not found in {tmp_path}/bin" in tacit("doctor").out
