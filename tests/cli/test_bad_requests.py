"""Requests, limits and places that cannot be: one line with the fix, and nothing is spent."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, tacit, write_patients


def unchanged(code: int, *arguments: object) -> str:
    """What a refused command says; no file appears or changes, the ledger's included."""
    before = found_in(Path())
    message = refused(code, *arguments)
    assert found_in(Path()) == before
    return message


# -- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["-0.3", "0", "nan", "inf"])
def test_a_party_with_a_limit_that_is_none(fresh: Path, limit: str) -> None:
    said = unchanged(4, "party", "add", fresh, "lab-c", "--limit", limit)
    assert said.endswith(f"the limit of lab-c is {limit}: give a number of bits above 0")


@pytest.mark.parametrize("limit", ["abc", ""])
def test_a_limit_that_is_no_number(fresh: Path, limit: str) -> None:
    said = unchanged(2, "party", "add", fresh, "lab-c", "--limit", limit)
    assert "'--limit'" in said
    assert said.endswith("see tacit party add --help")


def test_a_limit_above_all_there_is_to_learn_is_said(fresh: Path) -> None:
    said = done("party", "add", fresh, "lab-c", "--limit", 8).out.splitlines()
    assert said[0] == "lab-c may learn 8 bits about a record"
    assert "note: the limit of lab-c, 8 bits, protects nothing: a record has only" in said[1]
    assert said[2] == (
        "note: the limit on everyone, 0.9 bits, is below the own limit of lab-c and holds for "
        "lab-c, too"
    )
    said = done("collusion", "set", fresh, "--any", "2=7", "--json").json["remarks"]
    assert any("the limit on any 2 parties, 7 bits, protects nothing" in remark for remark in said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--everyone", "-1"], "everyone is -1.0"),
        (["--everyone", "0"], "the limit on everyone is 0"),
        (["--everyone", "nan"], "everyone is nan"),
        (["--everyone", "inf"], "the limit on everyone is inf"),
        (["--group", "lab-a,-x=0.5"], "party '-x': give a name without commas"),
        (["--everyone", "abc"], "--everyone abc: give a number of bits, or none for no limit"),
        (["--any", "0.5"], "--any 0.5: give N=BITS, as in --any 2=0.5, N=none, or none"),
        (["--any", "0=0.5"], "--any 0=0.5: give a number of parties, 1 or more"),
        (["--any", "²=0.5"], "--any ²=0.5: give N=BITS"),
        (["--any", "2=0.5", "--any", "2=0.4"], "--any names the same parties twice"),
        (["--group", "lab-a,lab-b=1", "--group", "lab-b,lab-a=2"], "--group names the same"),
        (["--any", "2=nan"], "the limit on any 2 parties is nan"),
        (["--group", "lab-a=0.5"], "--group lab-a=0.5: name two parties or more"),
        (["--group", "lab-a,lab-a=0.5"], "name two parties or more"),
        (["--group", "lab-a,lab-b"], "name two parties or more"),
        (["--group", "lab-a,lab-b=x"], "--group lab-a,lab-b=x: give a number of bits"),
        (["--group", "lab-a,lab-b=0"], "the limit on lab-a + lab-b is 0"),
    ],
)
def test_limits_on_coalitions(fresh: Path, options: list[str], said: str) -> None:
    assert said in unchanged(4, "collusion", "set", fresh, *options)


def test_a_limit_below_what_is_held(used: Path) -> None:
    said = unchanged(3, "party", "add", used, "lab-a", "--limit", 0.1)
    enough = said.rpartition(" ")[2]
    assert said.startswith("a limit of 0.1 bits on lab-a is below what it holds already: give at")
    for option, limit, below in (
        ("--everyone", "0.1", "everyone is below what lab-a + lab-b together hold already"),
        ("--any", "1=0.1", "any single party is below what lab-a holds already"),
    ):
        said = unchanged(3, "collusion", "set", used, option, limit)
        assert said.startswith(f"a limit of 0.1 bits on {below}: give at least 0.")
    done("party", "add", used, "lab-a", "--limit", enough)


