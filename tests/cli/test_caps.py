"""Caps on the command line: set, shown, suggested, explained."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.clinic import done, refused, unchanged


def test_a_party_gets_a_cap(fresh: Path) -> None:
    said = done("party", "add", fresh, "lab-c", "--limit", 0.3, "--cap", 2).out.splitlines()
    assert said[0] == (
        "lab-c may learn 0.3 bits about a record; after any answer, no combination of levels is "
        "more than 4 times as likely as before"
    )
    assert not any("no cap" in line for line in said)
    assert done("party", "add", fresh, "lab-c", "--limit", 0.4, "--json").json["cap"] == 2
    done("party", "add", fresh, "lab-c", "--limit", 0.4, "--cap", "none")
    assert done("party", "add", fresh, "lab-c", "--limit", 0.4, "--json").json["cap"] is None


def test_a_party_without_a_cap_is_told_what_that_means(fresh: Path) -> None:
    said = done("party", "add", fresh, "lab-c", "--limit", 0.3).out
    assert said.splitlines()[1].startswith("! 0.3 bits: answers could name ")
    [cap] = re.findall(
        r"^note: lab-c has no cap: with --cap (\S+), after any answer,", said, re.MULTILINE
    )
    assert " of 100 right answers about an attribute" in said
    capped = done("party", "add", fresh, "lab-c", "--limit", 0.3, "--cap", cap).out
    assert "could name" not in capped
    assert "has no cap" not in capped


@pytest.mark.parametrize(
    ("cap", "said"), [("x", "--cap x: give"), ("-1", "the cap of lab-c is -1")]
)
def test_a_cap_that_is_none(fresh: Path, cap: str, said: str) -> None:
    assert said in unchanged(4, "party", "add", fresh, "lab-c", "--limit", 0.3, "--cap", cap)


def test_a_party_is_told_what_a_cap_on_everyone_leaves_open(coins: Path) -> None:
    """Heads are 0.3 of the coins: a cap of 1.5 bits forbids to tell them, one of 2 does not."""
    done("collusion", "set", coins, "--everyone-cap", 2)
    said = done("party", "add", coins, "new", "--limit", 0.1).out  # too little to tell all heads
    assert "! 0.1 bits with a cap of 2 bits: answers could name " in said
    assert "note: new has no cap beside that of 2 bits on everyone: with --cap 1.5, after" in said
    said = done("party", "add", coins, "new", "--limit", 0.5, "--cap", 10).out.splitlines()
    assert "more than 1,024 times as likely" in said[0]
    own = "note: the cap on everyone, 2 bits, is below the own cap of new and holds for new, too"
    assert own in said
    assert own in done("status", coins).out.splitlines()
    said = done("party", "add", coins, "new", "--limit", 0.5, "--cap", "inf").out.splitlines()
    assert said[0] == "new may learn 0.5 bits about a record; no cap"
    done("collusion", "set", coins, "--everyone-cap", 1.5)
    said = done("party", "add", coins, "other", "--limit", 0.1).out
    assert "has no cap" not in said
    assert "could name" not in said


def test_a_cap_of_nothing_shows_equal_shares(fresh: Path) -> None:
    """3,000 patients: a blind guess of two columns is right for no whole number of 1,000."""
    lines = done("party", "add", fresh, "lab-c", "--limit", 0.3, "--cap", 0).out.splitlines()
    told = [re.findall(r"(?:at most|right for) ([\d.]+)", line) for line in lines[1:]]
    assert len(told) == 3
    assert all(most == blind for most, blind in told)
    planned = done("plan", fresh, "age", "--cap", 0, "--json").json["curves"][0]
    shares = [each["capped"] for each in planned["points"]]
    assert shares == pytest.approx([planned["blind"]] * len(shares), abs=1e-6)
    assert "is -1" in unchanged(4, "plan", fresh, "age", "--cap", -1)


def test_caps_on_coalitions(fresh: Path) -> None:
    said = done(
        *("collusion", "set", fresh, "--everyone-cap", 4, "--any", "2=0.5,cap=3"),
        *("--any", "3=cap=3.5", "--group", "lab-a,lab-b=0.4,cap=2"),
    ).out
    assert "everyone: 0.9 bits, and after any answer, no combination of levels is more" in said
    assert done("collusion", "set", fresh, "--json").json["caps"] == [
        ["sizes", 2, 3.0],
        ["sizes", 3, 3.5],
        ["groups", ["lab-a", "lab-b"], 2.0],
        ["everyone", None, 4.0],
    ]
    # What is not named stays as it is; none takes bits and cap away.
    done("collusion", "set", fresh, "--any", "2=0.4", "--everyone-cap", "none", "--any", "3=none")
    shown = done("collusion", "set", fresh, "--json").json
    assert (shown["everyone"], shown["sizes"]) == (0.9, [[2, 0.4]])
    assert shown["caps"] == [["sizes", 2, 3.0], ["groups", ["lab-a", "lab-b"], 2.0]]
    done("collusion", "set", fresh, "--any", "2=cap=none")
    assert done("collusion", "set", fresh, "--json").json["caps"][0][0] == "groups"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--any", "2=0.5,cap=x"], "--any 2=0.5,cap=x: give a number of bits"),
        (["--any", "2=0.5,cap="], "--any 2=0.5,cap=: give N=BITS"),
        (["--everyone-cap", "x"], "--everyone-cap x: give a number of bits"),
        (["--everyone-cap", "-1"], "the cap on everyone is -1"),
        (["--group", "lab-a,new=cap=2"], "names new, who may learn nothing yet"),
        (["--any", "2=,cap=3"], "--any 2=,cap=3: give N=BITS"),
    ],
)
def test_caps_that_are_none(fresh: Path, options: list[str], said: str) -> None:
    assert said in unchanged(4, "collusion", "set", fresh, *options)


def test_a_refusal_says_which_cap_to_raise(fresh: Path) -> None:
    done("party", "add", fresh, "lab-a", "--limit", 0.5, "--cap", 0)
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "a.csv")
    assert "the cap on lab-a is 0 bits, which leaves lab-a nothing better" in said
    assert said.endswith("with tacit party add clinic lab-a --limit 0.5 --cap BITS")
    done("party", "add", fresh, "lab-a", "--limit", 0.5, "--cap", "none")
    done("collusion", "set", fresh, "--everyone-cap", 0)
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "a.csv")
    assert said.endswith("with tacit collusion set clinic --everyone-cap BITS")
    done("collusion", "set", fresh, "--everyone-cap", "none", "--any", "2=cap=0")
    said = refused(3, "release", fresh, "lab-a", "age", "--out", "a.csv")
    assert said.endswith("with tacit collusion set clinic --any 2=cap=BITS")


def test_status_shows_the_worst_answer_beside_the_average(fresh: Path) -> None:
    done("party", "add", fresh, "lab-a", "--limit", 0.5, "--cap", 1)
    done("release", fresh, "lab-a", "age", "--out", "a.csv")
    lines = done("status", fresh).out.splitlines()
    assert lines[1].split()[-1] == "answer"
    [own] = [line for line in lines if line.startswith("lab-a ")]
    assert own.split()[-3:] == ["2x", "of", "2x"]
    assert done("verify", fresh).code == 0


def test_a_cap_that_forbids_every_answer_is_named_although_no_answer_comes_near_it(
    coins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads, 0.3 of the coins, may become 1.41 times as likely: tails stay the better guess."""
    done("party", "add", coins, "lab", "--limit", 0.2, "--cap", 0.5)
    said = refused(3, "quote", coins, "lab", "side")
    assert said.startswith("the cap on lab is 0.5 bits, which leaves lab nothing better than a bli")
    assert said.endswith(
        " on average; at the worst level an answer can be better; what fits: tacit quote study lab "
        "side --worst-level"
    )
    done(*shlex.split(said.partition("; what fits: tacit ")[2]))
    with monkeypatch.context() as patch:  # where designs are not quick
        patch.setattr("tacit.study.requests.refusals._MOST_ENTRIES", 0)
        assert refused(3, "quote", coins, "lab", "side").endswith(
            "judged by the worst level (--worst-level) an answer may fit; otherwise it may learn "
            "more only if caps are raised with tacit party add study lab --limit 0.2 --cap BITS"
        )
    said = refused(3, "release", coins, "lab", "side", "--bits", 0.1, "--out", "a.csv")
    assert said.endswith("tacit release study lab side --worst-level --bits 0.1 --out a.csv")
    done("party", "add", coins, "lab", "--limit", 0.2, "--cap", 1)
    done("quote", coins, "lab", "side")


