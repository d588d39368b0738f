"""The page on commands is true: every command and option is on it, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.cli import failure
from tests.cli.clinic import tacit
from tests.cli.examples import examples
from tests.cli.tree import arguments, commands, options
from tests.pages import page

TEXT = page("cli").read_text(encoding="utf-8")


def section(title: str, text: str = TEXT) -> str:
    """What stands below a heading; nothing if there is no such heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def undocumented(path: tuple[str, ...], text: str) -> list[str]:
    """What the table in a command's section does not name."""
    rows = re.findall(r"^\| (`.*?`) \|", section(f"tacit {' '.join(path)}", text), re.MULTILINE)
    inside = set(re.findall(r"[\w-]+", " ".join(rows)))
    return [word for word in (*options(path), *arguments(path)) if word not in inside]


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_is_documented_with_all_it_takes(path: tuple[str, ...]) -> None:
    assert undocumented(path, TEXT) == []
    assert "$ tacit " in section(f"tacit {' '.join(path)}")


def test_nothing_is_documented_that_is_not_there() -> None:
    of_all = {"--help", "--version", "--install-completion", "--show-completion"}
    assert all(name in tacit("--help").out for name in of_all)
    known = {name for path in commands() for name in options(path)} | of_all
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) <= known
    titles = re.findall(r"^## tacit (.+)$", TEXT, re.MULTILINE)
    assert sorted(titles) == sorted(" ".join(path) for path in commands())


def test_every_exit_code_is_documented() -> None:
    listed = set(map(int, re.findall(r"^\| (\d+) \|", section("Exit codes"), re.MULTILINE)))
    assert listed == {0, failure.INTERRUPTED, *failure.EXIT_CODES.values()}


@pytest.mark.slow
def test_examples_run_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    exec(compile(code, "docs/reference/cli.md", "exec"), {})
    shown = examples(TEXT)
    assert len(shown) > len(commands()) / 2
    for example in shown:
        example.assert_runs_as_shown()
