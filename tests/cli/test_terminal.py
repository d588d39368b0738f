"""What a person sees on a terminal of 80 columns, and what goes into a pipe instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, refused
from tests.cli.terminal import COLUMNS, on_terminal, process, seen


def test_status_draws_bars_that_fit(used: Path) -> None:
    long_name = "the laboratory of the university hospital in the north"
    done("party", "add", used, long_name, "--limit", 0.123456789)
    code, sent = on_terminal("status", used)
    lines = seen(sent)
    assert code == 0
    assert "\x1b[" in sent  # a real table, not the plain lines
    assert max(map(len, lines)) <= COLUMNS
    for number in ("0.2000", "0.1000", "0.3", "0.35", "0.123456789"):
        assert any(number in line for line in lines), (number, lines)  # no figure is cut
    assert any(line.startswith("lab-a ") and "█" in line and "░" in line for line in lines)
    assert "the laboratory" in " ".join(lines)


def test_a_quote_fits(used: Path) -> None:
    code, sent = on_terminal("quote", used, "lab-a", "income", "--bits", 0.05)
    lines = seen(sent)
    assert code == 0
    assert max(map(len, lines)) <= COLUMNS
    assert any("would learn 0.0500 bits" in line for line in lines)
    assert any("<- this" in line for line in lines)


def test_a_release_shows_its_progress_and_removes_it(used: Path) -> None:
    code, sent = on_terminal("release", used, "lab-a", "income", "--out", "a.csv")
    assert code == 0
    assert "writing a.csv" in sent
    assert seen(sent)[-1].strip() == "receipt: tacit receipt clinic 9"


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("\x03", 130)])
def test_close_asks(used: Path, typed: str, code: int) -> None:
    found, sent = on_terminal("close", used, typed=typed)
    assert found == code
    assert "Destroy the key of clinic? Nothing can ever be released or delivered again" in sent
    assert (used / "key").exists() == (code != 0)
    if code == 0:
        assert "clinic is closed after 2 releases; tacit verify still works" in sent
    else:
        said = "nothing was changed: it was not confirmed" if code == 1 else "interrupted: "
        assert seen(sent)[-1].startswith(f"tacit: {said}")


def test_close_without_anybody_to_ask(used: Path) -> None:
    said = refused(4, "close", used)
    assert said == "nobody is there to be asked whether this is meant: add --yes"
    assert (used / "key").exists()


def test_the_whole_demo_fits(tmp_path: Path) -> None:
    code, sent = on_terminal("demo", cwd=tmp_path)
    lines = seen(sent)
    assert code == 0
    assert sum(line.startswith("$ tacit ") for line in lines) == 17
    assert any("what fits: tacit release" in line for line in lines)
    assert any("█" in line for line in lines)
    # A terminal breaks commands and messages wherever they end; tables must not be broken.
    tables = [line for line in lines if "█" in line or line.endswith("%")]
    assert max(map(len, tables)) <= COLUMNS
    assert (tmp_path / "tacit-demo" / "receipt.html").is_file()


def test_nothing_but_plain_lines_goes_into_a_pipe(used: Path) -> None:
    finished = process("release", used, "lab-a", "income", "--out", "a.csv")
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert "\x1b" not in finished.stdout
    assert "\r" not in finished.stdout
