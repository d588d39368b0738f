"""Limits on coalitions: none is lost, each is named as it was set, and a remedy helps."""

from __future__ import annotations

import shlex
import unicodedata
from itertools import product
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, tacit, write_rows


def limits(study: Path) -> dict[str, object]:
    shown: dict[str, object] = done("collusion", "set", study, "--json").json
    return shown


def n_entries(study: Path) -> int:
    number: int = done("status", study, "--json").json["head"][0]
    return number


# -- several sizes ------------------------------------------------------------------------------


def test_sizes_stand_together_given_in_one_command_or_in_two(fresh: Path) -> None:
    done("collusion", "set", fresh, "--any", "2=0.4", "--any", "3=0.6")
    assert limits(fresh)["sizes"] == [[2, 0.4], [3, 0.6]]
    said = done("collusion", "set", fresh, "--any", "4=0.7").out
    assert said == (
        "Limits on coalitions: everyone: 0.9 bits; any 2 parties: 0.4 bits; "
        "any 3 parties: 0.6 bits; any 4 parties: 0.7 bits\n"
    )
    done("collusion", "set", fresh, "--any", "3=0.5")
    assert limits(fresh)["sizes"] == [[2, 0.4], [3, 0.5], [4, 0.7]]


def test_one_size_is_removed_or_all(fresh: Path) -> None:
    done("collusion", "set", fresh, "--any", "1=0.25", "--any", "2=0.4", "--any", "3=0.6")
    said = done("collusion", "set", fresh, "--any", "2=none").out
    assert "any single party: 0.25 bits; any 3 parties: 0.6 bits" in said
    done("collusion", "set", fresh, "--any", "2=0.3", "--any", "none")
    assert limits(fresh)["sizes"] == [[2, 0.3]]
    done("collusion", "set", fresh, "--any", "none")
    assert limits(fresh) == {"everyone": 0.9, "sizes": [], "groups": [], "remarks": []}


def test_the_policy_is_shown_and_nothing_is_written(used: Path) -> None:
    before = found_in(Path())
    said = done("collusion", "set", used).out
    assert said == "Limits on coalitions: everyone: 0.9 bits; any 2 parties: 0.35 bits\n"
    assert limits(used)["sizes"] == [[2, 0.35]]
    assert found_in(Path()) == before
    done("close", used, "--yes")
    assert done("collusion", "set", used).out == said


@pytest.mark.parametrize(
    "words",
    [
        ("collusion", "set", "--group", "lab-a,lab-b=none"),
        ("collusion", "set", "--group", "lab-a,lab-z=none"),
        ("collusion", "set", "--any", "2=0.35"),
        ("collusion", "set", "--any", "3=none"),
        ("collusion", "set", "--everyone", "0.9", "--any", "2=0.35"),
        ("party", "add", "lab-a", "--limit", "0.3"),
    ],
)
def test_a_change_that_changes_nothing_is_no_entry(used: Path, words: tuple[str, ...]) -> None:
    before = n_entries(used)
    said = done(*words[:2], used, *words[2:]).out
    assert "note: nothing was changed: it was so already" in said
    assert n_entries(used) == before


# -- names --------------------------------------------------------------------------------------


def test_names_are_printed_unaltered(fresh: Path) -> None:
    said = done("collusion", "set", fresh, "--group", "B,lab-a=0.4").out
    assert said.startswith("Limits on coalitions: everyone: 0.9 bits; B + lab-a: 0.4 bits\n")
    assert "note: B is new" in said


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Lab-A", "lab-a"),
        ("lab-\N{CYRILLIC SMALL LETTER A}", "lab-a"),
        ("\N{FULLWIDTH LATIN SMALL LETTER L}ab-a", "lab-a"),
        ("lab\N{EN DASH}a", "lab-a"),
        ("lab\N{HYPHEN}a", "lab-a"),
        ("lab-\N{GREEK SMALL LETTER ALPHA}", "lab-a"),
        ("lab-a\N{COMBINING LOW LINE}", "lab-a"),
        ("Iocus", "locus"),
        ("1ocus", "locus"),
    ],
    ids=ascii,
)
def test_names_that_differ_by_case_or_look_are_refused(fresh: Path, name: str, known: str) -> None:
    done("party", "add", fresh, "locus", "--limit", "0.1")
    before = found_in(Path())
    for words in (
        ("party", "add", fresh, name, "--limit", "0.2"),
        ("collusion", "set", fresh, "--group", f"{name},lab-b=0.3"),
    ):
        said = refused(4, *words)
        assert said == (
            f"party {name!r} differs from {known!r} only by case or look: use that name, or one "
            "that nobody can take for it"
        )
    assert found_in(Path()) == before


