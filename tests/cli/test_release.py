"""``tacit release``: requests and places that cannot be, and what is in a file."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.cli.clinic import done, refused, unchanged, write_patients, write_rows


def test_an_unknown_party_and_the_command_that_lets_it_in(fresh: Path) -> None:
    said = unchanged(4, "release", fresh, "lab-c", "age", "--out", "c.csv")
    assert said.startswith("party 'lab-c' is unknown (parties: 'lab-a', 'lab-b'): let it in with")
    pasted = said.partition("let it in with tacit ")[2].replace("BITS", "0.1")
    done(*shlex.split(pasted))
    done("release", fresh, "lab-c", "age", "--out", "c.csv")


def test_a_party_that_is_not_there_is_let_in_with_what_is_said(fresh: Path) -> None:
    said = unchanged(4, "release", fresh, "lab-aa", "age", "--out", "c.csv")
    assert said.endswith("let it in with tacit limit clinic lab-aa --bits BITS")
    said = unchanged(4, "release", fresh, "LAB-a", "age", "--out", "c.csv")
    assert said.startswith("'LAB-a' is not a party: use a-z, 0-9 and -, as in lab-a")


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
        (["--sql", "age > 60; drop table x"], "';' is not allowed"),
        (["--sql", "(select 1)"], "a request is one plain expression"),
        (["--sql", "age > 60) from levels_0 --"], "SQL"),
        (["--sql", "read_text('/etc/passwd') = ''"], "uses 'read_text', which is none of"),
        (["--sql", "exists (from read_csv('/etc/passwd'))"], "cannot be read at 'read_csv'"),
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
    ("options", "said"),
    [
        (["--max-error", "nan"], "the largest error is nan: give a number, 0 or more"),
        (["--max-error", "-1"], "the largest error is -1: give a number, 0 or more"),
        (["--max-error", "1", "--utility", "information"], "information has no mean error"),
    ],
)
def test_largest_errors(fresh: Path, options: list[str], said: str) -> None:
    assert said in unchanged(4, "release", fresh, "lab-a", "age", "--out", "a.csv", *options)


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


def test_a_source_that_changed_is_compared_by_extend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = Path(write_patients(tmp_path / "t.csv", 60))
    done("init", "clinic", "--table", "t.csv", "--id", "patient_id", "--private", "diagnosis")
    done("limit", "clinic", "lab-a", "--bits", 0.3)
    table.write_text(table.read_text().replace("diabetes", "flu"))
    said = unchanged(4, "extend", "clinic", "--table", "t.csv")
    assert "of them with other private values than then (rows " in said
    done("release", "clinic", "lab-a", "diagnosis", "--bits", 0.1, "--out", "a.csv")
    table.unlink()  # the snapshot is what counts
    done("release", "clinic", "lab-a", "diagnosis", "--bits", 0.2, "--out", "b.csv")


ENDINGS = ("csv", "parquet")


@pytest.mark.parametrize("place", ["clinic", "other/snapshot"])
def test_nothing_is_written_into_the_folder_of_any_study(used: Path, place: str) -> None:
    shutil.copytree(used, "other")
    out = f"{place}/late.csv"
    said = refused(4, "release", used, "lab-a", "income", "--out", out)
    assert f"{out} belongs to the study" in said
    said = refused(4, "receipt", used, 5, "--html", f"{place}/key.html")
    assert "belongs to the study" in said
    assert not Path(out).exists()
    done("verify", used)


@pytest.fixture
def formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of texts that a spreadsheet would run, with ids that it would run as well."""
    monkeypatch.chdir(tmp_path)
    levels = ["=1+1", "'=1+1", "-1", "@sum", "+x", "plain", "'quoted"]
    rows = [(f"{'=-+@'[n % 4]}{n}{'x' * (n % 2)}", levels[n % 7]) for n in range(700)]
    write_rows(Path("sheet.csv"), rows, ("id", "level"))
    done("init", "study", "--table", "sheet.csv", "--id", "id", "--private", "level", "--public-id")
    done("limit", "study", "lab", "--bits", 2.5)
    return Path("study")


def test_no_field_of_a_csv_begins_a_formula(formulas: Path) -> None:
    for more in ((), ("--json",)):
        words = ["release", formulas, "lab", "level", "--accept", "disclosure", "--out", "r.csv"]
        said = done(*words, *more).err
        assert "in r.csv, an apostrophe stands before labels that a spreadsheet would run" in said
    done("release", formulas, "lab", "level", "--out", "r.parquet")
    with Path("r.csv").open(newline="") as file:
        shown = list(csv.reader(file))[1:]
    for text in {field for row in shown for field in row}:
        assert text[0] not in "=@"
        assert text[0] not in "+-" or not text.endswith("x")
    stored = parquet.read_table("r.parquet").to_pydict()
    assert {"=1+1", "'=1+1", "-1"} <= set(stored["rhat"])
    bare = {"'=1+1": "=1+1", "''=1+1": "'=1+1", "'@sum": "@sum", "'+x": "+x"}
    assert [bare.get(rhat, rhat) for _, rhat in shown] == stored["rhat"]
    certificates = [json.loads(Path(f"r.{end}.certificate.json").read_text()) for end in ENDINGS]
    assert certificates[0] == certificates[1]
    letters = zip(certificates[0]["csv_letters"], certificates[0]["letters"], strict=True)
    assert {shown: letter for shown, letter in letters if shown != letter} == bare
    estimates = [done("estimate", f"r.{end}", "--json").json for end in ENDINGS]
    assert estimates[0] == estimates[1]
    done("verify", formulas, "--receipt", "r.csv.certificate.json")


def test_a_link_is_followed_once_and_what_is_recorded_is_what_is_written(
    fresh: Path, tmp_path: Path
) -> None:
    link, file = tmp_path / "latest.csv", tmp_path / "march.csv"
    link.symlink_to(file)
    done("release", fresh, "lab-a", "age", "--bits", 0.1, "--out", link)
    assert link.is_symlink()
    assert Path(f"{file}.certificate.json").exists()
    *_, last = done("log", fresh, "--json").json["entries"]
    assert "everything is as recorded" in done("verify", fresh).out
    receipt = done("receipt", fresh, last["number"] - 1, "--json").json
    assert receipt["file"] == str(file)
