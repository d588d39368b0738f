"""``tacit plan``: what limits would buy, as it is typed."""

from __future__ import annotations

import re
from math import log2
from pathlib import Path

from tests.cli.clinic import done, found_in, refused, unchanged
from tests.cli.terminal import COLUMNS, on_terminal, process
from tests.pictures import assert_is_png


def entropy(p: float) -> float:
    return -p * log2(p) - (1 - p) * log2(1 - p)


def test_bits_for_right_answers(coins: Path) -> None:
    before = found_in(Path())
    said = done("plan", coins, "side", "--correct", 90).out.splitlines()
    assert said[0] == "side: a blind guess is right for 70.0 of 100 records"
    found = re.fullmatch(
        r"  90 of 100 right: (.+) bits are enough, less than (.+) are not", said[1]
    )
    assert found is not None
    truth = entropy(0.3) - entropy(0.1)
    enough, fewer = map(float, found.groups())
    assert truth <= enough <= truth + 1.5e-4
    assert truth - 1.5e-4 <= fewer <= truth
    assert [line.split()[:2] for line in said[-1:]] == [["0.8813", "100.0"]]
    assert found_in(Path()) == before


def test_bits_that_nothing_needs_and_that_are_never_enough(fresh: Path) -> None:
    said = done("plan", fresh, "income", "--correct", 20).out
    assert "20 of 100 right: no bits are needed, a blind guess is as good" in said


def test_what_new_parties_would_get(fresh: Path) -> None:
    words = ("plan", fresh, "diagnosis", "income", "--parties", 3, "--limit", "any 2=0.4")
    said = done(*words).out
    assert "3 new parties, 0.2 bits each, an equal share of the limits on coalitions.\n" in said
    assert "Limits on coalitions: any 2 parties: 0.4 bits; everyone: 0.9 bits." in said
    assert "3 orders; each begins with another request.\nThe order does not matter" in said
    told = done(*words, "--bits", 0.4, "--json").json
    assert [each["party"] for each in told["answers"]] == ["party-1", "party-2", "party-3"]
    assert told["spread"] > 0.01
    assert told["limit"] == 0.4
    said = done(*words, "--bits", 0.4).out
    assert "A party's right answers differ by up to " in said


def test_curves_are_drawn(fresh: Path) -> None:
    said = done("plan", fresh, "diagnosis", "--plot", "curve.png").out
    assert said == done("plan", fresh, "diagnosis", "--plot", "curve.svg").out
    assert_is_png(Path("curve.png"))
    assert ">diagnosis</text>" in Path("curve.svg").read_text(encoding="utf-8")
    many = ["diagnosis", "income", "age", "diagnosis,income", "age,income"]
    done("plan", fresh, *many, "--plot", "many.svg")


def test_refusals(fresh: Path) -> None:
    assert "give --parties NUMBER" in unchanged(4, "plan", fresh, "age", "--bits", 0.2)
    assert "name at least one column" in unchanged(4, "plan", fresh)
    assert "'--correct'" in unchanged(2, "plan", fresh, "age", "--correct", 101)
    assert "cannot be drawn" in refused(4, "plan", fresh, "age", "--plot", "curve.xyz")
    assert "'agee' is no private attribute" in unchanged(4, "plan", fresh, "agee")


def test_the_real_command_fits_a_terminal(fresh: Path) -> None:
    words = ["plan", fresh, "diagnosis", "--correct", 80, "--parties", 2, "--limit", "any 2=0.4"]
    ended = process(*words)
    assert (ended.code, ended.err) == (0, "")
    [shown] = on_terminal(words)
    assert shown.code == 0
    assert max(map(len, shown.lines)) <= COLUMNS


def test_a_new_party_is_told_what_its_limit_means(coins: Path) -> None:
    bits = 0.4
    said = done("limit", coins, "new", "--bits", bits).out.splitlines()
    first, named, second, no_cap = said
    assert no_cap.startswith("note: new has no limit in times: with --times 2.9, after any answer,")
    assert named.startswith("! 0.4 bits: answers could name ")
    assert named.endswith(" of the 6,000 with side = heads, 90 % sure")
    assert first == "new may learn 0.4 bits about a record"
    found = re.fullmatch(
        r"0\.4 bits: side could be told right for at most (.+) of 100 records; a blind guess is "
        r"right for 70\.0",
        second,
    )
    assert found is not None
    most = float(found[1]) / 100  # a biased coin: h(0.3) - h(1 - most) bits
    assert entropy(0.3) - entropy(1 - most + 0.001) < bits <= entropy(0.3) - entropy(1 - most)
    [meaning] = done("limit", coins, "new", "--bits", bits, "--json").json["means"]
    assert most - 0.001 <= meaning["most"] <= most


def test_a_lower_limit_on_a_coalition_is_explained(fresh: Path) -> None:
    said = done("limit", fresh, "lab-c", "--bits", 2).out.splitlines()
    assert said[1].startswith("! 0.9 bits: ")
    assert len(said) == 4 + 3  # what was set, who can be named, two notes, three attributes


def test_every_cohort_is_planned_for_worst_first(coins: Path) -> None:
    rows = (f"{k},{'heads' if k % 20 else 'tails'}" for k in range(20_000, 20_200))
    Path("later.csv").write_text("\n".join(["coin,side", *rows]))
    done("extend", coins, "--table", "later.csv")
    said = done("plan", coins, "side").out
    least = "Cohort 2, where answers are worth least:\nside: a blind guess is right for 95.0"
    assert said.startswith(least)
    assert "\n\nCohort 1:\nside: a blind guess is right for 70" in said
    done("limit", coins, "lab-z", "--bits", 0.1)
    said = done("what-if", coins, "lab-z", "side").out
    assert said.startswith("Cohort 2, where it is worth least:\nside for lab-z")
    assert "\n\nCohort 1:\nside for lab-z" in said