def test_two_new_names_of_one_command_are_compared(fresh: Path) -> None:
    said = refused(4, "collusion", "set", fresh, "--group", "Clinic,clinic=0.3")
    assert said.startswith("party 'clinic' differs from 'Clinic' only by case or look")


def test_names_that_differ_are_not_refused(fresh: Path) -> None:
    for name in (
        "lab-c",
        "m\u00fcller",
        "muller",
        "lab-1",
        "lab-2",
        "лаборатория",
        "東京",
        "कि",
        "कु",
    ):
        done("party", "add", fresh, name, "--limit", "0.2")


@pytest.mark.parametrize(
    "name",
    ["Everyone", "any 2 parties", "lab\N{FULLWIDTH PLUS SIGN}x", "x\N{HANGUL FILLER}", "lab\ufe0f"],
    ids=ascii,
)
def test_names_that_lists_could_not_show(fresh: Path, name: str) -> None:
    assert "give a name without commas" in refused(4, "party", "add", fresh, name, "--limit", "0.2")


def test_one_name_in_two_forms_of_unicode_is_one_party(fresh: Path) -> None:
    composed = "caf\u00e9"
    apart = unicodedata.normalize("NFD", composed)
    added = done("party", "add", fresh, apart, "--limit", "0.2", "--json")
    assert added.json["party"] == composed
    assert composed in [each["name"] for each in done("status", fresh, "--json").json["parties"]]
    done("party", "add", fresh, composed, "--limit", "0.25")
    done("release", fresh, apart, "age", "--out", "a.csv")
    done("collusion", "set", fresh, "--group", f"{apart},lab-a=0.4")
    done("collusion", "set", fresh, "--group", f"lab-a,{composed}=none")
    assert limits(fresh)["groups"] == []
    assert len(done("status", fresh, "--json").json["parties"]) == 3
    said = refused(4, "collusion", "set", fresh, "--group", f"{apart},{composed}=0.3")
    assert "name two parties or more" in said


# -- the limit that binds -------------------------------------------------------------------------

BINDING = {
    "lab-a + lab-b": ("--group", "lab-a,lab-b=0.2"),
    "any 2 parties": ("--any", "2=0.2"),
    "any single party": ("--any", "1=0.2"),
    "everyone": ("--everyone", "0.2"),
}


@pytest.mark.parametrize("whom", BINDING)
def test_a_refusal_names_the_limit_that_binds_and_its_command_helps(fresh: Path, whom: str) -> None:
    done("party", "add", fresh, "lab-a", "--limit", 0.8)
    done("collusion", "set", fresh, *BINDING[whom])
    done("release", fresh, "lab-a", "income", "--out", "a.csv")
    words = ("release", fresh, "lab-a", "age", "--out", "b.csv")
    said = refused(3, *words)
    assert said.startswith(f"lab-a holds 0.2000 of the 0.2 bits that {whom} may hold: nothing is")
    error = tacit(*words, "--json").json["error"]
    assert (error["limit_bits"], error["limited_by"]) == (0.2, whom)
    command = said.partition("only if limits are raised with tacit ")[2]
    assert command.startswith("collusion set clinic --")
    done(*shlex.split(command.replace("BITS", "0.3")))
    done(*words)


