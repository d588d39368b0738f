"""The page on commands is true: every command and option is on it, and its examples run."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tacit.cli import failure
from tests.cli.clinic import tacit
from tests.cli.tree import arguments, commands, options

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
TEXT = PAGE.read_text(encoding="utf-8")

DRAWN = ("audit", "estimate", "crosstab")
"""What they print depends on the key or on a simulation: their figures are not compared."""


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


def test_a_missing_option_would_be_found() -> None:
    assert undocumented(("release",), TEXT.replace("--max-error", "--error")) == ["--max-error"]
    assert "--json" in undocumented(("demo",), TEXT.replace("## tacit demo", "## a demo"))


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


def test_examples_run_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    exec(compile(code, "docs/cli.md", "exec"), {})
    checker = doctest.OutputChecker()
    for command, shown in examples():
        answer = tacit(*shlex.split(command)[1:])
        said = answer.out + answer.err
        if command.split()[1] in DRAWN:
            said, shown = (re.sub(r"[\d.]+", "0", text) for text in (said, shown))
        said = with_last_digits_of(shown, said)
        is_same = checker.check_output(shown, said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert is_same, f"$ {command}\n{said}"


def with_last_digits_of(shown: str, said: str) -> str:
    """Decimals of three digits or more that are one off in the last, as they are shown.

    Releases are optima up to 1e-7, and among optima the most frugal up to 1e-3 bit: which one is
    found depends on the machine's BLAS and compiler in the last digits.
    """
    decimals = set(re.findall(r"\d+\.\d{3,}", shown))

    def nearest(found: re.Match[str]) -> str:
        unit = 10.0 ** -len(found[0].split(".")[1])
        near = [
            text
            for text in decimals
            if len(text.split(".")[1]) == len(found[0].split(".")[1])
            and abs(float(text) - float(found[0])) < 1.5 * unit
        ]
        return found[0] if found[0] in near or not near else near[0]

    return re.sub(r"\d+\.\d{3,}", nearest, said)


def test_only_the_last_digit_may_differ() -> None:
    assert with_last_digits_of("held 0.3745 of 0.5", "held 0.3746 of 0.5") == "held 0.3745 of 0.5"
    assert with_last_digits_of("held 0.3745 of 0.5", "held 0.3747 of 0.4") == "held 0.3747 of 0.4"


def examples() -> list[tuple[str, str]]:
    """Every command of the page and what it is to print; a demo's own commands are output."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE):
        if block.startswith("$ tacit demo"):
            command, _, shown = block.partition("\n")
            found.append((command.removeprefix("$ "), shown))
            continue
        parts = re.split(r"^\$ (.+)\n", block, flags=re.MULTILINE)[1:]
        found += zip(parts[::2], parts[1::2], strict=True)
    return found