def test_a_quote_says_that_a_cap_is_reached_before_the_bits(coins: Path) -> None:
    words = ("quote", coins, "lab", "side", "--worst-level")
    done("party", "add", coins, "lab", "--limit", 0.2, "--cap", 0.5)
    quoted = done(*words)
    assert "the worst answer of lab would be at the cap of 0.5 bits while bits are left" in (
        " ".join(quoted.out.split())
    )
    # Bits that are left promise nothing where the cap leaves nothing.
    assert "a cap is reached: bits do not say how many more requests would fit" in quoted.out
    assert "requests of this size would fit" not in quoted.out
    assert done(*words, "--json").json["about_more"] is None
    assert "1.42x of 1.42x" in quoted.out
    assert "times as likely, capped at 1.42" in " ".join(quoted.out.split())
    done("party", "add", coins, "lab", "--limit", 0.2, "--cap", "none")
    assert "at the cap" not in done(*words).out
    assert "a cap is reached" not in done(*words).out


def test_what_a_limit_means_heeds_the_cap(coins: Path) -> None:
    """A blind guess, tails, is right for 70; heads may become twice as likely, 0.6, for 80."""
    said = done("party", "add", coins, "lab", "--limit", 0.8, "--cap", 0).out
    assert "0.8 bits with a cap of 0 bits: side could be told right for at most 70.0 of " in said
    done("collusion", "set", coins, "--everyone-cap", 1)
    said = done("party", "add", coins, "lab", "--limit", 0.8, "--cap", "none").out
    assert "0.8 bits with a cap of 1 bit: side could be told right for at most 80." in said


def test_a_cap_that_no_answer_reaches_is_said_to_protect_nothing(coins: Path) -> None:
    said = "protects nothing: no answer makes a combination of levels more than 3.34 times as"
    assert f"the cap on lab, 2 bits, {said}" in (
        done("party", "add", coins, "lab", "--limit", 0.2, "--cap", 2).out
    )
    assert said not in done("party", "add", coins, "lab", "--limit", 0.2, "--cap", 1.7).out
    assert f"the cap on everyone, 2 bits, {said}" in (
        done("collusion", "set", coins, "--everyone-cap", 2).out
    )
    assert f"the cap on everyone, 2 bits, {said}" in done("status", coins).out
