"""The command that makes the paper's tables, figures and claims."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tacit import cli
from tacit.errors import TacitError
from tacit.paper import __main__ as alias
from tacit.paper import reproduce as everything
from tacit.paper.claim import Claim
from tacit.paper.tables import draw_table1, draw_table2
from tests.cli.clinic import done, refused, tacit

CLAIMS = (
    Claim("II", "the first", True, "evidence 1"),
    Claim("II", "the second", False, "evidence 2"),
    Claim("VII-C", "the third", True, "evidence 3"),
)


@pytest.fixture
def _cheap_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are tested elsewhere: here only the tables are made, and claims are given."""
    parts = {"Table I": draw_table1, "Table II": draw_table2}
    monkeypatch.setattr(everything, "PARTS", parts)
    monkeypatch.setattr(everything, "check_claims", lambda: CLAIMS)


def test_a_missing_folder_is_an_error_of_usage() -> None:
    assert "Missing option '--out'" in refused(2, "reproduce")


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said = refused(6, "reproduce", "--out", tmp_path / "taken")
    assert said.startswith(f"cannot use {tmp_path / 'taken'} (File exists): check")


@pytest.mark.slow
@pytest.mark.usefixtures("_cheap_parts")
def test_reproduce_reports_every_claim(tmp_path: Path) -> None:
    answer = done("reproduce", "--out", tmp_path / "paper")
    progress = answer.err.splitlines()
    assert progress[0].startswith("[1/3] Table I: table1.png, table1.html (")
    assert progress[2].startswith("[3/3] claims: report.md, report.json (")
    lines = answer.out.splitlines()
    assert lines[2].split() == ["does", "not", "hold", "II", "the", "second"]
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


@pytest.mark.usefixtures("_cheap_parts")
def test_reproduce_for_machines(tmp_path: Path) -> None:
    answer = done("reproduce", "--out", tmp_path, "--json")
    report = answer.json
    assert report == json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [claim["holds"] for claim in report["claims"]] == [True, False, True]
    assert report["claims_that_hold"] == 2
    assert report["files"]["Table I"] == ["table1.png", "table1.html"]
    assert answer.err.startswith("[1/3] Table I")


@pytest.mark.usefixtures("_cheap_parts")
def test_reproduce_on_a_terminal_draws_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("TERM", "xterm")
    assert cli.run(["reproduce", "--out", str(tmp_path)]) == 0
    assert "\x1b[1m[TVC]" in shown.getvalue()


def test_what_tacit_refuses_is_said_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(out: Path) -> list[Path]:
        raise TacitError(f"nothing to draw with in {out.name}")

    monkeypatch.setitem(everything.PARTS, "Table I", refuse)
    answer = tacit("reproduce", "--out", tmp_path / "paper")
    assert answer.code == 1
    assert answer.err == "tacit: nothing to draw with in paper\n"
    with pytest.raises(SystemExit, match="1"):
        alias.main(["--out", str(tmp_path / "paper")])
    assert "nothing to draw with" in capsys.readouterr().err


@pytest.mark.usefixtures("_cheap_parts")
def test_the_alias_makes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert alias.main(["--out", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert (tmp_path / "report.json").exists()
