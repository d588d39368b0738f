"""The command line as a whole: help at once, JSON everywhere, errors in one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pytest
import typer

from tacit import cli
from tacit.cli import failure
from tacit.cli.app import COMMANDS, GROUPS
from tacit.cli.display import show_done
from tacit.cli.options import AsJson
from tacit.errors import InvalidInputError
from tests.cli.clinic import PRIVATE, done, refused, tacit, unchanged
from tests.cli.tree import commands
from tests.pages import page

JSON_SECTION = page("cli").read_text(encoding="utf-8").partition("\n## JSON\n")[2]


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
    for name in ("init", "limit", "party", "quote", "release", "status", "audit", "receipt"):
        assert f"\n  {name} " in finished.stdout


def test_help_is_shown_without_any_words() -> None:
    assert done().out == done("--help").out == done("-h").out
    assert done("party", "token", "-h").out == done("party", "token", "--help").out


def test_the_version_is_that_of_the_package() -> None:
    assert done("--version").out == f"tacit {version('tacit')}\n"


def test_a_shell_completes_commands() -> None:
    """As bash asks for it, after ``tacit rel``."""
    asked = {"_TACIT_COMPLETE": "complete_bash", "COMP_WORDS": "tacit rel", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['tacit']; from tacit.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked
    )
    assert ended.stdout.split() == ["release"]


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
    assert answer.code == failure.USAGE
    assert answer.json["error"]["kind"] == "UsageError"
    assert len(answer.err.splitlines()) == 1
    assert answer.err.endswith(f"see tacit {' '.join(path)} --help\n")


def test_results_of_every_command_are_json(
    tmp_path: Path, patients: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but demo, reproduce and serve, which have tests of their own."""
    monkeypatch.chdir(tmp_path)
    [known, *_] = Path(patients).read_text().splitlines()[1:]
    heading, *rows = Path(patients).read_text().splitlines()
    Path("new.csv").write_text("\n".join([heading, *(f"new-{row}" for row in rows)]))
    Path("leavers.csv").write_text(f"patient_id\n{known.partition(',')[0]}\n")
    keys = {
        (
            *("measure", patients, "--id", "patient_id", "--secret", "income", "--no-learner"),
            *("--held", f"lab={patients}"),
        ): "coalitions",
        ("init", "c", "--table", patients, "--id", "patient_id", *PRIVATE): "small_cells",
        ("limit", "c", "lab", "--bits", "0.3"): "means",
        ("party", "token", "c", "lab"): "token",
        ("custodian", "token", "c", "anna"): "token",
        ("limit", "c", "any 2", "--bits", "0.4"): "whom",
        ("plan", "c", "age", "--correct", "70", "--parties", "2"): "curves",
        ("quote", "c", "lab", "age", "--bits", "0.1"): "curve",
        ("what-if", "c", "lab", "age", "--limit", "0.2"): "values",
        ("release", "c", "lab", "age", "--bits", "0.1", "--out", "a.csv"): "holdings",
        ("status", "c"): "parties",
        ("limit", "c"): "limits",
        ("log", "c"): "entries",
        ("report", "c", "--html", "report.html"): "releases",
        ("audit", "c", "--records", "500"): "findings",
        ("receipt", "c", "4", "--html", "r.html"): "everyone_bits",
        ("receipt", "c", "1"): "kind",
        ("verify", "c"): "is_whole",
        ("estimate", "a.csv"): "levels",
        ("crosstab", "a.csv"): "cells",
        ("link", "c", "lab", patients, "--out", "links.csv"): "linked",
        ("party", "approval", "c", "lab", "on"): "needs_approval",
        ("backup", "c", "monday.tar"): "has_key",
        ("restore", "monday.tar", "c"): "files",
        ("erase", "c", "--ids", "leavers.csv", "--yes"): "left",
        ("extend", "c", "--table", "new.csv"): "cohorts",
        ("close", "c", "--yes"): "is_closed",
        ("doctor",): "checks",
    }
    for words, key in keys.items():
        answer = done(*words, "--json")
        assert key in answer.json, words
        if words[:2] not in (("receipt", "c"), ("limit", "c")):
            assert set(answer.json) == documented_keys(words)
        # What takes long says what it does, and on a busy machine anything may.
        assert [line for line in answer.err.splitlines() if not line.endswith(" ...")] == []
        assert answer.out.isascii()  # whatever the terminal's encoding
    told = {words[: 2 if words[0] in GROUPS else 1] for words in keys}
    assert told | {("demo",), ("docs",), ("reproduce",), ("serve",)} == set(commands())


def documented_keys(words: tuple[str, ...]) -> set[str]:
    """The keys that the page on commands lists for a command."""
    name = " ".join(words[: 2 if words[0] in GROUPS else 1])
    [row] = re.findall(rf"^\| .*`{name}`.* \| (.+) \|$", JSON_SECTION, re.MULTILINE)
    row = row.partition("; for an entry")[0].partition("; with `--revoke`")[0]
    keys = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row)))
    if "as `status`" in row:
        keys = keys - {"status"} | documented_keys(("status",))
    return keys


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


def test_a_folder_that_is_no_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    for words in (
        ["status"],
        ["limit"],
        ["log"],
        ["report"],
        ["audit"],
        ["verify"],
        ["receipt", "1"],
        ["close", "--yes"],
        ["quote", "lab-a", "age"],
        ["what-if", "lab-a", "age"],
        ["release", "lab-a", "age", "--out", "a.csv"],
        ["limit", "lab-a", "--bits", "1"],
        ["party", "approval", "lab-a", "on"],
        ["party", "token", "lab-a"],
        ["custodian", "token", "anna"],
        ["serve", "--port", "0"],
    ):
        command, *rest = words
        place = 2 if command in GROUPS else 1
        arguments = [*words[:place], "notes", *words[place:]]
        said = unchanged(4, *arguments)
        assert said == "notes is no study: make one with tacit init notes --table ...", rest


def test_command_lines_that_are_wrong(fresh: Path) -> None:
    assert "'releas'" in unchanged(2, "releas", fresh)
    assert "--bit" in unchanged(2, "quote", fresh, "lab-a", "age", "--bit", "1")
    assert "Missing argument 'PARTY'" in unchanged(2, "quote", fresh)
    assert "Missing option '--out'" in unchanged(2, "release", fresh, "lab-a", "age")
    assert tacit("party").err == "tacit: Missing command: see tacit party --help\n"


# -- a command from outside ---------------------------------------------------------------------


def greet(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom to greet.")],
    as_json: AsJson = False,
) -> None:
    """Greet somebody."""
    if not name.isalpha():
        raise InvalidInputError(f"name {name!r}: give letters only")
    show_done({"name": name}, f"hello {name}", as_json=as_json)


@pytest.mark.parametrize("words", ["greet", "party greet"])
def test_a_command_is_one_function_and_its_line_in_the_table(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setitem(COMMANDS, words, greet)
    typed = words.split()
    assert "Greet somebody." in done(*typed[:-1], "--help").out
    assert done(*typed, "ann").out == "hello ann\n"
    assert done(*typed, "ann", "--json").json == {"name": "ann", "remarks": []}
    assert refused(4, *typed, "x1") == "name 'x1': give letters only"
    assert refused(2, *typed).endswith(f"see tacit {words} --help")
