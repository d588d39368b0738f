"""The commands that the tool was asked for, as they were written then, one after the other."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.clinic import Answer, done, tacit, write_patients

LINES = """
tacit init clinic/ --table patients.csv --id patient_id --private age:cut=30,45,60 --private diagnosis --private income --everyone 0.9
tacit limit clinic/ lab-a --bits 0.3                 # bits about one record, over everything it will ever hold
tacit limit clinic/ lab-b --bits 0.6
tacit limit clinic/ 'any 2' --bits 0.5
tacit limit clinic/ lab-a+lab-b --bits 0.6
tacit quote   clinic/ lab-a diagnosis                # what would it cost, what would it be worth; spends nothing
tacit release clinic/ lab-a diagnosis --out lab-a.parquet
tacit release clinic/ lab-b --sql "age > 60 and diagnosis = 'dementia'" --out lab-b.csv --accept disclosure
tacit status  clinic/        # parties, coalitions, bits used and left, as bars
tacit audit   clinic/
tacit receipt clinic/ 6 --html receipt.html
tacit verify  clinic/        # replay the ledger: hash chain, certificates, files; --receipt FILE also finds a rolled-back ledger
tacit verify  clinic/ --receipt receipt.html
tacit estimate lab-a.parquet # for recipients: frequencies with confidence intervals
tacit close   clinic/ --yes  # destroys the key: no more releases, everything stays verifiable
tacit verify  clinic/ --receipt receipt.html
""".strip().splitlines()  # noqa: E501 - as they were written; close asks on a terminal: test_terminal


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Answer]]:
    folder = tmp_path_factory.mktemp("issue")
    write_patients(folder / "patients.csv", 3000)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TACIT_LEDGER", f"sqlite:///{folder / 'ledger.sqlite'}")
        return folder, [done(*shlex.split(line, comments=True)[1:]) for line in LINES]


def answer_to(answers: tuple[Path, list[Answer]], start: str) -> str:
    return next(
        answer.out
        for line, answer in zip(LINES, answers[1], strict=True)
        if " ".join(line.split()).startswith(f"tacit {start}")
    )


def test_every_line_works_without_a_word_on_stderr(answers: tuple[Path, list[Answer]]) -> None:
    assert [answer.err for answer in answers[1]] == [""] * len(LINES)
    assert "\x1b" not in "".join(answer.out for answer in answers[1])


def test_init_says_what_is_public_and_lists_small_cells(
    answers: tuple[Path, list[Answer]],
) -> None:
    said = answer_to(answers, "init")
    assert said.startswith("clinic: 3,000 records, ")
    assert "counts as public" in said
    assert "combinations have fewer than 10 records:" in said


def test_a_limit_on_a_coalition_is_explained(answers: tuple[Path, list[Answer]]) -> None:
    said = answer_to(answers, "limit clinic/ lab-a+lab-b")
    assert said.startswith("lab-a + lab-b may learn 0.6 bits about a record\n")
    assert "0.6 bits: " in said


def test_quote_says_everything_that_was_asked_of_it(answers: tuple[Path, list[Answer]]) -> None:
    said = answer_to(answers, "quote")
    assert "of 100 values correct; a blind guess gets " in said  # what it is worth, in words
    assert "lab-a would learn 0.3000 bits about a record" in said  # to the party
    assert "nearest to its limit: lab-a, which would hold 0.3000 of 0.3 bits" in said  # the worst
    assert "0.0000 of its 0.3 would be left" in said
    assert "no other request of this size would fit after it" in said
    assert "For fewer or more bits:" in said  # the curve
    assert "values correct <- this" in said


def test_release_files_have_the_promised_columns(answers: tuple[Path, list[Answer]]) -> None:
    folder, _ = answers
    table = pq.read_table(folder / "lab-a.parquet")
    assert table.column_names == ["record", "rhat"]
    assert table["record"].to_pylist() == sorted(table["record"].to_pylist())
    with (folder / "lab-b.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3000
    assert {row["rhat"] for row in rows} == {"false", "true"}


def test_status_shows_bars(answers: tuple[Path, list[Answer]]) -> None:
    lines = answer_to(answers, "status").splitlines()
    assert lines[0].endswith("2 releases.")
    assert lines[1].startswith("! lab-b can name ")
    *rows, note = lines[next(k for k, line in enumerate(lines) if line.startswith("bits")) + 1 :]
    assert [line.split()[0] for line in rows] == ["lab-a", "lab-b", "everyone"]
    assert all("█" in line for line in rows)
    assert note == (
        "note: the limit on any 2 parties, 0.5 bits, is below the own limit of lab-b and holds for "
        "lab-b, too"
    )


def test_audit_holds_parties_to_their_own_limits(answers: tuple[Path, list[Answer]]) -> None:
    said = answer_to(answers, "audit")
    assert said.startswith("Every coalition is within its limits; every attack went as predicted.")
    table = said.partition("On average:")[2].splitlines()
    rows = [line.split() for line in table if line.startswith(("lab-", "everyone"))]
    limits = {who: limit for who, limit, *_ in rows[:3]}
    assert limits == {"lab-a": "0.3", "lab-b": "0.5", "everyone": "0.5"}


def test_everything_is_as_recorded(answers: tuple[Path, list[Answer]]) -> None:
    assert "9 entries, 2 releases: everything is as recorded" in answer_to(answers, "verify")
    assert "10 entries, 2 releases: everything is as recorded" in answers[1][-1].out


def test_a_closed_study_releases_nothing_more(
    answers: tuple[Path, list[Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(answers[0])
    assert not (answers[0] / "clinic" / "key").exists()
    for words in (
        ["release", "clinic", "lab-a", "diagnosis", "--out", "again.csv"],
        ["quote", "clinic", "lab-a", "diagnosis"],
        ["limit", "clinic", "lab-c", "--bits", "0.1"],
        ["limit", "clinic", "any 2", "--bits", "0.6"],
    ):
        answer = tacit(*words)
        assert answer.code == 4
        assert "clinic is closed, its key was destroyed" in answer.err
    assert not Path("again.csv").exists()
    done("verify", "clinic")
    done("close", "clinic", "--yes")  # once more does no harm
