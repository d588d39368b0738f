"""Tables of costs in files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.study import Study
from tests.cli.clinic import done, refused, unchanged


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
        ("text.csv", "a,b\nc,d\n", "something that is no number"),
    ],
)
def test_tables_of_costs(fresh: Path, name: str, costs: object, said: str) -> None:
    Path(name).write_text(costs if isinstance(costs, str) else json.dumps(costs))
    assert said in unchanged(4, "quote", fresh, "lab-a", "diagnosis", "--utility", name)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{"])
def test_files_that_are_no_text_or_no_json(fresh: Path, content: bytes) -> None:
    Path("costs.json").write_bytes(content)
    said = unchanged(4, "quote", fresh, "lab-a", "diagnosis", "--utility", "costs.json")
    assert said.startswith("costs.json is no table of costs (")
    assert said.endswith("): give JSON, or lines of numbers with commas")


def test_json_and_csv_are_the_same_request(fresh: Path) -> None:
    Path("costs.json").write_text("[[0, 1, 2], [1, 0, 1], [2, 1, 0]]")
    Path("costs.csv").write_text("0,1,2\n1,0,1\n\n2,1,0\n")
    words = ["release", fresh, "lab-a", "income", "--bits", 0.1, "--json", "--out", "a.csv"]
    first = done(*words, "--utility", "costs.json").json
    assert first["measure"] == "costs"
    assert done(*words, "--utility", "costs.csv").json["entry"] == first["entry"]


def test_the_library_reads_no_files(fresh: Path) -> None:
    """A path in the place of a word would be a hole behind HTTP."""
    Path("costs.json").write_text("[[0, 1, 2], [1, 0, 1], [2, 1, 0]]")
    with Study.open(fresh) as study, pytest.raises(InvalidInputError, match=r"as tacit\.Costs"):
        study.quote("lab-a", "income", utility="costs.json")


def test_a_suggestion_names_the_file_of_this_call(fresh: Path) -> None:
    Path("what it costs.json").write_text("[[0, 1, 2], [1, 0, 1], [2, 1, 0]]")
    words = ["release", fresh, "lab-a", "income", "--bits", 0.9, "--out", "a.csv"]
    said = refused(3, *words, "--utility", "what it costs.json")
    assert "--utility 'what it costs.json' --bits" in said
    done(*shlex.split(said.partition("; what fits: tacit ")[2]))
