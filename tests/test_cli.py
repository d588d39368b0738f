"""The command line: what it says, what it writes, how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import cli
from tacit.errors import TacitError
from tacit.paper import __main__ as alias
from tacit.paper import reproduce as everything
from tacit.paper.claim import Claim
from tacit.paper.tables import draw_table1, draw_table2

CLAIMS = (
    Claim("II", "the first", True, "evidence 1"),
    Claim("II", "the second", False, "evidence 2"),
    Claim("VII-C", "the third", True, "evidence 3"),
)


def tacit(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def cheap_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are tested elsewhere: here only the tables are made, and claims are given."""
    parts = {"Table I": draw_table1, "Table II": draw_table2}
    monkeypatch.setattr(everything, "PARTS", parts)
    monkeypatch.setattr(everything, "check_claims", lambda: CLAIMS)


def test_help_names_the_command() -> None:
    finished = tacit("--help")
    assert finished.returncode == 0
    assert "reproduce" in finished.stdout
    assert "--json" in tacit("reproduce", "--help").stdout


def test_a_missing_folder_is_an_error_of_usage() -> None:
    finished = tacit("reproduce")
    assert finished.returncode == 2
    assert "--out" in finished.stderr


def test_a_file_in_the_way_is_one_line_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    finished = tacit("reproduce", "--out", str(tmp_path / "taken"))
    assert finished.returncode == 1
    assert finished.stderr.startswith("tacit: cannot write into")
    assert len(finished.stderr.splitlines()) == 1


@pytest.mark.usefixtures("cheap_parts")
def test_reproduce_reports_every_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.app(["reproduce", "--out", str(tmp_path / "paper")], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/3] Table I: table1.png, table1.html (")
    assert lines[2].startswith("[3/3] claims: report.md, report.json (")
    assert lines[4] == "does not hold  II: the second"
    assert lines[-1].startswith("2 claims hold, 1 do not: ")
    report = (tmp_path / "paper" / "report.md").read_text(encoding="utf-8")
    assert "- **does not hold**: the second. evidence 2." in report
    assert report.count("## Section II\n") == 1
    assert "![Table II](table2.png)" in report
    for name in ("table1.html", "table2.html"):
        page = (tmp_path / "paper" / name).read_text(encoding="utf-8")
        assert "<td>" in page
        assert "http" not in page
    for name in ("table1.png", "table2.png"):
        assert (tmp_path / "paper" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("cheap_parts")
def test_reproduce_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.app(["reproduce", "--out", str(tmp_path), "--json"], standalone_mode=False)
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report == json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [claim["holds"] for claim in report["claims"]] == [True, False, True]
    assert report["claims_that_hold"] == 2
    assert report["files"]["Table I"] == ["table1.png", "table1.html"]
    assert captured.err.startswith("[1/3] Table I")


@pytest.mark.usefixtures("cheap_parts")
def test_reproduce_on_a_terminal_prints_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    cli.app(["reproduce", "--out", str(tmp_path)], standalone_mode=False)
    assert "│" in capsys.readouterr().out


def test_what_tacit_refuses_is_said_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(out: Path) -> list[Path]:
        raise TacitError(f"nothing to draw with in {out.name}")

    monkeypatch.setitem(everything.PARTS, "Table I", refuse)
    monkeypatch.setattr(sys, "argv", ["tacit", "reproduce", "--out", str(tmp_path / "paper")])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "tacit: nothing to draw with in paper\n"
    with pytest.raises(SystemExit, match="1"):
        alias.main(["--out", str(tmp_path / "paper")])
    assert "nothing to draw with" in capsys.readouterr().err


@pytest.mark.usefixtures("cheap_parts")
def test_the_alias_makes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert alias.main(["--out", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert (tmp_path / "report.json").exists()


def test_every_command_is_documented() -> None:
    docs = Path(__file__).parent.parent / "docs"
    text = "\n".join(page.read_text(encoding="utf-8") for page in docs.glob("*.md"))
    for command in cli.app.registered_commands:
        assert command.callback is not None
        assert f"tacit {command.callback.__name__}" in text
