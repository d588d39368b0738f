"""``tacit collusion set``: limits on coalitions, several at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.clinic import done, found_in, unchanged


def limits(study: Path) -> dict[str, object]:
    shown: dict[str, object] = done("collusion", "set", study, "--json").json
    return shown


def n_entries(study: Path) -> int:
    number: int = done("status", study, "--json").json["head"][0]
    return number


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
    none_but = {key: [] for key in ("sizes", "groups", "others", "caps", "remarks")}
    assert limits(fresh) == {"everyone": 0.9} | none_but


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


def test_names_are_printed_unaltered(fresh: Path) -> None:
    said = done("collusion", "set", fresh, "--group", "B,lab-a=0.4").out
    assert said.startswith("Limits on coalitions: everyone: 0.9 bits; B + lab-a: 0.4 bits\n")
    assert "note: B is new" in said
