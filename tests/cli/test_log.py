"""``tacit log``, ``policy`` and ``report``; ``tacit party rename`` and ``remove``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

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
        "party",
        "party",
        "intent",
        "delivered",
    ]
    assert entries[3]["party"] == "lab-a"
    assert entries[3]["arguments"]["out"] == str(Path("a.csv").resolve())


def test_the_commands_of_the_log_make_the_same_study(used: Path) -> None:
    """Typed again, they change nothing and cost nothing."""
    done("party", "rename", used, "lab-b", "B institute")
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


def test_the_policy_lists_limits_on_those_who_hold_nothing(used: Path) -> None:
    done("collusion", "set", used, "--group", "lab-c,lab-d=0.2")
    limits = {each["limited_by"]: each for each in done("policy", used, "--json").json["limits"]}
    assert list(limits) == [
        *("lab-a", "lab-b", "lab-c", "lab-d"),
        *("any 2 parties", "lab-c + lab-d", "everyone"),
    ]
    assert limits["lab-c + lab-d"]["nearest"] == []
    assert limits["lab-c + lab-d"]["left"] == 0.2
    assert limits["any 2 parties"]["nearest"] == ["lab-a", "lab-b"]
    holdings = done("receipt", used, 7, "--json").json["holdings"]
    [pair] = {each["bits"] for each in holdings if len(each["parties"]) == 2}
    assert limits["any 2 parties"]["held"] == pytest.approx(pair, abs=1e-9)
    said = done("policy", used).out
    assert re.search(r"^lab-c \+ lab-d +0\.2 .* 0\.0000  0\.2000  nobody yet$", said, re.MULTILINE)


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


# -- names ----------------------------------------------------------------------------------------


def test_a_renamed_party_is_found_by_each_of_its_names(used: Path) -> None:
    done("party", "rename", used, "lab-a", "Institute A")
    done("party", "rename", used, "Institute A", "A & Co")
    for name in ("lab-a", "Institute A", "A & Co"):
        out = f"{name[:3].strip()}.csv"
        words = ["release", used, name, "diagnosis", "--bits", 0.2, "--out", out, "--json"]
        assert done(*words).json["entry"] == 5  # the same release again
    names = [each["name"] for each in done("status", used, "--json").json["parties"]]
    assert names == ["A & Co", "lab-b"]
    assert (
        done("quote", used, "lab-a", "income", "--bits", 0.01, "--json").json["party"] == "A & Co"
    )
    done("verify", used)


def test_no_other_party_takes_a_name_that_was_used(used: Path) -> None:
    done("party", "rename", used, "lab-a", "Institute A")
    for taken in ("Institute A", "institute a", "lab-a", "LAB-A"):
        assert "nobody can take for it" in unchanged(4, "party", "rename", used, "lab-b", taken)
    assert "nobody can take for it" in unchanged(
        4, "party", "add", used, "institute a", "--limit", 1
    )
    said = unchanged(4, "collusion", "set", used, "--group", "lab-b,institute a=0.3")
    assert "nobody can take for it" in said
    assert "is unknown" in unchanged(4, "party", "rename", used, "lab-z", "lab-y")
    assert "unchanged" in str(done("party", "rename", used, "lab-a", "Institute A", "--json").json)
    done("party", "rename", used, "Institute A", "lab-a")  # back again
    assert done("status", used, "--json").json["parties"][0]["name"] == "lab-a"
    done("verify", used)


def test_receipts_stay_true_when_a_party_is_renamed(used: Path) -> None:
    done("receipt", used, 5, "--html", "r.html")
    done("party", "rename", used, "lab-a", "Institute A")
    done("verify", used, "--receipt", "r.html")


def test_only_a_party_that_holds_nothing_is_removed(used: Path) -> None:
    said = unchanged(4, "party", "remove", used, "lab-a")
    assert "that stays counted for ever, so it cannot be removed" in said
    [command] = re.findall(r"with tacit (party add .+)$", said)
    done(*shlex.split(command))  # what it suggests is allowed
    done("party", "add", used, "lab-c", "--limit", 0.2)
    done("collusion", "set", used, "--group", "lab-b,lab-c=0.3")
    assert "is named by the limit on lab-b + lab-c" in unchanged(
        4, "party", "remove", used, "lab-c"
    )
    done("collusion", "set", used, "--group", "lab-b,lab-c=none")
    assert done("party", "remove", used, "lab-c").out == "lab-c is removed: it held nothing\n"
    assert "is unknown" in unchanged(4, "quote", used, "lab-c", "age")
    done("party", "add", used, "lab-c", "--limit", 0.1)  # it may come again
    done("verify", used)
