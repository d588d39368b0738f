"""Refusals help: they name the limit that binds, and the command that they name works."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import pytest

from tests.cli.clinic import done, refused, tacit, write_rows


def pasted(message: str) -> list[str]:
    """The command that a refusal names, without ``tacit``."""
    return shlex.split(message.partition("; what fits: tacit ")[2])


def held(study: Path) -> dict[str, float]:
    status = done("status", study, "--json").json
    return {each["name"]: each["held"] for each in status["parties"] + status["coalitions"]}


def test_what_is_left_fits(used: Path) -> None:
    said = refused(3, "release", used, "lab-a", "income", "--bits", 0.2, "--out", "a.csv")
    assert said.startswith("lab-a asks for 0.2 bits and has 0.1000 left of its 0.3 bits; what fits")
    command = pasted(said)
    assert command[-2:] == ["--out", "a.csv"]
    done(*command)
    assert Path("a.csv").is_file()
    assert held(used)["lab-a"] < 0.3


def test_several_attributes_can_be_pasted(used: Path) -> None:
    words = ["release", used, "lab-a", "age,income", "--out", "a.csv"]
    done(*pasted(refused(3, *words, "--bits", 0.2)))


def test_a_spent_party_is_told_what_would_help(fresh: Path) -> None:
    done("release", fresh, "lab-a", "income", "--out", "a.csv")
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "b.csv")
    assert "lab-a holds 0.3000 of its 0.3 bits: nothing is left to it" in said
    command = said.partition("only if limits are raised with tacit ")[2].replace("BITS", "0.32")
    done(*shlex.split(command))
    done("release", fresh, "lab-a", "age", "--out", "b.csv")


@pytest.fixture
def independent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study in which no attribute says anything about another; lab-a holds all that one may."""
    monkeypatch.chdir(tmp_path)
    cells = product((20, 40, 70), ("flu", "none"), ("high", "low"), range(5))
    write_rows(Path("t.csv"), ((n, *cell[:3]) for n, cell in enumerate(cells)))
    private = ["--private", "age:cut=30,60", "--private", "diagnosis", "--private", "income"]
    options = ["--table", "t.csv", "--id", "patient_id", *private, "--everyone", 0.2]
    done("init", "clinic", *options)
    done("limit", "clinic", "lab-a", "--bits", 0.3)
    done("limit", "clinic", "lab-c", "--bits", 0.15)
    done("release", "clinic", "lab-a", "diagnosis", "--out", "lab-a.csv")
    return Path("clinic")


def test_the_coalition_that_binds_is_named_and_a_substitute_fits(independent: Path) -> None:
    words = ["release", independent, "lab-c", "income", "--out", "c.csv"]
    said = refused(3, *words)
    assert said.startswith("everyone holds 0.2000 of 0.2 bits, which leaves lab-c nothing better")
    error = tacit(*words, "--json").json["error"]
    assert error["coalition"] == ["lab-a", "lab-c"]
    assert error["fits"] == "tacit release clinic lab-c diagnosis --out c.csv"
    done(*pasted(said))
    assert held(independent)["everyone"] < 0.2  # what lab-c was told, lab-a knew
    assert held(independent)["lab-c"] > 0.1


def test_a_substitute_can_be_pasted(independent: Path) -> None:
    done("limit", independent, "everyone", "--bits", 0.3)
    done("release", independent, "lab-a", "diagnosis,age", "--out", "both.csv")
    said = refused(3, "release", independent, "lab-c", "income", "--out", "c.csv")
    command = pasted(said)
    assert command[3] == "diagnosis,age"
    done(*command)


def test_asking_for_too_much_names_the_coalition_where_that_is_in_the_way(
    independent: Path,
) -> None:
    said = refused(3, "quote", independent, "lab-c", "income", "--bits", 0.9)
    assert said.startswith("everyone holds 0.2000 of 0.2 bits")


@pytest.mark.parametrize("utility", ["hamming", "absolute", "squared", "costs.json"])
def test_the_error_that_can_be_reached_fits(fresh: Path, utility: str) -> None:
    Path("costs.json").write_text(json.dumps([[0, 1, 2, 9], [1, 0, 1, 9], [2, 1, 0, 5], [9] * 4]))
    words = ["release", fresh, "lab-a", "age", "--utility", utility, "--out", "a.csv"]
    said = refused(3, *words, "--max-error", 0.001, "--bits", 0.25)
    assert "the 0.25 bits asked for allow a mean error of" in said
    command = pasted(said)
    assert utility == "hamming" or utility in command
    done(*command)


