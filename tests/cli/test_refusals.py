"""Quotes spend nothing, refusals help: the command that they name can be pasted and works."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, refused, tacit, write_rows
from tests.study.forging import forge_last


def pasted(message: str) -> list[str]:
    """The command that a refusal names, without ``tacit``."""
    return shlex.split(message.partition("; what fits: tacit ")[2])


def held(study: Path) -> dict[str, float]:
    standing = done("status", study, "--json").json
    return {each["name"]: each["held"] for each in standing["parties"] + standing["coalitions"]}


def test_a_quote_spends_nothing(used: Path) -> None:
    before = found_in(Path())
    done("quote", used, "lab-a", "income")
    done("quote", used, "lab-a", "income", "--json")
    assert found_in(Path()) == before


def test_a_quote_is_what_the_release_costs(used: Path) -> None:
    words = [used, "lab-a", "income", "--bits", 0.05]
    quoted = done("quote", *words, "--json").json
    receipt = done("release", *words, "--out", "a.csv", "--json").json
    assert receipt["party_bits"] == pytest.approx(quoted["own"]["after"], abs=1e-12)
    assert receipt["value"] == pytest.approx(quoted["value"], abs=1e-12)
    assert receipt["in_words"] == quoted["in_words"]


def test_a_quote_for_machines_has_all_figures(used: Path) -> None:
    quoted = done("quote", used, "lab-a", "income", "--bits", 0.05, "--json").json
    own, worst = quoted["own"], quoted["worst"]
    assert own["parties"] == ["lab-a"]
    assert own["added"] == pytest.approx(own["after"] - own["held"])
    assert worst["left"] == min(share["left"] for share in quoted["coalitions"])
    assert worst["left"] == pytest.approx(worst["limit"] - worst["after"])
    points = [point["bits"] for point in quoted["curve"]]
    assert points == sorted(points)
    assert [point["bits"] for point in quoted["curve"] if point["is_asked"]] == [0.05]
    values = [point["value"] for point in quoted["curve"]]
    assert values == sorted(values, reverse=True)  # more bits, fewer errors


def test_every_point_of_the_curve_can_be_asked_for(fresh: Path) -> None:
    for point in done("quote", fresh, "lab-a", "diagnosis", "--json").json["curve"]:
        words = [fresh, "lab-a", "diagnosis", "--bits", point["bits"]]
        quoted = done("quote", *words, "--json").json
        assert quoted["value"] == pytest.approx(point["value"], abs=1e-5)


def test_a_repeated_request_is_quoted_at_no_cost(used: Path) -> None:
    words = [used, "lab-a", "diagnosis", "--bits", 0.2]
    quoted = done("quote", *words, "--json").json
    assert quoted["answered_by"] == 5
    assert quoted["own"]["added"] == 0
    said = done("quote", *words).out
    assert "answered by release 5: asking again delivers it once more and" in said
    assert "receipt: tacit receipt clinic 5" in said
    assert done("release", *words, "--out", "again.csv", "--json").json["entry"] == 5


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
    done("party", "add", "clinic", "lab-a", "--limit", 0.3)
    done("party", "add", "clinic", "lab-c", "--limit", 0.15)
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


@pytest.mark.parametrize("name", ["diagnosis,age", "diagnosis+age"])
def test_a_substitute_is_named_only_if_it_can_be_pasted(independent: Path, name: str) -> None:
    """0.1 recorded the names of several attributes with a plus sign between them."""
    done("collusion", "set", independent, "--everyone", 0.3)
    done("release", independent, "lab-a", "diagnosis,age", "--out", "both.csv")
    forge_last(independent, "intent", lambda body: body["question"].update(name=name))
    said = refused(3, "release", independent, "lab-c", "income", "--out", "c.csv")
    command = pasted(said)
    assert command[3] == ("diagnosis" if "+" in name else name)
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


def test_utilities_are_said_in_words(independent: Path) -> None:
    done("collusion", "set", independent, "--everyone", 2)
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


def test_nothing_shown_promises_too_much(used: Path) -> None:
    """What is held is shown rounded up, what is left rounded down."""
    standing = done("status", used, "--json").json
    lines = done("status", used).out.splitlines()[2:]
    for each, line in zip(standing["parties"] + standing["coalitions"], lines, strict=True):
        shown = line.removeprefix(each["name"]).split()
        assert float(shown[1]) >= each["held"] > float(shown[1]) - 1.001e-4
        assert float(shown[2]) == each["limit"]
        assert float(shown[3]) <= each["left"] < float(shown[3]) + 1.001e-4
