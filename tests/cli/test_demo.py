"""``tacit demo``: every command once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli import failure
from tests.cli.clinic import done, tacit
from tests.cli.terminal import COLUMNS, on_terminal
from tests.cli.tree import commands


@pytest.mark.slow
def test_the_demo_for_machines(tmp_path: Path) -> None:
    story = done("demo", "--out", tmp_path, "--json").json
    codes = {step["command"].split()[1]: step["exit_code"] for step in story["steps"]}
    exempt = {"demo", "docs", "doctor", "reproduce", "serve"}
    assert set(codes) == {path[0] for path in commands()} - exempt
    [refusal] = [step for step in story["steps"] if step["exit_code"]]
    assert refusal["exit_code"] == failure.REFUSED
    assert refusal["result"]["error"]["fits"].startswith("tacit release ")
    again = tacit("demo", "--out", tmp_path, "--json")
    assert again.code == failure.INVALID
    assert "is there already and a study is made once" in again.json["error"]["message"]


@pytest.mark.slow
def test_the_whole_demo_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [shown] = on_terminal(["demo"])
    assert shown.code == 0
    assert sum(line.startswith("$ tacit ") for line in shown.lines) == 33
    assert any("; what fits: tacit release" in line for line in shown.lines)
    senior = "age > 60 and education = 'bachelor and above'"
    assert f'lab-b --sql "{senior}" --out' in shown.sent
    assert any("█" in line for line in shown.lines)
    # A terminal breaks commands and messages wherever they end; tables must not be broken.
    tables = [line for line in shown.lines if "█" in line or line.endswith("%")]
    assert max(map(len, tables)) <= COLUMNS
    assert (tmp_path / "tacit-demo" / "receipt.html").is_file()