BINDING = {
    "lab-a + lab-b": "lab-a+lab-b",
    "any 2 parties": "any 2",
    "any single party": "any 1",
    "everyone": "everyone",
}


@pytest.mark.parametrize("whom", BINDING)
def test_a_refusal_names_the_limit_that_binds_and_its_command_helps(fresh: Path, whom: str) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.8)
    done("limit", fresh, BINDING[whom], "--bits", 0.2)
    done("release", fresh, "lab-a", "income", "--out", "a.csv")
    words = ("release", fresh, "lab-a", "age", "--out", "b.csv")
    said = refused(3, *words)
    assert said.startswith(f"lab-a holds 0.2000 of the 0.2 bits that {whom} may hold: nothing is")
    error = tacit(*words, "--json").json["error"]
    assert (error["limit_bits"], error["limited_by"]) == (0.2, whom)
    command = said.partition("only if limits are raised with tacit ")[2]
    assert command.startswith("limit clinic ")
    done(*shlex.split(command.replace("BITS", "0.3")))
    done(*words)


def test_every_limit_that_is_used_up_is_named(fresh: Path) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.2)
    done("limit", fresh, "any 2", "--bits", 0.2)
    done("limit", fresh, "lab-a+lab-b", "--bits", 0.2)
    done("release", fresh, "lab-a", "income", "--out", "a.csv")
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "b.csv")
    assert "the 0.2 bits that any 2 parties and lab-a + lab-b and lab-a may hold" in said
    commands = said.partition("only if limits are raised with tacit ")[2].replace("BITS", "0.3")
    for command in commands.split(" and tacit "):
        done(*shlex.split(command))
    done("release", fresh, "lab-a", "age", "--out", "b.csv")


def test_asking_for_more_than_a_group_allows_names_the_group(fresh: Path) -> None:
    done("limit", fresh, "lab-a", "--bits", 0.8)
    done("limit", fresh, "lab-a+lab-b", "--bits", 0.2)
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
    for party in ("lab-a", "lab-c"):
        done("limit", "clinic", party, "--bits", 0.9)
    done("limit", "clinic", "any 2", "--bits", 0.2)
    words = ("release", "clinic", "lab-a", "diagnosis", "--utility", "information")
    done(*words, "--out", "a.csv")
    words = ("release", "clinic", "lab-c", "income", "--out", "c.csv")
    said = refused(3, *words)
    assert said.startswith("everyone holds 0.2000 of 0.2 bits (the limit on any 2 parties), which")
    assert tacit(*words, "--json").json["error"]["limited_by"] == "any 2 parties"
    command = said.partition("only if limits are raised with tacit ")[2]
    assert command == "limit clinic 'any 2' --bits BITS"
    done(*shlex.split(command.replace("BITS", "0.3")))
    done(*words)


def test_too_coarse_names_the_limit_that_binds(fresh: Path) -> None:
    done("limit", fresh, "lab-a+lab-b", "--bits", 0.2)
    said = refused(3, "release", fresh, "lab-a", "age", "--max-error", "0.01", "--out", "a.csv")
    assert said.startswith("the limit of 0.2 bits on lab-a + lab-b allows a mean error of")


def test_so_few_bits_are_not_taken_for_a_limit(fresh: Path) -> None:
    said = refused(3, "quote", fresh, "lab-a", "age", "--bits", "0.0000000001")
    assert "bits buy lab-a nothing better than a blind guess: ask for more" in said


def test_utilities_are_said_in_words(independent: Path) -> None:
    done("limit", independent, "everyone", "--bits", 2)
    Path("costs.json").write_text(json.dumps([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    in_words = {
        "hamming": "values correct; a blind guess gets",
        "absolute": "answers are off by",
        "squared": "answers are off, squared, by",
        "costs.json": "answers cost",
    }
    for utility, said in in_words.items():
        words = ["quote", independent, "lab-c", "age", "--utility", utility, "--bits", 0.1]
        assert said in done(*words, "--json").json["in_words"]


def test_a_suggestion_names_the_study_wherever_it_was_typed(fresh: Path) -> None:
    said = refused(3, "release", "--bits", "5", "--out", "a.csv", fresh, "lab-a", "age")
    command = said.partition("; what fits: tacit ")[2]
    assert command.startswith(f"release {fresh} lab-a age --bits ")
    done(*shlex.split(command))
