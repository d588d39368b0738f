"""The command line as a whole: help at once, JSON everywhere, one line for whatever goes wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import cli
from tacit.cli import failing
from tacit.errors import (
    CorruptLedgerError,
    DeliveryError,
    HeadMovedError,
    InfeasibleError,
    InvalidInputError,
    KeyFileError,
    LedgerError,
    TacitError,
    UnconvergedError,
)
from tests.cli.clinic import PRIVATE, done, tacit
from tests.cli.tree import commands, options

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
JSON_SECTION = PAGE.read_text(encoding="utf-8").partition("\n## JSON\n")[2]

HEAVY = ("numpy", "scipy", "duckdb", "pyarrow", "sqlalchemy", "pydantic", "rich", "jinja2")


def test_help_loads_nothing_that_takes_time() -> None:
    code = (
        "import sys\nfrom tacit.cli import run\nrun(['--help'])\n"
        f"print(sorted({set(HEAVY)} & set(sys.modules)), file=sys.stderr)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stderr == "[]\n"
    for name in ("init", "party", "collusion", "quote", "release", "status", "audit", "receipt"):
        assert f"\n  {name} " in finished.stdout


def test_help_is_shown_without_any_words() -> None:
    assert done().out == done("--help").out


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_and_option_says_what_it_is(path: tuple[str, ...]) -> None:
    shown = done(*path, "--help").out
    assert "--json" in shown
    command = commands()[path]
    assert command.help
    for param in command.params:
        assert getattr(param, "help", None), f"{path} {param.name} has no help"


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_errors_of_every_command_are_json_too(path: tuple[str, ...]) -> None:
    """No command works without anything, or with an option that it does not have."""
    answer = tacit(*path, "--no-such-option", "--json")
    assert answer.code == failing.USAGE
    assert answer.json["error"]["kind"] == "UsageError"
    assert len(answer.err.splitlines()) == 1
    assert answer.err.endswith(f"see tacit {' '.join(path)} --help\n")


def test_results_of_every_command_are_json(
    tmp_path: Path, patients: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but demo and reproduce, which have tests of their own."""
    monkeypatch.chdir(tmp_path)
    keys = {
        ("init", "c", "--table", patients, "--id", "patient_id", *PRIVATE): "small_cells",
        ("party", "add", "c", "lab", "--limit", "0.3"): "limit",
        ("collusion", "set", "c", "--any", "2=0.4"): "sizes",
        ("quote", "c", "lab", "age", "--bits", "0.1"): "curve",
        ("release", "c", "lab", "age", "--bits", "0.1", "--out", "a.csv"): "holdings",
        ("status", "c"): "parties",
        ("audit", "c", "--records", "500"): "findings",
        ("receipt", "c", "4", "--html", "r.html"): "everyone_bits",
        ("receipt", "c", "1"): "kind",
        ("verify", "c"): "is_whole",
        ("estimate", "a.csv"): "levels",
        ("backup", "c", "monday.tar"): "has_key",
        ("restore", "monday.tar", "c"): "files",
        ("close", "c", "--yes"): "is_closed",
    }
    for words, key in keys.items():
        answer = done(*words, "--json")
        assert key in answer.json, words
        if words[:2] != ("receipt", "c"):
            assert set(answer.json) == documented_keys(words)
        assert answer.err == ""
        assert answer.out.isascii()  # whatever the terminal's encoding
    told = {words[: 2 if words[0] in ("party", "collusion") else 1] for words in keys}
    assert told | {("demo",), ("reproduce",)} == set(commands())


def documented_keys(words: tuple[str, ...]) -> set[str]:
    """The keys that the page on commands lists for a command."""
    name = " ".join(words[: 2 if words[0] in ("party", "collusion") else 1])
    [row] = re.findall(rf"^\| .*`{name}`.* \| (.+) \|$", JSON_SECTION, re.MULTILINE)
    row = row.partition("; for an entry")[0]
    keys = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row)))
    if "as `status`" in row:
        keys = keys - {"status"} | documented_keys(("status",))
    return keys


def test_the_demo_for_machines(tmp_path: Path) -> None:
    story = done("demo", "--out", tmp_path, "--json").json
    codes = {step["command"].split()[1]: step["exit_code"] for step in story["steps"]}
    assert set(codes) == {path[0] for path in commands()} - {"demo", "reproduce"}
    [refusal] = [step for step in story["steps"] if step["exit_code"]]
    assert refusal["exit_code"] == failing.REFUSED
    assert refusal["result"]["error"]["fits"].startswith("tacit release ")
    again = tacit("demo", "--out", tmp_path, "--json")
    assert again.code == failing.INVALID
    assert "is there already and a study is made once" in again.json["error"]["message"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TacitError("x"), 1),
        (UnconvergedError("x"), 1),
        (InfeasibleError(("a",), 0.1, 0.2), 3),
        (InvalidInputError("x"), 4),
        (LedgerError("x"), 5),
        (HeadMovedError("x"), 5),
        (CorruptLedgerError("x"), 5),
        (DeliveryError("x"), 6),
        (OSError(28, "No space left on device", "a.csv"), 6),
        (KeyFileError("x"), 7),
    ],
)
def test_exit_codes(error: TacitError | OSError, code: int) -> None:
    assert failing.failure_of(error).exit_code == code


def test_a_refusal_is_one_line_and_nothing_on_stdout(fresh: Path) -> None:
    answer = tacit("quote", fresh, "lab-a", "diagnose")
    assert answer.code == failing.INVALID
    assert answer.out == ""
    assert answer.err.startswith("tacit: 'diagnose' is no private attribute of this study")
    assert answer.err.count("\n") == 1


def test_a_message_stays_on_one_line() -> None:
    failure = failing.failure_of(InvalidInputError("two\nlines, \x1b[31mred\x1b[0m, and née"))
    assert failure.message == "two\\nlines, \\x1b[31mred\\x1b[0m, and née"


def test_a_reader_that_goes_away_is_no_error(used: Path) -> None:
    """As in: tacit audit clinic | head -1."""
    command = [sys.executable, "-m", "tacit.cli", "receipt", str(used), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert running.returncode == 1


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tacit", "frobnicate"])
    with pytest.raises(SystemExit, match="2"):
        cli.main()


def test_options_are_found_by_walking() -> None:
    """The walk that other tests rely on sees what is there."""
    assert ("party", "add") in commands()
    assert options(("release",)) >= {"--out", "--sql", "--json", "--max-error"}
