"""``tacit party add``: limits of single parties, and their names."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, tacit, unchanged


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
    assert any(
        "the limit on any 2 parties, 7 bits, protects nothing" in each["in_words"] for each in said
    )


@pytest.mark.parametrize("name", ["", " a", "a,b", "a+b", "everyone", "--json", "a\nb", "\x1b[31m"])
def test_names_of_parties(fresh: Path, name: str) -> None:
    answer = tacit("party", "add", fresh, "--limit", "0.1", "--", name)
    assert answer.code == 4
    assert answer.err.startswith("tacit: party ")
    assert "give a name without commas" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert "\x1b" not in answer.err


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
    assert done("collusion", "set", fresh, "--json").json["groups"] == []
    assert len(done("status", fresh, "--json").json["parties"]) == 3
    said = refused(4, "collusion", "set", fresh, "--group", f"{apart},{composed}=0.3")
    assert "name two parties or more" in said


def test_one_bit_is_no_bits(fresh: Path) -> None:
    said = done("party", "add", fresh, "lab-c", "--limit", 1).out.splitlines()
    assert said[0] == "lab-c may learn 1 bit about a record"
