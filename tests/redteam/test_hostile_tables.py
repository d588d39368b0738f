"""Hostile tables and requests: each works or is refused in one line, and nothing escapes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tacit.errors import TacitError
from tacit.remark import Remark
from tacit.study import Study, verify_study
from tacit.tables.questions.cells import Cells
from tacit.words.remarks import remark_in_words
from tests.cli.clinic import found_in, tacit
from tests.redteam.hostile import LONGEST, SECONDS, SECRET, TABLES, expressions, try_expression
from tests.redteam.replay import replay
from tests.redteam.studies import make_hospital, make_study, own_ledger_words, write_table


@pytest.mark.parametrize("name", TABLES)
def test_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content, private = TABLES[name]
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_bytes(content)
    start, seen = time.process_time(), found_in(tmp_path)
    words = ["init", "study", "--table", "t.csv", "--id", "id", "--private", private]
    answer = tacit(*words, *own_ledger_words())
    assert time.process_time() - start < SECONDS
    if answer.code == 0:
        assert_usable(Path("study"), tmp_path)
        return
    assert_one_line(answer.err)
    assert found_in(tmp_path) == seen


def assert_usable(folder: Path, place: Path) -> None:
    """A study that could be made can be used, to the end."""
    with Study.open(folder) as study:
        study.set_limit("lab", 0.2)
        asked, out = [study.attributes[0].name], place / "out.csv"
        try:
            study.release(
                "lab", asked, bits=0.1, out=out, notify=assert_one_note, accept=["disclosure"]
            )
        except TacitError as error:
            assert_one_line(f"tacit: {error}\n")
    assert verify_study(folder).problems == ()
    assert replay(folder).faults == []


def assert_one_note(remark: Remark) -> None:
    """All that a custodian is told beside the receipt: a table has labels like formulas."""
    said = remark_in_words(remark)
    assert "\n" not in said
    assert "an apostrophe stands before labels" in said


def assert_one_line(said: str) -> None:
    assert said.startswith("tacit: ")
    assert said.endswith("\n")
    assert said.removesuffix("\n").isprintable(), said
    assert len(said) < LONGEST


def test_the_helper_notices_an_unclean_line() -> None:
    for said in ("Traceback", "tacit: a\nb\n", "tacit: \x1b[31m\n", "tacit: " + "x" * 5000 + "\n"):
        with pytest.raises(AssertionError):
            assert_one_line(said)


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Of a study with a secret beside it."""
    monkeypatch.setenv("REDTEAM", SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    rows = [(f"r{n}", ("red", "blue", "green")[n % 3], n % 5) for n in range(60)]
    table = write_table(tmp_path / "t.csv", ("id", "colour", "size"), rows)
    with make_study(tmp_path / "study", table, id="id", private=["colour"]) as study:
        return Cells(study.attributes)


@pytest.mark.slow
def test_expressions(tmp_path: Path, cells: Cells) -> None:
    """Every third; ``python -m tests.redteam`` tries all."""
    seen = found_in(tmp_path)
    every = list(expressions(tmp_path / "secret.txt"))
    tried = every[::3]
    worked = [sql for sql in tried if try_expression(cells, sql)]
    assert found_in(tmp_path) == seen
    assert len(every) > 450
    assert len(tried) / 50 < len(worked) < len(tried) / 4


def test_expressions_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are typed: one line, nothing spent, nothing written."""
    monkeypatch.setenv("REDTEAM", SECRET)
    make_hospital(tmp_path).__exit__(None, None, None)
    monkeypatch.chdir(tmp_path)
    tacit("limit", "clinic", "lab", "--bits", "0.1")
    seen = found_in(tmp_path)
    for sql in list(expressions(tmp_path / "secret.txt"))[::25]:
        answer = tacit("quote", "clinic", "lab", f"--sql={sql}")
        if answer.code:
            assert_one_line(answer.err)
        assert SECRET not in answer.out + answer.err
        assert found_in(tmp_path) == seen