def test_every_limit_that_is_used_up_is_named(fresh: Path) -> None:
    done("party", "add", fresh, "lab-a", "--limit", 0.2)
    done("collusion", "set", fresh, "--any", "2=0.2", "--group", "lab-a,lab-b=0.2")
    done("release", fresh, "lab-a", "income", "--out", "a.csv")
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "b.csv")
    assert "the 0.2 bits that any 2 parties and lab-a + lab-b and lab-a may hold" in said
    commands = said.partition("only if limits are raised with tacit ")[2].replace("BITS", "0.3")
    for command in commands.split(" and tacit "):
        done(*shlex.split(command))
    done("release", fresh, "lab-a", "age", "--out", "b.csv")


def test_asking_for_more_than_a_group_allows_names_the_group(fresh: Path) -> None:
    done("party", "add", fresh, "lab-a", "--limit", 0.8)
    done("collusion", "set", fresh, "--group", "lab-a,lab-b=0.2")
    said = refused(3, "quote", fresh, "lab-a", "age", "--bits", "0.5")
    assert said.startswith(
        "lab-a asks for 0.5 bits and has 0.2000 left of the 0.2 bits that lab-a + lab-b may hold; "
    )
    quoted = done("quote", fresh, "lab-a", "age", "--bits", "0.1")
    assert "0.1000 of the 0.2, the limit on lab-a + lab-b, would be left" in quoted.out


def test_a_full_coalition_is_named_with_the_limit_on_it_and_its_command_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No attribute says anything about another; lab-a holds all that any two may."""
    monkeypatch.chdir(tmp_path)
    cells = product((20, 40, 70), ("flu", "none"), ("high", "low"), range(5))
    write_rows(Path("t.csv"), ((n, *cell[:3]) for n, cell in enumerate(cells)))
    private = ["--private", "diagnosis", "--private", "income"]
    done("init", "clinic", "--table", "t.csv", "--id", "patient_id", *private)
    done("collusion", "set", "clinic", "--any", "2=0.2", "--group", "lab-a,lab-c,lab-d=0.9")
    words = ("release", "clinic", "lab-a", "diagnosis", "--utility", "information")
    done(*words, "--out", "a.csv")
    words = ("release", "clinic", "lab-c", "income", "--out", "c.csv")
    said = refused(3, *words)
    assert said.startswith("everyone holds 0.2000 of 0.2 bits (the limit on any 2 parties), which")
    assert tacit(*words, "--json").json["error"]["limited_by"] == "any 2 parties"
    command = said.partition("only if limits are raised with tacit ")[2]
    assert command == "collusion set clinic --any 2=BITS"
    done(*shlex.split(command.replace("BITS", "0.3")))
    done(*words)


def test_too_coarse_names_the_limit_that_binds(fresh: Path) -> None:
    done("collusion", "set", fresh, "--group", "lab-a,lab-b=0.2")
    said = refused(3, "release", fresh, "lab-a", "age", "--max-error", "0.01", "--out", "a.csv")
    assert said.startswith("the limit of 0.2 bits on lab-a + lab-b allows a mean error of")


def test_status_and_party_say_which_limit_holds(fresh: Path) -> None:
    done("collusion", "set", fresh, "--any", "2=0.25", "--group", "lab-a,lab-b=0.2")
    remark = (
        "the limit on lab-a + lab-b, 0.2 bits, is below the own limit of {} and holds for {}, too"
    )
    said = done("party", "add", fresh, "lab-a", "--limit", "0.5").out
    assert said.splitlines()[1] == f"note: {remark.format('lab-a', 'lab-a')}"
    said = done("status", fresh).out
    assert f"note: {remark.format('lab-a, lab-b', 'each of them')}" in said.splitlines()
    parties = done("status", fresh, "--json").json["parties"]
    assert [(each["limit"], each["limited_by"]) for each in parties] == [(0.2, "lab-a + lab-b")] * 2


def test_so_few_bits_are_not_taken_for_a_limit(fresh: Path) -> None:
    said = refused(3, "quote", fresh, "lab-a", "age", "--bits", "0.0000000001")
    assert "bits buy lab-a nothing better than a blind guess: ask for more" in said