@pytest.mark.parametrize("name", ["", " a", "a,b", "a+b", "everyone", "--json", "a\nb", "\x1b[31m"])
def test_names_of_parties(fresh: Path, name: str) -> None:
    answer = tacit("party", "add", fresh, "--limit", "0.1", "--", name)
    assert answer.code == 4
    assert answer.err.startswith("tacit: party ")
    assert "give a name without commas" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert "\x1b" not in answer.err


# -- requests -----------------------------------------------------------------------------------


def test_an_unknown_party_and_the_command_that_lets_it_in(fresh: Path) -> None:
    said = unchanged(4, "release", fresh, "lab-c", "age", "--out", "c.csv")
    assert said.startswith("party 'lab-c' is unknown (parties: 'lab-a', 'lab-b'): let it in with")
    pasted = said.partition("let it in with tacit ")[2].replace("BITS", "0.1")
    done(*shlex.split(pasted))
    done("release", fresh, "lab-c", "age", "--out", "c.csv")


@pytest.mark.parametrize(
    ("request_words", "said"),
    [
        (["diagnose"], "'diagnose' is no private attribute of this study: it has 'diagnosis'"),
        (["age,diagnose"], "'diagnose' is no private attribute"),
        (["age,age"], "name one, or several different ones"),
        ([], "neither attributes nor an SQL expression is asked for: give one of the two"),
        (["age", "--sql", "age > 60"], "both attributes and an SQL expression are asked for"),
        (["--sql", "age >= 65"], "the nearest that can be asked is age > 60"),
        (["--sql", "patient_id = 'P00001'"], "'patient_id' is no private attribute"),
        (["--sql", "age > 30 or age <= 30"], "is the same"),
        (["--sql", "1 = 1"], "is the same"),
        (["--sql", "age > 60; drop table x"], "SQL"),
        (["--sql", "(select 1)"], "a query inside"),
        (["--sql", "age > 60) from levels_0 --"], "SQL"),
        (["--sql", "read_text('/etc/passwd') = ''"], "uses 'read_text', which is none of"),
        (["--sql", "exists (from read_csv('/etc/passwd'))"], "a query inside"),
        (["--sql", "getenv('HOME') = ''"], "uses 'getenv', which is none of"),
        (["--sql", "attach '/tmp/other.db'"], "a request is one plain expression"),
        (["--sql", "age >"], "SQL"),
        (["--sql", ""], "SQL"),
        (["diagnosis", "--utility", "absolute"], "'dementia', 'diabetes', 'flu', 'none' have no"),
        (["diagnosis", "--utility", "best"], "utility 'best' is neither one of hamming"),
        (["diagnosis", "--bits", "-1"], "bits is -1: give a number of bits above 0"),
        (["diagnosis", "--bits", "0"], "bits is 0: give a number of bits above 0"),
        (["diagnosis", "--bits", "nan"], "bits is nan: give a number of bits above 0"),
    ],
)
def test_requests(fresh: Path, request_words: list[str], said: str) -> None:
    assert said in unchanged(4, "release", fresh, "lab-a", *request_words, "--out", "a.csv")


