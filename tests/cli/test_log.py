"""``tacit log`` and ``report``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.cli.clinic import done, tacit, unchanged


def test_the_log_says_who_got_what_when_and_why(fresh: Path) -> None:
    done("release", fresh, "lab-a", "income", "--bits", 0.1, "--out", "a.csv", "--reason", "A & B?")
    said = done("log", fresh).out
    assert re.search(
        r"^4  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  income for lab-a: about ", said, re.MULTILINE
    )
    assert "\n   reason: A & B?\n" in said
    entries = done("log", fresh, "--json").json["entries"]
    assert [each["kind"] for each in entries] == [
        "created",
        "limit",
        "limit",
        "intent",
        "delivered",
    ]
    assert entries[3]["party"] == "lab-a"
    assert entries[3]["arguments"]["out"] == str(Path("a.csv").resolve())


def test_the_commands_of_the_log_make_the_same_study(used: Path) -> None:
    """Typed again, they change nothing and cost nothing."""
    done("limit", used, "lab-b", "--title", "B institute")
    before = done("log", used, "--json").json["entries"]
    commands = [each["command"] for each in before if each["command"]]
    assert len(commands) == 6
    for command in commands:
        words = shlex.split(command)[1:]
        assert tacit(*words).code == 0, command
    assert len(done("log", used, "--json").json["entries"]) == len(before)


def test_a_command_of_the_log_has_all_that_was_asked(fresh: Path) -> None:
    words = ["release", fresh, "lab-a", "--sql", "age > 60", "--bits", 0.1, "--out", "a.csv"]
    words += ["--worst-level", "--ceiling", "true=0.9", "--analysable", "--reason", "it's due"]
    done(*words)
    command = done("log", fresh, "--json").json["entries"][3]["command"]
    again = shlex.split(command)
    for word in ("--worst-level", "--ceiling", "true=0.9", "--analysable", "--reason", "it's due"):
        assert word in again
    assert done(*again[1:], "--json").json["entry"] == 4


def test_the_report_is_one_page_that_opens_offline(used: Path) -> None:
    done("release", used, "lab-a", "age", "--bits", 0.05, "--out", "c.csv", "--reason", "<i>vote 7")
    assert done("report", used, "--html", "r.html").out == "r.html: report on 3 releases\n"
    page = Path("r.html").read_text(encoding="utf-8")
    for outside in ("http:", "https:", "//", "@import", "url(", "<link", "<img", "<script"):
        assert outside not in page
    assert "&lt;i&gt;vote 7" in page
    for shown in ("patients.csv", "lab-a", "lab-b", "any 2 parties", "dementia", "<=30"):
        assert shown.replace("<", "&lt;").replace(">", "&gt;") in page
    told = done("report", used, "--json").json
    assert told["status"]["head"][1] in page
    assert [each["reason"] for each in told["releases"]] == [None, None, "<i>vote 7"]
    assert unchanged(4, "report", used, "--html", used / "r.html")


def test_a_study_says_whose_table_it_is(patients: str, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    words = ["--table", patients, "--id", "patient_id", "--private", "income"]
    done("init", folder, *words, "--organisation", "Clinic of Ürdorf", "--ledger", "folder")
    assert done("report", folder).out.startswith("Clinic of Ürdorf: patients.csv\n")
    told = done("report", folder, "--json").json
    assert (told["organisation"], told["table"]) == ("Clinic of Ürdorf", "patients.csv")


def test_receipts_stay_true_when_a_party_gets_another_title(used: Path) -> None:
    done("receipt", used, 5, "--html", "r.html")
    done("limit", used, "lab-a", "--title", "Institute A")
    done("verify", used, "--receipt", "r.html")