@pytest.mark.parametrize(
    ("name", "costs", "said"),
    [
        ("wide.json", [[0, 1], [1, 0]], "has rows of 2 and the request has 4 levels: give one"),
        ("ragged.json", [[0, 1], [1]], "rows of different lengths, or something that is no number"),
        ("text.json", [["a", "b"]], "something that is no number"),
        ("less.json", [[0, -1, 1, 1]], "a number that is below 0, infinite or NaN"),
        ("nan.json", [[0, float("nan"), 1, 1]], "a number that is below 0, infinite or NaN"),
        ("flat.json", [0, 1], "no rows of numbers"),
        ("empty.csv", "", "no rows of numbers"),
        ("broken.json", "{", "something that is no number"),
        ("text.csv", "a,b\nc,d\n", "something that is no number"),
    ],
)
def test_tables_of_costs(fresh: Path, name: str, costs: object, said: str) -> None:
    Path(name).write_text(costs if isinstance(costs, str) else json.dumps(costs))
    assert said in unchanged(4, "quote", fresh, "lab-a", "diagnosis", "--utility", name)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-error", "nan"], "the largest error is nan: give a number, 0 or more"),
        (["--max-error", "-1"], "the largest error is -1: give a number, 0 or more"),
        (["--max-error", "1", "--utility", "information"], "information has no mean error"),
    ],
)
def test_largest_errors(fresh: Path, options: list[str], said: str) -> None:
    assert said in unchanged(4, "release", fresh, "lab-a", "age", "--out", "a.csv", *options)


# -- places -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("a.xlsx", "name the file something.parquet or something.csv"),
        ("a", "name the file something.parquet or something.csv"),
        ("none/a.csv", "there is no folder none: make it, or choose another"),
        ("folder.csv", "folder.csv is a folder: give the name of a file"),
    ],
)
def test_files_to_write(fresh: Path, out: str, said: str) -> None:
    Path("folder.csv").mkdir()
    assert said in unchanged(4, "release", fresh, "lab-a", "age", "--out", out)


def test_a_folder_that_is_no_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    for words in (
        ["status"],
        ["audit"],
        ["verify"],
        ["receipt", "1"],
        ["close", "--yes"],
        ["quote", "lab-a", "age"],
        ["release", "lab-a", "age", "--out", "a.csv"],
        ["party", "add", "lab-a", "--limit", "1"],
        ["collusion", "set", "--any", "2=1"],
    ):
        command, *rest = words
        place = 2 if command in ("party", "collusion") else 1
        arguments = [*words[:place], "notes", *words[place:]]
        said = unchanged(4, *arguments)
        assert said == "notes is no study: make one with tacit init notes --table ...", rest


def test_a_source_that_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = Path(write_patients(tmp_path / "t.csv", 60))
    done("init", "clinic", "--table", "t.csv", "--id", "patient_id", "--private", "diagnosis")
    done("party", "add", "clinic", "lab-a", "--limit", 0.3)
    text = table.read_text()
    table.write_text(text + "P99999,50,flu,low\n")
    said = unchanged(4, "release", "clinic", "lab-a", "diagnosis", "--out", "a.csv")
    assert "t.csv has changed since clinic was made (" in said
    assert "put it back, or make a new study of it" in said
    table.write_text(text.replace("diabetes", "flu"))
    assert "has changed" in unchanged(
        4, "release", "clinic", "lab-a", "diagnosis", "--out", "a.csv"
    )
    table.unlink()  # the snapshot is what counts
    done("release", "clinic", "lab-a", "diagnosis", "--out", "a.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
def test_a_receipt_that_cannot_be_written(used: Path) -> None:
    said = unchanged(6, "receipt", used, 5, "--html", "none/receipt.html")
    assert said.startswith("cannot use none/")
    assert "(No such file or directory): check the place" in said


def test_receipts_of_what_is_not_there(used: Path) -> None:
    said = unchanged(4, "receipt", used, 99)
    assert said == "there is no entry 99: the ledger ends at 8, its releases are 5, 7"
    assert "there is no entry 0" in unchanged(4, "receipt", used, 0)
    assert "'ENTRY'" in unchanged(2, "receipt", used, "three")


def test_command_lines_that_are_wrong(fresh: Path) -> None:
    assert "'releas'" in unchanged(2, "releas", fresh)
    assert "--bit" in unchanged(2, "quote", fresh, "lab-a", "age", "--bit", "1")
    assert "Missing argument 'PARTY'" in unchanged(2, "quote", fresh)
    assert "Missing option '--out'" in unchanged(2, "release", fresh, "lab-a", "age")
    assert tacit("party").err == "tacit: Missing command: see tacit party --help\n"
